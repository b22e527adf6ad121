"""Checking a model: running it, and comparing the result with the expected one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerproof.tla.manifest import COUNTS, Model, root
from peerproof.tla.output.counterexample import dumps, to_itf
from peerproof.tla.output.outcome import Progress, Result, Verdict
from peerproof.tla.tools.installation import Tools
from peerproof.tla.tools.tlc import Run, run


@dataclass(frozen=True, slots=True)
class Checked:
    """A model, its result, and the differences from the expected one."""

    model: Model
    result: Result
    surprises: tuple[str, ...]


def check(
    tools: Tools,
    model: Model,
    on_progress: Callable[[Progress], None] = lambda _: None,
    *,
    seconds: float | None,
    workers: int = 1,
) -> Checked:
    """Runs one model. Raises `outcome.RunFailed` if there is no verdict."""
    what = Run(
        module=model.module_path,
        configuration=model.cfg(),
        library=(root(),),
        workers=workers,
        brief=model.is_brief,
        coverage=model.is_whole_graph,
        seconds=seconds,
    )
    result = run(tools, what, on_progress)
    return Checked(model, result, tuple(surprises(model, result)))


def surprises(model: Model, result: Result) -> Iterator[str]:
    """Yields the differences between a result and the manifest; an unexpected success is one, too."""
    if not has_expected_verdict(model, result):
        reported = _verdict_text(result.verdict.value, _find_violation(model, result))
        yield f"expected {_verdict_text(model.verdict, model.violated)}, TLC reports {reported}"
        return
    if model.steps is not None and (result.counterexample is None or result.counterexample.steps != model.steps):
        found = result.counterexample.steps if result.counterexample else "no"
        yield f"expected a counterexample of {model.steps} steps, TLC reports {found}"
    for name, expected in model.expected_counts.items():
        found = getattr(result, name)
        if found != expected:
            yield f"expected {name} = {expected:,}, TLC reports {found:,}"
    expected_actions = model.configuration.expected.get("actions", {})
    if model.is_whole_graph and result.actions:
        actions = {name: count.generated for name, count in result.actions.items()}
        for name in sorted(actions.keys() | expected_actions.keys() if expected_actions else ()):
            if actions.get(name, 0) != expected_actions.get(name, 0):
                yield f"expected {expected_actions.get(name, 0):,} edges of {name}, TLC reports {actions.get(name, 0):,}"
        if sum(actions.values()) != result.edges:
            yield f"the actions have {sum(actions.values()):,} edges in total, but {result.edges:,} were generated"


def has_expected_verdict(model: Model, result: Result) -> bool:
    """Whether the model holds or fails as expected, regardless of the counts."""
    return (result.verdict.value, _find_violation(model, result)) == (model.verdict, model.violated)


def found_counts(result: Result) -> dict[str, Any]:
    """Returns the counts of a finished run, in the form of the manifest."""
    counts: dict[str, Any] = {name: getattr(result, name) for name in COUNTS}
    if result.actions:
        counts["actions"] = {name: count.generated for name, count in sorted(result.actions.items())}
    return counts


def counterexample_text(checked: Checked) -> str:
    """Renders the counterexample as ITF, for its file."""
    assert checked.result.counterexample is not None
    about: Mapping[str, Any] = {
        "description": checked.model.question,
        "protocol": checked.model.protocol,
        "model": checked.model.name,
        "configuration": checked.model.configuration.name,
        "violated": checked.model.violated,
        "replace": dict(checked.model.replace),
    }
    return dumps(to_itf(checked.result.counterexample, about))


def keep(checked: Checked) -> None:
    """Writes the counts and the counterexample of a result to the files of expected results."""
    model, counts = checked.model, found_counts(checked.result)
    if model.counterexample_path is not None:
        model.counterexample_path.parent.mkdir(exist_ok=True)
        model.counterexample_path.write_text(counterexample_text(checked), encoding="utf-8")
    if model.is_whole_graph:
        path = root(model.protocol) / model.protocol / "constants.json"
        data = json.loads(path.read_bytes())
        configuration = data["configurations"][model.configuration.name]
        known = configuration.get("expected", {})
        configuration["expected"] = counts | {key: known[key] for key in ("digest",) if key in known}
        _write(path, data)
    elif checked.result.verdict is Verdict.TEMPORAL_PROPERTY:
        return  # TLC's counterexample to a temporal property varies from run to run
    elif checked.result.counterexample is not None:
        keep_expected(model, {"steps": checked.result.counterexample.steps})
    else:
        keep_expected(model, {name: counts[name] for name in COUNTS})


def keep_expected(model: Model, found: Mapping[str, int]) -> None:
    """Adds members to the expected result of a model in the manifest."""
    path = root(model.protocol) / "manifest.json"
    data = json.loads(path.read_bytes())
    entry = next(entry for entry in data["models"] if (entry["protocol"], entry["name"]) == (model.protocol, model.name))
    entry["expected"] |= found
    _write(path, data)


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _find_violation(model: Model, result: Result) -> str | None:
    """Returns the violated property; TLC does not name a temporal one, so a model has at most one."""
    is_temporal = result.verdict is Verdict.TEMPORAL_PROPERTY and result.violated is None
    return model.properties[0] if is_temporal and len(model.properties) == 1 else result.violated


def _verdict_text(verdict: str, violated: str | None) -> str:
    return verdict if violated is None else f"{verdict} {violated} violated"
