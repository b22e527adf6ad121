"""Message graphs of vectors, failing models, counterexamples, traces and captures."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.captures.pcap import is_capture
from peerproof.conformance.captures.refusals import REASONS
from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.diagrams.message_graph import Arrow, Excerpt, MessageGraph
from peerproof.conformance.models import model_diagram
from peerproof.conformance.models.counterexamples import Unlike
from peerproof.conformance.runner.vector_diagram import of_vector
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.source import STANDARD_INPUT, Source
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.traces import file_check, trace_diagram
from peerproof.conformance.vectors.selection import find_vector
from peerproof.conformance.vectors.suite import Suite, Vector, load
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.trace import parse
from peerproof.tla.checking import check
from peerproof.tla.manifest import BadManifest, Model, models
from peerproof.tla.output.counterexample import Counterexample, from_itf
from peerproof.tla.output.outcome import Progress
from peerproof.tla.tools.installation import Tools

#: Number of models that are suggested for an unknown name.
MOST_SUGGESTED: Final = 3

#: Number of bytes read to detect the kind of a file.
_HEAD: Final = 2**20


class Kind(Enum):
    """The kind of content of a file."""

    TRACE = "a trace"
    CAPTURE = "a capture"
    COUNTEREXAMPLE = "a counterexample"
    VECTORS = "vectors"


class CannotDraw(Exception):
    """A source that cannot be drawn; the message, or the tip, says what to do."""

    def __init__(self, message: str, tip: str | None = None) -> None:
        super().__init__(message)
        self.tip = tip


def kind_of(path: Path) -> Kind:
    """Detects the kind of a file from its content. Raises CannotDraw and OSError."""
    with Source(path) as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise CannotDraw(f"{path} is empty", file_check.EMPTY_TIP)
    if is_capture(path):
        return Kind.CAPTURE
    if head.lstrip().startswith(b"{"):
        if _is_trace(head):
            return Kind.TRACE
        if b'"states"' in head:
            return Kind.COUNTEREXAMPLE
        raise CannotDraw(f"{path} is JSON, but neither a trace nor a counterexample in ITF", file_check.NoTrace.tip)
    if b"\nvectors:" in head:
        return Kind.VECTORS
    raise CannotDraw(f"{path} is not a trace, a capture, a file of vectors or a counterexample", file_check.NoTrace.tip)


def _is_trace(head: bytes) -> bool:
    """Returns True if one of the first 100 lines is a trace line."""
    for line in head.splitlines()[:100]:
        with suppress(MalformedMessage):
            parse(line.decode(errors="replace"))
            return True
    return False


def vectors_of(path: Path) -> tuple[Suite, list[Vector]]:
    """Returns the vectors of a file, and the suite that they belong to. Raises CannotDraw and VectorError."""
    path = path.resolve()
    *_, protocol, layer, _ = ("", "", *path.parts)
    if protocol not in protocols() or layer not in ("codec", "exchange", "cluster"):
        raise CannotDraw(f"{locations.path_text(path)}: vectors are in files like PROTOCOL/LAYER/TOPIC.yaml")
    suite = load(path.parents[2])
    files = {file for file in map(suite.path, suite.vectors) if file.resolve() == path}
    return suite, [vector for vector in suite.vectors if suite.path(vector) in files]


def model_of(name: str) -> Model | None:
    """Returns the failing model `NAME` or `PROTOCOL/NAME`. Raises BadManifest, and CannotDraw if several fail or all hold."""
    protocol, _, short = name.rpartition("/")
    found = [model for model in models() if model.name == short and protocol in ("", model.protocol)]
    failing = [model for model in found if model.verdict != "success"]
    if len(failing) > 1:
        raise CannotDraw(f"there are {' and '.join(f'{model.protocol}/{model.name}' for model in failing)}: which one?")
    if found and not failing:
        raise CannotDraw(f"the model {name} holds: it has no failing run to draw")
    return failing[0] if failing else None


def draw_counterexample(path: Path, without: Collection[str] = ()) -> Drawing:
    """
    Draws a counterexample of TLC from an ITF file. Raises CannotDraw, OSError.

    One of a model is replayed in Python. One of any other module names no model, and is drawn from its states alone.
    """
    try:
        itf: dict[str, Any] = json.loads(path.read_bytes())
        example, about = from_itf(itf), itf.get("#meta", {})
        name = f"{about['protocol']}/{about['model']}" if "model" in about else ""
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise CannotDraw(f"{path} is not a counterexample in ITF: {problem!r}") from None
    if not example.states:
        raise CannotDraw(f"{path}: it has no states")
    if not name:
        return _draw_states(path, example, about.get("violated"), without)
    model = model_of(name)
    if model is None:
        raise CannotDraw(f"{path}: there is no model {name}")
    try:
        return _failing(model, model_diagram.of_run(model, example, without))
    except (Unlike, KeyError, ValueError, TypeError, AssertionError) as problem:
        raise CannotDraw(f"{path}: not a run of {model.name}: {problem}") from None


def _draw_states(path: Path, example: Counterexample, violated: str | None, without: Collection[str]) -> Drawing:
    try:
        found = model_diagram.of_states(example, without)
    except (Unlike, KeyError, ValueError, TypeError, IndexError, AssertionError):
        shape = "a variable net, a set of <<sender, receiver, type, ...>>, and variables that are functions of the nodes"
        tip = "peerproof model check and trace draw MODEL draw the models of peerproof model check --list"
        raise CannotDraw(f"{path} names no model; of another module, a run is drawn if it has {shape}", tip) from None
    title = f"{path.name}: {violated or 'a property'} is violated {found.length}"
    return Drawing(found.graph, title, (title, "no model is named: drawn from the states alone, not replayed in Python"))


#: Maximum number of unreadable trace lines that get a remark each.
MOST_UNREAD: Final = 3


@dataclass(frozen=True)
class Drawing:
    """A message graph."""

    graph: MessageGraph
    title: str
    remarks: tuple[str, ...] = ()  #: parts that are not drawn, and how a model fails


class NoCounterexample(Exception):
    """TLC finds no counterexample of the model."""


def draw_vector(vector: Vector, *, is_full: bool = False) -> Drawing:
    """
    Draws the input and the expectations of a vector.

    >>> from peerproof.conformance.vectors.selection import find_vector
    >>> from peerproof.conformance.vectors.suite import load
    >>> draw_vector(find_vector(load(), "digest-request-of-one")).title.partition(":")[0]
    'scuttlebutt/codec/digest-request-of-one'
    """
    graph = of_vector(vector, is_full=is_full)
    has_messages = any(isinstance(part, Arrow) for part in graph.happenings)
    remark = f"commands and checks only; the messages of a run: peerproof vectors explore {vector.id}"
    return Drawing(graph, f"{vector.id}: {vector.title}", () if has_messages else (remark,))


def draw_vector_file(path: Path, name: str = "", *, is_full: bool = False) -> Drawing:
    """Draws one vector of a file: the one of this name, or the only one. Raises CannotDraw, VectorNotFound."""
    try:
        suite, vectors = vectors_of(path)
    except VectorError as problem:
        raise CannotDraw(str(problem)) from None
    if not name and len(vectors) > 1:
        shown = "\n".join(f"  {path}#{vector.id.rpartition('/')[2]}" for vector in vectors)
        raise CannotDraw(f"{path} has {len(vectors)} vectors; draw one of them:\n{shown}")
    vector = find_vector(replace(suite, vectors=tuple(vectors)), name) if name else vectors[0]
    return draw_vector(vector, is_full=is_full)


def find_counterexample(model: Model, tools: Tools, on_progress: Callable[[Progress], None] = lambda _: None) -> Counterexample:
    """Runs TLC to find a model's counterexample. Raises NoCounterexample, and RunFailed if TLC has no verdict."""
    found = check(tools, model, on_progress, seconds=None).result.counterexample
    if found is None:
        raise NoCounterexample(f"TLC says that {model.name} holds; peerproof model check says more")
    return found


