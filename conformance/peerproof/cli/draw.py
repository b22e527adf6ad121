"""
Draws a message graph: who told whom what, in which order.

  peerproof draw scuttlebutt/exchange/a-whole-round-seen-by-its-partner      a vector, by its id or a part of it
  peerproof draw conformance/vectors/swim/exchange/NAME.yaml#ID              one of a file
  peerproof draw SX-02-stale-rumour                                          how a model fails (model-check --list)
  peerproof draw tla/swim/counterexamples/SX-02-stale-rumour.itf.json        a counterexample of TLC, in ITF
  peerproof draw a.jsonl b.jsonl c.jsonl --from 2000 --to 5000               traces of one run, of 3 seconds
  peerproof draw run.jsonl --node n1:1 --format svg --output n1.svg          what one node has to do with
  peerproof draw cluster.pcapng --protocol scuttlebutt --port 8119           a capture

What a file holds is told from its content. --format text is for a terminal: `->` is a message, `-x` a lost one, `=>` an expected
one. Mermaid is for Markdown, SVG for pages and pictures: it needs nothing else, and is readable in light and dark.

Of a trace, a message is drawn where it is received; one that nobody receives is crossed out where it is sent. Nodes with clocks
of their own, in files of their own, are brought together by their messages. Times are milliseconds from the beginning.

No more than --most happenings are drawn; what was left out is said. Of a capture the extra pipeline is needed.

Exit codes of this command: 0 drawn; 2 it cannot be drawn; 3 an extra or a tool is missing, or TLC gave no verdict; 4 there is
nothing of this time and these nodes.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from peerproof.cli import options

if TYPE_CHECKING:
    from types import FrameType

    from peerproof.conformance.excerpt import Excerpt
    from peerproof.conformance.message_graph import MessageGraph
    from peerproof.conformance.model_picture import Failing
    from peerproof.conformance.trace_picture import Reader
    from peerproof.conformance.vectors import Vector
    from peerproof.tla.counterexample import Counterexample
    from peerproof.tla.manifest import Model

OK, USAGE, UNUSABLE, NOTHING = 0, 2, 3, 4

FORMATS: Final = ("text", "mermaid", "svg")

#: End of a file's name -> format, where none is asked for.
_BY_NAME: Final = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".md": "mermaid"}

#: Characters; Mermaid refuses to draw more unless its `maxTextSize` is raised.
_MOST_MERMAID: Final = 50_000

#: Unreadable lines that are shown.
_MOST_UNREAD: Final = 3


class Picture(NamedTuple):
    """What is drawn, and what it is."""

    graph: MessageGraph
    title: str


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    from peerproof.conformance.excerpt import MOST

    add = parser.add_argument
    add("sources", metavar="SOURCE", nargs="+", help="a vector, a model that fails, or files; - for a trace on stdin")
    add("--format", choices=FORMATS, help="default: text, or what the name of --output says")
    add("--output", metavar="FILE", type=Path, help="write it there")
    add("--from", dest="begin", metavar="MS", type=_count, help="of a trace or capture: leave out what is before")
    add("--to", dest="end", metavar="MS", type=_count, help="leave out what is then or later")
    add("--node", metavar="NAME", action="append", default=[], help="only what this node has to do with; may be given again")
    add("--most", metavar="N", type=_count, help=f"of a trace or capture: draw so many happenings (default {MOST})")
    add("--run", metavar="NAME", help="of a trace: this run")
    add("--protocol", metavar="NAME", help="of a capture: whose messages these are")
    add("--port", metavar="N", type=_count, action="append", default=[], help="of a capture: only packets of this port")
    add("--without", metavar="NAMES", default="", help="of a model: variables that are not drawn, such as own,round")
    add("--tlc", action="store_true", help="of a model: let TLC find the counterexample anew (needs Java and the extra tla)")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Draws it."""
    from peerproof.conformance.pictured import CannotDraw

    try:
        picture = _picture(args)
    except CannotDraw as problem:
        return _told(str(problem), USAGE)
    except OSError as problem:
        return _told(f"{problem.filename or args.sources[0]}: {problem.strerror or problem}", USAGE)
    if not picture.graph.happenings:
        return _told("nothing is left to draw: of this time and these nodes there is nothing", NOTHING)
    form = args.format or _BY_NAME.get(args.output.suffix if args.output else "", "text")
    graph, title = picture
    drawn = graph.svg(title) if form == "svg" else graph.mermaid() if form == "mermaid" else graph.text()
    if form == "mermaid" and len(drawn) > _MOST_MERMAID:
        _told(f"Mermaid draws {_MOST_MERMAID:,} characters, and these are {len(drawn):,}: ask for less, or for svg", OK)
    if args.output is None:
        print(drawn)
        return OK
    try:
        args.output.write_text(drawn + "\n", encoding="utf-8")
    except OSError as problem:
        return _told(f"cannot write {args.output}: {problem.strerror}", USAGE)
    return OK


