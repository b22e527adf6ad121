"""MessagePack beside the library `msgpack`, an implementation that nobody here has written."""

from __future__ import annotations

import math
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import DEPTH_MAX, Extension, older_string, pack, read, unpack


def other_read(data: bytes) -> Any:
    options = {"use_list": False, "strict_map_key": False, "object_pairs_hook": list, "ext_hook": Extension, "raw": False}
    return msgpack.unpackb(data, timestamp=0, **options)


def theirs(value: Any) -> Any:
    """A value of ours as one of theirs, which has no maps in the order of their keys; those are written piece by piece."""
    if isinstance(value, Extension):
        return msgpack.ExtType(value.code, value.data)
    return [theirs(item) for item in value] if isinstance(value, tuple) else value


def other_written(value: Any) -> bytes:
    packer = msgpack.Packer(use_bin_type=True, autoreset=True)
    if isinstance(value, list):
        entries = sorted((other_written(key), other_written(item)) for key, item in value)
        header: bytes = packer.pack_map_header(len(entries))
        return header + b"".join(key + item for key, item in entries)
    if type(value) is tuple:
        header = packer.pack_array_header(len(value))
        return header + b"".join(map(other_written, value))
    done: bytes = packer.pack(theirs(value))
    return done


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, with their types, and NaN being itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


INTEGERS = st.integers(-(2**63), 2**64 - 1) | st.sampled_from(
    [sign * 2**power + more for sign in (-1, 1) for power in (5, 7, 8, 15, 16, 31, 32) for more in (-1, 0, 1)]
    + [-(2**63), 2**64 - 1]
)
BYTES = st.binary(max_size=20) | st.sampled_from((31, 32, 255, 256, 65535, 65536)).map(bytes)
TEXTS = st.text(max_size=20) | st.sampled_from((31, 32, 63, 65, 255, 256, 65535, 65536)).map("x".__mul__)
EXTENSIONS = st.builds(Extension, st.integers(0, 127), BYTES | st.sampled_from((0, 1, 2, 3, 4, 8, 16, 17)).map(bytes))
SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(allow_nan=False), TEXTS, BYTES, EXTENSIONS)


def maps(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(items, items), max_size=4, unique_by=lambda entry: pack(entry[0]))


VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=20).map(tuple) | maps(inner), max_leaves=20)


@pytest.mark.slow
@given(VALUES)
def test_values_are_written_and_read_as_the_library_does(value: Any) -> None:
    data = pack(value)

    assert data == other_written(value)
    assert same(unpack(data), other_read(data))
    assert pack(unpack(data)) == data


@given(st.binary(max_size=40) | st.lists(st.sampled_from(range(0xC0, 0xE0)), max_size=6).map(bytes))
def test_any_bytes_are_a_value_or_refused_as_by_the_library(data: bytes) -> None:
    try:
        expected = other_read(data)
    except (ValueError, msgpack.UnpackException):
        with pytest.raises(MalformedMessage):
            unpack(data)
    else:
        if isinstance(expected, msgpack.Timestamp):
            expected = unpack(data)
        assert same(unpack(data), expected)


@given(VALUES)
def test_a_value_that_is_cut_is_truncated_and_one_byte_more_is_trailing(value: Any) -> None:
    data = pack(value)

    for length in (0, len(data) // 2, len(data) - 1):
        with pytest.raises(MalformedMessage) as caught:
            unpack(data[:length])
        assert (caught.value.reason, caught.value.offset) == ("truncated", length)
    with pytest.raises(MalformedMessage) as caught:
        unpack(data + b"\0")
    assert (caught.value.reason, caught.value.offset) == ("trailing", len(data))


# bytes: the value that they stand for, though it is written in fewer
ACCEPTED: dict[str, Any] = {
    "cf0000000000000001": 1,
    "d3ffffffffffffffff": -1,
    "ca3f800000": 1.0,
    "db0000000161": "a",
    "dd0000000107": (7,),
    "df000000010708": [(7, 8)],
    "c60000000107": b"\x07",
    "c9000000010507": Extension(5, b"\x07"),
    "d4ff07": Extension(-1, b"\x07"),
    "8207080709": [(7, 8), (7, 9)],  # a key twice
    "cbfff8000000000001": math.nan,
}


@pytest.mark.parametrize("data", ACCEPTED)
def test_forms_that_are_longer_than_needed_are_read(data: str) -> None:
    assert same(unpack(bytes.fromhex(data)), ACCEPTED[data])


# what it is: (bytes, reason)
REFUSED = {
    "nothing": ("", "truncated"),
    "the byte that is never used": ("c1", "bad_type"),
    "the byte that is never used, within": ("91c1", "bad_type"),
    "a string that is not UTF-8": ("a1ff", "bad_value"),
    "a surrogate": ("a3eda080", "bad_value"),
    "arrays that promise what is not there": ("dcffff" * 60, "truncated"),
    "an array of nothing that is long": ("ddffffffff", "truncated"),
    "arrays too deep": ("91" * (DEPTH_MAX + 1) + "00", "too_large"),
    "maps too deep": ("8100" * (DEPTH_MAX + 1) + "00", "too_large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_value_is_refused(name: str) -> None:
    data, reason = REFUSED[name]

    with pytest.raises(MalformedMessage) as caught:
        unpack(bytes.fromhex(data))

    assert caught.value.reason == reason


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = (value,)
    return value


# what it is: (value, reason)
NOT_WRITTEN: dict[str, tuple[Any, str]] = {
    "an integer of 65 bits": (2**64, "too_large"),
    "a small integer of 65 bits": (-(2**63) - 1, "too_large"),
    "a lone surrogate": ("\ud800", "bad_value"),
    "a key twice": ([("a", 1), ("b", 2), ("a", 1)], "bad_value"),
    "too deep": (nested(DEPTH_MAX + 1), "too_large"),
    "a set": ({1}, "bad_type"),
    "an extension of no type": ((object(),), "bad_type"),
}


@pytest.mark.parametrize("name", NOT_WRITTEN)
def test_what_cannot_be_read_is_not_written(name: str) -> None:
    value, reason = NOT_WRITTEN[name]

    with pytest.raises(NotEnabled) as caught:
        pack(value)

    assert caught.value.reason == reason


def test_what_nests_as_deep_as_may_be_is_written_and_read() -> None:
    assert unpack(pack(nested(DEPTH_MAX))) == nested(DEPTH_MAX)


def test_values_that_python_takes_for_equal_are_written_differently() -> None:
    assert len(set(map(pack, [1, 1.0, True]))) == 3
    assert pack([(1, 0), (1.0, 0), (True, 0)]) == pack([(True, 0), (1.0, 0), (1, 0)])
    assert pack(0.0) != pack(-0.0)
    assert pack(unpack(bytes.fromhex("cbfff8000000000001"))).hex() == "cb7ff8000000000000", "there is one NaN"


def test_values_can_stand_behind_each_other() -> None:
    assert read(b"\x01\xa1a", 0) == (1, 1)
    assert read(b"\x01\xa1a", 1) == ("a", 3)


@pytest.mark.parametrize(("size", "header"), [(0, "a0"), (31, "bf"), (32, "da0020"), (256, "da0100"), (65536, "db00010000")])
def test_strings_of_older_messagepack_have_no_header_of_two_bytes(size: int, header: str) -> None:
    assert older_string(bytes(size)) == bytes.fromhex(header) + bytes(size)
