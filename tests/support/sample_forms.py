"""Values and their forms that tests declare: one of each kind of form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from peerproof.spec.forms.form import U64, ListOf, OneOf, Optional, Record, Tagged, Text


class Colour(Enum):
    """Some members."""

    RED = "red"
    BLUE = "blue"


class Pair(NamedTuple):
    """A named tuple as record."""

    left: str
    right: int


@dataclass(frozen=True)
class Shape:
    """A dataclass as record, with defaults."""

    colour: Colour
    corners: tuple[Pair, ...] = ()
    label: str | None = None


@dataclass(frozen=True)
class Nothing:
    """A record without fields."""


PAIR = Record(Pair, left=Text(most=4), right=U64())
SHAPE = Record(Shape, colour=OneOf(Colour), corners=ListOf(PAIR), label=Optional(Text(most=4)))
FORM = Tagged(pair=(1, PAIR), shape=(2, SHAPE), nothing=(9, Record(Nothing)))
