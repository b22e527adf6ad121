"""Whether the proofs of an item are about the code that runs: with a mistake in it, one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from peerproof.conformance.proofs.paths import follow
from peerproof.conformance.proofs.proof import load
from peerproof.spec.overrides import names_in, overriding

#: A module or a class, the name of a function there, what it is replaced by, and the item of which a proof must fail.
Mistake = tuple[Any, str, Callable[..., Any], str]


def each_of(mistakes: Iterable[Mistake]) -> pytest.MarkDecorator:
    """A test for each mistake."""
    return pytest.mark.parametrize("mistake", [pytest.param(one, id=f"{one[1]}-{one[3]}") for one in mistakes])


def is_refuted(protocol: str, mistake: Mistake) -> bool:
    """Whether a proof of the item is refuted while the code has the mistake."""
    where, name, wrong, item = mistake
    with overriding(names_in(where, **{name: wrong})):
        return any(
            follow(partial(proof.statement, **proof.arguments), 60, proof.logic).verdict == "refuted"
            for proof in load(protocol)
            if proof.item == item
        )
