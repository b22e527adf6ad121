"""What can be drawn, told from what it is: a vector, a trace, a capture, a counterexample of TLC, or a model that fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import protocols
from peerproof.conformance.models import model_diagram
from peerproof.conformance.models.counterexamples import Unlike
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.suite import Suite, Vector, load
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.trace import parse
from peerproof.tla.manifest import Model, models
from peerproof.tla.output.counterexample import Counterexample, from_itf

#: So much of a file is looked at to tell what it is.
_HEAD: Final = 2**20


class Kind(Enum):
    """What a file holds."""

    TRACE = "a trace"
    CAPTURE = "a capture"
    COUNTEREXAMPLE = "a counterexample"
    VECTORS = "vectors"


class CannotDraw(Exception):
    """This is nothing that can be drawn; the message says what to do."""


def kind_of(path: Path, is_capture: Callable[[Path], bool]) -> Kind:
    """What a file is, by its content. Raises CannotDraw and OSError."""
    if path.is_dir():
        raise CannotDraw(f"{path} is a directory: name the files in it")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise CannotDraw(f"{path} is empty")
    if is_capture(path):
        return Kind.CAPTURE
    if head.lstrip().startswith(b"{"):
        if _is_trace(head):
            return Kind.TRACE
        if b'"states"' in head:
            return Kind.COUNTEREXAMPLE
        raise CannotDraw(f"{path} is JSON, but neither a trace (see peerproof check-trace) nor a counterexample in ITF")
    if b"\nvectors:" in head:
        return Kind.VECTORS
    raise CannotDraw(f"{path} is no trace, no capture, no file of vectors and no counterexample")


def _is_trace(head: bytes) -> bool:
    """Whether one of its first lines is one of a trace."""
    for line in head.splitlines()[:100]:
        try:
            parse(line.decode(errors="replace"))
        except MalformedMessage:
            continue
        return True
    return False


def vectors_of(path: Path) -> tuple[Suite, list[Vector]]:
    """The vectors of a file, and the suite that they belong to. Raises CannotDraw and VectorError."""
    path = path.resolve()
    *_, protocol, layer, _ = ("", "", *path.parts)
    if protocol not in protocols() or layer not in ("codec", "exchange", "cluster"):
        raise CannotDraw(f"{locations.path_text(path)}: vectors are in files like PROTOCOL/LAYER/TOPIC.yaml")
    suite = load(path.parents[2])
    return suite, [vector for vector in suite.vectors if suite.path(vector).resolve() == path]


def model_of(name: str) -> Model | None:
    """The model of this name, or of `PROTOCOL/NAME`. Raises CannotDraw if there are several, or if it holds, and BadManifest."""
    protocol, _, short = name.rpartition("/")
    found = [model for model in models() if model.name == short and protocol in ("", model.protocol)]
    failing = [model for model in found if model.verdict != "success"]
    if len(failing) > 1:
        raise CannotDraw(f"there are {' and '.join(f'{model.protocol}/{model.name}' for model in failing)}: which one?")
    if found and not failing:
        raise CannotDraw(f"the model {name} holds: there is no run in which it fails, so nothing to draw")
    return failing[0] if failing else None


def counterexample(path: Path) -> tuple[Model, Counterexample]:
    """A counterexample in a file, and its model. Raises CannotDraw and OSError."""
    try:
        itf: dict[str, Any] = json.loads(path.read_bytes())
        example = from_itf(itf)
        about = itf.get("#meta", {})
        name = f"{about['protocol']}/{about['model']}"
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise CannotDraw(f"{path} is no counterexample of a model as peerproof model-check writes it: {problem!r}") from None
    model = model_of(name)
    if model is None or not example.states:
        raise CannotDraw(f"{path}: {'it has no states' if model else f'there is no model {name}'}")
    return model, example


def run_of(path: Path, without: list[str]) -> tuple[Model, model_diagram.Failing]:
    """A counterexample in a file as a picture. Raises CannotDraw and OSError."""
    model, example = counterexample(path)
    try:
        return model, model_diagram.of_run(model, example, without)
    except (Unlike, KeyError, ValueError, TypeError, AssertionError) as problem:
        raise CannotDraw(f"{path}: not a run of {model.name}: {problem}") from None
