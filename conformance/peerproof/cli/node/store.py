"""`peerproof node start distkv`: a node that broadcasts through a Serf agent or a folder, and has its data on disk."""

from __future__ import annotations

import os
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from peerproof.reference.node.distkv_console import StoreSetup
    from peerproof.spec.distkv import Stored

#: The most bytes of an event with its name; Serf itself needs some of Serf's limit. [DA-12]
EVENT: Final = 512
OWN: Final = 40

#: The environment variable in which Serf's own commands find the key of an agent.
KEY: Final = "SERF_RPC_AUTH"


def add_options(command: ArgumentParser) -> None:
    """Adds the options of a store."""
    bus = command.add_mutually_exclusive_group(required=True)
    bus.add_argument("--serf", metavar="HOST:PORT", help="RPC address of a Serf agent on this machine")
    bus.add_argument(
        "--loopback",
        metavar="FOLDER",
        nargs="?",
        const="",
        help="no Serf: broadcast to nodes of this machine that use the same folder",
    )
    add = command.add_argument
    add("--name", required=True, help="name of this node, 1 to 64 bytes, unique")
    add("--state", metavar="FILE", type=Path, help="file in which the node keeps its data for its next start")
    add("--first", metavar="JSON", help="found a new network if there is none, with this value of the root")
    add("--root-event", metavar="TEXT", default="distkv", help="prefix of event names (default distkv)")
    add(
        "--download",
        metavar="HOST:PORT",
        help="address from which other nodes download its data (default: the agent's host, any free port)",
    )
    add("--rpc-auth", metavar="KEY", help=f"key of the agent (default: environment variable {KEY})")
    add("--json", action="store_true", help=SUPPRESS)


def setup(args: Namespace) -> StoreSetup:
    """Returns the setup of the options. Raises ValueError."""
    import json
    from secrets import token_hex

    from peerproof.reference.node.distkv_console import StoreSetup
    from peerproof.reference.protocols.registry import RUNTIMES
    from peerproof.reference.runtime.udp import resolve_address
    from peerproof.reference.serf.folder_bus import default_folder
    from peerproof.spec.connections import parse_address
    from peerproof.spec.distkv.state import parse_node_id
    from peerproof.spec.distkv.values import value_of_plain

    root = args.root_event
    if not root or not root.isprintable():
        raise ValueError(f"--root-event: {root!a} is not a prefix of event names")
    try:
        first = None if args.first is None else value_of_plain(json.loads(args.first))
    except ValueError as error:
        raise ValueError(f"--first: expected a value as JSON ({error}); strings need quotation marks") from None
    return StoreSetup(
        protocol=RUNTIMES[args.protocol],
        name=parse_node_id(args.name),
        agent=resolve_address(args.serf) if args.serf else None,
        auth_key=args.rpc_auth or os.environ.get(KEY),
        folder=Path(args.loopback) if args.loopback else default_folder(),
        root=root,
        config=_config(args, first),
        state=args.state,
        place=parse_address(resolve_address(args.download)) if args.download else (None, 0),
        random_seed=args.seed or token_hex(8),
        run=args.run,
    )


def _config(args: Namespace, first: Any) -> Callable[[Stored | None], Any]:
    from dataclasses import replace

    from peerproof.reference.node.configuration import plain_of
    from peerproof.reference.protocols.registry import RUNTIMES

    protocol = RUNTIMES[args.protocol]
    limit = EVENT - OWN - len(f"{args.root_event}.update".encode())
    config = replace(protocol.build_config({"max_payload": limit, **plain_of(args, protocol)}, args.name, []), root=first)
    return lambda stored: replace(config, stored=stored)


def run(found: StoreSetup, record: Callable[[str], None] | None) -> str | None:
    """Runs the node until it ends. Returns the reason if it was not asked to end. Raises ValueError if it cannot start."""
    import asyncio

    from peerproof.reference.node.distkv_console import RunningStore

    async def live() -> str | None:
        node = RunningStore(found, record)
        await node.run()
        return node.failure

    return asyncio.run(live())
