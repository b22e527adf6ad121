"""The page in a real browser: what is clicked or typed happens and is in the address, and texts of a record stay texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.conformance.conftest import Capture
from tests.support.policy import FORBIDDEN, what_is_refused
from tests.support.reports import MISSED, PASSED, SKIPPED, THEIRS, many, named, report

from peerproof.cli.main import main
from peerproof.conformance.report.html.page import ReportExtras
from peerproof.conformance.report.html.page import page as render
from peerproof.conformance.report.record import Report
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.vectors.matching import Difference

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SCREENS: Final = Path("build/screens")
REPLAY: Final = "peerproof vectors replay scuttlebutt/exchange/one --impl './mine --flag'"

#: Opens the page of some reports, at a fragment.
Shows = Callable[..., Page]


@pytest.fixture
def shows(page: Page, tmp_path: Path) -> Shows:
    def show(*reports: Report, fragment: str = "", site: str = "") -> Page:
        page.goto(written(tmp_path, *reports, site=site) + fragment)
        return page

    return show


def written(folder: Path, *reports: Report, site: str = "") -> str:
    """The address of the page of some reports."""
    file = folder / "page.html"
    file.write_text(render(reports, {PASSED.vector: "a title with Ümlaut"}, ReportExtras(site=site)), encoding="utf-8")
    return file.as_uri()


def some() -> list[Report]:
    """Two implementations."""
    return [report(PASSED, MISSED, SKIPPED), report(PASSED, named(MISSED, "two-2"), SKIPPED, **THEIRS)]


def rows(page: Page) -> Locator:
    """The cases of the list."""
    return page.locator("#list > li")


def row(page: Page, name: str) -> Locator:
    """The button of a case."""
    return page.locator("button.row", has=page.get_by_text(f"scuttlebutt/exchange/{name}", exact=True))


def detail(page: Page) -> Locator:
    """The details of the open case."""
    return page.locator(".detail:not([hidden])")


def state(page: Page) -> str:
    """The fragment of the address."""
    return str(page.evaluate("decodeURIComponent(location.hash)"))


def test_a_failing_case_opens_in_the_explorer_at_its_wrong_step(page: Page, tmp_path: Path, capsys: Capture) -> None:
    """By one click, from the group and from the case; the explorer is within the page, and nothing is loaded."""
    record, file = tmp_path / "record.jsonl", tmp_path / "report.html"
    main(["run", "scuttlebutt", "--impl", "divergence:BD-09", "--record", str(record), "-k", "does-not-fit", "--quiet"])
    assert main(["report", "html", str(record), "--output", str(file)]) == 0
    capsys.readouterr()
    page.goto(file.as_uri())

    with page.expect_popup() as opened:
        page.get_by_role("button", name="Open in the explorer").first.click()
    expect(opened.value.locator("#problem")).to_contain_text(FAILURES["messages"])
    said = "✗ expected: delta [c:1 k1 v 1]; instead: delta [c:1 k1 v 1, d:1 k v 1]"
    expect(opened.value.get_by_role("status")).to_contain_text(said)
    page.get_by_role("tab", name="Cases").click()
    page.locator("button.row").last.click()
    with page.expect_popup() as again:
        detail(page).get_by_role("button", name="Open in the explorer").click()
    expect(again.value.locator("#problem")).to_be_visible()


def test_tabs_are_chosen_by_click_and_by_key_and_are_in_the_address(shows: Shows) -> None:
    page = shows(*some())
    tabs = page.get_by_role("tab")
    expect(tabs).to_have_text(["Look at first", "Clauses", "Cases", "Run"])
    expect(page.get_by_role("tabpanel")).to_have_attribute("id", "groups")

    tabs.nth(1).click()
    expect(page.get_by_role("tabpanel")).to_have_attribute("id", "clauses")
    assert state(page) == "#tab=clauses"
    for key, name in (
        ("ArrowRight", "Cases"),
        ("End", "Run"),
        ("ArrowRight", "Look at first"),
        ("ArrowLeft", "Run"),
        ("Home", "Look at first"),
    ):
        page.keyboard.press(key)
        expect(page.get_by_role("tab", name=name)).to_be_focused()
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        expect(page.locator("[role=tab][tabindex='0']")).to_have_count(1)

    page.go_back()
    expect(page.get_by_role("tabpanel")).to_have_attribute("id", "run")
    page.reload()
    expect(page.get_by_role("tabpanel")).to_have_attribute("id", "run")


def test_the_verdict_is_first_and_a_row_of_it_leads_to_the_cases_of_an_implementation(shows: Shows) -> None:
    page = shows(*some())
    expect(page.locator(".verdict")).to_contain_text("Violates: 2 of 2 implementations")
    page.get_by_role("link", name="theirs 1").click()

    expect(page.locator("#implementation")).to_have_value("1")
    expect(page.locator("#count")).to_have_text("3 of 4 cases")


def test_a_group_shows_its_graph_and_leads_to_its_cases(shows: Shows) -> None:
    other = replace(named(MISSED, "other"), failure="observed", difference=Difference("steps[0].observe.q", "2", "1"))
    page = shows(report(*(named(MISSED, f"v-{number}") for number in range(150)), other, PASSED))
    groups = page.locator("article.group")
    expect(groups.locator("h3")).to_have_text([re.compile("^150 cases "), re.compile("^1 case ")])
    expect(groups.nth(0).get_by_role("img")).to_be_visible()
    expect(groups.nth(1).get_by_role("img")).to_be_hidden()
    groups.nth(1).get_by_text("Message graph of").click()
    expect(groups.nth(1).get_by_role("img")).to_be_visible()

    page.get_by_role("link", name="Show the 150 cases").click()
    expect(page.locator("#count")).to_have_text("150 of 152 cases")
    expect(page.locator("#group")).to_have_value("0")
    page.go_back()
    page.get_by_role("link", name="Show the case", exact=True).click()
    expect(rows(page)).to_have_text([re.compile("scuttlebutt/exchange/other")])


def test_failures_are_shown_first_and_the_filter_narrows_them(shows: Shows) -> None:
    page = shows(*some(), fragment="#tab=cases")
    expect(page.locator("#count")).to_have_text("2 of 4 cases")

    page.keyboard.press("/")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("two-2")
    expect(page.locator("#count")).to_have_text("1 of 4 cases")
    expect(rows(page).locator("code")).to_have_text("scuttlebutt/exchange/two-2")

    page.locator("#status").select_option("any")
    expect(rows(page)).to_have_count(1)
    page.locator("#text").fill("")
    expect(rows(page)).to_have_count(4)
    chosen = [("protocol", "swim", 1), ("protocol", "", 4), ("layer", "codec", 1), ("layer", "", 4), ("implementation", "1", 3)]
    for name, value, count in [*chosen, ("status", "failed", 1)]:
        page.locator(f"#{name}").select_option(value)
        expect(rows(page)).to_have_count(count)


def test_the_filter_is_in_the_address_and_comes_back_from_it(shows: Shows, browser: Browser, tmp_path: Path) -> None:
    page = shows(*some(), fragment="#tab=cases")
    page.locator("#text").fill("clause:B-11 exchange")
    page.locator("#status").select_option("passed")
    page.locator("#implementation").select_option("0")
    expect(page.locator("#count")).to_have_text("1 of 4 cases")
    expect(page).to_have_url(re.compile(r"#text=clause%3AB-11\+exchange&status=passed&implementation=0&tab=cases$"))

    page.reload()
    for reader in (page, browser.new_page()):
        reader.goto(page.url)
        expect(reader.locator("#text")).to_have_value("clause:B-11 exchange")
        expect(reader.locator("#status")).to_have_value("passed")
        expect(rows(reader).locator("code")).to_have_text("scuttlebutt/exchange/two")


def test_a_failure_is_opened_and_its_lines_are_copied_by_keyboard(shows: Shows) -> None:
    page = shows(*some(), fragment="#tab=cases")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for key in ("/", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(detail(page).locator("svg.message-graph")).to_be_visible()
    expect(row(page, "one")).to_be_focused()
    assert state(page) == "#tab=cases&case=scuttlebutt/exchange/one"
    for words in ("When the datagram is full", "First difference: steps[1]", "The same as text"):
        expect(detail(page)).to_contain_text(words)
    lines = ["vectors explore scuttlebutt/exchange/one", "vectors explore scuttlebutt/exchange/one --impl './mine --flag'"]
    expect(detail(page).locator(".paste code")).to_contain_text(
        [f"peerproof {line}" for line in lines] + [REPLAY, "--emit stdin"]
    )

    again = detail(page).get_by_role("button", name="Copy the line: again")
    while not again.evaluate("button => button === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(again).to_have_text("Copied")
    expect(page.locator("#said")).to_have_text(f"copied: {REPLAY}")
    assert page.evaluate("navigator.clipboard.readText()") == REPLAY

    page.keyboard.press("Escape")
    expect(row(page, "one")).to_be_focused()
    expect(detail(page)).to_have_count(0)
    assert state(page) == "#tab=cases"


def test_what_is_copied_where_the_clipboard_is_not_allowed_is_the_same_line(shows: Shows) -> None:
    page = shows(*some(), fragment="#case=scuttlebutt/exchange/one")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.evaluate("document.addEventListener('copy', () => { window.taken = getSelection().toString(); })")
    detail(page).get_by_role("button", name="Copy the line: again").click()

    expect(page.locator("#said")).not_to_be_empty()
    assert page.evaluate("window.taken") == REPLAY


def test_a_link_to_a_case_opens_it(shows: Shows) -> None:
    page = shows(*some(), fragment="#case=scuttlebutt/exchange/two")

    expect(page.locator(".row[aria-expanded=true] code")).to_have_text("scuttlebutt/exchange/two")
    expect(detail(page)).to_contain_text("branches: first")


def test_the_first_stops_of_the_keyboard_are_the_cases_and_the_tabs(shows: Shows) -> None:
    page = shows(report(PASSED, MISSED))
    stops = []
    for _ in range(3):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent"))

    assert stops[:2] == ["To the cases", "Look at first"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel")).to_have_attribute("id", "cases")
    page.keyboard.press("Tab")
    expect(page.locator("#text")).to_be_focused()


def test_keys_go_through_the_cases(shows: Shows) -> None:
    page = shows(report(*(named(MISSED, f"v-{number}") for number in range(250))))
    for key, expected in (("/", None), ("ArrowDown", "v-0"), ("ArrowDown", "v-1"), ("End", "v-99"), ("ArrowDown", "v-100"),
                          ("Home", "v-0"), ("ArrowUp", None), ("Escape", None)):  # fmt: skip
        page.keyboard.press(key)
        focused = page.locator("#text") if expected is None else row(page, expected)
        expect(focused).to_be_focused()


def test_the_matrix_counts_cases_by_clause_and_leads_to_them(shows: Shows) -> None:
    page = shows(*some(), fragment="#tab=clauses", site="https://example.org/")
    page.locator("details.matrix[data-protocol=scuttlebutt] summary").click()
    matrix = page.locator("details.matrix[data-protocol=scuttlebutt] table")
    expect(matrix.locator("caption")).to_contain_text("2 of ")
    clause = matrix.get_by_role("row").filter(has=page.get_by_role("link", name="B-11", exact=True))
    expect(clause.get_by_role("cell")).to_have_text(["✗ 1 of 2", "✗ 1 of 2"])
    expect(clause.get_by_role("link", name="B-11")).to_have_attribute(
        "href", "https://example.org/specification/scuttlebutt/#B-11"
    )

    page.locator("#shown").select_option("all")
    assert matrix.get_by_role("row").count() > 50
    assert state(page) == "#tab=clauses&clauses=all"
    clause.get_by_role("link", name="✗ 1 of 2").last.click()
    expect(page.locator("#count")).to_have_text("2 of 4 cases")
    expect(page.locator("#text")).to_have_value("clause:B-11")
    page.go_back()
    expect(page.locator("#shown")).to_have_value("all")


def test_code_in_the_text_of_a_clause_is_shown_as_code(shows: Shows) -> None:
    """In the matrix and in the details of a case."""
    failed = replace(MISSED, id="swim/codec/one", vector="swim/codec/one", clauses=("S-16",))
    page = shows(report(failed), fragment="#tab=clauses")
    expect(page.locator("#clauses .says code")).to_have_text("[:ping sender restart tx target]")

    page.get_by_role("tab", name="Cases").click()
    page.locator("button.row").click()
    expect(detail(page).locator("dd code").last).to_have_text("[:ping sender restart tx target]")
    expect(detail(page)).not_to_contain_text("`")


def test_paper_has_all_parts_and_no_controls(shows: Shows) -> None:
    page = shows(*some())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    for part in ("#groups", "#clauses", "#cases", "#run", ".verdict"):
        expect(page.locator(part)).to_be_visible()
    expect(page.locator("#clauses table").first).to_contain_text("B-11")
    expect(rows(page)).to_have_count(2)
    assert page.locator("details:not([open])").count() == 0
    for control in ("form", "[role=tablist]", "button.copy", "#more"):
        assert not any(found.is_visible() for found in page.locator(control).all())
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_screen_in_the_light_and_in_the_dark(
    browser: Browser, tmp_path: Path, width: int, scheme: Any
) -> None:
    """Nothing reaches beyond the window but what scrolls, with ten implementations too; pictures are kept."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    ten = [report(PASSED, MISSED, SKIPPED, implementation={"name": f"library-{number}", "version": "1"}) for number in range(10)]
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name, reports in (("one", some()[:1]), ("ten", ten)):
        address = written(tmp_path, *reports)
        for part in ("groups", "clauses", "cases", "run"):
            tab.goto("about:blank")
            tab.goto(f"{address}#tab={part}" + ("&case=scuttlebutt/exchange/one" if part == "cases" else ""))
            if part == "cases":
                expect(detail(tab).locator("svg").first).to_be_visible()
            elif part == "clauses":
                tab.locator("details.matrix summary").first.click()
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, part)
            tab.screenshot(path=SCREENS / f"report-{name}-{part}-{width}-{scheme}.png", full_page=True)
    grounds = {"light": ["rgb(255, 255, 255)", "rgb(164, 14, 38)"], "dark": ["rgb(13, 17, 23)", "rgb(255, 123, 114)"]}
    tab.goto(f"{address}#case=scuttlebutt/exchange/one")
    wrong = detail(tab).locator("svg .wrong text").first.evaluate("label => getComputedStyle(label).fill")
    assert [tab.evaluate("getComputedStyle(document.body).backgroundColor"), wrong] == grounds[scheme]
    tab.close()


