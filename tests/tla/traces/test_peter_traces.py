"""TLC judges traces of Peter: of simulated clusters, of such that were changed, of vectors, and of nodes with a mistake."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.conformance.mistakes.peter import events, subscribing
from tests.support.catching import Mistakes, path_of
from tests.support.changed_trees import SEEN, UNSEEN
from tests.support.judged_traces import Judged, judged
from tests.support.peter_nodes import TEXT, T
from tests.support.recorded_vectors import recorded_vectors
from tests.support.watched import recorded
from tests.support.wendy_nodes import NOW, h, peer, place

from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec import peter
from peerproof.spec.core import Asked, NodeId, Notify, Received, Send, Sent
from peerproof.spec.traces.trace import effect_plain, parse
from peerproof.spec.wendy.messages import Header, NodeExit, NodeExited, StateData, Tables
from peerproof.tla.manifest import root
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces import trace_check
from peerproof.tla.traces.trace_check import Comparison, Opinion

AGREE, DISAGREE = Comparison.AGREE, Comparison.DISAGREE

#: Where nodes crash, come back, and change what they are subscribed to.
BUSY = "5"


def simulated(seed: str, nodes: int = 4, **plan: Any) -> list[str]:
    """The lines of a ring with two topics, in which a node crashes and comes back, others too, and subscriptions change."""
    defaults = {"topics": 2, "subscriptions": 1, "churn": 0.08, "crashes": ((1, 13),), "restarts": ((1, 17),)}
    return recorded("peter", seed, nodes, 20, 5, {"heartbeat": 0}, **{**defaults, **plan})


def named(lines: Iterable[str], run: str) -> list[str]:
    """The same lines as those of another run."""
    return [line.replace(f'"run":"seed-{BUSY}"', f'"run":{json.dumps(run)}') for line in lines]


@pytest.fixture(scope="module")
def busy() -> list[str]:
    """One of them."""
    return simulated(BUSY)


def test_a_ring_does_all_that_is_to_be_judged(busy: list[str]) -> None:
    lines = [parse(line) for line in busy]
    effects = [effect for line in lines for effect in line.effects]
    sent = Counter(effect["send"]["message"]["type"] for effect in effects if "send" in effect)
    notices = Counter(effect["notify"]["type"] for effect in effects if "notify" in effect)
    failed = Counter(line.args["message"]["type"] for line in lines if line.kind == "sent" and line.args["took"] is None)
    commands = Counter(line.args["type"] for line in lines if line.kind == "api")

    assert sent.keys() >= {"subscribe", "unsubscribe", "publish", "notify"}
    assert notices.keys() >= {"update", "joined", "node_joined", "node_exited"}
    assert failed.keys() >= {"subscribe", "publish", "notify"}
    assert commands.keys() == {"join", "subscribe", "unsubscribe", "publish"}


@pytest.mark.slow
def test_tlc_accepts_rings_whose_nodes_crash_come_back_and_are_cut_off(tools: Tools) -> None:
    lines = [line for seed in range(5) for line in simulated(f"{seed}")]
    lines += simulated("reordered", 6, faults=Faults(reordering=0.2), churn=0.03)
    lines += simulated("split", 5, partition=(11, 14), crashes=(), restarts=())
    begin = time.process_time()

    result = judged(tools, "peter", lines)

    print(f"{len(lines):,} events judged in {time.process_time() - begin:.1f} s of Python and {_seconds_of_java():.1f} s of Java")
    assert {(each.comparison, each.judgement.opinion) for each in result} == {(AGREE, Opinion.ACCEPTED)}


def _seconds_of_java() -> float:
    """The processor time of all Java machines that have ended."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def changed(tools: Tools, busy: list[str]) -> dict[str, list[Judged]]:
    """By the name of the change: what is said of the nodes of a trace that is changed in this way."""
    lines = named(busy, "nothing")
    for number, (name, change) in enumerate({**SEEN, **UNSEEN}.items()):
        lines += named(change(busy, Random(number)), name)
    result: dict[str, list[Judged]] = {}
    for each in judged(tools, "peter", lines):
        result.setdefault(each.judgement.run, []).append(each)
    return result


