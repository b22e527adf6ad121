"""Our nodes of DistKV and servers of the original in one cluster, over real agents: what arrives where, and what cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reference import agents as processes
from tests.reference.agents import AgentProcess, Agents, free_port, until
from tests.reference.stores import Start, StoreProcess, launching
from tests.support.originals import CLOCK, OriginalServer, installed, starting, stored, told

pytestmark = [pytest.mark.slow, pytest.mark.minute]

ROOT: dict[str, Any] = {"[]": "root"}

#: The first change of our node m1, which makes the root, as the original would keep it.
FOUNDED: dict[str, Any] = {"path": [], "value": "root", "chain": {"node": "m1", "tick": 1, "prev": None}, "tock": 1}


@pytest.fixture(autouse=True)
def original() -> None:
    installed()


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    """Starts agents that do not outlive the test."""
    yield from processes.starting(tmp_path)


@pytest.fixture
def server() -> Iterator[type[OriginalServer]]:
    """Starts servers of the original that do not outlive the test."""
    yield from starting()


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts nodes of ours that do not outlive the test."""
    yield from launching()


@pytest.fixture
def agent(agents: Agents) -> AgentProcess:
    return agents("agent1")


def ours(start: Start, agent: AgentProcess, *options: str, root: str = ":distkv") -> StoreProcess:
    """The node m1."""
    return start("m1", "--serf", agent.rpc, "--root-event", root, *options, clock=1000 * CLOCK)


@pytest.fixture
def mixed(
    agents: Agents, agent: AgentProcess, start: Start, server: type[OriginalServer], tmp_path: Path
) -> tuple[StoreProcess, OriginalServer]:
    """Our m1, which made the root, and their n1, which begins with it, over an agent each; both are ready."""
    other = agents("agent2")
    other.join(agent)
    until(lambda: agent.knows(2) and other.knows(2), "all known")
    founder = ours(start, agent, "--first", '"root"')
    founder.ready()
    theirs = server("n1", other, "--load", stored(tmp_path / "n1.stored", {"m1": 1, "n1": 0}, FOUNDED))
    theirs.place()
    return founder, theirs


def test_changes_of_either_arrive_at_the_other(mixed: tuple[StoreProcess, OriginalServer]) -> None:
    """New entries, changes of what the other made, and deletions; values and names of every kind that both have."""
    mine, theirs = mixed
    value = {"text": "é", "list": [1, 2.5, None, True], "bytes": {"$bin": "00ff"}, "great": {"$int": "18446744073709551615"}}
    mine.set(["mine", 7], value)
    theirs.answer("set", ["theirs", {"$bin": "ff"}], value)
    everything = ROOT | {'["mine", 7]': value, '["theirs", {"$bin": "ff"}]': value}
    mine.has(everything)
    until(lambda: theirs.entries() == everything, "at theirs")

    mine.set(["theirs", {"$bin": "ff"}], "changed by mine")
    theirs.answer("set", ["mine", 7], "changed by theirs")
    everything = ROOT | {'["mine", 7]': "changed by theirs", '["theirs", {"$bin": "ff"}]': "changed by mine"}
    mine.has(everything)
    until(lambda: theirs.entries() == everything, "at theirs")

    theirs.answer("delete", ["theirs", {"$bin": "ff"}])
    mine.type("delete", ["mine", 7])
    mine.has(ROOT)
    until(lambda: theirs.entries() == ROOT, "at theirs")
    chain = theirs.answer("get", ["mine", 7])["chain"]
    assert chain == {"node": "m1", "tick": 4, "prev": {"node": "n1", "tick": 2, "prev": None}}


def test_pings_of_each_build_on_those_of_the_other(mixed: tuple[StoreProcess, OriginalServer]) -> None:
    mine, theirs = mixed
    theirs.answer("set", ["a"], 1)  # who has made no change may keep out of chains [D-107]

    def names() -> list[str]:
        last = mine.answer("own")["last"]
        return [element["node"] for element in last["chain"]["elements"]] if last else []

    until(lambda: names()[:2] == ["n1", "m1"], "a ping of theirs on ours")
    until(lambda: names()[:2] == ["m1", "n1"], "a ping of ours on theirs")
    assert theirs.process.poll() is None


def test_under_the_default_root_they_do_not_hear_each_other(
    agent: AgentProcess, start: Start, server: type[OriginalServer]
) -> None:
    """DA-55, DD-01."""
    mine, theirs = ours(start, agent, "--first", '"root"', root="distkv"), server("n1", agent, "--first", '"their root"')
    mine.ready()
    theirs.place()
    listening = ours_too(start, agent)
    mine.set(["mine"], 1)
    theirs.answer("set", ["theirs"], 2)

    until(lambda: "n1" in str(listening.told("needs_download")), "heard, under its own root")
    assert mine.entries() == ROOT | {'["mine"]': 1}
    assert theirs.entries() == {"[]": "their root", '["theirs"]': 2}


def ours_too(start: Start, agent: AgentProcess) -> StoreProcess:
    """A node that hears the original."""
    return start("m2", "--serf", agent.rpc, "--root-event", ":distkv", clock=1000 * CLOCK)


