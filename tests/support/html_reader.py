"""A page of a report, taken apart."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any


class Reader(HTMLParser):
    """Elements with their attributes, texts, and the content of each script by its id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.texts: list[str] = []
        self._script: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("id") or ""

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        self._script = None if tag == "script" else self._script

    def handle_data(self, data: str) -> None:
        """A text, or a script."""
        if self._script is None:
            self.texts.append(data)
        else:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data

    @property
    def data(self) -> Any:
        """What the page's script is given."""
        return json.loads(self.scripts["data"])

    def details(self) -> Iterator[str]:
        """The details of failures, unpacked."""
        for name, packed in self.scripts.items():
            if name.startswith("chunk-"):
                yield from json.loads(zlib.decompress(b64decode(packed)))
