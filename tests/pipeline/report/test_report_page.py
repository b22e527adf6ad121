"""The page: what it says, that it stands alone, that it can be read by everybody, and that no log can write into it."""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.chromium import OPTIONS, browser
from tests.support.html_reader import Reader

from peerproof.cli.main import main
from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.traces.events import canonical_json
from peerproof.pipeline.report.divergence_diagram import around
from peerproof.pipeline.report.report_data import configuration_names, gather
from peerproof.pipeline.report.report_page import page, write
from peerproof.pipeline.spark.work import work
from peerproof.pipeline.storage.batches import Batch, Plan, Unit
from peerproof.pipeline.storage.tables import METRICS, QUARANTINE, RUNS, SUMMARIES, TRACES, VERDICTS, VIOLATIONS, Table

#: What tries to be more than text, in HTML, in SVG, in matplotlib's mathematics, and to people's eyes.
HOSTILE: Final = (
    "</title></style><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp;$\\frac$\u202e"
    "{{ 7 * 7 }}"
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


def everything(out: Path) -> Path:
    """Fills a folder with all tables, and hostile texts wherever a log can put them."""
    event = ("r1", "scuttlebutt", "i", "a:1", 0, 0, "start", *[None] * 9, HOSTILE, 0)
    run = ("r1", "scuttlebutt", "log", None, None, "v", 1, 1, "complete", "0")
    aside = (HOSTILE, 3, 1, "not_json", HOSTILE, HOSTILE.encode(), "b")
    counts = {"records": 1003, "traces": 1000, "quarantine": 2, "left_out": 1}
    batch(out, "ingest", [(TRACES, [event]), (RUNS, [run]), (QUARANTINE, [aside, aside])], counts=counts)
    graph = canonical_json([line(4), line(5, node="a:1", peer=HOSTILE), line(6)])
    found = [violation(node=HOSTILE, context=graph), violation("log", "LostLine"), violation("undetermined", "TooManyStates")]
    verdicts = [("r1", "scuttlebutt", "a:1", "replay", "rejected", 10, 6, 1, 0, HOSTILE)]
    batch(out, "validate", [(VIOLATIONS, found), (VERDICTS, verdicts)])
    sent = [("r1", "scuttlebutt", "bytes_sent", number, "a:1", 10.0 * number, "bytes") for number in range(5)]
    hostile = canonical_json({"loss": HOSTILE, "nodes": 3})
    batch(out, "measure", [(METRICS, sent), (SUMMARIES, [summary(), summary(config=hostile), summary("bytes_sent")])])
    return out


def text_of(read: Reader) -> str:
    return "".join(read.texts)


def attributes_of(read: Reader, tag: str) -> list[dict[str, str | None]]:
    """The attributes of each element of a name."""
    return [attributes for name, attributes in read.elements if name == tag]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of everything."""
    return page(gather(everything(tmp_path_factory.mktemp("everything") / "out")))


@pytest.mark.slow
def test_the_page_needs_nothing_else(html: str) -> None:
    """No element that loads, no address, no import; and its policy forbids the browser to."""
    read = Reader(html)

    assert not {tag for tag, _ in read.elements} & {"script", "link", "img", "iframe", "object", "embed", "image", "base", "form"}
    assert not re.search(r'(?:href|src|action|xlink:href)="(?!#)', html)
    assert not re.search(r"@import|url\((?!#)", html)
    policies = [meta["content"] for meta in attributes_of(read, "meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


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
    rows = [("r", "swim", str(number), "replay", verdict, 1, 1, 0, 0, None) for number, verdict in enumerate(verdicts)]
    batch(tmp_path, "validate", [(VERDICTS, rows), (VIOLATIONS, violations)])

    assert gather(tmp_path).verdict == expected
    assert f"Verdict: {expected}" in page(gather(tmp_path))


def test_without_validate_there_is_no_verdict(tmp_path: Path) -> None:
    batch(tmp_path, "measure", [(METRICS, []), (SUMMARIES, [])])

    assert gather(tmp_path).verdict == "not validated"


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
        assert f"{opened.folder.name} was begun and is not finished" in text_of(Reader(page(gather(place))))


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


def chromium(folder: Path, *arguments: str) -> bytes:
    """What headless Chromium prints; it reaches no network, and names no host."""
    command = [browser(), *OPTIONS, f"--user-data-dir={folder / 'profile'}", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.browser
def test_a_browser_shows_all_of_it_as_text(place: Path, tmp_path: Path) -> None:
    """With scripts on, so that one that a log has brought in would run: the title stays, and no element is new."""
    path, _ = write(place)
    picture = tmp_path / "page.png"

    dumped = chromium(tmp_path, "--dump-dom", path.as_uri()).decode()
    chromium(tmp_path, "--window-size=900,1400", f"--screenshot={picture}", path.as_uri())

    expected, found = Reader(path.read_text(encoding="utf-8")), Reader(dumped)
    assert re.findall(r"<title>([^<]*)</title>\s*<style", dumped) == ["peerproof: rejected"]
    assert Counter(tag for tag, _ in found.elements) == Counter(tag for tag, _ in expected.elements)
    for words in ("Verdict: rejected", "1,003 records read", "DeltaPrefix", "convergence"):
        assert words in text_of(found)
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (900, 1400)
    assert len(data) > 20_000  # an empty page is a few thousand bytes
