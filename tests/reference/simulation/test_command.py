"""`peerproof node simulate`: what it prints and how it exits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from peerproof.cli.main import main
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec import scuttlebutt
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import parse, replay


@pytest.mark.slow
def test_a_checked_run_says_when_all_agreed_and_that_nothing_is_violated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = "--nodes 5 --rounds 50 --loss 0.1 --seed 7 --check --trace"

    code = main(["node", "simulate", "scuttlebutt", *options.split(), str(tmp_path / "out.jsonl")])

    printed = capsys.readouterr().out
    assert code == 0
    assert "ViewsEqual: since round" in printed
    assert printed.endswith("no property is violated\n")
    assert list(replay(scuttlebutt, map(parse, (tmp_path / "out.jsonl").read_text().splitlines()))) == []


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RUNTIMES)
def test_what_the_help_checks_violates_nothing(protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["node", "simulate", protocol, "--help"])
    examples = re.findall(r"^  peerproof (node simulate .* --check)$", capsys.readouterr().out, re.MULTILINE)

    assert [main(example.split()) for example in examples] == [0, 0]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (
            "scuttlebutt --nodes 2 --rounds 20 --updates 1 --crash 1@5 --restart 1@15 --seed 7",
            [
                "n1:1  starts$",
                r"n1:1  view n0:1: version=1 \(was 0\), pairs k0 value=v0, .*\(delta from n0:1\)",
                "n1:1  crashes$",
                "n1:1  starts again$",
                r"n1:1  status n0:1: status=up   \(digest_request from n0:1\)",
            ],
        ),
        (
            "swim --nodes 3 --rounds 30 --crash 2@10",
            [
                r"n2:1  crashes",
                r"n[01]:1  nodes n2:1: status=suspicious \(was normal\)   \(quantum\)",
                r"n[01]:1  nodes n2:1: status=dead \(was suspicious\)   \(quantum\)",
                r"n[01]:1  nodes n2:1: status=dead \(was suspicious\)   \((ping|ack) from n[01]:1\)",
            ],
        ),
        (
            "peter --nodes 4 --rounds 14 --updates 2 --crash 3@10",
            [
                r"n3:1  own: stage=joining \(was alone\)   \(join\)",
                r"n3:1  routing_table: \+0/\d+/n1:1   \(heartbeat to n1:1 arrived\)",
                r"n3:1  topics \w+: children \+n0:1   \(subscribe from n0:1\)",
                r"n2:1  leaf_set right: -n3:1   \(publish to n3:1 did not arrive\)",
                r"n2:1  topics \w+: -parent \(was n3:1\)   \(publish to n3:1 did not arrive\)",
            ],
        ),
        (
            "distkv --nodes 3 --rounds 14 --updates 1",
            [
                r"n1:1  own: phase=ready \(was empty\)   \(loaded\)",
                r"n2:1  dump k0: .*value=v0   \(set_value\)",
                r"n1:1  dump k0: .*value=v0   \(update from n2:1\)",
            ],
        ),
    ],
)
def test_the_timeline_says_when_a_node_learns_what_and_by_which_event(
    options: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["node", "simulate", *options.split(), "--watch"]) == 0

    *timeline, _ = capsys.readouterr().out.partition(" steps, ")[0].splitlines()
    assert timeline
    assert all(re.match(r" *\d+\.\d{3} s  n\d:1  \S", line) for line in timeline)
    rest = iter(timeline)
    assert [wanted for wanted in lines if not any(re.search(f"s  {wanted}", line) for line in rest)] == []  # in this order


def test_a_violation_exits_with_1_and_names_the_property(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["node", "simulate", "scuttlebutt", *["--crash", "2@10", "--restart", "2@12", "--rounds", "20", "--check", "--json"]]
    )

    assert code == 1
    assert json.loads(capsys.readouterr().out)["violations"][0]["name"] == "OwnerDominates"


def test_a_configuration_that_allows_no_pair_at_all_runs_nevertheless(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "simulate", "scuttlebutt", *["--max-payload", "1", "--rounds", "5", "--check"]]) == 0
    assert "never reached" in capsys.readouterr().out


def test_a_ring_that_never_rests_is_reported_and_no_violation(capsys: pytest.CaptureFixture[str]) -> None:
    """With WD-16, warnings and announcements go on for ever."""
    options = ["--nodes", "4", "--rounds", "8", "--seed", "1", "--check"]
    assert main(["node", "simulate", "wendy", *options]) == 0
    assert "AllJoined: since round " in capsys.readouterr().out

    assert main(["node", "simulate", "wendy", *options, "--divergence", "1@WD-16"]) == 0
    printed = capsys.readouterr().out
    assert "AllJoined: does not hold at the end; more --rounds may reach it, if anything can still change\n" in printed
    assert printed.endswith("no property is violated, but not all hold at the end: AllJoined\n")


def test_a_large_trace_is_mentioned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("peerproof.cli.node.simulate.LARGE", 10_000)
    path = tmp_path / "out.jsonl"

    assert main(["node", "simulate", "scuttlebutt", "--rounds", "10", "--trace", str(path)]) == 0

    assert path.stat().st_size > 20_000
    assert capsys.readouterr().err.count(f"the trace {path} grows beyond ") == 1


@pytest.mark.parametrize(("protocol", "name"), [("scuttlebutt", "BD-03"), ("swim", "SD-05"), ("wendy", "WD-17")])
def test_of_all_nodes_the_replay_rejects_the_one_with_a_divergence(protocol: str, name: str, tmp_path: Path) -> None:
    trace = tmp_path / "out.jsonl"
    options = ["--rounds", "20", "--divergence", f"2@{name}", "--trace", str(trace)]
    assert main(["node", "simulate", protocol, *options]) == 0
    lines = [parse(line) for line in trace.read_text("utf-8").splitlines()]

    found = {each.line.node for each in replay(PROTOCOLS[protocol].specification.load(), lines)}

    assert found == {"n2:1"}
    assert len({line.node for line in lines}) == 5


def test_a_divergence_that_crashes_is_a_node_that_has_crashed(capsys: pytest.CaptureFixture[str]) -> None:
    """And it can be started again. The others go on."""
    options = "--rounds 40 --partition 8-14 --divergence 2@DD-08 --restart 2@35 --json"

    assert main(["node", "simulate", "distkv", *options.split()]) == 0

    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["node"], failure["reason"]) == ("n2:1", "RuntimeError: two chains, and neither is in the other")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_exits_with_1_after_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "simulate", "scuttlebutt", *["--rounds", "5", "--trace", "/dev/full"]]) == 1

    captured = capsys.readouterr()
    assert "steps" in captured.out
    assert captured.err == "warning: the trace /dev/full ends after 0 lines: No space left on device\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("scuttlebutt --loss 1.5", "loss must be from 0 to 1"),
        ("scuttlebutt --crash 5@1", "no node 5: the last of"),
        ("scuttlebutt --restart 1@0", "before round 1"),
        ("scuttlebutt --crash 2@100 --rounds 20", "node 2 cannot crash or restart in round 100: the last round is 20"),
        ("scuttlebutt --restart 2@51", "node 2 cannot crash or restart in round 51: the last round is 50"),
        ("swim --crash 2@20 --crash 2@10 --restart 2@25", "node 2 cannot crash in round 20: it is down since round 10"),
        ("swim --watch --json", "--json: not allowed with argument --watch"),
        ("scuttlebutt --partition 21-30 --rounds 20", "no partition can begin in round 21: the last round is 20"),
        ("scuttlebutt --partition 10-5", "--partition: '10-5': the second number must not be less than the first"),
        ("scuttlebutt --partition 9", "--partition: '9': expected two numbers, as in 10-30"),
        ("scuttlebutt --divergence 5@BD-02", "no node 5: the last of"),
        ("scuttlebutt --divergence 1@SD-05", "no node of scuttlebutt has the divergence 'SD-05'"),
        ("scuttlebutt --divergence 1@bd-99", "no node of scuttlebutt has the divergence 'bd-99'\ntip: there are BD-01, BD-02, "),
        ("swim --divergence 2@SD-99", ", SD-23\n"),
        ("swim --divergence 2@BD-09", "SD-18, SD-20, SD-22, SD-23\n"),
        (
            "scuttlebutt --divergence BD-02",
            "--divergence: 'BD-02': expected the number of a node and a divergence, as in 2@SD-05",
        ),
        ("scuttlebutt --restart 2@3 --apart 2", "node 2 cannot crash or restart before round 4, because it starts in round 4"),
        ("scuttlebutt --churn 2", "churn must be from 0 to 1, not 2"),
        ("scuttlebutt --max-payload 0", "max_payload: expected an integer from 1"),
        ("scuttlebutt --trace /no/such/folder/t", "cannot write the trace /no/such/folder/t: No such file or directory"),
        ("wendy --loss 0.1", "uses connections, where nothing is lost"),
        ("wendy --apart -1", "apart must be at least 0, not -1"),
        ("peter --duplication 0.1", "uses connections, where nothing is lost"),
        ("peter --subscriptions 5", "a node cannot subscribe to 5 of 4 topics"),
    ],
)
def test_what_makes_no_sense_is_said_and_exits_with_2(capsys: pytest.CaptureFixture[str], options: str, complaint: str) -> None:
    assert main(["node", "simulate", *options.split()]) == 2

    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("simulate swim --los 0.1", "unknown option --los 0.1\ntip: did you mean --loss?"),
        ("simulate swim --intervall 300", "unknown option --intervall 300\ntip: did you mean --interval?"),
        ("simulate --verbose swim --zzz", "unknown option --zzz\ntip: see peerproof node simulate swim --help"),
        ("simulate swim wendy", "unknown argument wendy\ntip: name one protocol, and repeat the command for another"),
        ("start wendy --bind 127.0.0.1:1 --heart 2", "unknown option --heart 2\ntip: did you mean --heartbeat?"),
        (
            "start wendy --trace swim --bnd=127.0.0.1:1",
            "unknown option --bnd; the following arguments are required: --bind\ntip: did you mean --bind?",
        ),
        (
            "start wendy -- --bnd",
            "the following arguments are required: --bind\ntip: see peerproof node start wendy --help",
        ),
    ],
)
def test_an_unknown_option_is_looked_for_among_those_of_the_protocol(
    capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    assert main(["node", *command.split()]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


@pytest.mark.parametrize("options", ["--nodes 0", "--nodes x", "--crash 1"])
def test_a_misspelt_option_is_a_usage_error(capsys: pytest.CaptureFixture[str], options: str) -> None:
    assert main(["node", "simulate", "scuttlebutt", *options.split()]) == 2
    assert "expected" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RUNTIMES)
def test_the_same_options_give_the_same_run_of_which_each_step_is_the_specifications(
    protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With crashes and restarts."""
    runs = []
    for trace in (tmp_path / "one", tmp_path / "other"):
        options = f"--rounds 35 --crash 1@20 --restart 1@25 --json --trace {trace}"
        assert main(["node", "simulate", protocol, *options.split()]) == 0
        runs.append((capsys.readouterr().out, trace.read_bytes()))

    assert runs[0] == runs[1]
    assert main(["trace", "check", str(tmp_path / "one")]) == 0


def test_under_churn_nodes_crash_and_come_back(tmp_path: Path) -> None:
    trace = tmp_path / "out.jsonl"

    assert main(["node", "simulate", "scuttlebutt", *["--rounds", "20", "--churn", "0.1", "--trace", str(trace)]]) == 0
    starts = [line for line in map(parse, trace.read_text().splitlines()) if line.kind == "start"]
    assert len(starts) > 5
    assert {line.node for line in starts if line.seq} <= {f"n{number}:1" for number in range(1, 5)}
    assert min(line.t_us for line in starts if line.seq) >= 10_000_000
