"""`peerproof trace check`: a verdict for each node, the first divergence with what is around it, and TLC's word beside it."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.conformance.traces import file_check
from peerproof.conformance.traces.file_check import EMPTY_TIP, NoTrace
from peerproof.conformance.traces.findings import event_clauses
from peerproof.spec.traces.trace import parse
from peerproof.tla.output.outcome import RunFailed
from peerproof.tla.tools.installation import Tools, find
from peerproof.tla.traces.trace_check import Judgement, Opinion
from peerproof.tla.traces.trace_data import TraceData

Written = Callable[[list[str]], str]

ACCEPTED, WRONG, USAGE, NO_TLC, NOTHING, DISAGREE = range(6)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of three nodes that agrees."""
    path = tmp_path_factory.mktemp("traces") / "good.jsonl"
    assert main(["node", "simulate", "scuttlebutt", *f"--nodes 3 --rounds 12 --seed 3 --trace {path}".split()]) == 0
    return path


@pytest.fixture
def lines(good: Path) -> list[str]:
    """Its lines."""
    return good.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """The path of a file with these lines."""

    def write(lines: list[str], end: str = "\n") -> str:
        path = tmp_path / "trace.jsonl"
        path.write_text("\n".join(lines) + end, encoding="utf-8")
        return str(path)

    return write


def of(lines: list[str], kind: str, text: str, after: int = 0) -> int:
    """Where the first line of this kind is that has this text."""
    return next(at for at, line in enumerate(lines) if at >= after and f'"kind":"{kind}"' in line and text in line)


def test_a_trace_that_agrees_is_accepted_node_by_node(good: Path, capsys: Capture) -> None:
    assert main(["trace", "check", str(good)]) == ACCEPTED

    first, *nodes = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{good}: ")
    assert first.endswith(" lines, 3 nodes, scuttlebutt")
    assert sorted(line.split(" in ")[0] for line in nodes) == [f"  accepted  n{number}:1" for number in range(3)]


