"""
Proves statements about a protocol with Z3, by running the specification's own code on symbols instead of values.

  peerproof model prove                        every proof of every protocol
  peerproof model prove scuttlebutt            those of one
  peerproof model prove scuttlebutt --any      what holds for any number of nodes, losses, repetitions and orders
  peerproof model prove -k BZ-03               those of one item; other words are searched for in the names
  peerproof model prove --list                 list them, with their statements and code
  peerproof model prove swim --any -k SZ-13 -v with the counterexample of each twin, run by the specification
  peerproof model prove swim --any --save F    write these counterexamples to F; peerproof model explore F shows them
  peerproof model prove --json                 for programs

A statement is proved for every path through the code and every value, or has a counterexample, or the solver gives up, which
counts as a failure. Each statement has a deliberately wrong twin that must be refuted: if the twin is proved too, the proof is
worthless.

With --verbose and --save, what refutes a statement or a twin about any cluster is turned into values: the state of a node, and an
event or a call. The specification's code is run on them, and the claim is judged again on what it returns. If the claim holds
there, the counterexample is reported as not confirmed.

Needs Z3: pip install 'peerproof[prove]'.
"""

from __future__ import annotations

import json
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli.command import positive_seconds, refuse
from peerproof.cli.exits import FAILED, NOTHING, OK, Refusal
from peerproof.cli.options import add_format, add_protocol, add_select, check_protocol
from peerproof.conformance.suite import output
from peerproof.conformance.suite.printable import count_text

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
    add("-v", "--verbose", action="count", default=0, help="print the counterexample of each twin, with values")
    add("--save", metavar="FILE", type=Path, help="write the counterexamples with values, for peerproof model explore FILE")
    add_format(parser)


def run(args: Namespace) -> int:
    """Prints a line for each proof, and a summary."""
    from peerproof.conformance.proofs.proof import ANY_CLUSTER, ProverMissing, plain_proof, prove, proven_protocols, select_proofs

    if args.save and (why_not := output.unwritable(args.save)):
        raise Refusal(f"the file cannot be written: {why_not}")
    known = proven_protocols()
    check_protocol(args.protocol, known, "proofs")
    with refuse(ProverMissing):
        chosen = select_proofs(args.protocol, args.select, ANY_CLUSTER if args.any else "")
    if not chosen:
        about = ["is about clusters of any number of nodes"] if args.any else []
        named = [f"has {args.select!r} in its name"] if args.select else []
        raise Refusal(f"no proof {' and '.join(about + named)}", NOTHING, tip=_tip(args))
    as_json = args.format == "json"
    if args.list:
        print(_as_json([plain_proof(*one) for one in chosen]) if as_json else "\n".join(_render_proof(p) for _, p in chosen))
        return OK
    width = max(len(proof.name) for _, proof in chosen)
    results = []
    replays: list[dict[str, Any]] = []
    for protocol, proof in chosen:
        found = prove(proof, args.seconds)
        results.append((protocol, found.without_values()))
        here = _replayed(protocol, found, args.seconds) if args.verbose or args.save else {}
        replays.append(here)
        if not as_json:
            print(_line(found, width, here, verbose=bool(args.verbose)), flush=True)
    rows = [_with_replays(plain_proof(name, p.proof, p), here) for (name, p), here in zip(results, replays, strict=True)]
    print(_as_json(rows) if as_json else _sum(results))
    if args.save:
        _save(args.save, [one for here in replays for one in here.values() if one["steps"]], quiet=as_json)
    return OK if all(found.as_expected for _, found in results) else FAILED


def _tip(args: Namespace) -> str:
    """Returns where there are proofs of these words, if no proof is selected."""
    from peerproof.conformance.proofs.proof import select_proofs

    elsewhere = dict.fromkeys(name for name, _ in select_proofs(None, args.select) if args.select)
    if args.protocol in elsewhere:
        return "those of this name are about other clusters: leave out --any"
    if not elsewhere:
        return "peerproof model prove --list shows them"
    has = f"{' and '.join(elsewhere)} {'has' if len(elsewhere) == 1 else 'have'} such proofs"
    return f"{has}: peerproof model prove {next(iter(elsewhere))} -k {shlex.quote(args.select)}"


