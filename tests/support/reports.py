"""Reports of runs that never were, for what is made from reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.report.record import Report, as_json_lines
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference

PASSED = Result("scuttlebutt/exchange/two", "passed", "scuttlebutt/exchange/two", 1, "must", ("B-11",), branches=("first",))
MISSED = Result(
    "scuttlebutt/exchange/one",
    "failed",
    "scuttlebutt/exchange/one",
    1,
    "must",
    ("B-11", "B-31"),
    failure="messages",
    difference=Difference(
        "steps[1].messages[1].bytes, from byte 0", "03", "01", {"type": "delta", "entries": []}, {"type": "digest_request"}
    ),
    title="what is sent first",
    file="scuttlebutt/exchange/some.yaml",
    line=12,
    story=(
        Arrow(0, "node", "peer", "01"),
        Arrow(10, "peer", "node", "03"),
        TrialEvent(10, "node", "event join"),
        Arrow(10, "node", "peer", "03"),
        Arrow(10, "node", "peer", "01"),
    ),
    judged=2,
    expected=(Arrow(None, "node", "peer", None, "digest_response []"), Arrow(None, "node", "peer", None, "delta []")),
)
SKIPPED = Result("swim/codec/three#decode", "skipped", "swim/codec/three", 1, "may", (), reason="the implementation lacks it")


def report(*results: Result, **members: Any) -> Report:
    """A report of an implementation called mine."""
    about: dict[str, Any] = {
        "implementation": {"name": "mine", "version": "2"},
        "vectors": {"version": "1.0.0+sha256:00", "digest": "00", "count": len(results)},
        "selected": len(results),
        "seed": "0",
        "arguments": {"impl": "./mine --flag"},
        "results": list(results),
    }
    return Report(**{**about, **members})


#: What another report has of its own: it is of another implementation.
THEIRS: Final[dict[str, Any]] = {"implementation": {"name": "theirs", "version": "1"}}


def record(path: Path, *reports: Report) -> str:
    """The path of a record of these reports, written there."""
    path.write_text("".join(map(as_json_lines, reports)), encoding="utf-8")
    return str(path)


def named(result: Result, name: str) -> Result:
    """The same result of another vector of its protocol and layer."""
    protocol, layer, _ = result.vector.split("/")
    vector = f"{protocol}/{layer}/{name}"
    return replace(result, id=vector, vector=vector)


def many(count: int, failing: int) -> Report:
    """A report of so many vectors, the last of which fail."""
    results: Sequence[Result] = [
        named(_missed(number) if number >= count - failing else PASSED, f"v-{number}") for number in range(count)
    ]
    return report(*results)


def _missed(number: int) -> Result:
    """A failure that looks like no other one, so that packing them together saves no more than with real ones."""
    texts = [sha256(f"{number} {place}".encode()).hexdigest() for place in range(12)]
    story = [Arrow(place, "peer", "node", None, f"delta [c:1 k {told} {place}]") for place, told in enumerate(texts)]
    return replace(MISSED, story=(*story, *MISSED.story), judged=len(story) + 2)
