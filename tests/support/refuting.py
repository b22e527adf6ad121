"""Whether the proofs of an item are about the code that runs: with a mistake in it, one of them fails, with values too."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Any

import pytest

from peerproof.conformance.proofs.paths import follow
from peerproof.conformance.proofs.proof import load
from peerproof.conformance.proofs.replay import replay_outcome
from peerproof.spec.overrides import names_in, overriding

SECONDS = 60.0 * float(os.environ.get("PEERPROOF_PATIENCE", "1"))  #: by the clock, also of a busy machine

#: A module or a class, the name of a function there, what it is replaced by, and the item of which a proof must fail.
Mistake = tuple[Any, str, Callable[..., Any], str]


def each_of(mistakes: Iterable[Mistake]) -> pytest.MarkDecorator:
    """A test for each mistake."""
    return pytest.mark.parametrize("mistake", [pytest.param(one, id=f"{one[1]}-{one[3]}") for one in mistakes])


def is_refuted(protocol: str, mistake: Mistake, unconfirmed: Container[Callable[..., Any]] = ()) -> bool:
    """
    Whether a proof of the item is refuted while the code has the mistake; with values too, if the proof runs the code with them.

    The replays of `unconfirmed` mistakes do not confirm them.
    """
    where, name, wrong, item = mistake
    with overriding(names_in(where, **{name: wrong})):
        for proof in load(protocol):
            if proof.item != item:
                continue
            outcome = follow(partial(proof.statement, **proof.arguments), SECONDS, proof.logic)
            if outcome.verdict == "refuted":
                replayed = replay_outcome(protocol, proof, outcome, SECONDS, twin=False) if outcome.refutation else None
                has_values = outcome.refutation is not None and bool(outcome.refutation.calls)
                return not has_values or (replayed is not None and replayed.is_confirmed is (wrong not in unconfirmed))
    return False
