"""
The differences of the original implementation of DistKV, one at a time [DD-01…DD-31].

Four are missing: two prevent the original from starting [DD-04, DD-05], and two no vector can detect [DD-16, DD-32].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final

from peerproof.reference.divergences.divergence import Divergence, by_id
from peerproof.spec.core import Notify, Pick, Step
from peerproof.spec.distkv import chains, codec, election, entries, paths, recovery, schedule, snapshot
from peerproof.spec.distkv.chains import Chain, Element, Relation, relation, zero_may_ping
from peerproof.spec.distkv.forms import SETS, UPDATE
from peerproof.spec.distkv.messages import Contradiction, Info, InitialPingDue, Message, Ping, PingDue, Update
from peerproof.spec.distkv.outgoing import cancel_timer, originate, send_again, send_info, set_timer, then
from peerproof.spec.distkv.pings import Kind, kind_of
from peerproof.spec.distkv.ranges import of_ticks
from peerproof.spec.distkv.startup import ready
from peerproof.spec.distkv.state import Phase, State, is_authoritative_for, updates_of
from peerproof.spec.distkv.ticks import intersection, with_elements
from peerproof.spec.distkv.values import NULL
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import pack, read, string_bytes

Next = Step[Any, Any]
Rule = Callable[..., Next]
Function = Callable[..., Any]

APPLY: Function = entries.apply
ASK_FOR: Rule = recovery.ask_for
BEGIN: Rule = recovery.begin
DECIDE: Rule = election.decide
ON_PING: Rule = election.on_ping
ON_MISSING: Rule = recovery._on_missing
OUTCOME: Function = entries._outcome
PATH_OF: Function = paths.path_of
PING_TIME: Function = schedule.ping
WITH_CHANGE: Function = chains.with_change
WITH_PING: Function = chains.with_ping


class Diverging(Divergence):
    """DistKV with some functions replaced."""

    protocol = "distkv"


def nothing(state: State, *_: Any, **__: Any) -> Next:
    """Does nothing."""
    return Step(state)


def whole(message: Message) -> Message:
    """Returns the message with its chains marked as not cut."""
    message = replace(message, chain=message.chain._replace(cut=False))
    if isinstance(message, Info) and message.reason is not None:
        message = replace(message, reason=message.reason._replace(cut=False))
    return message


class DD01(Diverging):
    """Uses another root."""

    def encode(self, message: Any) -> bytes:
        """Encodes with its root."""
        name, at = read(super().encode(message), 0)
        return string_bytes(f":{name}") + super().encode(message)[at:]

    def decode(self, data: bytes) -> Any:
        """Accepts only its root."""
        name, at = read(data, 0)
        if str(name)[:1] != ":":
            raise MalformedMessage("bad_type", 0, "another root")
        return super().decode(string_bytes(str(name)[1:]) + data[at:])


class DD02(Diverging):
    """Sends pings of another protocol."""

    def encode(self, message: Any) -> bytes:
        """Encodes a ping with a history."""
        if not isinstance(message, Ping):
            return super().encode(message)
        names = [node for node, _ in message.chain.elements]
        shown = [("node", names[0]), ("value", (message.tock, 1)), ("history", tuple(names))]
        return string_bytes("distkv.ping") + pack(shown)

    def decode(self, data: bytes) -> Any:
        """Decodes only the node of a ping."""
        name, at = read(data, 0) if data else ("", 0)
        if name != "distkv.ping":
            return super().decode(data)
        raw, _ = read(data, at)
        node = dict(raw).get("node") if isinstance(raw, list) else None
        return Ping(Chain((Element(codec._node(node), None),), cut=True), 0)


@Diverging.instead_of("transitions.on_change")
def DD03(state: State, *_: Any) -> Next:
    """Fails at each change of a client."""
    raise NotEnabled("failed", f"{state.self_id} fails at changes")


class DD06(Diverging):
    """Loses the mark that a chain was cut."""

    def encode(self, message: Any) -> bytes:
        """Encodes the chain as not cut."""
        return super().encode(whole(message))

    def decode(self, data: bytes) -> Any:
        """Decodes the chain as not cut."""
        return whole(super().decode(data))


class DD07(Diverging):
    """Keeps chains of any length."""

    instead: ClassVar = {
        "entries.apply": lambda entry, update, _: APPLY(entry, update, 1000),
        "entries.with_change": lambda chain, element, _: WITH_CHANGE(chain, element, 1000),
    }


@Diverging.instead_of("entries._outcome")
def DD08(entry: Any, arrived: Update) -> Any:
    """Crashes at the first concurrent update."""
    if relation(arrived.chain, entry.chain) is Relation.CONCURRENT:
        raise RuntimeError("two chains, and neither is in the other")
    return OUTCOME(entry, arrived)


@Diverging.instead_of("entries._outcome")
def DD09(entry: Any, arrived: Update) -> Any:
    """Accepts the later arrival if tocks are equal."""
    found = OUTCOME(entry, arrived)
    is_equal = found is entries.Outcome.CONFLICT_IGNORE and arrived.tock == entry.tock
    return entries.Outcome.CONFLICT_ACCEPT if is_equal else found


@Diverging.instead_of("recovery.send_again")
def DD10(state: State, updates: Iterable[Update]) -> Next:
    """Sends updates again with itself as the sender."""
    me = Element(state.self_id, state.message_tick)
    return send_again(state, [replace(update, sender=me) for update in updates])


class DD11(Diverging):
    """Sends at most two elements of a chain."""

    instead: ClassVar = {
        "recovery.send_again": lambda state, updates: send_again(
            state, [replace(update, chain=update.chain.within(2)) for update in updates]
        )
    }


def _python_names(names: Iterable[Any]) -> Any:
    bare = [int(name) if isinstance(name, (bool, float)) and name == int(name) else name for name in names]
    return paths.Path(pack(tuple(bare))) if b"" in bare else PATH_OF(bare)


class DD12(Diverging):
    """Compares names as Python does."""

    instead: ClassVar = {"paths.path_of": _python_names}

    def decode(self, data: bytes) -> Any:
        """Decodes with those names."""
        return self.run_overridden(super().decode, data)


@Diverging.instead_of("transitions.on_initial_ping_due")
def DD13(state: State) -> Next:
    """Announces no tick in its first ping."""
    chain = Chain((Element(state.self_id, state.message_tick or None),))
    again = schedule.silence(state.config.clock)
    return then(election._ping(state, chain), lambda now: set_timer(now, InitialPingDue(), again))


class DD14(Diverging):
    """Sends no chain in an info."""

    instead: ClassVar = {
        "recovery.send_info": lambda state, what, rows, _=None, reason=None: send_info(state, what, rows, None, reason)
    }


class DD15(Diverging):
    """Sends no reason in an info."""

    instead: ClassVar = {
        "recovery.send_info": lambda state, what, rows, prev=None, _=None: send_info(state, what, rows, prev, None)
    }


class DD17(Diverging):
    """Requests missing changes only after a download."""

    instead: ClassVar = {"transitions.look_for_repair": nothing}


def _without_deletions(state: State) -> Any:
    shown: Any = snapshot.download(state)
    if shown is None:
        return None
    updates = updates_of(state.entries)
    known = state.entries.superseded()
    for update in updates:
        if update.value == NULL:
            known = with_elements(known, update.chain.elements)
    kept = [UPDATE.plain(update) for update in updates if update.value != NULL]
    return shown | {"entries": kept, "superseded": SETS.plain(known)}


class DD18(Diverging):
    """Leaves deletions out of downloads."""

    queries: ClassVar = {"download": _without_deletions}


@Diverging.instead_of("election.decide")
def DD19(state: State, pick: Pick) -> Next:
    """Applies the rule for the tick zero only to nodes that are not ready."""
    if state.last is None or not state.participates or state.message_tick or zero_may_ping(state.last.chain):
        return DECIDE(state, pick)
    return set_timer(state, PingDue(), election._moment(state, state.last.chain, pick))


class DD20(Diverging):
    """Does not answer start-up pings."""

    instead: ClassVar = {"election.greet": nothing}


class DD21(Diverging):
    """Does not offer its old data."""

    instead: ClassVar = {
        "transitions.on_old_data_due": lambda state: (
            ready(state) if state.phase is Phase.OLD and not is_authoritative_for(state) else Step(state)
        )
    }


@Diverging.instead_of("recovery._on_missing")
def DD22(state: State, info: Info) -> Next:
    """Answers at once, with a separate answer for each tick."""
    taken: Next = Step(state)
    if not state.participates:
        return taken
    for node, known in intersection(info.missing, state.entries.known).items():
        for tick in known.ticks():
            updates, superseded, _ = entries.answer(state.entries, {node: of_ticks([tick])})  # type: ignore[arg-type]  # a dict works
            taken = then(taken, lambda now, updates=updates: send_again(now, updates))  # type: ignore[misc]  # called now
            if superseded:
                taken = then(taken, lambda now, rows=superseded: send_info(now, "known", rows))  # type: ignore[misc]  # called now
    return taken


def _asks_for_nothing(state: State, missing: Any) -> Next:
    if missing:
        return ASK_FOR(state, missing)
    return originate(state, lambda tock: Info(Chain((Element(state.self_id, state.message_tick),), cut=True), tock))[1]


class DD23(Diverging):
    """Sends a request even if nothing is missing."""

    instead: ClassVar = {"recovery.ask_for": _asks_for_nothing, "transitions.ask_for": ASK_FOR}


class DD24(Diverging):
    """Crashes at an update that is too large."""

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Crashes."""
        try:
            return super().step(state, event, pick)
        except NotEnabled as refusal:
            raise RuntimeError(str(refusal)) if refusal.reason == "too_large" else refusal from None


