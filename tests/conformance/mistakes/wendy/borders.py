"""Mistakes in counting with ids of 128 bits, at the borders of numbers, in texts, and in what several of them say together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around, remembering

from peerproof.spec.core import Pick, Sent, Table
from peerproof.spec.wendy import routing, tables
from peerproof.spec.wendy import state as states
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.messages import NO_VERSIONS, Node, Versions
from peerproof.spec.wendy.state import Config, State

wrong = Variants(__name__, Wrong)
ADDRESS_OF = states.address_of
NEXT_HOP = routing.next_hop
PREFIX = Ring.prefix
LOW = 2**64 - 1


def _newer_by(measure: Callable[[int], Any]) -> Callable[[Versions, Versions], bool]:
    return lambda own, included: any(measure(mine) > measure(theirs) for mine, theirs in zip(own, included, strict=True))


def signed(number: int, bits: int) -> int:
    """The number as a signed one of so many bits has it."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _kept_by(better: Callable[[Versions, Versions], Versions]) -> Callable[[State, Node, Versions], State]:
    def with_versions(state: State, sender: Node, versions: Versions) -> State:
        if sender.id == state.id:
            return state
        known = state.stored.get(sender.id, NO_VERSIONS)
        return replace(state, stored=state.stored.put({sender.id: better(known, versions)}))

    return with_versions


def _each(measure: Callable[[int], Any]) -> Callable[[Versions, Versions], Versions]:
    return lambda known, new: Versions(*(b if measure(b) > measure(a) else a for a, b in zip(known, new, strict=True)))


def _regions_by(change: Callable[[str], str]) -> Callable[..., Any]:
    def address_of(config: Any, node: Node) -> Any:
        is_same = change(node.region) == change(config.region)
        return ADDRESS_OF(config, node._replace(region=config.region if is_same else config.region + "x"))

    return address_of


@wrong("proximity.consider_node", "a-leaf-heard-of-under-two-addresses")
def TheLatestHearsay(right: Any, state: State, node: Node, *, is_leaf: bool) -> Any:
    """Measures a leaf where it was heard of last. [WA-68, WA-69]"""
    if node.id in state.measured and state.measured[node.id] != node:
        state = tables.update_address(state, node)
        state = replace(state, measured=state.measured.without((node.id,)))
    return right(state, node, is_leaf=is_leaf)


