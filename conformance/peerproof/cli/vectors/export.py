"""
Exports the vectors as JSON bundles, for a runner in your language that needs no Python.

  peerproof vectors export --output bundles                all protocols, a file for each
  peerproof vectors export --output testdata scuttlebutt   one protocol
  peerproof vectors export --output internal/vectors scuttlebutt --runner go
                                                           the same, and the source of the runner in Go

Commit both, and call the runner in your tests: the page "Run the vectors without Python" shows how, and the page "Bundles of
vectors" describes every member of a bundle. It has the cases of `peerproof run` with the same ids, and a digest of its content.
`peerproof vectors diff` shows what changed between two exports.
"""

from __future__ import annotations

import gzip
from argparse import ArgumentParser, Namespace
from pathlib import Path

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK
from peerproof.conformance.bundles import bundle_file
from peerproof.conformance.bundles.bundle import expanded_vectors
from peerproof.conformance.bundles.scripts import CannotExport
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.suite.output import CannotWrite


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    options.add_protocol(parser, "only the vectors of this protocol")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help="folder to write to; it is made if needed"
    )
    add = parser.add_argument
    add("--runner", choices=tuple(bundle_file.RUNNERS), help="write the source files of this native runner to the folder as well")
    add("--gzip", action="store_true", help="compress the bundles: PROTOCOL.json.gz; the native runners read them as well")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Writes the bundles, and prints a line for each."""
    suite = options.suite(args)
    protocols = [args.protocol] if args.protocol else sorted({vector.protocol for vector in suite.vectors})
    with refuse(CannotExport, CannotWrite, OSError):
        paths = bundle_file.export_bundles(suite, args.output, protocols, compress=args.gzip)
        sources = bundle_file.export_runner(args.runner, args.output) if args.runner else []
    sizes = []
    for path in paths:
        data = path.read_bytes()
        vectors = list(expanded_vectors(bundle_file.load_bundle(path)))
        count = sum(len(vector["cases"]) for vector in vectors)
        sizes.append(len(data) if args.gzip else len(gzip.compress(data)))
        plain = "" if args.gzip else f"{_size(len(data))}, "
        print(f"{path_text(path)}: {count:,} cases, {len(vectors):,} vectors, {plain}gzip {_size(sizes[-1])}")
    if len(sizes) > 1:
        print(f"{len(sizes)} bundles: gzip {_size(sum(sizes))}")
    if sources:
        print(f"{path_text(args.output)}: {len(sources)} source files of the runner in {args.runner}")
    return OK


def _size(count: int) -> str:
    return f"{count / 1e6:.2f} MB"
