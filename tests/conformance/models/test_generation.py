"""Vectors made from state graphs: always the same, of every step of every node, and found out when they are others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.model_tables import kept, of, table

from peerproof.cli.main import main
from peerproof.conformance.models import generation
from peerproof.conformance.models.generation import fingerprint, in_time, select_configurations
from peerproof.conformance.models.local_steps import CutShort, local_steps
from peerproof.conformance.models.path_cover import LONGEST, covering, state_graph
from peerproof.conformance.suite.schema import unfit
from peerproof.conformance.vectors import plain_forms
from peerproof.conformance.vectors.model_table import OutOfTime, schedule, table_of
from peerproof.conformance.vectors.suite import Vector, VectorError, load
from peerproof.spec import swim
from peerproof.spec.core import Asked, Instant
from peerproof.spec.errors import NotEnabled
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.spec.swim.messages import Incarnation
from peerproof.spec.swim.model.bounded import Bounded
from peerproof.spec.swim.model.bounded import Model as SwimModel

pytestmark = pytest.mark.slow

CONFIGURATIONS = {one.name: one for one in select_configurations("scuttlebutt")}

of_each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


@of_each_protocol
def test_each_configuration_that_says_so_has_its_table(protocol: str) -> None:
    names = {one.name for one in select_configurations(protocol)}

    assert {path.stem for path in kept("tiny", protocol).parent.iterdir()} == names
    assert {"tiny", {"wendy": "small-joins", "peter": "small-chain", "distkv": "small-split"}.get(protocol, "small-a")} <= names


@pytest.mark.minute
def test_all_tables_are_what_is_made_now_in_a_process_with_another_hash_seed() -> None:
    command = [sys.executable, "-m", "peerproof.cli.main", "vectors", "generate", "--check"]
    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "4711"}, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("unchanged: ") == sum(len(select_configurations(protocol)) for protocol in PROTOCOLS)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A root of vectors that has only the tables."""
    shutil.copytree(kept("tiny").parent, tmp_path / "scuttlebutt" / "model")
    return tmp_path


@pytest.mark.parametrize(
    ("right", "wrong", "shown"),
    [
        ('["timer",', '["timer" ,', r'it has \["timer" ,\{'),
        (
            '"BA-22","BA-32"],',
            '"BA-22","BA-99"],',
            r'it has \(\d+ characters\) ….*"BA-22","BA-99"\],"digest_response.*now it is .*"BA-22","BA-32"\],"digest_r',
        ),
    ],
)
def test_check_names_the_file_and_the_line_that_differ_and_writes_nothing(
    copied: Path, capsys: Capture, right: str, wrong: str, shown: str
) -> None:
    """Of a long line it shows the part that differs."""
    file = copied / "scuttlebutt" / "model" / "tiny.json"
    spoilt = file.read_text(encoding="utf-8").replace(right, wrong)
    file.write_text(spoilt, encoding="utf-8")

    tables = ("--only", "tiny", "--only", "small-c")
    assert main(["vectors", "generate", "scuttlebutt", "--check", *tables, "--vectors", str(copied)]) == 1
    line = spoilt[: spoilt.index(wrong)].count("\n") + 1
    said = capsys.readouterr().out
    assert re.search(rf"tiny\.json  differs in line {line}: {shown}", said)
    assert "; peerproof vectors generate scuttlebutt --only tiny writes it again\n" in said
    assert file.read_text(encoding="utf-8") == spoilt


def test_check_misses_a_table_and_generate_writes_it(copied: Path, capsys: Capture) -> None:
    file = copied / "scuttlebutt" / "model" / "tiny.json"
    file.unlink()
    arguments = ("scuttlebutt", "--only", "tiny", "--vectors", str(copied))

    assert main(["vectors", "generate", "--check", *arguments]) == 1
    assert "tiny.json  is missing; peerproof vectors generate scuttlebutt --only tiny writes it again" in capsys.readouterr().out
    assert main(["vectors", "generate", *arguments]) == 0
    assert file.read_bytes() == kept("tiny").read_bytes()
    assert main(["vectors", "generate", "--check", *arguments]) == 0


def test_generate_refuses_what_it_does_not_know(capsys: Capture) -> None:
    assert main(["vectors", "generate", "smoke-signals"]) == 2
    assert "unknown protocol 'smoke-signals'\ntip: there are distkv, peter, scuttlebutt" in capsys.readouterr().err
    assert main(["vectors", "generate", "scuttlebutt", "--only", "enormous"]) == 2
    assert "unknown configuration enormous\ntip: there are small-a, small-b, small-c, tiny" in capsys.readouterr().err
    assert main(["vectors", "generate", "--check", "--every-edge", "x"]) == 2


def test_a_table_that_would_be_too_large_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(generation, "MOST_STEPS", 128)

    assert main(["vectors", "generate", "scuttlebutt", "--only", "tiny", "--check"]) == 2
    assert "the nodes of tiny take 129 different steps, a table holds 128; in constants.json, give" in capsys.readouterr().err