def test_a_divergence_is_shown_with_its_place_its_clauses_and_what_is_around_it(
    lines: list[str], written: Written, capsys: Capture
) -> None:
    at = of(lines, "recv", '"type":"heartbeat"', after=len(lines) // 2)
    node = parse(lines[at]).node
    lines[at] = lines[at].replace('"type":"heartbeat"', '"type":"up"').replace(',"round_trip":', ',"round":')
    path = written(lines)

    assert main(["trace", "check", path]) == WRONG

    out = capsys.readouterr().out
    assert f"REJECTED  {node} in seed-3" in out
    assert re.search(rf"{path}:{at + 1}: seq {parse(lines[at]).seq}, recv from n\d:1: .*: differs in effects\n", out)
    assert "effect 1, expected     notify heartbeat n" in out
    assert "effect 1, found        notify up n" in out
    assert "clauses of this step: " in out
    assert "B-33" in out
    own = [line for line in lines if parse(line).node == node]
    here = own.index(lines[at])
    assert re.findall(r"^      [ >] seq (\d+)  [\d,]+ ms  \w", out, re.MULTILINE) == [
        str(parse(line).seq) for line in own[here - 5 : here + 3]
    ]
    assert out.count("accepted  n") == 2

    assert main(["trace", "check", "-v", path]) == WRONG
    shown = [row[8:] for row in capsys.readouterr().out.splitlines() if row.startswith(("        {", "      > {"))]
    assert [row[:200] for row in shown] == [line[:200] for line in own[here - 5 : here + 3]]


def test_a_node_that_sends_what_is_no_message_is_named_with_the_reason(
    lines: list[str], written: Written, capsys: Capture
) -> None:
    at = of(lines, "timer", '"version":"')
    lines[at] = re.sub('"version":"\\d+"', '"version":"18446744073709551616"', lines[at], count=1)

    assert main(["trace", "check", written(lines)]) == WRONG

    reason = r"entries\[0\]\.version: expected an unsigned 64-bit integer, found 18446744073709551616 \(bad_value\)"
    out = capsys.readouterr().out
    assert re.search(rf"^      node {parse(lines[at]).node} sent \S+ something that is no message: {reason}$", out, re.MULTILINE)


@pytest.mark.parametrize(("kind", "name", "clause"), [("timer", "quantum", "S-43"), ("api", "probe_node", "S-52")])
def test_a_step_of_swim_has_the_clauses_of_its_handler_in_whatever_module_it_is(kind: str, name: str, clause: str) -> None:
    assert clause in event_clauses("swim", kind, name)


def drop_one(lines: list[str]) -> None:
    del lines[20]


def double(lines: list[str]) -> None:
    lines.insert(20, lines[19])


def swap(lines: list[str]) -> None:
    at = next(at for at in range(20, len(lines)) if parse(lines[at]).node == parse(lines[19]).node)
    lines[19], lines[at] = lines[at], lines[19]


def cut_the_start(lines: list[str]) -> None:
    del lines[: of(lines, "start", "") + 1]


def garble(lines: list[str]) -> None:
    at = of(lines, "recv", '"type":"digest_request"')
    lines[at] = lines[at].replace('"type":"digest_request"', '"type":"gossip"', 1)


def replacing(old: str, new: str) -> Callable[[list[str]], None]:
    """Returns what changes the first timer's line with this text."""

    def replace(lines: list[str]) -> None:
        at = of(lines, "timer", old)
        lines[at] = lines[at].replace(old, new, 1)

    return replace


def forget_choices(lines: list[str]) -> None:
    at = of(lines, "timer", "")
    lines[at] = re.sub(r'"picks":\[.*\],"effects"', '"picks":[],"effects"', lines[at])


@pytest.mark.parametrize(
    ("disturb", "words"),
    [
        (replacing('"version":"0"', '"version":0'), '].version is written as 0, expected "0"'),
        (replacing('"after":1000', '"after":"1000"'), '].set_timer.after is written as "1000", expected 1000'),
        (
            replacing('"set_timer"', '"timer"'),
            "is none: expected an object with one member of cancel_timer, notify, send, set_timer",
        ),
        (forget_choices, "the random choices are missing in picks: expected 1 of "),
        (drop_one, "line missing, duplicated or out of place: expected seq "),
        (double, "line missing, duplicated or out of place: expected seq "),
        (swap, "line missing, duplicated or out of place: expected seq "),
        (cut_the_start, "the trace begins in the middle: its first line is seq 1"),
        (garble, "this recv is no event of the protocol: type: expected one of digest_request, "),
    ],
)
def test_a_fault_of_the_log_is_none_of_the_node(
    disturb: Callable[[list[str]], None], words: str, lines: list[str], written: Written, capsys: Capture
) -> None:
    disturb(lines)
    path = written(lines)

    assert main(["trace", "check", path]) == WRONG

    out = capsys.readouterr().out
    assert out.count("  LOG       n") == 1
    assert words in out
    assert "REJECTED" not in out
    assert "clauses" not in out

    assert main(["trace", "check", "--format", "json", path]) == WRONG
    nodes = json.loads(capsys.readouterr().out)["files"][0]["nodes"]
    assert sorted(node["verdict"] for node in nodes) == ["accepted", "accepted", "log"]


def test_a_step_without_choices_and_messages_is_the_nodes_own(lines: list[str], written: Written, capsys: Capture) -> None:
    """It may have left out the round."""
    at = of(lines, "timer", '"effects":[{"send"')
    lines[at] = re.sub(r'"picks":.*,"effects":.*("set_timer".*"state")', r'"picks":[],"effects":[{\1', lines[at])

    assert main(["trace", "check", written(lines)]) == WRONG

    assert "differs in picks" in capsys.readouterr().out


def test_one_number_of_a_long_message_is_shown_with_its_path(tmp_path: Path, written: Written, capsys: Capture) -> None:
    """And ids are short."""
    trace = tmp_path / "swim.jsonl"
    assert main(["node", "simulate", "swim", *f"--nodes 4 --rounds 8 --seed 3 --trace {trace}".split()]) == 0
    lines = trace.read_text(encoding="utf-8").splitlines()
    at = of(lines, "recv", '"effects":[{"send"', after=len(lines) // 2)
    begin = lines[at].index('"effects"')
    lines[at] = lines[at][:begin] + re.sub(r'"tx":"\d+"', '"tx":"999"', lines[at][begin:], count=1)
    capsys.readouterr()

    assert main(["trace", "check", written(lines)]) == WRONG

    out = capsys.readouterr().out
    path = r"effect\[0\]\.send\.message\.incarnation\.tx"
    assert re.search(rf"^      {path}: 999, expected \d+\n      effect 1, expected", out, re.MULTILINE)
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}", out)
    assert max(len(row) for row in out.splitlines() if "effect 1" in row) < 300


def test_the_same_as_json(lines: list[str], written: Written, capsys: Capture) -> None:
    at = of(lines, "timer", "round.partner")
    lines[at] = lines[at].replace('"round.partner"', '"round.seed"')
    path = written([*lines[: at + 1], "garbage", *lines[at + 1 :]])

    assert main(["trace", "check", "--format", "json", path]) == WRONG

    told = json.loads(capsys.readouterr().out)
    (file,) = told["files"]
    (wrong,) = [node for node in file["nodes"] if not node["accepted"]]
    (divergence,) = wrong["divergences"]
    assert told["exit"] == WRONG
    assert (file["lines"], file["unreadable"], file["accepted"]) == (len(lines) + 1, 1, False)
    assert file["unreadable_lines"][0]["line"] == at + 2
    assert (divergence["line"], divergence["what"], divergence["seq"]) == (at + 1, "picks", parse(lines[at]).seq)
    assert divergence["expected"].endswith(" for round.partner")
    assert divergence["actual"].endswith(" for round.seed")
    assert divergence["text"] == lines[at]
    assert len(divergence["after"]) == 2
    assert "tlc" not in wrong


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"garbage\n", "not a trace line"),
        (b"\xff\xfe\n", "not UTF-8"),
        (b'{"run":"seed-3","protocol":"scut', "not a trace line"),
        (b"x" * 200 + b"\n", "not a trace line"),
        (b"null\n", "expected an object with run, protocol"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_with_its_number(
    bad: bytes, problem: str, good: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(good.read_bytes() + bad)

    assert main(["trace", "check", str(path)]) == WRONG

    out = capsys.readouterr().out
    assert f"UNREADABLE  {path}:{good.read_bytes().count(bytes([10])) + 1}: " in out
    assert problem in out
    assert out.count("accepted  n") == 3


def test_a_line_without_an_end_does_not_fill_the_memory(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_check, "LONGEST_LINE", 2000)
    long = good.read_bytes() + b"[" * 9000 + b"\n" + good.read_bytes().replace(b"seed-3", b"seed-4")

    report = file_check.check("x", io.BytesIO(long), 0, lambda *_: None)

    assert [bad.problem for bad in report.unreadable] == ["a line of more than 2,000 bytes"]
    assert len(report.nodes) == 6


def test_many_unreadable_lines_and_many_nodes_are_not_all_listed(lines: list[str], written: Written, capsys: Capture) -> None:
    many = [line.replace("seed-3", f"run {run}") for run in range(10) for line in lines[:20]]

    assert main(["trace", "check", written([*many, *["bad"] * 50])]) == WRONG

    out = capsys.readouterr().out
    assert "UNREADABLE  50 lines in all" in out
    assert "accepted  all 30 nodes" in out
    assert len(out.splitlines()) < 20
    main(["trace", "check", written([*many, many[-1]])])
    assert "accepted  the other 29 nodes" in capsys.readouterr().out


WAYS = [["check"], ["groups"], ["draw"], ["cut", "--output", "part.jsonl"], ["explore", "--output", "page.html"]]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_each_command_says_the_same_of_a_bad_file(
    way: list[str], lines: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    part = "\n".join(lines[:20])
    given = {"empty": "", "prose": "a page\nof prose\n", "other": '{"level": "info"}\n', "cut": part[:-30]}
    for name, content in given.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("folder").mkdir()

    codes, said = {}, {}
    for name in (*given, "folder"):
        codes[name] = main(["trace", *way, name])
        shown = capsys.readouterr()
        said[name] = shown.out + shown.err

    assert codes == {
        "empty": USAGE if way[0] in ("draw", "explore") else NOTHING,
        "prose": USAGE,
        "other": USAGE,
        "cut": WRONG if way == ["check"] else ACCEPTED,
        "folder": USAGE,
    }
    assert f"empty is empty\ntip: {EMPTY_TIP}\n" in said["empty"]
    assert all(f"\ntip: {NoTrace.tip}\n" in said[name] for name in ("prose", "other"))
    assert re.search(r"\b20: .*no JSON at column \d+; the file ends within this line\n", said["cut"])
    assert said["folder"] == "error: folder: Is a directory: name the files in it, as folder/*\n"


def test_a_node_that_starts_again_is_judged_again_and_of_many_divergences_the_first_are_shown(
    lines: list[str], written: Written, capsys: Capture
) -> None:
    at = of(lines, "api", "update_local")
    node = parse(lines[at]).node
    lines[at] = lines[at].replace('"state":"', '"state":"0')
    own = [line for line in lines if parse(line).node == node]

    assert main(["trace", "check", written(own * 15)]) == WRONG

    out = capsys.readouterr().out
    assert out.count(": differs in state\n") == 10
    assert "5 more after later starts" in out


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "compressed"])
def test_stdin_and_several_files(is_compressed: bool, good: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    data = good.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(data) if is_compressed else data)))

    assert main(["trace", "check", "-", str(good)]) == ACCEPTED

    assert capsys.readouterr().out.endswith("2 files, 2 accepted\n")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (None, USAGE, "No such file or directory"),
        ("", NOTHING, ".jsonl is empty\ntip: a trace has a line for the start of each node"),
        ("\n \n", NOTHING, ""),
        ("# A page\n\nof prose\n", USAGE, "no line of it is a line of a trace; line 1: not a trace line"),
        ("{}", USAGE, "no line of it is a line of a trace; line 1: expected a member 'run'"),
    ],
)
def test_what_is_no_trace_is_said(content: str | None, code: int, said: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")

    assert main(["trace", "check", str(path)]) == code

    assert said in capsys.readouterr().err


def test_nothing_is_checked_where_a_file_cannot_be_read(good: Path, tmp_path: Path, capsys: Capture) -> None:
    missing = tmp_path / "missing.jsonl"

    assert main(["trace", "check", str(good), str(missing), str(tmp_path)]) == USAGE

    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        f"error: {missing}: No such file or directory; {tmp_path}: Is a directory: name the files in it, as {tmp_path}/*\n"
        "tip: no file was checked\n",
    )


