"""TLC judges traces by the model: what it says is what the replay says, where it looks."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.changed_traces import CHANGES
from tests.support.judged_traces import judged_after
from tests.support.tools import require
from tests.support.traced_clusters import CLUSTERS

from peerproof.reference.protocols.swim.runtime import RUNTIME as SWIM
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import scuttlebutt, swim
from peerproof.spec.core import Instant, NodeId, Specification
from peerproof.spec.properties import InFlight
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Divergence, Line, parse
from peerproof.tla.manifest import root
from peerproof.tla.output.outcome import RunFailed
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces import trace_check
from peerproof.tla.traces.trace_check import CLASSES, Comparison, Judgement, Opinion, View, check_with_tlc, compare, view
from peerproof.tla.traces.trace_data import TraceData

SPEC: Specification = scuttlebutt
MOST = 10**6


def simulated(seed: str, protocol: str = "scuttlebutt") -> list[str]:
    """The lines of a small cluster."""
    return CLUSTERS[protocol](seed)


#: By protocol: which of the changes TLC leaves open. It sees no time and no fingerprints.
OPEN = {"scuttlebutt": {"a fingerprint", "a round-trip time"}, "swim": {"a fingerprint"}}


@pytest.fixture(scope="module", params=CLUSTERS)
def protocol(request: pytest.FixtureRequest) -> str:
    """Each protocol whose clusters write traces for TLC."""
    name: str = request.param
    return name


@pytest.mark.slow
def test_on_changed_traces_the_replay_and_tlc_say_the_same(protocol: str, tools: Tools) -> None:
    """A trace for each change, judged by TLC in one Java machine. All kinds of divergences are among them."""
    assert len(CHANGES[protocol]) >= 25
    changed = judged_after(tools, protocol, CHANGES[protocol].items(), lambda number: simulated(f"{number}", protocol))

    for name, nodes in changed.items():
        expected = {Comparison.AGREE, Comparison.UNSEEN} if name in OPEN[protocol] else {Comparison.AGREE}
        assert {each.comparison for each in nodes} <= expected, (name, nodes)

    found = [(name, each) for name, nodes in changed.items() for each in nodes if each.divergence is not None]
    kinds = {each.divergence.what for _, each in found if each.divergence and each.comparison is Comparison.AGREE}
    unseen = {name for name, each in found if each.comparison is Comparison.UNSEEN}

    assert kinds == {"seq", "args", "picks", "effects", "refused"}
    assert {name for name, _ in found} == CHANGES[protocol].keys() - {
        "nothing",
        "nothing, once more",
        "the file ends within a line",
    }
    assert unseen == OPEN[protocol]


NAMES = [NodeId(name) for name in ('n"0":1', "\\n:1", "ключ:1", "\U0001f600", "%s' }")]
NOT_UTF_8 = [NodeId(name) for name in ("\udcff\udc80:1", "\udcff")]


def gossip_of_strange_names() -> list[str]:
    """Addresses, keys and values with quotes, beyond ASCII and not of UTF-8; datagrams so small that bytes matter."""
    lines: list[str] = []
    simulation = Simulation(SPEC, "strange", recorder=Recorder(SPEC, "strange", lines.append))
    config = scuttlebutt.Config(seeds=tuple(NAMES[:2]), max_payload=64, detector=None)
    for node in NAMES:
        simulation.start(node, config)
        for name in NAMES:
            simulation.ask(node, scuttlebutt.UpdateLocal(f"{name} of {node}"[:20], name))
    hearsay = scuttlebutt.DigestRequest(tuple(scuttlebutt.DigestEntry(name, 1) for name in NOT_UTF_8))
    simulation.at(Instant(5000), lambda: simulation.carry(InFlight(NOT_UTF_8[0], NAMES[0], hearsay)))
    simulation.run(Instant(20_000))
    return lines


def judgements(tools: Tools, lines: list[str], most: int = MOST, protocol: str = "scuttlebutt") -> list[Judgement]:
    """What TLC says."""
    data = TraceData(PROTOCOLS[protocol].specification.load(), most)
    for line in lines:
        data.add(parse(line))
    return check_with_tlc(tools, protocol, data)


@pytest.mark.slow
def test_names_of_any_bytes_are_judged(tools: Tools) -> None:
    lines = gossip_of_strange_names()
    at = next(at for at, line in enumerate(lines) if '"join","peer":{"hex":"ff80' in line)
    wrong = [line.replace('"run":"strange"', '"run":"wrong"') for line in lines]
    wrong[at] = wrong[at].replace('"join","peer":{"hex":"ff80', '"join","peer":{"hex":"ff81')

    opinions = [(said.run, said.opinion) for said in judgements(tools, [*lines, *wrong]) if said.opinion is not Opinion.ACCEPTED]

    assert sum("hex" in line for line in lines) > 20
    assert opinions == [("wrong", Opinion.REJECTED)]


@pytest.mark.slow
def test_what_tlc_is_not_told_of_is_undetermined_and_not_accepted(tools: Tools) -> None:
    lines = simulated("7")
    large = [line.replace('"version":"1"', f'"version":"{2**31}"') for line in lines]
    first = parse(lines[0]).node
    told = sum(parse(line).node == first for line in lines[:40])

    few, far = judgements(tools, lines, 40)[0], judgements(tools, large)[0]

    assert (few.opinion, few.events, few.why) == (Opinion.UNDETERMINED, told, "at most 40 events are passed to TLC")
    assert far.opinion is Opinion.UNDETERMINED
    assert far.why is not None
    assert "the integer 2147483648, and TLC's integers end at 2^31 - 1" in far.why


@pytest.mark.slow
@pytest.mark.parametrize(
    ("checked", "right", "wrong"),
    [
        ("scuttlebutt", "VersionSize == 8", "VersionSize == 9"),
        ("scuttlebutt", "only(deltas) \\o only(requests)", "only(requests) \\o only(deltas)"),
        ("swim", "changes \\cap after.nodeEvents", "changes"),
        ("swim", "2 * config.interval", "3 * config.interval"),
    ],
)
def test_a_mistake_in_the_module_is_a_disagreement(
    checked: str, right: str, wrong: str, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{checked}/{checked.capitalize()}Trace.tla"
    text = (root() / file).read_text(encoding="utf-8")
    shutil.copytree(root(), tmp_path / "models", ignore=shutil.ignore_patterns("peerproof"))
    (tmp_path / "models" / file).write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(trace_check, "root", lambda *_: tmp_path / "models")
    lines = [line for seed in range(4) for line in simulated(f"{seed}", checked)]

    opinions = {judgement.opinion for judgement in judgements(tools, lines, protocol=checked)}

    assert right in text
    assert Opinion.REJECTED in opinions


ALONE = NodeId("n:1")
OWN, OTHER = swim.Uuid("11111111-1111-4111-8111-111111111111"), swim.Uuid("22222222-2222-4222-8222-222222222222")


def joining(host: str, tx: int, sender: swim.Uuid) -> Any:
    """A ping to the node, by which another one joins."""
    incarnation = swim.Incarnation(0, tx)
    return swim.Ping(sender, incarnation, OWN, (swim.Joining(sender, incarnation, host, 1),))


@pytest.mark.slow
def test_a_node_that_leaves_twice_leaves_once(tools: Tools) -> None:
    """Both say so, whether its leave is still in the queue at the second one or not. [SA-37]"""
    lines: list[str] = []
    simulation = Simulation(swim, "twice", recorder=Recorder(swim, "twice", lines.append))
    simulation.start(ALONE, SWIM.build_config({"uuid": OWN}, ALONE, []))
    simulation.at(Instant(50), partial(simulation.carry, InFlight(NodeId("m:1"), ALONE, joining("m", 1, OTHER))))
    for now in (100, 200, 30_000):
        simulation.at(Instant(now), partial(simulation.ask, ALONE, swim.LeaveNode(OWN)))
    simulation.run(Instant(40_000))
    again = [json.loads(line) | {"run": "again"} for line in lines]
    second = [number for number, line in enumerate(again) if line["kind"] == "api"][1]
    again[second] |= {"refused": "unknown_node"}

    right, wrong = judgements(tools, [*lines, *map(json.dumps, again)], protocol="swim")

    assert (right.opinion, right.events) == (Opinion.ACCEPTED, len(lines))
    assert (wrong.opinion, wrong.what) == (Opinion.REJECTED, "refused")


@pytest.mark.slow
def test_what_the_module_of_swim_cannot_judge_is_undetermined(tools: Tools) -> None:
    happenings: dict[str, list[Any]] = {
        "whether the payload fits into a datagram": [swim.SetPayload(OWN, f'{{"a":"{"x" * 600}"}}')],
        "a datagram in the name of the node itself": [joining("m", 1, OWN)],
        "the address in a queued joining": [joining("m", 1, OTHER), joining("k", 2, OTHER)],
    }
    lines: list[str] = []
    for why, happens in happenings.items():
        simulation = Simulation(swim, why, recorder=Recorder(swim, why, lines.append))
        simulation.start(ALONE, SWIM.build_config({"uuid": OWN}, ALONE, []))
        for number, happening in enumerate(happens, start=1):
            message = InFlight(NodeId("m:1"), ALONE, happening)
            happen = (
                partial(simulation.carry, message)
                if isinstance(happening, swim.Ping)
                else partial(simulation.ask, ALONE, happening)
            )
            simulation.at(Instant(50 * number), happen)
        simulation.run(Instant(1000))
    simulation = Simulation(swim, "x", recorder=Recorder(swim, "an address beyond ASCII", lines.append))
    simulation.start(NodeId("ключ:1"), SWIM.build_config({}, NodeId("ключ:1"), []))

    said = judgements(tools, lines, protocol="swim")

    assert {judgement.run: (judgement.why or "").rpartition(": ")[2] for judgement in said} == {
        judgement.run: judgement.run for judgement in said
    }
    assert {judgement.opinion for judgement in said} == {Opinion.UNDETERMINED}
    assert [judgement.events for judgement in said][-1] == 0


def test_a_java_machine_that_ends_early_gives_no_verdict(java: Callable[[str], Tools]) -> None:
    with pytest.raises(RunFailed):
        judgements(java("os.kill(os.getpid(), signal.SIGKILL)"), simulated("0")[:20])


def test_a_protocol_without_a_module_has_no_verdict(java: Callable[[str], Tools]) -> None:
    with pytest.raises(RunFailed, match=r"no TLA\+ module for traces of nothing"):
        check_with_tlc(java("pass"), "nothing", TraceData(SPEC, MOST))
    with pytest.raises(RunFailed, match=r"no TLA\+ module for traces of nothing"):
        view("nothing")


def line(**members: object) -> Line:
    """A line of a round."""
    text = simulated("0")[0]
    return replace(parse(text), **{"kind": "recv", **members})  # type: ignore[arg-type]  # tests say what they change


HEARD, HEARD_LATE, JOINED = (
    {"notify": {"type": "heartbeat", "peer": "a:1", "round_trip": 5}},
    {"notify": {"type": "heartbeat", "peer": "a:1", "round_trip": 9}},
    {"notify": {"type": "join", "peer": "a:1"}},
)


@pytest.mark.parametrize(
    ("what", "kind", "expected", "actual", "is_seen"),
    [
        ("seq", "recv", 1, 2, True),
        ("seq", "timer", 1, 2, True),
        ("args", "timer", "", "", True),
        ("refused", "api", None, "too_large", True),
        ("state", "recv", "0", "1", False),
        ("state", "timer", "0", "1", False),
        ("picks", "recv", "", "", True),
        ("picks", "timer", "", "", False),
        ("effects", "timer", [JOINED], [], False),
        ("effects", "recv", [HEARD], [HEARD_LATE], False),
        ("effects", "recv", [HEARD, JOINED], [HEARD_LATE, JOINED], False),
        ("effects", "recv", [HEARD, JOINED], [HEARD_LATE], True),
        ("effects", "recv", [JOINED], ["garbage"], True),
    ],
)
def test_what_the_module_sees_is_declared(what: str, kind: str, expected: object, actual: object, is_seen: bool) -> None:
    divergence = Divergence(replace(line(), kind=kind), what, expected, actual)  # type: ignore[arg-type]  # any kind

    assert view("scuttlebutt").sees(divergence) is is_seen


LATER: list[object] = [{"cancel_timer": {"timer": {"type": "round"}}}, JOINED, HEARD]


@pytest.mark.parametrize(
    ("expected", "actual", "is_seen"),
    [
        (LATER, LATER[1:], False),
        (LATER, [HEARD, JOINED], False),
        (LATER, [HEARD], True),
        (LATER, [HEARD, JOINED, JOINED], True),
        ([7, JOINED], [JOINED], True),
    ],
)
def test_a_module_may_ignore_effects_and_their_order(expected: list[object], actual: list[object], is_seen: bool) -> None:
    seen_by = replace(view("scuttlebutt"), unseen_effects=frozenset({"cancel_timer"}), is_ordered=False)
    divergence = Divergence(line(), "effects", expected, actual)

    assert seen_by.sees(divergence) is is_seen
    assert view("scuttlebutt").sees(divergence)


def sent(message: str, to: str = "a:1", version: int = 1) -> dict[str, object]:
    """A message as an effect."""
    return {"send": {"to": to, "message": {"type": message, "header": {"version": version, "hop": 1}}}}


@pytest.mark.parametrize(
    ("what", "kind", "args", "expected", "actual", "is_seen"),
    [
        ("effects", "recv", {"type": "copy"}, [sent("hint"), JOINED], [JOINED], False),
        ("effects", "recv", {"type": "copy"}, [sent("copy")], [sent("copy", version=2)], False),
        ("effects", "recv", {"type": "copy"}, [sent("copy")], [sent("copy", to="b:1")], True),
        ("effects", "recv", {"type": "event"}, [JOINED], [], False),
        ("effects", "sent", {"took": None, "message": {"type": "event"}}, [JOINED], [], True),
        ("effects", "sent", {"took": None, "message": {"type": "copy"}}, [JOINED], [], False),
        ("effects", "sent", None, [JOINED], [], True),
        ("refused", "api", {"type": "join"}, "too_late", None, False),
        ("refused", "api", {"type": "leave"}, "too_late", None, True),
    ],
)
def test_a_module_may_leave_some_messages_open(
    what: str, kind: str, args: object, expected: object, actual: object, is_seen: bool
) -> None:
    seen_by = View(
        "",
        frozenset({"recv event", "sent copy"}),
        {"copy": frozenset({"header.version"})},
        unseen_effects=frozenset({"send hint"}),
        open_refusals=frozenset({"api join"}),
    )
    divergence = Divergence(line(args=args, kind=kind), what, expected, actual)

    assert seen_by.sees(divergence) is is_seen


def judgement(opinion: Opinion, events: int, event: int | None = None) -> Judgement:
    """What TLC says of a trace."""
    return Judgement("r", "n", opinion, events, event)


SEEN, UNSEEN = ("seq", 1, 2), ("state", "0", "1")


@pytest.mark.parametrize(
    ("found", "event", "said", "comparison"),
    [
        (None, None, judgement(Opinion.ACCEPTED, 9), Comparison.AGREE),
        (None, None, judgement(Opinion.REJECTED, 9, 4), Comparison.DISAGREE),
        (None, None, judgement(Opinion.UNDETERMINED, 9), Comparison.UNDETERMINED),
        (SEEN, 4, judgement(Opinion.REJECTED, 9, 4), Comparison.AGREE),
        (SEEN, 4, judgement(Opinion.REJECTED, 9, 3), Comparison.DISAGREE),
        (SEEN, 4, judgement(Opinion.REJECTED, 9, 5), Comparison.DISAGREE),
        (SEEN, 4, judgement(Opinion.ACCEPTED, 9), Comparison.DISAGREE),
        (SEEN, 4, judgement(Opinion.UNDETERMINED, 4), Comparison.DISAGREE),
        (SEEN, 4, judgement(Opinion.UNDETERMINED, 3), Comparison.UNDETERMINED),
        (UNSEEN, 4, judgement(Opinion.ACCEPTED, 9), Comparison.UNSEEN),
        (UNSEEN, 4, judgement(Opinion.REJECTED, 9, 5), Comparison.UNSEEN),
        (UNSEEN, 4, judgement(Opinion.REJECTED, 9, 3), Comparison.DISAGREE),
    ],
)
def test_verdicts_agree_on_the_first_event_that_is_wrong(
    found: tuple[str, object, object] | None, event: int | None, said: Judgement, comparison: Comparison
) -> None:
    divergence = Divergence(line(), *found) if found else None

    assert compare(divergence, event, said, view("scuttlebutt")) is comparison


@pytest.mark.slow
def test_the_class_is_what_its_source_compiles_to(tools: Tools, tmp_path: Path) -> None:
    folder = root() / CLASSES
    javac = require("javac")
    options = ["--release", "17", "-g:none", "-cp", str(tools.jar), "-d", str(tmp_path)]

    subprocess.run([javac, *options, str(folder / "TraceData.java")], check=True)

    assert (tmp_path / "TraceData.class").read_bytes() == (folder / "TraceData.class").read_bytes()
