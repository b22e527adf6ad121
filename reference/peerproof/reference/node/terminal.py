"""The terminal of a running node: what is typed, what is printed, and what ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

logger: Final = logging.getLogger("peerproof.node")

#: Bytes of a line that has no end.
LONGEST: Final = 2**16


class Terminal:
    """Standard input and output of a node, and the signals that end it."""

    def __init__(self, typed: Callable[[str], None]) -> None:
        """`typed` is told of each line."""
        self._on_line: Final = typed
        self._loop: Final = asyncio.get_running_loop()
        self._done: Final = asyncio.Event()
        self._typed = b""

    def listen(self) -> None:
        """From now on lines and signals are noticed."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self.stop, number.name)
        if sys.stdin is not None:
            with suppress(OSError, ValueError):  # a file, or /dev/null: nobody types there
                self._loop.add_reader(sys.stdin.fileno(), self._type, sys.stdin.fileno())

    def stop(self, why: str) -> None:
        """It is over."""
        logger.info("%s: the end", why)
        self._done.set()

    async def wait(self) -> None:
        """Until it is over."""
        await self._done.wait()

    def print(self, text: str) -> None:
        """One line, or several."""
        try:
            print(text, flush=True)
        except OSError as error:  # nobody reads any more, or the disk is full
            self.stop(f"standard output: {error.strerror}")
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # or Python would flush the broken one once more

    def _type(self, descriptor: int) -> None:
        if os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp():
            return  # in the background; to read would stop the process
        data = b""
        with suppress(OSError):
            data = os.read(descriptor, 2**16)
        if not data:
            self._loop.remove_reader(descriptor)
        *lines, self._typed = (self._typed + data).split(b"\n")
        self._typed = self._typed[:LONGEST]
        for line in lines:
            self._on_line(line.decode(errors="surrogateescape"))