@pytest.mark.parametrize(("least", "code"), [(0, 0), (20, WRONG)])
def test_a_compressed_trace_is_read_as_far_as_it_goes(least: int, code: int, good: Path, tmp_path: Path, capsys: Capture) -> None:
    path, data = tmp_path / "trace.jsonl.gz", gzip.compress(good.read_bytes())
    path.write_bytes(data[: len(data) - least])

    assert main(["trace", "check", str(path)]) == code

    said = capsys.readouterr().out
    assert "accepted" in said
    assert ("the gzip file ends early; the part before was read" in said) == bool(code)


def test_a_protocol_that_is_not_known_is_said(lines: list[str], written: Written, capsys: Capture) -> None:
    path = written([line.replace('"protocol":"scuttlebutt"', '"protocol":"gossip"') for line in lines])

    assert main(["trace", "check", path]) == USAGE

    assert "a trace of the protocol 'gossip'; known are " in capsys.readouterr().err


def test_a_protocol_whose_traces_tlc_cannot_read_has_a_verdict_of_the_replay_only(
    written: Written, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trace = str(tmp_path / "swim.jsonl")
    assert main(["node", "simulate", "swim", "--nodes", "3", "--rounds", "5", "--trace", trace]) == 0
    monkeypatch.setattr("peerproof.tla.traces.trace_check.module", lambda _: None)
    monkeypatch.setattr("peerproof.cli.trace.check._tools", object)  # nothing is asked of it
    capsys.readouterr()

    assert main(["trace", "check", trace, "--tlc"]) == 3

    said = capsys.readouterr().out
    assert said.count("accepted") == 3
    assert "no verdict: there is no TLA+ module for traces of swim" in said

    path = written(Path(trace).read_text(encoding="utf-8").replace('"state":"', '"state":"0', 1).splitlines())
    assert main(["trace", "check", path, "--tlc"]) == WRONG


@pytest.mark.usefixtures("no_java")
def test_without_java_tlc_is_not_run_and_that_is_said(good: Path, capsys: Capture) -> None:
    assert main(["trace", "check", str(good), "--tlc"]) == NO_TLC

    captured = capsys.readouterr()
    assert "TLC is not run: no java on the path" in captured.err
    assert captured.out.count("accepted  n") == 3
    assert "TLC       no verdict: not run" in captured.out


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts words into TLC's mouth: what it says of the first trace."""

    def say(*said: Any, **more: Any) -> None:
        def judge(_tools: object, _protocol: str, data: TraceData, *_: object) -> list[Judgement]:
            if isinstance(said[0], Exception):
                raise said[0]
            first, *others = data.traces.values()
            accepted = [Judgement(trace.run, trace.node, Opinion.ACCEPTED, len(trace.events)) for trace in others]
            return [Judgement(first.run, first.node, *said, **more), *accepted]

        monkeypatch.setattr("peerproof.tla.tools.installation.find", lambda: Tools("java", 17, Path("tla2tools.jar")))
        monkeypatch.setattr("peerproof.tla.traces.trace_check.check_with_tlc", judge)

    return say


@pytest.mark.parametrize(
    ("said", "code", "shown"),
    [
        ((Opinion.REJECTED, 60, 7, 6, "effects"), DISAGREE, "; TLC DISAGREES: it rejects seq 6 (effects)"),
        ((Opinion.UNDETERMINED, 7), NO_TLC, "; TLC UNDETERMINED: it accepts the first 7 events; it was told no more"),
        ((RunFailed("the Java machine was killed"),), NO_TLC, "no verdict: the Java machine was killed"),
    ],
)
def test_what_tlc_says_otherwise_is_shown_beside_the_replays_verdict(
    said: tuple[Any, ...], code: int, shown: str, good: Path, told: Callable[..., None], capsys: Capture
) -> None:
    told(*said, why="it was told no more")

    assert main(["trace", "check", str(good), "--tlc"]) == code

    out = capsys.readouterr().out
    assert shown in out
    assert out.count("  accepted  n") == 3


def test_a_tlc_that_fails_has_no_verdict_in_json(good: Path, told: Callable[..., None], capsys: Capture) -> None:
    told(RunFailed("the Java machine was killed"))

    assert main(["trace", "check", str(good), "--tlc", "--format", "json"]) == NO_TLC
    assert json.loads(capsys.readouterr().out)["files"][0]["tlc_problem"] == "the Java machine was killed"


@pytest.mark.slow
def test_tlc_agrees_or_says_that_it_does_not_compare(lines: list[str], written: Written, capsys: Capture) -> None:
    assert find()
    seen, unseen = of(lines, "api", '"n0:1"'), of(lines, "recv", '"node":"n1:1"')
    lines[seen] = lines[seen].replace('"picks":[]', '"picks":[["somewhere",[]]]')
    lines[unseen] = lines[unseen].replace('"state":"', '"state":"0')

    assert main(["trace", "check", written(lines), "--tlc"]) == WRONG

    rows = {row.split()[1]: row for row in capsys.readouterr().out.splitlines() if " in seed-3: " in row}
    assert rows["n0:1"].endswith(f"; TLC agrees: it rejects seq {parse(lines[seen]).seq} (picks)")
    assert "; TLC accepts the step: it does not compare round-trip times" in rows["n1:1"]
    assert rows["n2:1"].endswith("; TLC agrees: it accepts all its events")


def test_the_number_of_events_for_tlc_must_be_one(good: Path) -> None:
    assert main(["trace", "check", str(good), "--tlc-events", "0"]) == USAGE