def test_paths_take_every_edge_of_tiny_and_are_no_longer_than_they_may_be() -> None:
    graph = state_graph(local_steps(Model(CONFIGURATIONS["tiny"].constants)))
    taken, paths = set[tuple[int, int]](), list(covering(graph, every_edge=True))
    for path in paths:
        world = 0
        for token in path:
            at = next(at for at, (known, _) in enumerate(graph.edges[world]) if known == token)
            taken.add((world, at))
            world = graph.edges[world][at][1]

    assert len(taken) == graph.count
    assert max(map(len, paths)) <= LONGEST
    assert fingerprint(paths) == fingerprint(table("tiny").paths)


def test_every_refusal_is_of_a_call_that_the_specification_refuses_in_that_state() -> None:
    refusals = of("small-a", "refusal")

    assert len(refusals) == len({json.dumps(vector.body["nodes"]["node"]) for vector in refusals}) == len(table("small-a").states)
    assert all(vector.body["steps"][0]["refused"] for vector in refusals)


def some(name: str, kind: str, protocol: str) -> list[Vector]:
    every = of(name, kind, protocol)
    return every[:: 1 + len(every) // 4]


@of_each_protocol
def test_bodies_are_vectors_as_somebody_would_write_them(protocol: str) -> None:
    """The schema knows the layers that people write; but for its layer each body fits, and so do its forms."""
    names = [one.name for one in select_configurations(protocol)]

    for vector in (vector for name in names for kind in ("step", "refusal", "path") for vector in some(name, kind, protocol)):
        body = json.loads(json.dumps(dict(vector.body))) | {"id": vector.id.replace("/model/", "/exchange/")}
        document = {"format": 1, "protocol": protocol, "about": "one", "vectors": [body]}

        assert unfit(document, "vector") is None, vector.id
        assert list(plain_forms.misfits(protocol, body)) == [], vector.id


def test_what_is_the_same_has_the_same_id_wherever_it_stands(copied: Path) -> None:
    file = copied / "scuttlebutt" / "model" / "small-c.json"
    before = {vector.id for vector in load(copied).vectors if "small-c-step" in vector.id}
    plain = json.loads(file.read_bytes())
    plain |= {"steps": plain["steps"][5:], "paths": [], "walks": []}
    file.write_text(json.dumps(plain), encoding="utf-8")

    assert {vector.id for vector in load(copied).vectors if "small-c-step" in vector.id} < before


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"format": 1', '"format": 2', "format: 1 was expected"),
        ('"about"', '"abuot"', "'about' is a required property"),
        ('"protocol": "scuttlebutt"', '"protocol": "swim"', "it belongs in swim/model/tiny.json"),
        ('"notices": [', '"notices": [', None),
        ("{", "", "not JSON"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_name(copied: Path, before: str, after: str, message: str | None) -> None:
    file = copied / "scuttlebutt" / "model" / "tiny.json"
    file.write_text(file.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")

    if message is None:
        assert load(copied).vectors
        return
    with pytest.raises(VectorError) as raised:
        load(copied)
    assert "tiny.json" in str(raised.value)
    assert message in str(raised.value)


def test_a_row_that_names_what_is_not_there_is_refused(copied: Path) -> None:
    file = copied / "scuttlebutt" / "model" / "tiny.json"
    plain = json.loads(file.read_bytes())
    plain["steps"][3][1] = 999
    file.write_text(json.dumps(plain), encoding="utf-8")

    with pytest.raises(VectorError, match=r"tiny\.json: its rows do not fit together: IndexError"):
        load(copied)


#: A node with two timers, and a step for each; every step starts both again.
TWO_TIMERS: dict[str, Any] = {
    "format": 1,
    "protocol": "scuttlebutt",
    "configuration": "two",
    "about": "",
    "clauses": {},
    "nodes": [{"addr": "1", "config": {}, "timers": [[0, 10], [1, 25]]}],
    "parts": [],
    "states": [[0, []]],
    "events": [["timer", {"type": "short"}], ["timer", {"type": "long"}], ["call", {"type": "ask"}]],
    "messages": [],
    "notices": [],
    "steps": [[0, 0, [], 0, [], [[0, 10]], []], [0, 1, [], 0, [], [[1, 25]], []], [0, 2, [], 0, [], [[0, None]], []]],
    "refusals": [],
    "paths": [],
    "walks": [],
}


def test_a_timer_takes_its_step_when_it_is_due() -> None:
    assert [at for at, _ in schedule(table_of(TWO_TIMERS), 0, [2, 1, 1])] == [0, 25, 50]
    assert [at for at, _ in schedule(table_of(TWO_TIMERS), 0, [0, 0, 2])] == [10, 20, 20]


@pytest.mark.parametrize("steps", [[1], [0, 1], [2, 0]])
def test_a_timer_that_is_not_the_next_one_due_cannot_take_its_step(steps: list[int]) -> None:
    with pytest.raises(OutOfTime):
        list(schedule(table_of(TWO_TIMERS), 0, steps))


def test_a_path_is_walked_no_further_than_the_clock_lets_it() -> None:
    local = local_steps(Model(CONFIGURATIONS["tiny"].constants))
    state_graph(local)
    full = table("tiny")
    walk = max(range(len(full.walks)), key=lambda number: full.walks[number][2])
    place, path, count = full.walks[walk]

    assert len(list(in_time(local, full, place, path))) == count

    hurried = [*full.nodes]
    hurried[place] = hurried[place] | {"timers": [[event, 5] for event, _ in hurried[place]["timers"]] + [[999, 5]]}
    with_two_timers = table_of(json.loads(kept("tiny").read_bytes()) | {"nodes": hurried})
    assert len(list(in_time(local, with_two_timers, place, path))) < count


# Vectors of a model that knows more of a node than its program does: who is down, and what applications still have to do.

OF_SWIM = {one.name: one for one in select_configurations("swim")}


def bodies(name: str, kind: str) -> Iterator[dict[str, Any]]:
    for vector in of(name, kind, "swim"):
        yield json.loads(json.dumps(dict(vector.body)))


def ops(body: dict[str, Any]) -> set[str]:
    return {step["call"]["op"] for step in body["steps"] if "call" in step}


def refused(body: dict[str, Any]) -> Iterator[str]:
    """Why the specification refuses the calls of a vector."""
    node = body["nodes"]["node"]
    state = swim.STATE.value(node["state"], node["addr"], swim.CONFIG.value(node["config"]))
    for call in (step["call"] for step in body["steps"] if "call" in step):
        with pytest.raises(NotEnabled) as raised:
            swim.step(state, Asked(Instant(0), swim.COMMAND.value({"type": call["op"], **call["args"]})), lambda *_: ())
        yield raised.value.reason


def test_what_is_refused_is_refused_by_the_specification_and_not_by_the_bounds_of_a_model() -> None:
    reasons = {reason for name in OF_SWIM for body in bodies(name, "refusal") for reason in refused(body)}

    assert reasons == {"own_node", "unknown_node", "not_own"}


def test_a_command_is_called_by_its_name_whatever_the_model_calls_it() -> None:
    called = {op for name in OF_SWIM for body in bodies(name, "step") for op in ops(body)}

    assert called == {"add_node", "leave_node", "remove_node", "set_payload"}


def test_a_crash_is_on_paths_and_in_no_vector() -> None:
    assert "Command" in {label for label, _ in table("small-relay", "swim").unnoticed}
    for kind in ("step", "path"):
        assert not [body for body in bodies("small-relay", kind) if any("crash" in step for step in body["steps"])]


def test_a_node_that_keeps_its_restart_counter_is_told_it_and_one_that_loses_it_is_not() -> None:
    told: dict[str, set[str]] = {}
    for body in bodies("small-restart", "step"):
        for step in body["steps"]:
            if "restart" in step:
                told.setdefault(body["nodes"]["node"]["addr"], set()).add(json.dumps(step.get("config")))

    assert told == {"n:1": {"null"}, "n:2": {'{"restart_counter": "1"}', '{"restart_counter": "2"}'}}


def test_a_node_that_does_not_begin_as_a_fresh_one_is_loaded_for_its_paths() -> None:
    fresh, acquainted = of("tiny", "path", "swim"), of("small-suspicion", "path", "swim")

    assert all("state.load" not in vector.needs and "state" not in vector.body["nodes"]["node"] for vector in fresh)
    assert all("state.load" in vector.needs for vector in acquainted)
    assert {json.dumps(v.body["nodes"]["node"]["timers"]) for v in acquainted} == {'[{"timer": {"type": "quantum"}, "due": 300}]'}


class NobodyFirst(Bounded):
    """The specification, where a round never begins with a certain node."""

    def step(self, state: Any, event: Any, pick: Any) -> Any:
        """Leaves out some of the draws."""
        taken = super().step(state, event, pick)
        if taken.state.vector and taken.state.vector[0].endswith("3"):
            raise NotEnabled("bound", "not with this one")
        return taken


def test_bounds_that_leave_out_some_of_the_draws_of_an_event_make_no_table() -> None:
    """A node under test that draws another one could not be judged."""
    model = SwimModel({**OF_SWIM["small-a"].constants, "Node": [1, 2, 3, 4], "Active": [1], "Start": "acquainted", "MaxTx": 2})
    model.spec = NobodyFirst(Incarnation(0, 2))

    with pytest.raises(CutShort, match="quantum"):
        state_graph(local_steps(model))


def test_a_configuration_after_a_restart_that_cannot_be_is_found() -> None:
    body = next(body for body in bodies("small-restart", "step") if any("config" in step for step in body["steps"]))
    assert list(plain_forms.misfits("swim", body)) == []

    next(step for step in body["steps"] if "restart" in step)["config"] = {"restart_counter": -1}

    (misfit,) = plain_forms.misfits("swim", body)
    assert misfit.where == ("steps", 1, "config")
    assert "restart_counter" in misfit.message
