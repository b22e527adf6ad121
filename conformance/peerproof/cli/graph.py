"""
Compares the two state graphs of a protocol: the one of its TLA+ module and the one of its Python specification.

  peerproof graph scuttlebutt                     the small configurations
  peerproof graph scuttlebutt --size medium       the medium ones too: minutes
  peerproof graph scuttlebutt --model small-a     one configuration

Both sides explore the same configuration whole; its constants stand in tla/PROTOCOL/constants.json. One line for each pair of
graphs: equal, with the counts of both; or what differs, with the shortest way to the first difference. Without Java only
the Python side runs; its counts are compared with those that are written down, and the line says so.

Exit codes of this command: 0 all equal; 1 a difference, or counts other than those written down; 2 usage; 3 no verdict from TLC.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerproof.conformance.graph import Comparison
    from peerproof.spec.explore import Exploration
    from peerproof.tla.manifest import Model
    from peerproof.tla.outcome import Result
    from peerproof.tla.tools import Tools

EQUAL, UNEQUAL, USAGE, UNUSABLE = 0, 1, 2, 3
SIZES = ("small", "medium", "large")


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", metavar="PROTOCOL", help="whose graphs")
    parser.add_argument("--size", choices=SIZES[:2], default="small", help="configurations up to this size (default: small)")
    parser.add_argument(
        "--model", action="append", metavar="NAME", help="this configuration, of whatever size; may be given again"
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="give up on TLC after so long")


def run(args: Namespace) -> int:
    """Prints a line for each pair of graphs."""
    from peerproof.tla.manifest import BadManifest, models
    from peerproof.tla.tools import ToolsUnusable, find

    try:
        chosen = [m for m in models(args.protocol) if m.is_whole_graph and _asked_for(args, m)]
    except BadManifest as problem:
        print(f"peerproof: {problem}", file=sys.stderr)
        return USAGE
    if not chosen:
        print("peerproof: there are no such graphs; see peerproof model-check --list", file=sys.stderr)
        return USAGE
    try:
        tools = find()
    except ToolsUnusable as problem:
        print(
            f"peerproof: {problem}\nthe TLC half is NOT RUN; the Python half is compared with what is written down",
            file=sys.stderr,
        )
        tools = None
    return max(_one(args, tools, model) for model in chosen)


def _asked_for(args: Namespace, model: Model) -> bool:
    return model.name in args.model if args.model else model.size in SIZES[: SIZES.index(args.size) + 1]


def _one(args: Namespace, tools: Tools | None, model: Model) -> int:
    from peerproof.cli.model_check import Ticker
    from peerproof.spec.explore import explore

    world = import_module(f"peerproof.spec.{model.protocol}.world").Model(model.configuration.constants)
    ticker = Ticker(model.name, 0)
    exploration = explore(world, progress=ticker.explored)
    ticker.clear()
    if surprise := _written_down(model, exploration):
        print(f"{model.name}  UNEXPECTED: {surprise}", flush=True)
        return UNEQUAL
    if tools is None:
        print(f"{model.name}  Python half as written down: {_counts(exploration)}; the TLC half was not run", flush=True)
        return EQUAL
    return _against_tlc(args, tools, model, exploration)


def _against_tlc(args: Namespace, tools: Tools, model: Model, exploration: Exploration) -> int:
    from peerproof.cli.model_check import Ticker
    from peerproof.conformance.graph import compare
    from peerproof.tla.dot import BadDump
    from peerproof.tla.manifest import root
    from peerproof.tla.outcome import RunFailed
    from peerproof.tla.tlc import Run
    from peerproof.tla.tlc import run as run_tlc

    ticker = Ticker(model.name, 0)
    with TemporaryDirectory(prefix="peerproof-graph-") as folder:
        dump = Path(folder) / "graph.dot"
        what = Run(
            module=model.module_path,
            configuration=model.cfg(),
            library=(root(),),
            dump=dump,
            coverage=True,
            seconds=args.seconds,
        )
        try:
            result = run_tlc(tools, what, ticker)
            found = compare(dump, exploration)
        except (RunFailed, BadDump) as problem:
            ticker.clear()
            print(f"{model.name}  NO VERDICT: {problem}", flush=True)
            return UNUSABLE
    ticker.clear()
    if miscounted := _miscounted(result, found.states, found.edges, found.labels):
        print(f"{model.name}  NO VERDICT: {miscounted}", flush=True)
        return UNUSABLE
    return _verdict(model, exploration, found)


def _verdict(model: Model, exploration: Exploration, found: Comparison) -> int:
    from peerproof.conformance.graph import story

    if found.equal:
        print(
            f"{model.name}  equal: TLC {found.states:,} states, {found.edges:,} edges; Python {_counts(exploration)}", flush=True
        )
        return EQUAL
    print(
        f"{model.name}  UNEQUAL: {found.only_tla:,} edges only in TLA+, {found.only_python:,} only in Python, "
        f"{found.unseen:,} states of TLC unknown to Python; the nearest difference:"
    )
    if found.first:
        print("\n".join(story(exploration, found.first)), flush=True)
    return UNEQUAL


def _counts(exploration: Exploration) -> str:
    return f"{len(exploration.depths):,} states, {sum(exploration.edges.values()):,} edges"


def _written_down(model: Model, exploration: Exploration) -> str | None:
    """In what the Python half differs from the counts of the configuration, without asking TLC."""
    expected = model.configuration.expected
    found = {
        "distinct": len(exploration.depths),
        "generated": sum(exploration.edges.values()) + 1,
        "depth": max(exploration.depths.values()) + 1,
    }
    for name, count in found.items():
        if expected.get(name) != count:
            return f"{name} is {count:,} in Python, and {expected.get(name, 'nothing')} as written down in constants.json"
    return None


def _miscounted(result: Result, states: int, edges: int, labels: dict[str, int]) -> str | None:
    """In what the dump is not what TLC says of itself."""
    if (result.distinct, result.edges) != (states, edges):
        return f"TLC says {result.distinct:,} states and {result.edges:,} edges, its dump has {states:,} and {edges:,}"
    for action, count in result.actions.items():
        if count.generated != labels.get(action, 0):
            return f"TLC says {count.generated:,} edges of {action}, its dump has {labels.get(action, 0):,}"
    return None