@wrong(remembering, "an-unmeasured-leaf-says-where-it-is")
def GoneByTheOldAddress(old: dict[Any, Node], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Has a node gone that cannot be reached where it is not any more. [WA-24, WA-68]"""
    old.update((ADDRESS_OF(state.config, node), node) for node in (*state.measured.values(), *state.known.values()))
    if isinstance(event, Sent) and event.took is None and event.to in old:
        now = state.known.get(old[event.to].id)
        where = ADDRESS_OF(state.config, now) if now else None
        event = replace(event, to=where) if where else event
    return right(state, event, pick)


def _side_by(measure: Callable[[int], Any]) -> Callable[..., tuple[Node, ...]]:
    def in_side(config: Config, side: tuple[Node, ...], node: Node, away: Callable[[Node], int]) -> tuple[Node, ...]:
        if any(member.id == node.id for member in side):
            return side
        after = tuple(sorted((*side, node), key=lambda member: measure(away(member))))[: config.leaf_set_side]
        return side if after == side else after

    return in_side


def _rank_by(measure: Callable[[int], Any]) -> Callable[[Ring, int, int], Any]:
    def rank(ring: Ring, node: int, key: int) -> Any:
        below = (key - node) % ring.size
        above = ring.size - below
        return (measure(min(below, above)), measure(below) > measure(above))

    return rank


def _without_borrow(bits: int) -> Callable[[Ring, Id, Id], int]:
    def clockwise(ring: Ring, start: Id, end: Id) -> int:
        word = (1 << bits) - 1
        places = range(0, ring.bits, bits)
        return sum((((end >> place & word) - (start >> place & word)) & word) << place for place in places)

    return clockwise


def _one_borrow_lost(lost: int) -> Callable[[Ring, Id, Id], int]:
    """Without the borrow from the bit `lost` and those above, out of those below."""

    def clockwise(ring: Ring, start: Id, end: Id) -> int:
        low = (1 << lost) - 1
        return (((end >> lost) - (start >> lost)) << lost) % ring.size + ((end & low) - (start & low)) % (1 << lost)

    return clockwise


def _rank_without_borrow(lost: int) -> Callable[[Ring, Id, Id], int]:
    clockwise = _one_borrow_lost(lost)

    def rank(ring: Ring, node: Id, key: Id) -> int:
        below, above = clockwise(ring, node, key), clockwise(ring, key, node)
        return 2 * below if below <= above else 2 * above + 1

    return rank


def _prefix_wrong_at(row: int) -> Callable[[Ring, Id, Id], int]:
    def prefix(ring: Ring, one: Id, other: Id) -> int:
        right = PREFIX(ring, one, other)
        return (row + 1 if row < ring.digits - 1 else row - 1) if right == row else right

    return prefix


def _of_row(row: int) -> type[Wrong]:
    """The variant that has nodes of one row in another."""
    return type(
        f"PrefixWrongAt{row}",
        (Wrong,),
        {
            "__doc__": f"Finds a prefix of {row} digits to be one longer, or shorter. [W-15]",
            "__module__": __name__,
            "caught_by": ("cells-in-all-rows",),
            "instead": {"ids.Ring.prefix": _prefix_wrong_at(row)},
        },
    )


def _blind_to(row: int) -> type[Wrong]:
    """The variant that does not find the cell of a key in one row."""

    def next_hop(state: State, key: Id) -> Node | None:
        there = {cell: node for cell, node in state.routing_table.items() if cell[0] != row}
        is_there = key != state.id and PREFIX(state.config.ring, state.id, key) == row
        return NEXT_HOP(replace(state, routing_table=Table(there)) if is_there else state, key)

    return type(
        f"RoutesPastRow{row}",
        (Wrong,),
        {
            "__doc__": f"Does not look at the routing table for a key with a prefix of {row} digits. [W-40]",
            "__module__": __name__,
            "caught_by": ("route-by-all-rows",),
            "instead": {"routing.next_hop": next_hop},
        },
    )


globals().update({variant.__name__: variant for variant in (*map(_of_row, range(32)), *map(_blind_to, range(30)))})


wrong |= {
    # Compares versions as signed numbers of 32 bits. [WA-41]
    "Versions32: versions-at-borders": {"joining.is_newer": _newer_by(lambda version: signed(version, 32))},
    # Compares the lower 32 bits of versions. [WA-41]
    "VersionsOfFourBytes: versions-at-borders": {"joining.is_newer": _newer_by(lambda version: version & 0xFFFFFFFF)},
    # Compares versions as signed numbers of 64 bits. [WA-41]
    "SignedVersions: versions-at-borders": {"joining.is_newer": _newer_by(lambda version: signed(version, 64))},
    # Keeps the versions of the message whose first different one is greater. [WA-45]
    "KeepsTheGreaterTuple: versions-kept-of-each-table": {"joining.with_versions": _kept_by(max)},
    # Keeps new versions if none is smaller. [WA-45]
    "KeepsIfAllAreGreater: versions-kept-of-each-table": {
        "joining.with_versions": _kept_by(
            lambda known, new: new if all(b >= a for a, b in zip(known, new, strict=True)) else known
        )
    },
    # Keeps the first of versions that are equal as doubles. [WA-45]
    "KeepsByDoubles: versions-kept-at-borders": {"joining.with_versions": _kept_by(_each(float))},
    # Keeps the greater version as a signed number of 64 bits. [WA-45]
    "KeepsBySigned: versions-kept-at-borders": {"joining.with_versions": _kept_by(_each(lambda version: signed(version, 64)))},
    # Keeps the greater version as a signed number of 32 bits. [WA-45]
    "KeepsBy32: versions-kept-at-borders": {"joining.with_versions": _kept_by(_each(lambda version: signed(version, 32)))},
    # Has regions that differ in capitals be one. [WA-52]
    "RegionsWithoutCase: regions-that-look-alike": {"proximity.address_of": _regions_by(str.casefold)},
    # Has regions that differ in blanks at their ends be one. [WA-52]
    "RegionsWithoutBlanks: regions-that-look-alike": {"proximity.address_of": _regions_by(str.strip)},
    # Has who says no region be in the own. [WA-52]
    "NoRegionIsAnyRegion: regions-that-look-alike": around(
        "proximity.address_of", lambda right, config, node: right(config, node._replace(region=node.region or config.region))
    ),
    # Has ports of 15 bits only. [WA-52]
    "Ports15: the-greatest-port": around(
        "proximity.address_of", lambda right, config, node: None if node.port > 32767 else right(config, node)
    ),
    # Keeps the address at which it measures a leaf, whatever that says of itself. [WA-68]
    "OneAddressForEver: an-unmeasured-leaf-says-where-it-is": {
        "proximity.update_address": lambda state, node: state if node.id in state.measured else tables.update_address(state, node)
    },
    # Subtracts words of 32 bits each by itself. [W-02, WA-02]
    "NoBorrowOfWords: leaves-with-a-borrow-at-bit-32 leaves-with-a-borrow-at-bit-64 leaves-with-a-borrow-at-bit-96": {
        "ids.Ring.clockwise": _without_borrow(32)
    },
    # Orders leaves by the upper 64 bits of their distance. [W-26, W-28]
    "LeavesByTheUpperHalf: leaves-that-differ-in-the-lower-half": {"tables.in_side": _side_by(lambda away: away >> 64)},
    # Orders leaves by the lower 64 bits of their distance. [W-26, W-28]
    "LeavesByTheLowerHalf: leaves-that-differ-in-both-halves": {"tables.in_side": _side_by(lambda away: away & LOW)},
    # Orders leaves by their distance as a double. [W-26, W-28]
    "LeavesByDoubles: leaves-that-differ-in-the-lower-half leaves-that-doubles-cannot-tell-apart": {
        "tables.in_side": _side_by(float)
    },
    # Compares the lower halves of distances as signed numbers. [W-26, W-28]
    "LeavesBySignedHalves: leaves-on-both-sides-of-two-to-the-63": {
        "tables.in_side": _side_by(lambda away: (away >> 64, (away & LOW) - 2 * (away & 2**63)))
    },
    # Compares distances from a key by their lower halves. [W-37]
    "RanksByTheLowerHalf: route-by-both-halves": {"ids.Ring.rank": _rank_by(lambda away: away & LOW)},
    # Subtracts halves of ids each by itself. [W-02, WA-02]
    "NoBorrowOfHalves: leaves-with-a-borrow-at-bit-64": {"ids.Ring.clockwise": _without_borrow(64)},
    # Loses the borrow from the second to the last word of 32 bits. [W-02]
    "NoBorrowAt32: leaves-with-a-borrow-at-bit-32": {"ids.Ring.clockwise": _one_borrow_lost(32)},
    # Loses the borrow from the first to the second word of 32 bits. [W-02]
    "NoBorrowAt96: leaves-with-a-borrow-at-bit-96": {"ids.Ring.clockwise": _one_borrow_lost(96)},
    # Loses the borrow into the last word of 32 bits when it measures how far a key is. [W-37]
    "RanksWithoutBorrowAt32: route-with-a-borrow-at-bit-32": {"ids.Ring.rank": _rank_without_borrow(32)},
    # Loses the borrow between the halves when it measures how far a key is. [W-37]
    "RanksWithoutBorrowAt64: route-with-a-borrow-at-bit-64": {"ids.Ring.rank": _rank_without_borrow(64)},
    # Loses the borrow out of the first word of 32 bits when it measures how far a key is. [W-37]
    "RanksWithoutBorrowAt96: route-with-a-borrow-at-bit-96": {"ids.Ring.rank": _rank_without_borrow(96)},
    # Reads the low digit of each byte with three bits. [W-16]
    "ColumnsOfSevenBits: cells-in-all-columns": {
        "ids.Ring.digit": lambda ring, node, index: (node >> (ring.bits - 4 * (index + 1))) & (7 if index % 2 else 15)
    },
}
__getattr__ = wrong.find
