"""
TLC judges what implementations do while the vectors are run against them: the reference, and all that are wrong on purpose.

Fingerprints are left out, so that what is wrong shows in what a node does, where TLC sees it too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from tests.support.catching import Mistakes, path_of
from tests.support.judged_traces import Judged, judged
from tests.support.recorded_vectors import recorded_vectors

from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces.trace_check import Comparison


@dataclass(frozen=True)
class Expected:
    """What comes of the traces of a protocol."""

    accepted: int  #: traces of the reference that TLC accepts, at least
    rejected: int  #: traces of wrong variants that TLC rejects where the replay does, at least
    unseen: int = 0  #: those that are wrong where TLC does not look, at most
    unjudged: frozenset[str] = frozenset()  #: why TLC has no verdict, besides its integers


#: By protocol.
EXPECTED = {
    "scuttlebutt": Expected(accepted=390, rejected=200, unseen=53),
    "distkv": Expected(
        accepted=1200,
        rejected=500,
        unjudged=frozenset({"a tick is above 10,000", "it knows more than 4,096 names", "nothing is downloaded from there"}),
    ),
    "swim": Expected(
        accepted=1080,
        rejected=300,
        unjudged=frozenset({"a datagram in the name of the node itself", "whether the payload fits into a datagram"}),
    ),
    "wendy": Expected(
        accepted=1270,
        rejected=270,
        unjudged=frozenset(
            {
                "an id has two addresses or none, or shares one",
                "it has as many hops as are counted",
                "its leaf set is two-sided",
                "its ring has ids of another size",
            }
        ),
    ),
}

of_each_protocol = pytest.mark.parametrize("protocol", EXPECTED)


def disagreements(said: Iterable[Judged]) -> list[Judged]:
    """Where the two contradict each other."""
    return [each for each in said if each.comparison is Comparison.DISAGREE]


def reasons(said: Iterable[Judged]) -> set[str]:
    """Why TLC has no verdict, besides integers that are too large for it."""
    whys = [each.judgement.why or "" for each in said if each.comparison is Comparison.UNDETERMINED]
    return {why.rpartition(": ")[2] for why in whys if "TLC's integers end" not in why}


@pytest.mark.minute
@of_each_protocol
def test_tlc_accepts_what_the_reference_does(protocol: str, tools: Tools) -> None:
    vectors = Mistakes(protocol).written
    lines = recorded_vectors(protocol, "peerproof.reference.harness.harness:Harness", vectors, "right")

    said = judged(tools, protocol, lines, with_states=False)

    counts = Counter(each.comparison for each in said)
    assert disagreements(said) == []
    assert reasons(said) <= EXPECTED[protocol].unjudged
    assert counts[Comparison.AGREE] >= EXPECTED[protocol].accepted
    assert {each.divergence for each in said} == {None}


@pytest.mark.minute
@of_each_protocol
def test_tlc_rejects_what_wrong_variants_do_where_the_replay_does(protocol: str, tools: Tools) -> None:
    mistakes, lines = Mistakes(protocol), list[str]()
    for variant in mistakes.variants:
        lines += recorded_vectors(protocol, path_of(variant), mistakes.made_for(variant), variant.__name__)

    said = judged(tools, protocol, lines, with_states=False)

    counts = Counter(each.comparison for each in said if each.divergence is not None)
    assert disagreements(said) == []
    assert reasons(said) <= EXPECTED[protocol].unjudged
    assert counts[Comparison.AGREE] >= EXPECTED[protocol].rejected
    assert counts[Comparison.UNSEEN] <= EXPECTED[protocol].unseen