@pytest.mark.minute
def test_tlc_rejects_changed_traces_where_the_replay_does(changed: dict[str, list[Judged]]) -> None:
    comparisons = {name: Counter(each.comparison for each in nodes) for name, nodes in changed.items()}
    found = {name: {each.divergence.what for each in nodes if each.divergence} for name, nodes in changed.items()}

    assert len(changed) == 1 + len(SEEN) + len(UNSEEN)
    assert {name for name, what in found.items() if not what} == {"nothing"}
    assert {name: all(comparisons[name]) for name in SEEN if set(comparisons[name]) != {AGREE}} == {}
    assert {name for name in UNSEEN if comparisons[name][DISAGREE]} == set()
    assert {name for name in UNSEEN if comparisons[name][Comparison.UNSEEN]} >= {"a fingerprint", "a heartbeat less", "versions"}
    assert {what for whats in found.values() for what in whats} == {"seq", "args", "picks", "refused", "effects", "state"}


@pytest.mark.minute
def test_tlc_accepts_what_the_reference_does_in_the_vectors(tools: Tools) -> None:
    mistakes = Mistakes("peter")

    result = judged(tools, "peter", recorded_vectors("peter", path_of(mistakes.right), mistakes.written, "right"))

    assert {(each.comparison, each.judgement.opinion) for each in result} == {(AGREE, Opinion.ACCEPTED)}
    assert len(result) > 300


#: Mistakes that the replay sees where the module leaves open what happens.
NEXT_HOPS = {
    "AsksBelow", "AsksForNobody", "CopiesFailAtChildren", "DepartedForEver", "DropsOldSubscriptions", "EndsEventsAtOnce",
    "EndsWithoutAParent", "KeepsDepartedParents", "KnowsOneParent", "PublishesOnce", "PublishesUpTheTree", "SubscribedLater",
    "UnsubscribesIntoTheVoid", "WantsFurtherChildren", "WantsToKnowItsChildren", "ZeroIsNoChild", "ZeroIsNoTopic",
}  # fmt: skip
CHANGED_TABLES = {"AllAreNew", "KeepsItsParent", "LooksWhenOneIsNew", "PD12"}
OF_WENDY = {
    "BeatsForNobody", "CopiesWithoutCredentials", "DepartsLater", "PublishesWithoutCredentials", "SendersWithOneHost",
    "SendersWithoutARegion", "SendsWithoutCredentials", "SubscribesWithOldVersions", "UnsubscribesWithoutCredentials",
}  # fmt: skip


@pytest.mark.minute
def test_tlc_rejects_nodes_with_a_mistake_where_the_replay_does(tools: Tools) -> None:
    mistakes, lines = Mistakes("peter"), list[str]()
    for variant in mistakes.variants:
        lines += recorded_vectors("peter", path_of(variant), mistakes.made_for(variant), variant.__name__)

    result = judged(tools, "peter", lines, with_states=False)

    wrong = {each.judgement.run.split()[0] for each in result if each.divergence}
    rejected = {each.judgement.run.split()[0] for each in result if each.judgement.opinion is Opinion.REJECTED}
    assert {each.judgement.run for each in result if each.comparison is DISAGREE} == set()
    assert rejected <= wrong
    assert wrong - rejected == NEXT_HOPS | CHANGED_TABLES | OF_WENDY
    assert len(rejected) >= 90


@pytest.mark.slow
def test_tlc_rejects_rings_of_nodes_with_a_mistake_where_the_replay_does(tools: Tools) -> None:
    mistakes = (events.CountsAnew, events.DeliversAtTheLeaves, events.MixesTopics, subscribing.LeavesQuietly)
    lines: list[str] = []
    for mistake in mistakes:
        with mistake().overriding:
            lines += named(simulated(BUSY), mistake.__name__)

    result = judged(tools, "peter", lines, with_states=False)

    assert {each.comparison for each in result} == {AGREE}
    assert {each.judgement.run for each in result if each.divergence} == {mistake.__name__ for mistake in mistakes}


