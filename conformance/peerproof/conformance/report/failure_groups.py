"""
Groups the failures of a run by their first difference, one group for each probable fault, largest first.

Each case is in one group. A failed expectation may show several differences at once, such as a missing message and an
unexpected one; the case is then in the largest matching group. That group also lists the other differences of its cases, so
that a frequent fault does not hide a rare one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush, nsmallest
from typing import Any, Final

from peerproof.conformance.report.failure_diagram import find_sent
from peerproof.conformance.report.failure_text import failure_meaning, reported_error, run_command, to_paste
from peerproof.conformance.report.record import Report, labels
from peerproof.conformance.runner.result import BROKEN, STATUSES, Result
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.spec.properties import is_decision

MOST_CLAUSES: Final = 6  #: of a group
MOST_COMPARED: Final = 100  #: cases of a group whose texts are read to choose its example
LAYERS: Final = ("codec", "exchange", "cluster", "model")  #: the simplest first
MOST_ALSO: Final = 5  #: further differences of a group
_INDEX: Final = re.compile(r"\[\d+\]")
_OFFSET: Final = re.compile(r"(\.bytes)?, from byte \d+| \(none of the branches .*\)$")
_MESSAGE: Final = re.compile(r"\.messages\[(\d+)\]")
_TYPE: Final = re.compile(r'^(?:([a-z_0-9]+)(?= |$)|.*?"type": "([^"]+)")')
_UNKNOWN: Final = "message"  #: the type of a message that cannot be decoded
_AFTER_ACCEPTED: Final = ("changed", "unserving")
_OPAQUE: Final = ("bind", "ref", "one_of", "between", "subset_of")


@dataclass(frozen=True)
class FailureGroup:
    """Cases that fail by the same difference."""

    difference: str  #: the difference as a sentence, without the case's own values
    failure: str  #: the most frequent failure of the cases, one of `trial.FAILURES`
    where: str  #: the place of the example's first difference, without indices
    example: str  #: the id of the simplest case
    clauses: tuple[str, ...]  #: cited by all cases, or else by most; clauses of the document first, rarest first
    cases: tuple[str, ...]  #: all ids, in the order of the report
    also: Mapping[str, int]  #: other differences at the same place, and how many of the cases show them

    @property
    def protocol(self) -> str:
        """The protocol of all its cases."""
        return self.example.partition("/")[0]

    def plain(self) -> dict[str, Any]:
        """Plain data for reports: all members, and `count`, the number of cases."""
        return {"count": len(self.cases), **asdict(self)}


def group_failures(report: Report) -> list[FailureGroup]:
    """
    Groups the failing cases of a report by their first difference, the largest group first.

    Cases that do not make a run fail are left out, and so are stale ones. A report may come from a run, a file or a merge. It
    takes about a second for 30,000 failures.

    >>> from peerproof.conformance.report import Report
    >>> from peerproof.conformance.runner import Result
    >>> ends = [Result(f"swim/codec/v{n}", "crashed", f"swim/codec/v{n}", 1, "must", ("S-12",), failure="crashed",
    ...                reason=f"the implementation exited with code {n}") for n in (1, 2)]
    >>> (group,) = group_failures(Report({}, {}, 2, "0", {}, results=ends))
    >>> group.difference, group.example, group.clauses, len(group.cases)
    ('the implementation ended: the implementation exited with code N', 'swim/codec/v1', ('S-12',), 2)
    """
    failing = _failing(report)
    found = _find_differences(failing)
    citing = {result.vector: result.clauses for result in report.results}
    cited = Counter(clause for clauses in citing.values() for clause in dict.fromkeys(clauses))
    groups = [_group(key[1], members, found, cited) for key, members in _cover(failing, found)]
    return sorted(groups, key=lambda group: -len(group.cases))


def find_differences(report: Report) -> dict[str, tuple[str, ...]]:
    """Returns the differences of each failing case, at least one."""
    return _find_differences(_failing(report))


def _failing(report: Report) -> list[Result]:
    return [result for result in report.results if STATUSES[result.status] and result.status != "stale"]


def render_groups(report: Report, groups: Sequence[FailureGroup], most: int | None = None) -> Iterator[str]:
    """Renders lines: up to `most` groups, each with a command for its simplest case; then the number of groups left out."""
    if not groups:
        yield "no case fails"
        return
    failing = count_text(_size(groups), "failing case")
    yield f"{failing} by first difference: {count_text(len(groups), 'group')}, the largest first"
    results = {result.id: result for result in report.results}
    for number, group in enumerate(groups[:most]):
        clauses = f" [{' '.join(group.clauses)}]" * bool(group.clauses)
        yield f"  {count_text(len(group.cases), 'case')}: {group.difference}{clauses}"
        yield f"    {'for example' if number else 'start here'}: {command_of(results[group.example], report)}"
        yield from (f"    also in {count_text(cases, 'case')} of these: {other}" for other, cases in group.also.items())
    if left := groups[len(groups[:most]) :]:
        rest = f"{count_text(len(left), 'smaller group')} with {count_text(_size(left), 'case')}"
        yield f"  and {rest} (peerproof report groups RECORD shows all)"


def _size(groups: Sequence[FailureGroup]) -> int:
    return sum(len(group.cases) for group in groups)


def command_of(result: Result, report: Report) -> str:
    """Returns the command that runs a case again."""
    return next(command for name, command in to_paste(result, report.arguments) if name == "again")


def command_of_all(group: FailureGroup, report: Report) -> str:
    """Returns a command that shows every failure in full: of the vectors that cite a clause of all cases, or else of the run."""
    members = set(group.cases)
    cited = [result.clauses for result in report.results if result.id in members]
    shared = [clause for clause in group.clauses if all(clause in clauses for clauses in cited)][:1]
    return run_command(report.arguments, group.protocol, [f"clause:{clause}" for clause in shared], ["--all"])


def list_failing(report: Report) -> list[tuple[str, str, str]]:
    """Returns id, failure and first difference of each failing case, for a list of expected failures."""
    reasons = {case: group.difference for group in group_failures(report) for case in group.cases}
    return [(result.id, result.failure or "error", reasons[result.id]) for result in _failing(report)]


def as_text(reports: Sequence[Report]) -> str:
    """Renders all groups of each report."""
    named = zip(labels(reports), reports, strict=True)
    return "\n\n".join("\n".join([label, *render_groups(report, group_failures(report))]) for label, report in named) + "\n"


def as_markdown(reports: Sequence[Report]) -> str:
    """Renders a table of the groups of each report."""
    named = zip(labels(reports), reports, strict=True)
    return "\n".join("\n".join([f"## {label}", "", *markdown_table(group_failures(report)), ""]) for label, report in named)


def markdown_table(groups: Sequence[FailureGroup]) -> Iterator[str]:
    """Yields the lines of one table."""
    yield from ("| cases | first difference | clauses | start here |", "| ---: | --- | --- | --- |")
    for group in groups:
        difference = group.difference.replace("|", "\\|")
        yield f"| {len(group.cases)} | {difference} | {', '.join(group.clauses)} | `{group.example}` |"


def as_json(reports: Sequence[Report]) -> str:
    """Renders an object by implementation."""
    found = [
        {"implementation": label, "groups": [group.plain() for group in group_failures(report)]}
        for label, report in zip(labels(reports), reports, strict=True)
    ]
    return json.dumps({"implementations": found}, indent=1) + "\n"


#: `--format` -> its renderer
FORMATS: Final[Mapping[str, Callable[[Sequence[Report]], str]]] = {"text": as_text, "md": as_markdown, "json": as_json}


def _cover(failing: Sequence[Result], found: Mapping[str, Sequence[str]]) -> Iterator[tuple[tuple[str, str], list[Result]]]:
    """Yields the most frequent difference with its cases, then the most frequent of the remaining cases, and so on."""
    showing: dict[tuple[str, str], dict[str, Result]] = {}
    for result in failing:
        for difference in found[result.id]:
            showing.setdefault((_protocol(result), difference), {})[result.id] = result
    largest = [(-len(cases), place, key) for place, (key, cases) in enumerate(showing.items())]
    heapify(largest)
    while largest:
        count, place, key = heappop(largest)
        members = showing[key]
        if len(members) != -count:  # some of them are in a larger group already
            if members:
                heappush(largest, (-len(members), place, key))
            continue
        yield key, list(members.values())
        for case in list(members):
            for difference in found[case]:
                showing[key[0], difference].pop(case, None)


def _group(
    difference: str, members: Sequence[Result], found: Mapping[str, Sequence[str]], cited: Mapping[str, int]
) -> FailureGroup:
    simplest = _example(members, found)
    also = Counter(other for result in members for other in found[result.id] if other != difference)
    return FailureGroup(
        difference,
        Counter(result.failure or result.status for result in members).most_common(1)[0][0],
        _place(simplest),
        simplest.id,
        tuple(_typical_clauses(members, cited)),
        tuple(result.id for result in members),
        dict(also.most_common(MOST_ALSO)),
    )


def _example(members: Sequence[Result], found: Mapping[str, Sequence[str]]) -> Result:
    """The simplest case; of the simplest ones the first whose texts are plain, if there is one, or else printable."""
    keys = {result.id: _complexity(result, len(found[result.id])) for result in members}
    simplest = nsmallest(MOST_COMPARED, members, key=lambda result: keys[result.id])
    fewest = [result for result in simplest if keys[result.id][:2] == keys[simplest[0].id][:2]]
    return min(fewest, key=_strangeness)


def _complexity(result: Result, differences: int) -> tuple[bool, int, int, int, int, int, str]:
    """
    A sort key: first a message or an exchange that is of a few clauses, rather than a path of a model.

    Then fewer differences and events, lower layers, shorter messages, and fewer clauses are simpler.
    """
    size = sum(len(str(request.get("bytes", request.get("value", "")))) for request in result.essence)
    size += sum(len(part.label if isinstance(part, Arrow) else part.what) for part in result.story)
    layer = result.vector.split("/")[1]
    rank = LAYERS.index(layer) if layer in LAYERS else len(LAYERS)
    is_broad = rank >= LAYERS.index("cluster") or len(result.clauses) > MOST_CLAUSES
    return is_broad, differences, rank, len(result.story), size, len(result.clauses), result.id


def _strangeness(result: Result) -> int:
    """How hard the texts of its messages are to read: 0 if all are printable ASCII, 1 if all are printable, 2 otherwise."""
    protocol = _protocol(result)
    texts = [part.label if isinstance(part, Arrow) else part.what for part in result.story]
    try:
        for request in result.essence:
            if "value" in request or "bytes" in request:
                message = request["value"] if "value" in request else describe_bytes(protocol, request["bytes"])
                texts += [text or "\0" for text in _texts(message)]
    except (KeyError, ValueError):  # an unknown protocol, or an edited record
        return 2
    if not all(map(str.isprintable, texts)):
        return 2
    return 0 if all(map(str.isascii, texts)) else 1


def _texts(value: Any) -> Iterator[str]:
    """Yields all texts in plain data; an empty one for bytes that are no text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from ("",) if value.keys() == {"hex"} else ()
        yield from (text for member in value.values() for text in _texts(member))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))