class DD25(Diverging):
    """Crashes at an update without a tock."""

    def decode(self, data: bytes) -> Any:
        """Crashes."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            is_it = error.detail == "a message has a tock" and b"distkv.update" in data[:14]
            raise RuntimeError(error.detail) if is_it else error from None


class DD26(Diverging):
    """Crashes at a known tick with another value."""

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Crashes."""
        step = super().step(state, event, pick)
        if any(isinstance(effect, Notify) and isinstance(effect.notice, Contradiction) for effect in step.effects):
            raise RuntimeError("the same change, and another value")
        return step


class DD27(Diverging):
    """Crashes at the tick 0 when it looks for missing changes."""

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Crashes."""
        step = super().step(state, event, pick)
        if step.state.participates and 0 in step.state.ticks.values():
            raise RuntimeError("there is no change before the first")
        return step


@Diverging.instead_of("election.winner")
def DD28(ping: Ping, last: Ping) -> Ping:
    """Lets the lower tick win, and then the higher name."""
    (node, tick), (other, other_tick) = ping.chain.head, last.chain.head
    return ping if (ping.tock, -(tick or 0), node) > (last.tock, -(other_tick or 0), other) else last


@Diverging.instead_of("transitions.on_ping")
def DD29(state: State, ping: Ping, pick: Pick) -> Next:
    """Starts a recovery at every collision."""
    kind = kind_of(ping, state.last, state.heard.get(ping.chain.head.node))
    taken = ON_PING(state, ping, pick)
    last = state.last
    if kind is not Kind.COLLISION or last is None:
        return taken
    lost = taken.state.last is not last
    return then(taken, lambda now: BEGIN(now, last.chain, ping.chain, lost=lost, is_reason=False))


class DD30(Diverging):
    """Waits three clocks after its own ping, and occurs in a chain once."""

    instead: ClassVar = {
        "schedule.ping": lambda clock, place, length: PING_TIME(clock, place, length) if place else schedule.silence(clock),
        "election.with_ping": lambda chain, me, most: chain if chain.head == me else WITH_PING(chain, me, most),
    }


@Diverging.instead_of("recovery._on_missing")
def DD31(state: State, info: Info) -> Next:
    """Cancels its own request after any request of another node."""
    return then(ON_MISSING(state, info), lambda now: cancel_timer(now, recovery.STEP_2))


#: The divergences by their ids.
DIVERGENCES: Final = by_id(Diverging)
