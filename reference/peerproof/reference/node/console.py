"""
`peerproof node start` for nodes on a socket: output, console commands, and a clean exit.

Everything runs in one event loop. The node runs until it is interrupted, until `quit`, or until its standard output is closed;
bad input, a failed trace or the end of standard input do not stop it.
"""

from __future__ import annotations

import asyncio
import shlex
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from peerproof.reference.node import display, typed_commands
from peerproof.reference.node.terminal import Terminal
from peerproof.reference.runtime.driver import random_pick
from peerproof.reference.runtime.live_node import Listener, Parts, logger
from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.runtime.tcp import make_node
from peerproof.reference.runtime.udp import bind_socket, format_address
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled

#: Seconds for which changes are collected before they are printed.
GATHER: Final = 0.05

#: Seconds after which a node that could not join tries the next contact.
AGAIN: Final = 1.0


@dataclass(frozen=True, slots=True)
class Setup:
    """The options of a node."""

    protocol: Runtime
    bind: NodeId  #: numeric; port 0: any free port
    advertise: NodeId | None  #: the address for peers, if it differs from `bind`
    config: Callable[[NodeId], Any]  #: advertised address -> configuration
    assignments: tuple[tuple[str, str], ...]
    random_seed: str
    as_json: bool
    contacts: tuple[NodeId, ...] = ()  #: nodes of an overlay to join through
    run: str | None = None  #: name of the run in the trace; None: address and seed


class RunningNode:
    """A node with its terminal."""

    def __init__(self, setup: Setup, record: Callable[[str], None] | None) -> None:
        """Binds the socket and starts the node. Raises AddressError, and NotEnabled for a configuration that the node refuses."""
        self._setup: Final = setup
        self._specification: Final = setup.protocol.specification()
        self._connected: Final = setup.protocol.connected
        opened = bind_socket(setup.bind, socket.SOCK_STREAM if self._connected else socket.SOCK_DGRAM)
        self.self_id: Final = setup.advertise or format_address(opened.getsockname())
        run = setup.run or f"{self.self_id}/{setup.random_seed}"
        recorder = Recorder(self._specification, run, record) if record else None
        self._loop: Final = asyncio.get_running_loop()
        self._terminal: Final = Terminal(self._command)
        self._gathering: asyncio.TimerHandle | None = None
        self._shown: dict[str, Any] = {}
        self._shown_state: Any = None
        self._last_notice: Any = None
        self._tries = 0
        try:
            config = setup.config(self.self_id)
            listener = Listener(self._handle_notice, self._schedule_show, left=partial(self._terminal.stop, "left"))
            parts = Parts(self._specification, self.self_id, random_pick(setup.random_seed), recorder, listener)
            self._node: Final = make_node(parts, setup.protocol, config, opened)
            self._node.driver.start(config)
            for key, value in setup.assignments:
                self._node.driver.ask(setup.protocol.assign(self._node.driver.state, key, value))
        except ValueError:
            opened.close()
            raise

    async def run(self) -> None:
        """Runs the node until it ends."""
        self._terminal.listen()
        await self._node.listen()
        logger.info("listening at %s", self.self_id)
        self._show()
        self._join()
        try:
            await self._terminal.wait()
        finally:
            self._node.close()

    def _handle_notice(self, notice: Any) -> None:
        logger.info("%s", notice)
        if self._connected is None:
            return
        shown = self._connected.render_notice(notice)
        if self._connected.is_alone(notice):
            contact = (shown or {}).get("join_failed")
            again = f"; it is tried again in {AGAIN:g} s, or the next one" if self._setup.contacts else ""
            logger.warning("cannot join: the contact %s cannot be reached, or does not answer%s", contact, again)
            self._loop.call_later(AGAIN, self._join)
        if shown and (self._setup.as_json or shown != self._last_notice):  # a node may announce itself several times
            self._terminal.print(display.json_line(self.self_id, self._node.now(), shown))
        self._last_notice = shown

    def _join(self) -> None:
        """Joins through the next contact; called again until one is reachable."""
        if self._connected is None or not self._setup.contacts:
            return
        contact = self._setup.contacts[self._tries % len(self._setup.contacts)]
        self._tries += 1
        try:
            self._node.ask(self._connected.joining(contact))
        except NotEnabled as error:  # the user has already made it join or leave
            logger.warning("refused: %s", error)

    def _schedule_show(self) -> None:
        if self._gathering is None and self._node.driver.state is not self._shown_state:
            self._gathering = self._loop.call_later(GATHER, self._show)

    def _show(self, *, anyway: bool = False) -> None:
        self._gathering = None
        self._shown_state = self._node.driver.state
        known = {name: self._specification.QUERIES[name](self._shown_state) for name in self._setup.protocol.shown}
        passing = () if self._setup.as_json else self._setup.protocol.passing
        lasting = display.without(known, passing)
        if lasting == self._shown and not anyway:
            return
        self._shown = lasting
        if self._setup.as_json:
            self._terminal.print(display.json_line(self.self_id, self._node.now(), known))
        else:
            shown = {**known, **(self._connected.readable(self._shown_state) if self._connected else {})}
            self._terminal.print(
                f"-- {self.self_id} after {self._node.now() / 1000:.1f} s\n{display.table(self.self_id, shown)}\n"
            )

    def _command(self, line: str) -> None:
        name, _, rest = line.strip().partition(" ")
        if self._connected and name in self._connected.typed:
            self._ask_for(name, partial(self._connected.parse_command, name, rest))
            return
        try:
            words = shlex.split(line)
        except ValueError as error:
            logger.warning("%s", error)
            return
        match words:
            case []:
                pass
            case ["help"]:
                print(self._help(), file=sys.stderr)
            case ["view"]:
                self._show(anyway=True)
            case ["quit"]:
                self._terminal.stop("quit")
            case [name, *arguments]:
                self._ask(name, arguments)

    def _ask(self, name: str, arguments: list[str]) -> None:
        """Executes a typed command of the protocol; prints what there is if it is unknown."""
        form, protocol = self._specification.COMMAND, self._setup.protocol
        if name == "set" and len(arguments) == 1 and "=" in arguments[0]:
            key, _, value = arguments[0].partition("=")
            self._ask_for(name, lambda: protocol.assign(self._node.driver.state, key, value))
        elif name in form.cases:
            self._ask_for(name, partial(typed_commands.command, form, name, arguments))
        elif name == "set" or name in typed_commands.OWN:
            print(f"usage: {self._usage(name)}", file=sys.stderr)
        else:
            print(f"unknown command {name!r}; there are:\n{self._help()}", file=sys.stderr)

    def _typed(self) -> Mapping[str, str]:
        return self._connected.typed if self._connected else {}

    def _usage(self, name: str) -> str:
        return typed_commands.usage_of(self._specification.COMMAND, self._typed(), name)

    def _help(self) -> str:
        return typed_commands.help_of(self._specification.COMMAND, self._typed(), self._setup.protocol.set_text)

    def _ask_for(self, name: str, command: Callable[[], Any]) -> None:
        try:
            self._node.ask(command())
        except MalformedMessage as error:
            logger.warning("refused: %s; usage: %s", error.detail, self._usage(name))
        except NotEnabled as error:
            logger.warning("refused: %s", error)
