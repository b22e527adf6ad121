"""Checking that the TLA+ module and the Python specification of a model have the same state graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from peerproof.conformance.models.difference_diagram import draw_difference
from peerproof.conformance.models.graph_comparison import Comparison, compare
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.model.graph_digest import chance_of_collision
from peerproof.spec.model.shards import ProcessLost
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla import manifest
from peerproof.tla.manifest import SIZES, Model
from peerproof.tla.output.dot import BadDump
from peerproof.tla.output.outcome import Progress, Result, RunFailed
from peerproof.tla.tools import tlc
from peerproof.tla.tools.installation import Tools

#: Heap of TLC; with the explorer and the system the whole stays under 2 GB.
HEAP_MEGABYTES: Final = 1024


class GraphVerdict(Enum):
    """The result of comparing the two graphs of a model."""

    EQUAL = "equal"
    NOT_COMPARED = "not compared"  #: TLC did not run; the Python graph is as recorded
    UNEXPECTED = "unexpected"  #: the Python graph differs from the record; if TLC ran, its graph is the same as Python's
    UNEQUAL = "unequal"
    UNDETERMINED = "undetermined"  #: one of the explorations failed, or TLC contradicts itself


@dataclass(frozen=True)
class GraphCheck:
    """The outcome of one model."""

    model: Model
    verdict: GraphVerdict
    text: str  #: the verdict in words, with counts
    difference: tuple[str, ...] = ()  #: if they are unequal: the shortest path to the nearest difference, line by line
    digest: str | None = None  #: of both graphs if they are equal
    tip: str = ""  #: what to do next, with the command, unless all is well


def select_graphs(protocol: str, size: str = "small", names: Collection[str] = ()) -> list[Model]:
    """
    Returns the models whose whole graphs can be compared: those of these names, or all up to a size, one of `SIZES`.

    Raises BadManifest.

    >>> [model.name for model in select_graphs("swim", names=["tiny"])]
    ['tiny']
    """

    def is_chosen(model: Model) -> bool:
        if names:
            return model.name in names
        is_mended = model.name != model.configuration.name  # the small models already cover graphs of this kind
        own = max(model.size, "medium", key=SIZES.index) if is_mended else model.size
        return SIZES.index(own) <= SIZES.index(size)

    return [model for model in manifest.models(protocol) if model.is_whole_graph and is_chosen(model)]


def compare_graphs(  # each has its default
    model: Model,
    tools: Tools | None = None,
    *,
    processes: int = 1,
    checkpoint: Path | None = None,
    seconds: float | None = None,
    check_digest: bool = True,
    on_explored: Callable[[int, int, int], None] = lambda *_: None,
    on_tlc: Callable[[Progress], None] = lambda _: None,
) -> GraphCheck:
    """
    Explores a model's whole graph in Python and with TLC, and compares the two, edge by edge.

    Equal graphs are compared with the counts and the digest in constants.json as well, and without `tools` the Python graph is
    compared with these alone; with `check_digest=False`, with the counts only. `checkpoint` is a folder that keeps each level as
    soon as it is explored. TLC is stopped after this many seconds. Raises BadCheckpoint.

    >>> (tiny,) = select_graphs("swim", names=["tiny"])
    >>> compare_graphs(tiny).verdict
    <GraphVerdict.NOT_COMPARED: 'not compared'>
    """
    bounded = PROTOCOLS[model.protocol].bounded.load().Model(model.configuration.constants)
    try:
        exploration = explore(bounded, progress=on_explored, processes=processes, checkpoint=checkpoint, digest=True)
    except (ProcessLost, OSError) as problem:
        return _no_verdict(model, problem)
    unexpected = _constants_mismatch(model, exploration, digest=check_digest)
    if tools is None and unexpected:
        text = f"UNEXPECTED: the Python graph is not the stored one: {'; '.join(unexpected.values())}; the TLC half was not run"
        tip = (
            f"with TLC, a fault of one side shows the first step that differs, a change of both can be stored: {_command(model)}"
        )
        return GraphCheck(model, GraphVerdict.UNEXPECTED, text, tip=tip)
    if tools is None:
        text = f"Python half as recorded: {_counts(exploration)}; the TLC half was not run"
        return GraphCheck(model, GraphVerdict.NOT_COMPARED, text)
    try:
        with TemporaryDirectory(prefix="peerproof-graph-") as folder:
            dump = Path(folder) / "graph.dot"
            what = tlc.Run(
                module=model.module_path,
                configuration=model.cfg(checks=False),
                library=(manifest.root(),),
                dump=dump,
                brief=model.is_brief,
                heap_megabytes=HEAP_MEGABYTES,
                seconds=seconds,
            )
            result = tlc.run(tools, what, on_tlc)
            found = compare(dump, exploration)
    except (RunFailed, BadDump, OSError) as problem:
        return _no_verdict(model, problem)
    if miscounted := _dump_mismatch(result, found):
        return _no_verdict(model, miscounted)
    return _verdict_of(model, exploration, found, unexpected)


def record_digest(check: GraphCheck) -> None:
    """Records the digest of equal graphs in constants.json."""
    if check.digest is None:
        return
    path = manifest.root(check.model.protocol) / check.model.protocol / "constants.json"
    data = json.loads(path.read_bytes())
    data["configurations"][check.model.configuration.name]["expected"]["digest"] = check.digest
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _no_verdict(model: Model, problem: object) -> GraphCheck:
    return GraphCheck(model, GraphVerdict.UNDETERMINED, f"NO VERDICT: {problem}")


def _verdict_of(model: Model, exploration: Exploration, found: Comparison, unexpected: Mapping[str, str]) -> GraphCheck:
    if found.equal and str(found.digest) != str(exploration.digest):
        return _no_verdict(model, f"the graphs are equal, but not their digests: {found.digest} of TLC, {exploration.digest}")
    if found.equal and unexpected:
        text = f"UNEXPECTED: TLC and Python have the same graph, but not the stored one: {'; '.join(unexpected.values())}"
        rewrite = [_command(model, "graph", "--rewrite")]
        if unexpected.keys() - {"digest"}:
            rewrite.insert(0, _command(model, "check", "--rewrite"))
        tip = f"if both were changed on purpose, store the new graph: {' && '.join(rewrite)}"
        return GraphCheck(model, GraphVerdict.UNEXPECTED, text, tip=tip)
    if found.equal:
        counted = f"TLC {found.states:,} states, {found.edges:,} edges; Python {_counts(exploration)}"
        return GraphCheck(model, GraphVerdict.EQUAL, f"equal: {counted}", digest=str(found.digest))
    text = (
        f"UNEQUAL: {found.only_tla:,} edges only in TLA+, {found.only_python:,} only in Python, "
        f"{found.unseen:,} states of TLC unknown to Python; {_changed_side(model, exploration, found)}; the nearest difference:"
    )
    tip = (
        "read the clauses of this step, and correct the side that breaks them, or change both if the change is meant; "
        f"to take it in the browser: {_command(model, 'explore')}"
    )
    return GraphCheck(model, GraphVerdict.UNEQUAL, text, tuple(draw_difference(exploration, found.nearest)), tip=tip)


def _changed_side(model: Model, exploration: Exploration, found: Comparison) -> str:
    """Says which side no longer has the stored digest."""
    match model.configuration.expected.get("digest"):
        case digest if digest == str(found.digest):
            return "Python has changed, TLA+ still has the stored digest"
        case digest if digest == str(exploration.digest):
            return "TLA+ has changed, Python still has the stored digest"
    return "neither has the stored digest"


def _command(model: Model, command: str = "graph", *options: str) -> str:
    return " ".join(["peerproof model", command, model.protocol, "--model", model.name, *options])


def _counts(exploration: Exploration) -> str:
    states = len(exploration.depths)
    counted = f"{states:,} states, {sum(exploration.edges.values()):,} edges"
    return f"{counted}, digest {exploration.digest} (collision probability {chance_of_collision(states):.0e})"


def _constants_mismatch(model: Model, exploration: Exploration, *, digest: bool) -> dict[str, str]:
    """Returns how the Python graph differs from constants.json, by the name of the count."""
    expected, depths = model.configuration.expected, exploration.depths
    found: dict[str, int | str] = {"distinct": len(depths), "generated": sum(exploration.edges.values()) + 1}
    found |= {"depth": max(depths.values()) + 1} | ({"digest": str(exploration.digest)} if digest else {})
    return {
        name: f"{name} is {value}, not {expected.get(name) or 'stored'}"
        for name, value in found.items()
        if expected.get(name) != value
    }


def _dump_mismatch(result: Result, found: Comparison) -> str | None:
    """Returns how the dump differs from TLC's own counts; None if it agrees."""
    if (result.distinct, result.edges) != (found.states, found.edges):
        reported = f"TLC reports {result.distinct:,} states and {result.edges:,} edges"
        return f"{reported}, its dump has {found.states:,} and {found.edges:,}"
    return None
