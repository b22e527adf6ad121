"""A finding of the fuzzer as a run: its events, the states of the faulty node by the specification, and the fault at the end."""

from __future__ import annotations

from functools import partial
from typing import Any

from peerproof.conformance.explorer.fields import Fields, fields_of_state
from peerproof.conformance.explorer.recorded_run import Moment, Problem, Run
from peerproof.conformance.fuzz.findings import KINDS, Finding, difference_sides, draw_step, find_clauses, node_text
from peerproof.conformance.fuzz.promotion import specified_reaction
from peerproof.conformance.fuzz.reaction import Birth, Node
from peerproof.spec.core import Specification


def run_finding(spec: Specification, finding: Finding) -> Run:
    """Returns the run that shows a finding."""
    clauses = tuple(clause.id for clause in find_clauses(spec, finding))
    run = Run(spec.NAME, f"found by fuzzing: {finding.detail}", KINDS[finding.kind], clauses, finding.kind)
    states = _states(spec, finding)
    for part in finding.story:
        drawn = draw_step(spec, part, timed=False)
        run.moments.append(Moment(part.now, node_text(part.node) if part.node is not None else "", drawn.label, (drawn,)))
        if part.node == finding.node and not part.lost and states and states[0][0] <= part.now:
            _, state = states.pop(0)
            run.add_state(node_text(part.node), state)
    expected, actual = difference_sides(finding)
    where = finding.difference.where if finding.difference else ""
    problem = Problem(f"{finding.kind}: {KINDS[finding.kind]}", where, expected, actual, clauses, finding.kind)
    node = "" if finding.node is None else node_text(finding.node)
    last = finding.story[-1].now if finding.story else None
    run.moments.append(Moment(last, node, finding.detail, (), (), problem))
    return run


def _states(spec: Specification, finding: Finding) -> list[tuple[int, Any]]:
    """Returns the time of each input of the faulty node, and its state after it, by the specification."""
    if finding.node is None:
        return []
    birth, node, found = Birth(spec, finding.node, finding.config), None, []
    for fed in finding.fed:
        reaction, _ = specified_reaction(birth, node, fed)
        node = reaction.node if reaction else None
        found.append((int(fed.now), partial(_fields, spec, node)))
    return found


def _fields(spec: Specification, node: Node | None) -> Fields:
    return {"(the node is down)": ""} if node is None else fields_of_state(spec, node.state)
