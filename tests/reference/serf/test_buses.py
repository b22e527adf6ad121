"""What carries events: an agent of Serf that goes and comes back, and a folder."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.reference.agents import Agents, free_port
from tests.reference.ring import eventually

from peerproof.reference.serf.agent_bus import SerfBus
from peerproof.reference.serf.bus import MOST_WAITING, Bus, BusError, Parcel
from peerproof.reference.serf.client import Agent, AgentGone
from peerproof.reference.serf.folder_bus import LoopbackBus
from peerproof.spec.core import NodeId
from peerproof.spec.forms.messagepack import string_bytes

N1, N2 = NodeId("n1"), NodeId("n2")


def parcel(number: int, *, lasts: bool = True, taken: Callable[[], None] = lambda: None) -> Parcel:
    """An event of its own."""
    return Parcel("event", b"%d" % number, lasts, taken)


class Ear:
    """Who listens to a bus."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []

    def __call__(self, name: str, payload: bytes) -> None:
        """An event."""
        self.heard.append((name, payload))

    @property
    def numbers(self) -> list[int]:
        """The events of `parcel`."""
        return [int(payload) for name, payload in self.heard if name == "event"]


async def opened(bus: Bus) -> Ear:
    """Listens to a bus."""
    ear = Ear()
    await bus.open(ear)
    return ear


@pytest.mark.slow
async def test_large_bursts_over_serf_arrive_whole_and_their_sender_is_told_of_each(agents: Agents) -> None:
    first, *others = [agents(name) for name in ("a", "b", "c", "d")]
    for other in others:
        other.join(first)
    buses = [SerfBus(process.rpc, "test") for process in (first, *others)]
    ears = [await opened(bus) for bus in buses]
    taken: list[int] = []
    for number in range(200):
        buses[0].put(parcel(number, taken=lambda number=number: taken.append(number)))  # type: ignore[misc]  # bound now
    await eventually(lambda: all(len(ear.heard) >= 200 for ear in ears), "heard")
    assert taken == list(range(200))
    assert all(sorted(ear.numbers) == taken for ear in ears)
    for bus in buses:
        await bus.close()


@pytest.mark.slow
async def test_where_a_node_is_reached_stands_in_a_tag_until_it_is_taken_back(agents: Agents) -> None:
    one, other = agents("one"), agents("other")
    other.join(one)
    first, second, stranger = SerfBus(one.rpc, "p:r"), SerfBus(other.rpc, "p:r"), SerfBus(other.rpc, "p:other")
    for bus in (first, second, stranger):
        await opened(bus)
    assert await first.host() == "127.0.0.1"
    await first.announce(N1, "127.0.0.1:4000")
    await first.announce(N2, ":4001")
    await located(second, N1, "127.0.0.1:4000")
    await located(second, N2, "127.0.0.1:4001")
    assert await stranger.locate(N1) == []
    await second.announce(N1, "127.0.0.1:5000")
    assert len(await second.locate(N1)) == 2
    await first.close()
    await located(second, N1, "127.0.0.1:5000")
    assert await second.locate(NodeId("nobody")) == []
    await second.close()
    with pytest.raises(BusError, match="not connected to the agent"):
        await second.locate(N1)
    await stranger.close()


async def located(bus: Bus, node: NodeId, *addresses: str) -> None:
    """Until it is so; gossip takes its time."""
    for _ in range(1200):
        if await bus.locate(node) == [*addresses]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError((node, addresses, await bus.locate(node)))


@pytest.mark.slow
async def test_when_the_agent_is_back_what_lasts_is_sent_and_what_was_announced_is_there_again(agents: Agents) -> None:
    first = agents("one")
    bus = SerfBus(first.rpc, "test")
    ear = await opened(bus)
    await bus.announce(N1, "127.0.0.1:4000")
    bus.put(parcel(0))
    await eventually(lambda: ear.numbers == [0], "heard")
    first.kill()
    await asyncio.to_thread(lambda: None)
    await eventually(lambda: bus._agent is None, "noticed")
    with pytest.raises(BusError, match="not connected to the agent"):
        await bus.locate(N1)
    bus.put(parcel(1))
    bus.put(parcel(2, lasts=False))
    bus.put(parcel(3))
    agents("one", bind=first.bind, rpc=first.rpc)
    await eventually(lambda: ear.numbers == [0, 1, 3], "heard again")
    assert await bus.locate(N1) == ["127.0.0.1:4000"]
    await bus.close()


