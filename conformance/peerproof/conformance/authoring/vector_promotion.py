"""Writes a fuzzer finding as a vector file if the implementation fails it and the reference passes it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.authoring import lint
from peerproof.conformance.authoring.suite_check import objections
from peerproof.conformance.fuzz.findings import NotPromoted
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import load
from peerproof.conformance.vectors.vector_text import document


class BadPlace(ValueError):
    """A path that does not suit a vector file of this protocol and layer."""


class NotWritten(Exception):
    """The vector is right, but its file cannot be written; `text` is the content of the file."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


def check_place(path: Path, protocol: str, layer: str) -> None:
    """
    Checks that a new vector file can be written at PROTOCOL/LAYER/NAME.yaml below some folder. Raises BadPlace.

    >>> check_place(Path("new/swim/codec/found.yaml"), "swim", "codec")
    """
    if path.parts[-3:-1] != (protocol, layer) or path.suffix != ".yaml":
        example = Path("new", protocol, layer, "found.yaml")
        raise BadPlace(f"{path}: expected …/{protocol}/{layer}/NAME.yaml, such as {example}")
    if path.exists():
        raise BadPlace(f"{path} exists already; name a new file")


def promote_finding(
    path: Path,
    protocol: str,
    make: Callable[[], Mapping[str, Any]],
    implementation: str | None = None,
    timeouts: Timeouts | None = None,
) -> None:
    """
    Writes the vector that `make` returns, after checking that the implementation fails it and the reference passes it.

    Without an implementation the failing one is the specification itself, and the vector only has to be readable.
    Raises NotPromoted, NotWritten.
    """
    text = document(protocol, "What the fuzzer has found.", [make()])
    try:
        with tempfile.TemporaryDirectory() as folder:
            _check(Path(folder).joinpath(*path.parts[-3:]), text, implementation, timeouts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}", text) from None


def _check(file: Path, text: str, implementation: str | None, timeouts: Timeouts | None) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    root = file.parents[2]
    if implementation is None:
        load(root)
        return
    readable, errors = lint.read(root)
    if wrong := [str(error) for error in (*errors, *lint.findings(readable))]:
        raise NotPromoted(f"lint finds: {'; '.join(wrong)}\n{text}")
    suite = load(root)
    try:
        for objection in objections(suite, lambda: create_adapter(None, suite.version, timeouts)).values():
            raise NotPromoted(f"the reference does not pass it: {objection}\n{text}")
        if not objections(suite, lambda: create_adapter(implementation, suite.version, timeouts), ["0"]):
            raise NotPromoted(f"the implementation passes it: its behaviour depends on more than the vector can express\n{text}")
    except AdapterUnavailable as error:
        raise NotPromoted(f"it could not be run: {error}") from None
