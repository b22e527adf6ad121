"""Options that several commands have, and what they lead to: the suite, and a selection of its vectors."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from peerproof.cli.command import refuse
from peerproof.cli.exits import NOTHING
from peerproof.conformance.vectors.selection import NothingFits, SelectionError, VectorNotFound, find_vector
from peerproof.conformance.vectors.suite import Suite, Vector, VectorError, load

T = TypeVar("T")

SELECTION = "which vectors, such as 'clause:B-14 layer:codec !flag:slow digest': all of the words must fit"


def add_vectors(parser: ArgumentParser) -> None:
    """`--vectors PATH`."""
    parser.add_argument("--vectors", metavar="PATH", type=Path, help="a folder or file of vectors, instead of the suite's own")


def add_selection(parser: ArgumentParser) -> None:
    """`-k WORDS` and `--protocol NAME`."""
    parser.add_argument("-k", dest="select", metavar="WORDS", default="", help=SELECTION)
    parser.add_argument("--protocol", metavar="NAME", help="only the vectors of this protocol")


def suite(args: Namespace, protocol: str | None = None) -> Suite:
    """
    The suite that `--vectors` names, or the one with the vectors of this protocol, by default that of `--protocol`.

    A file in it that is not what it should be ends the command.
    """
    with refuse(VectorError, prefix=""):
        return load(args.vectors, protocol or getattr(args, "protocol", None))


def select(choose: Callable[[Suite, str, str | None], list[T]], args: Namespace, vectors: Suite) -> list[T]:
    """What `choose` finds for `-k` and `--protocol`; a word that no vector fits ends the command."""
    with (
        refuse(SelectionError, prefix="peerproof: -k: "),
        refuse(NothingFits, prefix="peerproof: nothing is selected: ", code=NOTHING),
    ):
        return choose(vectors, args.select, args.protocol)


def vector(suite: Suite, name: str) -> Vector:
    """The vector of this name; without exactly one, the command ends."""
    with refuse(VectorNotFound):
        return find_vector(suite, name)
