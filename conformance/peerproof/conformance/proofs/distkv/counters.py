"""
Proofs about DistKV's counters: sets of ticks, missing ticks, the encoding of numbers, and that tocks rise.

The proof about tocks covers the whole step. It considers one node, in enough situations that each kind of message is sent; all
tocks are symbols. The length of messages is left out: it only determines into how many infos something is divided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.distkv.terms import any_ranges, inside, normal
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.swim.transit import encode_integer
from peerproof.conformance.proofs.terms import choice, truth
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table
from peerproof.spec.distkv import Config, Phase, Recovery, State, codec, messages, ranges, transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entries, Entry
from peerproof.spec.distkv.messages import Info, Loaded, Ping, SetValue, Update
from peerproof.spec.distkv.paths import ROOT, path_of
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges, of_ticks
from peerproof.spec.distkv.values import value_of
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding

#: Maximum number of ranges of a set: enough that a range begins, ends or is removed before, between and after others.
MOST: Final = 3
FEWER: Final = 2

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")
NOW: Final = Instant(0)
VALUE: Final = value_of("a value")

#: Replacements for names that the step looks up.
INSTEAD: Final = names_in(codec, payload=lambda _: b"")

MINE: Final = Chain((Element(A, 2), Element(B, 1)))
TIMERS: Final[tuple[messages.Timer, ...]] = (
    *(messages.InitialPingDue(), messages.FoundingDue(), messages.OldDataDue(), messages.PingDue(), messages.GreetingDue()),
    *map(messages.RecoveryDue, messages.RecoveryStep),
    *(messages.RecoveryOver(), messages.RepairDue(), messages.RepairAllowed()),
)

_TOUCHING: Final = Twin("ranges may touch", {"gap": 0})

COUNTERS: Final = ProofTable()

MEANINGS: Final[Mapping[str, Callable[[Term, Term], Term]]] = {
    "union": smt.Or,
    "difference": lambda one, other: smt.And(one, smt.Not(other)),
    "intersection": smt.And,
}


# -- sets of ticks ----------------------------------------------------------------------------------------------------


def any_tick(path: Path, name: str = "tick") -> Term:
    """Returns any tick."""
    return path.integer(name, 0, TICK_MAX)


@COUNTERS.add("DZ-04 D-29 D-30 DA-24", "distkv.ranges.Ranges", _TOUCHING)
def a_set_has_one_form(path: Path, *, gap: int = 1) -> None:
    """
    Two lists of ranges in normal form that hold the same ticks are the same list.

    If they differ, then a tick at which a range of either begins or ends is in only one of them.
    """
    a, b = any_ranges(path, "a", MOST, gap=gap), any_ranges(path, "b", MOST, gap=gap)
    path.assume(*(inside(a, tick) == inside(b, tick) for bounds in (*a, *b) for tick in bounds))

    path.claim("as many ranges", truth(len(a.begins) == len(b.begins)))
    path.claim(
        "the same", smt.And(*(one == other for one, other in zip((*a.begins, *a.ends), (*b.begins, *b.ends), strict=True)))
    )


@COUNTERS.add(
    "DZ-04 D-29 D-31 DA-24", "distkv.ranges.Ranges", _TOUCHING, of={operation: {"operation": operation} for operation in MEANINGS}
)
def operations_give_normal_forms(path: Path, *, operation: str, gap: int = 1) -> None:
    """Sets made from two others are in normal form, and hold exactly the right ticks."""
    a, b = any_ranges(path, "a", MOST, gap=gap), any_ranges(path, "b", FEWER, gap=gap)
    tick = any_tick(path)

    made: Ranges = getattr(a, operation)(b)
    path.claim("in normal form", normal(made))
    path.claim("the right ticks", inside(made, tick) == MEANINGS[operation](inside(a, tick), inside(b, tick)))


@COUNTERS.add("DZ-04 D-31 D-58 DA-24", "distkv.ranges.Ranges", _TOUCHING)
def one_tick_more_gives_a_normal_form(path: Path, *, gap: int = 1) -> None:
    """A set with one tick more is in normal form and holds exactly that tick and the old ones; and `has` agrees."""
    a = any_ranges(path, "a", MOST, gap=gap)
    one, tick = any_tick(path, "one more"), any_tick(path)

    made = a.with_tick(one)
    path.claim("in normal form", normal(made))
    path.claim("the right ticks", inside(made, tick) == smt.Or(inside(a, tick), tick == one))
    path.claim("as it says", truth(made.has(tick)) == inside(made, tick))


@COUNTERS.add(
    "DZ-07 D-21 D-67 DA-04",
    "distkv.ranges.missing distkv.ranges.Ranges",
    Twin("ticks begin with 0", {"up_to": lambda tick: ranges.of_range(0, tick + 1)}),
)
def what_is_missing_is_not_known(path: Path, *, up_to: Callable[[Any], Ranges] | None = None) -> None:
    """Missing are the ticks from 1 to the last one that are not known; a higher last tick adds exactly the new ones."""
    known, tick = any_ranges(path, "known", MOST), any_tick(path)
    last, later = path.integer("last", 0, TICK_MAX), path.integer("later", 0, TICK_MAX)
    path.assume(last <= later)

    with overriding(names_in(ranges, up_to=up_to or ranges.up_to)):
        found, more = ranges.missing(last, known), ranges.missing(later, known)
    path.claim("in normal form", normal(found))
    path.claim("what it is", inside(found, tick) == smt.And(tick >= 1, tick <= last, smt.Not(inside(known, tick))))
    new = smt.And(inside(more, tick), smt.Not(inside(found, tick)))
    path.claim("the new ones", new == smt.And(tick > last, tick <= later, smt.Not(inside(known, tick))))


@COUNTERS.add(
    "DZ-07 D-67 DI-02 DA-04",
    "distkv.ranges.missing distkv.ranges.Ranges",
    Twin("known ticks are replaced instead of extended", {"learn": lambda _, more: more}),
)
def to_know_more_misses_no_more(path: Path, *, learn: Callable[[Ranges, Ranges], Ranges] = Ranges.union) -> None:
    """A node that knows more never misses more."""
    known, more = any_ranges(path, "known", FEWER), any_ranges(path, "more", FEWER)
    last, tick = path.integer("last", 0, TICK_MAX), any_tick(path)

    before, after = ranges.missing(last, known), ranges.missing(last, learn(known, more))
    path.claim("never more", smt.Implies(inside(after, tick), inside(before, tick)))


@COUNTERS.add(
    "DZ-10 D-26 DA-29",
    Evaluated(("forms.messagepack.integer_bytes",), ("_SMALL", "_INTEGERS")),
    Twin("integers of four and of eight bytes begin alike", {"heads": lambda head: head.replace(b"\xcf", b"\xce")}),
)
def numbers_are_told_apart(path: Path, *, heads: Callable[[bytes], bytes] = lambda head: head) -> None:
    """
    Different numbers from 0 to 2^63 have different bytes, and the first byte determines their count; smaller numbers are not
    longer.

    This covers every tick and tock, and the end of every range.
    """
    values = [path.integer(name, 0, TICK_MAX + 1) for name in "ab"]

    (head, whole, width), (other_head, other_whole, other_width) = (encode_integer(value, heads) for value in values)
    first, other_first = (smt.IntVal(h[0]) if h else w for h, w in ((head, whole), (other_head, other_whole)))
    path.claim("the first byte says the width", smt.Implies(first == other_first, width == other_width))
    if head == other_head and bool(whole == other_whole):
        path.claim("the same number", values[0] == values[1])
    path.claim("not longer", smt.Implies(values[0] <= values[1], width <= other_width))


# -- tocks ------------------------------------------------------------------------------------------------------------


def any_tock(path: Path, name: str) -> Any:
    """Returns any tock."""
    return path.integer(name, 0, TICK_MAX)


def any_node(path: Path) -> State:
    """Returns a node with everything to do: recovering; ready before its recovery; with old data; or about to be the first."""
    tock, stored, pinged = any_tock(path, "tock"), any_tock(path, "the entry's tock"), any_tock(path, "tock of the last ping")
    path.know(stored <= tock, pinged <= tock)
    rows = Entries(Table({ROOT: Entry(MINE, VALUE, stored)}), Table({A: of_ticks((1, 2)), B: of_ticks((1,))}))
    ticks, timers, last = Table({A: 2, B: 3}), frozenset(TIMERS), Ping(MINE, pinged)
    kind = choice(path, "recovering, ready, old, empty", 4)
    if kind > 1:
        phase, config, has = (Phase.OLD, Config(), rows) if kind == 2 else (Phase.EMPTY, Config(root=VALUE), Entries())  # noqa: PLR2004
        return State(A, config, phase, tock, ticks, has, source=B, timers=timers)
    lost = bool(path.any_of("it has lost", smt.BoolSort()))
    recovery = None if kind else Recovery(MINE, frozenset((A, B)), lost, MINE)
    asked, wanted = Chain((Element(C, 0),)), Table({A: of_ticks((1, 2))})
    return State(A, Config(), Phase.READY, tock, ticks, rows, last, Table(), frozenset(), B, wanted, asked, recovery, timers)


def any_event(path: Path, tock: Term) -> Any:
    """Returns any event: a message or download with this tock, a timer, or a command."""
    me, you = Element(B, 4), Element(C, 0)
    messages = (
        Update(Chain((me,)), ROOT, VALUE, tock),
        Ping(Chain((me, *MINE.elements)), tock),
        Ping(Chain((me, you)), tock),
        Ping(Chain((you,)), tock),
        Ping(Chain((Element(A, 2),)), tock),
        Info(Chain((me,), cut=True), tock, ticks=Table({A: 2, B: 4}), reason=Chain((me,))),
        Info(Chain((me,), cut=True), tock, missing=Table({A: of_ticks((1, 2))})),
        Info(Chain((me,), cut=True), tock, known=Table({B: of_ticks((1, 2, 3))})),
    )
    events = (
        *(Received(NOW, message.chain.head.node, message) for message in messages),
        *(Expired(NOW, timer) for timer in TIMERS),
        Asked(NOW, SetValue(path_of(["x"]), VALUE)),
        Asked(NOW, Loaded(B, (Update(Chain((me,)), ROOT, VALUE, tock),), Table(), Table({B: 4}), tock)),
    )
    return events[choice(path, "what happens", len(events))]


def first(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # as of `Pick`
    """Chooses the first options: the choices only decide on times."""
    return tuple(among)[:some]


@COUNTERS.add(
    "DZ-03 D-51 D-52 D-53 D-54 D-55 DA-03 DA-21 DA-86 DI-04",
    Evaluated(("distkv.transitions.step",), ("payload",)),
    Twin("what is sent again counts as well (DX-02)", {"repeated": True}),
)
def tocks_rise(path: Path, *, repeated: bool = False) -> None:
    """
    A node's tock is at least all that it received and sent; so each message that it originates has a higher one.

    The step: whatever happens, tocks of new messages rise from above the node's own and the received one, and the node ends with
    the highest. Repeated messages are left out.
    """
    state, received = any_node(path), any_tock(path, "received")
    event = any_event(path, received)
    try:
        with overriding(INSTEAD):
            after, effects = transitions.step(state, event, first)
    except NotEnabled:
        path.claim("refused", truth(isinstance(event, Asked)))
        return

    highest = state.tock
    if isinstance(event, Received) or isinstance(getattr(event, "command", None), Loaded):
        highest = smt.If(received > highest, received, highest)
    old = [entry.tock for entry in state.entries.rows.values()]
    for message in (effect.message for effect in effects if isinstance(effect, Send)):
        if repeated or not (isinstance(message, Update) and any(message.tock is tock for tock in old)):
            path.claim("a higher tock", message.tock > highest)
            highest = message.tock
    path.claim("at least as high", after.tock >= highest)
