"""
Compares two runs: cases that newly fail, newly pass, fail differently, are new, or are gone.

The comparison is about what the implementation does: an expected failure counts as a failure, and a stale entry as a pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peerproof.conformance.report.record import Report, implementation_name
from peerproof.conformance.runner.result import VIOLATIONS, Result

#: Kind of change -> its description, and whether it is a regression.
KINDS: Final[Mapping[str, tuple[str, bool]]] = {
    "newly failing": ("passed before, or was tolerated, and now fails", True),
    "newly tolerated": ("passed before, and now is only tolerated or differs", True),
    "no longer judged": ("was checked before, and now is not", True),
    "gone": ("was checked before, and is not in the new report", True),
    "new and failing": ("was not checked before, and fails", True),
    "failing otherwise": ("still fails, but in another way", False),
    "newly passing": ("failed before, or was tolerated, and now has a better status", False),
    "new": ("was not checked before, and does not fail", False),
}

#: Status -> its rank, by what the implementation does (a stale case passes); other statuses have no verdict.
_MERIT: Final = dict.fromkeys(("known", *VIOLATIONS), 0) | {"passed": 2, "stale": 2, "tolerated": 1, "differs": 1}

#: Failures that end the implementation: a change from another failure to one of these is a regression.
_FATAL: Final = ("crashed", "hung", "flooded")


@dataclass(frozen=True)
class Change:
    """A case whose outcome has changed."""

    kind: str
    case: str
    before: Result | None
    now: Result | None

    @property
    def worse(self) -> bool:
        """Whether it is a regression."""
        if self.kind == "failing otherwise" and self.now and self.before:
            return self.now.failure in _FATAL and self.before.failure not in _FATAL
        return KINDS[self.kind][1]

    def plain(self) -> dict[str, Any]:
        """Plain data for programs."""
        sides = {"before": self.before, "now": self.now}
        shown = {name: _plain(result) for name, result in sides.items() if result}
        return {"case": self.case, "kind": self.kind, "worse": self.worse, **shown}


@dataclass(frozen=True)
class Diff:
    """All changes from one report to another, regressions first."""

    old: Report
    new: Report
    changes: Sequence[Change]

    @property
    def worse(self) -> bool:
        """Whether there is a regression."""
        return any(change.worse for change in self.changes)

    def of(self, kind: str) -> list[Change]:
        """The changes of one kind."""
        return [change for change in self.changes if change.kind == kind]

    def remarks(self) -> Iterator[str]:
        """Notes on the comparison."""
        for name, report in (("old", self.old), ("new", self.new)):
            if report.partial:
                yield f"the {name} report is partial: {report.because}"
        if self.old.vectors.get("digest") != self.new.vectors.get("digest"):
            yield f"the vectors differ: {self.old.vectors['version']}, then {self.new.vectors['version']}"
        if self.old.seed != self.new.seed:
            yield f"the seeds differ: {self.old.seed}, then {self.new.seed}"
        if implementation_name(self.old) != implementation_name(self.new):
            yield f"the implementations differ: {implementation_name(self.old)}, then {implementation_name(self.new)}"

    def plain(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "old": implementation_name(self.old),
            "new": implementation_name(self.new),
            "remarks": list(self.remarks()),
            "counts": {kind: len(self.of(kind)) for kind in KINDS},
            "worse": self.worse,
            "changes": [change.plain() for change in self.changes],
        }


def compare_reports(old: Report, new: Report, aliases: Mapping[str, str] | None = None) -> Diff:
    """Compares two reports; `aliases` maps former ids of vectors to the present ones."""
    before, now = (_by_id(report, aliases or {}) for report in (old, new))
    changes = [
        Change(kind, case, before.get(case), now.get(case))
        for case in dict.fromkeys([*before, *now])
        if (kind := _kind(before.get(case), now.get(case)))
    ]
    order = {kind: place for place, kind in enumerate(KINDS)}
    return Diff(old, new, sorted(changes, key=lambda change: order[change.kind]))


def _by_id(report: Report, aliases: Mapping[str, str]) -> dict[str, Result]:
    return {
        f"{aliases.get(result.vector, result.vector)}{result.id.removeprefix(result.vector)}": result for result in report.results
    }


def _kind(before: Result | None, now: Result | None) -> str | None:
    """The kind of a change; None if there is no change or no verdict."""
    was, is_now = (_MERIT.get(result.status) if result else None for result in (before, now))
    if is_now is None:
        return None if was is None else "no longer judged" if now else "gone"
    if was is None:
        return "new" if is_now else "new and failing"
    if is_now < was:
        return "newly tolerated" if is_now else "newly failing"
    if is_now > was:
        return "newly passing"
    assert before is not None
    assert now is not None
    return "failing otherwise" if is_now == 0 and before.failure != now.failure else None


def as_text(diff: Diff) -> str:
    """Renders a line for each change, by kind, then the counts."""
    lines = [f"note: {remark}" for remark in diff.remarks()]
    for kind, (about, _) in KINDS.items():
        changes = diff.of(kind)
        lines += [f"{kind} ({len(changes)}): {about}"] if changes else []
        lines += [f"  {change.case}  {_step(change)}" for change in changes]
    return "\n".join([*lines, _summary(diff)]) + "\n"


def as_markdown(diff: Diff) -> str:
    """Renders a table for each kind."""
    lines = [f"# {implementation_name(diff.old)} → {implementation_name(diff.new)}", "", f"{_summary(diff).capitalize()}.", ""]
    lines += [f"- {remark}" for remark in diff.remarks()] + [""] * any(diff.remarks())
    for kind, (about, _) in KINDS.items():
        if changes := diff.of(kind):
            lines += [f"## {kind.capitalize()} ({len(changes)})", "", f"It {about}.", "", "| case | change |", "| --- | --- |"]
            lines += [f"| `{change.case}` | {_step(change).replace('|', chr(92) + '|')} |" for change in changes]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def as_json(diff: Diff) -> str:
    """Renders one object."""
    return json.dumps(diff.plain(), ensure_ascii=True, indent=1) + "\n"


FORMATS: Final = {"text": as_text, "md": as_markdown, "json": as_json}


def _summary(diff: Diff) -> str:
    counted = ", ".join(f"{len(changes)} {kind}" for kind in KINDS if (changes := diff.of(kind)))
    return f"{'worse' if diff.worse else 'not worse'}: {counted or 'no case has changed'}"


def _step(change: Change) -> str:
    revs = {result.rev for result in (change.before, change.now) if result}
    revised = f", rev {' → '.join(map(str, sorted(revs)))}" if len(revs) > 1 else ""
    return f"{_outcome(change.before)} → {_outcome(change.now)}{revised}"


def _outcome(result: Result | None) -> str:
    if result is None:
        return "not there"
    return f"{result.status} ({result.failure})" if result.failure and result.failure != result.status else result.status


def _plain(result: Result) -> dict[str, Any]:
    shown = {"status": result.status, "failure": result.failure, "rev": result.rev}
    return {name: value for name, value in shown.items() if value is not None}
