"""
`peerproof node start distkv`: commands with JSON arguments on standard input, JSON lines on standard output.

    set ["a","b"] 7      {"node":"n1","t_ms":5000,"changed":{"path":["a","b"],"value":7}}   and, when the bus has it,
                         {"node":"n1","t_ms":5021,"sent":{"path":["a","b"],"tick":"3"}}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, Final

from peerproof.reference.node import display
from peerproof.reference.node.terminal import Terminal
from peerproof.reference.protocols.distkv.inventory import Disk
from peerproof.reference.protocols.distkv.store import StoreNode
from peerproof.reference.runtime.driver import random_pick
from peerproof.reference.runtime.live_node import Listener, Parts
from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.serf.agent_bus import SerfBus
from peerproof.reference.serf.bus import Bus
from peerproof.reference.serf.folder_bus import LoopbackBus
from peerproof.spec import distkv
from peerproof.spec.core import NodeId
from peerproof.spec.distkv import Stored, Update
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain

#: Console commands that change an entry -> the command's name in the protocol, and its members.
CHANGES: Final = {"set": ("set_value", "path", "value"), "delete": ("delete_value", "path")}

USAGE: Final = "set PATH VALUE    delete PATH    get PATH    dump    own    state    quit    (paths and values are JSON)"

#: Prefix of the tags by which nodes find each other on the bus: `purpose:root:node`.
PURPOSE: Final = "peerproof"


@dataclass(frozen=True, slots=True)
class StoreSetup:
    """The options of a node."""

    protocol: Runtime
    name: NodeId
    agent: NodeId | None  #: numeric address of the Serf agent; None: the loopback bus
    auth_key: str | None  #: of the agent
    folder: Path  #: of the loopback bus
    root: str  #: prefix of the events' names
    config: Callable[[Stored | None], Any]  #: restored data -> configuration
    state: Path | None  #: file of the journal; None: the data is lost at exit
    place: tuple[str | None, int]  #: host and port for downloads; None: the host that the bus reports
    random_seed: str
    run: str | None = None  #: name of the run in the trace; None: name and seed


class RunningStore:
    """A node with its terminal."""

    def __init__(self, setup: StoreSetup, record: Callable[[str], None] | None) -> None:
        """Opens the disk. Raises JournalError, and ValueError for an invalid configuration."""
        self._setup: Final = setup
        self.failure: str | None = None  #: the error that ended the node
        self._disk: Final = Disk(setup.state, setup.name) if setup.state else None
        self._terminal: Final = Terminal(self._command)
        run = setup.run or f"{setup.name}/{setup.random_seed}"
        pick, recorder = random_pick(setup.random_seed), Recorder(distkv, run, record) if record else None
        keep = self._disk.keep if self._disk else None
        parts = Parts(distkv, setup.name, pick, recorder, Listener(told=self._handle_notice), keep)
        self._node: Final = StoreNode(parts, self._bus(), setup.root, self._fail)

    def _bus(self) -> Bus:
        setup, purpose = self._setup, f"{PURPOSE}:{self._setup.root}"
        if setup.agent is None:
            return LoopbackBus(setup.folder, purpose, setup.name)
        return SerfBus(setup.agent, purpose, auth_key=setup.auth_key)

    async def run(self) -> None:
        """Runs the node until it ends. Raises BusError if it cannot start, and JournalError."""
        config = self._setup.config(self._disk.stored if self._disk else None)
        config = self._setup.protocol.begun(config, random_pick(f"{self._setup.random_seed}/start"))
        self._terminal.listen()
        try:
            await self._node.listen(config, self._setup.place)
            self._print(own=distkv.QUERIES["own"](self._node.driver.state))
            await self._terminal.wait()
        finally:
            await self._node.leave()
            if self._disk:
                self._disk.close()

    def _fail(self, why: str) -> None:
        self.failure = why
        self._terminal.stop(why)

    def _handle_notice(self, notice: Any) -> None:
        shown = distkv.NOTICE.plain(notice)
        self._print(**{_SHOWN.get(kind := shown.pop("type"), kind): shown or True})

    def _print_sent(self, update: Update) -> None:
        shown = distkv.MESSAGE.plain(update)
        self._print(sent={"path": shown["path"], "tick": str(update.chain.head.tick)})

    def _print(self, **known: Plain) -> None:
        self._terminal.print(display.json_line(self._setup.name, self._node.now(), known))

    def _command(self, line: str) -> None:
        name, _, rest = line.strip().partition(" ")
        if not name:
            return
        try:
            self._carry_out(name, values(rest))
        except MalformedMessage as error:
            self._print(refused={"class": error.reason, "message": error.detail})
        except NotEnabled as error:
            self._print(refused={"class": error.reason, "message": str(error)})

    def _carry_out(self, name: str, arguments: list[Plain]) -> None:
        if name == "quit":
            self._terminal.stop("quit")
        elif name in CHANGES:
            kind, *members = CHANGES[name]
            _expect(name, members, arguments)
            command = distkv.COMMAND.value({"type": kind, **dict(zip(members, arguments, strict=True))})
            self._node.ask(command, self._print_sent)
        elif (query := distkv.QUERIES.get(name)) and self._node.driver.state is not None:
            _expect(name, ["path"] * (len(signature(query).parameters) - 1), arguments)
            answer = query(self._node.driver.state, *arguments)
            self._print(**{name: {"path": arguments[0], "value": answer} if arguments else answer})
        else:
            raise NotEnabled("unknown", USAGE)


#: Notice -> its name in the output, if it differs from the protocol's.
_SHOWN: Final = {"entry_changed": "changed"}


def values(text: str) -> list[Plain]:
    """Parses consecutive JSON values, with or without blanks between them. Raises MalformedMessage."""
    found: list[Plain] = []
    decoder, text = JSONDecoder(), text.strip()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (JSONDecodeError, RecursionError, ValueError) as error:
            raise MalformedMessage("bad_value", 0, f"not JSON: {text!a:.80} ({error})") from None
        found.append(value)
        text = text[end:].strip()
    return found


def _expect(name: str, members: list[str], arguments: list[Plain]) -> None:
    if len(arguments) != len(members):
        expected = " ".join(member.upper() for member in members) or "nothing"
        raise MalformedMessage("bad_value", 0, f"{name} takes {expected}, each as JSON; found {len(arguments)} values")
