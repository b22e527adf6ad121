"""The fuzzer finds nothing where nothing is wrong, finds mistakes of many kinds where they are, and shows little of much."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.campaigns import CHOSEN
from tests.conformance.mistakes.scuttlebutt import answers, packing, rounds, store, wire
from tests.support import wrong_steps as mistaken
from tests.support.catching import path_of
from tests.support.implementations import DrawsAnew, DrawsByItself, HangingAtCalls, WrongNowAndThen

from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.fuzz import implementation_players
from peerproof.conformance.fuzz.findings import HAPPENINGS, Finding, OutOfRestarts, render_finding
from peerproof.conformance.fuzz.implementation_players import Implementation
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.promotion import vector_of
from peerproof.conformance.fuzz.reaction import Birth, Came, Node, Passed, Reaction, Started, Words, react, reactions
from peerproof.conformance.fuzz.search_settings import MOST_RESTARTS, PROFILES, NoInputs, Profile
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.reference.divergences.distkv import DD13, DD28
from peerproof.reference.divergences.peter import PD06, PD13
from peerproof.reference.divergences.scuttlebutt import BD01, BD02, BD03, BD04, BD05, BD06, BD11, BD13, BD14
from peerproof.reference.harness.harness import Harness
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Duration, Instant, NodeId, Pick, Send, Step, outcomes
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt import Config, Detector, DigestEntry, DigestRequest, reconcile, transitions

pytestmark = pytest.mark.slow


class AnswersByItself(BD03):
    """One that is wrong, too."""

    def __init__(self) -> None:
        super().__init__()
        self._oracle = False


@pytest.fixture
def campaign() -> Iterator[Callable[..., Campaign]]:
    """A campaign against a class, or against the specification."""
    adapters = []

    def make(
        implementation: type | None = None,
        protocol: str = "scuttlebutt",
        patience: Timeouts | None = None,
        restarts: int = MOST_RESTARTS,
    ) -> Campaign:
        inputs = inputs_of(protocol)
        if implementation is None:
            return Campaign(inputs, Specified())
        adapter = InProcess(path_of(implementation), patience or Timeouts(op=0), "")
        adapters.append(adapter)
        return Campaign(inputs, Implementation(protocol, inputs, adapter, adapter.start(), restarts=restarts), nodes=4)

    yield make
    for adapter in adapters:
        adapter.kill()


def found(campaign: Campaign, profile: str, seeds: int = 1) -> Finding:
    """What a campaign finds with one of the first seeds."""
    for seed in range(seeds):
        campaign.search(PROFILES[profile], seed)
        if campaign.finding:
            return campaign.finding
    raise AssertionError(f"nothing found in {campaign.counts['run']} runs")


def test_the_specification_keeps_its_properties_whatever_happens_and_everything_does_happen(campaign: Any) -> None:
    searching = campaign()
    happenings = [
        name for name, _ in HAPPENINGS if name not in ("forget", "unconfirmed")
    ]  # it keeps nothing, and has no connections
    names = happenings + [p.name for p in scuttlebutt.PROPERTIES if p.when == "sometimes"]

    for seed in range(5):
        searching.search(CHOSEN, seed)
        if all(searching.counts[name] for name in names):
            break

    assert searching.finding is None, render_finding(scuttlebutt, searching.finding)
    assert [name for name in names if not searching.counts[name]] == []


@pytest.mark.parametrize(
    ("protocol", "implementation", "often"),
    [
        ("scuttlebutt", Harness, {"step": 150, "restart": 1}),
        ("scuttlebutt", DrawsByItself, {"step": 150, "restart": 1}),
        ("scuttlebutt", DrawsAnew, {"step": 150, "restart": 1}),
        ("peter", Harness, {"step": 150, "deliver": 150}),
        ("distkv", Harness, {"step": 150, "fetch": 2}),
    ],
)
def test_the_specification_explains_everything_that_the_reference_does(
    campaign: Any, protocol: str, implementation: type, often: dict[str, int]
) -> None:
    searching = campaign(implementation, protocol)

    searching.search(Profile(runs=30, steps=25), 0)

    assert searching.finding is None, render_finding(PROTOCOLS[protocol].specification.load(), searching.finding)
    assert {name: count for name, count in often.items() if searching.counts[name] < count} == {}
    assert searching.counts["given up"] < searching.counts["run"] / 10


@pytest.mark.parametrize(
    ("protocol", "implementation", "kinds"),
    [
        ("scuttlebutt", BD02, {"messages"}),
        ("scuttlebutt", BD03, {"messages"}),
        ("scuttlebutt", BD04, {"crashed"}),
        ("scuttlebutt", packing.NewestFirst, {"messages"}),
        ("scuttlebutt", store.ComparesWithThePeersVersion, {"events"}),
        ("scuttlebutt", BD05, {"refused"}),
        ("scuttlebutt", BD06, {"messages", "events"}),
        ("scuttlebutt", BD11, {"events"}),
        ("scuttlebutt", answers.IsTheWildcard, {"observed"}),
        ("scuttlebutt", wire.VersionsAreSigned, {"messages", "events"}),
        ("scuttlebutt", rounds.AlwaysTheFirst, {"choice"}),
        ("scuttlebutt", AnswersByItself, {"messages"}),
        ("peter", PD06, {"messages"}),
        ("peter", PD13, {"observed"}),
        ("distkv", DD13, {"messages"}),
        ("distkv", DD28, {"observed", "choice"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_a_mistake_that_shows_often_is_found_by_the_quick_profile_in_a_few_events(
    campaign: Any, protocol: str, implementation: type, kinds: set[str]
) -> None:
    finding = found(campaign(implementation, protocol), "quick", seeds=10)

    assert finding.kind in kinds
    assert finding.again
    assert len(finding.story) <= 10
    assert finding.cited


@pytest.mark.slow
@pytest.mark.parametrize("implementation", [BD01, BD13, BD14], ids=lambda implementation: implementation.__name__)
def test_a_mistake_that_shows_seldom_is_found_by_the_ci_profile(campaign: Any, implementation: type) -> None:
    finding = found(campaign(implementation), "ci", seeds=12)

    assert finding.again
    assert len(finding.story) <= 25


def test_a_finding_cites_the_rules_that_it_contradicts_and_not_the_whole_step(campaign: Any) -> None:
    finding = found(campaign(packing.NewestFirst), "quick")

    text = render_finding(scuttlebutt, finding)
    assert "  it contradicts DeltaOrder: a delta has a peer's pairs from the lowest version up\n" in text
    assert re.findall(r"^  (\S+) must: ", text, re.MULTILINE) == ["B-29", "B-30"]
    assert vector_of(inputs_of("scuttlebutt"), finding)["clauses"] == ["B-29", "B-30"]


def test_where_no_rule_is_known_the_clauses_are_those_of_the_step(campaign: Any) -> None:
    text = render_finding(scuttlebutt, found(campaign(BD11), "quick"))

    assert "  clauses of this step:\n" in text


@pytest.mark.parametrize(
    ("implementation", "said"),
    [
        (
            rounds.AsksInText,
            r'it asked at \S+ for \d of \[.*"\ufffd+".*\], where the specification takes \d of \[.*{"hex": "\w+"}',
        ),
        (rounds.AlwaysTheFirst, r"it did not ask at round\.partner, where the specification takes 1 of \["),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_choice_is_reported_with_the_question_that_was_asked_and_the_expected_one(
    campaign: Any, implementation: type, said: str
) -> None:
    finding = found(campaign(implementation), "quick", seeds=3)

    assert finding.kind == "choice"
    assert re.search(said, finding.detail), finding.detail


def test_no_more_runs_are_made_than_the_profile_has(campaign: Any) -> None:
    """Hypothesis does not count runs that draw more than it allows."""
    searching = campaign(protocol="distkv")

    searching.search(Profile(runs=30, steps=50), 0)

    assert searching.counts["run"] == 30


@pytest.mark.parametrize(
    ("module", "name", "mistake", "broken"),
    [
        (reconcile, "newer_pairs", mistaken.newest_first, {"DeltaPrefix", "NoGap", "InFlight"}),
        (transitions, "add_peers", mistaken.believing, {"VersionIsMax"}),
        (reconcile, "fitting", mistaken.unlimited, {"DeltaBounded"}),
    ],
    ids=["newest pairs first", "peers at the version of the digest", "no limit"],
)
def test_a_specification_that_is_wrong_breaks_a_property(
    campaign: Any, module: Any, name: str, mistake: Any, broken: set[str]
) -> None:
    with overriding(names_in(module, **{name: mistake})):
        finding = found(campaign(), "ci", seeds=3)

    assert finding.kind == "property"
    assert finding.name in broken
    assert finding.name in render_finding(scuttlebutt, finding)


def test_what_the_specification_raises_is_found_with_the_run_that_leads_there(campaign: Any) -> None:
    def raising(*_: Any) -> Any:
        raise ZeroDivisionError("no mean")

    with overriding(names_in(transitions, with_statuses=raising)):
        finding = found(campaign(), "quick")

    assert (finding.kind, finding.detail) == ("raised", "ZeroDivisionError: no mean")
    assert [part.node for part in finding.story] == ["a:1", "a:1"]  # it starts, time passes


def test_where_too_many_choices_were_possible_nothing_is_said_against_an_implementation(
    campaign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one try for each step, the true explanation is often not among those tried."""
    monkeypatch.setattr(implementation_players, "MOST_OUTCOMES", 1)
    monkeypatch.setattr(implementation_players, "_words", lambda _: ())
    searching = campaign(DrawsByItself)

    searching.search(PROFILES["quick"], 0)

    assert searching.finding is None
    assert searching.counts["given up"] > 0


