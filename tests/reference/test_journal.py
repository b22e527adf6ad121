"""What a node finds again after a crash."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from peerproof.reference.journal import MAGIC, Journal, JournalError

RECORDS = [b"", b"one", bytes(range(240, 256)), b"x" * 50]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "n1.state"


@contextmanager
def opened(path: Path, title: str = "node n1") -> Iterator[Journal]:
    """A journal that is closed afterwards."""
    journal = Journal(path, title)
    try:
        yield journal
    finally:
        journal.close()


def filled(path: Path) -> bytes:
    """A journal with these records; its bytes."""
    with opened(path) as journal:
        for record in RECORDS:
            journal.append(record)
    return path.read_bytes()


def test_what_was_added_is_found_again_in_its_order(path: Path) -> None:
    filled(path)

    with opened(path) as journal:
        assert journal.records == RECORDS
        assert journal.size == path.stat().st_size
        journal.append(b"two")
    with opened(path) as journal:
        assert journal.records == [*RECORDS, b"two"]


def test_wherever_it_was_cut_off_all_that_was_whole_before_is_there_and_more_can_be_added(path: Path) -> None:
    data = filled(path)
    with opened(path.with_name("empty")):
        shortest = path.with_name("empty").stat().st_size
    found = []
    for size in range(shortest, len(data) + 1):
        path.write_bytes(data[:size])
        with opened(path) as journal:
            assert journal.records == RECORDS[: len(journal.records)]
            assert journal.torn == size - journal.size
            found.append(len(journal.records))
            journal.append(b"after")
            records = [*journal.records, b"after"]
        with opened(path) as journal:
            assert (journal.records, journal.torn) == (records, 0)

    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, len(RECORDS))


def test_zeros_that_a_power_cut_leaves_at_the_end_are_taken_off(path: Path) -> None:
    data = filled(path)
    path.write_bytes(data + bytes(300))

    with opened(path) as journal:
        assert (journal.records, journal.torn) == (RECORDS, 300)
    assert path.read_bytes() == data


def test_every_byte_that_was_changed_is_noticed_and_the_file_stays_as_it_is(path: Path) -> None:
    data = filled(path)
    for at in range(len(data)):
        changed = data[:at] + bytes((data[at] ^ 1 << at % 8,)) + data[at + 1 :]
        path.write_bytes(changed)
        with pytest.raises(JournalError, match=r"was changed from byte|is no journal"):
            Journal(path, "node n1")
        assert path.read_bytes() == changed


@pytest.mark.parametrize("data", [b"", b"{}", MAGIC, MAGIC[:-1], b"\0" * 100])
def test_what_is_no_journal_is_not_overwritten(path: Path, data: bytes) -> None:
    path.write_bytes(data)

    with pytest.raises(JournalError, match=r"was changed from byte|is no journal"):
        Journal(path, "node n1")
    assert path.read_bytes() == data


def test_a_journal_is_of_one_node_and_of_one_process(path: Path) -> None:
    with opened(path) as journal:
        journal.append(b"one")
        with pytest.raises(JournalError, match="being used by another process"):
            Journal(path, "node n1")
        journal.replace([b"two"])
        with pytest.raises(JournalError, match="being used by another process"):
            Journal(path, "node n1")
    with pytest.raises(JournalError, match=r"is the journal of node n1, not of node n2"):
        Journal(path, "node n2")
    with opened(path) as journal:
        assert journal.records == [b"two"]


def test_it_is_replaced_as_a_whole_and_what_a_crash_left_of_the_new_one_is_no_harm(path: Path) -> None:
    filled(path)
    path.with_name("n1.state.new").write_bytes(b"half of it, and longer than the whole one" * 100)

    with opened(path) as journal:
        journal.replace([b"a", b"b"])
        journal.append(b"c")
    with opened(path) as journal:
        assert (journal.records, journal.torn) == ([b"a", b"b", b"c"], 0)
    assert os.listdir(path.parent) == ["n1.state"]


@pytest.mark.parametrize("place", ["no/such/folder/file", ".", "/dev/full"])
def test_a_place_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path, place: str) -> None:
    with pytest.raises(JournalError, match=r"cannot use the journal .*: (No such file|Is a directory|it is no file)"):
        Journal(tmp_path / place, "node n1")


#: Adds records until the disk is full, which here is a limit to the size of files.
FILLS = """
import sys
from pathlib import Path
from peerproof.reference.journal import Journal, JournalError
journal = Journal(Path(sys.argv[1]), "node n1")
for number in range(1000):
    try:
        journal.append(b"%4d" % number * 25)
    except JournalError as error:
        print(number, error)
        break
try:
    journal.replace([b"%4d" % number * 25 for number in range(100)])
except JournalError as error:
    print(error)
journal.append(b"x")
"""


def test_when_the_disk_is_full_nothing_is_half_written_and_nothing_lost(path: Path) -> None:
    most = 4096

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(path)], preexec_fn=limit, capture_output=True, text=True, check=True, timeout=120
    )

    first, second = done.stdout.splitlines()
    count = int(first.split()[0])
    assert first.endswith(f"cannot write the journal {path}: File too large")
    assert second == f"cannot replace the journal {path}: File too large"
    assert 30 < count < 40
    with opened(path) as journal:
        assert journal.records == [*(b"%4d" % number * 25 for number in range(count)), b"x"]
        assert journal.torn == 0
    assert os.listdir(path.parent) == ["n1.state"]
