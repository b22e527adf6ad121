"""What a node keeps and gives away, and what becomes of it on bad connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.reference.agents import free_port

from peerproof.reference.protocols.distkv import downloads
from peerproof.reference.protocols.distkv.downloads import DownloadError, Service, download, is_there
from peerproof.reference.protocols.distkv.inventory import Disk, bytes_of, change_of, loaded_of, stored_after
from peerproof.reference.protocols.distkv.journal import Journal, JournalError
from peerproof.spec.core import Asked, Expired, Instant, NodeId
from peerproof.spec.distkv import Config, FoundingDue, Loaded, SetValue, State, download_of, initial, step, stored_of
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack

N1, N2 = NodeId("n1"), NodeId("n2")


def first(why: str, among: Any, some: int = 1) -> Any:
    """Always the first."""
    return tuple(sorted(among))[:some]


def states(count: int) -> list[State]:
    """A node that founds a network, and changes so many entries, some of them again and again."""
    taken = initial(N1, Config(root=value_of_plain("root")))
    found = [taken.state]
    taken = step(taken.state, Expired(Instant(5000), FoundingDue()), first)
    found.append(taken.state)
    for number in range(count):
        command = SetValue(path_of(["a", number % 7, b"\xff"]), value_of_plain({"n": [number, 1.5, None]}))
        taken = step(taken.state, Asked(Instant(6000 + number), command), first)
        found.append(taken.state)
    return found


def full() -> Loaded:
    """What such a node gives."""
    loaded = download_of(states(20)[-1])
    assert loaded
    return loaded


def test_what_is_downloaded_is_what_there_was() -> None:
    loaded = full()

    assert loaded_of(N1, bytes_of(loaded)) == loaded
    assert len(loaded.entries) == 8
    assert loaded.superseded[N1].size() == 13


def test_each_byte_that_is_missing_or_too_much_is_noticed() -> None:
    data = bytes_of(full())

    for size in range(len(data)):
        with pytest.raises(MalformedMessage):
            loaded_of(N1, data[:size])
    with pytest.raises(MalformedMessage):
        loaded_of(N1, data + b"\0")


@pytest.mark.parametrize(
    "members",
    [
        [],
        [("tock", 1)],
        [("tock", -1), ("ticks", []), ("superseded", []), ("entries", ())],
        [("tock", 1), ("ticks", ()), ("superseded", []), ("entries", ())],
        [("tock", 1), ("ticks", [("n", "1")]), ("superseded", []), ("entries", ())],
        [("tock", 1), ("ticks", [("", 1)]), ("superseded", []), ("entries", ())],
        [("tock", 1), ("ticks", [(1, 1)]), ("superseded", []), ("entries", ())],
        [("tock", 1), ("ticks", []), ("superseded", [("n", (3, 1))]), ("entries", ())],
        [("tock", 1), ("ticks", []), ("superseded", []), ("entries", [])],
        [("tock", 1), ("ticks", []), ("superseded", []), ("entries", (b"\x80",))],
        [("tock", 1), ("ticks", []), ("superseded", []), ("entries", ("x",))],
    ],
)
def test_what_says_nothing_sensible_is_no_download(members: Any) -> None:
    with pytest.raises(MalformedMessage):
        loaded_of(N1, pack(members))


def test_an_entry_that_stands_twice_is_no_download() -> None:
    loaded = full()
    twice = replace(loaded, entries=(*loaded.entries, loaded.entries[0]))

    with pytest.raises(MalformedMessage, match="twice"):
        loaded_of(N1, bytes_of(twice))


def test_changes_one_after_the_other_are_what_is_stored_in_the_end_and_after_each() -> None:
    changes: list[bytes] = []
    before: State | None = None
    for state in states(20):
        change = change_of(before, state)
        changes += [] if change is None else [change]
        before = state
        found, expected = stored_after(changes), stored_of(state)
        assert found
        assert (found.tock, found.superseded, found.ticks) == (expected.tock, expected.superseded, expected.ticks)
        assert set(found.entries) == set(expected.entries)

    assert change_of(before, states(20)[-1]) is not None
    assert change_of(before, before) is None if before else False
    assert max(map(len, changes[-10:])) < 120


@pytest.mark.slow
def test_a_disk_has_after_each_step_what_the_node_has_also_when_it_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerproof.reference.protocols.distkv.inventory.LEAST", 8_000)
    path = tmp_path / "state"
    disk = Disk(path, N1)
    sizes = []
    for state in states(200):
        disk.keep(state)
        disk.close()
        sizes.append(path.stat().st_size)
        disk = Disk(path, N1)
        assert disk.stored
        found = initial(N1, Config(stored=disk.stored)).state
        assert found.entries == state.entries
        disk.keep(found)
    disk.close()

    assert max(sizes) < 40_000
    assert any(after < before for before, after in pairwise(sizes))


def test_a_disk_with_what_no_node_keeps_is_not_used(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state", "the DistKV node n1")
    journal.append(b"\x80")
    journal.close()

    with pytest.raises(JournalError, match=r"has invalid data: .*from another version"):
        Disk(tmp_path / "state", N1)
    with pytest.raises(JournalError, match="is the journal of the DistKV node n1, not of the DistKV node n2"):
        Disk(tmp_path / "state", N2)


@asynccontextmanager
async def serving(give: Callable[[], Loaded | None]) -> AsyncIterator[NodeId]:
    """The address at which a node n1 serves downloads."""
    service = Service(N1, "distkv", give)
    port = await service.open("127.0.0.1", 0)
    try:
        yield NodeId(f"127.0.0.1:{port}")
    finally:
        await service.close()


async def test_a_node_gives_what_it_has_to_who_asks_for_it_by_its_name_in_its_network() -> None:
    async with serving(full) as address:
        assert await download(address, "distkv", N1) == full()
        assert all(loaded == full() for loaded in await asyncio.gather(*[download(address, "distkv", N1) for _ in range(40)]))
        assert await is_there(address, "distkv", N1)
        for root, node in (("other", N1), ("distkv", N2)):
            assert not await is_there(address, root, node)
            with pytest.raises(DownloadError, match="refuses: this is another node"):
                await download(address, root, node)


async def test_who_has_not_what_others_want_refuses() -> None:
    async with serving(lambda: None) as address:
        assert await is_there(address, "distkv", N1)
        with pytest.raises(DownloadError, match="refuses: the node has no data to give"):
            await download(address, "distkv", N1)


@pytest.mark.slow
async def test_a_download_of_megabytes_arrives_whole() -> None:
    loaded = full()
    update = replace(loaded.entries[0], value=value_of_plain("x" * 300))
    large = replace(loaded, entries=tuple(replace(update, path=path_of([number])) for number in range(20_000)))
    async with serving(lambda: large) as address:
        assert await download(address, "distkv", N1) == large


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"\0\0",
        b"\0\0\0\5abc",
        b"\xff\xff\xff\xff",
        b"\0\0\0\1\xc1",
        b"\0\0\0\1\x07",
        b"\0\0\0\1\x80",
        b"GET / HTTP/1.0\r\n\r\n",
    ],
)
async def test_what_is_no_request_gets_nothing_and_others_are_served(request_: bytes) -> None:
    async with serving(full) as address:
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request_)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        assert await download(address, "distkv", N1) == full()


async def answered(data: bytes, *, then_close: bool = True) -> None:
    """Tries to download from what answers everything with these bytes."""

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        if then_close:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        await download(NodeId(f"{host}:{port}"), "distkv", N1)
    finally:
        server.close()


def framed(*members: tuple[str, Any]) -> bytes:
    """An answer."""
    data = pack(list(members))
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\5abc",
        b"\x7f\xff\xff\xff",
        b"\0\0\0\1\xc1",
        framed(("node", "n1")),
        framed(("node", "n1"), ("state", "text")),
        framed(("node", "n1"), ("state", b"\x80")),
        framed(("node", "n2"), ("state", bytes_of(full()))),
        framed(("node", "n1"), ("state", bytes_of(full())))[:-1],
    ],
)
async def test_what_is_no_answer_is_a_failed_download(data: bytes) -> None:
    with pytest.raises(DownloadError):
        await answered(data)


async def test_who_does_not_answer_is_given_up_and_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "PATIENCE", 0.2)
    with pytest.raises(DownloadError, match="TimeoutError"):
        await answered(framed(("node", "n1"), ("state", bytes_of(full())))[:-1], then_close=False)

    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    assert await is_there(NodeId(f"{host}:{port}"), "distkv", N1)
    server.close()


async def test_a_transfer_that_goes_on_is_not_given_up_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, reader, late = asyncio.get_running_loop(), asyncio.StreamReader(), 0.0
    real_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: real_time() + late)
    received = asyncio.ensure_future(downloads._receive(reader, downloads.MOST_GIVEN))
    answer = framed(("node", "n1"))
    reader.feed_data(answer[:4])
    for at in range(4, len(answer)):
        await asyncio.sleep(0.001)
        late += 0.6 * downloads.PATIENCE
        reader.feed_data(answer[at : at + 1])

    assert await received == {"node": "n1"}


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:x", "127.0.0.1:{port}"])
async def test_who_cannot_be_reached_is_not_there(address: str) -> None:
    place = NodeId(address.format(port=free_port()))
    assert not await is_there(place, "distkv", N1)
    with pytest.raises(DownloadError, match="cannot download from n1"):
        await download(place, "distkv", N1)
