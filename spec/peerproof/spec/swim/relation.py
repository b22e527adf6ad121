"""
Answers of `pick` that represent all others, for checks of a SWIM node's steps without its recorded answers.

The order of a round becomes visible quantum by quantum, and there are n! orders. So a state with one chosen order represents the
states with all orders of these ids, and is unfolded when a quantum shows which nodes it pings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any, TypeAlias

from peerproof.spec.core import Expired, Send, replace
from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.messages import COUNTER_MAX, Ack, AntiEntropy, IndirectPing, Ping, Quantum
from peerproof.spec.swim.rounds import still_live
from peerproof.spec.swim.state import State, active_size
from peerproof.spec.traces.relation import Answer, Question

Sends: TypeAlias = tuple[Send[Any], ...] | None


def narrow(question: Question) -> Iterable[Answer] | None:
    """
    Returns the answers that agree with the messages. [S-33, S-43, S-44, SA-03, SA-28]

    A node whose counters are exhausted shows fewer messages, and all answers are tried [SA-47].
    """
    if question.state.incarnation.restart == COUNTER_MAX:
        return None
    match question.why:
        case "anti-entropy":
            return _members(question)
        case "round.order":
            return _orders(question)
        case "indirect.relay" if question.sends is not None:
            asked = [ping.target for ping in _pings(question.sends) if _is_relayed(ping)]
            number = _count_asked(question)
            return [(asked[number],)] if number < len(asked) and asked[number] in question.among else []
        case _:
            return None


def unfold(state: State, event: Any, sends: Sends) -> Iterator[State]:
    """Yields the represented orders of a round, as far as they differ in the nodes that this quantum pings. [S-44, SA-26]"""
    if event is None:
        yield from (replace(state, vector=order) for order in permutations(state.vector))
        return
    left = still_live(state)
    is_silent = state.left and all(entry.event.node != state.uuid for entry in state.queue)  # [SA-59]
    if is_silent or not (left and isinstance(event, Expired) and isinstance(event.timer, Quantum)):
        yield state
        return
    if state.incarnation.restart == COUNTER_MAX:
        sends = None
    for order in _round_orders(tuple(sorted(left)), fanout(active_size(state)), sends):
        yield replace(state, vector=order)


def _members(question: Question) -> Iterator[Answer]:
    """Yields the listed members that may be the answer. If no member is visible, any answer will do: no state keeps it."""
    if question.sends is None:
        yield question.among[: question.some]
        return
    found: dict[Answer, None] = {}
    for send in question.sends[_count_asked(question) :]:
        message = send.message
        if not isinstance(message, (Ping, Ack)) or message.target in question.among:
            continue  # chosen for the receiver, from all others
        listed = next((vector.members for vector in message.vectors if isinstance(vector, AntiEntropy)), ())
        shown = tuple(member.uuid for member in listed)
        if len(set(shown)) == len(shown) <= question.some and set(shown) <= set(question.among):
            rest = [uuid for uuid in question.among if uuid not in shown]  # chosen, but without room
            found |= dict.fromkeys((*shown, *others) for others in permutations(rest, question.some - len(shown)))
    yield from found


def _orders(question: Question) -> Iterator[Answer]:
    """Yields orders of a new round, which are visible as far as this quantum pings."""
    count = fanout(len(question.among) + 1)
    for order in _round_orders(question.among, count, question.sends):
        if question.is_exact:
            yield from ((*order[:count], *rest) for rest in permutations(order[count:]))
        else:
            yield order


def _round_orders(among: tuple[Any, ...], count: int, sends: Sends) -> Iterator[Answer]:
    """Yields orders that begin with the pinged nodes; the rest is sorted."""
    if sends is None:
        beginnings: Iterable[Answer] = permutations(among, min(count, len(among)))
    else:
        shown = tuple(ping.target for ping in _pings(sends) if not _is_relayed(ping))
        fits = len(set(shown)) == len(shown) and set(shown) <= set(among)
        beginnings = [shown if fits else ()]
    for begin in beginnings:
        yield (*begin, *(uuid for uuid in among if uuid not in begin))


def _pings(sends: tuple[Send[Any], ...]) -> list[Ping]:
    return [send.message for send in sends if isinstance(send.message, Ping)]


def _is_relayed(ping: Ping) -> bool:
    return any(isinstance(vector, IndirectPing) for vector in ping.vectors)


def _count_asked(question: Question) -> int:
    return sum(why == question.why for why, _ in question.asked)
