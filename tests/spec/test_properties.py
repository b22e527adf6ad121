"""
Each property is violated by something bad, so that none of them is empty.

That they hold of what is good, and that what should happen sometimes does, is found wherever nodes run: in `test_machine.py`,
`tests/conformance/fuzz` and `tests/reference/simulation`.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.spec.scuttlebutt.test_properties import BAD as OF_SCUTTLEBUTT
from tests.spec.swim.test_properties import BAD as OF_SWIM
from tests.support.any_messages import SPECIFICATIONS

from peerproof.spec.properties import Property, find_violations

#: By protocol and property: what breaks it. Peter's are in `tests/spec/peter/test_properties.py`, as they break several at once.
BAD: dict[str, Any] = {"scuttlebutt": OF_SCUTTLEBUTT, "swim": OF_SWIM}
CASES = [(protocol, name, case) for protocol, bad in BAD.items() for name, cases in bad.items() for case in cases]


@pytest.mark.parametrize("protocol", BAD)
def test_every_property_has_a_bad_case(protocol: str) -> None:
    assert list(BAD[protocol]) == [prop.name for prop in SPECIFICATIONS[protocol].PROPERTIES]


@pytest.mark.parametrize("protocol", SPECIFICATIONS)
def test_every_property_has_a_name_of_its_own(protocol: str) -> None:
    names = [prop.name for prop in SPECIFICATIONS[protocol].PROPERTIES]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("protocol", "name", "case"), CASES)
def test_a_property_does_not_hold_of_a_bad_case(protocol: str, name: str, case: str) -> None:
    (prop,) = (prop for prop in SPECIFICATIONS[protocol].PROPERTIES if prop.name == name)

    assert not prop.holds(BAD[protocol][name][case])


def test_what_is_violated_is_what_should_always_hold_of_such_a_subject_and_does_not() -> None:
    def prop(name: str, of: Any, when: Any, *, holds: bool) -> Property:
        return Property(name, name, (), of, lambda _: holds, when)

    properties = [
        prop("good", "node", "always", holds=True),
        prop("bad", "node", "always", holds=False),
        prop("not seen yet", "node", "sometimes", holds=False),
        prop("not in the end yet", "node", "eventually", holds=False),
        prop("of a step", "step", "always", holds=False),
    ]

    assert [found.name for found in find_violations(properties, "node", None)] == ["bad"]
    assert [found.name for found in find_violations(properties, "step", None)] == ["of a step"]
    back = OF_SWIM["CounterCounts"]["back"]
    assert [found.name for found in find_violations(SPECIFICATIONS["swim"].PROPERTIES, "step", back)] == ["CounterCounts"]
