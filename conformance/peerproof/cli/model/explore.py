"""
Explores a protocol in the browser: what each node knows, what is under way, and what may happen next.

  peerproof model explore                          choose protocol and model on the page
  peerproof model explore swim --model small-a     begin there
  peerproof model explore scuttlebutt --model BX-03-two-values

One click delivers, loses or doubles a message, runs a timer out, gives a command, or restarts a node; where chance decides, every
outcome can be chosen. The path is in the address of the page, so that it can be sent to a colleague who runs this command too.

The page is served on this machine only, at an address with a random token, until Ctrl-C.
"""

from __future__ import annotations

import webbrowser
from argparse import ArgumentParser, Namespace
from typing import Final

from peerproof.cli.exits import OK, Refusal
from peerproof.cli.options import add_protocol
from peerproof.cli.parser import did_you_mean

EXITS: Final = {OK: "ended by Ctrl-C"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_protocol(parser, "protocol to begin with")
    parser.add_argument("--model", metavar="NAME", help="model or configuration to begin with (model check --list lists them)")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port to listen on (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


def run(args: Namespace) -> int:
    """Serves the page until Ctrl-C."""
    from peerproof.conformance.explorer.serve import Explorer
    from peerproof.conformance.explorer.walk import explorable

    begin = ""
    if args.protocol:
        known = explorable(args.protocol)
        name = args.model or ("small-a" if "small-a" in known else next(iter(known)))
        if name not in known:
            raise Refusal(f"unknown model {name!r}", tip=did_you_mean(name, known) or f"there are {', '.join(known)}")
        begin = f"#{args.protocol}/{name}/"
    elif args.model:
        raise Refusal("--model needs a protocol", tip=f"peerproof model explore PROTOCOL --model {args.model}")
    try:
        server = Explorer(args.port)
    except OSError as error:
        raise Refusal(f"port {args.port} cannot be used: {error.strerror}", tip="leave out --port for a free one") from None
    with server:
        print(f"{server.address}{begin}\nCtrl-C ends it", flush=True)
        if not args.no_browser:
            webbrowser.open(f"{server.address}{begin}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return OK
    return OK
