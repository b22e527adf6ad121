"""Mermaid's own program draws the pictures that we write for it, with every label as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Error, Page
from tests.support.catching import suite
from tests.support.pictures import EVERYTHING

from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.runner.vector_diagram import of_vector
from peerproof.conformance.suite import locations
from peerproof.reference.protocols.registry import RUNTIMES

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ROOT: Final = locations.vectors_root().parents[1]

#: What `make long` fetches.
MERMAID: Final = ROOT / ".venv/mermaid/package/dist/mermaid.min.js"

#: Those that are committed, and those that `make docs` writes where it has run.
BLOCK: Final = re.compile(r"^ *```mermaid\n(.*?)^ *```", re.MULTILINE | re.DOTALL)

PAGE: Final = """\
<!DOCTYPE html>
<meta charset="utf-8">
<script src="{}"></script>
<script>
  mermaid.initialize({{startOnLoad: false}});
  const drawn = async (text) => {{
    const picture = new DOMParser().parseFromString((await mermaid.render("picture", text)).svg, "text/html");
    const lines = (kind) => [...picture.querySelectorAll(kind)].map((line) => line.textContent);
    return {{arrows: lines(".messageText"), notes: lines(".noteText")}};
  }};
</script>
"""


@pytest.fixture(scope="module")
def tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page on which Mermaid waits."""
    assert MERMAID.exists(), "needs Mermaid, which make long fetches"
    file = tmp_path_factory.mktemp("mermaid") / "page.html"
    file.write_text(PAGE.format(MERMAID.as_uri()), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    return page


def read_labels(tab: Page, text: str) -> dict[str, list[str]]:
    """Reads the lines of the labels of arrows and of notes, from top to bottom."""
    return dict(tab.evaluate("(text) => drawn(text)", text))


def letters(labels: Iterable[str]) -> str:
    """Labels, wherever their lines end."""
    return re.sub(r"\s", "", "".join(labels))


def labels(graph: MessageGraph, kind: type[Arrow | Note]) -> Iterator[str]:
    """What the arrows or the notes of a graph say."""
    return (visible(happening.label) for happening in graph.happenings if isinstance(happening, kind))


def test_whatever_a_label_holds_it_is_drawn(tab: Page) -> None:
    for graph in (EVERYTHING, *(of_vector(vector) for vector in suite().vectors[::211])):
        found = read_labels(tab, graph.mermaid())

        assert letters(found["arrows"]) == letters(labels(graph, Arrow))
        assert letters(found["notes"]) == letters(labels(graph, Note))


def test_every_picture_of_the_documentation_is_drawn(tab: Page) -> None:
    pictures = [(path, text) for path in sorted(ROOT.glob("docs/**/*.md")) for text in BLOCK.findall(path.read_text("utf-8"))]
    assert {path.stem for path, _ in pictures} >= {f"counterexamples-{protocol}" for protocol in RUNTIMES}
    for path, text in pictures:
        found = read_labels(tab, text)

        if text.startswith("flowchart"):
            continue  # the map of the code, which `draw_path` has shown to be one
        lines = text.splitlines()
        arrows = [line for line in lines if re.match(r" +p\d+-", line)]
        notes = [line for line in lines if re.match(r" +Note over ", line)]
        assert arrows + notes, path
        assert len(found["arrows"]) >= len(arrows), (path, text)
        assert len(found["notes"]) >= len(notes), (path, text)


def test_what_is_no_picture_is_an_error(tab: Page) -> None:
    with pytest.raises(Error, match="Parse error"):
        read_labels(tab, "sequenceDiagram\n    a->>b")