class Told:
    """A node of the ring that is told of others, and what it does."""

    def __init__(self, digits: str) -> None:
        self.lines: list[str] = []
        self._recorder = Recorder(peter, digits, self.lines.append)
        self._taken = peter.initial(place(digits), peter.Config(h(digits)))
        self._recorder.record_start(place(digits), NOW, peter.Config(h(digits)), self._taken)
        self._sent: list[Send[Any]] = []

    def __call__(self, event: Any) -> Told:
        """After the event."""
        self._taken = peter.step(self._taken.state, event, no_choice)
        self._recorder.record_step(self._taken.state.self_id, event, [], self._taken, None)
        self._sent += [effect for effect in self._taken.effects if isinstance(effect, Send)]
        return self

    def got(self, message: Any) -> Told:
        """After a message."""
        return self(Received(NOW, NodeId("n:1"), message))

    def asked(self, command: Any) -> Told:
        """After a command."""
        return self(Asked(NOW, command))

    def failed(self, to: str, kind: type[Any]) -> Told:
        """After the last message of this kind that it has sent there has not arrived."""
        message = [each.message for each in self._sent if each.to == place(to) and isinstance(each.message, kind)][-1]
        return self(Sent(NOW, place(to), message, None))


def no_choice(*_: Any, **__: Any) -> Any:
    """Peter has no choices."""
    raise AssertionError


def at(digits: str, host: str) -> Header:
    """A header of a node that says to be at this host."""
    return Header(peer(digits)._replace(local_ip=host, global_ip=host), T)


def met(digits: str, host: str) -> StateData:
    """A message that makes a node known."""
    return StateData(at(digits, host), Tables())


@pytest.mark.slow
def test_where_several_nodes_of_a_tree_depart_at_once_tlc_has_no_verdict(tools: Tools) -> None:
    node = Told("40").got(met("70", "n70")).asked(peter.Subscribe(TEXT)).got(peter.SubscribeMessage(at("c3", "n70")))
    node.got(peter.NotifyMessage(at("70", "n70"), b"rain")).failed("70", peter.NotifyMessage)
    exited = json.dumps(effect_plain(peter, Notify(NodeExited(peer("70")))), separators=(",", ":"))
    unknown = [line.replace(exited, "").replace("[,", "[") for line in node.lines]

    (right,), (wrong,) = judged(tools, "peter", node.lines), judged(tools, "peter", unknown)

    assert (right.comparison, right.judgement.opinion) == (AGREE, Opinion.ACCEPTED)
    assert (wrong.comparison, wrong.judgement.opinion) == (Comparison.UNDETERMINED, Opinion.UNDETERMINED)
    assert "several nodes of a tree were at the address of its parent" in (wrong.judgement.why or "")


@pytest.mark.slow
def test_where_a_parent_has_two_addresses_tlc_has_no_verdict(tools: Tools) -> None:
    node = Told("40").got(met("70", "n70")).asked(peter.Subscribe(TEXT)).got(peter.SubscribeMessage(at("70", "m70")))
    node.got(met("70", "o70")).failed("70", peter.SubscribeMessage)

    (each,) = judged(tools, "peter", node.lines)

    assert (each.comparison, each.judgement.events) == (Comparison.UNDETERMINED, len(node.lines) - 1)
    assert "a parent that is a child, too, had two addresses" in (each.judgement.why or "")


@pytest.mark.slow
def test_a_child_at_the_address_where_a_publish_failed_gets_no_copy_of_it(tools: Tools) -> None:
    """It has departed [PA-28] before the event is routed again, also if Wendy has forgotten the node at that address."""
    node = Told("40").got(met("70", "n70")).got(peter.SubscribeMessage(at("c3", "n70"))).asked(peter.Publish(TEXT, b"rain"))
    node.got(NodeExit(at("70", "n70"))).failed("70", peter.PublishMessage)

    (each,) = judged(tools, "peter", node.lines)

    assert (each.comparison, each.judgement.opinion) == (AGREE, Opinion.ACCEPTED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("PeterTrace.tla", "SubSeq(StringBytes(string), 1, 16)", "SubSeq(StringBytes(string), 1, 15)"),
        ("Peter.tla", "[state EXCEPT !.local = @ \\ {t}]", "state"),
        ("Peter.tla", "!.children = @ \\ {<<t, child>>}", "!.children = @"),
    ],
)
def test_a_mistake_in_the_modules_is_a_disagreement(
    file: str, right: str, wrong: str, tools: Tools, busy: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(root(), tmp_path / "models", ignore=shutil.ignore_patterns("peerproof"))
    path = tmp_path / "models/peter" / file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(trace_check, "root", lambda *_: tmp_path / "models")

    opinions = {each.judgement.opinion for each in judged(tools, "peter", busy)}

    assert right in text
    assert Opinion.REJECTED in opinions
