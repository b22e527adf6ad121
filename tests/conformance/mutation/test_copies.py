"""Second copies of modules in one process, and mistakes made in them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from peerproof.conformance.mutation import copies
from peerproof.conformance.mutation.sites import Module, mutants

SAMPLE = """
import functools
def plain(a, b=1):
    def inner():
        return a + b
    return inner()
@functools.lru_cache
def cached(a):
    return a + 2
class C:
    limit = 3
    def method(self):
        return self.limit + 4
    @property
    def shown(self):
        return 5
    @staticmethod
    def alone():
        return 6
def made():
    def inside():
        return 7
    return inside
seven = made()
"""


def sample(folder: Path) -> Module:
    path = folder / "sample.py"
    path.write_text(SAMPLE, encoding="utf-8")
    return Module("sample", path)


@pytest.mark.parametrize(
    ("changed", "call", "before"),
    [
        ("a + b -> a - b", "plain(10)", 11),
        ("2 -> 3", "cached(1)", 3),
        ("4 -> 5", "C().method()", 7),
        ("5 -> 6", "C().shown", 5),
        ("6 -> 7", "C.alone()", 6),
    ],
)
def test_a_mistake_is_made_in_a_function_that_is_loaded(
    changed: str, call: str, before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a second copy; the first goes on as it was."""
    monkeypatch.syspath_prepend(tmp_path)
    found = sample(tmp_path)
    copies.begin_again(["sample"])
    first = importlib.import_module("sample")
    copy = copies.Copy(["sample"], ["sample"])
    assert sys.modules["sample"] is first

    copy.use()
    second = sys.modules["sample"]
    assert copies.change(next(each for each in mutants(found) if each.change == changed), frozenset())

    assert second is not first
    assert eval(call, vars(first)) == before != eval(call, vars(second))


@pytest.mark.parametrize("changed", ["1 -> 2", "3 -> 4", "7 -> 8"])
def test_a_mistake_in_what_runs_when_a_module_is_loaded_is_made_by_loading_it_again(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    found = sample(tmp_path)
    copies.Copy(["sample"], ["sample"]).use()
    mutant = next(each for each in mutants(found) if each.change == changed)
    called = "plain(0) + C.limit + seven()"
    ran = SAMPLE.splitlines().index("    return inside") + 1

    assert not copies.change(mutant, frozenset({(str(found.path), ran)}))
    assert eval(called, vars(sys.modules["sample"])) == 11
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    copies.begin_again(["sample"], mutant)
    assert eval(called, vars(importlib.import_module("sample"))) == 12
