"""
Chains: the nodes that changed an entry, or pinged, latest first. [D-07…D-25]

A chain is a value. Change chains and ping chains have one type and obey different rules: a change chain has each node at most
once, and the changes that it drops are superseded. [D-13, DA-15]
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from peerproof.spec.core import NodeId
from peerproof.spec.forms.messagepack import DEPTH_MAX

#: The maximum number of elements of a sent chain: each nests deeper than the one before it. [DA-92]
ELEMENTS_MAX: Final = DEPTH_MAX

#: Maximum bytes of a node's name. [DA-83]
NAME_MAX: Final = 64


class Element(NamedTuple):
    """A node, and its tick then; None means that the node is not initialised yet, in ping chains only. [D-10]"""

    node: NodeId
    tick: int | None


class Chain(NamedTuple):
    """
    A change chain or ping chain, the latest element first. [D-11, D-17…D-20]

    A chain that is `cut` had more elements, or may have had: the elements after its last one are unknown. It stays `cut` when
    elements are put in front. [DA-11]
    """

    elements: tuple[Element, ...] = ()
    cut: bool = False

    @property
    def head(self) -> Element:
        """The latest element; the chain of a message always has one."""
        return self.elements[0]

    @property
    def prev(self) -> Chain:
        """The chain without its head: the message that the head is based on. [D-44]"""
        return Chain(self.elements[1:], self.cut)

    def has_twice(self) -> bool:
        """Whether a node has two elements, which a change chain must not have. [D-12, D-48]"""
        return len({element.node for element in self.elements}) < len(self.elements)

    def within(self, most: int) -> Chain:
        """Returns the chain with at most this many elements. [D-14, D-15, DA-13]"""
        return self if len(self.elements) <= most else Chain(self.elements[:most], cut=True)

    def tick_of(self, node: NodeId) -> int | None:
        """Returns the tick of a node's newest element; None if it has no tick or no element."""
        return next((element.tick for element in self.elements if element.node == node), None)

    def position(self, node: NodeId) -> int | None:
        """Returns the index of a node's newest element, 0 for the head; None if it has none. [DA-38, DA-41]"""
        return next((place for place, element in enumerate(self.elements) if element.node == node), None)


class Changed(NamedTuple):
    """A change chain with a new head, and the elements that were dropped, the oldest last. [D-16, DA-15]"""

    chain: Chain
    superseded: tuple[Element, ...]


def with_change(chain: Chain, element: Element, most: int) -> Changed:
    """
    Returns the change chain after this change.

    It drops the node's old element first, which may make enough room. [D-12…D-16]
    """
    others = tuple([other for other in chain.elements if other.node != element.node])
    old = tuple([other for other in chain.elements if other.node == element.node])
    kept = Chain((element, *others), chain.cut).within(most)
    return Changed(kept, (*old, *others[len(kept.elements) - 1 :]))


def with_ping(chain: Chain, element: Element, most: int) -> Chain:
    """Returns the ping chain after this ping; the node may also be the last one that pinged. [D-13, DA-34]"""
    return Chain((element, *chain.elements), chain.cut).within(most)


class Relation(Enum):
    """The relation of two changes of the same entry. [D-22, DA-02]"""

    EQUAL = "equal"
    BEFORE = "before"
    AFTER = "after"
    CONCURRENT = "concurrent"


def relation(chain: Chain | None, other: Chain | None) -> Relation:
    """
    Returns the relation between the heads of two change chains; None is before every change. [D-22]

    It is a shortcut and no order: with bounded chains, changes that follow each other may appear as concurrent, and the relation
    is not transitive. Two chains that each claim to follow the other are concurrent. [DA-02, DA-18, DA-19]
    """
    if chain is None or other is None:
        return Relation.EQUAL if chain is other else Relation.BEFORE if chain is None else Relation.AFTER
    if chain.head == other.head:
        return Relation.EQUAL
    before, after = _has_seen(other, chain.head), _has_seen(chain, other.head)
    if before == after:
        return Relation.CONCURRENT
    return Relation.BEFORE if before else Relation.AFTER


def _has_seen(chain: Chain, head: Element) -> bool:
    tick = chain.tick_of(head.node)
    return tick is not None and head.tick is not None and tick >= head.tick


class Claim(NamedTuple):
    """The sort key that decides between two messages: the higher tock, then the higher tick, then the lower name. [D-80…D-82]"""

    tock: int
    head: Element

    def beats(self, other: Claim) -> bool:
        """
        Whether this claim wins; of two equal ones neither does.

        Names are compared by their bytes, which for UTF-8 is the order of code points, as Python's is. A node that is not
        initialised loses against every other. [DA-01, DA-22, DA-35, DA-36]
        """
        mine, others = self.head.tick, other.head.tick
        if (mine is None) != (others is None):
            return others is None
        if self.tock != other.tock:
            return self.tock > other.tock
        if mine is not None and others is not None and mine != others:
            return mine > others
        return self.head.node < other.head.node


def agree(chain: Chain, other: Chain) -> bool:
    """
    Whether two chains can be the same: element by element, up to where either was cut. [DA-32]

    A chain that has ended does not agree with a longer one; one that was cut agrees with any continuation.
    """
    shorter, longer = sorted((chain, other), key=lambda one: len(one.elements))
    common = len(shorter.elements)
    return longer.elements[:common] == shorter.elements and (shorter.cut or len(longer.elements) == common)


def side_of(mine: Chain, other: Chain) -> frozenset[NodeId]:
    """
    Returns the nodes that have pinged in one chain since it separated from another one; all without a common part. [DA-75]

    The common part is the longest suffix of the first chain that agrees with a suffix of the other one, both without their heads.
    """
    for place in range(1, len(mine.elements)):
        rest = Chain(mine.elements[place:], mine.cut)
        if any(agree(rest, Chain(other.elements[start:], other.cut)) for start in range(1, len(other.elements))):
            return frozenset(node for node, _ in mine.elements[:place])
    return frozenset(node for node, _ in mine.elements)


def is_authoritative(chain: Chain) -> bool:
    """Whether a ping chain has a node with a tick above zero. [D-106, DA-16, DA-52]"""
    return any(element.tick for element in chain.elements)


def zero_may_ping(chain: Chain) -> bool:
    """
    Whether a node with tick zero may ping after this chain. [D-107]

    The first half is the larger one of a chain with an odd number of elements. [DA-40]
    """
    half = (len(chain.elements) + 1) // 2
    return is_authoritative(Chain(chain.elements[:half])) or not is_authoritative(Chain(chain.elements[half:]))


def is_change_chain(chain: Chain) -> bool:
    """Whether it is valid as a change chain: not empty, each element with a tick above 0, no node twice. [D-10, D-12, DA-90]"""
    return bool(chain.elements) and all(element.tick for element in chain.elements) and not chain.has_twice()


def is_name(text: str) -> bool:
    """Whether it is valid as the name of a node: 1 to 64 bytes of UTF-8. [D-06, DA-83]"""
    try:
        return 1 <= len(text.encode()) <= NAME_MAX
    except UnicodeEncodeError:
        return False
