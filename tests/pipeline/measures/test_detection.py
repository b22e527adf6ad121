"""How crashes are detected: runs of SWIM made by hand, whose figures are known."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.handmade import (
    SECOND,
    SWIM,
    alive_to_the_end,
    members,
    told,
)

from peerproof.pipeline.measures import spreading
from peerproof.pipeline.measures.node_figures import SIGHTINGS, node_figures
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.tables import TRACES


def test_a_crash_is_detected_by_the_first_and_by_the_last() -> None:
    log = members("abc", crashed="c")
    log.add("a", 6 * SECOND, "timer", {"type": "quantum"}, told("c", "suspicious"))
    log.add("a", 9 * SECOND, "timer", {"type": "quantum"}, told("c", "dead"))
    log.add("b", 11 * SECOND, "timer", {"type": "quantum"}, told("c", "dead"))

    found = dict(alive_to_the_end(log, "ab").metrics())

    assert found["detection_first", 4, "c"] == 5000
    assert found["detection_last", 4, "c"] == 7000
    assert found["detected", 4, "c"] == 1
    assert [found["false_positives", None, node] for node in "abc"] == [0, 0, 0]
    assert [found["false_suspicions", None, node] for node in "abc"] == [0, 0, 0]


def test_a_crash_that_not_all_detect_has_no_last() -> None:
    log = members("abc", crashed="c")
    log.add("b", 11 * SECOND, "timer", {"type": "quantum"}, told("c", "dead"))

    found = dict(alive_to_the_end(log, "ab").metrics())

    assert found["detected", 4, "c"] == 0.5
    assert ("detection_last", 4, "c") not in found


def test_a_crash_that_nobody_detects_is_told() -> None:
    found = dict(alive_to_the_end(members("abc", crashed="c"), "ab").metrics())

    assert found["detected", 4, "c"] == 0
    assert ("detection_first", 4, "c") not in found


def test_who_is_up_and_called_dead_is_a_false_positive() -> None:
    log = members("abc")
    log.add("a", 5 * SECOND, "timer", {"type": "quantum"}, told("b", "dead"))
    log.add("a", 6 * SECOND, "timer", {"type": "quantum"}, told("b", "normal"))
    log.add("a", 7 * SECOND, "timer", {"type": "quantum"}, told("b", "dead"))
    log.add("c", 7 * SECOND, "timer", {"type": "quantum"}, told("b", "suspicious"))

    found = dict(alive_to_the_end(log, "abc").metrics())

    assert (found["false_positives", None, "b"], found["false_suspicions", None, "b"]) == (2, 1)
    assert not [name for name, _, _ in found if name == "detected"]


def test_what_a_node_says_to_a_third_counts_and_what_it_says_to_the_node_itself_does_not() -> None:
    """`dead` to the node itself says what is remembered of it. [S-21]"""
    incarnation = {"restart": "0", "tx": "1"}

    def ping(target: str, about: str) -> list[dict[str, Any]]:
        vectors = [{"type": "dead", "node": f"uuid-{about}", "incarnation": None}]
        message = {"type": "ping", "sender": "uuid-a", "incarnation": incarnation, "target": f"uuid-{target}", "vectors": vectors}
        return [{"send": {"to": target, "message": message}}]

    log = members("abc")
    with_uuids = {"uuid-a": "0" * 8, "uuid-b": "1" * 8, "uuid-c": "2" * 8}
    log.add("a", 5 * SECOND, "timer", {"type": "quantum"}, ping("b", "b"))
    log.add("a", 6 * SECOND, "timer", {"type": "quantum"}, ping("b", "c"))
    rows = [row for batch in alive_to_the_end(log, "abc").batches() for row in events(batch)]

    def named(text: str | None) -> str | None:
        for name, digits in with_uuids.items():
            text = text and text.replace(name, f"{digits}-0000-4000-8000-000000000000")
        return text

    renamed = TRACES.batch([row._replace(args=named(row.args), effects=named(row.effects)) for row in rows])
    seen = list(node_figures(SIGHTINGS, shared_clock=True)([renamed]))
    rows_of = pa.Table.from_batches(seen, SIGHTINGS.schema).sort_by([(name, "ascending") for name in spreading.ORDER])
    found = {
        (row["metric"], row["node"]): row["value"]
        for batch in spreading.together(rows_of.to_batches())
        for row in batch.to_pylist()
    }
    assert (found["false_positives", "b"], found["false_positives", "c"]) == (0, 1)


def test_who_starts_after_a_crash_need_not_detect_it() -> None:
    log = members("ab", crashed="b")
    log.add("a", 9 * SECOND, "timer", {"type": "quantum"}, told("b", "dead"))
    log.add("c", 10 * SECOND, "start", {**SWIM, "uuid": "uuid-c"})

    found = dict(alive_to_the_end(log, "ac").metrics())

    assert (found["detected", 4, "b"], found["detection_last", 4, "b"]) == (1, 5000)


@pytest.mark.parametrize(("meanwhile", "detected"), [((), 1), (("normal",), 0)])
def test_who_takes_a_node_for_down_when_it_crashes_has_detected_it_at_once(meanwhile: tuple[str, ...], detected: int) -> None:
    log = members("ab")
    log.add("a", 2 * SECOND, "timer", {"type": "quantum"}, told("b", "dead"))
    for status in meanwhile:
        log.add("a", 3 * SECOND, "timer", {"type": "quantum"}, told("b", status))
    log.add("b", 4 * SECOND, "timer", {"type": "quantum"})

    found = dict(alive_to_the_end(log, "a").metrics())

    assert found["detected", 4, "b"] == detected
    assert found.get(("detection_first", 4, "b")) == (0 if detected else None)
    assert found["false_positives", None, "b"] == 1


@pytest.mark.parametrize(("last", "crashed"), [(17, False), (16, True)])
def test_three_silent_rounds_at_the_end_are_no_crash_and_four_are(last: int, crashed: bool) -> None:
    log = members("ab")
    log.add("b", last * SECOND, "timer", {"type": "quantum"})

    found = {name for (name, _, _), _ in alive_to_the_end(log, "a").metrics()}

    assert ("detected" in found) == crashed
