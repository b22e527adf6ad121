"""What the commands that open the explorer share: their options, the server, and the file that needs none."""

from __future__ import annotations

import webbrowser
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from peerproof.cli.command import refuse
from peerproof.cli.exits import OK, UNUSABLE, Refusal

PAGE_EXITS: Final = {OK: "ended by Ctrl-C, or written", UNUSABLE: "the adapter cannot be used"}


def add_page(parser: ArgumentParser) -> None:
    """Adds the options of a page: `--output`, `--listen`, `--no-browser`."""
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", type=Path, help="write one file that needs no server, and end")
    add("--listen", type=int, default=0, metavar="PORT", help="port of the page (default: a free one)")
    add("--no-browser", action="store_true", help="print the address, and open no browser")


def open_page(begin: str = "", *, listen: int = 0, no_browser: bool = False, **settings: Any) -> int:
    """Serves the page until Ctrl-C; `begin` goes behind its address, `settings` to the server."""
    from peerproof.conformance.explorer.serve import Explorer

    try:
        server = Explorer(listen, **settings)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Refusal(f"port {listen} cannot be used: {reason}", tip="leave out --listen for a free one") from None
    with server:
        print(f"{server.address}{begin}\nCtrl-C ends it", flush=True)
        if not no_browser:
            webbrowser.open(f"{server.address}{begin}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return OK
    return OK


def write_page(path: Path, data: Mapping[str, Any], title: str) -> int:
    """Writes the page as one file."""
    from peerproof.conformance.explorer.page_file import page_with
    from peerproof.conformance.suite import output

    with refuse(output.CannotWrite, prefix="the page cannot be written: "):
        output.write_whole(path, page_with(data, title))
    print(f"{path}: open it in a browser; it loads nothing")
    return OK
