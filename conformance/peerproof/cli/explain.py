"""
Explains a clause: its text, and what holds it: code, vectors, properties, models, proofs.

  peerproof explain B-14        a clause of the protocol's document
  peerproof explain BA-07       a decision where the document leaves something open
  peerproof explain BD-04       a divergence of the original, with the vectors that show it
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from textwrap import fill, indent

from peerproof.cli import options
from peerproof.conformance import clauses as prose
from peerproof.conformance.model_table import LAYER
from peerproof.conformance.reviewed import stale
from peerproof.conformance.sources import shown
from peerproof.conformance.vectors import Suite, VectorError

WIDTH = 100


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("clause", metavar="CLAUSE", help="such as B-14")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints a clause with everything that cites it."""
    suite = options.suite(args)
    name = args.clause.strip("[]").upper()
    try:
        every = [prose.load(protocol) for protocol in prose.protocols()]
    except VectorError as error:
        raise options.refusal(str(error)) from None
    found = [clauses for clauses in every if name in clauses.items]
    if not found:
        from peerproof.conformance.schema import did_you_mean

        known = [clause for clauses in every for clause in clauses.items]
        raise options.refusal(f"peerproof: no clause {name!r}{did_you_mean(name, known)}; see peerproof coverage")
    print("\n\n".join(explained(clauses, name, suite) for clauses in found))
    return 0


def explained(clauses: prose.Clauses, name: str, suite: Suite) -> str:
    """A clause's text and what cites it."""
    clause = clauses.items[name]
    level = f", {clause.level}" if clause.level else ""
    code = [f"{where.within}  {shown(where.file)}:{where.line}" for where in clauses.code.get(name, ())]
    citing = [
        vector
        for vector in suite.vectors
        if vector.protocol == clauses.protocol and (name in vector.clauses or name.lower() in vector.flags)
    ]
    vectors = [f"{vector.id}  {vector.title}" for vector in citing if vector.layer != LAYER]
    if made := len(citing) - len(vectors):
        edges = Counter(vector.body["model"]["config"] for vector in citing if vector.layer == LAYER)
        vectors.append(f"{made} made from state graphs: peerproof list -k 'layer:{LAYER} clause:{name}'")
        vectors.append(f"  edges of {', '.join(f'{config} ({count})' for config, count in sorted(edges.items()))}")
    beside = [f"{other.id}  {_start(other.text)}" for other in clauses.items.values() if name in prose.cited(other.text)]
    lists = (
        ("code", code),
        ("vectors", vectors),
        ("properties", clauses.properties.get(name, [])),
        ("proofs", clauses.proofs.get(name, [])),
        ("models", clauses.models.get(name, [])),
        ("cited by", beside),
    )
    return "\n".join(
        [
            f"{name} ({clauses.protocol}: {clause.section}{level})  {shown(clauses.file)}:{clause.line}",
            "",
            indent(fill(clause.text, WIDTH - 2), "  "),
            *_stale(clauses, clause),
            *(f"\n{title}\n{indent(chr(10).join(lines), '  ')}" for title, lines in lists if lines),
        ]
    )


def _stale(clauses: prose.Clauses, clause: prose.Clause) -> list[str]:
    """What is to be done about its vectors."""
    if clause.id not in {one.clause.id for one in stale(clauses) if one.clause}:
        return []
    return [f"\nSTALE: it has changed since its vectors were looked at; if they are right: peerproof lint --reviewed {clause.id}"]


def _start(text: str) -> str:
    return text if len(text) <= WIDTH - 20 else f"{text[: WIDTH - 21]}…"
