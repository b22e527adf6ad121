"""
Makes something of the reports of record, which `peerproof run --record FILE` writes.

  peerproof report html mine.jsonl theirs.jsonl --output page.html     one page, implementations side by side
  peerproof report convert mine.jsonl --format junit                   the other forms of a run: text, json, junit, md, github
  peerproof report groups mine.jsonl                                   failures by first difference, the largest group first
  peerproof report matrix mine.jsonl theirs.jsonl                      clauses by implementation, for a terminal or a README
  peerproof report merge 1.jsonl 2.jsonl --output all.jsonl            shards of one run, or several implementations
  peerproof report diff old.jsonl new.jsonl                            what fails newly, or passes; if worse: exit 1
  peerproof report badge mine.jsonl --output badge.svg                 for a README; --format json is for shields.io
  peerproof report edges --output edges.json                           what vectors take of the models' graphs (html --edges)

A record that was cut off is partial, and everything that is made of it says so. A record that is garbled is refused, with its
line. The page shows the mutation score if --mutants brings it, which `peerproof mutants --format json` prints.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import FAILED, INTERRUPTED, OK, Refusal
from peerproof.conformance.report.record import NoReport, as_json_lines, load, load_one
from peerproof.conformance.suite import output


def configure(parser: ArgumentParser) -> None:
    """Declares what can be made, each with its options."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)

    def kind(name: str, about: str) -> ArgumentParser:
        made: ArgumentParser = kinds.add_parser(name, help=about, description=about, epilog=parser.epilog)
        made.formatter_class = parser.formatter_class
        made.add_argument("--output", metavar="FILE", type=Path, help="where it goes, if not to standard output")
        return made

    html = kind("html", "One page that needs no network: matrix, filter, a picture of each failure.")
    _add_records(html)
    html.add_argument("--mutants", metavar="FILE", type=Path, help="what peerproof mutants --format json has printed")
    html.add_argument("--edges", metavar="FILE", type=Path, help="what peerproof report edges has written")
    options.add_vectors(html)
    convert = kind("convert", "The report in another form, as peerproof run --format writes it.")
    convert.add_argument("records", metavar="RECORD", type=Path, nargs=1, help="what peerproof run --record has written")
    convert.add_argument("--format", choices=("text", "json", "jsonl", "junit", "md", "github"), default="text")
    groups = kind("groups", "The failures by their first difference, the largest group first, each with the case to start with.")
    _add_records(groups)
    groups.add_argument("--format", choices=("text", "md", "json"), default="text")
    matrix = kind("matrix", "How many clauses each implementation holds, and which some do not.")
    _add_records(matrix)
    matrix.add_argument("--every", action="store_true", help="all clauses, also those that everybody holds")
    matrix.add_argument("--format", choices=("text", "md", "json"), default="text")
    merge = kind("merge", "One record of several: shards of one run, or several implementations. What conflicts is an error.")
    _add_records(merge)
    diff = kind("diff", "What is different from one record to another. Anything worse: exit 1.")
    diff.add_argument("old", metavar="OLD", type=Path)
    diff.add_argument("new", metavar="NEW", type=Path)
    diff.add_argument("--format", choices=("text", "json", "md"), default="text")
    options.add_vectors(diff)
    badge = kind("badge", "A badge that says how many cases pass; red if any fails, grey if the report is partial.")
    _add_records(badge)
    badge.add_argument("--format", choices=("svg", "json"), default="svg", help="json is for an endpoint of shields.io")
    badge.add_argument("--label", default="peerproof", help="what stands on its left (default: peerproof)")
    edges = kind("edges", "Which edges of the models' state graphs the vectors take, as JSON. It takes minutes.")
    edges.add_argument("--protocol", metavar="NAME", help="only this protocol")
    options.add_vectors(edges)


def _add_records(parser: ArgumentParser) -> None:
    parser.add_argument("records", metavar="RECORD", type=Path, nargs="+", help="what peerproof run --record has written")


def run(args: Namespace) -> int:
    """Makes it. 1 only if a comparison finds something worse."""
    if args.output and (why_not := output.unwritable(args.output)):
        raise Refusal(f"peerproof: cannot write there: {why_not}")
    with refuse(NoReport):
        made, code = _KINDS[args.kind](args)
    try:
        output.write_whole(args.output, made)
    except output.CannotWrite as error:
        print(f"peerproof: it cannot be written: {error}", file=sys.stderr)
        return INTERRUPTED
    return code


def _html(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.html.page import BadExtra, load_edges, load_scores, render_page

    reports = [report for path in args.records for report in load(path)]
    suite = options.suite(args, next((protocol for report in reports if (protocol := report.arguments.get("protocol"))), None))
    with refuse(BadExtra):
        scores, edges = args.mutants and load_scores(args.mutants), args.edges and load_edges(args.edges)
    return render_page(reports, suite, scores, edges), OK


def _convert(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.renderings import FORMATS

    report = load_one(args.records[0])
    return FORMATS[args.format](report, {result.vector: result.title for result in report.results}), OK


def _groups(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.failure_groups import FORMATS

    return FORMATS[args.format]([report for path in args.records for report in load(path)]), OK


def _matrix(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.clause_matrix import FORMATS, clause_matrices

    reports = [report for path in args.records for report in load(path)]
    return FORMATS[args.format](clause_matrices(reports), every=args.every), OK


def _merge(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.merge import Conflict, Source, merge_reports

    sources = [Source(str(path), report) for path in args.records for report in load(path)]
    with refuse(Conflict):
        return "".join(map(as_json_lines, merge_reports(sources))), OK


def _diff(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.diff import FORMATS, compare_reports

    (old, new), suite = (load_one(path) for path in (args.old, args.new)), options.suite(args)
    diff = compare_reports(old, new, suite.aliases)
    return FORMATS[args.format](diff), FAILED if diff.worse else OK


def _badge(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.report.badge import FORMATS, make_badge

    reports = [report for path in args.records for report in load(path)]
    return FORMATS[args.format](make_badge(reports, args.label)), OK


def _edges(args: Namespace) -> tuple[str, int]:
    from peerproof.conformance.models.edge_coverage import report_edges

    suite = options.suite(args)
    begin = (lambda name: print(f"{name}: walking its graphs", file=sys.stderr)) if sys.stderr.isatty() else (lambda _: None)
    try:
        return json.dumps(report_edges(suite, args.protocol, begin), indent=1) + "\n", OK
    except KeyError:
        protocols = ", ".join(sorted({vector.protocol for vector in suite.vectors}))
        raise Refusal(f"peerproof: no protocol {args.protocol!r}; there are {protocols}") from None


_KINDS: Final = {
    "html": _html,
    "convert": _convert,
    "groups": _groups,
    "matrix": _matrix,
    "merge": _merge,
    "diff": _diff,
    "badge": _badge,
    "edges": _edges,
}
