"""
The list of expected failures, checked in both directions so that it stays current.

    # id-or-pattern                        failure   expiry      link                   reason
    scuttlebutt/codec/*-cut-*#survives     crashed   2027-06-30  https://…/issues/12    the decoder panics on short input
    scuttlebutt/exchange/empty-delta       messages  -           https://…/issues/15    empty deltas are not sent

A case that the list names must fail, and in the listed way; it may be one that is tolerated, so that a list fits runs with and
without `--strict`. The run fails if a listed case passes, if an entry matches no case, or if an entry has expired; if the list
cannot be read the run does not start.

`render_heading` and `render_entries` write a list, `rewrite` one without the cases that pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from peerproof.conformance.runner.result import SILENT, Result
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.suite.schema import did_you_mean
from peerproof.conformance.vectors.model_table import LAYER

COLUMNS: Final = ("id-or-pattern", "failure-class", "expiry-or-dash", "link", "reason")


class ListError(Exception):
    """The list cannot be read; the message names the position and what was expected."""


@dataclass(frozen=True)
class Entry:
    """One line of the list."""

    pattern: str
    failure: str
    expiry: date | None
    link: str
    reason: str
    line: int

    @property
    def is_of_one(self) -> bool:
        """Whether the pattern is the id of one case."""
        return not any(sign in self.pattern for sign in "*?[")

    def fits(self, case_id: str) -> bool:
        """Whether the entry names this case."""
        return self.pattern == case_id or fnmatchcase(case_id, self.pattern)

    def among(self, case_ids: Collection[str]) -> list[str]:
        """Returns which of the cases the entry names."""
        return [self.pattern] * (self.pattern in case_ids) if self.is_of_one else [*filter(self.fits, case_ids)]


@dataclass(frozen=True)
class ExpectedFailures:
    """A list of expected failures."""

    file: str
    entries: Sequence[Entry]
    is_updated: bool = False  #: the list is rewritten after the run (`rewrite`), so that no case is stale

    def apply_to(self, result: Result) -> Result:
        """Returns the result with the list applied."""
        named = self.naming(result.id)
        if not named or result.status in SILENT:
            return result
        if _passes(result):
            if self.is_updated:
                return result
            return replace(result, status="stale", reason=f"it passes, though {self.file}:{named[0].line} lists it")
        for entry in named:
            if entry.failure == result.failure:
                about = {"link": entry.link, "reason": entry.reason}
                return replace(result, status="known", reason=entry.reason, known=about)
        listed = f"listed as {named[0].failure} in {self.file}:{named[0].line}, but it fails as {result.failure}"
        return replace(result, reason=f"{result.reason}; {listed}" if result.reason else listed)

    def naming(self, case_id: str) -> Sequence[Entry]:
        """Returns the entries that name a case, in the order of the list."""
        of_one, several = self._of_one.get(case_id, []), [entry for entry in self._of_several if entry.fits(case_id)]
        return sorted([*of_one, *several], key=lambda entry: entry.line) if several else of_one

    @cached_property
    def _of_one(self) -> Mapping[str, list[Entry]]:
        found: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            if entry.is_of_one:
                found[entry.pattern].append(entry)
        return found

    @cached_property
    def _of_several(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.is_of_one]

    def problems(self, case_ids: Iterable[str], today: date) -> Iterator[str]:
        """Yields the faults of the list itself, for any implementation; `case_ids` are all ids of the suite."""
        ids = set(case_ids)
        for entry in self.entries:
            if entry.expiry and entry.expiry < today:
                yield f"{self.file}:{entry.line}: {entry.pattern} expired on {entry.expiry}: fix the bug, or set a new date"
            if not entry.among(ids):
                parts = sorted(known for known in ids if known.startswith(f"{entry.pattern}#"))
                hint = f" (its cases are {', '.join(parts)})" if parts else _similar(entry.pattern, ids)
                yield f"{self.file}:{entry.line}: no case matches {entry.pattern!r}{hint}: remove the entry"

    def superseded(self, results: Iterable[Result]) -> Iterator[Entry]:
        """Yields the entries of one case that fails otherwise, as another entry of it says."""
        failures = {result.id: result.failure for result in results if result.status not in SILENT}
        named = {(entry.pattern, entry.failure) for entry in self.entries}
        for entry in self.entries:
            failure = failures.get(entry.pattern)
            if failure != entry.failure and (entry.pattern, failure) in named:
                yield entry


def load_expected_failures(path: Path) -> ExpectedFailures:
    """Reads the list in a file. Raises ListError."""
    file = path_text(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ListError(f"{file}: the list of expected failures cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ListError(f"{file}: the list of expected failures is not UTF-8, at byte {error.start}") from None
    entries: dict[tuple[str, str], Entry] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            entry = _entry(line, number, file)
            same = entries.setdefault((entry.pattern, entry.failure), entry)
            if same is not entry:
                raise ListError(f"{file}:{number}:1: {entry.pattern} is already listed as {entry.failure}, in line {same.line}")
    return ExpectedFailures(file, [*entries.values()])


def render_heading(name: str) -> str:
    """Returns the comment at the top of a list for an implementation."""
    update = "--known-failing FILE --update-known-failing"
    return f"""\
