"""
Runs a seeded cluster in virtual time: reference nodes on a network with faults.

  peerproof node simulate scuttlebutt --nodes 5 --rounds 50 --loss 0.1 --seed 7 --check
  peerproof node simulate swim --nodes 8 --rounds 60 --loss 0.05 --crash 3@20 --check
  peerproof node simulate wendy --nodes 20 --rounds 80 --updates 50 --crash 3@60 --check
  peerproof node simulate swim --divergence 2@SD-05 --trace one-is-wrong.jsonl      and peerproof trace check finds which

The same options give the same run, bit for bit. `peerproof node simulate PROTOCOL --help` describes the simulation of a protocol:
what its nodes do, the report, and the options.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import count, refuse, trace_file
from peerproof.cli.console import warn
from peerproof.cli.exits import FAILED, OK
from peerproof.cli.node.descriptions import describe_simulation
from peerproof.cli.parser import add_common

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerproof.reference.runtime.protocol import Runtime
    from peerproof.reference.simulation.plan import Campaign

#: Bytes of a trace that are buffered before they are written.
BUFFER = 2**16

#: Characters of a trace above which it is mentioned.
LARGE: Final = 100_000_000


EXITS: Final = {OK: "no property violated", FAILED: "a property violated with --check, or the trace could not be written"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    from peerproof.reference.node.configuration import protocol_commands

    for protocol, command in protocol_commands(parser, "a cluster", describe_simulation):
        add_common(command)
        _add_options(command, protocol)
        if protocol.subscribes:
            _add_topics(command)


def _add_options(command: ArgumentParser, protocol: Runtime) -> None:
    add, datagram = command.add_argument, "message" if protocol.is_connected else "datagram"
    routed = "events that each node publishes" if protocol.subscribes else "messages that each node routes"

    def of_datagrams(about: str) -> str:
        """Hides an option that is refused over connections, or has no effect there."""
        return SUPPRESS if protocol.is_connected else about

    add("--nodes", type=count, default=5, metavar="N", help="number of nodes (default 5)")
    add("--rounds", type=count, default=50, metavar="N", help="rounds of each node (default 50)")
    add("--seed", default="0", metavar="SEED", help="random seed (default 0)")
    about = f"{routed if protocol.is_connected else 'pairs that each node sets'} (default 5)"
    add("--updates", type=count, default=5, metavar="N", help=about)
    add("--keys", type=count, default=3, metavar="N", help=of_datagrams("different keys of all nodes (default 3)"))
    about = "probability that a datagram is lost, 0 to 1 (default 0)"
    add("--loss", type=float, default=0.0, metavar="P", help=of_datagrams(about))
    add("--duplication", type=float, default=0.0, metavar="P", help=of_datagrams("probability that it arrives twice"))
    about = f"probability that a {datagram} is delayed for up to a second"
    add("--reordering", type=float, default=0.0, metavar="P", help=about)
    add("--delay", type=_span, default=(1, 10), metavar="MS-MS", help=f"latency of a {datagram} (default 1-10)")
    about = "partition the cluster from one round to another: the first half of the nodes, rounded down, from the others"
    add("--partition", type=_span, metavar="ROUND-ROUND", help=about)
    add("--crash", type=_moment, action="append", default=[], metavar="NODE@ROUND", help="crash a node (repeatable)")
    about = "restart a node that has crashed, or one that runs, which crashes at this moment (repeatable)"
    add("--restart", type=_moment, action="append", default=[], metavar="NODE@ROUND", help=about)
    add(
        "--divergence",
        type=_divergence,
        action="append",
        default=[],
        metavar="NODE@ID",
        help="let a node do what a real implementation does wrong (repeatable); a wrong codec "
        "changes nothing here, because nodes exchange messages and not bytes",
    )
    add("--apart", type=int, default=0, metavar="N", help="rounds from one start to the next (default 0: all in the first round)")
    add(
        "--churn", type=float, default=0.0, metavar="P", help="probability, in each round of the second half, that a node crashes"
    )
    add("--trace", metavar="FILE", help="write every step to this file as a JSON line; an existing file is overwritten")
    add(
        "--check",
        type=count,
        nargs="?",
        const=1,
        metavar="N",
        help="check properties; those of the whole cluster every N steps (default 1)",
    )
    printed = command.add_mutually_exclusive_group()
    about = "print a line when what a node knows has changed: the time, the node, what has changed, and the event"
    printed.add_argument("--watch", action="store_true", help=about)
    printed.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_topics(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--topics", type=count, default=4, metavar="N", help="topics of the cluster (default 4)")
    add("--subscriptions", type=int, default=2, metavar="N", help="topics that each node subscribes to (default 2)")


def run(args: Namespace) -> int:
    """Runs a simulation and prints the result."""
    import json

    from peerproof.conformance.adapter.adapter import AdapterUnavailable
    from peerproof.reference.simulation import campaign

    with refuse(ValueError, AdapterUnavailable):
        plan = _campaign(args)
    with trace_file(args.trace, BUFFER) as trace:
        result = campaign.run(plan, _watch_size(trace.write, args.trace) if trace else None, watch=print if args.watch else None)
    print(json.dumps(result.plain()) if args.json else result.text())
    return FAILED if result.violations or (trace and trace.failed) else OK


def _watch_size(write: Callable[[str], None], path: str) -> Callable[[str], None]:
    """Returns `write`, which warns once when the trace becomes large."""
    size = 0

    def write_and_count(line: str) -> None:
        nonlocal size
        write(line)
        before, size = size, size + len(line)
        if before <= LARGE < size:
            warn(f"the trace {path} grows beyond {LARGE // 1_000_000} MB; fewer --nodes, --rounds or --updates make it smaller")

    return write_and_count


def _campaign(args: Namespace) -> Campaign:
    from peerproof.conformance.adapter.implementation import find_divergence
    from peerproof.reference.node.configuration import plain_of
    from peerproof.reference.protocols.registry import RUNTIMES
    from peerproof.reference.simulation.faulty_network import Faults
    from peerproof.reference.simulation.plan import Campaign
    from peerproof.spec.core import Duration

    protocol = RUNTIMES[args.protocol]
    of_topics = {"topics": args.topics, "subscriptions": args.subscriptions} if protocol.subscribes else {}
    return Campaign(
        protocol=protocol,
        config=plain_of(args, protocol),
        nodes=args.nodes,
        rounds=args.rounds,
        seed=args.seed,
        updates=args.updates,
        keys=args.keys,
        faults=Faults(args.loss, args.duplication, args.reordering, Duration(args.delay[0]), Duration(args.delay[1])),
        partition=args.partition,
        crashes=tuple(args.crash),
        restarts=tuple(args.restart),
        apart=args.apart,
        churn=args.churn,
        check_every=args.check,
        variants={node: find_divergence(name, args.protocol)().overridden_specification() for node, name in args.divergence},
        **of_topics,
    )


def _span(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not (dash and text.isascii() and first.isdigit() and last.isdigit()):
        raise ArgumentTypeError(f"{text!r}: expected two numbers, as in 10-30")
    if int(first) > int(last):
        raise ArgumentTypeError(f"{text!r}: the second number must not be less than the first")
    return int(first), int(last)


def _moment(text: str) -> tuple[int, int]:
    node, at, instant = text.partition("@")
    if not (at and text.isascii() and node.isdigit() and instant.isdigit()):
        raise ArgumentTypeError(f"{text!r}: expected the number of a node and of a round, as in 2@10")
    return int(node), int(instant)


def _divergence(text: str) -> tuple[int, str]:
    node, at, name = text.partition("@")
    if not (at and text.isascii() and node.isdigit()):
        raise ArgumentTypeError(f"{text!r}: expected the number of a node and a divergence, as in 2@SD-05")
    return int(node), name
