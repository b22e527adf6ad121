"""
DistKV as the bounded models have it: nodes, paths and values are numbers there, and tables are sets of tuples.

Node 1 is `n1`; the path 0 is the root, any other has one name, which is that number; the value 0 is Null.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entry
from peerproof.spec.distkv.messages import Info, Loaded, LoadFailed, Message, Ping, Update
from peerproof.spec.distkv.paths import Path, names_of, path_of
from peerproof.spec.distkv.state import Recovery
from peerproof.spec.distkv.ticks import Ticks, TickSets
from peerproof.spec.distkv.values import NULL, Value, plain_of, value_of_plain


@dataclass(frozen=True, slots=True)
class Load:
    """Asks for what a node has; a message of the world."""


Carried: TypeAlias = Message | Load | Loaded | LoadFailed


def name(node: int) -> NodeId:
    """The name of a node of a model."""
    return NodeId(f"n{node}")


def number(node: NodeId) -> int:
    """The node of a model that has this name."""
    return int(node[1:])


def path(place: int) -> Path:
    """The path of a model: the root, or one of one name."""
    return path_of((place,) if place else ())


def path_number(at: Path) -> int:
    """A path in a model."""
    names: Any = names_of(at)
    return names[0] if names else 0


def value(what: int) -> Value:
    """A value of a model."""
    return value_of_plain(what) if what else NULL


def value_number(what: Value) -> int:
    """A value in a model: a number, 0 if it is Null."""
    plain: Any = plain_of(what)
    return plain or 0


def chain(cut: int, elements: Iterable[int]) -> Chain:
    """A chain, of nodes and ticks in turn."""
    flat = list(elements)
    return Chain(tuple(Element(name(m), tick) for m, tick in zip(flat[::2], flat[1::2], strict=True)), bool(cut))


def chain_value(chain: Chain) -> Any:
    """A chain in a model."""
    return tuple((number(node), tick) for node, tick in chain.elements), chain.cut


def ticks_value(ticks: Ticks) -> frozenset[tuple[int, int]]:
    """A number for each node in a model."""
    return frozenset((number(node), tick) for node, tick in ticks.items())


def sets_value(sets: TickSets) -> frozenset[tuple[int, int]]:
    """Sets of ticks in a model."""
    return frozenset((number(node), tick) for node, ranges in sets.items() for tick in ranges.ticks())


def entry_value(entry: Entry | Update) -> tuple[Any, ...]:
    """Chain, value and tock of an entry in a model."""
    return chain_value(entry.chain), value_number(entry.value), entry.tock


def recovery_value(recovery: Recovery) -> tuple[Any, ...]:
    """A recovery in a model."""
    return (
        chain_value(recovery.mine),
        frozenset(map(number, recovery.side)),
        recovery.lost,
        () if recovery.ping is None else (chain_value(recovery.ping),),
        sets_value(recovery.covered),
    )


def content_value(message: Carried) -> tuple[Any, ...]:
    """A message in a model: what it is, and what it holds."""
    match message:
        case Update(chain, at, what, tock):
            return "update", path_number(at), chain_value(chain), value_number(what), tock
        case Ping(chain, tock):
            return "ping", chain_value(chain), tock
        case Info(chain, tock, known, ticks, missing, reason):
            prev = () if chain.prev == Chain(cut=True) else (chain_value(chain.prev),)
            why = () if reason is None else (chain_value(reason),)
            return "info", chain.head.tick, prev, tock, sets_value(known), ticks_value(ticks), sets_value(missing), why
        case Loaded(_, entries, superseded, ticks, tock):
            rows = frozenset((path_number(entry.path), *entry_value(entry)) for entry in entries)
            return "loaded", rows, sets_value(superseded), ticks_value(ticks), tock
        case Load():
            return ("load",)
        case LoadFailed():
            return ("refused",)
