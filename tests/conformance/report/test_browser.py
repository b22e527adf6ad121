"""The page in a real browser, by keyboard: filter, open a failure, copy the replay line; and with ten thousand vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support import chromium
from tests.support.reports import MISSED, PASSED, SKIPPED, many, named, report

from peerproof.conformance.report.html.page import page
from peerproof.conformance.report.record import Report

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ROWS = "document.querySelectorAll('#list > li').length"
COUNT = "document.getElementById('count').textContent"
REPLAY = "peerproof vectors replay scuttlebutt/exchange/one --impl './mine --flag'"

Shows = Callable[..., chromium.Page]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    """One for all tests here; each opens a page of its own."""
    with chromium.opened(tmp_path_factory.mktemp("chromium")) as tab:
        yield tab


@pytest.fixture
def shows(browser: chromium.Page, tmp_path: Path) -> Shows:
    """Opens the page of some reports."""

    def show(*reports: Report, fragment: str = "") -> chromium.Page:
        file = tmp_path / "page.html"
        file.write_text(page(reports, {PASSED.vector: "a title with Ümlaut"}), encoding="utf-8")
        browser.open(file, fragment)
        return browser

    return show


def some() -> list[Report]:
    """Two implementations."""
    theirs = {"implementation": {"name": "theirs", "version": "1"}}
    return [report(PASSED, MISSED, SKIPPED), report(PASSED, named(MISSED, "two-2"), SKIPPED, **theirs)]


def test_failures_are_shown_first_and_the_filter_narrows_them(shows: Shows) -> None:
    tab = shows(*some())
    assert tab.value(COUNT) == "2 of 4 cases"

    tab.press("/")
    assert tab.focused() == "text"
    tab.write("two-2")
    tab.until(f"{COUNT} === '1 of 4 cases'")
    assert tab.value("document.querySelector('#list code').textContent") == "scuttlebutt/exchange/two-2"

    for name, value, count in (("status", "", 1), ("text", "", 4), ("protocol", "swim", 1), ("protocol", "", 4)):
        tab.value(
            f"form.{name}.value = '{value}'; form.{name}.dispatchEvent(new Event('{'input' if name == 'text' else 'change'}'))"
        )
        tab.until(f"{ROWS} === {count}")
    for name, value, count in (("layer", "codec", 1), ("layer", "", 4), ("implementation", "1", 3), ("status", "failed", 1)):
        tab.value(f"form.{name}.value = '{value}'; form.{name}.dispatchEvent(new Event('change'))")
        assert tab.value(ROWS) == count
    assert tab.logged == []


def test_the_cases_of_a_group_are_folded_below_it_and_lead_to_the_list(shows: Shows) -> None:
    tab = shows(report(*(named(MISSED, f"v-{number}") for number in range(150)), PASSED))
    group = "document.querySelector('details.group')"
    assert tab.value(f"{group}.querySelectorAll('li').length") == 0

    tab.value(f"{group}.querySelector('summary').click()")
    tab.until(f"{group}.querySelectorAll('li').length === 100")
    tab.value(f"{group}.querySelector('button.rest').click()")
    tab.until(f"{group}.querySelectorAll('li').length === 150 && !{group}.querySelector('button.rest')")

    tab.value(f"{group}.querySelectorAll('li button')[149].click()")
    tab.until("document.querySelector('#list .detail svg.message-graph')")
    assert tab.focused().startswith("scuttlebutt/exchange/v-149")
    assert tab.logged == []


def test_a_failure_is_opened_and_its_replay_line_copied_by_keyboard(shows: Shows) -> None:
    tab = shows(*some())
    tab.ask("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    for key in ("/", "ArrowDown", "Enter"):
        tab.press(key)
    tab.until("document.querySelector('.detail svg.message-graph')")

    assert tab.focused().startswith("scuttlebutt/exchange/one")
    assert tab.value("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert tab.value("location.hash") == "#case=scuttlebutt%2Fexchange%2Fone"
    told = tab.value("document.querySelector('.detail').innerText")
    for words in ("When the datagram is full", "First difference: steps[1]", "expected instead:", "The same as text", "skipped"):
        assert (words in told) is (words != "skipped")

    for _ in range(20):
        tab.press("Tab")
        if tab.focused() == "copy":
            break
    assert tab.value("document.activeElement.getAttribute('aria-label')") == "Copy the line: again"
    tab.press("Enter")
    tab.until("document.activeElement.textContent === 'copied'")
    assert tab.value("document.getElementById('said').textContent") == f"copied: {REPLAY}"
    assert tab.value("navigator.clipboard.readText()") == REPLAY

    tab.press("Escape")
    assert tab.focused().startswith("scuttlebutt/exchange/one")
    assert tab.value("document.querySelector('.detail').hidden") is True
    assert tab.logged == []


def test_what_is_copied_where_the_clipboard_is_not_allowed_is_the_same_line(shows: Shows) -> None:
    tab = shows(*some(), fragment="#case=scuttlebutt/exchange/one")
    tab.until("document.querySelector('button.copy')")
    tab.value("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    tab.value("document.addEventListener('copy', () => { window.taken = getSelection().toString(); })")
    tab.value("document.querySelector('button.copy').click()")

    tab.until("document.getElementById('said').textContent")
    assert tab.value("window.taken") == REPLAY


def test_a_link_to_a_case_opens_it(shows: Shows) -> None:
    tab = shows(*some(), fragment="#case=scuttlebutt/exchange/two")
    tab.until("document.querySelector('.detail:not([hidden]) dl')")

    assert tab.value("document.querySelector('.row[aria-expanded=true] code').textContent") == "scuttlebutt/exchange/two"
    assert "branches: first" in tab.value("document.querySelector('.detail').innerText")


def test_the_first_stops_of_the_keyboard_are_links_to_filter_and_cases(shows: Shows) -> None:
    tab = shows(*some())
    stops = []
    for _ in range(12):
        tab.press("Tab")
        stops.append(tab.focused())

    assert stops[:2] == ["To the filter", "To the cases"]
    assert stops[2:6] == ["copy", "The case"] * 2  # of the group of each implementation
    assert stops[6:11] == ["text", "protocol", "layer", "status", "implementation"]
    assert stops[11].startswith("scuttlebutt/exchange/one")


def test_keys_go_through_the_cases(shows: Shows) -> None:
    tab = shows(report(*(named(MISSED, f"v-{number}") for number in range(250))))
    for key, expected in (("/", "text"), ("ArrowDown", "v-0 "), ("ArrowDown", "v-1 "), ("End", "v-99 "), ("ArrowDown", "v-100 ")):
        tab.press(key)
        assert expected in f"{tab.focused()} "
    for key, expected in (("Home", "v-0 "), ("ArrowUp", "text"), ("Escape", "text")):
        tab.press(key)
        assert expected in f"{tab.focused()} "


def test_the_matrix_counts_cases_by_clause_and_leads_to_them(shows: Shows) -> None:
    tab = shows(*some())
    row = "[...document.querySelectorAll('details.matrix tr')].find((row) => row.textContent.startsWith('B-11'))"
    assert tab.value(f"!!({row})") is False  # nothing is drawn before it can be seen
    tab.value("document.querySelector('details.matrix[data-protocol=scuttlebutt]').open = true")
    tab.until(f"!!({row})")

    assert tab.value(f"[...({row}).querySelectorAll('td')].slice(1, 3).map((cell) => cell.textContent)") == [
        "✗ 1 of 2",
        "✗ 1 of 2",
    ]
    tab.value(f"({row}).querySelector('button').click()")
    assert tab.value(COUNT) == "3 of 4 cases"
    assert tab.focused().startswith("scuttlebutt/exchange/two")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_reader_has_light_or_dark(shows: Shows, scheme: str) -> None:
    tab = shows(*some(), fragment="#case=scuttlebutt/exchange/one")
    tab.colours(scheme)
    tab.until("document.querySelector('.detail svg .wrong text')")

    ground, ink = tab.value("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    wrong = tab.value("getComputedStyle(document.querySelector('.detail svg .wrong text')).fill")
    picture = tab.value("getComputedStyle(document.querySelector('.detail svg g text')).fill")
    expected = {"light": ("rgb(255, 255, 255)", "rgb(164, 14, 38)"), "dark": ("rgb(13, 17, 23)", "rgb(255, 123, 114)")}
    assert (ground, wrong) == expected[scheme]
    assert picture == ink


def test_a_page_of_ten_thousand_vectors_opens_filters_and_draws_only_what_is_seen(shows: Shows) -> None:
    """How long it takes is for tests/benchmarks/report_page.py."""
    tab = shows(many(10_000, 1_000))
    assert tab.value(COUNT) == "1,000 of 10,000 cases"
    assert tab.value(ROWS) <= 300

    tab.press("/")
    tab.write("v-9999")
    tab.until(f"{ROWS} === 1")
    tab.press("ArrowDown")
    tab.press("Enter")
    tab.until("document.querySelector('.detail svg.message-graph')")
    assert tab.logged == []


def test_the_page_reaches_for_nothing(shows: Shows) -> None:
    tab = shows(*some(), fragment="#case=scuttlebutt/exchange/one")
    tab.until("document.querySelector('.detail svg')")

    assert tab.value("performance.getEntriesByType('resource').length") == 0
    assert tab.logged == []
