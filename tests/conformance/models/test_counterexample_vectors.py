"""Counterexamples are vectors as well: a node that conforms passes them, one with the flaw that they show does not."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Final

import pytest
from tests.support.catching import failed, path_of, suite
from tests.support.variant import Variant

from peerproof.conformance.models.counterexample_vectors import FILE, text, vector_models, vectors_of
from peerproof.conformance.models.counterexamples import variants_of
from peerproof.conformance.suite.locations import vectors_root
from peerproof.conformance.vectors.suite import Vector
from peerproof.spec.core import Pick, Step
from peerproof.spec.model.bounded import Model as World
from peerproof.spec.model.bounded import Taking
from peerproof.spec.overrides import overridden
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.swim.model.variants import first_picks, within_sides
from peerproof.tla.manifest import Model, models

MODELS: Final = {protocol: {model.name: model for model in vector_models(models(protocol))} for protocol in PROTOCOLS}

of_each_protocol = pytest.mark.parametrize("protocol", MODELS)


class Changed(Variant):
    """The reference with all that a model changes of a node; neither how the dice fall nor what the network does."""

    model: ClassVar[type[World]]

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """See `World.changes`."""
        step: Taking = overridden(super().step, self.model.overrides)
        for change in self.model.changes:
            if change not in (first_picks, within_sides):
                step = partial(change, step)
        return step(state, event, pick)


def changed(model: Model) -> type[Variant]:
    """The reference changed as this model, where `path_of` says."""
    name, right = model.name.replace("-", ""), import_module(f"tests.conformance.mistakes.{model.protocol}").Wrong
    world = variants_of(model.protocol).VARIANTS[frozenset(model.replace.values())]
    globals()[name] = type(name, (Changed, right), {"__module__": __name__, "model": world})
    found: type[Variant] = globals()[name]
    return found


def own(protocol: str) -> list[Vector]:
    """The vectors from a protocol's counterexamples."""
    return [vector for vector in suite().vectors if vector.file == f"{protocol}/{FILE}"]


def failing(implementation: str, protocol: str) -> set[str]:
    """The names of those that are not passed."""
    return {name.rpartition("/")[2] for name in failed(implementation, own(protocol))}


def flags_of(protocol: str) -> dict[str, tuple[str, ...]]:
    """The vectors' names, and their flags."""
    return {vector.id.rpartition("/")[2]: tuple(vector.flags) for vector in own(protocol)}


def named(name: str) -> Model:
    """The model of this name, in small letters."""
    return next(model for protocol in PROTOCOLS for model in models(protocol) if model.name.lower() == name)


def claims(protocol: str) -> dict[str, list[Model]]:
    """The clauses that say what is false, and their models."""
    found: dict[str, list[Model]] = {}
    for model in MODELS[protocol].values():
        found.setdefault(model.name[:5], []).append(model)
    return {clause: of for clause, of in found.items() if clause[1:3] == "X-"}


@pytest.mark.slow
@of_each_protocol
def test_file_is_what_the_stored_counterexamples_make(protocol: str) -> None:
    """To make it again: peerproof model check --rewrite."""
    file = vectors_root() / protocol / FILE

    assert file.read_text(encoding="utf-8") == text(protocol, MODELS[protocol].values())


@of_each_protocol
def test_every_claim_that_is_false_has_a_vector(protocol: str) -> None:
    shown = {name[:5].upper() for name in flags_of(protocol)}

    assert len(claims(protocol)) == {"scuttlebutt": 6, "swim": 10, "wendy": 8, "peter": 2, "distkv": 7}[protocol]
    # Of Peter there are those whose worlds nodes on Wendy can stand for. The run that breaks BX-02 breaks BX-01 too, and has its
    # name, as WX-02 and WX-01. To WX-11 a crash is enough.
    without = {"scuttlebutt": {"BX-02"}, "swim": set(), "wendy": {"WX-02", "WX-11"}, "peter": set(), "distkv": set()}[protocol]
    assert claims(protocol).keys() - shown == without


def test_two_claims_share_one_run() -> None:
    first, second = (MODELS["scuttlebutt"][name] for name in ("BX-01-round-sync", "BX-02-join-by-own-round"))

    assert [vector["steps"] for vector in vectors_of(first)] == [vector["steps"] for vector in vectors_of(second)]


@of_each_protocol
def test_vector_is_flagged_where_the_specification_itself_fails(protocol: str) -> None:
    """The others are of a model with a flaw."""
    flawed = {
        "scuttlebutt": {"bx-05", "bx-06"},
        "swim": {"sx-10"},
        "wendy": {"wx-04", "wx-09"},
        "peter": {"px-01"},
        "distkv": {"dx-01", "dx-04"},  # what DX-05 leaves out of downloads is told by nobody here
    }[protocol]
    flags = flags_of(protocol)

    assert flawed <= {name[:5] for name in flags}
    assert {name for name in flags if not flags[name]} == {name for name in flags if name[:5] in flawed}


@pytest.mark.slow
@pytest.mark.parametrize(
    "vector",
    [
        "bx-05-newest-first-node-2",
        "bx-06-oversize-starves-node-2",
        "sx-10-overwritten-node-n-1",
        "wx-04-unchecked-node-n-1",
        "wx-09-ghost-node-n-1",
        "px-01-literal-node-n-3",
        "dx-01-letter-node-n1",
        "dx-04-own-node-n3",
        "dx-04-anew-node-n3",
    ],
)
def test_node_with_the_flaw_of_a_model_fails_the_vector_of_its_counterexample(vector: str) -> None:
    model = named(vector.partition("-node-")[0])

    assert vector in failing(path_of(changed(model)), model.protocol)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mended", "differs_in"),
    [
        ("sx-01-mended", "sx-01-suspected-node-n-1"),  # takes an ack from the past for an answer
        ("sx-04-mended", "sx-04-two-sides-node-n-3"),  # pings the dead
        ("sx-06-mended", "sx-06-back-again-node-n-1"),  # keeps the rows of those who are removed
    ],
)
def test_node_that_mends_what_is_false_differs_where_the_vector_says_that_it_may(mended: str, differs_in: str) -> None:
    assert differs_in in failing(path_of(changed(named(mended))), "swim")
    assert flags_of("swim")[differs_in] == ("documented-failure",)


def test_vector_names_its_configuration_and_where_nothing_was_changed_its_path() -> None:
    of = MODELS["scuttlebutt"]
    (plain, *_), (changed, *_) = (list(vectors_of(of[name])) for name in ("BX-04-receiver-restart", "BX-05-newest-first"))

    assert plain["model"]["config"] == "receiver-restart"
    assert plain["model"]["path"][-3:] == ["Restart", "Receive", "Receive"]
    assert changed["model"] == {"config": "one-entry"}
