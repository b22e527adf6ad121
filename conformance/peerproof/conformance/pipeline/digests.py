"""
A digest of rows in whatever order: the sum of the rows' hashes.

Two sets of rows have the same digest if, sorted, they are the same rows, however they are spread over files and units;
and the digest of a whole is the sum of those of its parts, so that nothing has to be sorted or read again for it. It
tells an accident from the intended, not a forgery from the original.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]

_BYTES: Final = 16
_MODULUS: Final = 2 ** (8 * _BYTES)

NOTHING: Final = "0" * 2 * _BYTES


def digest(batch: Any, columns: Iterable[str]) -> str:
    """The digest of a `pyarrow.RecordBatch`, of these columns: 32 hexadecimal digits."""
    parts: list[Any] = []
    for name in columns:
        column = batch.column(name)
        value = column if pa.types.is_binary(column.type) else column.cast(pa.string()).cast(pa.binary())
        length = pc.binary_length(value).cast(pa.string()).cast(pa.binary())
        parts += [pc.fill_null(length, b"-"), pc.fill_null(value, b"")]
    rows = pc.binary_join_element_wise(*parts, b":")
    total = sum(int.from_bytes(blake2b(row, digest_size=_BYTES).digest(), "big") for row in rows.to_pylist())
    return f"{total % _MODULUS:0{2 * _BYTES}x}"


def sum_of(digests: Iterable[str]) -> str:
    """The digest of all rows, from the digests of parts that have no row in common."""
    return f"{sum(int(part, 16) for part in digests) % _MODULUS:0{2 * _BYTES}x}"
