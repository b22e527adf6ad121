"""Files, their parts and their lines: each line is read once, whatever it is and however the file is cut."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peerproof.conformance.captures import byte_source as sources
from peerproof.conformance.captures.byte_source import MAX_LINE, InputChanged, Line, Part, lines, survey
from peerproof.conformance.captures.refusals import Refusal
from peerproof.conformance.suite.source import Source
from peerproof.pipeline.ingest.inputs import BadInput, Format, find_line_number, find_line_numbers, inputs

CONTENT = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b" ")), max_size=30).map(b"\n".join)


def read(path: Path, *parts: Part) -> tuple[list[Line], list[Refusal]]:
    """The lines of parts of a file."""
    found: list[Line] = []
    refused: list[Refusal] = []
    for part in parts or (Part(0, None, 1),):
        with Source(path) as source:
            found += lines(source, part, refused.append)
    return found, refused


def written(path: Path, data: bytes) -> Path:
    """A file with these bytes."""
    path.write_bytes(data)
    return path


@pytest.mark.slow
@given(CONTENT, st.integers(1, 40), st.integers(1, 30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_parts_have_every_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, part_size: int, block: int
) -> None:
    """With its place and number, and the file's digest and number of lines are its own."""
    monkeypatch.setattr(sources, "BLOCK", block)
    path = written(tmp_path / "log", content)

    surveyed = survey(path, part_size)
    found, refused = read(path, *surveyed.parts)

    assert refused == []
    assert b"".join(line.data + b"\n" * line.whole for line in found) == content
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(content[line.offset :].startswith(line.data) for line in found)
    assert (surveyed.lines, surveyed.size, surveyed.sha256) == (len(found), len(content), sha256(content).hexdigest())
    assert bool(surveyed.parts) == bool(content)


def test_parts_are_about_as_large_as_they_should_be(tmp_path: Path) -> None:
    """So that a large file is work for many."""
    path = written(tmp_path / "log", b"0123456789\n" * 1000)

    parts = survey(path, 1100).parts

    assert [(part.begin, part.end, part.first_line) for part in parts[:2]] == [(0, 1100, 1), (1100, 2200, 101)]
    assert len(parts) == 10


@pytest.mark.slow
def test_too_long_line_is_set_aside_and_passed_over(tmp_path: Path) -> None:
    """Its first 4096 bytes are kept; the next line has its place."""
    path = written(tmp_path / "log", b"a\n" + b"x" * (MAX_LINE + 5) + b"\nb\n" + b"y" * MAX_LINE + b"\n" + b"z" * (MAX_LINE + 1))

    found, refused = read(path, *survey(path, 2**20).parts)

    assert [(line.offset, line.number, len(line.data)) for line in found] == [
        (0, 1, 1),
        (MAX_LINE + 8, 3, 1),
        (MAX_LINE + 10, 4, MAX_LINE),
    ]
    assert [(refusal.offset, refusal.number, refusal.reason) for refusal in refused] == [
        (2, 2, "line_too_long"),
        (2 * MAX_LINE + 11, 5, "line_too_long"),
    ]
    assert refused[0].raw == b"x" * 4096
    assert f"a line of {MAX_LINE + 6} bytes" in refused[0].detail


def test_changed_file_is_not_read_as_the_one_that_was_planned(tmp_path: Path) -> None:
    """One that has become shorter, or whose last line has become longer."""
    path = written(tmp_path / "log", b"one\ntwo\nthr")
    parts = survey(path, 100).parts

    for now in (b"one\n", b"one\ntwo\nthree\n"):
        path.write_bytes(now)
        with pytest.raises(InputChanged, match="has changed while it was read: run the command again"):
            read(path, *parts)


def test_growing_file_is_read_as_far_as_it_was_planned(tmp_path: Path) -> None:
    """Lines that came later are for the next time."""
    path = written(tmp_path / "log", b"one\ntwo\n")
    parts = survey(path, 100).parts
    path.write_bytes(b"one\ntwo\nthree\n")

    assert [line.data for line in read(path, *parts)[0]] == [b"one", b"two"]


def test_compressed_file_is_one_part(tmp_path: Path) -> None:
    """Also of several members, and padded with zeros."""
    path = written(tmp_path / "log.gz", gzip.compress(b"one\ntw") + gzip.compress(b"o\nthree\n") + bytes(512))

    surveyed = survey(path, 4)
    found, refused = read(path, *surveyed.parts)

    assert surveyed.lines is None
    assert [(line.offset, line.data) for line in found] == [(0, b"one"), (4, b"two"), (8, b"three")]
    assert refused == []


def test_compressed_file_that_ends_early_gives_what_it_has(tmp_path: Path) -> None:
    """At every byte behind its header: lines from the beginning, and one row that says so."""
    content = b"".join(b"line %d of some\n" % (number * 7919) for number in range(50))
    packed = gzip.compress(content)
    for size in range(2, len(packed)):
        found, refused = read(written(tmp_path / "cut.gz", packed[:size]))

        assert content.startswith(b"".join(line.data + b"\n" * line.whole for line in found))
        assert [refusal.reason for refusal in refused] == ["truncated_file"]


@pytest.mark.parametrize("at", [200, -8, -1])
def test_damaged_compressed_file_says_so(tmp_path: Path, at: int) -> None:
    """In its data, its checksum or its size."""
    packed = bytearray(gzip.compress(b"".join(b"%d\n" % (number * 7919) for number in range(500))))
    packed[at] ^= 0xFF

    _, refused = read(written(tmp_path / "damaged.gz", bytes(packed)))

    assert [refusal.reason for refusal in refused] == ["damaged_file"]


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("nothing.jsonl", "jsonl", "nothing.jsonl does not exist"),
        ("", "jsonl", "is a directory: name the files in it, as"),
        (
            "log",
            "pcap",
            "it is neither pcap nor pcapng; a log of JSON lines is read with --input-format jsonl",
        ),
        ("capture", "jsonl", "capture is a capture: read it with --input-format pcap"),
        ("log.zst", "jsonl", "log.zst is compressed, but not with gzip: decompress it with zstd -d first"),
        ("pipe", "jsonl", "pipe is not a regular file"),
    ],
)
def test_file_that_cannot_be_read_is_told_before_anything_is(tmp_path: Path, name: str, form: Format, message: str) -> None:
    """With what to do about it."""
    import os

    written(tmp_path / "log", b'{"a": 1}\n')
    written(tmp_path / "capture", b"\xd4\xc3\xb2\xa1" + bytes(20))
    written(tmp_path / "log.zst", b"\x28\xb5\x2f\xfd" + bytes(20))
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(BadInput) as bad:
        inputs([str(tmp_path / name)], form)

    assert message in str(bad.value)


def test_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """Its events would be there twice; a link to it is the same file."""
    written(tmp_path / "log", b"{}\n")
    (tmp_path / "link").symlink_to(tmp_path / "log")

    with pytest.raises(BadInput, match="link is given twice, the first time as"):
        inputs([str(tmp_path / "log"), str(tmp_path / "link")], "jsonl")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_line_is_numbered_by_the_byte_at_which_it_begins(tmp_path: Path, compressed: bool) -> None:
    path = written(tmp_path / "log", gzip.compress(b"a\nbc\n") if compressed else b"a\nbc\n")

    assert [find_line_number(str(path), offset) for offset in (0, 2, 3, 6)] == [1, 2, None, None]
    assert find_line_numbers(str(path), [3, 2, 0, 2, 6]) == {0: 1, 2: 2}
