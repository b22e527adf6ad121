"""What a node finds again after a crash."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from peerproof.reference.protocols.distkv.journal import OLD_MAGIC, Journal, JournalError

RECORDS = [b"", b"one", bytes(range(240, 256)), b"x" * 50]
UNUSABLE = r"is damaged|is not a node's journal|cannot use the journal"


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


def filled(path: Path, records: list[bytes] = RECORDS) -> bytes:
    """A journal with these records; its bytes."""
    with opened(path) as journal:
        for record in records:
            journal.append(record)
    return path.read_bytes()


def found(path: Path) -> list[bytes]:
    """The records that are found again."""
    with opened(path) as journal:
        return journal.records


def open_elsewhere(path: Path) -> str:
    """What another process says that opens a journal."""
    source = "import sys, pathlib; from peerproof.reference.protocols.distkv.journal import Journal, JournalError\n"
    source += "try: print(Journal(pathlib.Path(sys.argv[1]), 'node n1').records)\nexcept JournalError as error: print(error)"
    return subprocess.run([sys.executable, "-c", source, path], capture_output=True, text=True, check=True, timeout=60).stdout


def test_what_was_added_is_found_again_in_its_order(path: Path) -> None:
    filled(path)

    with opened(path) as journal:
        assert journal.records == RECORDS
        assert journal.size == sum(map(len, RECORDS))
        journal.append(b"two")
    assert found(path) == [*RECORDS, b"two"]
    assert os.listdir(path.parent) == ["n1.state"]


def test_while_it_is_open_the_one_file_has_every_record(path: Path) -> None:
    copy = path.with_name("copy")
    with opened(path) as journal:
        for number in range(50):
            journal.append(b"%d" % number * 100)
            copy.write_bytes(path.read_bytes())
            assert found(copy) == [b"%d" % count * 100 for count in range(number + 1)]


def test_a_commit_is_on_the_disk_and_cannot_be_undone_when_append_returns(path: Path) -> None:
    """The last of four syncs is that of the rollback journal without its header: before it a power failure undoes the commit."""
    with opened(path) as journal:
        journal.append(b"first")
        settings = [
            journal._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "locking_mode", "synchronous")
        ]
        journal.append(b"second")
        assert not any(path.with_name("n1.state-journal").read_bytes()[:28])

    assert settings == ["delete", "exclusive", 2]


@pytest.mark.slow
def test_a_file_that_was_cut_off_anywhere_is_an_error_and_stays_as_it_is(path: Path) -> None:
    data = filled(path, [*RECORDS, b"y" * 5000])
    for size in {*range(0, len(data), 97), *range(200), *range(len(data) - 200, len(data)), 4096, 8192}:
        path.write_bytes(data[:size])
        with pytest.raises(JournalError, match=UNUSABLE):
            Journal(path, "node n1")
        assert path.read_bytes() == data[:size]


@pytest.mark.slow
def test_what_a_changed_byte_does_is_an_error_or_nothing(path: Path) -> None:
    data = filled(path)
    used = [at for at, byte in enumerate(data) if byte]
    errors = 0
    for at in {*used, *range(100), *range(0, len(data), 61)}:
        for bit in (at % 8, 7):
            changed = data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :]
            path.write_bytes(changed)
            try:
                assert found(path) == RECORDS, (at, bit)
            except JournalError as error:
                errors += 1
                assert any(part in str(error) for part in UNUSABLE.split("|")), error  # noqa: PT017  one of two outcomes
                assert path.read_bytes() == changed
    assert errors > len(used)


@pytest.mark.slow
def test_every_byte_of_a_record_counts(path: Path) -> None:
    data = filled(path, [random.Random("record").randbytes(500)])
    begin = data.index(random.Random("record").randbytes(500))
    for at in range(begin, begin + 500):
        path.write_bytes(data[:at] + bytes((data[at] ^ 1 << at % 8,)) + data[at + 1 :])
        with pytest.raises(JournalError, match=r"is damaged \(its checksum is wrong\)"):
            Journal(path, "node n1")


def test_a_record_that_is_missing_exchanged_or_of_another_time_is_noticed(path: Path) -> None:
    data = filled(path, [b"a", b"b", b"c"])
    for statement in (
        "DELETE FROM record WHERE number = 3",
        "DELETE FROM record",
        "DELETE FROM journal",
        "DROP TABLE record",
        "INSERT INTO record (payload) VALUES ('d')",
        "INSERT INTO journal SELECT * FROM journal",
        "UPDATE record SET number = 9 WHERE number = 1",
        "UPDATE record SET payload = 'bc' WHERE number = 2; UPDATE record SET payload = '' WHERE number = 3",
        "UPDATE journal SET checksum = 0",
    ):
        path.write_bytes(data)
        database = sqlite3.connect(path)
        database.executescript(statement)
        database.close()
        with pytest.raises(
            JournalError, match=r"is damaged \(.*Restore a copy .*; or remove it, and start the node under another name"
        ):
            Journal(path, "node n1")


def other_database(path: Path) -> bytes:
    """A database of another program."""
    database = sqlite3.connect(path)
    database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE journal (title, checksum)")
    database.close()
    return path.read_bytes()


@pytest.mark.parametrize("data", [b"", b"{}", b"SQLite format 3\0", b"\0" * 100, b"x" * 10_000, OLD_MAGIC + bytes(50), None])
def test_what_is_no_journal_is_not_overwritten(path: Path, data: bytes | None) -> None:
    if data is None:
        data = other_database(path)
    path.write_bytes(data)

    earlier = r"is a journal of an earlier version \(peerproof journal 1\).*name another file"
    other = "is not a node's journal; name another file, or remove it"
    with pytest.raises(JournalError, match=earlier if OLD_MAGIC in data else other):
        Journal(path, "node n1")
    assert path.read_bytes() == data


def test_a_journal_is_of_one_node_and_of_one_process(path: Path) -> None:
    with opened(path) as journal:
        with pytest.raises(JournalError, match="in use by another process"):
            Journal(path, "node n1")
        journal.append(b"one")
        assert "in use by another process" in open_elsewhere(path)
        journal.replace([b"two"])
        assert "in use by another process" in open_elsewhere(path)
    with pytest.raises(JournalError, match=r"is the journal of node n1, not of node n2"):
        Journal(path, "node n2")
    assert open_elsewhere(path) == "[b'two']\n"


def test_it_is_replaced_as_a_whole_and_gets_shorter(path: Path) -> None:
    filled(path, [b"x" * 10_000] * 10)
    with opened(path) as journal:
        assert path.stat().st_size > 100_000
        journal.replace([b"a", b"b"])
        journal.append(b"c")
        assert journal.size == 3
        assert path.stat().st_size < 20_000
    assert found(path) == [b"a", b"b", b"c"]
    assert os.listdir(path.parent) == ["n1.state"]


def test_what_a_crash_left_of_a_journal_that_was_removed_is_no_harm_to_a_new_one(path: Path) -> None:
    """A rollback journal without its file, which SQLite would write into a new file of this name."""
    filled(path, [b"old" * 2000])
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE record SET payload = zeroblob(50000)")
    left = path.with_name("n1.state-journal").read_bytes()
    database.close()
    assert any(left[:28])
    path.unlink()
    path.with_name("n1.state-journal").write_bytes(left)

    with opened(path) as journal:
        assert journal.records == []
        journal.append(b"new")
    assert os.listdir(path.parent) == ["n1.state"]


@pytest.mark.parametrize("place", ["no/such/folder/file", ".", "/dev/full"])
def test_a_place_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path, place: str) -> None:
    with pytest.raises(JournalError, match=r"cannot use the journal .*: (No such file|it is no file)"):
        Journal(tmp_path / place, "node n1")


def test_a_name_with_signs_that_mean_something_in_an_address_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro&b#c%41 \udcff"
    filled(path)
    assert found(path) == RECORDS


@pytest.mark.parametrize(
    ("pragma", "restored", "complaint"),
    [
        ("query_only = ON", "query_only = OFF", "it, or its folder, is read-only; make both writable"),
        ("max_page_count = 10", "max_page_count = 1000", "the disk is full; free some space"),
    ],
)
def test_what_cannot_be_written_is_named_with_what_to_do(path: Path, pragma: str, restored: str, complaint: str) -> None:
    with opened(path) as journal:
        journal.append(b"one")
        journal._database.execute(f"PRAGMA {pragma}")
        with pytest.raises(JournalError, match=rf"cannot write the journal .*n1.state: {complaint}"):
            journal.append(b"x" * 100_000)
        journal._database.execute(f"PRAGMA {restored}")
        journal.append(b"two")
    assert found(path) == [b"one", b"two"]


#: Adds records until the disk is full, which here is a limit to the size of files.
FILLS = """
import sys
from pathlib import Path
from peerproof.reference.protocols.distkv.journal import Journal, JournalError
journal = Journal(Path(sys.argv[1]), "node n1")
for number in range(1000):
    try:
        journal.append(b"%4d" % number * 25)
    except JournalError as error:
        print(number, error)
        break