def test_what_does_not_happen_again_is_told_all_the_same(campaign: Any) -> None:
    finding = found(campaign(WrongNowAndThen), "quick", seeds=3)

    assert finding.kind == "messages"
    assert not finding.again
    assert "did not show it again" in render_finding(scuttlebutt, finding)


def test_an_implementation_that_hangs_again_and_again_is_tried_so_often_and_no_longer(campaign: Any) -> None:
    searching = campaign(HangingAtCalls, patience=Timeouts(op=0.2), restarts=30)

    with pytest.raises(OutOfRestarts, match="started again 30 times"):
        found(searching, "quick")

    assert searching.finding.kind == "hung"


def test_a_protocol_without_inputs_is_refused_with_those_that_have_some() -> None:
    with pytest.raises(NoInputs, match="no protocol 'profiles' can be fuzzed; there are distkv, peter, scuttlebutt"):
        inputs_of("profiles")


def birth(limit: int) -> Birth:
    """A node that finds everybody critical at once, so that each round has many outcomes."""
    detector = Detector(bootstrap=Duration(1), critical=1)
    return Birth(scuttlebutt, NodeId("b:1"), Config((NodeId("s:1"),), max_payload=limit, detector=detector))


def acquainted(born: Birth, pick: Pick) -> Node:
    """It has been told of two peers."""
    digest = DigestRequest(tuple(DigestEntry(NodeId(addr), 0) for addr in ("a:1", "c:1")))
    node = react(born, None, Started(), Instant(0), pick).node
    return react(born, node, Came(NodeId("a:1"), scuttlebutt.MESSAGE.encode(digest)), Instant(0), pick).node


