"""A finding of the fuzzer as a run: its events, the states of the faulty node by the specification, and the fault at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from peerproof.conformance.explorer.fields import Fields, fields_of_state
from peerproof.conformance.explorer.recorded_run import Moment, Problem, Run
from peerproof.conformance.fuzz.findings import (
    KINDS,
    Fed,
    Finding,
    Told,
    difference_sides,
    draw_step,
    find_clauses,
    node_text,
)
from peerproof.conformance.fuzz.promotion import specified_reaction
from peerproof.conformance.fuzz.reaction import Birth, Node, Passed
from peerproof.spec.core import Specification


def run_finding(spec: Specification, finding: Finding) -> Run:
    """Returns the run that shows a finding."""
    clauses = tuple(clause.id for clause in find_clauses(spec, finding))
    run = Run(spec.NAME, f"found by fuzzing: {finding.detail}", KINDS[finding.kind], clauses, finding.kind)
    states = _states(spec, finding)
    for part in finding.story:
        drawn = draw_step(spec, part, timed=False)
        run.moments.append(Moment(part.now, node_text(part.node) if part.node is not None else "", drawn.label, (drawn,)))
        if part.node is not None and part.node == finding.node and not part.lost:
            state = next((state for fed, state in states if _is_drawn_as(fed, part)), None)
            if state is not None:
                run.add_state(node_text(part.node), state)
    expected, actual = difference_sides(finding)
    where = finding.difference.where if finding.difference else ""
    problem = Problem(f"{finding.kind}: {KINDS[finding.kind]}", where, expected, actual, clauses, finding.kind)
    node = "" if finding.node is None else node_text(finding.node)
    last = finding.story[-1].now if finding.story else None
    run.moments.append(Moment(last, node, finding.detail, (), (), problem))
    return run


def _states(spec: Specification, finding: Finding) -> Iterator[tuple[Fed, Callable[[], Fields]]]:
    """Yields each input of the faulty node, and the node's state after it, by the specification."""
    assert finding.node is not None, "only a node has states"
    birth, node = Birth(spec, finding.node, finding.config), None
    for fed in finding.fed:
        reaction, _ = specified_reaction(birth, node, fed)
        node = reaction.node if reaction else None
        yield fed, partial(_fields, spec, node)


def _is_drawn_as(fed: Fed, part: Told) -> bool:
    """Returns True if a step of the story is this input; timers that send nothing are not drawn."""
    return fed.now == part.now and isinstance(fed.stimulus, Passed) == isinstance(part.what, Passed)


def _fields(spec: Specification, node: Node | None) -> Fields:
    return {"(the node is down)": ""} if node is None else fields_of_state(spec, node.state)
