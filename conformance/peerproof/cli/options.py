"""Options that several commands have, and what they lead to: the suite, and a selection of its vectors."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from peerproof.conformance.selection import NothingFits, SelectionError, select
from peerproof.conformance.vectors import Suite, Vector, VectorError, load

USAGE, NOTHING_SELECTED = 2, 4

SELECTION = "which vectors, such as 'clause:B-14 layer:codec !flag:slow digest': all of the words must fit"


def add_vectors(parser: ArgumentParser) -> None:
    """`--vectors DIR`."""
    parser.add_argument("--vectors", metavar="DIR", type=Path, help="take the vectors from this folder, not the suite's own")


def add_selection(parser: ArgumentParser) -> None:
    """`-k WORDS` and `--protocol NAME`."""
    parser.add_argument("-k", dest="select", metavar="WORDS", default="", help=SELECTION)
    parser.add_argument("--protocol", metavar="NAME", help="only the vectors of this protocol")


def suite(args: Namespace) -> Suite:
    """The suite that `--vectors` names; a file in it that is not what it should be ends the command."""
    try:
        return load(args.vectors)
    except VectorError as error:
        raise refusal(str(error)) from None


def selected(args: Namespace, vectors: Suite) -> list[Vector]:
    """The vectors that `-k` and `--protocol` name; a word that no vector fits ends the command."""
    words = args.select + (f" protocol:{args.protocol}" if args.protocol else "")
    try:
        return select(vectors.vectors, words, vectors.aliases)
    except NothingFits as error:
        raise refusal(f"peerproof: nothing is selected: {error}", NOTHING_SELECTED) from None
    except SelectionError as error:
        raise refusal(f"peerproof: -k: {error}") from None


def refusal(message: str, code: int = USAGE) -> SystemExit:
    """What ends a command because of its arguments or of the files that they name."""
    print(message, file=sys.stderr)
    return SystemExit(code)