def _replayed(protocol: str, found: Proved, seconds: float) -> dict[str, Any]:
    """
    Returns the counterexamples of a statement ("statement") and of its twin ("twin") with values.

    Those about any cluster that have none say why.
    """
    from peerproof.conformance.proofs.counterexample import plain_counterexample
    from peerproof.conformance.proofs.proof import ANY_CLUSTER
    from peerproof.conformance.proofs.replay import replay_outcome

    replays = {}
    for name, outcome in (("statement", found.outcome), ("twin", found.twin)):
        is_twin = name == "twin"
        replayed = replay_outcome(protocol, found.proof, outcome, seconds, twin=is_twin)
        if replayed is not None and (replayed.taken or found.proof.scope == ANY_CLUSTER):
            replays[name] = plain_counterexample(protocol, found.proof, replayed, twin=is_twin)
    return replays


def _with_replays(row: dict[str, Any], replays: dict[str, Any]) -> dict[str, Any]:
    if "statement" in replays:
        row["counterexample"] = replays["statement"]
    if "twin" in replays:
        row["twin"]["counterexample"] = replays["twin"]
    return row


def _save(path: Path, found: list[dict[str, Any]], *, quiet: bool) -> None:
    """Writes a file with counterexamples. Raises Refusal if there are none."""
    from peerproof.conformance.proofs.counterexample import file_of

    if not found:
        raise Refusal("no counterexample has values, so nothing is saved", NOTHING, tip="--any selects proofs that have them")
    with refuse(output.CannotWrite, prefix="the file cannot be written: "):
        output.write_whole(path, json.dumps(file_of(found), indent=2, ensure_ascii=False) + "\n")
    if not quiet:
        print(f"{path}: {count_text(len(found), 'counterexample')}; peerproof model explore {path}")


def _render_proof(proof: Proof) -> str:
    return f"{proof.item}  {proof.name}\n    {proof.about}\n    {proof.by}\n    twin: {proof.twin.about}"


def _line(found: Proved, width: int, replays: dict[str, Any], *, verbose: bool) -> str:
    proof, outcome, twin = found.proof, found.outcome, found.twin
    twins = "twin refuted" if twin.verdict == "refuted" else f"TWIN NOT REFUTED ({twin.verdict})"
    verdict = outcome.verdict if outcome.verdict == "proved" else outcome.verdict.upper()
    lines = [f"{proof.item}  {proof.name:{width}}  {verdict:7}  {twins}  {found.seconds:.2f} CPU-s"]
    if outcome.detail:
        lines.append(f"    {outcome.detail}")
    if verbose and "statement" in replays:
        lines += _words(replays["statement"])
    if twin.verdict != "refuted" or verbose:
        lines.append(f"    twin: {proof.twin.about}{': ' if twin.detail else ''}{twin.detail}")
    if verbose and "twin" in replays:
        lines += _words(replays["twin"])
    return "\n".join(lines)


def _words(replay: dict[str, Any]) -> list[str]:
    from peerproof.conformance.explorer.proof_run import words_of_counterexample

    return [f"      {line}" for line in words_of_counterexample(replay)]


def _sum(results: list[tuple[str, Proved]]) -> str:
    counts = {verdict: sum(p.outcome.verdict == verdict for _, p in results) for verdict in ("proved", "refuted", "unknown")}
    refuted = sum(found.twin.verdict == "refuted" for _, found in results)
    seconds = sum(found.seconds for _, found in results)
    totals = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{count_text(len(results), 'proof')}: {totals}; {count_text(refuted, 'twin')} refuted; {seconds:.2f} CPU-s"


def _as_json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=2, ensure_ascii=False)
