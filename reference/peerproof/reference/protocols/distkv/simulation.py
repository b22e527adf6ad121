"""DistKV in simulations: downloads between nodes, and the cost of spreading changes to all nodes."""

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

#: Milliseconds after which an unanswered download fails.
TIMEOUT: Final = Duration(1000)

#: Rounds after which a node has downloaded the data, and accepts changes.
SETTLING: Final = 5


class Store:
    """The application of the nodes: it downloads data for a node from another that runs and is reachable. [D-122]"""

    def __init__(self, simulation: Simulation) -> None:
        self.figures: Final = Figures(simulation)
        self._simulation: Final = simulation
        simulation.notified = self._handle_notice

    def begin(self, _: NodeId) -> None:
        """Does nothing: nodes find each other without help."""

    def moment(self, drawn: int, begin: int, period: int, _: int) -> int:
        """Returns when a node changes an entry; `drawn` is a random time in the first half of the run."""
        return max(drawn, begin + SETTLING * period)

    def _handle_notice(self, node: NodeId, notice: Any) -> None:
        if isinstance(notice, NeedsDownload):
            self._fetch(node, notice.node)
        elif isinstance(notice, SplitHealed):
            self.figures.splits += 1

    def _fetch(self, node: NodeId, source: NodeId) -> None:
        """Sends the request and the answer over the network, each with its state at that time."""
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
    The messages and bytes sent, and a lower bound for any protocol.

    A change must be broadcast once, and once more if a running node did not receive it, unless a later change of the same entry
    was missed as well: then only the later one. Everything above the bound is spent on membership and on detecting missing
    changes. Bytes are those of events without their names; an event is counted once, for all its receivers together.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.splits = 0  #: notices of a healed split, over all nodes
        self.changes = 0
        self._messages: Final[Counter[str]] = Counter()
        self._bytes: Final[Counter[str]] = Counter()
        self._first_bytes: int = 0  #: bytes of the first updates of changes
        self._missed: Final[dict[Path, Update]] = {}  #: by entry, the latest change that some node missed
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
        least = {"messages": self.changes + len(again), "bytes": self._first_bytes + sum(len(payload(one)) for one in again)}
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
        yield f"healed splits were detected {found['splits_healed']} times; a message is sent once to each running node"
        for what in ("messages", "bytes"):
            spent, least = sum(found[what].values()), found["least"][what]
            times = f", {spent / least:.2f} times as many" if least else ""
            yield f"{spent} {what} sent; any protocol needs {least}{times}: " + ", ".join(
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
                    self._first_bytes += size * is_new
                self._messages[name] += 1
                self._bytes[name] += size

    def _miss(self, message: InFlight) -> None:
        if isinstance(update := message.message, Update) and message.sender == update.chain.head.node != message.to:
            self._missed[update.path] = update
