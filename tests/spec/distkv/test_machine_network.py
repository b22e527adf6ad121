"""
Up to five nodes on a network that splits, loses and is slow, which crash and come back with their data or without.

Whatever has happened: when it is quiet, and has been for long enough, all nodes are ready, nobody misses anything, and all have
the same. What the page says is false is left out: two changes of one tick [DX-10], and what has got lost with the data of the
node that made it [DX-17].
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from peerproof.reference.protocols.distkv.simulation import Store
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import distkv
from peerproof.spec.core import Duration, Instant, NodeId, Send, Step, Table
from peerproof.spec.distkv import Config, DeleteValue, SetValue, State, Update, entries, recovery, stored_of, transitions
from peerproof.spec.distkv import Phase as NodePhase
from peerproof.spec.distkv.entries import Applied, Outcome
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import up_to
from peerproof.spec.distkv.state import ELEMENT_BYTES, PING_BYTES
from peerproof.spec.distkv.ticks import TickSets, difference, union
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.properties import Taken

NAMES = [NodeId(name) for name in "abcde"]
ROOT = value_of_plain("root")

#: After so many clocks nearly everything is over; what depends on the last node to ping by chance may take some times as long.
CALM, TIMES = 100, 30

nodes = st.integers(0, len(NAMES) - 1)
paths = st.sampled_from("xyz").map(lambda name: path_of([name]))
lengths = st.sampled_from([4, 1, 2, 3])


class Cluster(RuleBasedStateMachine):
    """One run."""

    @initialize(
        count=st.integers(2, 5),
        clock=st.sampled_from([4000, 100, 8]).map(Duration),
        ping_length=lengths,
        change_length=lengths,
        payload=st.sampled_from([459, 106, 200]),
        firsts=st.sampled_from([1, 1, 1, 2]),
        seed=st.integers(0, 2**32),
    )
    def begin(self, count: int, payload: int, firsts: int, seed: int, **lengths: Any) -> None:
        """All nodes start, one of them or two with a value for the root."""
        most = max(payload, PING_BYTES + ELEMENT_BYTES * lengths["ping_length"])
        configs = {
            name: Config(**lengths, max_payload=most, root=ROOT if place < firsts else None)
            for place, name in enumerate(NAMES[:count])
        }
        self.clock = lengths["clock"]
        self.loss = 0.0
        self.simulation = Simulation(distkv, str(seed))
        Store(self.simulation)  # which downloads what nodes need
        self.simulation.observers.append(self.note)
        self.names = list(configs)
        self.made: dict[tuple[NodeId, int | None], Update] = {}  #: the update of each change that was ever made
        self.has_twins = False  #: two changes of one node have the same tick [DX-10]
        self.forgotten: TickSets = Table()  #: changes that their own node has made before it lost its data
        self.lose(0.0)
        for name, config in configs.items():
            self.simulation.start(name, config)

    def note(self, _: NodeId, taken: Taken) -> None:
        """Remembers the changes that are made."""
        for effect in taken.effects:
            if isinstance(effect, Send) and isinstance(update := effect.message, Update):
                first = self.made.setdefault(update.chain.head, update)
                self.has_twins |= (first.path, first.value, first.tock) != (update.path, update.value, update.tock)

    @property
    def states(self) -> dict[NodeId, State]:
        """The nodes that run."""
        return self.simulation.states()

    def run(self, span: int) -> None:
        """So many milliseconds pass."""
        self.simulation.run(Instant(self.simulation.now + span))

    def node(self, number: int) -> NodeId:
        """One of the nodes."""
        return self.names[number % len(self.names)]

    @rule(clocks=st.sampled_from([1, 0.1, 3, 10, 30]))
    def time(self, clocks: float) -> None:
        """Time passes."""
        self.run(int(clocks * self.clock))

    @rule(number=nodes, path=paths, value=st.none() | st.integers(0, 9))
    def change(self, number: int, path: Any, value: int | None) -> None:
        """Somebody changes something, or cannot."""
        with suppress(NotEnabled):
            self.simulation.ask(self.node(number), DeleteValue(path) if value is None else SetValue(path, value_of_plain(value)))

    @rule(sides=st.lists(st.integers(0, 1), min_size=5, max_size=5))
    def split(self, sides: list[int]) -> None:
        """The network splits, or does otherwise than before."""
        self.simulation.network.cut([[name for name, side in zip(self.names, sides, strict=False) if side]])

    @rule()
    def heal(self) -> None:
        """All nodes are on one side."""
        self.simulation.network.heal()

    @rule(loss=st.sampled_from([0.5, 0.1, 0.0]))
    def lose(self, loss: float) -> None:
        """Messages are lost from now on."""
        self.simulation.network._faults = Faults(loss, most_delay=Duration(max(1, self.clock // 8)))  # type: ignore[misc]  # final

    @rule(number=nodes)
    def crash(self, number: int) -> None:
        """A node is gone."""
        self.simulation.crash(self.node(number))

    @rule(number=nodes, with_data=st.sampled_from([True, True, False]))
    def restart(self, number: int, with_data: bool) -> None:
        """A node is back."""
        name = self.node(number)
        if name in self.states:
            return
        if not with_data:
            self.forgotten = self.forgotten.put(
                {name: up_to(max((tick or 0 for node, tick in self.made if node == name), default=0))}
            )
        self.simulation.restart(name, lambda config, state: replace(config, stored=stored_of(state) if with_data else None))

    def teardown(self) -> None:
        """It gets quiet; in the end all is well."""
        if not hasattr(self, "simulation"):
            return
        self.lose(0.0)
        self.heal()
        for number in range(len(self.names)):
            self.restart(number, with_data=True)
        for _ in range(TIMES):
            self.run(CALM * self.clock)
            if not self.wrongs():
                break
        assert self.wrongs() == []

    def wrongs(self) -> list[str]:
        """What is not as it should be when it has been quiet."""
        if self.has_twins:
            return []
        states = list(self.states.values())
        found = [f"{state.self_id} is {state.phase.value}" for state in states if not self.may_be(state)]
        found += [f"{state.self_id} misses {lost}" for state in states if (lost := difference(state.missing, self.forgotten))]
        unknown = missed(states)
        found += [f"somebody does not know {lost}" for lost in [difference(unknown, self.forgotten)] if lost]
        if not unknown and any(contents(state) != contents(states[0]) for state in states):
            found.append("entries differ")
        if len({state.last for state in states}) > 1:
            found.append("there is more than one chain of pings")
        return found

    def may_be(self, state: State) -> bool:
        """Whether a node is ready, or cannot be."""
        is_waiting = state.phase is NodePhase.SETTLING and state.misses and not difference(state.missing, self.forgotten)
        return state.phase is NodePhase.READY or is_waiting


def missed(states: list[State]) -> TickSets:
    """What somebody misses of what somebody knows."""
    known: TickSets = Table()
    for state in states:
        known = union(known, state.entries.known)
    found: TickSets = Table()
    for state in states:
        found = union(found, difference(known, state.entries.known))
    return found


def contents(state: State) -> dict[Any, Any]:
    """What the entries of a node are, but for the tails of chains."""
    return {path: (entry.chain.head, entry.value, entry.tock) for path, entry in state.entries.rows.items()}


def searched(runs: int, steps: int) -> None:
    """Runs with any happenings, always the same."""
    chosen = settings(
        max_examples=runs,
        stateful_step_count=steps,
        phases=[Phase.generate],
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Cluster, settings=chosen)


@pytest.mark.slow
def test_when_it_has_been_quiet_all_nodes_agree_and_miss_nothing() -> None:
    run_state_machine_as_test(Cluster, settings=settings(deadline=None, suppress_health_check=list(HealthCheck)))


def kept(entry: Any, update: Any, most: int) -> Applied:
    """Who is there stays, if neither came before the other (DX-04)."""
    outcome, after, gone = APPLY(entry, update, most)
    return Applied(outcome, entry if outcome is Outcome.CONFLICT_ACCEPT else after, gone)


def silent(state: State, *_: Any) -> Any:
    """Nothing happens."""
    return Step(state)


APPLY = entries.apply

#: id: (where, name, what it is replaced by)
MISTAKES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "a conflict keeps what is there (DX-04)": (entries, "apply", kept),
    "nobody asks again (DX-14)": (transitions, "look_for_repair", silent),
    "requests are not answered": (recovery, "_on_missing", silent),
    "a failed download is not tried again": (transitions, "on_load_failed", silent),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_keeps_nodes_from_agreeing(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(f"{__name__}.TIMES", 3)

    with overriding(names_in(where, **{name: wrong})), pytest.raises(AssertionError):
        searched(1500, 25)
