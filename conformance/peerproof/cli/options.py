"""Options that several commands share, each spelled one way, and the objects that they select: protocol, suite, vectors."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from peerproof.cli.command import count, refuse
from peerproof.cli.console import note
from peerproof.cli.exits import NOTHING, Refusal
from peerproof.cli.parser import did_you_mean, select_tip
from peerproof.conformance.vectors.selection import NothingFits, SelectionError, VectorNotFound, find_vector, note_on_models
from peerproof.conformance.vectors.suite import Suite, Vector, VectorError, load
from peerproof.spec.protocols import PROTOCOLS

T = TypeVar("T")

Options: TypeAlias = ArgumentParser | _ArgumentGroup  #: a parser, or a group of its options under a heading of the help


def add_protocol(parser: Options, what: str = "", *, needed: bool = False, default: str | None = None) -> None:
    """Adds `[PROTOCOL]`, the first positional argument; `what` is its help."""
    otherwise = "" if needed else f"default: {default or 'all'}"
    text = f"{what} ({otherwise})" if what and otherwise else what or otherwise
    parser.add_argument("protocol", metavar="PROTOCOL", nargs=None if needed else "?", default=default, help=text)


def check_protocol(
    name: str | None, known: Iterable[str], what: str = "", *, has_vectors: bool = False, tip: str | None = None
) -> None:
    """
    Ends the command if the named protocol is not in `known`; `what` describes the protocols that are.

    `has_vectors`: the command has `--vectors`, which is what is missing before the name of a folder or file. `tip` says what else
    may be missing.
    """
    names = list(known)
    if name is not None and name not in names:
        message = f"{name} has no {what}" if what and name in PROTOCOLS else f"unknown protocol {name!r}"
        path = f"the folder or file of this name: --vectors {name}" if has_vectors and Path(name).exists() else None
        tip = path or tip or did_you_mean(name, names) or f"there {'are' if len(names) > 1 else 'is'} {', '.join(names)}"
        raise Refusal(message, tip=tip)


def add_jobs(parser: Options, what: str, default: int = 1) -> None:
    """Adds `-j N`, `--jobs N`."""
    parser.add_argument("-j", "--jobs", metavar="N", type=count, default=default, help=f"{what} (default {default})")


def add_format(parser: Options, choices: Collection[str] = ("text", "json"), default: str = "text") -> None:
    """Adds `--format FORMAT`, and `--json`, which is short for `--format json`."""
    add = parser.add_argument
    add("--format", choices=tuple(choices), default=default, help=f"output format (default {default})")
    if "json" in choices:
        add("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def add_output(parser: Options, what: str = "write to this file", **settings: Any) -> None:
    """Adds `-o FILE`, `--output FILE`."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"{what} (default: standard output)", **settings)


def add_vectors(parser: Options) -> None:
    """Adds `--vectors PATH`."""
    parser.add_argument("--vectors", metavar="PATH", type=Path, help="folder or file of vectors (default: the suite's own)")


def add_select(parser: Options, what: str) -> None:
    """Adds `-k WORDS`, `--select WORDS`."""
    parser.add_argument("-k", "--select", metavar="WORDS", default="", help=what)


def add_strict(parser: Options) -> None:
    """Adds `--strict`."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="fail also where a vector says should, instead of tolerating it. For an implementation that is to follow the "
        "document's recommendations as well",
    )


def add_decisions(parser: Options) -> None:
    """Adds `--decisions WHAT`."""
    from peerproof.conformance.runner.runner import DECISIONS

    parser.add_argument(
        "--decisions",
        choices=tuple(DECISIONS),
        default="report",
        help="if a case violates only a decision of the specification, not the document: report that it differs (default), fail "
        "it (strict), or tolerate it (ignore). strict is for an implementation that is to agree with the reference everywhere",
    )


def add_all(parser: Options) -> None:
    """Adds `--all`."""
    about = "show every failure in full, not three of each group with the same first difference (text, md)"
    parser.add_argument("--all", action="store_true", help=about)


#: The help of `-k` where it selects vectors.
SELECTION: Final = (
    "only vectors that match each of these words: a clause, a part of an id, or KEY:VALUE, with ! in front for those that do not "
    "match; such as -k B-14, -k 'clause:B-14,BA-07 !layer:model', -k 'layer:codec digest'"
)


def add_selection(parser: Options) -> None:
    """Adds `[PROTOCOL]` and `-k WORDS`."""
    add_protocol(parser, "only the vectors of this protocol")
    add_select(parser, SELECTION)


def suite(args: Namespace, protocol: str | None = None) -> Suite:
    """
    Loads the suite of `--vectors`, or the one with the vectors of this protocol, by default that of the command.

    A file that cannot be read, or a protocol without vectors, ends the command.
    """
    named = getattr(args, "protocol", None)
    if named and "," in named and hasattr(args, "select"):
        raise Refusal(f"expected one protocol, found {named!r}", tip=f"-k protocol:{named} selects several")
    with refuse(VectorError):
        found = load(args.vectors, protocol or named)
    known = sorted({*PROTOCOLS, *(vector.protocol for vector in found.vectors)})
    check_protocol(named, known, has_vectors=True, tip=None if named in known else _word_tip(args, found))
    return found


def _word_tip(args: Namespace, suite: Suite) -> str | None:
    """What is missing before the part of an id, or the clause, that stands in the place of a protocol."""
    word = getattr(args, "protocol", None)
    if not word or not hasattr(args, "select"):
        return None
    is_word = any(word in vector.id.partition("/")[2] or word.upper() in vector.clauses for vector in suite.vectors)
    return select_tip(word, args.select) if is_word else None


def select(choose: Callable[[Suite, str, str | None], list[T]], args: Namespace, vectors: Suite) -> list[T]:
    """Returns the selection of `choose` for `-k` and the protocol; a word that no vector matches ends the command."""
    with refuse(SelectionError, prefix="-k: "), refuse(NothingFits, code=NOTHING):
        return choose(vectors, args.select, args.protocol)


def note_models(args: Namespace, vectors: Iterable[Vector]) -> None:
    """Says how to leave out vectors made from state graphs, if a selection by clause has many."""
    if remark := note_on_models(args.select, vectors):
        note(remark)


def vector(suite: Suite, name: str) -> Vector:
    """Returns the vector of this name; if there is not exactly one, the command ends."""
    with refuse(VectorNotFound):
        return find_vector(suite, name)
