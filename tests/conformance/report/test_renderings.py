"""Reports: many forms of the same, and what is left of them when the disk is full or somebody presses Ctrl-C."""

from __future__ import annotations

import json
import resource
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from xml.etree import ElementTree as Xml

import pytest
from tests.conformance.conftest import Capture
from tests.support import reports
from tests.support.full_disk import largest_file
from tests.support.numbered import COUNT, command, digits, vector_id
from tests.support.reports import PASSED

from peerproof.cli.main import main
from peerproof.conformance.report.record import Report, read
from peerproof.conformance.report.renderings import FORMATS, as_junit, as_markdown, as_text, renderer
from peerproof.conformance.runner.result import STATUSES, Result, of_plain
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.suite.output import CannotWrite, Deferred, Growing, write_whole

DIED = Result(
    "scuttlebutt/codec/number-1#decode",
    "crashed",
    "scuttlebutt/codec/number-1",
    1,
    "must",
    ("B-43",),
    seed="ab",
    failure="crashed",
    reason="the implementation exited with code 3",
    confirmed=True,
    errors="panic\x00\x1b[31m",
    essence=({"op": "decode", "protocol": "scuttlebutt", "bytes": "01"},),
)
MISSED = replace(reports.MISSED, clauses=("B-11", "ZZ-99"))


@pytest.fixture
def report() -> Report:
    return reports.report(DIED, MISSED, PASSED)


def test_totals_count_cases_by_status(report: Report) -> None:
    totals = {"selected": 3, **dict.fromkeys(STATUSES, 0), "passed": 1, "failed": 1, "crashed": 1}

    assert report.totals == totals
    assert report.plain()["totals"] == totals
    assert not report.partial


@pytest.mark.parametrize("result", [DIED, MISSED, PASSED])
def test_a_result_survives_its_line(result: Result) -> None:
    assert of_plain(json.loads(json.dumps(result.plain()))) == result


def test_json_lines_hold_the_whole_report(report: Report) -> None:
    lines = list(report.lines())

    assert [next(iter(json.loads(line))) for line in lines] == ["header", "case", "case", "case", "footer"]
    assert read(lines) == report


def test_without_its_footer_a_report_is_partial_in_every_form(report: Report) -> None:
    cut = read(list(report.lines())[:-1])

    for name, render in FORMATS.items():
        assert "artial" in render(cut, {}).lower(), name


def test_a_failing_case_prints_clause_story_difference_and_two_lines_to_paste(report: Report) -> None:
    text = as_text(report, {MISSED.vector: "its title"})

    again = "peerproof vectors replay scuttlebutt/exchange/one --impl './mine --flag'"
    for words in (
        f"FAILED scuttlebutt/exchange/one (messages: {FAILURES['messages']})\n  its title\n  B-11 must: ",
        "peer -> node  10 ms: delta []   03",
        "first difference: steps[1].messages[1].bytes, from byte 0\n    expected  03\n              = delta []",
        f"again:   {again}",
        f"by hand: {again} --emit stdin | ./mine --flag",
        'by hand: printf \'%s\\n\' \'{"id":1,"op":"decode","protocol":"scuttlebutt","bytes":"01"}\' | ./mine --flag',
    ):
        assert words in text
    assert text.endswith("mine 2, vectors 1.0.0+sha256:00\n3 cases, 3 vectors: 1 passed, 1 failed, 1 crashed\n")


def test_a_brief_text_has_what_fails_what_is_stale_and_the_counts(report: Report) -> None:
    others = ("known", "tolerated", "differs", "skipped", "stale")
    report.results += [
        replace(PASSED, id=f"scuttlebutt/exchange/{status}", status=status, reason=f"{status}, it is") for status in others
    ]
    report.problems, report.notes = ["the list has expired"], ["no question was asked"]

    shown, brief = as_text(report, {}), renderer("text", every=False, brief=True)(report, {})

    left_out = [line for line in shown.splitlines() if line not in brief.splitlines()]
    assert {line.partition(": ")[0] for line in left_out} == {
        "known",
        "tolerated",
        "differs",
        "skipped",
        "cases run by layer",
        "note",
    }
    for kept in (
        "FAILED ",
        "CRASHED ",
        "STALE ",
        "problem: the list has expired",
        "2 failing cases",
        "3 vectors: 1 passed, 1 failed",
    ):
        assert kept in brief