def _picture(args: Namespace) -> Picture:
    """Raises CannotDraw and OSError."""
    from peerproof.conformance.pictured import CannotDraw, Kind, kind_of
    from peerproof.conformance.pipeline.capture import is_capture

    files = [name for name in args.sources if name == "-" or Path(name).exists()]
    if len(files) < len(args.sources):
        if len(args.sources) > 1:
            missing = next(name for name in args.sources if name not in files)
            raise CannotDraw(f"{missing} is no file; several sources are the traces of one run")
        return _by_name(args)
    kinds = {Kind.TRACE if name == "-" else kind_of(Path(name), is_capture) for name in files}
    if len(files) > 1 and kinds != {Kind.TRACE}:
        what = " and ".join(sorted(kind.value for kind in kinds))
        raise CannotDraw(f"several sources are the traces of one run; these are {what}")
    kind, path = kinds.pop(), Path(files[0])
    _refuse_others(args, kind.value, _OF[kind.name])
    match kind:
        case Kind.TRACE:
            return _trace(args, files)
        case Kind.CAPTURE:
            return _capture(args, path)
        case Kind.VECTORS:
            return _vector_of(path, "")
    return _counterexample(args, path)


#: Kind of a source -> the options that it knows.
_OF: Final = {
    "TRACE": ("begin", "end", "node", "most", "run"),
    "CAPTURE": ("begin", "end", "node", "most", "protocol", "port"),
    "VECTORS": ("vectors",),
    "COUNTEREXAMPLE": ("without",),
    "MODEL": ("without", "tlc"),
}


def _refuse_others(args: Namespace, what: str, known: tuple[str, ...]) -> None:
    """Raises CannotDraw if an option was given that means nothing here."""
    from peerproof.conformance.pictured import CannotDraw

    for option in ("begin", "end", "node", "most", "run", "protocol", "port", "without", "tlc"):
        if option not in known and getattr(args, option) not in (None, [], "", False):
            raise CannotDraw(f"--{'from' if option == 'begin' else 'to' if option == 'end' else option} means nothing for {what}")


def _by_name(args: Namespace) -> Picture:
    """A vector or a model. Raises CannotDraw."""
    from peerproof.cli.show import find
    from peerproof.conformance.pictured import CannotDraw, model_of
    from peerproof.tla.manifest import BadManifest

    (name,) = args.sources
    file, _, within = name.partition("#")
    if within and Path(file).is_file():
        _refuse_others(args, "vectors", _OF["VECTORS"])
        return _vector_of(Path(file), within)
    try:
        model = model_of(name)
    except BadManifest as problem:
        raise CannotDraw(str(problem)) from None
    if model is not None:
        _refuse_others(args, "a model", _OF["MODEL"])
        return _model(args, model)
    if Path(name).suffix in (".jsonl", ".json", ".pcap", ".pcapng", ".yaml", ".gz"):
        raise CannotDraw(f"there is no file {name}")
    _refuse_others(args, "a vector", _OF["VECTORS"])
    return _of_vector(find(options.suite(args), name))


def _of_vector(vector: Vector) -> Picture:
    from peerproof.conformance.sequence import of_vector

    return Picture(of_vector(vector), f"{vector.id}: {vector.title}")


def _vector_of(path: Path, within: str) -> Picture:
    from dataclasses import replace

    from peerproof.cli.show import find
    from peerproof.conformance.pictured import CannotDraw, vectors_of
    from peerproof.conformance.vectors import VectorError

    try:
        suite, vectors = vectors_of(path)
    except VectorError as problem:
        raise CannotDraw(str(problem)) from None
    if not within and len(vectors) > 1:
        shown = "\n".join(f"  {path}#{vector.id.rpartition('/')[2]}" for vector in vectors)
        raise CannotDraw(f"{path} has {len(vectors)} vectors; draw one of them:\n{shown}")
    return _of_vector(find(replace(suite, vectors=tuple(vectors)), within) if within else vectors[0])


def _model(args: Namespace, model: Model) -> Picture:
    from peerproof.conformance import model_picture
    from peerproof.conformance.counterexamples import Unlike
    from peerproof.conformance.pictured import CannotDraw

    try:
        if args.tlc:
            found = model_picture.of_run(model, _asked(model), _without(args))
        else:
            found = model_picture.failing(model, _without(args))
    except FileNotFoundError as problem:
        raise CannotDraw(f"{problem.filename} is not there; --tlc finds the counterexample anew") from None
    except Unlike as problem:
        raise CannotDraw(str(problem)) from None
    return _failing(model, found)


