"""
A failing case as one message graph: what happened, with the fault marked, and what was expected instead.

The mark is on the subject of the first difference: the wrong or surplus message or event, the wrong answer, or the last event
before a crash. The expectation stands at the end, its messages dashed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from peerproof.conformance.diagrams import message_graph
from peerproof.conformance.diagrams.labels import MARK, window_texts
from peerproof.conformance.diagrams.message_graph import MessageGraph, Note
from peerproof.conformance.report.failure_text import draw_part, side_text
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference

MOST_SHOWN: Final = 60  #: the most events that are shown, the last ones
_MESSAGE: Final = re.compile(r"\.messages\[(\d+)\]")
_EVENT: Final = re.compile(r"\.events\[(\d+)\]")
_IMPLEMENTATION: Final = "implementation"


def draw_failure(result: Result) -> MessageGraph | None:
    """Returns expected and actual output in one graph; None if only the outcome is known."""
    difference = result.difference
    if not result.story and difference is None:
        return None
    wrong = find_wrong(result)
    first = max(0, len(result.story) - MOST_SHOWN)
    happenings: list[message_graph.Arrow | Note] = []
    if first:
        happenings.append(Note("", f"… {first} before, which peerproof vectors replay shows"))
    for place, part in enumerate(result.story[first:], start=first):
        shown = _draw_actual(result, part, with_bytes=place == wrong)
        happenings.append(shown._replace(label=MARK + shown.label) if place == wrong else shown)
    if difference is not None:
        happenings += _instead(result, difference, nothing_wrong=wrong is None)
    return MessageGraph(tuple(_participants(happenings)), tuple(happenings))


def _draw_actual(result: Result, part: Arrow | TrialEvent, *, with_bytes: bool) -> message_graph.Arrow | Note:
    """Draws a message decoded; the wrong one also has its bytes if the difference is in them."""
    difference = result.difference
    alike = difference is not None and difference.expected_read is not None and difference.expected_read == difference.actual_read
    return draw_part(part, result.vector.partition("/")[0], digits=with_bytes and alike)


def find_wrong(result: Result) -> int | None:
    """The index of the fault in the story; None if the story does not show it."""
    difference = result.difference
    if not result.story:
        return None
    if difference is None:
        return len(result.story) - 1  # a crash: the last event
    if result.failure == "messages":
        return _wrong_message(result, difference)
    if result.failure == "events":
        named = _EVENT.search(difference.where)
        events = [isinstance(part, TrialEvent) and part.what.startswith("event ") for part in result.story]
        places = [place for place, is_event in enumerate(events) if place >= result.judged and is_event]
        return places[int(named[1])] if named and int(named[1]) < len(places) and difference.actual is not None else None
    return len(result.story) - 1 if _shows(result.story[-1], difference) else None


def _wrong_message(result: Result, difference: Difference) -> int | None:
    if difference.actual is None:
        return None
    sent = find_sent(result)
    digits = difference.actual.get("bytes") if isinstance(difference.actual, dict) else difference.actual
    named = _MESSAGE.search(difference.where)
    by_place = sent[int(named[1])] if named and int(named[1]) < len(sent) else None
    fitting = [place for place in sent if digits is not None and _bytes(result.story[place]) == digits]
    if by_place is None or (fitting and by_place not in fitting):  # messages in any order have other indices
        return fitting[0] if fitting else by_place
    return by_place


def _bytes(part: Arrow | TrialEvent) -> str | None:
    return part.bytes if isinstance(part, Arrow) else None


def find_sent(result: Result) -> list[int]:
    """The indices of the node's messages in the story since the last expectation that was met."""
    under_test = {wanted.source for wanted in result.expected if isinstance(wanted, Arrow)}
    under_test = under_test or {part.node for part in result.story if isinstance(part, TrialEvent) and part.node}
    if not under_test and result.difference and isinstance(result.difference.actual, dict):
        surplus = result.difference.actual.get("bytes")
        under_test = {part.source for part in result.story if isinstance(part, Arrow) and part.bytes == surplus}
    later = enumerate(result.story[result.judged :], start=result.judged)
    sent = [place for place, part in later if isinstance(part, Arrow) and (part.source in under_test or not under_test)]
    return sent[1:] if sent[:1] == [result.judged] and _is_to_itself(result.story[result.judged]) else sent


def _is_to_itself(part: Arrow | TrialEvent) -> bool:
    """Whether a peer sent this message to the node in the node's own name."""
    return isinstance(part, Arrow) and part.source == part.target


def _shows(last: Arrow | TrialEvent, difference: Difference) -> bool:
    """Whether the last event is the wrong answer: of a codec or a query, or a refusal."""
    if isinstance(last, Arrow):
        return _is_answer(last)
    return f".observe.{last.what.partition(' = ')[0]}" in difference.where or last.what.startswith("refused: ")


def _is_answer(part: Arrow) -> bool:
    return part.bytes is None and bool(part.label)  # codec requests and answers have labels, messages have bytes


def _instead(result: Result, difference: Difference, *, nothing_wrong: bool) -> Iterator[message_graph.Arrow | Note]:
    """The expectation at that place."""
    if result.failure == "messages":
        if nothing_wrong:
            yield Note("", f"{MARK}nothing else came")
        yield Note("", "expected instead:" if result.expected else "expected: nothing is sent")
        for part in result.expected:
            shown = draw_part(part, result.vector.partition("/")[0], digits=False)
            yield shown._replace(judged=True) if isinstance(shown, message_graph.Arrow) else shown
        return
    last = result.story[-1] if result.story else None
    place = difference.where or "as a whole"
    expected, actual = window_texts(side_text(difference, "expected"), side_text(difference, "actual"))
    label = f"expected: {place}: {expected}"
    if isinstance(last, Arrow) and _is_answer(last):
        yield message_graph.Arrow(last.source, last.target, label, judged=True)
        return
    node = last.node if isinstance(last, TrialEvent) else last.source if last else _IMPLEMENTATION
    if nothing_wrong:
        yield Note(node, f"{MARK}{place}: {actual}")
    yield Note(node, label)


def _participants(happenings: Iterable[message_graph.Arrow | Note]) -> Iterator[str]:
    """The participants, in the order of the story."""
    found: dict[str, None] = {}
    for part in happenings:
        names = (part.source, part.target) if isinstance(part, message_graph.Arrow) else (part.node,)
        found |= dict.fromkeys(name for name in names if name)
    yield from found or {_IMPLEMENTATION: None}
