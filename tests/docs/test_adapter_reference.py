"""The reference page of the adapter protocol describes all that the code has, as the reference answers it."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.support.catching import suite
from tests.support.docs_scripts import load_script

from peerproof.conformance.adapter.answers import canonical_answer, query_answers
from peerproof.conformance.adapter.form_tables import adapter_tables
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.adapter.messages import event_kinds
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Vector
from peerproof.reference.harness.harness import Harness
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.forms.form import Form
from peerproof.spec.protocols import PROTOCOLS

generate: Any = load_script("generate")

#: Queries that were asked, by protocol and name; a StateForm is read by `load`, and checked there.
checked: Counter[tuple[str, str]] = Counter()


class Checking(Harness):
    """The reference, whose answers to queries must have the form that is described."""

    def _query(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = super()._query(request)
        protocol, what = self._handles[request["handle"]].protocol.name, request["what"]
        form = query_answers(protocol)[what].form
        if isinstance(form, Form):
            form.value(reply["value"], what)
            assert canonical_answer(protocol, what, reply["value"]) == reply["value"]
        checked[protocol, what] += 1
        return reply


@pytest.mark.parametrize("protocol", RUNTIMES)
def test_every_capability_query_event_call_and_site_is_described(protocol: str) -> None:
    spec, page = RUNTIMES[protocol].specification(), "\n".join(adapter_tables(protocol))
    described = {need: generate.claims(protocol, need) for need in RUNTIMES[protocol].capabilities()}

    assert query_answers(protocol).keys() == spec.QUERIES.keys()
    assert all(described.values())
    for name in (*spec.QUERIES, *event_kinds(protocol), *spec.COMMAND.cases):
        assert f"**`{name}`**" in page, name
    assert all(f"| `{name}` |" in page for name in (*PROTOCOLS[protocol].sites, *PROTOCOLS[protocol].refusals))


@pytest.mark.parametrize("protocol", RUNTIMES)
def test_every_class_of_a_refused_call_is_described(protocol: str) -> None:
    """Those that vectors expect, and those in the code; a bad or too large value is often refused before there is a call."""
    listed = PROTOCOLS[protocol].refusals.keys()
    packages = {Path(str(import_module(handler.target.rpartition(".")[0]).__file__)) for handler in PROTOCOLS[protocol].handlers}
    code = "".join(module.read_text("utf-8") for init in packages for module in init.parent.glob("*.py"))
    raised = set(re.findall(r'NotEnabled\(\s*"(\w+)"', code))
    steps = (step for vector in suite().vectors if vector.protocol == protocol for step in vector.body.get("steps", ()))
    expected = {step["refused"] for step in steps if isinstance(step.get("refused"), str)}

    assert expected <= listed <= raised | {"too_large"}
    assert raised - listed <= {"bad_value", "too_large"}


def test_what_nobody_has_described_is_no_capability() -> None:
    with pytest.raises(KeyError):
        generate.claims("scuttlebutt", "time.travel")


def some_that_ask(vectors: list[Vector], queries: set[str], most: int = 20) -> list[Vector]:
    """So many vectors of each query, from all over the suite."""
    asking = [[vector for vector in vectors if query in vector.needs] for query in queries]
    return list({vector.id: vector for some in asking for vector in some[:: -(-len(some) // most)]}.values())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RUNTIMES)
def test_the_reference_answers_each_query_as_described(protocol: str) -> None:
    """In some vectors of each: what it answers in all others is compared with what they expect, in tests of the runner."""
    own, results = suite(), list[Result]()
    written = [v for v in own.vectors if v.protocol == protocol and v.layer in ("exchange", "cluster")]
    observed = {need for vector in written for need in vector.needs if need.startswith("observe.")}
    vectors = some_that_ask(written, observed)

    def reach() -> InProcess:
        return InProcess(f"{__name__}:Checking", Timeouts(op=60), own.version)

    def take(result: Result) -> bool:
        results.append(result)
        return False

    adapter = reach()
    run(reach, adapter, adapter.start(), cases(own, vectors), Settings(), take)

    assert {result.status for result in results} <= {"passed", "skipped"}
    asked = {what for name, what in checked if name == protocol}
    assert {f"observe.{what}" for what in asked} == observed != set()


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RUNTIMES)
def test_the_sites_are_those_that_vectors_fix(protocol: str) -> None:
    """Each site of the table is fixed by a vector, and no vector fixes another."""
    vectors = [vector for vector in suite().vectors if vector.protocol == protocol and vector.layer in ("exchange", "cluster")]
    fixed = {str(pick["site"]) for vector in vectors for pick in generate.picks(vector.body)}

    assert fixed == set(PROTOCOLS[protocol].sites)
