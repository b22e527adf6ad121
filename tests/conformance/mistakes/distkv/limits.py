"""Mistakes about sizes, about how many names are kept, and about great numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, after, hearing, is_sent, silent, without_effects

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import EVERYBODY, Notify, Pick, Send, Step, Table
from peerproof.spec.distkv import chains, entries, outgoing, pings, startup, transitions
from peerproof.spec.distkv.chains import Chain, Claim, Element, Relation
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.entries import Entry, Outcome
from peerproof.spec.distkv.messages import Fault, FaultKind, Info, Loaded, Message, Ping, Update
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.distkv.ranges import Ranges
from peerproof.spec.distkv.state import State
from peerproof.spec.distkv.ticks import Ticks, missing_sets

wrong = Variants(__name__, Wrong)
AGREE = chains.agree
BEATS = Claim.beats
HAS_SEEN = chains._has_seen
KIND_OF = pings.kind_of
NAMESAKE = transitions.is_of_namesake
ON_LOADED = startup.on_loaded
ON_MESSAGE = transitions.on_message
OUTCOME = entries._outcome
RELATION = chains.relation
Number = Callable[[int], Any]
Beats = Callable[[Claim, Claim], bool]


@wrong("recovery.send_info", "ticks-divided prev-and-reason-in-the-first")
def LeavesPrevOutWhenDividing(right: Any, state: State, what: str, rows: Any, prev: Any = None, reason: Any = None) -> Any:
    """Leaves prev out of what it divides."""
    many = len(outgoing._pieces(rows)) > 30  # so many may have to be divided
    return right(state, what, rows, None if many else prev, reason)


# -- numbers: ticks and tocks have 63 bits -----------------------------------------------------------------------------


def low_bits(number: int) -> int:
    """What 32 bits hold of it, without a sign."""
    return number & 0xFFFFFFFF if number >= 0 else number


def low_signed_bits(number: int) -> int:
    """What 32 bits hold of it, one of them the sign."""
    return (number + 2**31) % 2**32 - 2**31


def like(number: Number, chain: Chain) -> Chain:
    """The chain as it compares in this kind of numbers."""
    return Chain(tuple(Element(node, tick and number(tick)) for node, tick in chain.elements), chain.cut)


def by_tock(number: Number) -> Beats:
    """The order by tocks of this kind."""
    return lambda one, other: BEATS(Claim(number(one.tock), one.head), Claim(number(other.tock), other.head))


def by_tick(number: Number) -> Beats:
    """The order by ticks of this kind."""
    return lambda one, other: BEATS(
        Claim(one.tock, like(number, Chain((one.head,))).head), Claim(other.tock, like(number, Chain((other.head,))).head)
    )


def winner_by(beats: Beats) -> Callable[[Ping, Ping], Ping]:
    """The better ping in this order."""
    return lambda ping, last: ping if beats(Claim(ping.tock, ping.chain.head), Claim(last.tock, last.chain.head)) else last


def outcome_by(beats: Beats) -> Callable[[Entry, Update], Outcome]:
    """What comes of concurrent changes in this order."""

    def outcome(entry: Entry, arrived: Update) -> Outcome:
        if RELATION(arrived.chain, entry.chain) is not Relation.CONCURRENT:
            return OUTCOME(entry, arrived)
        wins = beats(Claim(arrived.tock, arrived.chain.head), Claim(entry.tock, entry.chain.head))
        return Outcome.CONFLICT_ACCEPT if wins else Outcome.CONFLICT_IGNORE

    return outcome


def kind_by(number: Number) -> Callable[..., Kind]:
    """What a ping is, if what is heard is compared in this kind of numbers."""
    return lambda ping, last, tock: (
        Kind.STALE if tock is not None and number(ping.tock) <= number(tock) else KIND_OF(ping, last, None)
    )


def latest_by(number: Number) -> Callable[..., Ticks]:
    """The higher ticks in this kind of numbers."""
    return lambda ticks, heard: ticks.put(
        {node: tick for node, tick in heard.items() if node not in ticks or number(tick) > number(ticks[node])}
    )


def tock_by(number: Number) -> Callable[..., Next]:
    """The higher tock in this kind of numbers."""

    def on_message(state: State, message: Message, pick: Pick) -> Next:
        is_above = number(message.tock) > number(state.tock)
        return ON_MESSAGE(state, message if is_above else replace(message, tock=min(message.tock, state.tock)), pick)

    return on_message


def says_by(number: Number) -> Callable[..., bool]:
    """Whether ticks are nowhere below in this kind of numbers."""
    return lambda ticks, mine: all(number(ticks.get(node, 0)) >= number(tick) for node, tick in mine.items())


def seen_by(number: Number) -> Callable[..., bool]:
    """Whether a chain has seen a change in this kind of numbers."""
    return lambda chain, head: HAS_SEEN(like(number, chain), like(number, Chain((head,))).head)


def agree_by(number: Number) -> Callable[..., bool]:
    """Whether chains are the same in this kind of numbers."""
    return lambda one, other: AGREE(like(number, one), like(number, other))


def namesake_by(number: Number) -> Callable[..., bool]:
    """Whether a message of the own name is above the own in this kind of numbers."""

    def is_of_namesake(state: State, message: Message) -> bool:
        head = message.chain.head
        above, own = (head.tick or 0, state.own_tick) if isinstance(message, Update) else (message.tock, state.tock)
        return NAMESAKE(state, message) and number(above) > number(own)

    return is_of_namesake


def tell_by(number: Number) -> Callable[..., Next]:
    """A download, and what is told after it, if ticks are compared in this kind of numbers."""

    def on_loaded(state: State, loaded: Loaded, pick: Pick) -> Next:
        is_told = any(number(tick) > number(loaded.ticks.get(node, 0)) for node, tick in state.ticks.items())
        return without_effects(ON_LOADED(state, loaded, pick), lambda effect: not is_told and is_sent(effect, Info))

    return on_loaded


def all_by(number: Number) -> dict[str, Any]:
    """What is replaced to compare all ticks and tocks in this kind of numbers."""
    beats: Beats = lambda one, other: by_tick(number)(  # noqa: E731  # one rule in one line
        Claim(number(one.tock), one.head),
        Claim(number(other.tock), other.head),
    )
    return {
        "election.winner": winner_by(beats),
        "entries._outcome": outcome_by(beats),
        "election.kind_of": kind_by(number),
        "ticks.latest": latest_by(number),
        "chains._has_seen": seen_by(number),
        "chains.agree": agree_by(number),
        "recovery._says_it_all": says_by(number),
        "transitions.is_of_namesake": namesake_by(number),
        "state.in_order": lambda update: (number(update.tock), update.path),
        "startup.on_loaded": tell_by(number),
    }


def one_by_one(found: Ranges) -> Ranges:
    """The ticks, if all of them fit into memory."""
    if found.size() > 2**22:
        raise MemoryError(f"{found.size()} ticks")
    return found


wrong |= {
    # Takes no update that it could not send.
    "DropsWhatIsTooLarge: received-changes-may-be-larger": hearing(
        Update, lambda update, state: None if len(payload(update)) > state.config.max_payload else update
    ),
    # Does not say that a stored change cannot be sent.
    "SilentAboutWhatIsTooLarge: stored-change-too-large old-data-too-large": silent(
        lambda effect: effect == Notify(Fault(FaultKind.TOO_LARGE))
    ),
    # Answers in the order of doubles. [D-26, DA-48]
    "AnswersInDoubles: answers-by-great-tocks": after(
        "recovery.answer",
        lambda found, *_: found._replace(
            updates=tuple(sorted(found.updates, key=lambda update: (float(update.tock), update.path)))
        ),
    ),
    # Compares the low 32 bits of ticks and tocks. [D-26, DA-86]
    "ComparesLowBits: collision-of-great-tocks collision-of-great-ticks conflict-of-great-tocks conflict-of-great-ticks "
    "not-stale-by-the-last-bit ticks-to-the-last-bit not-silenced-by-one-less old-data-by-great-tocks "
    "split-by-a-tick-beyond-2-32 reason-by-a-tick-beyond-2-32 side-by-a-tick-beyond-2-32 "
    "old-data-and-a-download-with-one-less-at-2-32": all_by(low_bits),
    # Compares ticks and tocks as signed integers of 32 bits. [D-26, DA-86]
    "ComparesLowSignedBits: collision-of-great-tocks collision-of-great-ticks conflict-of-great-tocks "
    "conflict-of-great-ticks not-stale-by-the-last-bit greeted-by-another-with-one-less old-data-by-great-tocks "
    "old-data-and-a-download-with-one-less-at-2-31": all_by(low_signed_bits),
    # Does not divide an info.
    "SendsInfosOfAnySize: ticks-divided known-divided missing-divided prev-left-out": {
        "outgoing._fits": lambda _state, _info: True
    },
    # Sends a stored change again although it does not fit.
    "SendsStoredChangesOfAnySize: stored-change-too-large old-data-too-large": {
        name: lambda state, updates: Step(state, tuple(Send(EVERYBODY, update) for update in updates))
        for name in ("recovery.send_again", "startup.send_again")
    },
    # Keeps one name less.
    "KeepsFewerNames: names-that-are-kept": {"transitions.NAMES_MAX": 4095},
    # Compares tocks of pings as doubles. [D-26, D-80]
    "PingTocksInDoubles: collision-of-great-tocks": {"election.winner": winner_by(by_tock(float))},
    # Compares ticks of pings as doubles. [D-26, D-81]
    "PingTicksInDoubles: collision-of-great-ticks": {"election.winner": winner_by(by_tick(float))},
    # Compares a ping with what it has heard as doubles. [D-26, DA-31]
    "HearsInDoubles: not-stale-by-the-last-bit": {"election.kind_of": kind_by(float)},
    # Takes the higher tick as doubles compare. [D-26, DA-45]
    "KeepsTicksInDoubles: ticks-to-the-last-bit": {"ticks.latest": latest_by(float)},
    # Takes the higher tock as doubles compare. [D-50, DA-21]
    "CountsInDoubles: tocks-to-the-last-bit": {"transitions.on_message": tock_by(float)},
    # Compares the chain of a ping with the last one as doubles. [D-26, DA-32]
    "FollowsInDoubles: not-next-by-the-last-bit-of-a-tick split-by-a-tick-beyond-2-53": {"pings.agree": agree_by(float)},
    # Compares a reason with the last chain as doubles. [D-26, DA-32, DA-50]
    "ReasonsInDoubles: reason-by-a-tick-beyond-2-53": {"recovery.agree": agree_by(float)},
    # Looks for the place where chains part with doubles. [D-26, DA-32, DA-75]
    "SidesInDoubles: side-by-a-tick-beyond-2-53": {
        "chains.agree": agree_by(float),
        "pings.agree": AGREE,
        "recovery.agree": AGREE,
    },
    # Ends at very many missing ticks, which it counts one by one. [DA-17, DA-79]
    "MissesNotSoMany: asks-for-all-of-a-great-tick": {
        "state.missing_sets": lambda ticks, known: Table(
            {node: one_by_one(found) for node, found in missing_sets(ticks, known).items()}
        )
    },
}
__getattr__ = wrong.find
