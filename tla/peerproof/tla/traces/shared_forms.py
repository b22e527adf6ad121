"""
Forms that only some protocols have, in terms of those that all protocols share.

A module of TLA+ that checks traces gets values of the shared forms: numbers, texts, lists, tuples and records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.forms import ELEMENT, NODE, ByNode, ChainOf, Packed, RangeList
from peerproof.spec.forms.form import U64, Flag, Form, ListOf, Record, Text, text


class Bounds(NamedTuple):
    """A range of numbers; its end does not belong to it."""

    begin: int
    end: int


class Row(NamedTuple):
    """A row of a table by node."""

    node: str
    content: Any


def reduced(form: Form) -> tuple[Form, Callable[[Any], Any]] | None:
    """Returns a form of shared ones, and the function that makes a value of it; None if there is no need."""
    match form:
        case Packed():  # the canonical bytes
            return Text(most=2**16), text
        case RangeList():
            bounds = Record(Bounds, begin=U64(), end=U64())
            return ListOf(bounds), lambda ranges: [*map(Bounds, ranges.begins, ranges.ends)]
        case ByNode(content):
            return ListOf(Record(Row, node=NODE, content=content)), lambda table: [Row(*row) for row in table.items()]
        case ChainOf():
            return Record(Chain, elements=ListOf(ELEMENT), cut=Flag()), lambda chain: chain
    return None