def _typical_clauses(members: Sequence[Result], cited: Mapping[str, int]) -> list[str]:
    """
    The clauses that all cases cite, those first that fewest vectors of the run cite; or else those that more than half cite,
    those first that fewest other vectors cite.

    Decisions are left out if clauses of the document are cited: to violate a decision is no failure.
    """
    counts = Counter(clause for result in members for clause in dict.fromkeys(result.clauses))
    counts = Counter({clause: count for clause, count in counts.items() if not is_decision(clause)}) or counts
    citing = {result.vector: result.clauses for result in members}
    vectors = Counter(clause for clauses in citing.values() for clause in dict.fromkeys(clauses))
    shared = [clause for clause, count in counts.items() if count == len(members)]
    if shared:
        return sorted(shared, key=lambda clause: (cited[clause], clause))[:MOST_CLAUSES]
    usual = [clause for clause, count in counts.items() if 2 * count > len(members)]
    return sorted(usual, key=lambda clause: (cited[clause] - vectors[clause], cited[clause], clause))[:MOST_CLAUSES]


def _place(result: Result) -> str:
    return _INDEX.sub("[]", _OFFSET.sub("", result.difference.where)) if result.difference else ""


def _protocol(result: Result) -> str:
    return result.vector.partition("/")[0]


def _find_differences(failing: Sequence[Result]) -> dict[str, tuple[str, ...]]:
    """
    Returns the differences of each case, at least one.

    If a node's codec accepts a malformed message, the node's later behaviour follows from that: such cases get the difference
    of the codec's case.
    """
    accepted = {result.vector: differences_of(result) for result in failing if result.failure == "accepted"}
    return {
        result.id: accepted.get(result.vector, ())
        if result.failure in _AFTER_ACCEPTED and result.vector in accepted
        else differences_of(result)
        for result in failing
    }


