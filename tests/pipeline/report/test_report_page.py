"""The page: what it says, that it stands alone, that it can be read by everybody, and that no log can write into it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.support.html_reader import Reader
from tests.support.policy import FORBIDDEN, what_is_refused

from peerproof.cli.main import main
from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.report.html.environment import hash_for_csp
from peerproof.conformance.suite.locations import examples
from peerproof.conformance.traces.events import canonical_json
from peerproof.pipeline.report.divergence_diagram import around
from peerproof.pipeline.report.report_data import configuration_names, gather
from peerproof.pipeline.report.report_page import page as render
from peerproof.pipeline.report.report_page import write
from peerproof.pipeline.spark.work import work
from peerproof.pipeline.storage.batches import Batch, Plan, Unit
from peerproof.pipeline.storage.tables import METRICS, QUARANTINE, RUNS, SUMMARIES, TRACES, VERDICTS, VIOLATIONS, Table

SCREENS: Final = Path("build/screens")

#: What tries to be more than text, in HTML, in SVG, in a template, in a terminal, and to people's eyes.
HOSTILE: Final = (
    "</title></style><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp;"
    "\u202e\u2066\x1b[31m{{ 7 * 7 }}"
)


def batch(place: Path, stage: str, rows: list[tuple[Table, list[tuple[Any, ...]]]], **summary: Any) -> None:
    """A committed batch with these rows."""
    tables = tuple(table for table, _ in rows)

    def write_rows(unit: Unit, output: Any) -> None:
        for table, given in rows:
            output.write(table, table.batch(given))

    plan = Plan(stage, ({"file": HOSTILE, "sha256": "0"},), {"note": HOSTILE}, seeds=("7",), versions={"spec": "1.2"})
    with Batch.open(place, plan) as opened:
        work(None, opened, [Unit(0, {})], write_rows)
        opened.commit([Unit(0, {})], tables, **summary)


def violation(severity: str = "violates", name: str = "DeltaPrefix", node: str = "a:1", context: Any = None) -> tuple[Any, ...]:
    return ("r1", node, 5, "B-29", name, severity, "1", "2", f"said of {node}", context, "log", 17, "peerproof again", 1)


def line(seq: int, **more: Any) -> dict[str, Any]:
    effects = [{"send": {"to": "b:1", "message": {"type": "delta", "entries": []}}}]
    return {"node": "a:1", "seq": seq, "kind": "recv", "peer": "c:1", "args": {"type": "digest_request", "entries": []},
            "effects": effects, **more}  # fmt: skip


def summary(metric: str = "convergence", config: str = '{"loss":0.1,"nodes":3}', value: float = 12.5) -> tuple[Any, ...]:
    return ("scuttlebutt", config, metric, "ms", 4, 4 * value, value, value, value, value, value, value)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of one's own with everything in it."""
    return everything(tmp_path / "out")


def everything(out: Path, hostile: str = HOSTILE) -> Path:
    """Fills a folder with all tables, and hostile texts wherever a log can put them."""
    event = ("r1", "scuttlebutt", "i", "a:1", 0, 0, "start", *[None] * 9, hostile, 0)
    run = ("r1", "scuttlebutt", "log", None, None, "v", 1, 1, "complete", "0")
    aside = (hostile, 3, 1, "not_json", hostile, hostile.encode(), "b")
    counts = {"records": 1003, "traces": 1000, "quarantine": 2, "left_out": 1}
    batch(out, "ingest", [(TRACES, [event]), (RUNS, [run]), (QUARANTINE, [aside, aside])], counts=counts)
    graph = canonical_json([line(4), line(5, node="a:1", peer=hostile), line(6)])
    found = [violation(node=hostile, context=graph), violation("log", "LostLine"), violation("undetermined", "TooManyStates")]
    verdicts = [("r1", "scuttlebutt", "a:1", "replay", "rejected", 10, 6, 1, 0, hostile, '{"after": 4}')]
    batch(out, "validate", [(VIOLATIONS, found), (VERDICTS, verdicts)])
    sent = [("r1", "scuttlebutt", "bytes_sent", number, "a:1", 10.0 * number, "bytes") for number in range(5)]
    config = canonical_json({"loss": hostile, "nodes": 3})
    batch(out, "measure", [(METRICS, sent), (SUMMARIES, [summary(), summary(config=config), summary("bytes_sent")])])
    return out


