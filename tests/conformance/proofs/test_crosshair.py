"""
What CrossHair finds as the backend of Hypothesis, and what it cannot see through: the page on proofs says both.

It is no dependency of ours; without it these tests say so and are skipped. See `docs/how-to/prove.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peerproof.spec.forms import packing
from peerproof.spec.scuttlebutt import reconcile

pytest.importorskip("hypothesis_crosshair_provider", reason="pip install hypothesis-crosshair")
pytestmark = pytest.mark.slow

ROUNDS: Final = 10  #: it bounds its search by time, so it may need some
U64: Final = st.integers(0, 2**64 - 1)
VERSION: Final = 0x0102030405060708
KNOWN: Final = b"\x07scuttle"


def finds(values: st.SearchStrategy[Any], holds: Callable[[Any], bool], rounds: int = ROUNDS) -> bool:
    """Whether it finds a value for which something does not hold."""

    @settings(
        backend="crosshair",
        max_examples=100,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=False,
    )
    @given(values)
    def property_(value: Any) -> None:
        assert holds(value)

    for _ in range(rounds):
        try:
            property_()
        except AssertionError:
            return True
    return False


def wasteful(entries: Iterable[int], size: Callable[[int], int], limit: int) -> Iterator[int]:
    """`fitting` that never fills a datagram to its last byte."""
    used = 1
    for entry in entries:
        used += size(entry)
        if used >= limit:
            return
        yield entry


def test_it_finds_one_value_among_many_where_code_computes_with_integers() -> None:
    """An entry that leaves no byte over, which random values hardly ever touch; and nothing in the code that runs."""

    def is_taken_if_it_fits(fitting: Callable[..., Iterator[int]]) -> Callable[[tuple[int, int]], bool]:
        def holds(given: tuple[int, int]) -> bool:
            entry, limit = given
            return list(fitting([entry], lambda size: size, limit)) == ([entry] if 1 + entry <= limit else [])

        return holds

    entry_and_limit = st.tuples(st.integers(1, 2**40), st.integers(1, 2**40))
    assert not finds(entry_and_limit, is_taken_if_it_fits(reconcile.fitting), rounds=1)
    assert finds(entry_and_limit, is_taken_if_it_fits(wasteful))


def packed(version: int) -> bytearray:
    """By `struct.Struct(">Q")`."""
    out = bytearray()
    packing._pack_u64(version, out)
    return out


def test_it_does_not_see_through_an_object_of_struct() -> None:
    """A version that is packed is a plain number from there on."""
    assert finds(U64, lambda version: version != VERSION)
    assert not finds(U64, lambda version: packed(version) != VERSION.to_bytes(8, "big"), rounds=1)


def test_it_does_not_see_through_a_decoded_string() -> None:
    """Bytes that have been decoded as UTF-8 with surrogate escapes, as ours are, are plain bytes from there on."""
    eight = st.binary(min_size=8, max_size=8)

    assert finds(eight, lambda data: data != KNOWN)
    assert not finds(eight, lambda data: bool(str(data, "utf-8", "surrogateescape")) and data != KNOWN, rounds=1)
