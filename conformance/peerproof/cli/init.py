"""
Writes the skeleton of an adapter: a program through which the suite reaches your implementation.

  peerproof init --lang python conformance               an adapter for Scuttlebutt in the new folder conformance
  peerproof init --lang go --protocol swim conformance   for SWIM, in Go
  peerproof init --lang js --name my-port                in this folder, under this name

It passes `smoke` as it is. It can do nothing yet, and what it fails stands in known-failing.txt, so that `peerproof run` comes
out right from the first minute on, while you fill in three files: the codec, events, queries. A workflow for GitHub does the same
at every push; it lies at the top of the repository, if the folder is in one.

No file is written over, but with --force; and all are written or none.
"""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK, Refusal
from peerproof.conformance.authoring.skeletons import KNOWN_FAILING, LANGUAGES

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where to (default: this folder)")
    add("--lang", choices=tuple(LANGUAGES), required=True, help="what the adapter is written in")
    add("--protocol", metavar="NAME", default="scuttlebutt", help="what it speaks (default: scuttlebutt)")
    add("--name", metavar="NAME", help="of the implementation (default: the repository's, or the folder's)")
    add("--force", action="store_true", help="write over files that are there")


def run(args: Namespace) -> int:
    """Writes the files, and says what to type next."""
    from peerproof.conformance.authoring.skeletons import AlreadyThere, render_skeleton, write_files
    from peerproof.conformance.suite.output import CannotWrite

    suite = options.suite(Namespace(vectors=None), args.protocol)
    _check_protocol(args.protocol, {vector.protocol for vector in suite.vectors})
    texts = render_skeleton(args.lang, args.protocol, _name(args), args.folder, suite)
    try:
        with refuse(CannotWrite, prefix="peerproof: nothing is written: "):
            write_files(texts, force=args.force)
    except AlreadyThere as error:
        listed = "\n".join(f"  {_render_path(path)}" for path in error.paths)
        to_do = "move them" if args.force else "name another folder, or write over them with --force"
        raise Refusal(f"peerproof: nothing is written, for these are there:\n{listed}\n{to_do}") from None
    print(f"an adapter for {args.protocol}, in {LANGUAGES[args.lang].title}:")
    for path in texts:
        print(f"  {_render_path(path)}")
    print("next:")
    for command in _next(args):
        print(f"  {command}")
    return OK


def _render_path(path: Path) -> str:
    """As it was typed; the top of the repository from the working directory, if it is below that."""
    from peerproof.conformance.suite.locations import path_text

    return path_text(path) if path.is_absolute() else str(path)


def _name(args: Namespace) -> str:
    """What the implementation is called. Raises SystemExit for what is no name in all of the languages."""
    from peerproof.conformance.authoring.skeletons import repository

    if args.name is not None:
        if not NAME.fullmatch(args.name):
            raise Refusal(f"peerproof: --name: expected small letters, digits and hyphens, such as my-node, found {args.name!r}")
        return str(args.name)
    folder = repository(args.folder) or args.folder.resolve()
    found = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    if not NAME.fullmatch(found):
        raise Refusal(f"peerproof: the folder {folder.name!r} gives no name; say one, such as --name my-node")
    return found


def _check_protocol(name: str, known: set[str]) -> None:
    from peerproof.conformance.suite.schema import did_you_mean, one_of

    if name not in known:
        guess = did_you_mean(name, sorted(known))
        raise Refusal(f"peerproof: --protocol: expected {one_of(sorted(known))}, found {name!r}{guess}")


def _next(args: Namespace) -> list[str]:
    """The two commands that come next."""
    language = LANGUAGES[args.lang]
    there = [] if args.folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(args.folder))}"]
    impl = shlex.quote(language.start)
    return [
        " && ".join([*there, language.build, f"peerproof smoke --impl {impl}"]),
        f"peerproof run --impl {impl} --protocol {args.protocol} --known-failing {KNOWN_FAILING}",
    ]
