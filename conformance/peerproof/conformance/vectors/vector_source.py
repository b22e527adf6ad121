"""A source of vectors, whose compiled form is read when a body is needed: a file in YAML, or a table made from a model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import Document
from peerproof.conformance.vectors import compiled, model_table

RETIRED: Final = "retired.yaml"  #: the file of ids that are no longer used, below the root of the vectors


def is_table(relative: str) -> bool:
    """Whether a path below the root of the vectors is that of a table."""
    return relative.endswith(".json") and relative.split("/")[1:-1] == [model_table.LAYER]


class Source:
    """One source. `name` is its path relative to the root; it may be another than that of a single file."""

    def __init__(self, root: Path, name: str, content: bytes, key: str) -> None:
        self.name = name
        self._root, self._content, self._key = root, content, key

    @cached_property
    def form(self) -> Mapping[str, Any]:
        """The compiled form: `vectors`, a list of line, needs and body; or `table`, with its rows. Raises VectorError."""
        form = compiled.load(self._key)
        if form is None:
            form = self._compile()
            compiled.store(self._key, form)
        return form  # type: ignore[no-any-return]  # made by _compile

    @cached_property
    def table(self) -> model_table.Table:
        """The table."""
        return model_table.table_of(self.form["table"][0])

    def rows(self) -> list[tuple[int, list[str], Mapping[str, Any]]]:
        """Returns line, needs and body of each vector. Raises VectorError."""
        if "table" in self.form:
            return [(line, needs, self.body(place)) for place, (_, _, line, needs, _) in enumerate(self.form["table"][1])]
        return [(line, needs, body) for line, needs, body in self.form.get("vectors", ())]

    def body(self, place: int) -> Mapping[str, Any]:
        """Returns the body of the vector at this place of `rows`."""
        if "table" in self.form:
            kind, number, _, _, labels = self.form["table"][1][place]
            return model_table.Expanded(self.table, kind, number, labels)
        body: Mapping[str, Any] = self.form["vectors"][place][2]
        return body

    def parse(self) -> Document:
        """Parses the YAML. Raises VectorError."""
        from peerproof.conformance.suite.strict_yaml import parse

        return parse(self._content, self._shown)

    @property
    def _shown(self) -> str:
        return locations.path_text(self._root if self._root.is_file() else self._root / self.name)

    def _compile(self) -> dict[str, Any]:
        from peerproof.conformance.suite.schema import misfits
        from peerproof.conformance.vectors import model_vectors, vector_file

        if is_table(self.name):
            return {"table": model_vectors.compile_table(self._content, PurePosixPath(self.name), self._shown)}
        document = self.parse()
        is_retired = self.name == RETIRED
        found = misfits(document, "retired") if is_retired else vector_file.problems(document, PurePosixPath(self.name))
        if found:
            raise found[0]
        if is_retired:
            return dict(document.data)
        rows = [
            (document.values["vectors", index].line, vector_file.needs(vector), vector_file.body(document.data, vector))
            for index, vector in enumerate(document.data.get("vectors", ()))
        ]
        return {"vectors": rows, "notes": document.data.get("notes", {})}
