"""
Runs a reference node on a real socket, or of DistKV through an agent of Serf.

  peerproof node start scuttlebutt --bind 127.0.0.1:8119 --set colour=red
  peerproof node start wendy --bind 127.0.0.1:8119
  peerproof node start distkv --loopback --name n1 --first '"the root"'

`peerproof node start PROTOCOL --help` describes the nodes of a protocol: a small cluster to start, what can be typed at a running
node, and the options.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import refuse, trace_file
from peerproof.cli.console import print_error, warn
from peerproof.cli.exits import FAILED, OK
from peerproof.cli.node.descriptions import PAIRS, describe_start
from peerproof.cli.parser import add_common

if TYPE_CHECKING:
    from peerproof.reference.node.console import Setup
    from peerproof.reference.runtime.protocol import Runtime
    from peerproof.spec.core import NodeId


EXITS: Final = {
    OK: "after Ctrl-C, SIGTERM or quit",
    FAILED: "the trace or the state could not be written",
    2: "the node cannot be started as asked",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    from peerproof.reference.node.configuration import protocol_commands

    for protocol, command in protocol_commands(parser, "a node", describe_start):
        _add_options(command, protocol)
        add_common(command)


def _add_options(command: ArgumentParser, protocol: Runtime) -> None:
    from peerproof.reference.node.configuration import add_texts

    add = command.add_argument
    if protocol.transport == "serf":
        from peerproof.cli.node import store

        store.add_options(command)
        _add_common(command)
        return
    add("--bind", metavar="HOST:PORT", required=True, help="address to listen on; port 0: any free port")
    add("--advertise", metavar="HOST:PORT", help="address that peers use (default: that of --bind)")
    named = "; without UUID@, it has the default uuid of its address" if protocol.names_seeds else ""
    where = "UUID@HOST:PORT" if protocol.names_seeds else "HOST:PORT"
    add("--peer", metavar=where, action="append", default=[], help=f"node to contact first{named} (repeatable)")
    add_texts(command, protocol.texts)
    if protocol.connected:
        command.set_defaults(assignments=[])
    else:
        add(
            "--set",
            metavar="KEY=VALUE",
            type=_assignment,
            action="append",
            default=[],
            dest="assignments",
            help=f"{PAIRS.get(protocol.name, 'a pair of its own')} (repeatable)",
        )
    add("--json", action="store_true", help="print JSON lines instead of tables")
    _add_common(command)


def _add_common(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--trace", metavar="FILE", help="write every step to this file as a JSON line; an existing file is overwritten")
    add("--run", metavar="NAME", help="name of the cluster in the trace, so that its nodes are checked together")
    add("--seed", metavar="SEED", help="random seed (default: another one each time)")
    add("-v", "--verbose", action="count", default=0, help="log events to stderr (-vv: also what is ignored)")


def run(args: Namespace) -> int:
    """Runs the node until it is interrupted."""
    import logging

    from peerproof.reference.protocols.registry import RUNTIMES

    level = {0: logging.WARNING, 1: logging.INFO}.get(args.verbose, logging.DEBUG)
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("asyncio").setLevel(max(level, logging.INFO))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character must not stop the node
    with refuse(ValueError):
        return _run_store(args) if RUNTIMES[args.protocol].transport == "serf" else _run_node(args)


def _run_node(args: Namespace) -> int:
    import asyncio

    from peerproof.reference.node.console import RunningNode
    from peerproof.reference.runtime.udp import is_wildcard

    setup = _setup(args)
    if is_wildcard(setup.advertise or setup.bind):
        warn(
            f"to its peers this node is called {setup.advertise or setup.bind}, which names no machine; every node"
            " bound so has the same name (BD-12); bind to an address that peers can reach, or set it with --advertise"
        )

    async def live() -> None:
        await RunningNode(setup, trace.write if trace else None).run()

    with trace_file(args.trace) as trace:
        asyncio.run(live())
    return FAILED if trace and trace.failed else OK


def _run_store(args: Namespace) -> int:
    from peerproof.cli.node import store

    setup = store.setup(args)
    with trace_file(args.trace) as trace:
        if setup.state is None:
            risk = "a node that starts again under this name may contradict what others have heard from it"
            warn(f"without --state {risk}")
        failure = store.run(setup, trace.write if trace else None)
    if failure:
        print_error(failure)
    return FAILED if failure or (trace and trace.failed) else OK


def _setup(args: Namespace) -> Setup:
    from secrets import token_hex

    from peerproof.reference.node.configuration import plain_of, texts_of
    from peerproof.reference.node.console import Setup
    from peerproof.reference.protocols.registry import RUNTIMES
    from peerproof.reference.runtime.udp import resolve_address

    protocol = RUNTIMES[args.protocol]
    plain = plain_of(args, protocol) | texts_of(args, protocol.texts)
    seeds = [_seed(seed, protocol) for seed in args.peer]
    bind, advertise = resolve_address(args.bind), _reachable(resolve_address(args.advertise)) if args.advertise else None
    protocol.build_config(plain, advertise or bind, seeds)  # check the configuration before a socket is opened
    return Setup(
        protocol=protocol,
        bind=bind,
        advertise=advertise,
        config=lambda self_id: protocol.build_config(plain, self_id, seeds),
        assignments=tuple(args.assignments),
        random_seed=args.seed or token_hex(8),
        as_json=args.json,
        contacts=tuple(seeds) if protocol.connected else (),
        run=args.run,
    )


def _seed(text: str, protocol: Runtime) -> NodeId:
    """Returns a seed with its address resolved."""
    from peerproof.reference.runtime.udp import resolve_address
    from peerproof.spec.core import NodeId

    name, at, address = text.rpartition("@") if protocol.names_seeds else ("", "", text)
    return NodeId(f"{name}{at}{_reachable(resolve_address(address))}")


def _reachable(address: NodeId) -> NodeId:
    from peerproof.spec.connections import parse_endpoint

    parse_endpoint(address)
    return address


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"{text!r}: expected key=value")
    return key, value
