"""DistKV for those who simulate its nodes: downloads, and what is spent to have all nodes know all changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from peerproof.reference.simulation.simulator import Simulation, millis
from peerproof.spec.core import Duration, Instant, NodeId, Send
from peerproof.spec.distkv import Loaded, LoadFailed, NeedsDownload, Phase, SplitHealed, State, Update
from peerproof.spec.distkv import download_of as given
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.forms import MESSAGE_FORM
from peerproof.spec.distkv.paths import Path
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import InFlight, Taken

#: Milliseconds after which a download has failed that is not answered.
TIMEOUT: Final = Duration(1000)

#: Rounds after which a node has downloaded what there is, and takes changes.
SETTLING: Final = 5


class Store:
    """What is on top of the nodes: who needs a download gets one from a node that runs and can be reached. [D-122]"""

    def __init__(self, simulation: Simulation) -> None:
        self.figures: Final = Figures(simulation)
        self._simulation: Final = simulation
        simulation.notified = self._handle_notice

    def begin(self, _: NodeId) -> None:
        """A node has just started; it finds the others by itself."""

    def moment(self, drawn: int, begin: int, period: int, _: int) -> int:
        """When a node is asked for a change, for which this moment of the first half of the run was drawn."""
        return max(drawn, begin + SETTLING * period)

    def _handle_notice(self, node: NodeId, notice: Any) -> None:
        if isinstance(notice, NeedsDownload):
            self._fetch(node, notice.node)
        elif isinstance(notice, SplitHealed):
            self.figures.splits += 1

    def _fetch(self, node: NodeId, source: NodeId) -> None:
        """Asks there, and comes back, over the network as it is then."""
        simulation, life = self._simulation, self._simulation.life(node)
        there = simulation.network.trip(node, source)
        if there is None:
            self._after(TIMEOUT, partial(self._report, node, life, LoadFailed(source)))
        else:
            self._after(millis(there), partial(self._give, node, life, source))

    def _give(self, node: NodeId, life: int, source: NodeId) -> None:
        simulation = self._simulation
        state, back = simulation.states().get(source), simulation.network.trip(source, node)
        loaded = None if state is None else given(state)
        if back is None:
            self._after(TIMEOUT, partial(self._report, node, life, LoadFailed(source)))
        else:
            self._after(millis(back), partial(self._report, node, life, loaded or LoadFailed(source)))

    def _report(self, node: NodeId, life: int, outcome: Loaded | LoadFailed) -> None:
        if self._simulation.life(node) == life:
            with suppress(NotEnabled):
                self._simulation.ask(node, outcome)

    def _after(self, delay: int, action: Any) -> None:
        self._simulation.at(Instant(self._simulation.now + delay), action)


class Figures:
    """
    What was spent, and what any protocol has to spend.

    A change has to be told once to everybody, and once more if somebody who ran then did not get it, unless a later change of the
    same entry was missed as well: then that one is enough. Everything beyond is what this protocol takes to notice who is there
    and what is missing. Bytes are those of events without their names, each counted once, whoever hears it.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.splits = 0  #: times that some node has noticed that a split was healed
        self.changes = 0
        self._messages: Final[Counter[str]] = Counter()
        self._bytes: Final[Counter[str]] = Counter()
        self._told: int = 0  #: bytes of the updates of changes
        self._missed: Final[dict[Path, Update]] = {}  #: of each entry the latest change that somebody did not get at first
        self._simulation: Final = simulation
        simulation.observers.append(self._observe)
        simulation.missed = self._miss

    def record_route(self) -> None:
        """See `protocol.Figures`."""

    def plain(self) -> Mapping[str, Plain]:
        """See `protocol.Figures`."""
        states: list[State] = list(self._simulation.states().values())
        ready = [state for state in states if state.phase is Phase.READY]
        again = list(self._missed.values())
        least = {"messages": self.changes + len(again), "bytes": self._told + sum(len(payload(one)) for one in again)}
        return {
            "changes": self.changes,
            "splits_healed": self.splits,
            "messages": dict(sorted(self._messages.items())),
            "bytes": dict(sorted(self._bytes.items())),
            "least": least,
            "ready": len(ready),
            "missing": sum(ranges.size() for state in states for ranges in state.missing.values()),
            "stores": len({state.entries.rows for state in ready}),
            "entries": max((len(state.entries.rows) for state in ready), default=0),
        }

    def text(self) -> Iterator[str]:
        """See `protocol.Figures`."""
        found = self.plain()
        yield (
            f"{found['changes']} changes of {found['entries']} entries; {found['ready']} nodes are ready, with {found['stores']}"
            f" different stores, and {found['missing']} changes are missing somewhere"
        )
        yield f"healed splits were noticed {found['splits_healed']} times; a message is sent as often as there are nodes that run"
        for what in ("messages", "bytes"):
            spent, least = sum(found[what].values()), found["least"][what]
            times = f", {spent / least:.2f} times as many" if least else ""
            yield f"{spent} {what} sent, where any protocol needs {least}{times}: " + ", ".join(
                f"{name} {count}" for name, count in found[what].items()
            )

    def _observe(self, node: NodeId, taken: Taken) -> None:
        own = taken.after.own_tick if taken.after.own_tick > taken.before.own_tick else None
        for effect in taken.effects:
            if isinstance(effect, Send):
                size, name = len(payload(effect.message)), MESSAGE_FORM.names[type(effect.message)]
                if isinstance(effect.message, Update):
                    is_new = effect.message.chain.head == (node, own)
                    name = "update" if is_new else "update again"
                    self.changes += is_new
                    self._told += size * is_new
                self._messages[name] += 1
                self._bytes[name] += size

    def _miss(self, message: InFlight) -> None:
        if isinstance(update := message.message, Update) and message.sender == update.chain.head.node != message.to:
            self._missed[update.path] = update