try:
    journal.replace([b"%4d" % number * 25 for number in range(1000)])
except JournalError as error:
    print(error)
journal.append(b"x")
"""


def test_when_the_disk_is_full_nothing_is_half_written_and_nothing_lost(path: Path) -> None:
    most = 40_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(path)], preexec_fn=limit, capture_output=True, text=True, check=True, timeout=120
    )

    first, second = done.stdout.splitlines()
    count = int(first.split()[0])
    assert f"cannot write the journal {path}: the disk reports an error, or a limit to the size of files is reached" in first
    assert f"cannot replace the journal {path}: the disk reports an error" in second
    assert 100 < count < 400
    assert found(path) == [*(b"%4d" % number * 25 for number in range(count)), b"x"]
    assert os.listdir(path.parent) == ["n1.state"]


#: Adds numbers after the last one, replaces all by the last one now and then, and prints each number when it is on the disk.
WRITES = """
import sys
from pathlib import Path
from peerproof.reference.protocols.distkv.journal import Journal
journal = Journal(Path(sys.argv[1]), "node n1")
number = int(journal.records[-1].split()[0]) if journal.records else 0
while True:
    number += 1
    record = b"%d " % number + b"." * (number * 37 % 9000)
    if number % 20 == 0:
        journal.replace([record])
    else:
        journal.append(record)
    print(number, flush=True)
