"""
A finding as a vector: the inputs of the faulty node, and the reaction that it must show in the end.

The other nodes are not needed: their datagrams are in the vector as they arrived. The random choices of the node are in it too,
if the node asked for them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import LEVELS
from peerproof.conformance.fuzz.findings import Fed, Finding, NotPromoted, find_clauses, reading
from peerproof.conformance.fuzz.implementation_players import ADDRESS, answers_in, ignore_order, plain_option
from peerproof.conformance.fuzz.inputs.inputs import Inputs
from peerproof.conformance.fuzz.reaction import (
    Answer,
    Birth,
    Called,
    Came,
    Node,
    Passed,
    Reaction,
    Settled,
    Started,
    react,
    reactions,
)
from peerproof.conformance.vectors.plain_data import expected_event, plain_config
from peerproof.spec.core import Notify, Option, Pick, Send

LAYER: Final = "exchange"

_UNDER_TEST: Final = "node"


def vector_of(inputs: Inputs, finding: Finding) -> dict[str, Any]:
    """Returns the finding as a vector. Raises NotPromoted."""
    spec = inputs.spec
    if finding.node is None or not finding.fed:
        raise NotPromoted("the fault is not in a single node")
    clauses = [clause for clause in find_clauses(spec, finding) if clause.level]
    if not clauses:
        raise NotPromoted("no clause is known that it violates")
    levels = [clause.level or "may" for clause in clauses if clause.level != "may"]
    body = _body(inputs, finding)
    digest = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8]
    return {
        "id": f"{spec.NAME}/{LAYER}/found-{digest}",
        "rev": 1,
        "title": f"found by fuzzing: {_name(inputs, finding.fed[-1])}, event {len(finding.fed)} of the node",
        "level": min(levels, key=LEVELS.index, default="may"),
        "clauses": [clause.id for clause in clauses],
        **({"needs": ["choices.oracle"]} if any("picks" in step for step in (*body.get("setup", ()), *body["steps"])) else {}),
        **body,
    }


def _body(inputs: Inputs, finding: Finding) -> dict[str, Any]:
    """Returns the node, the steps, and the expectations of the vector."""
    assert finding.node is not None, "checked by vector_of"
    birth = Birth(inputs.spec, finding.node, finding.config)
    last = len(finding.fed) - 1
    timed = max((place for place in range(last) if isinstance(finding.fed[place].stimulus, Passed)), default=0)
    steps: list[dict[str, Any]] = []
    node: Node | None = None
    reaction: Reaction | None = None
    for place, fed in enumerate(finding.fed):
        reaction, picks = specified_reaction(birth, node, fed)
        node = reaction.node if reaction else None
        # Timers run on their own before the next step; messages of the latest ones must not count as that step's.
        asks = bool(fed.asked) or (finding.kind == "choice" and place == last)
        if place and (asks or place in (timed, last) or not isinstance(fed.stimulus, Passed)):
            steps.append(_step(inputs, fed, reaction, picks if asks else []))
    expectations = _expectations(inputs, finding, reaction)
    nodes = {_UNDER_TEST: {"addr": ADDRESS.plain(finding.node)}}
    if config := plain_config(inputs.spec, finding.config):
        nodes[_UNDER_TEST]["config"] = config
    setup, final = (steps, []) if finding.query else (steps[:-1], steps[-1:])
    return {"nodes": nodes, **({"setup": setup} if setup else {}), "steps": [*final, *expectations]}


def specified_reaction(birth: Birth, node: Node | None, fed: Fed) -> tuple[Reaction | None, list[Answer]]:
    """Returns the specification's reaction with the recorded choices, and all its choices; None after a crash."""
    stimulus = fed.stimulus
    if stimulus is None:
        return None, []
    picks: list[Answer] = []

    def reacting(pick: Pick) -> Reaction:
        def recorded(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
            answer = pick(why, among, some)
            if len(among) > 1:
                picks.append((why, answer))
            return answer

        return react(birth, node, stimulus, fed.now, recorded)

    return next(reactions(reacting, answers_in(fed.asked))), picks


def _step(inputs: Inputs, fed: Fed, reaction: Reaction | None, picks: list[Answer]) -> dict[str, Any]:
    step: dict[str, Any] = {"at": fed.now}
    match fed.stimulus:
        case None:
            step["crash"] = _UNDER_TEST
        case Started(kept):
            step["restart"] = _UNDER_TEST
            if kept:
                step["config"] = dict(kept)
        case Passed():
            step["advance"] = _UNDER_TEST
        case Came(sender, data):
            step["send"] = {"from": ADDRESS.plain(sender), "to": _UNDER_TEST, "bytes": data.hex()}
        case Settled(to, data, took):
            outcome = {"failed": True} if took is None else {"took": took}
            step["sent"] = {"node": _UNDER_TEST, "to": ADDRESS.plain(to), "bytes": data.hex(), **outcome}
        case Called(command):
            args = inputs.spec.COMMAND.plain(command)
            step["call"] = {"node": _UNDER_TEST, "op": args.pop("type"), "args": args}
            if reaction and reaction.refused:
                step["refused"] = reaction.refused
    if picks:
        step["picks"] = [{"site": site, "pick": [plain_option(option) for option in options]} for site, options in picks]
    return step


def _expectations(inputs: Inputs, finding: Finding, reaction: Reaction | None) -> Iterator[dict[str, Any]]:
    """Yields what is expected after the last step."""
    reaction = finding.expected or reaction
    if finding.query and reaction:
        equals = ignore_order(inputs.spec.QUERIES[finding.query](reaction.node.state))
        yield {"observe": {"node": _UNDER_TEST, "query": finding.query, "equals": equals}}
        return
    effects = reaction.effects if reaction else ()
    encode = inputs.spec.MESSAGE.encode
    sends = [{"to": ADDRESS.plain(e.to), "bytes": encode(e.message).hex()} for e in effects if isinstance(e, Send)]
    order = "ordered" if len({json.dumps(send["to"]) for send in sends}) <= 1 else "unordered"
    expect: dict[str, Any] = {"messages": {order: sends}}
    if finding.kind == "events":
        config = reaction.node.state.config if reaction else None
        expect["events"] = ignore_order([expected_event(inputs.spec, config, e.notice) for e in effects if isinstance(e, Notify)])
    yield {"expect": expect}


def _name(inputs: Inputs, fed: Fed) -> str:
    match fed.stimulus:
        case None:
            return "crash"
        case Called(command):
            return str(inputs.spec.COMMAND.names[type(command)])
        case Came(_, data):
            return reading(inputs.spec, data).split(" ")[0][:40]
        case Started():
            return "start"
        case Settled():
            return "outcome of a message"
    return "time passing"