def draw_model(model: Model, without: Collection[str] = (), example: Counterexample | None = None) -> Drawing:
    """
    Draws how a model fails: its kept counterexample or `example`, without these variables of nodes. Raises CannotDraw.

    >>> from peerproof.tla.manifest import models
    >>> model = next(model for model in models("swim") if model.name == "SX-02-stale-rumour")
    >>> draw_model(model).remarks[0].startswith("SX-02-stale-rumour: ")
    True
    """
    try:
        found = model_diagram.failing(model, without) if example is None else model_diagram.of_run(model, example, without)
    except FileNotFoundError as problem:
        raise CannotDraw(f"{problem.filename} is not there; --tlc finds the counterexample anew") from None
    except Unlike as problem:
        raise CannotDraw(str(problem)) from None
    return _failing(model, found)


def draw_traces(names: Sequence[str], excerpt: Excerpt, run: str | None = None, *, is_full: bool = False) -> Drawing:
    """
    Draws an excerpt of the traces of one run; the name `-` is standard input. Raises CannotDraw, OSError.

    Clocks of different nodes are aligned by their messages.
    """
    try:
        reader = trace_diagram.read_traces(names, run, excerpt.begin)
        graph = trace_diagram.trace_graph(reader, excerpt, is_full=is_full)
    except trace_diagram.NoTrace as problem:
        raise CannotDraw(str(problem), problem.tip) from None
    remarks = [
        *reader.damaged,
        *(f"{file}:{number}: not drawn: {problem}" for file, number, problem in reader.unread[:MOST_UNREAD]),
    ]
    if (more := len(reader.unread) - MOST_UNREAD) > 0:
        remarks.append(f"{more:,} more lines cannot be read")
    tip = "" if len(names) > 1 and STANDARD_INPUT in names else "; --from begins later"
    remarks += [f"{name}: only {count:,} of its lines are read{tip}" for name, count in reader.cut.items()]
    runs = sorted({line.run for _, line in reader.lines})
    title = f"Trace of {reader.lines[0].line.protocol}, run {', '.join(runs)}"
    return Drawing(graph, title, (*remarks, *_left_out(excerpt)))


