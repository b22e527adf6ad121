"""
`peerproof report`: makes other formats from the records that `peerproof run --record FILE` writes.

A cut-off record is partial, and every output made from it shows that. A garbled record is refused, with the number of its
line.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.console import print_error
from peerproof.cli.exits import FAILED, INTERRUPTED, OK, Refusal
from peerproof.cli.ticker import Ticker
from peerproof.conformance.report.record import NoReport, as_json_lines, load, load_one
from peerproof.conformance.suite import output

#: Returns the output of a command, and its exit code.
Make = Callable[[Namespace], tuple[str, int]]


@dataclass(frozen=True)
class Kind:
    """A command: its options, and its output."""

    about: str
    make: Make
    declare: Callable[[ArgumentParser], None]
    formats: tuple[str, ...] = ()
    EXITS: Mapping[int, str] = field(default_factory=dict)
    is_page: bool = False

    def configure(self, parser: ArgumentParser) -> None:
        """Declares the options."""
        self.declare(parser)
        options.add_output(parser)
        if self.formats:
            options.add_format(parser, self.formats, self.formats[0])

    def run(self, args: Namespace) -> int:
        """Renders the output, and writes it."""
        if args.output and (why_not := output.unwritable(args.output)):
            raise Refusal(f"cannot write: {why_not}")
        if self.is_page and args.output is None and sys.stdout.isatty():
            raise Refusal("a page is not for a terminal", tip="add --output page.html")
        with refuse(NoReport):
            made, code = self.make(args)
        try:
            output.write_whole(args.output, made)
        except output.CannotWrite as error:
            print_error(f"cannot write: {error}")
            return INTERRUPTED
        return code


RECORD: Final = "record, as peerproof run --record writes it"
KINDS: Final[dict[str, Kind]] = {}  #: name of a command -> the command


def _command(
    declare: Callable[[ArgumentParser], None], *formats: str, exits: Mapping[int, str] | None = None, is_page: bool = False
) -> Callable[[Make], Make]:
    """Makes a command of the function that renders its output: the docstring is its help, `declare` adds its options."""

    def add(make: Make) -> Make:
        KINDS[make.__name__.removeprefix("_")] = Kind(make.__doc__ or "", make, declare, formats, exits or {}, is_page)
        return make

    return add


def _add_records(parser: ArgumentParser) -> None:
    parser.add_argument("records", metavar="RECORD", type=Path, nargs="+", help=RECORD)


def _declare_html(parser: ArgumentParser) -> None:
    _add_records(parser)
    parser.add_argument(
        "--mutants", metavar="FILE", type=Path, help="mutation scores, as peerproof model mutants --json prints them"
    )
    parser.add_argument("--edges", metavar="FILE", type=Path, help="edges taken, as peerproof report edges writes them")
    parser.add_argument(
        "--site", metavar="URL", type=_site, help="address of the project's site: clauses on the page are links to it"
    )
    options.add_vectors(parser)


def _site(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ArgumentTypeError(f"{text!r}: expected an address that begins with https:// or http://")
    return text.rstrip("/") + "/"


@_command(_declare_html, is_page=True)
def _html(args: Namespace) -> tuple[str, int]:
    """
    Writes one HTML page of reports, side by side: the verdict, the failures to look at first with their diagrams, the clauses,
    and all cases behind a filter. It needs no network.

      peerproof report html mine.jsonl theirs.jsonl --output page.html
    """
    from peerproof.conformance.explorer.failures import explore_failures
    from peerproof.conformance.report.html.page import BadExtra, load_edges, load_scores, render_page

    reports = [report for path in args.records for report in load(path)]
    suite = options.suite(args, next((protocol for report in reports if (protocol := report.arguments.get("protocol"))), None))
    with refuse(BadExtra):
        scores, edges = args.mutants and load_scores(args.mutants), args.edges and load_edges(args.edges)
    return render_page(reports, suite, scores, edges, args.site or "", explore_failures(reports, suite)), OK


def _declare_convert(parser: ArgumentParser) -> None:
    parser.add_argument("records", metavar="RECORD", type=Path, nargs=1, help=RECORD)
    options.add_all(parser)


@_command(_declare_convert, "text", "json", "jsonl", "junit", "md", "github")
def _convert(args: Namespace) -> tuple[str, int]:
    """
    Writes a report in another format.

      peerproof report convert mine.jsonl --format junit --output mine.xml
      peerproof report convert mine.jsonl --all                              every failure in full
    """
    from peerproof.conformance.report.renderings import renderer

    report, render = load_one(args.records[0]), renderer(args.format, every=args.all)
    return render(report, {result.vector: result.title for result in report.results}), OK


@_command(_add_records, "text", "md", "json")
def _groups(args: Namespace) -> tuple[str, int]:
    """
    Groups the failures by their first difference, the largest group first, each with the case to start with.

      peerproof report groups mine.jsonl
    """
    from peerproof.conformance.report.failure_groups import FORMATS

    return FORMATS[args.format]([report for path in args.records for report in load(path)]), OK


def _declare_matrix(parser: ArgumentParser) -> None:
    _add_records(parser)
    parser.add_argument("--every", action="store_true", help="all clauses, also those that every implementation satisfies")


@_command(_declare_matrix, "text", "md", "json")
def _matrix(args: Namespace) -> tuple[str, int]:
    """
    Prints how many clauses each implementation satisfies, and which ones it does not.

      peerproof report matrix mine.jsonl theirs.jsonl --format md
    """
    from peerproof.conformance.report.clause_matrix import FORMATS, clause_matrices

    reports = [report for path in args.records for report in load(path)]
    return FORMATS[args.format](clause_matrices(reports), every=args.every), OK


@_command(_add_records)
def _merge(args: Namespace) -> tuple[str, int]:
    """
    Merges records: shards of one run, or several implementations. Records that contradict each other are an error.

      peerproof report merge 1.jsonl 2.jsonl --output all.jsonl
    """
    from peerproof.conformance.report.merge import Conflict, Source, merge_reports

    sources = [Source(str(path), report) for path in args.records for report in load(path)]
    with refuse(Conflict):
        return "".join(map(as_json_lines, merge_reports(sources))), OK


def _declare_diff(parser: ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", type=Path, help="the earlier record")
    parser.add_argument("new", metavar="NEW", type=Path, help="the later record")
    options.add_vectors(parser)


@_command(_declare_diff, "text", "json", "md", exits={OK: "nothing is worse", FAILED: "something is worse"})
def _diff(args: Namespace) -> tuple[str, int]:
    """
    Prints what differs from one record to another: what fails newly, what passes now, what is new.

      peerproof report diff old.jsonl new.jsonl
    """
    from peerproof.conformance.report.diff import FORMATS, compare_reports

    (old, new), suite = (load_one(path) for path in (args.old, args.new)), options.suite(args)
    diff = compare_reports(old, new, suite.aliases)
    return FORMATS[args.format](diff), FAILED if diff.worse else OK


def _declare_badge(parser: ArgumentParser) -> None:
    _add_records(parser)
    parser.add_argument("--label", default="peerproof", help="text on its left (default peerproof)")


@_command(_declare_badge, "svg", "json")
def _badge(args: Namespace) -> tuple[str, int]:
    """
    Makes a badge with the number of cases that pass: red if any fails, grey if the report is partial.

      peerproof report badge mine.jsonl --output badge.svg        for a README
      peerproof report badge mine.jsonl --json                    for an endpoint of shields.io
    """
    from peerproof.conformance.report.badge import FORMATS, make_badge

    reports = [report for path in args.records for report in load(path)]
    return FORMATS[args.format](make_badge(reports, args.label)), OK


def _declare_edges(parser: ArgumentParser) -> None:
    options.add_protocol(parser, "only this protocol")
    options.add_vectors(parser)


@_command(_declare_edges)
def _edges(args: Namespace) -> tuple[str, int]:
    """
    Prints which edges of the models' state graphs the vectors take, as JSON for report html --edges. It takes minutes.

      peerproof report edges --output edges.json
    """
    from peerproof.conformance.models.edge_coverage import report_edges

    suite = options.suite(args)
    with Ticker() as ticker:
        found = report_edges(suite, args.protocol, lambda name: ticker(f"{name}: exploring its graphs"))
    return json.dumps(found, indent=1) + "\n", OK
