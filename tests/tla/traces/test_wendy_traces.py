"""TLC judges traces of Wendy: of simulated clusters, of such that were changed, and of nodes with a mistake."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.conformance.mistakes.wendy import announcing, routing
from tests.support.changed_traces import OF_ANY, Change
from tests.support.judged_traces import judged, judged_after
from tests.support.variant import Variant

from peerproof.reference.protocols.wendy.runtime import RUNTIME, digest
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Connections, Simulation
from peerproof.spec import wendy
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Sent, SetTimer
from peerproof.spec.errors import NotEnabled
from peerproof.spec.traces.trace import Line, describe_event, effect_plain, parse
from peerproof.spec.wendy.ids import id_of_text
from peerproof.tla.manifest import root
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces import trace_check
from peerproof.tla.traces.trace_check import Comparison, Opinion

AGREE, UNSEEN, UNDETERMINED = Comparison.AGREE, Comparison.UNSEEN, Comparison.UNDETERMINED

SECOND = 1000


def simulated(seed: str) -> list[str]:
    """
    The lines of a small cluster, of which one node crashes and comes back, and another leaves.

    With the seed go its size, its limits, its credentials, its regions, and what its applications want.
    """
    random, lines = Random(seed), list[str]()
    config: dict[str, Any] = {
        "leaf_set_side": random.choice([1, 2, 16]),
        "neighborhood_set": random.choice([2, 32]),
        "network_timeout": 2 * SECOND,
        "heartbeat": random.choice([0, 15 * SECOND]),
        "credentials": random.choice([None, b"secret"]),
        "is_consulted": random.random() < 0.3,
    }
    assert RUNTIME.connected is not None
    connections = Connections(
        RUNTIME.connected.timeout(wendy.Config(id_of_text(digest("")), **config)), RUNTIME.connected.has_left
    )
    recorder = Recorder(wendy, f"wendy {seed}", lines.append)
    simulation = Simulation(wendy, seed, Faults(reordering=0.1), recorder=recorder, connections=connections)
    ids = [NodeId(f"n{number}:1") for number in range(random.choice([3, 5, 7]))]
    ask = partial(_ask, simulation)
    for number, node in enumerate(ids):
        settings = wendy.Config(
            id_of_text(digest(node)), global_ip=f"g{number}" if number % 2 else "", region=f"r{number % 3}", **config
        )
        begin = int(random.random() * 20 * SECOND)
        simulation.at(Instant(begin), partial(simulation.start, node, settings))
        if number:
            simulation.at(Instant(begin), partial(ask, node, wendy.Join(ids[0])))
    for _ in range(30):
        node, moment = random.choice(ids), int((1 + random.random() * 89) * SECOND)
        simulation.at(Instant(moment), partial(ask, node, random.choice(_COMMANDS)(random, ids)))
    simulation.at(Instant(40 * SECOND), partial(simulation.crash, ids[1]))
    simulation.at(Instant(60 * SECOND), partial(simulation.restart, ids[1]))
    simulation.at(Instant(60 * SECOND), partial(ask, ids[1], wendy.Join(ids[0])))
    simulation.at(Instant(80 * SECOND), partial(ask, ids[2], wendy.Leave()))
    simulation.run(Instant(90 * SECOND))
    return lines


def _ask(simulation: Simulation, node: NodeId, command: Any) -> None:
    if node in simulation.states():
        with suppress(NotEnabled):
            simulation.ask(node, command)


def _node(address: NodeId) -> wendy.Node:
    host = address.partition(":")[0]
    return wendy.Node(id_of_text(digest(address)), host, host, 1, "")


def _forwarded(random: Random, ids: list[NodeId]) -> wendy.Forward:
    header = wendy.Header(_node(random.choice(ids)), id_of_text(digest(f"{random.random()}")), hop=3)
    return wendy.Forward(wendy.Application(header, 17, b"forwarded"))


#: What applications want.
_COMMANDS: list[Callable[[Random, list[NodeId]], Any]] = [
    lambda random, _: wendy.Route(id_of_text(digest(f"{random.random()}")), b"value"),
    lambda random, ids: wendy.Route(id_of_text(digest(random.choice(ids))), None, 20),
    lambda random, ids: wendy.SendTo(_node(random.choice(ids)), id_of_text(digest("key")), b"sent", hop=random.choice([0, 2])),
    lambda *_: wendy.Route(id_of_text(digest("large")), bytes(2**19 + 1)),
    lambda random, ids: wendy.Join(random.choice(ids)),
    _forwarded,
]


@pytest.fixture(scope="module")
def clusters() -> list[list[str]]:
    """Twelve of them."""
    return [simulated(f"{seed}") for seed in range(12)]


@pytest.mark.slow
def test_tlc_accepts_what_nodes_do_that_crash_leave_and_come_back(tools: Tools, clusters: list[list[str]]) -> None:
    said = judged(tools, "wendy", [line for cluster in clusters for line in cluster])

    assert {(each.comparison, each.judgement.opinion) for each in said} == {(AGREE, Opinion.ACCEPTED)}


def test_the_clusters_do_all_that_the_protocol_has(clusters: list[list[str]]) -> None:
    lines = [parse(line) for cluster in clusters for line in cluster]
    received = Counter(line.args["type"] for line in lines if line.kind == "recv")
    timers = Counter(line.args["type"] for line in lines if line.kind == "timer")
    notices = Counter(effect["notify"]["type"] for line in lines for effect in line.effects if "notify" in effect)
    refusals = Counter(line.refused for line in lines if line.refused)
    failures = Counter(line.args["message"]["type"] for line in lines if line.kind == "sent" and line.args["took"] is None)

    assert received.keys() == wendy.MESSAGE.form.cases.keys() - {"state_request"}  # which no node sends
    assert timers.keys() >= {"announce", "heartbeat_due"}
    assert notices.keys() >= wendy.NOTICE.cases.keys() - {"join_failed"}
    assert refusals.keys() >= {"not_alone", "too_large", "left"}
    assert failures


def altered(part: str, old: str, new: str) -> Change:
    """The trace without fingerprints and with something replaced, once, in the args or the effects of a line."""

    def change(lines: list[str], random: Random) -> list[str]:
        bare = [re.sub('"state":"[0-9a-f]+"', '"state":null', line) for line in lines]
        split = [line.partition('"picks":') for line in bare]
        at = random.choice([at for at, parts in enumerate(split) if re.search(old, parts[2 if part == "effects" else 0])])
        args, picks, effects = split[at]
        if part == "effects":
            return [*bare[:at], args + picks + re.sub(old, new, effects, count=1), *bare[at + 1 :]]
        return [*bare[:at], re.sub(old, new, args, count=1) + picks + effects, *bare[at + 1 :]]

    return change


ANY_ID = '"[0-9a-f]{32}"'
NOBODY_EXITS = f'"type":"node_exit","header":{{"sender":{{"id":"{"0" * 32}"'

#: How a trace is changed.
CHANGED: dict[str, Change] = {
    **{name: change for name, change in OF_ANY.items() if name != "nothing, once more"},
    "an effect": altered("effects", r'"effects":\[\{"', '"effects":[{"x'),
    "an effect less": altered("effects", r'"effects":\[\{"(send|notify)":.*\],"state', '"effects":[],"state'),
    "an answer that was not asked for": altered("effects", r"^\[\]", '[["somewhere",["n1:1"]]]'),
    "whom it was sent to": altered("effects", r'"to":"[^"]+"', '"to":"n9:1"'),
    "its own id": altered("effects", f'"sender":{{"id":{ANY_ID}', f'"sender":{{"id":"{"0" * 32}"'),
    "its own host": altered("effects", '"local_ip":"n', '"local_ip":"m'),
    "a version sent": altered("effects", '"leaf_set":"', '"leaf_set":"9'),
    "a key": altered("effects", f'"key":{ANY_ID}', f'"key":"{"f" * 32}"'),
    "a hop": altered("effects", '"hop":0', '"hop":1'),
    "a column": altered("effects", r'"column":(\d+),"node"', r'"column":1\1,"node"'),
    "a leaf on the other side": altered("effects", r'"left":(\[[^]]+\]),"right":\[\]', r'"left":[],"right":\1'),
    "the mark of a destination": altered("effects", '"destination":false', '"destination":true'),
    "rows that are asked for": altered("effects", r'"rows":\[\d+\]', '"rows":[31]'),
    "a notice": altered("effects", '"type":"joined"', '"type":"join_failed","contact":"n0:1"'),
    "when the wait is over": altered("effects", '"after":4000', '"after":2000'),
    "versions received": altered("args", '"neighborhood_set":"0"', '"neighborhood_set":"99"'),
    "a table that was not received": altered("args", '"leaf_set":{"left".*?}],"right":.*?},"neigh', '"leaf_set":null,"neigh'),
    "whether it arrived": altered("args", '"took":[0-9]+', '"took":null'),
    "how long it took": altered("args", '"took":[0-9]', '"took":99999'),
    "who has gone": altered("args", f'"type":"node_exit","header":{{"sender":{{"id":{ANY_ID}', NOBODY_EXITS),
    "a port": altered("args", '"port":1', '"port":2'),
}  # fmt: skip

#: What TLC may say otherwise than the replay: it does not hash, and an id has one address for ever.
OTHERWISE = {"a fingerprint": UNSEEN, "a port": UNDETERMINED, "who has gone": UNDETERMINED}


#: What may have no consequence that a node shows.
WITHOUT_TRACE = {"a table that was not received", "how long it took", "versions received", "a port"}


@pytest.mark.minute
def test_on_changed_traces_the_replay_and_tlc_say_the_same(tools: Tools) -> None:
    """All kinds of divergences are among them."""
    changed = judged_after(tools, "wendy", CHANGED.items(), lambda number: simulated(f"{number % 7} of {number}"))

    for name, said in changed.items():
        assert {each.comparison for each in said} <= {AGREE, OTHERWISE.get(name, AGREE)}, (name, said)

    rejected = {
        each.divergence.what for said in changed.values() for each in said if each.divergence and each.comparison is AGREE
    }
    wrong = {name for name, said in changed.items() if any(each.divergence for each in said)}

    assert rejected == {"seq", "args", "picks", "effects", "refused"}
    assert wrong >= set(CHANGED) - {"nothing", "the file ends within a line", *WITHOUT_TRACE}


MISTAKES: list[type[Variant]] = [
    announcing.wrong.variants["AnnouncesToLeaves"],
    announcing.wrong.variants["NeverWarns"],
    announcing.wrong.variants["WaitsOnce"],
    routing.wrong.variants["ColumnFromTheOwner"],
    routing.wrong.variants["NeverItself"],
    routing.wrong.variants["AheadOfEquals"],
    routing.wrong.variants["TheFirstOfATable"],
]


@pytest.mark.minute
def test_tlc_rejects_nodes_with_a_mistake_where_the_replay_does(tools: Tools) -> None:
    lines = list[str]()
    for variant in MISTAKES:
        with variant().overriding:
            lines += [line.replace('"run":"', f'"run":"{variant.__name__} ', 1) for line in simulated("5") + simulated("8")]

    said = judged(tools, "wendy", lines, with_states=False)

    rejected = {each.judgement.run.partition(" ")[0] for each in said if each.judgement.opinion is Opinion.REJECTED}
    assert {each.comparison for each in said} == {AGREE}
    assert rejected == {variant.__name__ for variant in MISTAKES}


#: How a trace is changed so that the module has no verdict, and why.
UNJUDGED: dict[str, Change] = {
    "its leaf set is two-sided": altered("args", '"is_two_sided":false', '"is_two_sided":true'),
    "its network timeout is too long": altered("args", '"network_timeout":2000', f'"network_timeout":{2**30}'),
    "its own address is not a host and a port": altered("args", '"node":"n(.):1"(.*"kind":"start")', r'"node":"n\1"\2'),
    "it has as many hops as are counted": altered("args", '"kind":"recv"(.*)"hop":[01]', rf'"kind":"recv"\1"hop":{2**31 - 1}'),
    "cells are out of order": altered(
        "args", r'"kind":"recv"(.*)"routing_table":\[({.*?}})', r'"kind":"recv"\1"routing_table":[\2,\2'
    ),
    "an id has two addresses or none, or shares one": altered("args", '"kind":"recv"(.*)"port":1', r'"kind":"recv"\1"port":0'),
}


@pytest.mark.slow
def test_what_the_module_cannot_judge_is_undetermined_and_not_rejected(tools: Tools) -> None:
    lines = [line for number, change in enumerate(UNJUDGED.values()) for line in change(simulated(f"{number}"), Random(number))]

    said = judged(tools, "wendy", [*lines, *Alone("a small ring", "0", ring=wendy.Ring(4, 2)).lines])

    whys = {each.judgement.why.rpartition(": ")[2] for each in said if each.judgement.why}
    assert whys == {*UNJUDGED, "its ring has ids of another size"}
    assert {each.comparison for each in said} == {AGREE, UNDETERMINED}


#: Ids, written without the zeros at their ends, that share none to four digits.
IDS = ["0", "01", "012", "0123", "02", "5", "51", "52", "2", "21", "8", "80001", "f", "ff", "7f", "9", "08", "84"]


def an_id(digits: str) -> Any:
    return id_of_text(digits.ljust(32, "0"))


def at(digits: str) -> wendy.Node:
    """The node with this id."""
    return wendy.Node(an_id(digits), f"n{digits}", f"n{digits}", 1)


class Alone:
    """One node that gets whatever a test makes up, and the lines of its trace."""

    def __init__(self, run: str, digits: str, **config: Any) -> None:
        self.digits, self._run = digits, run
        self.config = wendy.Config(an_id(digits), **config)
        first = wendy.initial(NodeId(f"n{digits}:1"), self.config)
        self.state, self.effects, self.lines = first.state, list(first.effects), list[str]()
        self._write("start", None, wendy.CONFIG.plain(self.config), first.effects, None)

    def take(self, event: Any) -> None:
        """Steps, and writes the line."""
        effects: tuple[Any, ...] = ()
        refused = None
        try:
            self.state, effects = wendy.step(self.state, event, lambda *_: ())
        except NotEnabled as error:
            refused = error.reason
        self.effects += effects
        self._write(*describe_event(wendy, event), effects, refused)

    def _write(self, kind: Any, peer: str | None, args: Any, effects: Any, refused: str | None) -> None:
        shown, seq = tuple(effect_plain(wendy, effect) for effect in effects), len(self.lines)
        own = f"n{self.digits}:1"
        self.lines.append(Line(self._run, "wendy", "test", own, seq, seq, kind, peer, args, (), shown, None, refused).json())


NOW = Instant(1)


def anything(seed: int) -> list[str]:
    """The lines of a node that gets fifty messages, outcomes, timers and commands in no planned order."""
    random = Random(seed)
    own, *others = random.sample(IDS, random.choice([5, 8, 13]))
    limits = {"leaf_set_side": random.choice([1, 2, 16]), "neighborhood_set": random.choice([1, 2, 32])}
    node = Alone(f"any {seed}", own, is_consulted=random.random() < 0.2, **limits)

    def some(most: int) -> tuple[wendy.Node, ...]:
        return tuple(map(at, random.sample([own, *others], random.randrange(most))))

    def tables() -> wendy.Tables:
        cells = {(random.randrange(3), random.randrange(16)): other for other in some(5)}
        rows = tuple(wendy.Entry(*cell, other) for cell, other in sorted(cells.items()))
        leaves, neighbours = wendy.LeafSet(some(3), some(3)), some(4)
        return wendy.Tables(*[random.choice([table, None]) for table in (rows, leaves, neighbours)])  # type: ignore[arg-type]

    def mask() -> wendy.Mask:
        rows, columns = (tuple(sorted(random.sample(range(16), random.choice([0, 1, 8])))) for _ in range(2))
        return wendy.Mask(random.random() < 0.7, random.random() < 0.3, random.random() < 0.3, rows, columns)

    def message(about: wendy.Header) -> Any:
        kinds: list[Callable[[], Any]] = [
            lambda: wendy.StateData(about, tables(), random.random() < 0.3),
            lambda: wendy.StateData(about, tables()),
            lambda: wendy.NodeAnnouncement(about, tables()),
            lambda: wendy.NodeRace(about, tables()),
            lambda: wendy.NodeExit(about),
            lambda: wendy.NodeJoin(about),
            lambda: random.choice([wendy.NodeRepair, wendy.StateRequest])(about, mask()),
            lambda: wendy.Application(about, 20, b"value"),
        ]
        return random.choice(kinds)()

    def event() -> Any:
        other = random.choice(others)
        sent = [effect for effect in node.effects if isinstance(effect, Send)]
        timers = [effect.timer for effect in node.effects if isinstance(effect, SetTimer)]
        versions = random.choice([node.state.versions, wendy.Versions(99, 99, 99), wendy.Versions(1, 2, 0)])
        key = random.choice([other, "4", "6", "c", "00f", "8f", own])
        choice = random.random()
        if sent and choice < 0.4:
            effect = sent.pop(random.randrange(len(sent)))
            node.effects.remove(effect)
            return Sent(NOW, effect.to, effect.message, random.choice([10, 10, 20, 30, random.randrange(60), None]))
        if choice < 0.85:
            about = wendy.Header(at(other), an_id(key), versions, None, random.choice([0, 0, 3]))
            return Received(NOW, NodeId(f"n{other}:1"), message(about))
        if choice < 0.92:
            return Expired(NOW, random.choice(timers))
        commands = [wendy.Join(NodeId(f"n{other}:1")), wendy.Route(an_id(key), None), wendy.Route(an_id(key), b"value")]
        return Asked(NOW, random.choice(commands))

    for _ in range(50):
        node.take(event())
    return node.lines


@pytest.mark.minute
def test_tlc_accepts_what_a_node_does_about_anything(tools: Tools) -> None:
    lines = [line for seed in range(60) for line in anything(seed)]

    said = judged(tools, "wendy", lines)

    repairs = sum('"type":"repair_timeout"' in line and '"kind":"timer"' in line for line in lines)
    assert {(each.comparison, each.judgement.opinion) for each in said} == {(AGREE, Opinion.ACCEPTED)}
    assert repairs > 5


@pytest.mark.slow
def test_the_own_row_is_asked_although_a_node_that_would_fit_is_being_measured(tools: Tools) -> None:
    node = Alone("measured", "0")
    for other, score in (("5", 10), ("2", 20)):
        node.take(Received(NOW, NodeId(f"n{other}:1"), wendy.StateData(wendy.Header(at(other), an_id(other)), wendy.Tables())))
        node.take(Sent(NOW, NodeId(f"n{other}:1"), wendy.Heartbeat(wendy.Header(at("0"), an_id("0"))), score))
    candidate = wendy.Tables((wendy.Entry(0, 5, at("51")),))
    node.take(Received(NOW, NodeId("n2:1"), wendy.StateData(wendy.Header(at("2"), an_id("2")), candidate)))
    node.take(Received(NOW, NodeId("n5:1"), wendy.NodeExit(wendy.Header(at("5"), an_id("5")))))

    assert {each.comparison for each in judged(tools, "wendy", node.lines)} == {AGREE}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"), [("TopSize == 65536", "TopSize == 256"), ("2 * config.network_timeout", "config.network_timeout")]
)
def test_a_mistake_in_the_module_is_a_disagreement(
    right: str, wrong: str, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clusters: list[list[str]]
) -> None:
    text = (root() / "wendy/WendyTrace.tla").read_text(encoding="utf-8")
    shutil.copytree(root(), tmp_path / "models", ignore=shutil.ignore_patterns("peerproof"))
    (tmp_path / "models/wendy/WendyTrace.tla").write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(trace_check, "root", lambda *_: tmp_path / "models")

    said = judged(tools, "wendy", [line for cluster in clusters[:4] for line in cluster])

    assert right in text
    assert Comparison.DISAGREE in {each.comparison for each in said}