# Expected failures of {name}. `peerproof run … {update}` removes the lines of cases that pass.
#
# {"  ".join(COLUMNS)}
"""


def render_entries(cases: Iterable[tuple[str, str, str]]) -> str:
    """Returns a line of a list for the id, failure and reason of each case."""
    found = list(cases)
    width = max((len(case) for case, _, _ in found), default=0)
    return "".join(f"{case:{width}}  {failure:8}  -  -  {' '.join(reason.split())}\n" for case, failure, reason in found)


class Rewritten(NamedTuple):
    """The text of a list that was rewritten, and the ids of the cases that it lists otherwise than before."""

    text: str
    passed: Sequence[str]  #: their entries are left out
    replaced: Sequence[str]  #: they fail otherwise than their entries said


def rewrite(
    path: Path, results: Sequence[Result], case_ids: Iterable[str], failing: Iterable[tuple[str, str, str]] | None = None
) -> Rewritten:
    """
    Rewrites a list without the cases that passed, and with what `failing` says of its cases; `case_ids` are all ids of the suite.

    Comments stay, and so do other entries of cases that fail or did not run. An entry for several cases of which some passed is
    replaced by an entry for each of the others that the list does not name by itself. With `failing`, an entry of one case that
    fails otherwise is replaced by the id, failure and reason there, with its expiry and link, or by nothing if another entry says
    how. Raises ListError.
    """
    listed = load_expected_failures(path)
    named = {(entry.pattern, entry.failure) for entry in listed.entries}
    lines = path.read_text(encoding="utf-8").splitlines()
    passed = {result.id for result in results if _passes(result)}
    ids = dict.fromkeys((*(result.id for result in results), *(case for case in case_ids if "@" not in case)))
    found = {case: (failure, reason) for case, failure, reason in failing or ()}
    dropped: dict[str, None] = {}
    replaced: dict[str, None] = {}
    kept: dict[int, list[str]] = {}  #: number of a line -> what replaces it
    for entry in listed.superseded(results) if failing is not None else ():
        replaced[entry.pattern] = None
        kept[entry.line] = []
    for entry in listed.entries:
        cases = entry.among(ids)
        if passing := [case for case in cases if case in passed]:
            dropped |= dict.fromkeys(passing)
            others = [case for case in cases if case not in passed and (case, entry.failure) not in named]
            named |= {(case, entry.failure) for case in others}
            kept[entry.line] = [lines[entry.line - 1].replace(entry.pattern, case, 1) for case in others]
        elif entry.pattern in found:
            failure, reason = found[entry.pattern]
            new = f"{entry.pattern}  {failure:8}  {entry.expiry or '-'}  {entry.link}  {' '.join(reason.split())}"
            kept[entry.line] = [] if entry.pattern in replaced else [new]
            replaced[entry.pattern] = None
    text = [line for number, old in enumerate(lines, start=1) for line in kept.get(number, [old])]
    return Rewritten("".join(f"{line}\n" for line in text), list(dropped), list(replaced))


def _similar(pattern: str, ids: Iterable[str]) -> str:
    """Returns a similar id of the same layer as the end of a sentence; none of a model: there are too many, all alike."""
    layer, _, _ = pattern.rpartition("/")
    same = sorted(known for known in ids if known.rpartition("/")[0] == layer)
    return "" if layer.endswith(f"/{LAYER}") else did_you_mean(pattern, same)


def _passes(result: Result) -> bool:
    """Whether no list may name this case: it also passes if it took a way that is only tolerated."""
    return result.status in ("passed", "tolerated", "stale") and result.failure is None


def _entry(line: str, number: int, file: str) -> Entry:
    words = line.split(None, len(COLUMNS) - 1)
    if len(words) < len(COLUMNS):
        absent = ", ".join(COLUMNS[len(words) :])
        raise ListError(f"{file}:{number}:{len(line) + 1}: expected {' '.join(COLUMNS)}; missing: {absent}")
    pattern, failure, expiry, link, reason = words
    if failure not in FAILURES:
        expected = f"expected one of {', '.join(FAILURES)}"
        raise ListError(f"{file}:{number}:{line.index(failure, len(pattern)) + 1}: {expected}, found {failure!r}")
    try:
        until = None if expiry == "-" else date.fromisoformat(expiry)
    except ValueError:
        column = line.index(expiry, line.index(failure, len(pattern)) + len(failure)) + 1
        raise ListError(f"{file}:{number}:{column}: expected a date such as 2027-06-30, or -, found {expiry!r}") from None
    return Entry(pattern, failure, until, link, reason.strip(), number)
