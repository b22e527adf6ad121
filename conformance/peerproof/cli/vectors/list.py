"""
Lists vectors: id, level, clauses and title.

  peerproof vectors list                                  all of them
  peerproof vectors list swim                             those of a protocol
  peerproof vectors list -k clause:BA-07                  those that a clause needs
  peerproof vectors list -k 'layer:codec !flag:hostile'   all words must match; ! negates one
  peerproof vectors list -k 'flag:bd-0* level:must'       * matches any characters
  peerproof vectors list --format decisions               of each layer, the share that rests on decisions alone
  peerproof vectors list --json                           for programs

A word is a clause in any case, a whole id, a part of an id, or KEY:VALUE with a key of id, protocol, layer, level, clause, flag,
need, file; `a,b` means either. A word that matches no vector is an error.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Final

from peerproof.cli import options
from peerproof.cli.exits import NOTHING, OK
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.vectors.selection import decision_shares, select_vectors, vector_row

EXITS: Final = {OK: "vectors are listed", NOTHING: "no vector is selected"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    options.add_selection(parser)
    options.add_vectors(parser)
    options.add_format(parser, ("text", "ids", "decisions", "json"))


def run(args: Namespace) -> int:
    """Prints the selected vectors. Returns 4 if there are none."""
    suite = options.suite(args)
    vectors = options.select(select_vectors, args, suite)
    options.note_models(args, vectors)
    if args.format == "json":
        print(json.dumps([vector_row(suite, vector) for vector in vectors], indent=2, ensure_ascii=False))
    elif args.format == "decisions":
        for row in decision_shares(vectors):
            print("".join([f"{row[0]:12}", *(f"{cell:>10}" for cell in row[1:])]).rstrip())
    elif args.format == "ids":
        print("".join(f"{vector.id}\n" for vector in vectors), end="")
    else:
        width = max((len(vector.id) for vector in vectors), default=0)
        for vector in vectors:
            print(f"{vector.id:{width}}  {vector.level:6}  {' '.join(vector.clauses)}  {vector.title}")
        every = count_text(sum(args.protocol in (None, vector.protocol) for vector in suite.vectors), "vector")
        print(f"{len(vectors):,} of {every}{f' of {args.protocol}' if args.protocol else ''}, {suite.version}")
    return OK if vectors else NOTHING
