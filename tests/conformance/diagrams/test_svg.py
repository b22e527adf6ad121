"""Message graphs as pictures: nothing overlaps, nothing is lost, and whatever a label holds, it stays a picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page
from tests.support.catching import suite
from tests.support.pictures import EVERYTHING

from peerproof.conformance.diagrams import svg
from peerproof.conformance.diagrams.labels import MARK
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.diagrams.svg import render_svg
from peerproof.conformance.runner.vector_diagram import of_vector

SVG: Final = "{http://www.w3.org/2000/svg}"


def read(picture: str) -> ElementTree.Element:
    """The root of a picture."""
    return ElementTree.fromstring(picture)


def texts(root: ElementTree.Element) -> list[str]:
    """Each label with its lines joined by blanks."""
    return [" ".join("".join(line.itertext()) for line in label) for label in root.iter(f"{SVG}text")]


def test_every_label_is_text_in_the_order_of_what_happens() -> None:
    graph = MessageGraph(("a", "b"), (Note("a", "one"), Arrow("a", "b", "two"), Note("", "three")))

    assert texts(read(render_svg(graph))) == ["a", "b", "one", "two", "three"]


def test_title_and_description_say_what_is_seen() -> None:
    root = read(render_svg(EVERYTHING, "Who says <what>", "first"))

    title, description = root[0], root[1]
    assert (title.tag, title.text, title.get("id")) == (f"{SVG}title", "Who says <what>", "first-title")
    assert (description.tag, description.text, description.get("id")) == (f"{SVG}desc", EVERYTHING.text(), "first-desc")
    assert (root.get("role"), root.get("aria-labelledby"), root.get("aria-describedby")) == ("img", "first-title", "first-desc")


def test_a_picture_needs_nothing_else() -> None:
    picture = render_svg(EVERYTHING).replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert not re.search(r"http|url\(|@import|@font-face|href|<image|<script", picture)


def test_two_pictures_of_a_page_share_no_id() -> None:
    one, other = (set(re.findall(r'\bid="([^"]+)"', render_svg(EVERYTHING, name=name))) for name in ("one", "other"))

    assert one
    assert one.isdisjoint(other)


def test_what_is_expected_is_dashed_and_what_is_lost_has_a_cross_for_a_head() -> None:
    def drawn(*, judged: bool, lost: bool) -> str:
        return render_svg(MessageGraph(("a", "b"), (Arrow("a", "b", "x", judged=judged, lost=lost),)))

    for judged in (False, True):
        for lost in (False, True):
            assert ("stroke-dasharray" in drawn(judged=judged, lost=lost)) == judged
            assert ("l10 10m-10 0l10-10" in drawn(judged=judged, lost=lost)) == lost
            assert ("-4v8z" in drawn(judged=judged, lost=lost)) != lost


def test_only_what_is_marked_is_wrong() -> None:
    graph = MessageGraph(("a",), (Note("a", f"{MARK}this"), Note("a", "that")))

    wrong = [group for group in read(render_svg(graph)).iter(f"{SVG}g") if group.get("class") == "wrong"]

    assert ["".join(group.itertext()).strip() for group in wrong] == [f"{MARK}this"]


def test_a_label_is_broken_between_words_and_within_them_if_it_must_be() -> None:
    assert svg.lines_of("one two three", 7) == ["one two", "three"]
    assert svg.lines_of("ff" * 8, 7) == ["fffffff", "fffffff", "ff"]
    assert svg.lines_of("名前はまだない", 7) == ["名前は", "まだな", "い"]
    assert svg.lines_of("a\nb\tc", 9) == ["a b\\u{9}c"]
    assert svg.lines_of("", 7) == [""]


@pytest.mark.parametrize(("events", "most"), [(svg.MANY, svg.MOST_LINES), (svg.MANY + 1, svg.FEW_LINES)])
def test_many_events_have_shorter_labels(events: int, most: int) -> None:
    """So that one can still follow the lines; the description has everything."""
    arrows = tuple(Arrow("a", "b", "word " * 400) for _ in range(events))

    root = read(render_svg(MessageGraph(("a", "b"), arrows)))

    lines = [text for text in texts(root) if "word" in text or "more]" in text]
    assert len(lines) in (events, events * most)  # a label is one text, or one for each line
    assert float(root.attrib["height"]) < events * (most * svg.LINE + 3 * svg.GAP)


@pytest.mark.parametrize("target", ["b", "a", ""], ids=["arrow", "loop", "note"])
def test_a_label_that_is_too_long_is_cut_and_its_title_and_the_description_are_not(target: str) -> None:
    label = "00" * 4000
    event = Arrow("a", target, label) if target else Note("a", label)
    graph = MessageGraph(("a", "b"), (event, Arrow("a", "b", "short")))

    root = read(render_svg(graph))

    (shown,) = (text for text in texts(root) if text.startswith("00"))
    assert (cut := re.search(r" \[(\d+) characters more\]$", shown))
    assert len(shown[: cut.start()].replace(" ", "")) + int(cut[1]) == len(label)
    assert label in (root[1].text or "")
    assert [title.text for group in root.iter(f"{SVG}g") for title in group.findall(f"{SVG}title")] == [label]


def test_names_stand_below_as_well_where_the_picture_is_tall() -> None:
    names = texts(read(render_svg(EVERYTHING)))

    assert names.count("a") == 2
    assert texts(read(render_svg(MessageGraph(("a",), (Note("a", "x"),))))).count("a") == 1


def test_lifelines_end_where_a_note_begins() -> None:
    """So that text can be read on any background, and none has to be painted."""
    graph = MessageGraph(("a",), (Note("a", "x"),))

    pieces = re.findall(r'<path d="M[\d.]+ ([\d.]+)V([\d.]+)"/>', render_svg(graph))
    (note,) = (box for box in read(render_svg(graph)).iter(f"{SVG}rect") if box.get("rx") == "0")

    assert len(pieces) == 2
    assert float(pieces[0][1]) == float(note.get("y") or 0)
    assert float(pieces[1][0]) == float(note.get("y") or 0) + float(note.get("height") or 0)


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_a_log_holds_the_picture_is_well_formed(label: str, name: str) -> None:
    graph = MessageGraph((name, "b"), (Arrow(name, "b", label), Note(name, label), Arrow("b", "b", label)))

    root = read(render_svg(graph, label))

    assert len(list(root.iter(f"{SVG}text"))) == 5 if name != "b" else root is not None


@pytest.mark.parametrize("graph", [MessageGraph((), ()), MessageGraph((), (Note("", "nobody is there"),))])
def test_a_picture_without_anybody_is_one(graph: MessageGraph) -> None:
    assert len(texts(read(render_svg(graph)))) == len(graph.happenings)


#: What overlaps, and what stands outside of where it belongs, in each picture of a page; half a pixel is rounding.
OVERFLOWING: Final = """
[...document.querySelectorAll('svg')].flatMap((svg) => {
  const found = [], whole = svg.getBoundingClientRect(), labels = [...svg.querySelectorAll('text')];
  const within = (inner, outer) => inner.left > outer.left - .5 && inner.right < outer.right + .5
    && inner.top > outer.top - .5 && inner.bottom < outer.bottom + .5;
  const boxes = labels.map((label) => label.getBoundingClientRect());
  labels.forEach((label, at) => {
    if (!within(boxes[at], whole)) found.push('outside: ' + label.textContent);
    const group = [...label.parentElement.children], before = group[group.indexOf(label) - 1];
    if (before && before.tagName === 'rect' && !within(boxes[at], before.getBoundingClientRect()))
      found.push('longer than its box: ' + label.textContent);
    boxes.slice(at + 1).forEach((other, more) => {
      if (boxes[at].left < other.right - .5 && other.left < boxes[at].right - .5
        && boxes[at].top < other.bottom - 1.5 && other.top < boxes[at].bottom - 1.5)
        found.push(label.textContent + ' and ' + labels[at + 1 + more].textContent);
    });
  });
  return found;
})
"""


@pytest.mark.slow
@pytest.mark.browser
def test_in_a_browser_no_label_leaves_its_place_or_covers_another(page: Page, tmp_path: Path) -> None:
    vectors = [vector for vector in suite().vectors if vector.layer in ("codec", "exchange", "cluster")][::97]
    graphs = [EVERYTHING, *map(of_vector, vectors)]
    pictures = "\n".join(f"<p>{render_svg(graph, name=f'graph-{number}')}</p>" for number, graph in enumerate(graphs))
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{pictures}", encoding="utf-8")

    page.goto(file.as_uri())
    assert page.locator("svg").count() == len(graphs) > 5
    assert page.evaluate(OVERFLOWING) == []
    page.evaluate("getSelection().selectAllChildren(document.querySelector('svg'))")
    assert "node-with-a-name-that-is-long" in page.evaluate("getSelection().toString()").replace("\n", "")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_a_picture_is_dark_on_light_or_light_on_dark(browser: Browser, tmp_path: Path, scheme: Any) -> None:
    picture = tmp_path / "picture.svg"
    picture.write_text(render_svg(EVERYTHING), encoding="utf-8")
    tab = browser.new_page(color_scheme=scheme)
    tab.goto(picture.as_uri())

    style = "getComputedStyle(document.documentElement)"
    colours = [re.findall(r"\d+", tab.evaluate(f"{style}.{of}"))[:3] for of in ("color", "backgroundColor")]
    is_light = [sum(map(int, colour)) > 600 for colour in colours]
    assert is_light == {"light": [False, True], "dark": [True, False]}[scheme]
    tab.close()
