"""`peerproof fuzz --promote`: a finding of the fuzzer, written as a vector if it is one."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from peerproof.cli import options
from peerproof.cli.implementation import patience
from peerproof.conformance.authoring import vector_promotion
from peerproof.conformance.fuzz.findings import NotPromoted


def check_place(args: Namespace, layer: str) -> None:
    """Ends the command if there can be no vector at `--promote`, before anything is run."""
    try:
        vector_promotion.check_place(args.promote, args.protocol, layer)
    except vector_promotion.BadPlace as error:
        raise options.refusal(f"peerproof: --promote {error}") from None


def promote(args: Namespace, make: Callable[[], Mapping[str, Any]]) -> None:
    """Writes the vector that is made, and prints the command that runs it."""
    try:
        vector_promotion.promote_finding(args.promote, args.protocol, make, args.impl, patience(args))
    except NotPromoted as why:
        print(f"peerproof: no vector is written: {why}", file=sys.stderr)
    except vector_promotion.NotWritten as error:
        print(f"peerproof: --promote {error}; the vector:\n{error.text}", file=sys.stderr)
    else:
        root = shlex.quote(str(args.promote.parent.parent.parent))
        if args.impl is None:
            print(f"  kept:  {args.promote}, which the specification does not pass yet")
            print(f"         peerproof lint --vectors {root}")
            return
        print(f"  kept:  {args.promote}, which it fails and the reference passes")
        print(f"         peerproof run --vectors {root} --impl {shlex.quote(args.impl)}")
