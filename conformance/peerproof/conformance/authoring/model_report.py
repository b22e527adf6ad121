"""Everything about a bounded model by its name: its question, the expected answer, what it checks, and its constants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from textwrap import fill, indent
from typing import Final

from peerproof.tla import manifest

WIDTH: Final = 100


def explain_model(name: str, explorable: Callable[[str], Collection[str]] = lambda _: ()) -> str | None:
    """
    Returns what a model asks, the expected answer, what it checks and with which constants; None if there is no such model.

    A name may be in any case. If several protocols have such a model, each is explained. `explorable` returns the names of
    those models of a protocol that can be opened in the browser.

    >>> explain_model("sometimes-forwarded").splitlines()[0]
    'sometimes-forwarded (model of wendy, small)'
    >>> explain_model("B-14")
    """
    found = [model for model in manifest.models() if model.name.lower() == name.lower()]
    return "\n\n".join(_explain(model, explorable(model.protocol)) for model in found) or None


def describe_checks(model: manifest.Model) -> Iterator[tuple[str, list[str]]]:
    """Yields titles and lines: what a model checks, on which graph, and what is replaced there."""
    if model.invariants:
        yield "invariants", [" ".join(model.invariants)]
    if model.properties:
        yield "properties of steps and runs", [" ".join(model.properties)]
    constants = ", ".join(f"{name} = {manifest.tla(value)}" for name, value in model.configuration.constants.items())
    yield f"configuration {model.configuration.name}", [model.configuration.about, constants]
    replaced = [f"{name} <- {other}" for name, other in model.replace.items()]
    behaviour = [f"behaviour {model.behaviour}"] if model.behaviour != "Next" else []
    if replaced or behaviour:
        yield "changed in the specification", [*replaced, *behaviour]


def _explain(model: manifest.Model, explorable: Collection[str]) -> str:
    lists = (
        ("expected answer", [model.expected_answer]),
        ("clauses", [" ".join(model.clauses)] if model.clauses else []),
        *describe_checks(model),
        ("commands", [*_commands(model, explorable)]),
    )
    return "\n".join(
        [
            f"{model.name} (model of {model.protocol}, {model.size})",
            f"\n{_filled(model.question)}",
            *(f"\n{title}\n" + "\n".join(map(_filled, lines)) for title, lines in lists if lines),
        ]
    )


def _filled(text: str) -> str:
    return indent(fill(text, WIDTH - 2, break_long_words=False, break_on_hyphens=False), "  ")


def _commands(model: manifest.Model, explorable: Collection[str]) -> Iterator[str]:
    yield f"peerproof model check {model.protocol} --model {model.name}"
    if model.verdict != "success":
        yield f"peerproof trace draw {model.protocol}/{model.name}"
    if model.name in explorable:
        yield f"peerproof model explore {model.protocol} --model {model.name}"
