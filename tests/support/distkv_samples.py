"""Chains, messages and sets of ticks in few words."""

from __future__ import annotations

from typing import Any

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Ping, Update
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import read
from peerproof.spec.distkv.ticks import Ticks, TickSets
from peerproof.spec.distkv.values import value_of_plain


def element(text: str) -> Element:
    """`a3` is node a with tick 3, `a?` is node a without one."""
    node, tick = text[:-1].rstrip("0123456789"), text[len(text[:-1].rstrip("0123456789")) :]
    return Element(NodeId(node), None if tick == "?" else int(tick))


def chain(text: str) -> Chain:
    """`a3 b2` has ended, `a3 b2 …` was cut; the latest element first."""
    *words, last = text.split() or [""]
    return Chain(tuple(map(element, words)), cut=True) if last == "…" else Chain(tuple(map(element, text.split())))


def update(text: str, value: Any = None, tock: int = 1, path: tuple[Any, ...] = ("x",)) -> Update:
    return Update(chain(text), path_of(path), value_of_plain(value), tock)


def ping(text: str, tock: int = 1) -> Ping:
    return Ping(chain(text), tock)


def sets(**items: tuple[int | tuple[int, int], ...]) -> TickSets:
    return Table({NodeId(node): read(row) for node, row in items.items()})


def ticks(**rows: int) -> Ticks:
    return Table({NodeId(node): tick for node, tick in rows.items()})
