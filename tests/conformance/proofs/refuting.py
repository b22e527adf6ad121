"""Whether the proofs of an item are about the code that runs: with a mistake in it, one of them fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from peerproof.conformance.proofs.paths import follow
from peerproof.conformance.proofs.proof import load
from peerproof.spec.overrides import names_in, overriding


def is_refuted(protocol: str, item: str, where: Any, **wrong: Callable[..., Any]) -> bool:
    """Whether a proof of the item is refuted while this stands in the place of functions of a module or a class."""
    with overriding(names_in(where, **wrong)):
        return any(
            follow(partial(proof.statement, **proof.arguments), 60, proof.logic).verdict == "refuted"
            for proof in load(protocol)
            if proof.item == item
        )