def _counterexample(args: Namespace, path: Path) -> Picture:
    from peerproof.conformance.pictured import run_of

    return _failing(*run_of(path, _without(args)))


def _failing(model: Model, found: Failing) -> Picture:
    said = f"{model.name}: {model.violated} is violated {found.length}"
    _told(said, OK)
    return Picture(found.graph, said)


def _without(args: Namespace) -> list[str]:
    return [name.strip() for name in args.without.split(",") if name.strip()]


def _asked(model: Model) -> Counterexample:
    """What TLC finds now. Ends the command if it cannot be asked, or has no verdict."""
    from peerproof.cli.ticker import ModelTicker
    from peerproof.tla.checking import check
    from peerproof.tla.outcome import RunFailed
    from peerproof.tla.tools import ToolsUnusable, find

    if model.by != "tlc":
        raise options.refusal(f"peerproof draw: {model.name} is a question to the explorer, not to TLC: draw it without --tlc")
    show = ModelTicker(model.name, len(model.name))
    former = signal.signal(signal.SIGTERM, _interrupt)  # so that no Java machine outlives this process
    try:
        found = check(find(), model, show, seconds=None).result.counterexample
    except (ToolsUnusable, RunFailed) as problem:
        raise options.refusal(f"peerproof draw: {problem}", UNUSABLE) from None
    finally:
        signal.signal(signal.SIGTERM, former)
        show.clear()
    if found is None:
        raise options.refusal(f"peerproof draw: TLC says that {model.name} holds; peerproof model-check says more", UNUSABLE)
    return found


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _trace(args: Namespace, names: list[str]) -> Picture:
    from contextlib import nullcontext

    from peerproof.conformance import trace_picture
    from peerproof.conformance.pictured import CannotDraw

    excerpt = _excerpt(args)
    reader = trace_picture.Reader(begin=excerpt.begin, run=args.run)
    try:
        for name in names:
            with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
                reader.read(name, file, share=len(names))
        graph = trace_picture.drawn(reader, excerpt)
    except trace_picture.NoTrace as problem:
        raise CannotDraw(str(problem)) from None
    _tell_unread(reader)
    _tell_left_out(excerpt)
    runs = sorted({line.run for _, line in reader.lines})
    return Picture(graph, f"Trace of {reader.lines[0].line.protocol}, run {', '.join(runs)}")


def _tell_unread(reader: Reader) -> None:
    for file, number, problem in reader.unread[:_MOST_UNREAD]:
        _told(f"{file}:{number}: not drawn: {problem}", OK)
    if (more := len(reader.unread) - _MOST_UNREAD) > 0:
        _told(f"{more:,} more lines cannot be read", OK)
    for name in reader.cut:
        _told(f"{name}: only its first {reader.most:,} lines are looked at; --from begins later", OK)


def _capture(args: Namespace, path: Path) -> Picture:
    from peerproof.conformance.clauses import protocols, specification
    from peerproof.conformance.pictured import CannotDraw

    if args.protocol not in protocols():
        found = "nothing" if args.protocol is None else repr(args.protocol)
        raise CannotDraw(f"--protocol: expected whose messages {path} holds, one of {', '.join(protocols())}; found {found}")
    try:
        from peerproof.conformance.pipeline import capture_picture
    except ImportError as error:
        message = f"peerproof draw: a capture needs the package {error.name}: pip install 'peerproof[pipeline]'"
        raise options.refusal(message, UNUSABLE) from None
    from peerproof.conformance.pipeline.quarantine import REASONS

    excerpt = _excerpt(args)
    drawn = capture_picture.drawn(path, specification(args.protocol), args.port, excerpt)
    for reason, count in sorted(drawn.refused.items()):
        _told(f"{path}: {count:,} packets or parts of streams are not drawn: {REASONS[reason]}", OK)
    if drawn.left_out:
        _told(f"{path}: {drawn.left_out.total():,} packets of other ports are not drawn", OK)
    _tell_left_out(excerpt)
    return Picture(drawn.graph, f"{path.name}: {drawn.messages:,} messages of {args.protocol}")


def _excerpt(args: Namespace) -> Excerpt:
    from peerproof.conformance.excerpt import MOST, Excerpt

    return Excerpt(args.begin or 0, args.end, args.node, MOST if args.most is None else args.most)


def _tell_left_out(excerpt: Excerpt) -> None:
    if excerpt.left_out:
        drawn, more, then = excerpt.most, excerpt.left_out, excerpt.goes_on
        _told(f"{drawn:,} happenings are drawn, {more:,} more are not: go on with --from {then}, or raise --most", OK)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ArgumentTypeError(f"{text} is below 0")
    return number


def _told(message: str, code: int) -> int:
    print(f"peerproof draw: {message}", file=sys.stderr)
    return code
