"""Effects of a node: new messages, repeated messages, and timers. [D-52…D-54, DA-03, DA-21, DA-62, DA-82, DA-86]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from peerproof.spec.core import EVERYBODY, CancelTimer, Duration, Notify, Send, SetTimer, Step, Table, replace
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.messages import Effect, Fault, FaultKind, Info, Message, Timer, Update
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges, of_range
from peerproof.spec.distkv.state import State
from peerproof.spec.errors import NotEnabled

Next: TypeAlias = Step[State, Effect]


def then(taken: Next, *doing: Callable[[State], Next]) -> Next:
    """Runs functions one after the other, each on the state that the last one left; collects their effects."""
    state, effects = taken
    for do in doing:
        state, more = do(state)
        effects += more
    return Step(state, effects)


def set_timer(state: State, timer: Timer, after: Duration) -> Next:
    """Starts or restarts a timer."""
    return Step(replace(state, timers=state.timers | {timer}), (SetTimer(timer, after),))


def cancel_timer(state: State, timer: Timer) -> Next:
    """Stops a timer, if it runs."""
    if timer not in state.timers:
        return Step(state)
    return Step(replace(state, timers=state.timers - {timer}), (CancelTimer(timer),))


def originate(state: State, make: Callable[[int], Message]) -> tuple[Message | None, Next]:
    """Sends a new message with the next tock; returns None with a fault if no tock is left. [D-52…D-54, DA-21, DA-86]"""
    if state.tock >= TICK_MAX:
        return None, Step(state, (Notify(Fault(FaultKind.EXHAUSTED)),))
    message = make(state.tock + 1)
    return message, Step(replace(state, tock=state.tock + 1), (Send(EVERYBODY, message),))


def send_again(state: State, updates: Iterable[Update]) -> Next:
    """Sends changes again, unchanged; reports a fault for those that are too large. [DA-03, DA-82]"""
    effects: list[Effect] = []
    for update in updates:
        fits = len(payload(update)) <= state.config.max_payload
        effects.append(Send(EVERYBODY, update) if fits else Notify(Fault(FaultKind.TOO_LARGE)))
    return Step(state, tuple(effects))


def send_info(state: State, what: str, rows: Mapping[Any, Any], prev: Chain | None = None, reason: Chain | None = None) -> Next:
    """
    Sends this data in as many infos as needed; `what` is the member: `ticks`, `missing` or `known`. [DA-44, DA-82]

    If no data would fit beside `prev` and `reason`, first `reason` is left out, then `prev`.
    """
    taken: Next = Step(state)
    rest = _pieces(rows)
    while rest:
        filled, (prev, reason) = _fit_pieces(taken.state, what, rest, ((prev, reason), (None, reason), (None, None)))
        info = _info(taken.state, what, _together(rest[:filled]), prev, reason)
        _, sent = originate(taken.state, info)
        taken = Step(sent.state, (*taken.effects, *sent.effects))
        rest, prev, reason = rest[filled:], None, None
    return taken


#: A row of a map in an info, or one range of it.
_Piece: TypeAlias = tuple[Any, Any]


def _pieces(rows: Mapping[Any, Any]) -> list[_Piece]:
    """Returns the rows sorted by name, with sets of ticks split into ranges."""
    found: list[_Piece] = []
    for node, row in rows.items():
        if isinstance(row, Ranges):
            found += [(node, of_range(begin, end)) for begin, end in zip(row.begins, row.ends, strict=True)]
        else:
            found.append((node, row))
    return found


def _together(pieces: Iterable[_Piece]) -> Table[Any, Any]:
    rows: dict[Any, Any] = {}
    for node, piece in pieces:
        row = rows.get(node)
        rows[node] = Ranges(row.begins + piece.begins, row.ends + piece.ends) if row else piece
    return Table(rows)


def _fit_pieces(
    state: State, what: str, pieces: list[_Piece], beside: Iterable[tuple[Chain | None, Chain | None]]
) -> tuple[int, tuple[Chain | None, Chain | None]]:
    """Returns how many of the pieces fit into the next info, and the `prev` and `reason` that fit beside them."""
    pieces = pieces[: state.config.max_payload]  # each takes at least a byte
    for prev, reason in beside:
        if _fits(state, _info(state, what, _together(pieces), prev, reason)):
            return len(pieces), (prev, reason)
        fits, above = 0, len(pieces)
        while above - fits > 1:
            middle = (fits + above) // 2
            is_fitting = _fits(state, _info(state, what, _together(pieces[:middle]), prev, reason))
            fits, above = (middle, above) if is_fitting else (fits, middle)
        if fits:
            return fits, (prev, reason)
    return 1, (None, None)


def _fits(state: State, info: Callable[[int], Info]) -> bool:
    try:
        return len(payload(info(min(state.tock + 1, TICK_MAX)))) <= state.config.max_payload
    except NotEnabled:  # a chain of too many elements
        return False


def _info(state: State, what: str, rows: Table[Any, Any], prev: Chain | None, reason: Chain | None) -> Callable[[int], Info]:
    """Returns a maker of this node's info from a tock; the tick is the one that the node shows now. [DA-20]"""
    me = Element(state.self_id, state.message_tick)
    chain = Chain((me,), cut=True) if prev is None else Chain((me, *prev.elements), prev.cut)
    return lambda tock: Info(chain, tock, **{what: rows}, reason=reason)