def differences_of(result: Result) -> tuple[str, ...]:
    """Returns the differences that one failing case shows, at least one."""
    find = _FINDERS.get(result.failure or "", _of_values)
    return tuple(dict.fromkeys(find(result))) or (f"{_meaning(result)}: {_place(result)}".removesuffix(": "),)


def _meaning(result: Result) -> str:
    return failure_meaning(result) or result.status


def _of_messages(result: Result) -> Iterator[str]:
    """Unexpected messages, missing messages, or the difference of a message of the right type."""
    wanted = [_wanted_type(part.label) for part in _first_branch(result.expected) if isinstance(part, Arrow)]
    sent = [_sent_type(_protocol(result), result.story[place]) for place in find_sent(result)]
    if any(kind == _UNKNOWN for kind, _ in [*wanted, *sent]):
        yield from _of_contents(result)
        return
    missing = Counter(kind for kind, _ in wanted) - Counter(kind for kind, _ in sent)
    surplus = Counter(kind for kind, _ in sent) - Counter(kind for kind, _ in wanted)
    yield from (f"{kind} was sent and not expected" for kind in surplus)
    for kind in missing:
        is_empty = all(empty for name, empty in wanted if name == kind)
        yield f"{'empty ' * is_empty}{kind} was expected and not sent"
    if not missing and not surplus:
        yield from _of_contents(result)


