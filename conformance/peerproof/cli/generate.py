"""
Makes vectors from the state graphs of a protocol's model: a table for each configuration that has "vectors" in constants.json.

  peerproof generate                              all protocols that have a model
  peerproof generate scuttlebutt                  one
  peerproof generate --check                      write nothing; exit 1 and say which file is not what would be made now
  peerproof generate --only tiny                  one configuration
  peerproof generate --every-edge DIR             write to DIR tables whose paths take every edge of the small graphs too
  peerproof run --vectors DIR -k file:*small-c*   and judge by them: they are too many to keep

A table is PROTOCOL/model/CONFIGURATION.json below the vectors. In it each step that a node can take in the graph is a vector for
implementations that can be loaded with a state (state.load), and so is each call that a node refuses; for all others there are
paths of the graph, walked by one node while the others are scripted. The paths of "every edge" take each edge of the graph, those
of "every step" each step of a node. Tables are the same whoever makes them; change the model or the specification, not them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from peerproof.conformance.sources import shown

if TYPE_CHECKING:
    from peerproof.tla.manifest import Configuration

AS_EXPECTED, WRONG, USAGE = 0, 1, 2


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", metavar="PROTOCOL", nargs="?", help="only this protocol")
    parser.add_argument("--vectors", metavar="DIR", type=Path, help="the root of the vectors, if it is not the suite's own")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this configuration; may be given again")
    parser.add_argument("--check", action="store_true", help="only say what would become different")
    parser.add_argument("--every-edge", metavar="DIR", type=Path, help="write tables whose paths take every edge to this folder")


def run(args: Namespace) -> int:
    """Writes or compares, a line for each table."""
    from peerproof.conformance.generate import TooManySteps, chosen
    from peerproof.conformance.local_steps import CutShort
    from peerproof.conformance.sources import vectors_root
    from peerproof.tla.manifest import BadManifest, root

    if args.check and args.every_edge:
        print("peerproof: --check compares what is kept; what --every-edge writes is not", file=sys.stderr)
        return USAGE
    known = sorted(path.parent.name for path in root().glob("*/constants.json"))
    if args.protocol and args.protocol not in known:
        print(f"peerproof: {args.protocol!r} has no model; there are {', '.join(known)}", file=sys.stderr)
        return USAGE
    vectors = args.every_edge or args.vectors or vectors_root()
    asked_for = [protocol for protocol in known if args.protocol in (None, protocol)]
    try:
        names = sorted({one.name for protocol in asked_for for one in chosen(protocol)})
        if unknown := [name for name in args.only or () if name not in names]:
            print(f"peerproof: no tables are made of {', '.join(unknown)}, but of {', '.join(names)}", file=sys.stderr)
            return USAGE
        return max(_protocol(args, protocol, vectors / protocol / "model") for protocol in asked_for)
    except (BadManifest, TooManySteps, CutShort) as problem:
        print(f"peerproof: {problem}", file=sys.stderr)
        return USAGE


def _protocol(args: Namespace, protocol: str, folder: Path) -> int:
    from peerproof.conformance.generate import chosen

    configurations = chosen(protocol)
    names = [one.name for one in configurations]
    asked_for = [one for one in configurations if one.name in (args.only or names)]
    code = max((_table(args, one, folder / f"{one.name}.json") for one in asked_for), default=AS_EXPECTED)
    for path in sorted(folder.glob("*.json")):
        if path.stem not in names and not args.only:
            print(f"{shown(path)}  {'is made of' if args.check else 'removed: there is'} no configuration", flush=True)
            code = WRONG if args.check else code
            if not args.check:
                path.unlink()
    return code


def _table(args: Namespace, configuration: Configuration, path: Path) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.generate import generated
    from peerproof.conformance.output import CannotWrite, write_whole

    ticker = ModelTicker(configuration.name, 0)
    text = generated(configuration, every_edge=args.every_edge is not None, progress=ticker.explored)
    ticker.clear()
    before = path.read_text(encoding="utf-8") if path.exists() else None
    if before == text:
        print(f"{shown(path)}  as it is: {_counted(text)}", flush=True)
        return AS_EXPECTED
    if args.check:
        print(f"{shown(path)}  {_difference(before, text)}; peerproof generate makes it anew", flush=True)
        return WRONG
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except (OSError, CannotWrite) as error:
        print(f"peerproof: {shown(path)} cannot be written: {error}", file=sys.stderr)
        return USAGE
    print(f"{shown(path)}  written: {_counted(text)}", flush=True)
    return _kept_digest(configuration, text) if args.every_edge else AS_EXPECTED


def _kept_digest(configuration: Configuration, text: str) -> int:
    """Whether the paths that take every edge are those whose digest the kept table has."""
    import json

    from peerproof.conformance.generate import fingerprint
    from peerproof.conformance.sources import vectors_root

    kept = vectors_root() / configuration.protocol / "model" / f"{configuration.name}.json"
    digest = json.loads(kept.read_bytes())["every_edge"] if kept.exists() else {}
    if digest in ({}, found := fingerprint(json.loads(text)["paths"])):
        return AS_EXPECTED
    print(f"{configuration.name}  its paths are others than {shown(kept)} says: {found}, not {digest}", flush=True)
    return WRONG


def _counted(text: str) -> str:
    import json

    from peerproof.conformance.model_table import KINDS, table_of

    table = table_of(json.loads(text))
    counts = ", ".join(f"{table.count(kind):,} {kind}s" for kind in KINDS)
    return f"{counts} from {table.graph['worlds']:,} worlds and {table.graph['edges']:,} edges"


def _difference(before: str | None, now: str) -> str:
    if before is None:
        return "is missing"
    old, new = before.splitlines(), now.splitlines()
    at = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    shown = [lines[at][:100] if at < len(lines) else "(the end)" for lines in (old, new)]
    return f"differs in line {at + 1}: it has {shown[0]}, now it is {shown[1]}"