class Gone(Agent):
    """An agent that goes while an event is sent."""

    def __init__(self) -> None:
        pass

    async def event(self, name: str, payload: bytes) -> None:
        """It is not answered any more."""
        raise AgentGone(f"{name} of {len(payload)} bytes")


async def test_what_was_under_way_when_the_agent_went_is_sent_first_when_it_is_back() -> None:
    bus = SerfBus(NodeId("127.0.0.1:1"), "test")
    bus.put(parcel(2))
    for under_way in (parcel(1), parcel(0, lasts=False)):
        await bus._send(Gone(), under_way)

    assert [waiting.payload for waiting in bus._waiting] == [b"1", b"2"]


async def test_without_an_agent_a_bus_of_serf_does_not_open() -> None:
    with pytest.raises(BusError, match=r"no Serf agent at .*Connection refused"):
        await opened(SerfBus(NodeId(f"127.0.0.1:{free_port()}"), "test"))


async def test_in_a_folder_everybody_hears_everybody_in_order_also_itself(folder: Path) -> None:
    buses = [LoopbackBus(folder, "test", node) for node in (N1, N2, NodeId("a/../b \udce4".encode(errors="replace").decode()))]
    ears = [await opened(bus) for bus in buses]
    for number in range(300):
        buses[number % 2].put(parcel(number))
    await eventually(lambda: all(len(ear.heard) == 300 for ear in ears), "heard")
    for ear in ears:
        assert [number for number in ear.numbers if number % 2] == list(range(1, 300, 2))
        assert [number for number in ear.numbers if not number % 2] == list(range(0, 300, 2))
    await buses[0].announce(N1, "127.0.0.1:4000")
    assert await buses[1].locate(N1) == ["127.0.0.1:4000"]
    assert await LoopbackBus(folder, "other", N2).locate(N1) == []
    for bus in buses:
        await bus.close()
    assert list(folder.iterdir()) == []


@pytest.mark.slow
async def test_who_does_not_read_gets_later_what_there_is_room_for_and_keeps_nobody_from_the_rest(folder: Path) -> None:
    one, other = LoopbackBus(folder, "test", N1), LoopbackBus(folder, "test", N2)
    ear, slow = await opened(one), await opened(other)
    loop = asyncio.get_running_loop()
    assert other._socket
    loop.remove_reader(other._socket)
    for number in range(2000):
        one.put(parcel(number))
    await eventually(lambda: len(ear.heard) == 2000, "heard by itself")
    for number in range(2000, 2000 + MOST_WAITING):
        one.put(parcel(number))
    await eventually(lambda: len(ear.heard) == 2000 + MOST_WAITING, "heard by itself")
    loop.add_reader(other._socket, other._readable)
    await eventually(lambda: slow.numbers[-1:] == [2000 + MOST_WAITING - 1], "caught up")
    assert slow.numbers == sorted(slow.numbers)
    assert MOST_WAITING <= len(slow.heard) < 2000 + MOST_WAITING
    for bus in (one, other):
        await bus.close()


async def test_a_name_in_a_folder_is_one_nodes_until_that_is_gone(folder: Path) -> None:
    one = LoopbackBus(folder, "test", N1)
    ear = await opened(one)
    with pytest.raises(BusError, match="a node n1 is already running"):
        await opened(LoopbackBus(folder, "test", N1))
    one.put(parcel(1))
    await eventually(lambda: ear.numbers == [1], "heard, as before")
    assert one._socket
    asyncio.get_running_loop().remove_reader(one._socket)
    one._socket.close()  # as a kill does: the file stays
    other = LoopbackBus(folder, "test", N2)
    await opened(other)
    other.put(parcel(2))
    again = await opened(LoopbackBus(folder, "test", N1))
    other.put(parcel(3))
    await eventually(lambda: again.numbers == [3], "heard")


async def test_what_is_no_event_is_passed_over(folder: Path) -> None:
    bus = LoopbackBus(folder, "test", N1)
    ear = await opened(bus)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for data in (b"", b"\xc1", b"\xa9short", b"\xa1\xff", b"\x07rest", string_bytes("name") + b"payload"):
            stranger.sendto(data, str(next(folder.glob("*.bus"))))
    await eventually(lambda: len(ear.heard) == 2, "heard")
    assert ear.heard == [("7", b"rest"), ("name", b"payload")]
    await bus.close()


async def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BusError, match="too long for sockets"):
        LoopbackBus(tmp_path / ("x" * 100), "test", N1)
    with tempfile.NamedTemporaryFile() as file, pytest.raises(BusError, match="cannot use the folder"):
        await opened(LoopbackBus(Path(file.name), "test", N1))
