"""TLC judges traces of DistKV: of simulated clusters, of such that were changed, and of nodes with a mistake."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType

import pytest
from tests.conformance.mistakes.distkv import changes, electing, store, telling
from tests.support.changed_stores import CHANGES
from tests.support.hostile_stores import hostile
from tests.support.judged_traces import judged, judged_after
from tests.support.variant import Variant
from tests.support.watched import recorded

from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec.traces.trace import parse
from peerproof.tla.manifest import root
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces import trace_check
from peerproof.tla.traces.trace_check import Comparison, Opinion

AGREE, UNSEEN, UNDETERMINED = Comparison.AGREE, Comparison.UNSEEN, Comparison.UNDETERMINED


#: Odd times, and limits so small that chains are cut and infos are divided.
SMALL = (
    {"clock": 9, "ping_length": 2, "change_length": 1, "max_payload": 197},
    {"clock": 1001, "ping_length": 3, "change_length": 2, "max_payload": 288},
)


def simulated(seed: str, config: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """The lines of a small cluster; with the seed go its size, its faults, and whether it is split and a node comes back."""
    random = Random(seed)
    nodes, loss = random.choice([2, 3, 5]), random.choice([0, 0.3])
    faults = Faults(loss=loss, duplication=0.1, reordering=0.1)
    partition = (10, 20) if random.random() < 0.5 else None
    crashes, restarts = random.choice([((), ()), (((1, 8),), ()), (((1, 8),), ((1, 15),)), ((), ((1, 15),))])
    plan = {"faults": faults, "partition": partition, "crashes": crashes, "restarts": restarts, "keys": 2}
    return recorded("distkv", seed, nodes, 40, 5, config, **plan)


@pytest.fixture(scope="module")
def clusters() -> list[list[str]]:
    """Thirty of them."""
    return [simulated(f"{seed}", [{}, {}, *SMALL][seed % 4]) for seed in range(30)]


@pytest.mark.slow
def test_tlc_accepts_nodes_that_lose_messages_are_split_and_start_again(tools: Tools, clusters: list[list[str]]) -> None:
    said = judged(tools, "distkv", [line for cluster in clusters for line in cluster])

    assert {(each.comparison, each.judgement.opinion) for each in said} == {(AGREE, Opinion.ACCEPTED)}


@pytest.mark.slow
def test_the_clusters_do_all_that_the_protocol_has(clusters: list[list[str]]) -> None:
    lines = [parse(line) for cluster in clusters for line in cluster]
    timers = Counter(line.args.get("step", line.args["type"]) for line in lines if line.kind == "timer")
    notices = Counter(effect["notify"]["type"] for line in lines for effect in line.effects if "notify" in effect)

    assert timers.keys() >= {"initial_ping_due", "founding_due", "old_data_due", "ping_due", "ticks", "missing", "known"}
    assert timers.keys() >= {"recovery_over", "repair_due", "repair_allowed"}
    assert notices.keys() == {"entry_changed", "ready", "needs_download", "split_healed"}


@pytest.mark.minute
def test_whatever_happens_to_a_node_tlc_accepts_what_it_does(tools: Tools) -> None:
    traces = [hostile(f"{seed}") for seed in range(200)]
    lines = [parse(line) for trace in traces for line in trace]
    notices = {
        effect["notify"].get("kind", effect["notify"]["type"]) for line in lines for effect in line.effects if "notify" in effect
    }

    said = judged(tools, "distkv", [line for trace in traces for line in trace])

    assert {(each.comparison, each.judgement.opinion) for each in said} == {(AGREE, Opinion.ACCEPTED)}
    assert {line.refused for line in lines} == {None, "not_ready", "bad_path", "too_large", "not_loading"}
    assert notices >= {"contradiction", "name_taken", "split_healed", "needs_download", "ready", "entry_changed"}


#: What TLC says otherwise of a changed trace than the replay.
OTHERWISE = {"a fingerprint": UNSEEN, "a tick received": UNSEEN, "a timer that expires": UNDETERMINED}


@pytest.mark.slow
def test_on_changed_traces_the_replay_and_tlc_say_the_same(tools: Tools) -> None:
    """All kinds of divergences are among them."""
    changed = judged_after(tools, "distkv", CHANGES.items(), lambda number: simulated(f"{number + 100}"))

    for name, said in changed.items():
        assert {each.comparison for each in said} <= {AGREE, OTHERWISE.get(name, AGREE)}, (name, said)

    kinds = {each.divergence.what for said in changed.values() for each in said if each.divergence and each.comparison is AGREE}
    wrong = {name for name, said in changed.items() if any(each.divergence for each in said)}

    assert kinds == {"seq", "args", "picks", "effects", "refused"}
    assert wrong == set(CHANGES) - {"nothing", "nothing, once more", "the file ends within a line"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    [
        changes.wrong.variants["SendsAgainWithANewTock"],
        electing.wrong.variants["LaterArrivalWins"],
        electing.wrong.variants["HeadPingsFirst"],
        store.wrong.variants["KeepsItsOwn"],
        telling.wrong.variants["EverybodyAtOnce"],
    ],
    ids=lambda variant: variant.__name__,
)
def test_tlc_rejects_nodes_with_a_mistake_where_the_replay_does(variant: type[Variant], tools: Tools) -> None:
    with variant().overriding:
        lines = [line for seed in range(4) for line in simulated(f"{seed}")]

    said = judged(tools, "distkv", lines, with_states=False)

    assert {each.comparison for each in said} == {AGREE}
    assert Opinion.REJECTED in {each.judgement.opinion for each in said}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [('"set_timer", timer, units', '"set_timer", timer, units + 1'), ("0..10 * Cardinality", "0..2 * Cardinality")],
)
def test_a_mistake_in_the_module_is_a_disagreement(
    right: str, wrong: str, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clusters: list[list[str]]
) -> None:
    text = (root() / "distkv/DistKVTrace.tla").read_text(encoding="utf-8")
    shutil.copytree(root(), tmp_path / "models", ignore=shutil.ignore_patterns("peerproof"))
    (tmp_path / "models/distkv/DistKVTrace.tla").write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(trace_check, "root", lambda *_: tmp_path / "models")

    said = judged(tools, "distkv", [line for cluster in clusters[:4] for line in cluster])

    assert right in text
    assert Comparison.DISAGREE in {each.comparison for each in said}