def test_reactions_are_all_outcomes_and_the_told_ones_come_first(first: Pick) -> None:
    born = birth(1400)
    reacting = partial(react, born, acquainted(born, first), Passed(), Instant(1000))

    every = list(reactions(reacting))
    last = every[-1]
    sends = [effect for effect in last.effects if isinstance(effect, Send)]
    told_last = [Words(send.to, tuple(entry.addr for entry in send.message.entries)) for send in sends]

    assert every == [outcome.step.state for outcome in outcomes(partial(as_step, reacting))]
    assert len(set(every)) > 1000
    assert next(reactions(reacting, told=told_last)) == last


def as_step(reacting: Callable[[Pick], Reaction], pick: Pick) -> Step[Reaction, Any]:
    """As `outcomes` takes it."""
    return Step(reacting(pick))


@pytest.mark.parametrize("limit", [14, 27, 1400])
def test_effects_of_scuttlebutt_tell_the_state(first: Pick, limit: int) -> None:
    """So that the first explanation of what an implementation did is all of them; `Inputs.telling` says so."""
    born = birth(limit)
    states: dict[Any, set[Node]] = {}
    for reaction in reactions(partial(react, born, acquainted(born, first), Passed(), Instant(1000))):
        states.setdefault(reaction.effects, set()).add(reaction.node)

    assert len(states) > 10
    assert {len(nodes) for nodes in states.values()} == {1}
    assert inputs_of("scuttlebutt").telling
