"""
Makes vectors from the state graphs of the models: a table for each configuration that has "vectors" in constants.json.

  peerproof vectors generate                              every protocol that has a model
  peerproof vectors generate scuttlebutt                  one
  peerproof vectors generate --check                      write nothing; exit 1 and name each file that is stale
  peerproof vectors generate --only tiny                  one configuration
  peerproof vectors generate --every-edge DIR             write to DIR tables whose paths also take every edge of the small graphs
  peerproof run --vectors DIR -k file:*small-c*           runs them: there are too many to store

A table is PROTOCOL/model/CONFIGURATION.json below the vectors. Each step that a node can take in the graph is a vector for
implementations that can be loaded with a state (state.load), and so is each call that a node refuses. For all other
implementations there are paths of the graph: one node walks, the others are scripted. Tables are reproducible; to change one,
change the model or the specification.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import FAILED, OK, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerproof.tla.manifest import Configuration


EXITS: Final = {OK: "written, or nothing stale", FAILED: "stale tables"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    options.add_protocol(parser, "only this protocol")
    add("--vectors", metavar="DIR", type=Path, help="root of the vectors (default: the suite's own)")
    add("--only", metavar="NAME", action="append", help="only this configuration (repeatable)")
    add("--check", action="store_true", help="write nothing; name the files that are stale")
    add("--every-edge", metavar="DIR", type=Path, help="write tables whose paths take every edge to this folder")


def run(args: Namespace) -> int:
    """Writes or compares the tables, and prints a line for each."""
    from peerproof.conformance.models.generation import TooManySteps, table_names, table_protocols
    from peerproof.conformance.models.local_steps import CutShort
    from peerproof.conformance.suite.locations import vectors_root
    from peerproof.conformance.suite.output import CannotWrite
    from peerproof.tla.manifest import BadManifest

    if args.check and args.every_edge:
        raise Refusal("--check compares the tables of the suite; those of --every-edge are not part of it")
    known = table_protocols()
    options.check_protocol(args.protocol, known, "model")
    asked_for = [protocol for protocol in known if args.protocol in (None, protocol)]
    with refuse(BadManifest, TooManySteps, CutShort, CannotWrite):
        names = sorted({name for protocol in asked_for for name in table_names(protocol)})
        if unknown := [name for name in args.only or () if name not in names]:
            raise Refusal(f"unknown configuration {', '.join(unknown)}", tip=f"there are {', '.join(names)}")
        vectors = {protocol: args.every_edge or args.vectors or vectors_root(protocol) for protocol in asked_for}
        return max([_protocol(args, protocol, vectors[protocol]) for protocol in asked_for])


def _protocol(args: Namespace, protocol: str, vectors: Path) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.models.generation import generate_tables
    from peerproof.conformance.suite.locations import path_text

    tickers: list[ModelTicker] = []

    def begin(configuration: Configuration) -> Callable[[int, int, int], None]:
        tickers.append(ModelTicker(configuration.name, 0))
        return tickers[-1].show_exploration

    code, every_edge = OK, args.every_edge is not None
    for found in generate_tables(protocol, vectors, args.only or (), check=args.check, every_edge=every_edge, on_begin=begin):
        if tickers:
            tickers[-1].clear()
        print(f"{path_text(found.path)}  {found.text}" if found.path else found.text, flush=True)
        code = FAILED if found.is_stale else code
    return code
