"""Checks the models with TLC and the explorer, and compares the results with the expected ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from peerproof.conformance.models import counterexample_vectors, counterexamples
from peerproof.conformance.models.counterexamples import Answer, Unlike
from peerproof.conformance.models.run_diagram import describe_start
from peerproof.conformance.suite import locations
from peerproof.tla import checking, manifest
from peerproof.tla.checking import Checked
from peerproof.tla.manifest import SIZES, Model
from peerproof.tla.output.outcome import Progress
from peerproof.tla.tools.installation import Tools


@dataclass(frozen=True)
class ModelCheck:
    """The outcome of one model."""

    model: Model
    text: str  #: the results of TLC and the explorer
    surprises: tuple[str, ...]  #: differences from the expected results
    diagram: str = ""  #: how the model fails, as a message graph; empty if the explorer did not run

    @property
    def is_as_expected(self) -> bool:
        """Returns True if the model holds or fails as expected, with the expected counts and steps."""
        return not self.surprises


def select_models(protocol: str | None = None, size: str = "small", names: Collection[str] = ()) -> list[Model]:
    """
    Returns the models of a protocol, or of all: those of these names, or all up to a size, one of `SIZES`. Raises BadManifest.

    >>> [model.name for model in select_models("swim", names=["tiny"])]
    ['tiny']
    """
    sizes = SIZES[: SIZES.index(size) + 1]
    known = (model for model in manifest.models() if protocol in (None, model.protocol))
    return [model for model in known if (model.name in names if names else model.size in sizes)]


def check_model(
    model: Model,
    tools: Tools | None = None,
    *,
    seconds: float | None = None,
    rewrite: bool = False,
    on_tlc: Callable[[Progress], None] = lambda _: None,
    on_explored: Callable[[int, int, int], None] = lambda *_: None,
) -> ModelCheck:
    """
    Checks one model with TLC, which needs `tools`, and with the explorer where it supports the model.

    TLC is stopped after this many seconds. With `rewrite`, the results are recorded as the expected ones. Raises RunFailed if TLC
    has no verdict, ValueError if a model for TLC is checked without tools.

    >>> (model,) = select_models("scuttlebutt", names=["BL-01-tiny"])
    >>> model.by, check_model(model).is_as_expected
    ('explorer', True)
    """
    results, surprises = list[str](), list[str]()
    if model.by == "tlc":
        if tools is None:
            raise ValueError(f"{model.name} must be checked with TLC, and there are no tools")
        checked = checking.check(tools, model, on_tlc, seconds=seconds)
        results.append(_line(checked))
        if rewrite and checking.has_expected_verdict(model, checked.result):
            checking.keep(checked)
        else:
            surprises += checked.surprises
    if not counterexamples.is_asked(model):
        if model.by == "explorer":
            surprises.append("the explorer does not support this model; see is_asked in counterexamples.py")
        return ModelCheck(model, "; ".join(results), tuple(surprises))
    answer = counterexamples.ask_explorer(model, on_explored)
    if rewrite:
        if answer.broken == model.violated:
            checking.keep_expected(model, _own_figures(model, answer))
        model = next(now for now in manifest.models(model.protocol) if now.name == model.name)  # with the new record
    if problem := counterexamples.surprise(model, answer):
        surprises.append(problem)
    elif model.counterexample_path:
        surprises += _not_replayed(model)
    results.append(_answer_line(model, answer))
    drawn = counterexamples.draw_path(answer.graph, answer.path).text()
    start = describe_start(counterexamples.system_of(answer.graph)) if drawn else []
    return ModelCheck(model, "; ".join(results), tuple(surprises), "\n".join([*start, drawn]))


def rewrite_vectors(protocols: Iterable[str]) -> None:
    """Writes the vectors of these protocols that are made from counterexamples."""
    for protocol in sorted(protocols):
        if relevant := counterexample_vectors.vector_models(manifest.models(protocol)):
            path = locations.vectors_root(protocol) / protocol / counterexample_vectors.FILE
            path.write_text(counterexample_vectors.text(protocol, relevant), encoding="utf-8")


def _own_figures(model: Model, answer: Answer) -> dict[str, int]:
    """Returns the figures expected of the explorer alone. All others are compared with TLC's, which are recorded too."""
    if answer.trap:
        return {"trap": len(answer.path)}
    return dict(answer.counts) if model.by == "explorer" and not answer.broken else {}


def _not_replayed(model: Model) -> list[str]:
    try:
        counterexamples.replay(model, counterexamples.load_counterexample(model))
    except Unlike as problem:
        return [str(problem)]
    return []


def _line(checked: Checked) -> str:
    result = checked.result
    if checked.model.violated is None:
        return f"holds: {result.distinct:,} states, {result.edges:,} edges, depth {result.depth}"
    steps = f"; TLC {result.counterexample.steps} steps" if result.counterexample else ""
    return f"{_expected(checked.model)}: {checked.model.violated}{steps}"


def _answer_line(model: Model, answer: Answer) -> str:
    if answer.trap:
        steps = f"explorer {len(answer.path)} steps to a trap of {answer.trap.size} states"
    elif answer.broken:
        steps = f"explorer {len(answer.path)} steps"
    elif model.by == "tlc":
        return "explorer the same"
    else:
        return f"holds: {answer.counts['distinct']:,} states; by the explorer alone"
    return steps if model.by == "tlc" else f"{_expected(model)}: {answer.broken}; {steps}"


def _expected(model: Model) -> str:
    return "possible, and so fails as expected" if model.is_reachability_check else "fails as expected"
