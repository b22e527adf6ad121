"""
Draws a message graph: which node sent which message to which, in which order.

  peerproof trace draw scuttlebutt/exchange/a-whole-round-seen-by-its-partner      a vector, by its id or a part of it
  peerproof trace draw my-vectors/swim/exchange/NAME.yaml#ID                       one of a file
  peerproof trace draw SX-02-stale-rumour                                          a counterexample (model check --list)
  peerproof trace draw found.itf.json                                              a counterexample of TLC, in ITF
  peerproof trace draw a.jsonl b.jsonl c.jsonl --from 2000 --to 5000               traces of one run, 3 seconds of it
  peerproof trace draw run.jsonl --node n1:1 --format svg --output n1.svg          only what involves one node
  peerproof trace draw cluster.pcapng --protocol scuttlebutt --port 8119           a capture

The kind of a file is detected from its content. --format text is for a terminal: `->` is a message, `-x` a lost one, `=>` an
expected one. Mermaid is for Markdown. SVG is for pages: it is self-contained, and readable in light and dark.

In a trace, a message is drawn where it is received; one that is never received is crossed out where it is sent. Nodes with
clocks of their own are aligned by their messages. Times are milliseconds from the beginning. At most --most events are drawn;
the diagram says how many are left out.

Messages have a compact form: their type, then the values of their members, `–` for null, and nodes by their names. --full shows
them whole.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peerproof.cli import options
from peerproof.cli.command import interruptible, refuse
from peerproof.cli.console import note, warn
from peerproof.cli.exits import NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.trace.excerpt import add_excerpt, excerpt_of, nothing_in
from peerproof.conformance.diagrams.svg import render_svg

if TYPE_CHECKING:
    from peerproof.conformance.authoring.drawing import Drawing, Subject
    from peerproof.conformance.diagrams.message_graph import Excerpt
    from peerproof.tla.manifest import Model
    from peerproof.tla.output.counterexample import Counterexample

FORMATS: Final = ("text", "mermaid", "svg")

#: Suffix of a file name -> format, if none is given.
_BY_NAME: Final = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".md": "mermaid"}

#: Characters; Mermaid draws no more unless its `maxTextSize` is raised.
_MOST_MERMAID: Final = 50_000


EXITS: Final = {
    OK: "drawn",
    2: "wrong usage, or a source that cannot be drawn",
    UNUSABLE: "an extra or a tool is missing, or TLC gave no verdict",
    NOTHING: "nothing to draw",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    from peerproof.conformance.diagrams.message_graph import MOST

    add = parser.add_argument
    add(
        "sources", metavar="SOURCE", nargs="+", help="a vector, a model that fails, or files, also in gzip; - is a trace on stdin"
    )
    add("--format", choices=FORMATS, help="default: text, or what the name of --output says")
    options.add_output(parser)
    add_excerpt(parser, f"of a trace or capture: draw at most N events (default {MOST})")
    add("--full", action="store_true", help="of a trace, capture or vector: show messages whole, with the names of members")
    add("--without", metavar="NAMES", default="", help="of a model: variables that are not drawn, such as own,round")
    add("--tlc", action="store_true", help="of a model: find the counterexample again with TLC (needs Java and the extra tla)")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Draws the graph."""
    from peerproof.conformance.authoring.drawing import CannotDraw
    from peerproof.conformance.diagrams.message_graph import MOST

    excerpt = excerpt_of(args, MOST)
    try:
        with refuse(CannotDraw):
            drawing = _draw(args, excerpt)
    except OSError as problem:
        raise Refusal(f"{problem.filename or args.sources[0]}: {problem.strerror or problem}") from None
    for remark in drawing.remarks:
        note(remark)
    if not drawing.graph.happenings:
        raise nothing_in(excerpt, "draw")
    form = args.format or _BY_NAME.get(args.output.suffix if args.output else "", "text")
    graph, title = drawing.graph, drawing.title
    drawn = render_svg(graph, title) if form == "svg" else graph.mermaid() if form == "mermaid" else graph.text()
    if form == "mermaid" and len(drawn) > _MOST_MERMAID:
        size = f"{_MOST_MERMAID:,} characters, and these are {len(drawn):,}"
        warn(f"Mermaid draws {size}: leave something out, or use --format svg")
    if args.output is None:
        print(drawn)
        return OK
    try:
        args.output.write_text(drawn + "\n", encoding="utf-8")
    except OSError as problem:
        raise Refusal(f"cannot write {args.output}: {problem.strerror}") from None
    return OK


