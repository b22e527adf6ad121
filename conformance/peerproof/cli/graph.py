"""
Compares the two state graphs of a protocol: the one of its TLA+ module and the one of its Python specification.

  peerproof graph scuttlebutt                     the small configurations
  peerproof graph scuttlebutt --size medium       the medium ones too, and those that models are mended with: minutes
  peerproof graph scuttlebutt --model small-a     one configuration
  peerproof graph scuttlebutt --model medium --processes 2 --resume build/medium

Both sides explore the same configuration whole; its constants stand in tla/PROTOCOL/constants.json. One line for each pair of
graphs: equal, with the counts of both; or what differs, with the shortest way to the first difference. Without Java only
the Python side runs; its counts and its digest are compared with those that are written down, and the line says so.

--processes shares the Python side's work; the result is the same. --resume keeps each level of it in a folder as soon as it is
explored: after an interruption, Ctrl-C or a kill, the same command goes on there.

Exit codes of this command: 0 all equal; 1 a difference, or counts other than those written down; 2 usage; 3 no verdict from TLC.
"""

from __future__ import annotations

import json
import signal
import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerproof.conformance.graph import Comparison
    from peerproof.spec.explore import Exploration
    from peerproof.tla.manifest import Model
    from peerproof.tla.outcome import Result
    from peerproof.tla.tools import Tools

EQUAL, UNEQUAL, USAGE, UNUSABLE = 0, 1, 2, 3
SIZES = ("small", "medium", "large")

#: What TLC may take; with the explorer and the system's own the whole stays under 2 GB.
HEAP_MEGABYTES = 1024


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", metavar="PROTOCOL", help="whose graphs")
    parser.add_argument("--size", choices=SIZES[:2], default="small", help="configurations up to this size (default: small)")
    parser.add_argument(
        "--model", action="append", metavar="NAME", help="this configuration, of whatever size; may be given again"
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="give up on TLC after so long")
    parser.add_argument("--processes", type=_processes, default=1, metavar="N", help="explore with so many (default: 1)")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="keep what is explored there, and go on with what is there")
    parser.add_argument("--rewrite", action="store_true", help="write down the digests of graphs that TLC has as well")


def run(args: Namespace) -> int:
    """Prints a line for each pair of graphs."""
    from peerproof.tla.manifest import BadManifest, models
    from peerproof.tla.tools import ToolsUnusable, find

    try:
        chosen = [m for m in models(args.protocol) if m.is_whole_graph and _asked_for(args, m)]
    except BadManifest as problem:
        return _refused(str(problem), USAGE)
    unknown = set(args.model or ()) - {model.name for model in chosen}
    if unknown or not chosen:
        return _refused(
            f"no graph of {args.protocol} {' '.join(sorted(unknown))}; see peerproof model-check --list --size medium", USAGE
        )
    try:
        tools = find()
    except ToolsUnusable as problem:
        _refused(f"{problem}\nthe TLC half is NOT RUN; the Python half is compared with what is written down", UNUSABLE)
        tools = None
    signal.signal(signal.SIGTERM, _interrupt)  # so that no Java machine outlives this process
    try:
        return max([_one(args, tools, model) for model in chosen])
    except KeyboardInterrupt:
        if args.resume:
            print(f"\npeerproof: interrupted; the same command goes on with what is in {args.resume}", file=sys.stderr)
        raise


def _asked_for(args: Namespace, model: Model) -> bool:
    if args.model:
        return model.name in args.model
    is_mended = model.name != model.configuration.name  # its graph is one more of a kind that the small ones have
    size = max(model.size, "medium", key=SIZES.index) if is_mended else model.size
    return size in SIZES[: SIZES.index(args.size) + 1]


def _one(args: Namespace, tools: Tools | None, model: Model) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.spec.checkpoint import BadCheckpoint
    from peerproof.spec.explore import explore
    from peerproof.spec.shards import ProcessLost

    world = import_module(f"peerproof.spec.{model.protocol}.world").Model(model.configuration.constants)
    folder = args.resume / model.name if args.resume else None
    ticker = ModelTicker(model.name, 0)
    try:
        exploration = explore(world, progress=ticker.explored, processes=args.processes, checkpoint=folder, digest=True)
    except BadCheckpoint as problem:
        ticker.clear()
        return _refused(str(problem), USAGE)
    except (ProcessLost, OSError) as problem:
        ticker.clear()
        return _no_verdict(model, problem)
    ticker.clear()
    if surprise := _written_down(model, exploration, digest=not args.rewrite):
        print(f"{model.name}  UNEXPECTED: {surprise}", flush=True)
        return UNEQUAL
    if tools is None:
        print(f"{model.name}  Python half as written down: {_counts(exploration)}; the TLC half was not run", flush=True)
        return EQUAL
    return _against_tlc(args, tools, model, exploration)