"""


def killed_while_writing(path: Path, chance: random.Random) -> tuple[int, Path]:
    """The last number that a process reports until it is killed at random; the rollback journal that it leaves."""
    with subprocess.Popen([sys.executable, "-c", WRITES, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        reported = [process.stdout.readline() for _ in range(chance.randrange(1, 15))]
        time.sleep(chance.uniform(0, 0.004))
        process.kill()
        reported += process.stdout
    return int(reported[-1]), path.with_name(f"{path.name}-journal")


def is_hot(left: Path) -> bool:
    """Whether a transaction has to be rolled back."""
    return left.exists() and any(left.read_bytes()[:28])


@pytest.mark.kill
def test_a_process_that_is_killed_at_any_moment_loses_nothing_that_was_on_the_disk(path: Path) -> None:
    """What a process has reported is there when the next one opens the file, and at most one record more."""
    chance, undone, last = random.Random("kill"), 0, 0
    for _ in range(20):
        reported, left = killed_while_writing(path, chance)
        assert reported > last
        undone += is_hot(left)
        numbers = [int(record.split()[0]) for record in found(path)]
        last = numbers[-1]
        assert last in (reported, reported + 1)
        assert numbers == list(range(max(1, last // 20 * 20), last + 1))
    assert undone


@pytest.mark.kill
def test_a_rollback_journal_that_was_removed_or_changed_is_an_error_or_no_harm(path: Path) -> None:
    """What a killed process has left of a transaction is needed to undo it; without it some of it may be in the file."""
    chance, hot = random.Random("hot"), 0
    for number in range(16):
        reported, left = killed_while_writing(path, chance)
        if not is_hot(left):
            continue
        hot += 1
        if number % 2:
            left.unlink()
        else:
            left.write_bytes(chance.randbytes(left.stat().st_size))
        try:
            numbers = [int(record.split()[0]) for record in found(path)]
            assert numbers[-1] in (reported, reported + 1)
            assert numbers == list(range(max(1, numbers[-1] // 20 * 20), numbers[-1] + 1))
        except JournalError as error:
            assert "is damaged" in str(error)  # noqa: PT017  it is one of two outcomes
            path.unlink()
    assert hot