def _first_branch(expected: Iterable[Arrow | TrialEvent]) -> Iterator[Arrow | TrialEvent]:
    """The first of several allowed outcomes, which the difference refers to."""
    branches = 0
    for part in expected:
        branches += isinstance(part, TrialEvent) and part.what.startswith("either ")
        if branches <= 1:
            yield part


def _wanted_type(label: str) -> tuple[str, bool]:
    """The type of an expected message by its label, and whether all its fields are empty lists."""
    found = _TYPE.match(label)
    return (found[1] or found[2] if found else _UNKNOWN, bool(re.fullmatch(r"\S+( \[\])+", label)))


def _sent_type(protocol: str, part: Arrow | TrialEvent) -> tuple[str, bool]:
    if not isinstance(part, Arrow):
        return _UNKNOWN, False
    if part.bytes is None:
        return _wanted_type(part.label)
    return _decoded_type(protocol, part.bytes), False


@lru_cache(100_000)
def _decoded_type(protocol: str, digits: str) -> str:
    try:
        message = describe_bytes(protocol, digits)
    except (KeyError, ValueError):  # an unknown protocol, or an edited record
        return _UNKNOWN
    return str(message["type"]) if isinstance(message, dict) and "type" in message else "malformed message"


def _of_contents(result: Result) -> Iterator[str]:
    """The difference between a message and the expected one of the same type."""
    difference = result.difference
    if difference is None:
        return
    place = _place(result)
    if place.endswith(".sent"):
        yield "a message was never sent whose arrival is a step of the vector"
        return
    expected = difference.expected if difference.expected_read is None else difference.expected_read
    actual = difference.actual if difference.actual_read is None else difference.actual_read
    within = place.partition("].message.")[2]
    wanted, found = (None, None) if within else (_message(expected), _message(actual))
    if wanted is not None and found is not None and wanted.get("type") != found.get("type"):
        yield f"{found['type']} was sent where {wanted.get('type')} was expected"
        return
    kind = str((wanted or found or {}).get("type", "")) or _type_at(result, difference.where)
    to, other = (value.get("to") if isinstance(value, dict) else None for value in (difference.expected, difference.actual))
    if to != other or place.endswith("].to"):
        yield f"{kind} was sent to another address"
    elif wanted is not None and found is not None:
        yield from _value_differences(kind, wanted, found)
    else:
        yield from _value_differences(f"{kind}.{within}", expected, actual)


def _type_at(result: Result, where: str) -> str:
    """The type of the message with this index."""
    wanted = [_wanted_type(part.label)[0] for part in _first_branch(result.expected) if isinstance(part, Arrow)]
    index = _MESSAGE.search(where)
    return wanted[int(index[1])] if index and int(index[1]) < len(wanted) else "message"


def _message(value: Any) -> Mapping[str, Any] | None:
    """The message in plain form that one side of a difference is or contains."""
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value = value["message"]
    return value if isinstance(value, dict) and "type" in value else None


