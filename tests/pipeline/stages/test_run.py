"""All stages in one command, on the bundled examples: from nothing to the page."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from peerproof.cli.main import main
from peerproof.conformance.suite.locations import examples
from peerproof.pipeline.storage.batches import Success, successes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

NO_SPARK = ["--master", "none", "--quiet"]


def run(*arguments: str | Path) -> int:
    """`peerproof pipeline run …` in this process, without Spark."""
    return main(["pipeline", "run", *map(str, arguments), *NO_SPARK])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, run: one of them is wrong."""
    out = tmp_path_factory.mktemp("run") / "out"
    assert run("--examples", "--output", out) == 1
    return out


def by_stage(place: Path) -> dict[str, Success]:
    """The committed batches."""
    return {str(success.told["stage"]): success for success in successes(place)}


def test_examples_are_what_the_program_beside_them_makes(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "conformance" / "examples" / "make.py"))["make"](tmp_path)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {path.name: path.read_bytes() for path in examples()}
    assert len(examples()) == 4


def test_every_stage_is_committed_and_the_wrong_example_is_found_and_no_other(place: Path) -> None:
    page = (place / "report.html").read_text(encoding="utf-8")

    assert set(by_stage(place)) == {"ingest", "validate", "measure"}
    assert '<p role="status">Rejected' in page
    titles = re.findall(r"<h3 id=\"divergence-\d+\">([^<]*)", page)
    assert titles
    assert all("DeltaPrefix" in title and title.endswith("run seed-newest-first") for title in titles)


def test_what_was_done_is_not_done_again_and_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {stage: (success.folder, success.told) for stage, success in by_stage(place).items()}

    assert run("--examples", "--output", place, "--format", "json") == 1

    assert {stage: (success.folder, success.told) for stage, success in by_stage(place).items()} == before
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"ingest", "validate", "measure", "report", "wall_s", "spark_start_s"}
    assert told["report"]["verdict"] == "rejected"


def test_crashes_routes_and_joins_in_the_examples_are_measured_and_drawn(place: Path) -> None:
    """What is delivered, also by round: the crash is in the middle."""
    (csv,) = place.glob("measure-*/summaries.csv")
    rows = [line.split('","') for line in csv.read_text(encoding="utf-8").splitlines()]
    of = {protocol: {row[2] for row in rows if f'"{protocol}' in row[0]} for protocol in ("swim", "wendy")}
    assert "detection_last" in of["swim"]
    routes, joins = {"route_hops", "delivered", "misdelivered"}, {"join_time", "join_messages", "join_bytes", "routing_table"}
    assert of["wendy"] >= routes | joins

    page = (place / "report.html").read_text(encoding="utf-8")
    for name in ("Delivered", "Misdelivered"):
        assert f"{name} of wendy by round" in page


def test_a_campaign_is_simulated_and_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every protocol: test_validate_runs.py. Values may begin with a hyphen."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.yaml").write_text("nodes: 3\nrounds: 8\n", encoding="utf-8")
    grid = tmp_path / "grid.yaml"

    assert run("--simulate", "peter", "--runs", "2", "--grid", grid, "--seed=-s", "--output=-out") == 0

    assert '<p role="status">Accepted' in (tmp_path / "-out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no input: give files, --examples, or --simulate PROTOCOL --runs N"),
        (["--simulate", "scuttlebutt"], "--simulate needs --runs N"),
        (["--simulate", "scuttlebutt", "--runs", "1", "log"], "--simulate cannot be combined with the files"),
        (["--examples", "--shared-clock"], "--examples cannot be combined with --shared-clock"),
        (["--examples", "--simulate", "swim", "--runs", "1"], "either --simulate or --examples"),
        (["log", "--runs", "3"], "--runs is for --simulate"),
        (["/nowhere/log"], "/nowhere/log does not exist"),
    ],
)
def test_what_cannot_be_run_is_told_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(*arguments, "--output", tmp_path / "out") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out" / "report.html").exists()


def test_nothing_to_read_ends_the_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("no line of a trace\n", encoding="utf-8")

    assert run(log, "--output", tmp_path / "out") == 4
    assert set(by_stage(tmp_path / "out")) == {"ingest"}
