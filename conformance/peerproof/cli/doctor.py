"""
Checks this machine: what is installed, what it is needed for, and how to install what is missing. With --impl: an adapter.

  peerproof doctor                             Python, Java, TLC, Serf and the extras
  peerproof doctor --impl './my-adapter'       an adapter: framing, order, batches, unknown ops, long lines, bad requests,
                                               isolation, random choices, events, clock

Make an adapter pass before you run vectors: a fault of an adapter looks like a fault of the implementation in every vector. A
check that fails says what to do. The line `questions` lists where the adapter asked the runner to choose, or that it did not
ask.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Any, Final

from peerproof.cli import options
from peerproof.cli.exits import FAILED, OK, UNUSABLE
from peerproof.cli.implementation import add_implementation, make_reach, refuse_unavailable

WORDS: Final = {True: "ok", False: "FAIL", None: "-"}
EXITS: Final = {OK: "no check failed", FAILED: "a check failed", UNUSABLE: "the adapter cannot be started"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_implementation(parser, "none: check this machine")
    options.add_vectors(parser)
    options.add_format(parser)


def run(args: Namespace) -> int:
    """Prints the result of each check."""
    is_text = args.format != "json"
    rows = list(_print_rows(_check_adapter(args) if args.impl else _check_machine(), is_text=is_text, is_quiet=args.quiet))
    if not is_text:
        print(json.dumps([dict(zip(("name", "ok", "detail"), row, strict=True)) for row in rows], indent=1))
    elif args.quiet:
        print(f"{sum(fine is True for _, fine, _ in rows)} of {len(rows)} ok")
    return FAILED if any(fine is False for _, fine, _ in rows) else OK


def _print_rows(
    rows: Iterable[tuple[str, bool | None, str]], *, is_text: bool, is_quiet: bool
) -> Iterator[tuple[str, bool | None, str]]:
    for name, fine, detail in rows:
        if is_text and not (is_quiet and fine):
            print(f"{WORDS[fine]:4} {name:10} {detail}", flush=True)
        yield name, fine, detail


def _check_machine() -> Iterator[tuple[str, bool | None, str]]:
    from peerproof.conformance.authoring.environment import check_environment

    return check_environment()


def _check_adapter(args: Namespace) -> Iterator[tuple[str, bool | None, str]]:
    from peerproof.conformance.authoring.adapter_check import check_adapter

    suite: Any = options.suite(args)
    with refuse_unavailable():
        adapter = make_reach(args, suite.version)()
        try:
            yield from check_adapter(adapter, suite)
        finally:
            adapter.stop()
