"""What refutes a twin is run again with values, by the specification itself: either it breaks the claim, or that is said."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.counterexample import plain_counterexample
from peerproof.conformance.proofs.paths import Path, follow, truths
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, Proof, Stated, Twin, select_proofs
from peerproof.conformance.proofs.replay import Replayed, replay_outcome, values_of
from peerproof.spec.core import Step
from peerproof.spec.distkv import LoadFailed
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt import transitions
from peerproof.spec.scuttlebutt.state import Peer, Versioned
from peerproof.spec.swim import gossip
from peerproof.spec.traces.trace import Line, event_of

SECONDS = 60.0 * float(os.environ.get("PEERPROOF_PATIENCE", "1"))  #: by the clock, also of a busy machine

EVERY = [pytest.param(protocol, proof, id=f"{proof.item} {proof.name}") for protocol, proof in select_proofs(scope=ANY_CLUSTER)]


def replay_twin(protocol: str, proof: Proof) -> Replayed:
    """Returns the replay of what refutes a twin."""
    statement = partial(proof.statement, **(dict(proof.arguments) | dict(proof.twin.arguments)))
    found = replay_outcome(protocol, proof, follow(statement, SECONDS, proof.logic), SECONDS, twin=True)
    assert found is not None, "the twin is refuted"
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "proof"), EVERY)
def test_the_specification_with_values_breaks_the_twin(protocol: str, proof: Proof) -> None:
    """Each twin that runs code of the specification; the others say that they run none."""
    found = replay_twin(protocol, proof)
    plain = json.loads(json.dumps(plain_counterexample(protocol, proof, found, twin=True)))

    if isinstance(proof.by, Stated):
        assert (found.taken, found.doubt) == ((), "no code of the specification is run with values")
        return
    assert found.is_confirmed, found.doubt
    assert plain["confirmed"]
    assert plain["violated"]
    assert plain["change"] == proof.twin.about
    assert plain["steps"]


#: Proofs whose counterexample is quickly found, and is an event in the form of a trace.
QUICK = ["BZ-08 had", "SZ-14", "WZ-26", "DZ-13"]


@pytest.mark.parametrize("words", QUICK)
def test_a_counterexample_is_a_step_from_plain_data(words: str) -> None:
    """The state before, the event and the choices, read again from plain data, lead to the same state and the same effects."""
    ((protocol, proof),) = select_proofs(words=words)
    (step,) = plain_counterexample(protocol, proof, found := replay_twin(protocol, proof), twin=True)["steps"]
    spec = PROTOCOLS[protocol].specification.load()
    (taken,) = found.taken
    state, *_ = taken.arguments

    before = spec.STATE.value(step["before"], state.self_id, state.config)
    line = Line("", "", "", step["node"], 0, 0, step["kind"], step["peer"], step["args"], (), (), None)
    event = event_of(spec, line)
    with overriding(proof.twin.arguments.get("instead") or {}):
        after, effects = spec.step(before, event, lambda _, among, some=1: tuple(among)[:some])

    assert spec.STATE.plain(after) == step["after"]
    assert len(effects) == len(step["effects"])


# -- mistakes, and terms that stand for more than there is --------------------------------------------------------------


def same_version(state: Any, key: str, value: str) -> Any:
    """`on_update_local` that leaves the version as it is."""
    own = state.store[state.self_id]
    updated = Peer(own.pairs.put({key: Versioned(value, own.version)}), own.version)
    return Step(replace(state, store=state.store.put({state.self_id: updated})))


def test_a_mistake_is_shown_with_values(tmp_path: pathlib.Path, capsys: Capture) -> None:
    """A statement that fails is replayed like a twin: in words, in a file, and for programs."""
    file = tmp_path / "found.json"
    arguments = ["model", "prove", "scuttlebutt", "-k", "BZ-08 had", "--seconds", str(SECONDS), "--save", str(file)]
    with overriding(names_in(transitions, on_update_local=same_version)):
        code = main([*arguments, "--verbose"])
        words = capsys.readouterr().out
        main([*arguments, "--format", "json"])
    (row,) = json.loads(capsys.readouterr().out)
    saved = json.loads(file.read_text())

    assert code == 1
    assert "      The specification, run on these values, breaks it.\n" in words
    assert "      event:   update_local key 1 value 1\n" in words
    assert words.splitlines()[-1].endswith(f"peerproof model explore {file}")
    changes = [one["change"] for one in saved["counterexamples"]]
    assert changes == [None, "a node may have restarted, and its versions begin anew (BX-03)"]
    assert [row["counterexample"], row["twin"]["counterexample"]] == saved["counterexamples"]
    assert row["counterexample"]["confirmed"]
    assert row["counterexample"]["steps"][0]["args"] == {"type": "update_local", "key": "key 1", "value": "value 1"}


def any_fanout(path: Path, *, false: bool = False) -> None:
    """A proof whose stand-in for a function may return any number."""
    with path.on_terms(overriding(names_in(gossip, fanout=lambda _: path.integer("any fanout")))):
        found = path.run(gossip.fanout, 4)
    path.claim("two get it", smt.And(found == (3 if false else 2)))


def refusing(path: Path, *, false: bool = False) -> None:
    """A proof about code that refuses what terms accept."""
    with path.on_terms(overriding(names_in(gossip, fanout=lambda _: 1))):
        found = path.run(refuse_small, path.integer("nodes", 1))
    path.claim("none", smt.BoolVal(found > (1 if false else 2)))


def refuse_small(nodes: Any) -> int:
    """Refuses every number."""
    if isinstance(nodes, int):
        raise NotEnabled("bad_value", "any")
    return gossip.fanout(nodes)


def failing(path: Path, *, false: bool = False) -> None:
    """A proof about code that ends with an exception on values."""
    found = path.run(lambda nodes: 1 // 0 if isinstance(nodes, int) else 1, path.integer("nodes", 1))
    path.claim("none", smt.BoolVal(found > (1 if false else 2)))


@pytest.mark.parametrize(
    ("statement", "doubt"),
    [
        (any_fanout, "with these values the claim holds: the terms stand for more than the code does"),
        (refusing, "the node refuses it: bad_value"),
        (failing, "the code cannot be run with these values: ZeroDivisionError: integer division or modulo by zero"),
    ],
    ids=["spurious", "refused", "fails"],
)
def test_what_the_specification_does_not_confirm_is_said(statement: Callable[..., None], doubt: str) -> None:
    proof = Proof(("SZ-11",), statement, Evaluated(("swim.gossip.fanout",)), Twin("false", {"false": True}), scope=ANY_CLUSTER)

    found = replay_outcome("swim", proof, follow(statement, SECONDS), SECONDS, twin=False)

    assert found is not None
    assert (found.is_confirmed, found.doubt) == (False, doubt)
    assert not plain_counterexample("swim", proof, found, twin=False)["confirmed"]


def test_the_path_that_is_confirmed_is_found_behind_others() -> None:
    """Of several counterexamples the first is shown that the specification confirms."""

    def statement(path: Path) -> None:
        nodes = 4 if bool(smt.Bool("few")) else 9
        with path.on_terms(overriding(names_in(gossip, fanout=lambda _: path.integer("any fanout")))):
            found = path.run(gossip.fanout, nodes)
        path.claim("at most two", smt.And(found <= 2, True))

    proof = Proof(("SZ-11",), statement, Evaluated(("swim.gossip.fanout",)), Twin("", {}), scope=ANY_CLUSTER)
    found = replay_outcome("swim", proof, follow(statement, SECONDS), SECONDS, twin=False)

    assert found is not None
    assert found.is_confirmed
    assert [(taken.arguments, taken.result) for taken in found.taken] == [((9,), 4)]


def test_nothing_is_replayed_of_what_holds() -> None:
    ((protocol, proof),) = select_proofs(words="BZ-08 new-node")

    assert replay_outcome(protocol, proof, follow(proof.statement, SECONDS), SECONDS, twin=False) is None


# -- values -------------------------------------------------------------------------------------------------------------


def test_names_have_the_order_of_numbers() -> None:
    """In DistKV the lower name wins; so names are given in the order of the numbers that they stand for."""
    numbers = [7, 100, 3, 12, 5, 9, 8, 6, 4, 2, 11]

    def statement(path: Path) -> None:
        nodes = [path.integer(f"node {number}", number, number) for number in numbers]
        path.run(lambda *_: None, *(LoadFailed(node) for node in nodes))
        path.claim("false", smt.BoolVal(val=False))

    refutation = follow(statement, SECONDS).refutation
    assert refutation is not None
    make = values_of("distkv")
    assert make is not None
    with truths(None):
        found = make(refutation)
        names = [one.node for one in found.arguments(refutation.calls[0])]

    assert [number for _, number in sorted(zip(names, numbers, strict=True))] == sorted(numbers)
