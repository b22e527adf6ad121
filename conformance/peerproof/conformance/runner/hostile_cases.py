"""
Cases about what malformed datagrams do to a node: it survives them, they change nothing, and it serves afterwards.

None of these needs to know the protocol. The node is first told some legal messages, those of the file's `receiver` or some
of the suite's own vectors, so that it has a state to lose; whether it still serves is seen by the side of a twin that was told
nothing malformed.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.adapter.messages import Request
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.codec_cases import variants
from peerproof.conformance.runner.trial import Asking, Dialogue, Failure, Trial, Verdict
from peerproof.conformance.runner.virtual_host import Message, Stage
from peerproof.conformance.vectors.malformed import Variant
from peerproof.conformance.vectors.matching import Difference, first_difference
from peerproof.conformance.vectors.plain_data import describe_bytes

_PEER: Final = "peer:1"
_LATER: Final = 60_000  #: milliseconds in which timers of any protocol run


def survives(trial: Trial) -> Dialogue:
    """The node takes every malformed datagram without dying or hanging; the runner notices if it does not."""
    stage = Stage(trial, {"node": _receiver(trial)})
    yield from stage.open()
    yield from _deliver_malformed(trial, stage)
    return Verdict()


def stays_unchanged(trial: Trial) -> Dialogue:
    """Nothing is sent, and every query gives what it gave before."""
    stage = Stage(trial, {"node": _receiver(trial)})
    yield from stage.open()
    yield from _deliver_probes(trial, stage)
    stage.messages.clear()
    before = yield from _query_all(trial, stage)
    timer = stage.actors["node"].next_timer
    answers = yield from _deliver_malformed(trial, stage)
    for variant, messages in zip(variants(trial.vector.protocol, trial.body), answers, strict=True):
        if messages:
            shown = {"to": messages[0].to, "bytes": messages[0].bytes}
            what = describe_bytes(trial.vector.protocol, messages[0].bytes)
            trial.essence = [_essence(stage, variant)]
            raise Failure("changed", Difference(f"{variant.name}: messages", None, shown, None, what))
    after = yield from _query_all(trial, stage)
    if difference := first_difference(before, after, {}):
        raise Failure("changed", difference)
    if stage.actors["node"].next_timer != timer:
        raise Failure("changed", Difference("next_timer_ms", timer, stage.actors["node"].next_timer))
    return Verdict()


def serves(trial: Trial) -> Dialogue:
    """Afterwards it does what its twin does that has seen nothing malformed."""
    twins = []
    for hostile in (False, True):
        trial.choices = Choices(trial.seed)  # the same answers for both
        stage = Stage(trial, {"node": _receiver(trial)})
        yield from stage.open()
        if hostile:
            yield from _deliver_malformed(trial, stage)
            stage.messages.clear()
        yield from _deliver_probes(trial, stage)
        yield from stage.advance(min(_LATER, stage.actors["node"].next_timer or 0))
        twins.append(_comparable_messages(trial, stage.messages))
    if difference := first_difference(twins[0], twins[1], {}, "messages"):
        raise Failure("unserving", difference)
    return Verdict()


def _receiver(trial: Trial) -> Mapping[str, Any]:
    """The node that is told all this."""
    receiver: Mapping[str, Any] = trial.body.get("receiver", {"addr": "node:1"})
    return {name: receiver[name] for name in ("addr", "config") if name in receiver}


def _deliver_malformed(trial: Trial, stage: Stage) -> Asking:
    """The node is told everything that is malformed; gives what it answered to each."""
    digits = [variant.data.hex() for variant in variants(trial.vector.protocol, trial.body)]
    return (yield from stage.deliver_all(stage.actors["node"], _PEER, digits))


def _essence(stage: Stage, variant: Variant) -> Request:
    return {"op": "recv", "via": stage.transport, "from": _PEER, "bytes": variant.data.hex()}


def _deliver_probes(trial: Trial, stage: Stage) -> Asking:
    """The node is told something legal."""
    told = trial.body.get("receiver", {}).get("told")
    yield from stage.deliver_all(stage.actors["node"], _PEER, [one["bytes"] for one in told] if told else trial.case.probes)


def _query_all(trial: Trial, stage: Stage) -> Asking:
    """What the node answers to every query that it offers, but for those that are about something."""
    answers = {}
    queries = specification(trial.vector.protocol).QUERIES
    for what in sorted(queries):
        if f"observe.{what}" in trial.offered.capabilities and len(signature(queries[what]).parameters) == 1:
            answers[what] = yield from stage.query(stage.actors["node"], what)
    return answers


def _comparable_messages(trial: Trial, messages: list[Message]) -> list[dict[str, Any]]:
    """What can be compared: everything, or, of a node that draws for itself, to whom it sends what kind of message."""
    if trial.hello.oracle:
        return [{"to": message.to, "bytes": message.bytes} for message in messages]
    shown = [(message.at, str(message.to), _kind(trial, message.bytes)) for message in messages]
    return [{"at": at, "to": to, "type": kind} for at, to, kind in sorted(shown)]


def _kind(trial: Trial, digits: str) -> str:
    message = describe_bytes(trial.vector.protocol, digits)
    return str(message["type"]) if isinstance(message, dict) and "type" in message else "no message"