def test_a_page_of_ten_thousand_vectors_opens_filters_and_draws_only_what_is_seen(shows: Shows) -> None:
    """How long it takes is for tests/benchmarks/report_page.py."""
    page = shows(many(10_000, 1_000), fragment="#tab=cases")
    expect(page.locator("#count")).to_have_text("1,000 of 10,000 cases")
    assert rows(page).count() <= 300

    page.keyboard.press("/")
    page.keyboard.type("v-9999")
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(detail(page).locator("svg.message-graph")).to_be_visible()


HOSTILE: Final = (
    "</script><script>document.title='owned'</script></title><img src=x onerror=\"document.title='owned'\">"
    "\" onmouseover=\"document.title='owned'\" ' onfocus='alert(1)' autofocus=' \u202egnp.\x1b[31m\u2066{{ 7 * 7 }}"
)


@pytest.mark.parametrize("hostile", [HOSTILE, f"{HOSTILE}{'x' * 2**20}"], ids=["short", "of a megabyte"])
def test_what_comes_from_an_adapter_is_shown_as_text_and_runs_nothing(shows: Shows, hostile: str) -> None:
    """In every place of a record that an implementation writes: shown, copied, searched, printed."""
    difference = Difference(f"steps[0].{hostile}", hostile, {"error": {"code": hostile, "message": hostile}})
    failure = replace(
        MISSED, difference=difference, reason=hostile, errors=f"{hostile}\n{hostile}", title=hostile, branches=(hostile,)
    )
    other = replace(named(MISSED, "other"), failure="crashed", status="crashed", reason=hostile)
    spoiled = report(failure, other, implementation={"name": hostile[:9000], "version": "1"}, problems=[hostile], because=hostile,
                     arguments={"impl": hostile})  # fmt: skip
    page = shows(spoiled, fragment="#tab=cases")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for row in page.locator("#list button.row").all():
        row.click()
        expect(detail(page).last.locator(".paste").first).to_be_visible()
    page.locator("#text").fill("<img src=x onerror=alert(1)>")
    page.get_by_role("tab", name="Run").click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert page.evaluate("document.scripts.length") == 1 + 1 + 1  # data, one chunk, and the page's own
    assert page.locator("img, iframe, object, [onerror], [onmouseover], [onfocus], [autofocus]").count() == 0
    assert not page.title().startswith("owned")
    text = page.locator("body").text_content() or ""
    assert not {"\u202e", "\x1b", "\u2066"} & set(text)
    assert "<img src=x onerror=" in page.locator("#run").inner_text()
    assert requests == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_policy_forbids_what_is_from_elsewhere_and_scripts_of_others(browser: Browser, tmp_path: Path) -> None:
    assert what_is_refused(browser, written(tmp_path, *some())) == FORBIDDEN
