"""Real nodes of DistKV over real agents of Serf."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.reference.agents import AgentProcess, Agents
from tests.reference.conftest import PATIENCE
from tests.reference.networks import ONE, OTHER, Link
from tests.reference.stores import COMMAND, FIRST, ROOT, Start, StoreProcess, running
from tests.support.waiting import until

pytestmark = pytest.mark.slow

#: Milliseconds: more than twice what agents take, also of a machine that is busy. [D-92]
CLOCK = 1000


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts nodes with a file each that do not outlive the test."""
    with running() as launch:

        def start(name: str, agent: AgentProcess, *options: str, **others: Any) -> StoreProcess:
            state = str(tmp_path / f"{name}.state")
            return launch(name, "--serf", agent.rpc, "--state", state, *options, clock=CLOCK, inside=agent.inside, **others)

        yield start


def cluster(agents: Agents, count: int) -> list[AgentProcess]:
    """So many agents that know each other."""
    return acquainted([agents(f"agent{number}") for number in range(1, count + 1)])


def acquainted(found: list[AgentProcess]) -> list[AgentProcess]:
    """All know all."""
    for other in found[1:]:
        other.join(found[0])
    until(lambda: all(agent.knows(len(found)) for agent in found), "all known")
    return found


def on_both_sides(agents: Agents, link: Link) -> list[AgentProcess]:
    """Two agents at each end of a link, which know each other."""
    found = []
    for side, (name, address) in enumerate(zip(link, (ONE, OTHER), strict=True)):
        for number in (1, 2):
            where = {"bind": f"{address}:{7945 + number}", "rpc": f"127.0.0.1:{7372 + number}"}
            found.append(agents(f"agent{2 * side + number}", inside=["ip", "netns", "exec", name], **where))
    return acquainted(found)


def network(start: Start, agents: Sequence[AgentProcess]) -> list[StoreProcess]:
    """A node over each agent, n1 and so on, all ready."""
    found = [start("n1", agents[0], *FIRST)]
    found[0].ready()
    found += [start(f"n{number}", agent) for number, agent in enumerate(agents[1:], start=2)]
    for node in found:
        node.ready()
    return found


@pytest.mark.kill
def test_of_four_one_is_killed_while_it_writes_and_what_it_had_acknowledged_the_others_have(agents: Agents, start: Start) -> None:
    processes = cluster(agents, 4)
    nodes = network(start, processes)
    for number, node in enumerate(nodes):
        node.set(["shared"], number)
    for number in range(200):
        nodes[0].type("set", ["n1", number], number)
    nodes[0].wait(lambda node: len(node.told("sent")) > 25, "some are sent")
    nodes[0].kill()

    acknowledged = {json.dumps(change["path"]) for change in nodes[0].told("sent")}
    assert 25 < len(acknowledged) < 200
    until(lambda: all(acknowledged <= node.entries().keys() for node in nodes[1:]), "all acknowledged")

    again = start("n1", processes[0])
    again.ready()
    expected = again.entries()
    assert {json.dumps(change["path"]) for change in nodes[0].told("changed")} <= expected.keys()
    for node in nodes[1:]:
        node.has(expected)
    again.set(["again"], True)
    for node in nodes[1:]:
        node.has(expected | {'["again"]': True})


def test_a_split_with_changes_on_both_sides_heals_to_one_state_with_nothing_missing(
    agents: Agents, start: Start, link: Link
) -> None:
    processes = on_both_sides(agents, link)
    nodes = network(start, processes)
    nodes[0].set(["before"], 1)
    for node in nodes:
        node.has(ROOT | {'["before"]': 1})

    link.set("down")
    for number, node in enumerate(nodes, start=1):
        for change in range(3):
            node.set([f"n{number}", change], change)
    nodes[0].set(["both"], "one")
    nodes[2].set(["both"], "other")
    nodes[3].type("delete", ["before"])
    for here, there in ((nodes[:2], nodes[2:]), (nodes[2:], nodes[:2])):
        names = {node.name for node in here}
        for node in here:
            until(lambda node=node, names=names: pinged(node) <= names, "pings of its side only")  # type: ignore[misc]  # bound now
        mine = {f'["{name}", {change}]' for name in names for change in range(3)}
        for node in here:
            until(lambda node=node, mine=mine: mine <= node.entries().keys(), "all of its side")  # type: ignore[misc]  # bound now
            assert not any(f'["{other.name}", 0]' in node.entries() for other in there)

    link.set("up")
    processes[2].join(processes[0])
    expected = ROOT | {f'["n{number}", {change}]': change for number in range(1, 5) for change in range(3)}
    both = {"one", "other"}
    until(lambda: len({json.dumps(node.entries(), sort_keys=True) for node in nodes}) == 1, "one state")
    found = nodes[0].entries()
    assert found.pop('["both"]') in both
    for node in nodes:
        node.has(nodes[0].entries())
        assert node.answer("own")["missing"] == {}
    assert found == expected
    assert any(node.told("split_healed") for node in nodes)


def pinged(node: StoreProcess) -> set[str]:
    """Who stands first, second and third in the chain of the last ping."""
    return {element["node"] for element in node.answer("own")["last"]["chain"]["elements"][:3]}


def test_events_of_other_programs_and_other_networks_do_no_harm(agents: Agents, start: Start) -> None:
    process = agents("agent1")
    one = start("n1", process, *FIRST)
    one.ready()
    for name, payload in (("deploy", "now"), ("distkv.update", "garbage"), ("distkv.ping", ""), ("distkv.other", "x"), ("", "")):
        process.serf("event", "-coalesce=false", name, payload)
    other = start("m1", process, "--first", "1", "--root-event", ":distkv")
    other.ready()
    other.set(["m"], 1)
    one.set(["a"], 1)

    one.has(ROOT | {'["a"]': 1})
    other.has({"[]": 1, '["m"]': 1})
    one.wait(lambda node: any("malformed event from distkv.update" in error for error in node.errors), "warned")
    assert not any("Traceback" in error for node in (one, other) for error in node.errors)


def test_a_name_that_is_taken_over_another_agent_ends_it_with_2(agents: Agents, start: Start) -> None:
    processes = cluster(agents, 2)
    one = start("n1", processes[0], *FIRST)
    one.ready()
    until(lambda: "peerproof:distkv:n1=" in processes[1].serf("members"), "known")

    done = subprocess.run(
        [*COMMAND, "--name", "n1", "--serf", processes[1].rpc],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert "a node n1 is already running, at 127.0.0.1:" in done.stderr
    one.set(["still"], 1)
    assert one.end() == 0
    until(lambda: "peerproof" not in processes[1].serf("members"), "taken back")


def test_an_event_that_only_the_agent_finds_too_large_is_said_and_the_node_goes_on(agents: Agents, start: Start) -> None:
    process = agents("agent1", user_event_size_limit=300)
    one = start("n1", process, *FIRST)
    one.ready()
    one.type("set", ["long"], "x" * 300)
    one.wait(lambda node: any("cannot send distkv.update" in error for error in node.errors), "complained")
    one.set(["short"], 1)

    assert any("limit of 300 bytes" in error and "user_event_size_limit" in error for error in one.errors)
    assert [change["path"] for change in one.told("sent")] == [["short"]]


def test_a_key_of_the_agent_is_taken_from_the_option_or_the_environment(agents: Agents, start: Start) -> None:
    process = agents("agent1", rpc_auth="secret")
    refused = start("n0", process)
    assert refused.over() == 2
    assert any("requires a key" in error for error in refused.errors)
    one = start("n1", process, *FIRST, "--rpc-auth", "secret")
    one.ready()
    assert one.end() == 0
