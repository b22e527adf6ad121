"""Runs of models as diagrams: the commands that are executed, and how the nodes begin."""

from __future__ import annotations

import pytest

from peerproof.conformance.models import counterexamples
from peerproof.conformance.models.model_check import select_models
from peerproof.conformance.models.run_diagram import describe_start


@pytest.mark.parametrize(
    ("protocol", "name", "step", "start"),
    [
        ("swim", "SX-02-stale-rumour", "1. Command: crash", "node 1 begins with table[2] = {status: normal, "),
        ("distkv", "DX-03-conflict", "1. Command: set /1 = 1", "n3 begins with phase = ready, tock = 3"),
        ("peter", "PL-02-lost", "2. Command: crash", "node 3 begins with children = {(1, 1)}, parent"),  # without tables
        ("scuttlebutt", "BX-01-round-sync", "1. Round", ""),  # its nodes are new
    ],
)
def test_a_run_shows_commands_and_nodes_that_are_not_new(protocol: str, name: str, step: str, start: str) -> None:
    (model,) = select_models(protocol, names=[name])

    answer = counterexamples.ask_explorer(model, lambda *_: None)

    assert step in counterexamples.draw_path(answer.graph, answer.path).text()
    assert start in "\n".join(describe_start(counterexamples.system_of(answer.graph)))