def _draw(args: Namespace, excerpt: Excerpt) -> Drawing:
    """Reads and draws the sources. Raises CannotDraw and OSError."""
    from peerproof.conformance.authoring import drawing
    from peerproof.conformance.vectors.selection import UnknownVector, VectorNotFound, find_vector

    subject = drawing.find_subject(args.sources)
    _refuse_others(args, subject)
    path = Path(subject.files[0]) if subject.files else Path()
    try:
        match subject.kind:
            case "TRACE":
                return drawing.draw_traces(subject.files, excerpt, args.run, is_full=args.full)
            case "CAPTURE":
                protocol = drawing.check_protocol(args.protocol, path)
                return drawing.draw_capture(path, protocol, args.port, excerpt, is_full=args.full)
            case "VECTORS":
                return drawing.draw_vector_file(path, subject.within, is_full=args.full)
            case "COUNTEREXAMPLE":
                return drawing.draw_counterexample(path, _without(args))
        if subject.model is not None:
            return drawing.draw_model(subject.model, _without(args), _find_counterexample(subject.model) if args.tlc else None)
        name = args.sources[0]
        with refuse(VectorNotFound):
            try:
                vector = find_vector(options.suite(args, name.partition("/")[0]), name)
            except UnknownVector as problem:
                raise drawing.unknown_source(name, problem.close) from None
            return drawing.draw_vector(vector, is_full=args.full)
    except ImportError as error:
        raise Refusal(f"a capture needs the package {error.name}", UNUSABLE, tip="pip install 'peerproof[pipeline]'") from None


#: Kind of a source -> its options.
_OF: Final = {
    "TRACE": ("begin", "end", "node", "most", "run", "full"),
    "CAPTURE": ("begin", "end", "node", "most", "protocol", "port", "full"),
    "VECTORS": ("vectors", "full"),
    "VECTOR": ("vectors", "full"),
    "COUNTEREXAMPLE": ("without",),
    "MODEL": ("without", "tlc"),
}


def _refuse_others(args: Namespace, subject: Subject) -> None:
    """Raises CannotDraw for a given option that does not apply."""
    from peerproof.conformance.authoring.drawing import CannotDraw

    for option in ("begin", "end", "node", "most", "run", "protocol", "port", "without", "tlc", "full"):
        if option not in _OF[subject.kind] and getattr(args, option) not in (None, [], "", False):
            name = {"begin": "from", "end": "to"}.get(option, option)
            raise CannotDraw(f"--{name} does not apply to {subject.text}")


def _without(args: Namespace) -> list[str]:
    return [name.strip() for name in args.without.split(",") if name.strip()]


def _find_counterexample(model: Model) -> Counterexample:
    """Finds the counterexample again with TLC. Ends the command if TLC cannot run, or has no verdict."""
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.authoring.drawing import NoCounterexample, find_counterexample
    from peerproof.tla.output.outcome import RunFailed
    from peerproof.tla.tools.installation import ToolsUnusable, find

    if model.by != "tlc":
        raise Refusal(f"{model.name} is checked by the explorer, not by TLC", tip="draw it without --tlc")
    unusable = refuse(ToolsUnusable, RunFailed, NoCounterexample, code=UNUSABLE)
    with unusable, interruptible(), ModelTicker(model.name, len(model.name)) as ticker:
        return find_counterexample(model, find(), ticker.show_tlc)
