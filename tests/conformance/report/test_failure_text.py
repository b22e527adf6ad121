"""What helps to see why a case fails, however large that is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.reports import MISSED, report

from peerproof.conformance.report.failure_text import MOST_PASTED
from peerproof.conformance.report.renderings import as_text


def lines_of(digits: str, op: str) -> list[str]:
    """What is said of a failure that comes down to one request."""
    failed = replace(MISSED, essence=({"op": op, "protocol": "scuttlebutt", "bytes": digits},))
    return as_text(report(failed), {}).splitlines()


@pytest.mark.parametrize("op", ["decode", "recv"])
def test_what_is_too_long_to_paste_is_put_in_by_a_command(op: str) -> None:
    long = lines_of("20" * MOST_PASTED, op)

    assert any(line.endswith("--emit stdin | ./mine --flag") for line in long)
    assert max(map(len, long)) < 1000
    assert any("0102" in line and "…" not in line for line in lines_of("0102", op))
