"""Counterexamples are vectors as well: a node that conforms passes them, one with the flaw that they show does not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.wrong import Wrong

from peerproof.conformance.adapter import Patience
from peerproof.conformance.cases import cases
from peerproof.conformance.counterexample_vectors import FILE, chosen, text, vectors_of
from peerproof.conformance.inprocess import InProcess
from peerproof.conformance.result import STATUSES, Result
from peerproof.conformance.runner import Settings, run
from peerproof.conformance.sources import vectors_root
from peerproof.conformance.vectors import Suite, load
from peerproof.spec.core import Pick
from peerproof.spec.scuttlebutt import variants
from peerproof.spec.scuttlebutt.state import State
from peerproof.spec.scuttlebutt.transitions import Next
from peerproof.tla.manifest import models

MODELS = {model.name: model for model in chosen(models("scuttlebutt"))}
OWN = f"scuttlebutt/{FILE}"


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load()


class NewestFirst(Wrong):
    """Packs the newest pairs first."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """What the model with this flaw does."""
        return variants.NewestFirst.spec.step(state, event, pick)


class EndsTheMessage(Wrong):
    """Lets a pair that never fits end the message."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """What the model with this flaw does."""
        return variants.EndsTheMessage.spec.step(state, event, pick)


def failing(implementation: str, suite: Suite) -> set[str]:
    """The names of the vectors from counterexamples that are not passed."""
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    adapter = InProcess(implementation, Patience(), suite.version)
    vectors = [vector for vector in suite.vectors if vector.file == OWN]
    run(lambda: adapter, adapter, adapter.start(), cases(suite, vectors), Settings(strict=True), report)
    assert {result.vector for result in results} == {vector.id for vector in vectors}
    assert not [result for result in results if result.status == "skipped"]
    return {result.vector.rpartition("/")[2] for result in results if STATUSES[result.status]}


def test_file_is_what_the_stored_counterexamples_make() -> None:
    """To make it again: peerproof model-check --rewrite."""
    assert (vectors_root() / OWN).read_text(encoding="utf-8") == text("scuttlebutt", MODELS.values())


def test_every_claim_that_is_false_has_a_vector(suite: Suite) -> None:
    flagged = {vector.id.rpartition("/")[2]: vector.flags for vector in suite.vectors if vector.file == OWN}

    assert {name[:5] for name in flagged} == {"bx-01", "bx-03", "bx-04", "bx-05", "bx-06"}
    assert MODELS["BX-02-join-by-own-round"].steps == MODELS["BX-01-round-sync"].steps  # it is the same run
    assert {name[:5] for name, flags in flagged.items() if flags} == {"bx-01", "bx-03", "bx-04"}


def test_reference_passes(suite: Suite) -> None:
    assert failing("peerproof.reference.harness:Harness", suite) == set()


@pytest.mark.parametrize(
    ("flaw", "caught_by"),
    [(NewestFirst, "bx-05-newest-first-node-2"), (EndsTheMessage, "bx-06-oversize-starves-node-2")],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_node_with_the_flaw_of_a_model_fails_the_vector_of_its_counterexample(
    flaw: type[Wrong], caught_by: str, suite: Suite
) -> None:
    assert caught_by in failing(f"{flaw.__module__}:{flaw.__name__}", suite)


def test_vector_names_its_configuration_and_where_nothing_was_changed_its_path() -> None:
    (plain, *_), (changed, *_) = (list(vectors_of(MODELS[name])) for name in ("BX-04-receiver-restart", "BX-05-newest-first"))

    assert plain["model"]["config"] == "receiver-restart"
    assert plain["model"]["path"][-3:] == ["Restart", "Receive", "Receive"]
    assert changed["model"] == {"config": "one-entry"}
