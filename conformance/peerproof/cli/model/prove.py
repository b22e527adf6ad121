"""
Proves statements about a protocol with Z3, by running the specification's own code on symbols instead of values.

  peerproof model prove                        every proof of every protocol
  peerproof model prove scuttlebutt            those of one
  peerproof model prove scuttlebutt --any      what holds for any number of nodes, losses, repetitions and orders
  peerproof model prove -k BZ-03               those of one item; other words are searched for in the names
  peerproof model prove --list                 list them, with their statements and code
  peerproof model prove --verbose              with the counterexample of each twin
  peerproof model prove --json                 for programs

A statement is proved for every path through the code and every value, or has a counterexample, or the solver gives up, which
counts as a failure. Each statement has a deliberately wrong twin that must be refuted: if the twin is proved too, the proof is
worthless.

Needs Z3: pip install 'peerproof[prove]'.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli.command import positive_seconds, refuse
from peerproof.cli.exits import FAILED, NOTHING, OK, Refusal
from peerproof.cli.options import add_format, add_protocol, add_select, check_protocol

if TYPE_CHECKING:
    from peerproof.conformance.proofs.proof import Proof, Proved

MOST_SECONDS = 60.0


EXITS: Final = {OK: "all proved and all twins refuted", FAILED: "anything else", NOTHING: "no proof selected"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add_protocol(parser, "only the proofs of this protocol")
    add_select(parser, "only proofs with all of these words in item or name")
    add("--any", action="store_true", help="only what holds in clusters of any number of nodes")
    add("--list", action="store_true", help="list the proofs")
    add(
        "--seconds",
        type=positive_seconds,
        default=MOST_SECONDS,
        metavar="N",
        help="give up on a statement after N seconds (default %(default)g)",
    )
    add("-v", "--verbose", action="count", default=0, help="print the counterexample of each twin")
    add_format(parser)


def run(args: Namespace) -> int:
    """Prints a line for each proof, and a summary."""
    from peerproof.conformance.proofs.proof import ANY_CLUSTER, ProverMissing, plain_proof, prove, proven_protocols, select_proofs

    known = proven_protocols()
    check_protocol(args.protocol, known, "proofs")
    with refuse(ProverMissing):
        chosen = select_proofs(args.protocol, args.select, ANY_CLUSTER if args.any else "")
    if not chosen:
        what = f"has {args.select!r} in its name" if args.select else "is about clusters of any number of nodes"
        raise Refusal(f"no proof {what}", NOTHING, tip="peerproof model prove --list shows them")
    as_json = args.format == "json"
    if args.list:
        print(_as_json([plain_proof(*one) for one in chosen]) if as_json else "\n".join(_render_proof(p) for _, p in chosen))
        return OK
    width = max(len(proof.name) for _, proof in chosen)
    results = []
    for protocol, proof in chosen:
        found = prove(proof, args.seconds)
        results.append((protocol, found))
        if not as_json:
            print(_line(found, width, verbose=bool(args.verbose)), flush=True)
    print(_as_json([plain_proof(name, p.proof, p) for name, p in results]) if as_json else _sum(results))
    return OK if all(found.as_expected for _, found in results) else FAILED


def _render_proof(proof: Proof) -> str:
    return f"{proof.item}  {proof.name}\n    {proof.about}\n    {proof.by}\n    twin: {proof.twin.about}"


def _line(found: Proved, width: int, *, verbose: bool) -> str:
    proof, outcome, twin = found.proof, found.outcome, found.twin
    twins = "twin refuted" if twin.verdict == "refuted" else f"TWIN NOT REFUTED ({twin.verdict})"
    verdict = outcome.verdict if outcome.verdict == "proved" else outcome.verdict.upper()
    lines = [f"{proof.item}  {proof.name:{width}}  {verdict:7}  {twins}  {found.seconds:.2f} CPU-s"]
    if outcome.detail:
        lines.append(f"    {outcome.detail}")
    if twin.verdict != "refuted" or verbose:
        lines.append(f"    twin: {proof.twin.about}{': ' if twin.detail else ''}{twin.detail}")
    return "\n".join(lines)


def _sum(results: list[tuple[str, Proved]]) -> str:
    counts = {verdict: sum(p.outcome.verdict == verdict for _, p in results) for verdict in ("proved", "refuted", "unknown")}
    refuted = sum(found.twin.verdict == "refuted" for _, found in results)
    seconds = sum(found.seconds for _, found in results)
    totals = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{len(results)} {'proof' if len(results) == 1 else 'proofs'}: {totals}; {refuted} twins refuted; {seconds:.2f} CPU-s"


def _as_json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=2, ensure_ascii=False)
