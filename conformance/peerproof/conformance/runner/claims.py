"""The readings that an implementation claims in its hello: whether they are described, and whether some case confirms them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.runner.result import Result
from peerproof.spec.protocols import PROTOCOLS


def check_claims(hello: Hello) -> None:
    """Raises AdapterUnavailable if an implementation claims a reading that is not described."""
    for decision, name in hello.readings.items():
        known = [one.name for protocol in PROTOCOLS for one in readings_of(protocol) if one.clause == decision]
        if name not in known:
            there_are = f"described are {', '.join(known)}" if known else "no other reading of it is described"
            raise AdapterUnavailable(f"hello claims {decision} as {name!r}; {there_are}")


def unseen_claims(readings: Mapping[str, str], results: Iterable[Result]) -> Iterator[str]:
    """Yields claimed readings that no case confirms, though some could have."""
    tried = [result for result in results if result.status not in ("skipped", "undetermined")]
    for decision, name in readings.items():
        cited = sum(decision in result.clauses for result in tried)
        if cited and not any(f"{decision}: {name}" in result.branches for result in tried):
            yield f"hello claims {decision} as {name!r}, but none of {cited} cases that cite it confirms that"
