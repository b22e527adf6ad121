"""When two paths are the same, and what is none; values as plain data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.distkv.forms import PATH
from peerproof.spec.distkv.paths import ROOT, Name, is_meta, names_of, path_of, read
from peerproof.spec.distkv.values import plain_of, value_of_plain
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.messagepack import DEPTH_MAX, unpack


def test_null_comes_first_or_not_at_all() -> None:
    """[D-36, DA-26]"""
    assert is_meta(path_of([None, "a"]))
    assert not is_meta(path_of(["a"]))
    assert not is_meta(ROOT)
    with pytest.raises(NotEnabled, match="meta"):
        path_of(["a", None])


NAMES = st.one_of(
    st.text(max_size=3), st.binary(max_size=3), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.booleans()
)


@given(st.lists(NAMES, max_size=4))
def test_paths_go_through_bytes_and_plain_data(names: list[Name]) -> None:
    path = path_of(names)

    assert read(unpack(path)) == path
    assert path_of(names_of(path)) == path
    assert PATH.value(PATH.plain(path)) == path


def test_a_value_nests_one_level_less_than_the_message_around_it() -> None:
    deep: Any = 0
    for _ in range(DEPTH_MAX - 1):
        deep = [deep]

    assert plain_of(value_of_plain(deep)) == deep
    with pytest.raises(NotEnabled) as caught:
        value_of_plain([deep])
    assert caught.value.reason == "too_large"
