"""What hello claims: readings that are described and confirmed, nodes that open, choices that are asked for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.runner.result import ADAPTERS_OWN, BROKEN, STATUSES, Result
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.printable import count_text
from peerproof.spec.protocols import PROTOCOLS

_UNOPENED: Final = re.compile("the implementation does not support this (?:open|load|serve): (.*)", re.DOTALL)
_LACKING: Final = re.compile("the implementation (?!does not support this )")  #: what was found out before the case began


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


def unopened_nodes(cases: Iterable[Case], results: Iterable[Result]) -> Iterator[str]:
    """Yields protocols with nodes none of which opened, since the implementation supports none of the configurations."""
    protocols = {case.id: case.vector.protocol for case in cases if "exchange" in case.needs}
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    opened = set()
    for result in results:
        protocol, reason = protocols.get(result.id), result.reason or ""
        if protocol is None or (result.status == "skipped" and _LACKING.match(reason)):
            continue
        if result.status == "skipped" and (unopened := _UNOPENED.match(reason)):
            reasons[protocol][unopened[1]] += 1
        else:
            opened.add(protocol)
    for protocol in sorted(reasons.keys() - opened):
        ((most, _),) = reasons[protocol].most_common(1)
        count = reasons[protocol].total()
        yield f"{protocol}: exchange is claimed, but open was unsupported in all {count:,} cases: {most}"


def unasked_choices(hello: Hello, cases: Iterable[Case], results: Iterable[Result], asked: Collection[str]) -> Iterator[str]:
    """Yields a note for each protocol in which cases with random choices fail and hello says that it asks, but it never did."""
    choosing = {case.id: case.vector.protocol for case in cases if "choices.oracle" in case.needs}
    failing = [result for result in results if STATUSES[result.status] and result.failure not in (None, *BROKEN, *ADAPTERS_OWN)]
    for protocol, count in Counter(choosing[result.id] for result in failing if result.id in choosing).items():
        if hello.is_oracle(protocol) and protocol not in asked:
            yield (
                f'{protocol}: hello has "choices": "oracle", but no question was asked: the implementation makes its own random '
                f'choices, and {count_text(count, "case")} with such choices failed. Ask for each choice (choose), or claim "set"'
            )
