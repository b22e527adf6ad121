"""
A server of the original, unchanged, over an agent of Serf.

    .venv/bin/python distkv_server.py n1 --serf 127.0.0.1:7373 --first '"the root"'
    .venv/bin/python distkv_server.py n2 --serf 127.0.0.1:7374 --peer n1=127.0.0.1:27586

It prints `{"listens": PORT}` when it takes clients, and ends with 1 and a traceback when the original does. What is replaced: its
client of Serf, by `serf_rpc`; and how the name of another server becomes a host and a port, by `--peer`, as all of them run
on one machine.
"""

# What is imported is in another environment than the checker's.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import traceback
from typing import Any

import asyncserf
import trio
from distkv.server import Server
from distkv.util import attrdict
from plain import read
from serf_rpc import serf_client

asyncserf.serf_client = serf_client
importlib.reload(traceback)  # this trio has put something into it that Python 3.11 cannot use: to log an exception would be fatal


class LocalServer(Server):
    """A server that knows where others listen."""

    places: dict[str, tuple[str, int]]

    async def _get_host_port(self, node: Any) -> tuple[str, int]:
        if node.name not in self.places:
            raise OSError(f"nobody has said where {node.name} listens (--peer {node.name}=HOST:PORT)")
        return self.places[node.name]


def place(text: str) -> tuple[str, int]:
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of this server")
    parser.add_argument("--serf", required=True, metavar="HOST:PORT", type=place, help="the RPC of an agent")
    parser.add_argument("--listen", default=("127.0.0.1", 0), metavar="HOST:PORT", type=place, help="for clients (default: any)")
    parser.add_argument("--first", metavar="JSON", help="found a network, with this value of the root")
    parser.add_argument("--load", metavar="FILE", help="begin with what is stored there, in the original's own format")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=HOST:PORT", help="where another server listens")
    parser.add_argument("--root-event", default=":distkv", metavar="TEXT", help="what names of events begin with")
    parser.add_argument("--clock", default=5.0, metavar="SECONDS", type=float, help="ping.clock (default: 5)")
    parser.add_argument("-v", "--verbose", action="store_true", help="the original's log, all of it")
    return parser.parse_args()


async def run(asked: argparse.Namespace) -> None:
    """Until the server ends, which only a fault makes it do."""
    config = attrdict(
        root=asked.root_event,
        serf=attrdict(host=asked.serf[0], port=asked.serf[1]),
        server=attrdict(host=asked.listen[0], port=asked.listen[1]),
        ping=attrdict(clock=asked.clock),
    )
    first = {} if asked.first is None else {"init": read(json.loads(asked.first))}
    server = LocalServer(asked.name, config, **first)
    server.places = {name: place(where) for name, _, where in (peer.partition("=") for peer in asked.peer)}
    if asked.load:
        await server.load(path=asked.load, local=True)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.serve)
        print(json.dumps({"listens": server.ports[0][1]}), flush=True)


if __name__ == "__main__":
    chosen = options()
    logging.basicConfig(level=logging.DEBUG if chosen.verbose else logging.INFO, stream=sys.stderr)
    trio.run(run, chosen)