def text_of(read: Reader) -> str:
    return "".join(read.texts)


def attributes_of(read: Reader, tag: str) -> list[dict[str, str | None]]:
    """The attributes of each element of a name."""
    return [attributes for name, attributes in read.elements if name == tag]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of everything."""
    return render(gather(everything(tmp_path_factory.mktemp("everything") / "out")))


@pytest.mark.slow
def test_the_page_needs_nothing_else(html: str) -> None:
    """No element that loads, no address, no import; and its policy forbids the browser to."""
    read = Reader(html)

    assert not {tag for tag, _ in read.elements} & {"link", "img", "iframe", "object", "embed", "image", "base"}
    assert not re.search(r'(?:href|src|action|xlink:href)="(?!#)', html)
    assert not re.search(r"@import|url\((?!#)", html)
    policies = [meta["content"] for meta in attributes_of(read, "meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    script = f"script-src '{hash_for_csp(read.scripts[''])}'"
    assert policies == [f"default-src 'none'; style-src 'unsafe-inline'; {script}; base-uri 'none'; form-action 'none'"]


def test_no_text_of_a_log_becomes_anything_but_text(html: str) -> None:
    read = Reader(html)

    assert not [tag for tag, attributes in read.elements if any(name.startswith("on") for name in attributes)]
    assert visible(HOSTILE) in text_of(read)
    assert "\u202e" not in html
    assert "\\u{202e}" in html


def test_all_can_be_read_without_seeing(html: str) -> None:
    """A language, headings in order, tables with captions and heads, pictures with titles, ids that are there once."""
    read = Reader(html)

    assert attributes_of(read, "html") == [{"lang": "en"}]
    headings = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    tables = len(attributes_of(read, "table"))
    assert tables == len(attributes_of(read, "caption")) > 0
    assert all(head.get("scope") in ("col", "row") for head in attributes_of(read, "th"))
    ids = Counter(attributes["id"] for _, attributes in read.elements if "id" in attributes)
    assert [name for name, times in ids.items() if times > 1] == []
    for picture in attributes_of(read, "svg"):
        assert picture["role"] == "img"
        assert picture["aria-labelledby"] in ids
    labelled = [attributes["aria-labelledby"] for _, attributes in read.elements if "aria-labelledby" in attributes]
    assert set(labelled) <= set(ids)


def test_what_was_read_and_what_made_it_is_told(html: str) -> None:
    text = text_of(Reader(html))
    assert "1,003 records read = 1,000 events + 2 quarantined + 1 left out" in html
    for stage in ("ingest", "validate", "measure"):
        assert re.search(rf"{stage}-[0-9a-f]{{16}}", text)
    assert '{"spec": "1.2"}' in text
    assert "seeds7" in text.replace("\n", "")


def test_the_worst_comes_first_and_is_drawn_and_marked(html: str) -> None:
    order = [html.index(f"{name}: node") for name in ("DeltaPrefix", "TooManyStates", "LostLine")]

    assert order == sorted(order)
    assert 'class="wrong"' in html
    assert "✗ 5. digest_request" in html


@pytest.mark.parametrize(
    ("verdicts", "violations", "expected"),
    [
        (["accepted", "accepted"], [], "accepted"),
        (["accepted", "undetermined"], [], "undetermined"),
        (["undetermined", "rejected"], [], "rejected"),
        (["accepted"], [violation("log", "LostLine")], "accepted"),
        (["accepted"], [violation("undetermined", "x")], "undetermined"),
        (["accepted"], [violation()], "rejected"),
        (["accepted", "differs"], [violation("differs")], "differs"),
        (["undetermined", "differs"], [violation("differs")], "undetermined"),
        ([], [], "nothing judged"),
    ],
)
def test_the_verdict_is_the_worst_one(tmp_path: Path, verdicts: list[str], violations: list[Any], expected: str) -> None:
    rows = [("r", "swim", str(number), "replay", verdict, 1, 1, 0, 0, None, None) for number, verdict in enumerate(verdicts)]
    batch(tmp_path, "validate", [(VERDICTS, rows), (VIOLATIONS, violations)])

    assert gather(tmp_path).verdict == expected
    assert f'<p role="status">{expected.capitalize()}' in render(gather(tmp_path))


def test_without_validate_there_is_no_verdict(tmp_path: Path) -> None:
    batch(tmp_path, "measure", [(METRICS, []), (SUMMARIES, [])])

    assert gather(tmp_path).verdict == "not validated"


@pytest.mark.parametrize(("name", "label"), [("DeltaPrefix", "clauses"), ("Effects", "clauses of this step")])
def test_clauses_that_are_only_those_of_the_step_are_named_so(name: str, label: str, tmp_path: Path) -> None:
    batch(tmp_path, "validate", [(VERDICTS, []), (VIOLATIONS, [violation(name=name)])])

    assert f"<dt>{label}</dt><dd><code>B-29</code>" in render(gather(tmp_path))


def test_of_many_violations_the_first_of_each_kind_are_shown(tmp_path: Path) -> None:
    """However many there are of one kind, and whatever comes last."""
    many = [violation(name="First")] * 5000 + [violation("log", "Rare")]
    batch(tmp_path, "validate", [(VERDICTS, []), (VIOLATIONS, many)])

    found = gather(tmp_path)

    assert found.severities == {("violates", "First"): 5000, ("log", "Rare"): 1}
    assert len(found.violations) == 20
    assert [row["property"] for row in found.violations][-1] == "Rare"


@pytest.mark.slow
def test_the_same_batches_make_the_same_page_and_one_that_is_not_finished_is_named(place: Path) -> None:
    first = write(place)[0].read_bytes()

    assert write(place)[0].read_bytes() == first
    with Batch.open(place, Plan("simulate", (), {}, (), {})) as opened:
        assert f"{opened.folder.name} was begun and is not finished" in text_of(Reader(render(gather(place))))


def test_configurations_are_called_by_what_differs() -> None:
    configs = [
        canonical_json({"loss": loss, "nodes": 3, "config": {"interval": ms}}) for loss, ms in ((0, 500), (0.2, 500), (0, 900))
    ]

    assert list(configuration_names(configs).values()) == [
        "config.interval 500, loss 0",
        "config.interval 500, loss 0.2",
        "config.interval 900, loss 0",
    ]
    assert configuration_names(["", "{}"]) == {"": "unknown", "{}": "all runs"}


@pytest.mark.parametrize("context", ["", "{", "[1]", '[{"node": "a"}]', '{"a": 1}'])
def test_a_context_that_is_no_trace_is_no_graph(context: str) -> None:
    assert around(context, 1) is None


def test_a_folder_without_batches_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "report", "--in", str(tmp_path)]) == 4
    assert "no committed batch" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.browser
def test_a_browser_shows_what_a_log_has_as_text_and_runs_and_loads_nothing(page: Page, tmp_path: Path) -> None:
    """With texts of a megabyte too, and whatever is filtered or printed."""
    path, _ = write(everything(tmp_path / "out", HOSTILE + "x" * 2**20))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.locator("#text").fill("<img src=x")
    page.locator("#text").fill("")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert page.title() == "peerproof: rejected"
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("img, iframe, object, [onerror]").count() == 0
    assert visible(HOSTILE)[:60] in page.locator("#divergences").inner_text()
    assert requests == [path.as_uri()]
    for width in (400, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.browser
def test_the_time_line_of_a_run_opens_at_its_first_divergence(
    page: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By one click, without a server; the right run of the other trace has no finding, and so no button."""
    files = [str(path) for path in examples() if path.stem.startswith("scuttlebutt")]
    for stage in (["ingest", *files], ["validate", "--in", str(tmp_path)]):
        main(["pipeline", *stage, "--output", str(tmp_path), "--master", "none"])
    file, _ = write(tmp_path)
    capsys.readouterr()
    page.goto(file.as_uri())

    with page.expect_popup() as opened:
        page.get_by_role("button", name="Open in the explorer").first.click()

    expect(opened.value.get_by_role("status")).to_contain_text("Step 16 of 97, 1,431 ms. ✗ n1:1: recv from n0:1")
    expect(opened.value.locator("#problem")).to_contain_text("where the specification has k1")
    expect(opened.value.locator("#which option")).to_have_count(1)