def _of_events(result: Result) -> Iterator[str]:
    """Unexpected events, missing events, or the difference of an event."""
    difference = result.difference
    wanted = Counter(_wanted_events(result.expected))
    reported = Counter(
        part.what.split(" ", 2)[1]
        for part in result.story[result.judged :]
        if isinstance(part, TrialEvent) and part.what.startswith("event ")
    )
    if difference is None or not wanted + reported:
        return
    yield from (f"event {name} was reported and not expected" for name in reported - wanted)
    yield from (f"event {name} was expected and not reported" for name in wanted - reported)
    if wanted == reported:
        yield from _value_differences(_INDEX.sub("[]", _STEP.sub("", difference.where)), difference.expected, difference.actual)


def _wanted_events(expected: Iterable[Arrow | TrialEvent]) -> Iterator[str]:
    for part in _first_branch(expected):
        if isinstance(part, TrialEvent) and part.what.startswith("events: "):
            try:
                events = _unwrap(json.loads(part.what.removeprefix("events: ")))
            except ValueError:
                continue
            yield from (str(event.get("name")) for event in map(_unwrap, events) if isinstance(event, dict))


def _of_refusals(result: Result) -> Iterator[str]:
    """The call that was refused, or that was not refused."""
    texts = (part.what for part in reversed(result.story) if isinstance(part, TrialEvent))
    call = next((match[1] for match in map(_CALL.match, texts) if match), "the call")
    difference = result.difference
    if difference is None:
        return
    wanted, found = (_refusal(value) for value in (difference.expected, difference.actual))
    expected = f"{wanted} was expected" if wanted else "no refusal was expected"
    actual = f"was refused ({found})" if found else "was carried out"
    yield f"{call} {actual}, {expected}"


def _refusal(side: Any) -> str | None:
    """The refusal in one side of a difference; None if the call succeeds."""
    refused = side.get("refused") if isinstance(side, dict) else None
    if isinstance(refused, dict):
        return str(refused.get("class"))
    return "a refusal" if refused is True else f"refusal {refused}" if refused else None


def _of_accepted(result: Result) -> Iterator[str]:
    """The reason why the accepted message is malformed."""
    expected = result.difference.expected if result.difference else None
    reason = expected.get("rejected") if isinstance(expected, dict) else None
    yield f"accepted although malformed: {_general_reason(str(reason))}"


def _general_reason(reason: str) -> str:
    """The codec's reason without the values of this message."""
    reason = _CLASS.sub("", reason.removeprefix("no message: ")).partition(", not ")[0]
    return " ".join(map(_general_word, reason.rpartition(": ")[2].split(" ")))


def _general_word(word: str) -> str:
    return "…" if word[:1].isupper() or word[:1] in "'\"" else re.sub(r"-?\d+", "N", word)


def _of_errors(result: Result) -> Iterator[str]:
    """
    The text of an error or of the end of a process, without numbers, quotations and the part after a semicolon.

    Places in source files, what was called there, and words with digits in them stay: they tell faults apart.
    """
    if error := reported_error(result):
        kind, text = "" if result.failure in BROKEN else f"{error.get('code')}: ", str(error.get("message", ""))
    else:
        kind, text = "", result.reason or ""
    line = (text.strip().splitlines() or [""])[0].partition(";")[0]
    yield f"{_meaning(result)}: {kind}{_VALUE.sub(_general_value, line)}".rstrip(": ")


def _general_value(found: re.Match[str]) -> str:
    return found[0] if found["kept"] else "…" if found["quoted"] else "N"


def _of_changes(result: Result) -> Iterator[str]:
    """The answer to a malformed message, or what the message changed."""
    difference = result.difference
    if difference is not None and difference.where.endswith(": messages"):
        read = difference.actual_read
        yield f"a malformed message was answered: {read.get('type') if isinstance(read, dict) else 'a message'} was sent"
    else:
        yield from _of_values(result)


def _of_values(result: Result) -> Iterator[str]:
    """The places where a value differs, and how."""
    if difference := result.difference:
        place = _STEP.sub("", _OFFSET.sub("", difference.where)).removeprefix("observe.")
        expected, actual = difference.expected, difference.actual
        if difference.expected_read is not None or difference.actual_read is not None:
            expected, actual = difference.expected_read, difference.actual_read
        yield from (f"{_meaning(result)}: {found}" for found in _value_differences(_INDEX.sub("[]", place), expected, actual))


