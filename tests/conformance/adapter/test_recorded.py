"""Recorded implementations: what was answered once is answered again, whatever else is asked; and nothing else is known."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.numbered import COUNT, command, digits, vector_id

from peerproof.cli.exits import NOTHING, OK, UNUSABLE, USAGE
from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import AdapterError, AdapterUnavailable
from peerproof.conformance.adapter.dialogue import DialogueFile
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.adapter.messages import NoAnswer
from peerproof.conformance.adapter.recorded import Recorded
from peerproof.conformance.adapter.recording import Recording
from peerproof.conformance.report.record import load_one
from peerproof.conformance.runner.result import Result

HELLO = '{"id":0,"op":"hello","protocol":[1,1]}'
OFFER = {"protocol": 1, "name": "mine", "version": "1", "protocols": {"scuttlebutt": {"capabilities": ["codec", "exchange"]}}}
START = ("start", f"> {HELLO}", "< " + json.dumps({"id": 0, "ok": True, **OFFER}))
OPEN = {"op": "open", "case": "c", "node": "n", "protocol": "scuttlebutt", "addr": "a:1", "now_ms": 0, "config": {}, "seed": "s"}
ACTED = {"ok": True, "effects": [], "next_timer_ms": None}


def ran(*arguments: str, path: Path) -> list[Result]:
    """The results of a run by their ids, without what is another in each run."""
    main(["run", *arguments, "--record", str(path), "--output", str(path.with_suffix(".txt"))])
    return sorted((replace(result, milliseconds=None) for result in load_one(path).results), key=lambda result: result.id)


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def started(path: Path) -> Recorded:
    adapter = Recorded(path)
    adapter.start()
    return adapter


def refused(path: Path) -> str:
    with pytest.raises(AdapterUnavailable) as unusable:
        create_adapter(f"recorded:{path}").start()
    return str(unusable.value)


def never(question: dict[str, Any]) -> list[int]:
    raise AssertionError(f"asked {question}")


Both = Callable[..., tuple[list[Result], list[Result]]]


@pytest.fixture
def record_and_replay(tmp_path: Path) -> Both:
    """The results of a run of some vectors that is recorded, and of a replay, with the same ones if no others are named."""

    def run(*vectors: str, to: str = "d.gz", replayed: tuple[str, ...] = (), how: tuple[str, ...] = ()) -> Any:
        dialogue = tmp_path / to
        recorded = ran(*vectors, *how, "--dialogue", str(dialogue), path=tmp_path / "recorded.jsonl")
        return recorded, ran(*(replayed or vectors), "--impl", f"recorded:{dialogue}", path=tmp_path / "replayed.jsonl")

    return run


@pytest.mark.parametrize(
    ("words", "how", "name", "status"),
    [
        pytest.param("layer:cluster", ("-j", "2"), "d.gz", "passed", marks=pytest.mark.slow),  # two write at the same time
        pytest.param("clause:BA-19", ("-j", "1"), "d", "passed", marks=pytest.mark.slow),
        pytest.param("clause:BA-19", ("-j", "2"), "d.gz", "passed", marks=pytest.mark.slow),
        ("layer:exchange delta", ("--impl", "divergence:BD-09"), "d.gz", "failed"),
    ],
)
def test_a_replay_gives_the_verdicts_of_the_run_that_was_recorded(
    record_and_replay: Both, words: str, how: tuple[str, ...], name: str, status: str
) -> None:
    """Cases of the codec and of models go in packs, all others by themselves."""
    recorded, replayed = record_and_replay("-k", words, "scuttlebutt", how=how, to=name)

    assert {result.status for result in recorded} - {"passed"} == {status} - {"passed"}
    assert replayed == recorded


@pytest.mark.slow
def test_a_replay_depends_neither_on_the_order_of_the_cases_nor_on_which_others_there_are(tmp_path: Path) -> None:
    dialogue = str(tmp_path / "mine.dialogue")
    recorded = ran("-k", "layer:exchange clause:B-14", "--dialogue", dialogue, path=tmp_path / "recorded.jsonl")
    chosen = recorded[len(recorded) // 2]

    assert chosen in ran("-k", chosen.vector, "--impl", f"recorded:{dialogue}", path=tmp_path / "replayed.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "jobs"), [("die", "1"), ("killed", "3"), ("hang", "1"), ("debug-print", "3"), ("panics", "1"), ("half-a-line", "3")]
)
def test_a_crash_a_hang_and_garbage_come_again(record_and_replay: Both, numbered: Path, habit: str, jobs: str) -> None:
    how = ("--op-timeout", "0.3", "-j", jobs, "--impl", command(habit, digits(17)))
    recorded, replayed = record_and_replay("--vectors", str(numbered), how=how)

    passed = sum(result.status == "passed" for result in recorded)
    assert passed == COUNT - 1
    assert without_times(replayed) == without_times(recorded)


def without_times(results: Sequence[Result]) -> list[Result]:
    """Results without what a recording lacks: times, so which trial hung, and the standard error beside replies."""
    lacking: dict[str, dict[str, Any]] = {"hung": {"reason": None}, "crashed": {"errors": ""}}
    return [replace(result, **lacking.get(result.status, {})) for result in results]


def test_what_was_not_recorded_is_undetermined_with_a_reason(record_and_replay: Both, numbered: Path) -> None:
    vectors = ("--vectors", str(numbered))
    _, replayed = record_and_replay(*vectors, "-k", f"id:{vector_id(7)}", replayed=vectors)

    assert Counter(result.status for result in replayed) == {"passed": 1, "undetermined": COUNT - 1}
    (other,) = (result for result in replayed if result.vector == vector_id(8))
    assert other.reason == f"the recording has no answer to decode {digits(8)}"
    assert other.failure is None


def test_a_run_of_which_nothing_was_recorded_is_no_success(tmp_path: Path) -> None:
    file = written(tmp_path / "d", *START)

    assert main(["run", "-k", "digest-request-of-one#decode", "--impl", f"recorded:{file}"]) == NOTHING


def node_lines(handle: int, *rest: tuple[dict[str, Any], dict[str, Any]], opening: dict[str, Any] | None = None) -> list[str]:
    """The lines of a node: opened, and asked the rest."""
    lines = list[str]()
    for request, reply in [
        (opening or OPEN, {**ACTED, "handle": handle}),
        *((request | {"handle": handle}, reply) for request, reply in rest),
    ]:
        number = f"{handle}{len(lines)}"
        lines += [f"> {json.dumps({'id': number, **request})}", f"< {json.dumps({'id': number, **reply})}"]
    return lines


def test_nodes_that_began_alike_are_told_apart_by_what_they_were_asked(tmp_path: Path) -> None:
    early, late = {"op": "advance", "now_ms": 1}, {"op": "advance", "now_ms": 2}
    query = {"op": "query", "what": "peers"}
    first = node_lines(1, (early, ACTED), (query, {"ok": True, "value": 1}))
    second = node_lines(2, (late, ACTED), (query, {"ok": True, "value": 2}), opening=OPEN | {"case": "other"})
    adapter = started(written(tmp_path / "d", *START, *first, *second))

    (opened,) = adapter.ask([OPEN], never)
    _, reply = adapter.ask([request | {"handle": opened["handle"]} for request in (late, query)], never)
    assert reply["value"] == 2

    (opened,) = adapter.ask([OPEN], never)
    nothing, after = adapter.ask([query | {"handle": opened["handle"]}, early | {"handle": opened["handle"]}], never)
    assert isinstance(nothing, NoAnswer)
    assert "no answer to query peers, after 1 others to this node" in nothing.because
    assert isinstance(after, NoAnswer), "what it would have become is not known"
    assert adapter.ask([{"op": "close", "handle": opened["handle"]}], never)[0]["ok"]


def test_questions_are_asked_again_and_the_answer_decides(tmp_path: Path) -> None:
    question = {"choice": {"for": 7, "n": 1, "site": "s", "kind": "one", "of": ["x", "y"]}}
    advance = {"id": 7, "op": "advance", "handle": 1, "now_ms": 5}
    asked = [f"> {json.dumps(advance)}", f"< {json.dumps(question)}", '> {"choice":{"for":7,"n":1,"pick":[1]}}']
    reply = f"< {json.dumps({'id': 7, **ACTED, 'next_timer_ms': 9})}"
    adapter = started(written(tmp_path / "d", *START, *node_lines(1), *asked, reply))

    for pick, timer in (([1], 9), ([0], None)):
        (opened,) = adapter.ask([OPEN], never)
        heard = list[dict[str, Any]]()

        def choose(question: dict[str, Any], pick: list[int] = pick, heard: list[dict[str, Any]] = heard) -> list[int]:
            heard.append(question)
            return pick

        (answer,) = adapter.ask([{"op": "advance", "handle": opened["handle"], "now_ms": 5}], choose)
        assert [one["of"] for one in heard] == [["x", "y"]]
        assert answer.get("next_timer_ms") == timer
        assert isinstance(answer, NoAnswer) == (timer is None)


def test_an_exit_with_an_open_request_is_a_crash_of_the_first_that_was_open(tmp_path: Path) -> None:
    one, two = ({"op": "decode", "protocol": "scuttlebutt", "bytes": each} for each in ("01", "02"))
    lines = [f"> {json.dumps({'id': number, **request})}" for number, request in enumerate((one, two), 1)]
    adapter = started(written(tmp_path / "d", *START, *lines, "exit 3"))

    with pytest.raises(AdapterError) as crash:
        adapter.ask([one], never)
    assert (crash.value.kind, crash.value.detail) == ("crashed", "exited with code 3")
    assert isinstance(adapter.ask([two], never)[0], NoAnswer)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"start\n> {", "is cut off"),
        (gzip.compress(b"start\n" * 1000, mtime=0)[:-9], "is cut off: copy or record it again"),
        (b"\x1f\x8b" + b"\x00" * 40, "is damaged"),
        (b"\xff\xfe\n", "line 1 is not UTF-8"),
        (b"hello\n", "line 1: 'hello': start expected"),
        (b"start\nand so on\n", "line 2: 'and so on': start, process, > REQUEST"),
        (b"start\n> [1]\n", "a JSON object expected"),
        (b"start\n> {}\n", "line 2"),
        (b'start\n< {"id": 4, "ok": true}\n', "a reply to 4, which has no request"),
        (b'start\n> {"id": 4, "op": "bye"}\n< bye\nexit 0\n', "line 4: 'exit 0': the reply before it is not a JSON object"),
        (b'start\n> {"id": 4, "op": "bye"}\n< bye\n', "its last reply is not a JSON object"),
        (b"start\nexit 0\n", "has no reply to hello"),
        (b"start\nprocess 2\n", "line 2"),
    ],
)
def test_a_file_that_is_no_dialogue_is_refused_with_the_place(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "d"
    path.write_bytes(data)

    assert said in refused(path)


def test_a_file_that_is_not_there_or_holds_two_implementations_is_refused(tmp_path: Path) -> None:
    other = [line.replace("mine", "yours") for line in START]

    assert "No such file" in refused(tmp_path / "nowhere")
    assert "Is a directory" in refused(tmp_path)
    assert "this is not the implementation mine 1" in refused(written(tmp_path / "two", *START, *other))
    assert main(["run", "--impl", f"recorded:{tmp_path / 'nowhere'}"]) == UNUSABLE


def test_a_dialogue_that_was_not_finished_can_be_read(tmp_path: Path) -> None:
    """As after a kill: nothing closed the file."""
    adapter = Recording(
        lambda see: create_adapter("py:peerproof.reference.harness.harness:Harness", watch=see), DialogueFile(tmp_path / "d")
    )
    adapter.start()
    (reply,) = adapter.ask([{"op": "decode", "protocol": "scuttlebutt", "bytes": "03"}], never)

    (again,) = started(tmp_path / "d").ask([{"op": "decode", "protocol": "scuttlebutt", "bytes": "03"}], never)
    assert again["value"] == reply["value"]


def test_requests_that_were_answered_before_a_failure_stay_answered_while_it_is_recorded(tmp_path: Path) -> None:
    adapter = Recording(lambda see: create_adapter(command("die", digits(3)), watch=see), DialogueFile(tmp_path / "d"))
    adapter.start()
    with pytest.raises(AdapterError) as raised:
        adapter.ask([{"op": "decode", "protocol": "scuttlebutt", "bytes": digits(number)} for number in (1, 2, 3)], never)
    adapter.kill()

    assert [reply["value"]["entries"][0]["version"] for reply in raised.value.answered] == ["1", "2"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--dialogue", "nowhere/d"), "cannot write the dialogue: the folder nowhere does not exist"),
        (("--dialogue", "d", "--impl", "recorded:d"), "would overwrite the dialogue that is replayed"),
        (("--dialogue", "d", "--connect", "udp://127.0.0.1:1", "scuttlebutt"), "--connect has none"),
    ],
)
def test_where_a_dialogue_cannot_go_is_said_before_the_run(
    here: Path, capsys: Capture, options: tuple[str, ...], said: str
) -> None:
    assert main(["run", *options]) == USAGE
    assert said in capsys.readouterr().err


def test_a_replay_shows_its_lines(tmp_path: Path, capsys: Capture) -> None:
    case = "digest-request-of-one#decode"
    main(["run", "-k", case, "--dialogue", str(tmp_path / "d"), "--output", str(tmp_path / "report")])

    assert main(["vectors", "replay", case, "--impl", f"recorded:{tmp_path / 'd'}"]) == OK
    shown = capsys.readouterr().out
    assert '"op":"decode"' in shown
    assert '"type":"digest_request"' in shown
