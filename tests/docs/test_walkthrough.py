"""What a page shows is compared with what a command says, and diffs of a page are made where they fit."""

from __future__ import annotations

import pytest
from tests.support.walkthrough import fits, mended


@pytest.mark.parametrize(
    ("expected", "actual", "is_it"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a …\n", "a 12\n", True),
        ("a …\n", "b 12\n", False),
        ("…\nb\n", "a\na\nb\n", True),
        ("…\nb\n", "a\nb\nc\n", False),
        ("a\n…\n", "a\n", True),
    ],
)
def test_three_dots_stand_for_anything(expected: str, actual: str, is_it: bool) -> None:
    assert fits(expected, actual) is is_it


def test_a_diff_is_made_where_it_fits() -> None:
    assert mended("a\nb\nc\n", " a\n-b\n+x\n+y\n") == "a\nx\ny\nc\n"
    with pytest.raises(AssertionError):
        mended("a\nb\nc\n", "-d\n+x\n")