def _against_tlc(args: Namespace, tools: Tools, model: Model, exploration: Exploration) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.graph import compare
    from peerproof.tla.dot import BadDump
    from peerproof.tla.manifest import root
    from peerproof.tla.outcome import RunFailed
    from peerproof.tla.tlc import Run
    from peerproof.tla.tlc import run as run_tlc

    ticker = ModelTicker(model.name, 0)
    try:
        with TemporaryDirectory(prefix="peerproof-graph-") as folder:
            dump = Path(folder) / "graph.dot"
            what = Run(
                module=model.module_path,
                configuration=model.cfg(checks=False),
                library=(root(),),
                dump=dump,
                coverage=True,
                brief=model.is_brief,
                heap_megabytes=HEAP_MEGABYTES,
                seconds=args.seconds,
            )
            result = run_tlc(tools, what, ticker)
            found = compare(dump, exploration)
    except (RunFailed, BadDump, OSError) as problem:
        ticker.clear()
        return _no_verdict(model, problem)
    ticker.clear()
    if miscounted := _miscounted(result, found.states, found.edges, found.labels):
        return _no_verdict(model, miscounted)
    return _verdict(args, model, exploration, found)


def _no_verdict(model: Model, problem: object) -> int:
    print(f"{model.name}  NO VERDICT: {problem}", flush=True)
    return UNUSABLE


def _verdict(args: Namespace, model: Model, exploration: Exploration, found: Comparison) -> int:
    from peerproof.conformance.graph import story

    if found.equal and str(found.digest) != str(exploration.digest):
        return _no_verdict(model, f"the graphs are equal, but not their digests: {found.digest} of TLC, {exploration.digest}")
    if found.equal:
        counted = f"TLC {found.states:,} states, {found.edges:,} edges; Python {_counts(exploration)}"
        print(f"{model.name}  equal: {counted}", flush=True)
        if args.rewrite:
            _write_down(model, str(found.digest))
        return EQUAL
    print(
        f"{model.name}  UNEQUAL: {found.only_tla:,} edges only in TLA+, {found.only_python:,} only in Python, "
        f"{found.unseen:,} states of TLC unknown to Python; the nearest difference:"
    )
    if found.first:
        print("\n".join(story(exploration, found.first)), flush=True)
    return UNEQUAL


def _counts(exploration: Exploration) -> str:
    from peerproof.spec.graph_digest import chance_of_collision

    states = len(exploration.depths)
    counted = f"{states:,} states, {sum(exploration.edges.values()):,} edges"
    return f"{counted}, digest {exploration.digest} (by accident: {chance_of_collision(states):.0e})"


def _written_down(model: Model, exploration: Exploration, *, digest: bool) -> str | None:
    """In what the Python half differs from what stands in constants.json, without asking TLC."""
    expected = model.configuration.expected
    found: dict[str, int | str] = {
        "distinct": len(exploration.depths),
        "generated": sum(exploration.edges.values()) + 1,
        "depth": max(exploration.depths.values()) + 1,
    }
    if digest:
        found["digest"] = str(exploration.digest)
    for name, value in found.items():
        if expected.get(name) != value:
            written = expected.get(name, "nothing")
            return f"{name} is {value} in Python, and {written} as written down in {model.protocol}/constants.json"
    return None


def _write_down(model: Model, digest: str) -> None:
    from peerproof.tla.manifest import root

    path = root() / model.protocol / "constants.json"
    data = json.loads(path.read_bytes())
    data["configurations"][model.configuration.name]["expected"]["digest"] = digest
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _miscounted(result: Result, states: int, edges: int, labels: dict[str, int]) -> str | None:
    """In what the dump is not what TLC says of itself."""
    if (result.distinct, result.edges) != (states, edges):
        return f"TLC says {result.distinct:,} states and {result.edges:,} edges, its dump has {states:,} and {edges:,}"
    for action, count in result.actions.items():
        if count.generated != labels.get(action, 0):
            return f"TLC says {count.generated:,} edges of {action}, its dump has {labels.get(action, 0):,}"
    return None


def _processes(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _refused(problem: str, code: int) -> int:
    print(f"peerproof: {problem}", file=sys.stderr)
    return code
