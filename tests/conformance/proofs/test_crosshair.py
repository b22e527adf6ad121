"""
What CrossHair finds as the backend of Hypothesis, and what it cannot see through: the page on proofs says both.

It is no dependency of ours; without it these tests say so and are skipped. See `docs/how-to/prove.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peerproof.spec.forms import packing
from peerproof.spec.scuttlebutt import reconcile

pytest.importorskip("hypothesis_crosshair_provider", reason="pip install hypothesis-crosshair")
pytestmark = pytest.mark.slow

SYMBOLIC: Final = settings(
    backend="crosshair",
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    derandomize=False,
)
VERSION: Final = 0x0102030405060708
ROUNDS: Final = 10

Fitting = Callable[[Iterable[int], Callable[[int], int], int], Iterator[int]]


def finds(property_: Callable[[], None], rounds: int = 1) -> bool:
    """Whether it finds values for which the property does not hold; it bounds its search by time, so it may need more rounds."""
    for _ in range(rounds):
        try:
            property_()
        except AssertionError:
            return True
    return False


def what_fits_exactly_is_taken(fitting: Fitting) -> Callable[[], None]:
    """A property that random values hardly ever touch: an entry that leaves no byte over."""

    @SYMBOLIC
    @given(st.integers(1, 2**40), st.integers(1, 2**40))
    def holds(entry: int, limit: int) -> None:
        taken = list(fitting([entry], lambda size: size, limit))
        assert taken == ([entry] if 1 + entry <= limit else [])

    return holds


def wasteful(entries: Iterable[int], size: Callable[[int], int], limit: int) -> Iterator[int]:
    """`fitting` that never fills a datagram to its last byte."""
    used = 1
    for entry in entries:
        used += size(entry)
        if used >= limit:
            return
        yield entry


def test_it_finds_one_value_among_many_where_code_computes_with_integers() -> None:
    """And nothing in the code that runs."""
    assert not finds(what_fits_exactly_is_taken(reconcile.fitting))
    assert finds(what_fits_exactly_is_taken(wasteful), ROUNDS)


def test_it_does_not_see_through_an_object_of_struct() -> None:
    """A version that is packed by `struct.Struct(">Q")`, as ours are, is a plain number from there on."""

    @SYMBOLIC
    @given(st.integers(0, 2**64 - 1))
    def before(version: int) -> None:
        assert version != VERSION

    @SYMBOLIC
    @given(st.integers(0, 2**64 - 1))
    def after(version: int) -> None:
        out = bytearray()
        packing._pack_u64(version, out)
        assert out != VERSION.to_bytes(8, "big")

    assert finds(before, ROUNDS)
    assert not finds(after)


def test_it_does_not_see_through_a_decoded_string() -> None:
    """Bytes that have been decoded as UTF-8 with surrogate escapes, as ours are, are plain bytes from there on."""
    known = b"\x07scuttle"

    @SYMBOLIC
    @given(st.binary(min_size=8, max_size=8))
    def before(data: bytes) -> None:
        assert data != known

    @SYMBOLIC
    @given(st.binary(min_size=8, max_size=8))
    def after(data: bytes) -> None:
        str(data, "utf-8", "surrogateescape")
        assert data != known

    assert finds(before, ROUNDS)
    assert not finds(after)
