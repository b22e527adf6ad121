"""Answers to queries in other forms than the specification's: what they mean counts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.catching import suite

from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import select_cases
from peerproof.reference.harness.harness import Harness


class Spelt(Harness):
    """DistKV, which spells each missing tick as a range, and names nodes that miss none."""

    more: int = 0  #: what is added to each tick

    def _query(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = super()._query(request)
        if request["what"] != "own":
            return reply
        missing = {node: [self._range(item) for item in ticks] for node, ticks in reply["value"]["missing"].items()}
        return {**reply, "value": {**reply["value"], "missing": {"z": [], **missing}}}

    def _range(self, item: Any) -> Any:
        return item if isinstance(item, list) else [item, str(int(item) + 1 + self.more)]


class Wrong(Spelt):
    """The same, with one tick more than are missing."""

    more = 1


class Reversed(Harness):
    """SWIM, which lists nodes in another order."""

    def _query(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = super()._query(request)
        return {**reply, "value": reply["value"][::-1]} if request["what"] == "nodes" else reply


@pytest.mark.parametrize(
    ("adapter", "vector", "status"),
    [
        ("Spelt", "distkv/exchange/known-of-what-is-missing", "passed"),
        ("Wrong", "distkv/exchange/known-of-what-is-missing", "failed"),
        ("Reversed", "swim/exchange/isolated-when-nobody-answers", "passed"),
    ],
)
def test_an_answer_may_have_any_form_of_the_same_meaning(adapter: str, vector: str, status: str) -> None:
    chosen = select_cases(suite(), vector)
    found = run_implementation(f"py:{__name__}:{adapter}", chosen, suite=suite()).report

    assert {result.status for result in found.results} == {status}