def test_ours_cannot_download_from_theirs(agent: AgentProcess, start: Start, server: type[OriginalServer]) -> None:
    """What they have is fetched as a client does; ours looks for a place that only ours make known [DA-93]."""
    theirs = server("n1", agent, "--first", '"root"')
    theirs.place()
    mine = ours(start, agent)
    until(lambda: len(mine.told("needs_download")) > 1, "tried twice")
    assert {"node": "n1"} in mine.told("needs_download")
    assert not mine.told("ready")
    mine.type("set", ["a"], 1)
    mine.wait(lambda node: bool(node.told("refused")), "refused")
    assert theirs.entries() == ROOT


def test_theirs_cannot_download_from_ours(agent: AgentProcess, start: Start, server: type[OriginalServer]) -> None:
    place = f"127.0.0.1:{free_port()}"
    mine = ours(start, agent, "--first", '"root"', "--download", place)
    mine.ready()
    theirs = server("n1", agent, "--peer", f"m1={place}")
    until(lambda: any("Unable to connect to <Node: m1" in line for line in theirs.errors), "tried")

    assert theirs.said == []
    mine.set(["a"], 1)
    assert theirs.process.poll() is None


def test_what_happened_on_two_sides_of_a_split_arrives_at_both(
    agents: Agents, start: Start, server: type[OriginalServer], tmp_path: Path
) -> None:
    """Theirs sends it again in its own form [DD-10, DA-49]: the agent that joins takes no old events over from the other."""
    one, other, trace = agents("agent1"), agents("agent2"), tmp_path / "m1.jsonl"
    mine = ours(start, one, "--first", '"root"', "--trace", str(trace))
    theirs = server("n1", other, "--load", stored(tmp_path / "n1.stored", {"m1": 1, "n1": 0}, FOUNDED))
    mine.ready()
    theirs.place()
    mine.set(["mine"], 1)
    for number in range(3):
        theirs.answer("set", ["theirs", number], number)
    assert mine.entries() == ROOT | {'["mine"]': 1}

    one.join(other)
    everything = ROOT | {'["mine"]': 1} | {f'["theirs", {number}]': number for number in range(3)}
    mine.has(everything)
    until(lambda: theirs.entries() == everything, "at theirs")
    mine.wait(lambda node: bool(node.told("split_healed")), "healed")
    assert mine.end() == 0
    steps = [json.loads(line).get("args") for line in trace.read_text("utf-8").splitlines()]
    assert {"node": "n1", "tick": "3"} in [step.get("sender") for step in steps if isinstance(step, dict)]


#: What ends a server of the original, which our node survives: the type, payloads, and what the server says of it.
FATAL: dict[str, tuple[str, list[Any], str]] = {
    "a concurrent update, DD-08": (
        "update",
        [
            {"node": "x", "tick": 1, "prev": None, "path": ["p"], "value": 1, "tock": 50},
            {"node": "y", "tick": 1, "prev": None, "path": ["p"], "value": 2, "tock": 51},
        ],
        "AttributeError: 'UpdateEvent' object has no attribute 'value'",
    ),
    "an update without a tock, DD-25": (
        "update",
        [{"node": "x", "tick": 1, "prev": None, "path": ["p"], "value": 1}],
        "AttributeError: tock",
    ),
    "a change with another value, DD-26": (
        "update",
        [{"node": "x", "tick": 1, "prev": None, "path": ["p"], "value": value, "tock": 50} for value in (1, 2)],
        "AssertionError: ('has:', 1, 'but should have:', 2)",
    ),
    "a tick that is no number": (
        "update",
        [{"node": "x", "tick": "1", "prev": None, "path": ["p"], "value": 1, "tock": 50}],
        "TypeError",
    ),
    "a list": ("ping", [[1, 2]], "AttributeError: 'tuple' object has no attribute 'get'"),
    "half a map": ("info", [b"\x82\xa4node"], "ValueError: Unpack failed: incomplete input"),
    "a string that is not UTF-8": ("ping", [b"\x81\xa4node\xa1\xff"], "UnicodeDecodeError"),
}


@pytest.mark.parametrize("event", FATAL)
def test_what_ends_theirs_does_not_end_ours(event: str, agent: AgentProcess, mixed: tuple[StoreProcess, OriginalServer]) -> None:
    mine, theirs = mixed
    kind, payloads, reason = FATAL[event]
    told(agent, f":distkv.{kind}", *payloads)

    assert reason in theirs.over()
    mine.set(["still"], True)
    assert mine.end() == 0
    assert not any("Traceback" in error for error in mine.errors)


def test_a_change_that_is_too_great_for_serf_ends_theirs_and_is_refused_by_ours(
    mixed: tuple[StoreProcess, OriginalServer],
) -> None:
    """DD-24, DA-12."""
    mine, theirs = mixed
    mine.type("set", ["long"], "x" * 600)
    mine.wait(lambda node: bool(node.told("refused")), "refused")
    theirs.asked("set", ["long"], "x" * 600)

    assert "SerfError: user event exceeds" in theirs.over()
    assert mine.entries() == ROOT