def test_junit_is_xml_whatever_an_implementation_has_written_and_counts_what_is_not_judged_as_skipped(report: Report) -> None:
    report.results += [
        replace(reports.MISSED, id=f"scuttlebutt/exchange/{status}", status=status, reason="for now")
        for status in ("known", "undetermined")
    ]

    suite = Xml.fromstring(as_junit(report, {}))

    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "2"]
    skipped = {case.get("name"): case.find("skipped") for case in suite.iter("testcase")}
    assert [*skipped] == ["number-1#decode", "one", "two", "known", "undetermined"]
    assert [None if one is None else one.get("message") for one in skipped.values()] == [
        *[None] * 3,
        "known: for now",
        "undetermined: for now",
    ]


def test_markdown_tables_hold_no_stray_bars(report: Report) -> None:
    report.results = [PASSED, Result("a/b/c", "tolerated", "a/b/c", 1, "may", (), reason="one | two\nthree")]

    assert "| `a/b/c` | tolerated |  |  | one \\| two three |" in as_markdown(report, {})


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file alone in its folder."""
    (tmp_path / "only").mkdir()
    file = tmp_path / "only/report.json"
    file.write_text("old")
    file.chmod(0o640)
    return file


def test_a_file_is_the_old_one_or_the_new_one(old: Path) -> None:
    with largest_file(4096), pytest.raises(CannotWrite, match="File too large"):
        write_whole(old, "x" * 10_000)
    assert old.read_text() == "old"
    assert list(old.parent.iterdir()) == [old]

    write_whole(old, "new")
    assert old.read_text() == "new"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert list(old.parent.iterdir()) == [old]

    link = old.parent.with_name("link")
    link.symlink_to(old)
    write_whole(link, "by its link")
    assert link.is_symlink()
    assert old.read_text() == "by its link"


def test_after_a_line_that_did_not_fit_a_shorter_one_follows_the_line_before(old: Path) -> None:
    growing = Growing(old)
    growing.write("first\n")
    with largest_file(4096):
        with pytest.raises(CannotWrite, match="File too large"):
            growing.write("x" * 10_000 + "\n")
        growing.write("last\n")
    growing.close()

    assert old.read_text() == "first\nlast\n"


def test_an_interruption_waits_until_a_line_is_written() -> None:
    with Deferred() as interruption:
        signal.raise_signal(signal.SIGINT)
        written = True

    assert written
    assert interruption.seen
    with Deferred():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


# The command as a process, since signals and full disks are a process's matter.


def peerproof(*arguments: str | Path, limit: int = resource.RLIM_INFINITY, out: int = PIPE) -> subprocess.CompletedProcess[str]:
    """Runs the command, with a limit on the size of files."""
    command = [sys.executable, "-m", "peerproof.cli.main", *map(str, arguments)]
    with largest_file(limit):
        process = subprocess.Popen(command, stdout=out, stderr=PIPE, text=True)
    stdout, stderr = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_every_form_comes_out_of_the_command(numbered: Path, tmp_path: Path, form: str) -> None:
    file, record = tmp_path / "report", tmp_path / "record.jsonl"
    impl = command("die", digits(17))
    arguments = ["run", "--vectors", str(numbered), "--impl", impl, "--format", form, "--output", str(file)]
    code = main([*arguments, "--record", str(record)])

    assert code == 1
    if form != "html":  # report html has titles of what passed, too
        converted = tmp_path / "converted"
        assert main(["report", "convert", str(record), "--format", form, "--output", str(converted)]) == 0
        assert converted.read_text() == file.read_text()
    assert ("number-17" if form == "html" else "number-17#decode") in file.read_text()  # a page has ids and parts apart


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "number"), [("1", signal.SIGINT), ("2", signal.SIGINT), ("1", signal.SIGTERM)])
def test_interrupting_a_run_leaves_what_was_judged_marked_partial(tmp_path: Path, jobs: str, number: signal.Signals) -> None:
    record, report = tmp_path / "record.jsonl", tmp_path / "report.json"
    # Cases that take nodes are asked one by one, so that they finish one by one; each of these waits a little.
    judged = ["run", "--vectors", str(_hostile(tmp_path)), "--impl", command("slow", "0.1"), "-j", jobs]
    written = ["--record", str(record), "--format", "json", "--output", str(report)]
    process = subprocess.Popen([sys.executable, "-m", "peerproof.cli.main", *judged, *written], stderr=subprocess.PIPE)
    until = time.monotonic() + 30
    while time.monotonic() < until and not (record.exists() and record.read_text().count('"case"') >= 2):
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)

    assert process.returncode == 130, errors
    shown = json.loads(report.read_text())
    assert shown["partial"] is True
    assert shown["because"] == "interrupted"
    assert 2 <= len(shown["cases"]) < shown["totals"]["selected"]
    recorded = read(record.read_text().splitlines(keepends=True))
    assert {case["id"] for case in shown["cases"]} == {result.id for result in recorded.results}
    assert {result.status for result in recorded.results} == {"passed"}


def _hostile(tmp_path: Path) -> Path:
    """Vectors each of which is four cases, three of them with nodes."""
    folder = tmp_path / "hostile" / "scuttlebutt" / "codec"
    folder.mkdir(parents=True)
    vectors = "".join(
        f"- id: scuttlebutt/codec/hostile-{number}\n  rev: 1\n  title: hostile\n  level: must\n  clauses: [BA-20]\n"
        f'  bytes: "{number:02x}"\n  rejects: {{}}\n'
        for number in range(16, 48)
    )
    (folder / "hostile.yaml").write_text(f"format: 1\nprotocol: scuttlebutt\nabout: Hostile.\nvectors:\n{vectors}")
    return tmp_path / "hostile"


def test_an_interruption_while_the_report_is_written_marks_it_partial(
    numbered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.json"

    def interrupted(path: Path | None, text: str) -> None:
        if not file.exists():
            signal.raise_signal(signal.SIGINT)
        write_whole(path, text)

    monkeypatch.setattr("peerproof.conformance.suite.output.write_whole", interrupted)

    assert main(["run", "--vectors", str(numbered), "--format", "json", "--output", str(file)]) == 130
    shown = json.loads(file.read_text())
    assert shown["partial"] is True
    assert shown["totals"]["passed"] == COUNT


def test_a_record_is_complete_though_the_report_beside_it_is_not(
    numbered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, report, record = Growing.write, tmp_path / "report.jsonl", tmp_path / "record.jsonl"

    def fail_at_the_end(growing: Growing, line: str | bytes) -> None:
        if record.exists() and record.read_text().count("\n") == COUNT + 1:
            monkeypatch.setattr(Growing, "write", write)
            raise CannotWrite("no space left")
        write(growing, line)

    monkeypatch.setattr(Growing, "write", fail_at_the_end)

    assert main(["run", "--vectors", str(numbered), "--format", "jsonl", "--output", str(report), "--record", str(record)]) == 130
    assert not read(record.read_text().splitlines(keepends=True)).partial
    assert read(report.read_text().splitlines(keepends=True)).partial


def test_the_suites_own_fault_is_no_verdict_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("peerproof.conformance.runner.worker.Worker.alone", broken)

    assert main(["run", "--vectors", str(_hostile(tmp_path)), "--format", "json"]) == 5
    shown = capfd.readouterr()
    assert "internal error" in shown.err
    assert json.loads(shown.out)["because"].startswith("internal error: ZeroDivisionError")
    assert json.loads(shown.out)["totals"]["passed"] == 32


@pytest.mark.slow
def test_a_full_disk_leaves_whole_lines_of_what_was_judged(numbered: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    done = peerproof("run", "--vectors", numbered, "--record", record, limit=4096)

    assert done.returncode == 130, done.stderr
    kept = read(record.read_text().splitlines(keepends=True))
    assert kept.partial
    assert 0 < len(kept.results) < COUNT
    assert record.read_text().endswith("\n")
    assert "PARTIAL: the report cannot be written" in done.stdout


@pytest.mark.slow
def test_a_report_that_does_not_fit_on_the_disk_comes_on_standard_output(numbered: Path, old: Path) -> None:
    done = peerproof("run", "--vectors", numbered, "--format", "json", "--output", old, limit=2048)

    assert done.returncode == 130
    shown = json.loads(done.stdout)
    assert (shown["partial"], shown["totals"]["passed"]) == (True, COUNT)
    assert old.read_text() == "old"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_standard_output_is_said_on_standard_error(numbered: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = peerproof("run", "--vectors", numbered, out=full.fileno())

    assert done.returncode == 130
    assert "No space left on device" in done.stderr
    assert f"{COUNT} passed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-k", "number-3"], 0, ""),
        (["-k", "number-3#decode"], 0, ""),
        (["-k", "no-such-vector"], 4, ""),
        (["-k", "number-3 number-4"], 4, ""),
        (["-k", "no-such-key:number-3"], 2, ""),
        (["--impl", "./no-such-adapter"], 3, ""),
        (["--op-timeout", "soon"], 2, ""),
        (["-j", "0"], 2, ""),
        (["--output", "/"], 2, "is a folder"),  # before anything is judged
        (["--output", "/no/where"], 2, "does not exist"),
    ],
)
def test_the_exit_code_says_what_kind_of_outcome_it_is(
    numbered: Path, arguments: list[str], code: int, said: str, capfd: Capture
) -> None:
    assert main(["run", "--vectors", str(numbered), *arguments]) == code
    assert said in capfd.readouterr().err


def test_replay_shows_every_line_and_the_verdict(numbered: Path, capfd: Capture) -> None:
    code = main(["vectors", "replay", f"{vector_id(3)}#decode", "--vectors", str(numbered)])
    shown = capfd.readouterr().out.splitlines()

    assert code == 0
    assert [line[:2] for line in shown[:6]] == ["> ", "< ", "> ", "< ", "> ", "< "]
    assert json.loads(shown[2][2:])["bytes"] == digits(3)
    assert f"PASSED {vector_id(3)}#decode" in shown


@pytest.mark.slow
def test_what_replay_emits_can_be_fed_by_hand(tmp_path: Path, capfd: Capture) -> None:
    assert main(["vectors", "replay", "scuttlebutt/exchange/rounds-come-at-the-interval", "--emit", "stdin"]) == 0
    lines = capfd.readouterr().out
    program = [sys.executable, "-m", "peerproof.reference.harness.harness"]
    done = subprocess.run(program, input=lines, capture_output=True, text=True, check=True, timeout=60)

    assert '"choice":{"for"' in lines  # the answers are among them
    assert '"error"' not in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["ok"] is True


def test_replay_runs_a_failing_case_exactly_once(numbered: Path, capfd: Capture) -> None:
    assert main(["vectors", "replay", vector_id(3), "--vectors", str(numbered), "--impl", command("die", digits(3))]) == 1

    shown = capfd.readouterr().out
    assert shown.count(digits(3)) >= 1
    assert shown.count('> {"id":0,"op":"hello"') == 1
    assert "CRASHED" in shown
