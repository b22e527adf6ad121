"""`peerproof run --transport`: its options and their cases."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from peerproof.cli.command import json_object, positive_seconds, refuse
from peerproof.cli.console import note
from peerproof.cli.exits import UNUSABLE, Refusal
from peerproof.cli.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from peerproof.conformance.adapter.adapter import Adapter
    from peerproof.conformance.runner.trial import Case

TRANSPORTS = ("virtual", "udp", "tcp")
SLACK = 2.0
COMPLETE_HELP = (
    "with --pcap: the capture has every message of its nodes, in the order of sending (taken at the node from its start, and the "
    "kernel dropped none); otherwise what a missing message would explain is undetermined"
)


def add_transports(parser: Options) -> None:
    """Adds `--transport`, `--slack`, `--connect` and `--pcap`, and what goes with them."""
    add = parser.add_argument
    add(
        "--transport",
        metavar="NAMES",
        type=_transports,
        default=("virtual",),
        help="virtual time (default), the implementation's own socket in real time (udp, tcp), or several: virtual,udp",
    )
    add(
        "--slack",
        metavar="SECONDS",
        type=positive_seconds,
        default=SLACK,
        help=f"time limit of an answer over a socket (default {SLACK:g}); raise it on a slow machine",
    )
    add(
        "--connect", metavar="udp://HOST:PORT", help="test a running node, without an adapter; malformed datagrams are sent to it"
    )
    add("--pcap", metavar="FILE", help="check the nodes in a capture (pcap, pcapng) by their messages alone")
    add("--port", metavar="N", type=int, action="append", help="with --pcap: only packets from or to this port (repeatable)")
    add("--complete", action="store_true", help=COMPLETE_HELP)
    what = 'with --pcap: configuration of the nodes, such as {"max_payload": 512}'
    add("--config", metavar="JSON", type=json_object, help=what)


#: The options that apply to `--pcap`, which runs no vectors.
_OF_PCAP = frozenset({"pcap", "protocol", "port", "complete", "config", "decisions", "format", "output"})

#: The options that do not apply to `--connect`, which has no adapter.
_OF_ADAPTERS = ("transport", "dialogue", "hello_timeout", "bye_timeout", "max_restarts", "jobs")


def refuse_unused(args: Namespace, given: AbstractSet[str]) -> None:
    """Raises Refusal for a given option that would have no effect."""
    if args.pcap:
        _refuse(given - _OF_PCAP, "cannot be combined with --pcap, which checks messages and runs no vectors")
        return
    _refuse(given & {"port", "complete", "config"}, "is for --pcap; vectors have their own configuration")
    if args.connect:
        _refuse(given & {"impl"}, "names an adapter, --connect a node without one: give one of them")
        _refuse(given & set(_OF_ADAPTERS), "is for an adapter, and --connect has none")
    elif args.transport == ("virtual",):
        _refuse(given & {"slack"}, "is for real sockets: add --transport udp or tcp, or --connect")


def _refuse(unused: AbstractSet[str], why: str) -> None:
    for name in sorted(unused):
        raise Refusal(f"--{name.replace('_', '-')} {why}")


def apply_transports(args: Namespace, cases: Sequence[Case]) -> list[Case]:
    """Returns the cases for the selected transports."""
    from peerproof.conformance.runner.cases import select_socket_cases

    if args.connect:
        from peerproof.conformance.runner.running_node import adapt_case
        from peerproof.conformance.runner.trial import Over

        return [adapt_case(case, Over("udp", args.slack, _endpoint(args))) for case in cases]
    found = list(cases) if "virtual" in args.transport else []
    for transport in args.transport:
        if transport != "virtual":
            _check_sockets(transport)
            over, vectors = select_socket_cases(cases, transport, args.slack)
            note(f"{len(over)} of {vectors} selected vectors can run over {transport}")
            found += over
    return found


def running(args: Namespace) -> Callable[[], Adapter]:
    """Returns a function that creates the adapter stand-in of `--connect`."""
    from peerproof.conformance.runner.running_node import Running

    return lambda: Running(_endpoint(args), args.protocol, args.slack)


def _check_sockets(transport: str) -> None:
    import socket

    from peerproof.conformance.runner.address_map import host
    from peerproof.conformance.runner.peers import NoSocket, bind_socket

    with refuse(NoSocket, code=UNUSABLE):
        for rank in (0, 1):
            bind_socket(host(rank), socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM).close()


def _endpoint(args: Namespace) -> tuple[str, int]:
    from peerproof.spec.connections import AddressError, parse_endpoint

    if args.protocol is None:
        raise Refusal("--connect needs a protocol", tip=f"peerproof run PROTOCOL --connect {args.connect}")
    scheme, slashes, address = args.connect.partition("://")
    if scheme != "udp" or not slashes:
        raise Refusal(f"--connect {args.connect}: expected udp://HOST:PORT")
    with refuse(AddressError, prefix="--connect: "):
        return parse_endpoint(address)


def _transports(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if wrong := [name for name in names if name not in TRANSPORTS]:
        raise ArgumentTypeError(f"expected some of {', '.join(TRANSPORTS)}, found {wrong[0]!r}")
    return names
