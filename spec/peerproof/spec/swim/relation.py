"""
Which answers of chance stand for all others, when a SWIM node's steps are checked without knowing the answers.

The order of a round shows quantum by quantum, and there are n! of them. So a state whose vector was answered for here stands for
those with its ids in any order, and is taken apart when a quantum shows whom it pings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any, TypeAlias

from peerproof.spec.core import Expired, Send
from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.messages import COUNTER_MAX, Ack, AntiEntropy, IndirectPing, Ping, Quantum
from peerproof.spec.swim.rounds import still_live
from peerproof.spec.swim.state import State, active_size
from peerproof.spec.traces.relation import Answer, Question

Sends: TypeAlias = tuple[Send[Any], ...] | None


def narrow(question: Question) -> Iterable[Answer] | None:
    """
    The answers that the messages show. [S-33, S-43, S-44, SA-03, SA-28]

    A node that has no number left for what it would send shows less, and everything is tried [SA-47].
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
    """The orders of a round of which this one's state may be, as far as they differ in whom this quantum pings. [S-44, SA-26]"""
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
    """What the messages list that may be the one that is asked for. Where none is seen, any: no state remembers it."""
    if question.sends is None:
        yield question.among[: question.some]
        return
    found: dict[Answer, None] = {}
    for send in question.sends[_count_asked(question) :]:
        message = send.message
        if not isinstance(message, (Ping, Ack)) or message.target in question.among:
            continue  # it is picked for the receiver, from all others
        listed = next((vector.members for vector in message.vectors if isinstance(vector, AntiEntropy)), ())
        shown = tuple(member.uuid for member in listed)
        if len(set(shown)) == len(shown) <= question.some and set(shown) <= set(question.among):
            rest = [uuid for uuid in question.among if uuid not in shown]  # picked, and without room
            found |= dict.fromkeys((*shown, *others) for others in permutations(rest, question.some - len(shown)))
    yield from found


def _orders(question: Question) -> Iterator[Answer]:
    """A new round, whose order shows as far as this quantum pings."""
    count = fanout(len(question.among) + 1)
    for order in _round_orders(question.among, count, question.sends):
        if question.is_exact:
            yield from ((*order[:count], *rest) for rest in permutations(order[count:]))
        else:
            yield order


def _round_orders(among: tuple[Any, ...], count: int, sends: Sends) -> Iterator[Answer]:
    """The orders of these that begin with those who are pinged; what comes after them is sorted."""
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
