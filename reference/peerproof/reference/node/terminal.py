"""The terminal of a running node: input, output and signals."""

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

#: Maximum bytes kept of an incomplete line.
LONGEST: Final = 2**16


class Terminal:
    """Standard input and output of a node, and the signals that end it."""

    def __init__(self, typed: Callable[[str], None]) -> None:
        """`typed` is called with each line."""
        self._on_line: Final = typed
        self._loop: Final = asyncio.get_running_loop()
        self._done: Final = asyncio.Event()
        self._typed = b""

    def listen(self) -> None:
        """Starts to handle lines and signals."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self.stop, number.name)
        if sys.stdin is not None:
            with suppress(OSError, ValueError):  # a file, or /dev/null: no input
                self._loop.add_reader(sys.stdin.fileno(), self._type, sys.stdin.fileno())

    def stop(self, why: str) -> None:
        """Ends the node."""
        logger.info("stopping: %s", why)
        self._done.set()

    async def wait(self) -> None:
        """Waits for `stop`."""
        await self._done.wait()

    def print(self, text: str) -> None:
        """Prints one line or several; ends the node if standard output fails."""
        try:
            print(text, flush=True)
        except OSError as error:  # the pipe is closed, or the disk is full
            self.stop(f"standard output: {error.strerror}")
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # Python flushes the broken one at exit otherwise

    def _type(self, descriptor: int) -> None:
        if os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp():
            return  # in the background, where reading stops the process
        data = b""
        with suppress(OSError):
            data = os.read(descriptor, 2**16)
        if not data:
            self._loop.remove_reader(descriptor)
        *lines, self._typed = (self._typed + data).split(b"\n")
        self._typed = self._typed[:LONGEST]
        for line in lines:
            self._on_line(line.decode(errors="surrogateescape"))
