"""
The state machine that Hypothesis drives: one rule, which chooses at random from the possible actions.

The possible faults are chosen for each run first, so that some runs have only losses and others only restarts. A campaign is a
number of runs; its finding is the smallest run that shrinking reaches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias, cast

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.corpus import CorpusError
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.findings import Finding, Found, GivenUp, NotSupported, Over, rests_on
from peerproof.conformance.fuzz.inputs.inputs import FORGETTING, Inputs, inputs_of
from peerproof.conformance.fuzz.kept_runs import Keeper
from peerproof.conformance.fuzz.known_findings import KnownFindings, name_finding
from peerproof.conformance.fuzz.players import Player
from peerproof.conformance.fuzz.search_settings import MOST_NODES, Profile
from peerproof.conformance.fuzz.shrinking import Run, Shrinking, again
from peerproof.conformance.fuzz.simulation import MOST_UNDER_WAY, Action, Arena, Datagram
from peerproof.conformance.fuzz.strategies import datagrams, values
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled

#: Members of an action; empty if the action is not possible after all.
Members: TypeAlias = dict[str, Any]

NAMES: Final = tuple(NodeId(f"{letter}:1") for letter in "abcde")

#: The possible faults; a random subset of them applies to each run.
FAULTS: Final = ("loss", "duplication", "reordering", "partition", "crash", "malformed", "forgery")

#: Maximum number of new seeds, and their distance, after Hypothesis found an implementation nondeterministic.
MOST_ATTEMPTS: Final = 100
FURTHER: Final = 1_000_003

_DICE: Final = st.integers(0, 2**16)


@dataclass
class Campaign:
    """Runs of one player, and their results."""

    inputs: Inputs
    player: Player
    nodes: int = MOST_NODES  #: maximum per run
    faults: frozenset[str] = frozenset((*FAULTS, FORGETTING))
    commands: frozenset[str] | None = None  #: the calls that the player offers; None: all
    until: float | None = None  #: on the monotonic clock
    counts: Counter[str] = field(default_factory=Counter)
    progress: Callable[[Counter[str]], None] | None = None
    last_run: int = 0  #: the number of the last run of the current search
    run: Run | None = None  #: the current run
    finding: Finding | None = None
    known: KnownFindings = field(default_factory=KnownFindings)  #: findings that do not end the campaign
    excuses: Excuses = field(default_factory=lambda: Excuses("strict", strict=True))  #: what else does not end it
    keeper: Keeper | None = None  #: keeps findings, and runs in which something new happens
    ending: BaseException | None = None

    def search(self, profile: Profile, number: int) -> None:
        """
        Makes the runs of a profile from this seed, and stops at the first finding: `finding` is then the shrunk one.

        Raises Over if the campaign has to end, because the time is over or the implementation cannot be used any more.
        """
        self.last_run = self.counts["run"] + profile.runs
        for attempt in range(MOST_ATTEMPTS):
            left = profile._replace(runs=self.last_run - self.counts["run"])
            if left.runs <= 0:
                return
            try:
                run_state_machine_as_test(self._machine(number + attempt * FURTHER), settings=_settings(left))
            except _Enough:
                return
            except (_Stop, Over, Flaky):
                if isinstance(self.ending, Over):
                    raise self.ending from None
                if self.ending is not None:
                    self.shrink()
                    return
                # The same run has had two outcomes, which an implementation that makes its own random choices may do. What
                # Hypothesis has learnt about the runs is of no use; it begins anew.
            else:
                return

    def _machine(self, number: int) -> type[_Machine]:
        @seed(number)
        class Machine(_Machine):
            campaign = self

        return Machine

    def replay(self, run: Run) -> bool:
        """Repeats a run. If it shows a finding, shrinks it and returns True. Raises Over."""
        self.run = run
        self.counts["run"] += 1
        if self.progress:
            self.progress(self.counts)
        arena, found = again(self.inputs, self.player, run)
        self.finding = None if found and self.is_known(found) else found
        self.counts += arena.counts
        if self.keeper:
            self.keeper.is_new(arena.counts)
        if self.finding:
            self.shrink()
        return self.finding is not None

    def shrink(self) -> None:
        """Shrinks the current run, which has a finding; keeps it before, and replaces it after."""
        assert self.run is not None, "a finding belongs to a run"
        if self.keeper:
            self.keeper.finds(self.run)
        run, finding = self.run, cast("Finding", self.finding)
        # Whether readings excuse what a smaller run shows is looked at in the end only, and at each step if they do.
        for is_known in (self._is_listed, self.is_known):
            shrinking = Shrinking(self.inputs, self.player, run, finding, is_known)
            try:
                shrinking.shrink()
            finally:
                is_excused = shrinking.finding is not finding and self._is_excused(shrinking.finding)
                if not is_excused:
                    self.finding, self.run = shrinking.finding, shrinking.run
                    if self.keeper:
                        self.keeper.finds_smaller(self.run)
            if not is_excused:
                return

    def is_known(self, finding: Finding) -> bool:
        """Returns True if the finding is in the list of known findings, or excused."""
        return self._is_listed(finding) or self._is_excused(finding)

    def _is_listed(self, finding: Finding) -> bool:
        return self.known.has(name_finding(self.inputs.spec, finding))

    def _is_excused(self, finding: Finding) -> bool:
        spec = self.inputs.spec
        return self.excuses.has(name_finding(spec, finding), spec.NAME, rests_on(spec, finding), finding.explanations)

    def end(self, ending: BaseException) -> BaseException:
        """Records the exception that ends the campaign: Hypothesis may raise another one because of it."""
        self.ending = ending
        return ending


class _Stop(BaseException):
    """Stops Hypothesis after a finding."""


class _Enough(BaseException):
    """Stops Hypothesis after the last run: it does not count runs that draw more than it allows, and would go on."""


def _settings(profile: Profile) -> settings:
    return settings(
        max_examples=profile.runs,
        stateful_step_count=profile.steps,
        phases=[Phase.generate],  # `shrinking` knows the structure of runs, and takes a tenth of the time
        deadline=None,
        database=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )


class _Draws(NamedTuple):
    """The strategies for a run of these nodes."""

    configs: SearchStrategy[tuple[Any, ...]]
    commands: SearchStrategy[Any]
    messages: SearchStrategy[Any]
    datagrams: SearchStrategy[bytes]
    senders: SearchStrategy[NodeId]


@cache  # making strategies takes longer than drawing from them
def _draws(protocol: str, names: tuple[NodeId, ...]) -> _Draws:
    inputs = inputs_of(protocol)
    named, codec = inputs.named(names), inputs.spec.MESSAGE
    senders = st.sampled_from(names) | named.get("addr", st.nothing())
    return _Draws(inputs.configs(names), inputs.commands(names), values(codec.form, named), datagrams(codec, named), senders)


class _Machine(RuleBasedStateMachine):
    """One run."""

    campaign: Campaign

    def __init__(self) -> None:
        super().__init__()
        campaign = self.campaign
        if campaign.until is not None and time.monotonic() > campaign.until:
            raise campaign.end(Over("the time is over"))
        if campaign.counts["run"] >= campaign.last_run:
            raise _Enough
        self.arena: Arena | None = None
        self.given_up = False
        self.before = Counter(campaign.counts)

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Draws the nodes, their configurations, and the possible faults."""
        campaign = self.campaign
        campaign.counts["run"] += 1
        if campaign.progress:
            campaign.progress(campaign.counts)
        names = NAMES[: data.draw(st.integers(1, campaign.nodes), "nodes")]
        self.draws = _draws(campaign.inputs.spec.NAME, names)
        configs = data.draw(self.draws.configs, "configurations")
        possible = FAULTS if campaign.inputs.kept is None else (*FAULTS, FORGETTING)
        self.faults = {fault for fault in possible if data.draw(st.booleans(), fault) and fault in campaign.faults}
        dice = data.draw(_DICE, "dice")
        try:
            campaign.player.begin(str(dice))
        except Over as over:
            raise campaign.end(over) from None
        campaign.run = Run(dict(zip(names, configs, strict=True)), dice)
        self.arena = Arena(campaign.inputs, campaign.player, campaign.run.configs, campaign.counts)
        campaign.run.script = self.arena.script
        self._catch_finding(partial(self.arena.open, dice))
        if campaign.inputs.opening and data.draw(st.booleans(), "one cluster"):
            for addr, command in campaign.inputs.opening(names):
                self._perform(data, "call", addr=addr, command=command)
                self._calm(data)
                self._perform(data, "time", span=campaign.inputs.spans[0])
                self._calm(data)

    @rule(data=st.data())
    def happen(self, data: st.DataObject) -> None:
        """Performs one of the possible actions."""
        arena = self.arena
        if arena is None or self.given_up:
            return
        what = data.draw(st.sampled_from(list(self._possible_actions(arena))), "what")
        if what == "calm":
            self._calm(data)
        elif members := getattr(self, f"_{what}")(arena, data):
            self._perform(data, what, **members)

    def _calm(self, data: st.DataObject) -> None:
        """Delivers the messages under way, and most of those that follow from them."""
        assert self.arena is not None, "the run has started"
        for _ in range(MOST_UNDER_WAY):
            if self.arena.errands and not self.given_up:
                self._perform(data, "fetch", **self._fetch(self.arena, data))
            if self.arena.under_way and not self.given_up:
                self._perform(data, "deliver", datagram=self.arena.under_way[0])

    def teardown(self) -> None:
        """Closes the nodes."""
        if self.arena is not None:
            self.arena.end()
            self._keep_run()

    def _keep_run(self) -> None:
        campaign = self.campaign
        if campaign.keeper and campaign.run and not campaign.finding:
            try:
                campaign.keeper.ran(campaign.run, campaign.counts - self.before)
            except CorpusError as error:
                raise campaign.end(Over(str(error), unusable=error)) from None

    def _perform(self, data: st.DataObject, what: str, **members: Any) -> None:
        assert self.arena is not None, "the run has started"
        what = "inject" if what in ("malformed", "forge") else what
        self._catch_finding(partial(self.arena.perform, Action(what, dice=data.draw(_DICE, "dice"), **members)))

    def _catch_finding(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Found as wrong:
            if self.campaign.is_known(wrong.finding):
                self.given_up = True
                return
            self.campaign.finding = wrong.finding
            raise self.campaign.end(_Stop()) from None
        except GivenUp as why:
            self.given_up = True
            self.campaign.counts["given up"] += not isinstance(why, NotSupported)
        except Over as over:
            raise self.campaign.end(over) from None

    def _possible_actions(self, arena: Arena) -> Iterator[str]:
        """Yields the possible actions; frequent ones come more than once."""
        faults = self.faults
        yield from ("time", "time")
        if arena.up:
            yield from ("call", "call", "call") if self.campaign.inputs.spec.COMMAND.cases else ()
            yield from ("malformed" for _ in range("malformed" in faults))
            yield from ("forge" for _ in range(3 * ("forgery" in faults)))
            yield from ("crash" for _ in range("crash" in faults))
        if len(arena.up) < len(arena.places):
            yield from ("restart", "restart")
            yield from ("forget" for _ in range(FORGETTING in faults))
        if arena.errands:
            yield "fetch"
        if arena.under_way:
            yield from ("deliver", "deliver", "deliver", "calm", "calm", "calm")
            again = "unconfirmed" if arena.connected else "repeat"
            yield from (again for _ in range("duplication" in faults))
            yield from ("lose" for _ in range("loss" in faults))
        if arena.groups:
            yield "heal"
        elif "partition" in faults and len(arena.places) > 1:
            yield "cut"

    def _time(self, _: Arena, data: st.DataObject) -> Members:
        usual = self.campaign.inputs.spans
        return {"span": data.draw(st.sampled_from(usual) | st.integers(0, 2 * usual[0]), "milliseconds")}

    def _call(self, arena: Arena, data: st.DataObject) -> Members:
        command = data.draw(self.draws.commands, "command")
        form, allowed = self.campaign.inputs.spec.COMMAND, self.campaign.commands
        if allowed is not None and form.names[type(command)] not in allowed:
            return {}
        return {"addr": self._node(data, arena.up), "command": command}

    def _fetch(self, arena: Arena, _: st.DataObject) -> Members:
        addr, notice = arena.errands[0]
        return {"addr": addr, "command": notice}

    def _deliver(self, arena: Arena, data: st.DataObject) -> Members:
        last = len(arena.under_way) - 1 if "reordering" in self.faults else 0
        return {"datagram": arena.under_way[data.draw(st.integers(0, last), "which")]}

    _repeat = _unconfirmed = _deliver

    def _lose(self, arena: Arena, data: st.DataObject) -> Members:
        return {"datagram": arena.under_way[data.draw(st.integers(0, len(arena.under_way) - 1), "which")]}

    def _malformed(self, arena: Arena, data: st.DataObject) -> Members:
        datagram = data.draw(self.draws.datagrams, "bytes")
        try:
            self.campaign.inputs.spec.MESSAGE.decode(datagram)
        except MalformedMessage:
            return self._injection(arena, data, datagram)
        return {}

    def _forge(self, arena: Arena, data: st.DataObject) -> Members:
        message = data.draw(self.draws.messages, "message")
        try:
            return self._injection(arena, data, self.campaign.inputs.spec.MESSAGE.encode(message))
        except NotEnabled:
            return {}

    def _injection(self, arena: Arena, data: st.DataObject, datagram: bytes) -> Members:
        addr, sender = self._node(data, arena.up), data.draw(self.draws.senders, "sender")
        return {"addr": addr, "datagram": Datagram(sender, addr, datagram)}

    def _crash(self, arena: Arena, data: st.DataObject) -> Members:
        return {"addr": self._node(data, arena.up)}

    def _restart(self, arena: Arena, data: st.DataObject) -> Members:
        return {"addr": self._node(data, [addr for addr, place in arena.places.items() if not place.up])}

    _forget = _restart

    def _cut(self, arena: Arena, data: st.DataObject) -> Members:
        nodes = list(arena.places)
        side = data.draw(st.integers(1, 2 ** len(nodes) - 2), "side")
        one = frozenset(addr for place, addr in enumerate(nodes) if side >> place & 1)
        return {"groups": (one, frozenset(nodes) - one)}

    def _heal(self, _: Arena, __: st.DataObject) -> Members:
        return {"groups": ()}

    def _node(self, data: st.DataObject, among: list[Any]) -> NodeId:
        node: NodeId = data.draw(st.sampled_from(among), "node")
        return node