@pytest.mark.browser
def test_the_policy_forbids_what_is_from_elsewhere_and_scripts_of_others(browser: Browser, place: Path) -> None:
    assert what_is_refused(browser, write(place)[0].as_uri()) == FORBIDDEN


@pytest.mark.slow
@pytest.mark.browser
def test_the_contents_and_the_filter_are_in_the_address(page: Page, place: Path) -> None:
    path, _ = write(place)
    page.goto(path.as_uri())
    count, divergences = page.locator("#count"), page.locator("article:visible")
    expect(divergences).to_have_count(3)
    page.locator("#severity").select_option("log")
    expect(divergences).to_have_count(1)
    page.locator("#text").fill("lostline")
    expect(count).to_have_text(re.compile("^2 of "))
    page.get_by_role("navigation", name="Contents").get_by_role("link", name="Figures").click()
    assert page.evaluate("location.hash") == "#text=lostline&severity=log&part=figures"
    expect(page.locator("#figures")).to_be_in_viewport()

    page.reload()
    expect(page.locator("#text")).to_have_value("lostline")
    expect(count).to_have_text(re.compile("^2 of "))
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#text=convergence")
    expect(page.locator(".metric:visible h4")).to_have_text("Convergence")
    page.locator(".metric:visible").get_by_text("The figures").click()
    expect(page.get_by_role("columnheader", name="90th percentile")).to_be_visible()


