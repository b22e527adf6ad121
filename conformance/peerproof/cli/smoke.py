"""
Checks an adapter before its implementation: framing, ordering, batches, unknown ops, large lines, panics, isolation,
questions of chance, events, clock.

  peerproof smoke --impl './my-adapter'        a line for each check; a line that fails says what to do
  peerproof smoke                              the reference's own adapter

Make these pass first: what an adapter does wrong looks like a mistake of the implementation in every vector.
The line `questions` says at which sites the adapter asked the runner to choose, or that it asked nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.cli.implementation import add_implementation, make_reach, refuse_unavailable

WORDS = {True: "ok", False: "FAIL", None: "-"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_implementation(parser)
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints how each check came out. 1 if one failed, 3 if the adapter cannot even be started."""
    from peerproof.conformance.authoring.adapter_check import check_adapter

    suite = options.suite(args)
    failed = 0
    with refuse_unavailable():
        adapter = make_reach(args, suite.version)()
        try:
            for name, fine, detail in check_adapter(adapter, suite):
                print(f"{WORDS[fine]:4} {name:10} {detail}", flush=True)
                failed += fine is False
        finally:
            adapter.stop()
    return int(failed > 0)
