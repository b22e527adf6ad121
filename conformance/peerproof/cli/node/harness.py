"""
Serves the adapter protocol for the reference, so that it can be tested like any other implementation.

  peerproof node harness                             on standard input and output, one JSON object a line
  peerproof node harness --listen 127.0.0.1:7777     over TCP, for `peerproof run --impl tcp://127.0.0.1:7777`

Try it by hand:

  echo '{"id":1,"op":"decode","protocol":"scuttlebutt","bytes":"03"}' | peerproof node harness
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from peerproof.cli.command import refuse
from peerproof.cli.exits import OK, Refusal
from peerproof.cli.options import check_protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerproof.reference.harness.harness import Harness


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("protocols", metavar="PROTOCOL", nargs="*", help="offer only these protocols (default: all)")
    add("--listen", metavar="HOST:PORT", help="serve every runner that connects, until Ctrl-C; port 0: any free port")
    add("--own-dice", action="store_true", help="make random choices from the seed of `open`, instead of asking the runner")


def run(args: Namespace) -> int:
    """Serves until `bye`, the end of the input, or Ctrl-C."""
    from peerproof.reference.harness.harness import Harness
    from peerproof.reference.harness.request_channel import serve_stdio
    from peerproof.reference.protocols.registry import RUNTIMES

    for name in args.protocols:
        check_protocol(name, RUNTIMES)

    def make() -> Harness:
        return Harness(args.protocols, oracle=not args.own_dice)

    if args.listen:
        return _listen(args.listen, make)
    serve_stdio(make())
    return OK


def _listen(address: str, make: Callable[[], Harness]) -> int:
    from peerproof.reference.harness.request_channel import Server
    from peerproof.reference.runtime.udp import format_address
    from peerproof.spec.connections import AddressError, parse_address

    try:
        with refuse(AddressError):
            server = Server(parse_address(address), make)
    except OSError as error:
        raise Refusal(f"cannot listen at {address}: {error.strerror}") from None
    with server:
        print(f"listening at {format_address(server.server_address)}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return OK