def _value_differences(place: str, expected: Any, actual: Any) -> Iterator[str]:
    """Yields each place where plain data differs, and how; a matcher counts as all values that it matches."""
    expected, is_any = _unwrap(expected), expected == {"any": True}
    if is_any or expected == actual or str(expected) == actual:
        return
    if isinstance(expected, dict) and len(expected) == 1 and not expected.keys().isdisjoint(_OPAQUE):
        yield f"{place}: another value than expected"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for member in dict.fromkeys([*expected, *actual]):
            yield from _value_differences(f"{place}.{member}", expected.get(member), actual.get(member))
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _list_differences(place, expected, actual)
    elif expected is None or actual is None:
        what = "is missing" if actual is None else "was not expected"
        yield f"{place.removesuffix('[]')}: {'an item ' * place.endswith('[]')}{what}"
    elif (sides := _numbers(expected, actual)) is not None:
        order = "greater" if sides[1] > sides[0] else "less"
        yield f"{place}: {'another JSON type' if sides[0] == sides[1] else order} than expected"
    else:
        yield f"{place}: another {'value' if type(expected) is not type(actual) else _kind(actual)} than expected"


def _list_differences(place: str, expected: Sequence[Any], actual: Sequence[Any]) -> Iterator[str]:
    wanted, found = ({json.dumps(_normal(item), sort_keys=True): item for item in items} for items in (expected, actual))
    keys, others = ([json.dumps(_normal(item), sort_keys=True) for item in items] for items in (expected, actual))
    missing, surplus = Counter(keys) - Counter(others), Counter(others) - Counter(keys)
    if not missing and not surplus:
        yield f"{place}: another order than expected"
        return
    if missing.total() == surplus.total() == 1:
        one, other = wanted[next(iter(missing))], found[next(iter(surplus))]
        if _is_same_item(one, other):
            yield from _value_differences(f"{place}[]", one, other)
            return
    if surplus:
        yield f"{place}: an item was not expected"
    if missing:
        yield f"{place}: an item is missing"


def _is_same_item(one: Any, other: Any) -> bool:
    """Whether two objects have the same first member, which is the name in all forms."""
    if not isinstance(one, dict) or not isinstance(other, dict) or not one:
        return False
    name = next(iter(one))
    return name in other and _normal(one[name]) == _normal(other[name])


def _normal(value: Any) -> Any:
    """Plain data without matchers and with integers as digits, so that equal values compare equal."""
    value = _unwrap(value)
    if isinstance(value, dict):
        return {name: _normal(member) for name, member in value.items()}
    if isinstance(value, list):
        return list(map(_normal, value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _unwrap(value: Any) -> Any:
    """The content of a matcher: the list of a multiset, the digits of a u64."""
    while isinstance(value, dict) and len(value) == 1 and not value.keys().isdisjoint(("multiset", "contains", "u64")):
        (value,) = value.values()
    return value


def _numbers(expected: Any, actual: Any) -> tuple[int, int] | None:
    try:
        is_number = not isinstance(expected, bool) and not isinstance(actual, bool)
        return (int(expected), int(actual)) if is_number and max(len(str(expected)), len(str(actual))) <= _MOST_DIGITS else None
    except (ValueError, TypeError):
        return None


def _kind(value: Any) -> str:
    return {bool: "value", str: "text", list: "list", dict: "object"}.get(type(value), "number")


#: In the text of an error: what tells faults apart, or else the values of one case. A place in a source file is looked for only
#: where a word begins: texts may be a megabyte without a space.
_VALUE: Final = re.compile(
    r"""(?P<kept>`[A-Z]\w*(?:::\w+)*(?:\(\))?`|(?<![^\s'"`()])[^\s'"`()]*\.[a-z]{1,5}:\d+(?::\d+)?"""
    r"""|"[^"]*\.py", line \d+|\bwithin [\d.]+ s\b)"""
    r"""|(?P<quoted>'[^']*'|"[^"]*"|`[^`]*`)|0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|(?<!\w)(?<![A-Za-z_]-)-?\d+"""
)
_MOST_DIGITS: Final = 20  #: digits of an integer of 64 bits; longer texts are ids
_CLASS: Final = re.compile(r" \((at byte \d+: )?\w+\)$")
_CALL: Final = re.compile(r"(\w+)\(")
_STEP: Final = re.compile(r"^(?:steps|setup)\[\d+\]\.|^after the last step\.")

#: Class of failure -> the function that finds its differences; all others use `_of_values`.
_FINDERS: Final = {
    "messages": _of_messages,
    "events": _of_events,
    "refused": _of_refusals,
    "accepted": _of_accepted,
    "changed": _of_changes,
    **dict.fromkeys(("crashed", "hung", "garbled", "misshapen", "error"), _of_errors),
}