def draw_capture(path: Path, protocol: str, ports: Sequence[int], excerpt: Excerpt, *, is_full: bool = False) -> Drawing:
    """Draws an excerpt of a capture. Raises CannotDraw, OSError, and ImportError if a package for reading captures is missing."""
    from peerproof.conformance.captures import capture_diagram

    drawn = capture_diagram.capture_graph(path, specification(protocol), ports, excerpt, is_full=is_full)
    refused = sorted(drawn.refused.items())
    remarks = [f"{path}: {count:,} packets or parts of streams are not drawn: {REASONS[reason]}" for reason, count in refused]
    if drawn.left_out:
        remarks.append(f"{path}: {drawn.left_out.total():,} packets of other ports are not drawn")
    return Drawing(drawn.graph, f"{path.name}: {drawn.messages:,} messages of {protocol}", (*remarks, *_left_out(excerpt)))


def check_protocol(protocol: str | None, path: Path) -> str:
    """Returns the protocol if it exists. Raises CannotDraw."""
    if protocol is not None and protocol in protocols():
        return protocol
    found = "nothing" if protocol is None else repr(protocol)
    raise CannotDraw(f"--protocol: expected the protocol of {path}, one of {', '.join(protocols())}; found {found}")


@dataclass(frozen=True)
class Subject:
    """The kind of the sources to draw, and the model if it is one."""

    kind: str  #: the name of a `diagram_sources.Kind`, or VECTOR or MODEL
    text: str  #: the kind in words
    files: tuple[str, ...] = ()
    within: str = ""  #: the name of one vector in a file of vectors
    model: Model | None = None


def find_subject(sources: Sequence[str]) -> Subject:
    """
    Detects the kind of sources: files by their content, else a model or a vector by its name. Raises CannotDraw, OSError.

    >>> find_subject(["digest-request-of-one"]).kind
    'VECTOR'
    """
    files = [name for name in sources if name == "-" or Path(name).exists()]
    if len(files) < len(sources):
        if len(sources) > 1:
            missing = next(name for name in sources if name not in files)
            raise CannotDraw(f"{missing} is not a file; several sources must be the traces of one run")
        return _subject_of(sources[0])
    kinds = {Kind.TRACE if name == "-" else kind_of(Path(name)) for name in files}
    if len(files) > 1 and kinds != {Kind.TRACE}:
        what = " and ".join(sorted(kind.value for kind in kinds))
        raise CannotDraw(f"several sources must be the traces of one run; these are {what}")
    kind = kinds.pop()
    return Subject(kind.name, kind.value, tuple(files))


def _subject_of(name: str) -> Subject:
    file, _, within = name.partition("#")
    if within and Path(file).is_file():
        return Subject("VECTORS", "vectors", (file,), within)
    try:
        model = model_of(name)
    except BadManifest as problem:
        raise CannotDraw(str(problem)) from None
    if model is not None:
        return Subject("MODEL", "a model", model=model)
    if Path(name).suffix in (".jsonl", ".json", ".pcap", ".pcapng", ".yaml", ".gz"):
        raise CannotDraw(f"there is no file {name}")
    return Subject("VECTOR", "a vector")


def unknown_source(name: str, vectors: Sequence[str]) -> CannotDraw:
    """Returns the error for a name that is neither a vector nor a model that fails; `vectors` have similar names."""
    failing = dict.fromkeys(model.name for model in models() if model.verdict != "success")
    short = name.rpartition("/")[2]
    close = [known for known in failing if known.lower().startswith(short.lower())] or get_close_matches(short, failing)
    names = [*close[:MOST_SUGGESTED], *vectors]
    tip = "peerproof vectors list shows the vectors, peerproof model check --list the models"
    return CannotDraw(f"unknown vector or model {name!r}", f"did you mean {' or '.join(names)}?" if names else tip)


def _failing(model: Model, found: model_diagram.Failing) -> Drawing:
    answer = "possible, " if model.is_reachability_check else ""
    title = f"{model.name}: {answer}{model.violated} is violated {found.length}"
    return Drawing(found.graph, title, (title,))


def _left_out(excerpt: Excerpt) -> list[str]:
    if not excerpt.left_out:
        return []
    drawn, more, then = excerpt.most, excerpt.left_out, excerpt.goes_on
    return [f"{drawn:,} events are drawn, {more:,} more are not: continue with --from {then}, or raise --most"]
