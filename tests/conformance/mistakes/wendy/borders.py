"""Mistakes at the borders of numbers, in texts, and in what several numbers or addresses say together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.core import Pick, Sent, Step
from peerproof.spec.wendy import state as states
from peerproof.spec.wendy import tables
from peerproof.spec.wendy.messages import NO_VERSIONS, Node, Versions
from peerproof.spec.wendy.state import State

wrong = Variants(__name__, Wrong)
ADDRESS_OF = states.address_of


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


class GoneByTheOldAddress(Wrong):
    """Has a node gone that cannot be reached where it is not any more. [WA-24, WA-68]"""

    caught_by: ClassVar = ("an-unmeasured-leaf-says-where-it-is",)
    old: dict[Any, Node]

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Remembers where each was."""
        self.old = getattr(self, "old", {})
        self.old |= {ADDRESS_OF(state.config, node): node for node in (*state.measured.values(), *state.known.values())}
        if isinstance(event, Sent) and event.took is None and event.to in self.old:
            now = state.known.get(self.old[event.to].id)
            where = ADDRESS_OF(state.config, now) if now else None
            event = replace(event, to=where) if where else event
        return super().step(state, event, pick)


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
}
__getattr__ = wrong.find
