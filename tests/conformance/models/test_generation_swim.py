"""Vectors of a model that knows more of a node than its program does: who is down, and what applications still have to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.models.test_generation import of, table

from peerproof.conformance.models.generation import select_configurations
from peerproof.conformance.models.local_steps import CutShort, local_steps
from peerproof.conformance.models.path_cover import state_graph
from peerproof.conformance.vectors import plain_forms
from peerproof.spec import swim
from peerproof.spec.core import Asked, Instant
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim.messages import Incarnation
from peerproof.spec.swim.model.bounded import Bounded, Model

CONFIGURATIONS = {one.name: one for one in select_configurations("swim")}


def refused(body: dict[str, Any]) -> Iterator[str]:
    """Why the specification refuses the calls of a vector."""
    node = body["nodes"]["node"]
    state = swim.STATE.value(node["state"], node["addr"], swim.CONFIG.value(node["config"]))
    for call in (step["call"] for step in body["steps"] if "call" in step):
        with pytest.raises(NotEnabled) as raised:
            swim.step(state, Asked(Instant(0), swim.COMMAND.value({"type": call["op"], **call["args"]})), lambda *_: ())
        yield raised.value.reason


def test_what_is_refused_is_refused_by_the_specification_and_not_by_the_bounds_of_a_model() -> None:
    reasons = {reason for name in CONFIGURATIONS for body in bodies(name, "refusal") for reason in refused(body)}

    assert reasons == {"own_node", "unknown_node", "not_own"}


def test_a_command_is_called_by_its_name_whatever_the_model_calls_it() -> None:
    called = {op for name in CONFIGURATIONS for body in bodies(name, "step") for op in ops(body)}

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
    model = Model({**CONFIGURATIONS["small-a"].constants, "Node": [1, 2, 3, 4], "Active": [1], "Start": "acquainted", "MaxTx": 2})
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


def bodies(name: str, kind: str) -> Iterator[dict[str, Any]]:
    for vector in of(name, kind, "swim"):
        yield json.loads(json.dumps(dict(vector.body)))


def ops(body: dict[str, Any]) -> set[str]:
    return {step["call"]["op"] for step in body["steps"] if "call" in step}
