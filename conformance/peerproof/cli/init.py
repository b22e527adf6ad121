"""
Writes a project that runs the vectors as tests of your language, and an adapter for everything else.

  peerproof init --lang go                          for Scuttlebutt, in this folder
  peerproof init swim conformance --lang rust       for SWIM, in Rust, in the new folder conformance
  peerproof init scuttlebutt,swim mine --lang go    for both, in one project
  peerproof init --lang python --name my-port       under this name

Languages: Go (go test), Java (JUnit 5 by Maven), JavaScript (node --test), Python (pytest), Rust (cargo test). You fill in one
file, or with several protocols one for each; they have one adapter, one run of the tests and one workflow. It implements nothing
yet; its failures are listed in known-failing.txt, so that tests, `doctor --impl` and `run` succeed from the start. Except in
Python, the vectors and a runner in your language come with it, in the folder vectors, so that the tests need nothing else. A
GitHub workflow runs all of it at every push; it is written to the top of the repository, if the folder is in one. A repository
may hold several projects, each in its folder and with its workflow.

No existing file is overwritten without --force; and either all files are written or none.
"""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK, Refusal
from peerproof.cli.parser import Parser
from peerproof.conformance.authoring.skeleton_languages import LANGUAGES, VECTORS
from peerproof.conformance.authoring.skeletons import (
    KNOWN_FAILING,
    installed_from,
    list_words,
    repository,
    requirement,
    selection,
    workflow_path,
)
from peerproof.conformance.suite.locations import vectors_root
from peerproof.spec.protocols import PROTOCOLS

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def configure(parser: Parser) -> None:
    """Declares the options."""
    add = parser.add_argument
    options.add_protocol(parser, "protocol of the implementation, or several with commas", default="scuttlebutt")
    add("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="folder to write to (default: this one)")
    add("--lang", choices=tuple(LANGUAGES), help="language of the implementation; it must be named")
    parser.tips["--lang"] = 'for another language you write the adapter: see the page "Write an adapter"'
    add("--name", metavar="NAME", help="name of the implementation (default: that of the repository or folder)")
    add("--force", action="store_true", help="overwrite existing files")


def run(args: Namespace) -> int:
    """Writes the files, and prints the next commands."""
    from peerproof.conformance.authoring.skeletons import AlreadyThere, render_skeleton, write_files
    from peerproof.conformance.suite.output import CannotWrite

    if args.lang is None:
        raise Refusal("--lang is missing", tip=f"there are {', '.join(LANGUAGES)}, as in --lang go")
    protocols = _protocols(args)
    suite = options.suite(Namespace(vectors=None, protocol=protocols[0]))
    name = _name(args)
    contents = render_skeleton(args.lang, protocols, name, args.folder, suite)
    try:
        with refuse(CannotWrite, prefix="nothing is written: "):
            write_files(contents, force=args.force)
    except AlreadyThere as error:
        listed = "\n".join(f"  {_render_path(path)}" for path in error.paths)
        tip = "move them" if args.force else "name another folder, or overwrite them with --force"
        raise Refusal(f"nothing is written: these files exist:\n{listed}", tip=tip) from None
    print(f"an adapter for {list_words(protocols)}, in {LANGUAGES[args.lang].title}:")
    vectors = args.folder / VECTORS
    for path in contents:
        if vectors not in path.parents:
            print(f"  {_render_path(path)}")
    if runner := LANGUAGES[args.lang].runner:
        print(f"  {_render_path(vectors)}{os.sep}: the vectors, and the source of the runner in {runner}")
    for note in _notes(args, contents[workflow_path(args.folder, name)].decode()):
        print(f"note: {note}")
    print("next:")
    for command in _next(args, protocols):
        print(f"  {command}")
    return OK


def _protocols(args: Namespace) -> list[str]:
    """Returns the protocols of the list, sorted. Raises Refusal for one that is unknown or listed twice."""
    listed = args.protocol.split(",")
    for each in listed:
        options.check_protocol(each, PROTOCOLS)
        if listed.count(each) > 1:
            raise Refusal(f"{each} is listed twice", tip="name each protocol once")
    protocols = sorted(listed)
    if len({vectors_root(each) for each in protocols}) > 1:
        raise Refusal(
            f"the vectors of {list_words(protocols)} are in different distributions",
            tip="write a project for each, in its folder",
        )
    return protocols


def _notes(args: Namespace, workflow: str) -> Iterator[str]:
    """Yields what the workflow needs before it can run on GitHub."""
    if repository(args.folder) is None:
        places = re.findall(r'^ *([\w-]+): "\.(?=["/])', workflow, re.MULTILINE)
        yield (
            "no Git repository here: GitHub reads workflows at the top of a repository only. If that is another folder, "
            "move .github there and write the path from there to here instead of the dot of "
            f"{list_words(places)}; or run git init first"
        )
    if installed_from():
        yield (
            f"this peerproof came from a folder or file, and {requirement(LANGUAGES[args.lang].extras)} may not be on PyPI. "
            "Write where to get it into PEERPROOF in the workflow, such as 'peerproof[fuzz] @ git+https://…'"
        )


def _render_path(path: Path) -> str:
    """A path as it was typed; the top of the repository relative to the working directory, if it is below that."""
    from peerproof.conformance.suite.locations import path_text

    return path_text(path) if path.is_absolute() else str(path)


def _name(args: Namespace) -> str:
    """Returns the name of the implementation. Raises Refusal for a name that some language does not allow."""
    if args.name is not None:
        if not NAME.fullmatch(args.name):
            raise Refusal(f"--name: expected small letters, digits and hyphens, such as my-node, found {args.name!r}")
        return str(args.name)
    folder = repository(args.folder) or args.folder.resolve()
    found = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    if not NAME.fullmatch(found):
        raise Refusal(f"the folder {folder.name!r} gives no name", tip="name the implementation: --name my-node")
    if args.folder.resolve() != folder.resolve() and workflow_path(args.folder, found).exists() and not args.force:
        found += "-" + re.sub(r"[^a-z0-9]+", "-", args.folder.resolve().name.lower()).strip("-")
    return found


def _next(args: Namespace, protocols: list[str]) -> list[str]:
    """Returns the three next commands."""
    language = LANGUAGES[args.lang]
    there = [] if args.folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(args.folder))}"]
    impl = shlex.quote(language.start)
    return [
        " && ".join([*there, language.test]),
        f"{language.build} && peerproof doctor --impl {impl}",
        f"peerproof run {selection(protocols)} --impl {impl} --known-failing {KNOWN_FAILING}",
    ]