@pytest.mark.slow
@pytest.mark.browser
def test_the_command_that_shows_a_divergence_again_is_copied(page: Page, place: Path) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(write(place)[0].as_uri())
    page.get_by_role("button", name="Copy the line: see it again").first.click()

    expect(page.locator("#said")).to_have_text("copied: peerproof again")
    assert page.evaluate("navigator.clipboard.readText()") == "peerproof again"


@pytest.mark.slow
@pytest.mark.browser
def test_paper_has_all_of_it_and_no_controls(page: Page, place: Path) -> None:
    page.goto(write(place)[0].as_uri())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    assert page.locator("details:not([open])").count() == 0
    for control in ("form", "nav", "button"):
        assert not any(found.is_visible() for found in page.locator(control).all())


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_screen_in_light_and_dark(browser: Browser, place: Path, width: int, scheme: Any) -> None:
    """Plots and graphs have the colours of the page; pictures are kept."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(write(place)[0].as_uri())

    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    colours = {"light": ("rgb(255, 255, 255)", "rgb(5, 80, 174)"), "dark": ("rgb(13, 17, 23)", "rgb(121, 192, 255)")}
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    line = tab.locator(".plot .line").first.evaluate("line => getComputedStyle(line).stroke")
    assert (ground, line) == colours[scheme]
    tab.screenshot(path=SCREENS / f"pipeline-{width}-{scheme}.png", full_page=True)
    tab.close()
