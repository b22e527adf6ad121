"""
Writes one HTML page about a folder's batches: verdicts, first divergences, rejected inputs, figures, and their origin.

  peerproof pipeline report --in out                       writes out/report.html
  peerproof pipeline report --in out --output report.html

The page is self-contained: it needs no network and no other file.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from peerproof.cli.command import refuse
from peerproof.cli.exits import NOTHING, OK, UNUSABLE
from peerproof.cli.options import add_format
from peerproof.cli.pipeline.options import CANNOT_RUN, add_in, stage

EXITS: Final = {
    OK: "the page is written, whatever its verdict",
    UNUSABLE: CANNOT_RUN,
    NOTHING: "nothing to report in the folder",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_in(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the page (default: report.html in the folder)")
    add_format(parser)


@stage
def run(args: Namespace) -> int:
    """Writes the page."""
    from peerproof.pipeline.report.report_data import NothingToReport
    from peerproof.pipeline.report.report_page import write

    with refuse(NothingToReport, code=NOTHING):
        path, found = write(args.place, args.output)
    shown = {"report": str(path), "verdict": found.verdict, "runs": found.runs, "events": found.events}
    print(json.dumps(shown) if args.format == "json" else f"{found.shown_verdict}; the report: {path}")
    return OK
