"""
The vectors of a table: their ids, titles, clauses and needs.

These are made once, when the vectors are compiled. An id is derived from the content: the same step of the same node has the
same id wherever it stands in the file, and no other step has it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import in_order
from peerproof.conformance.diagrams.labels import message_text, plain_text
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.suite.schema import unfit
from peerproof.conformance.suite.strict_yaml import Place, VectorError
from peerproof.conformance.vectors.model_table import KINDS, LAYER, Table, beginning, table_of
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.conformance.vectors.vector_file import needs_of_nodes

LONGEST_TITLE: Final = 160  #: the most characters of a title, as in the schema of vectors; longer ones are cut


def compile_table(content: bytes, path: PurePosixPath, shown: str) -> tuple[dict[str, Any], list[list[Any]]]:
    """Returns a table in compiled form, and kind, number, line, needs and labels of each vector. Raises VectorError."""
    try:
        plain = json.loads(content)
    except ValueError as error:
        place = Place(error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else None
        raise VectorError(shown, place, f"not JSON: {error}; peerproof vectors generate writes it again") from None
    if problem := unfit(plain, LAYER):
        raise VectorError(shown, None, f"{problem}; peerproof vectors generate writes it again")
    if (expected := f"{plain['protocol']}/{LAYER}/{plain['configuration']}.json") != path.as_posix():
        raise VectorError(shown, None, f"it belongs in {expected}")
    try:
        rows = list(_rows(table_of(plain), content.decode().splitlines()))
    except (LookupError, ValueError, TypeError) as error:
        message = f"its rows do not fit together: {type(error).__name__}: {error}; peerproof vectors generate writes it again"
        raise VectorError(shown, None, message) from None
    twins = [vector_id for vector_id, count in Counter(row[-1]["id"] for row in rows).items() if count > 1]
    if twins:
        raise VectorError(shown, None, f"{twins[0]} occurs twice; peerproof vectors generate writes it again")
    return plain, rows


def _rows(table: Table, lines: Sequence[str]) -> Iterator[list[Any]]:
    kinds = [kind_of(table, event) for event in range(len(table.events))]
    for kind in KINDS:
        first = next((at for at, line in enumerate(lines, start=2) if line.startswith(f'"{KINDS[kind]}":')), 1)
        for number in range(table.count(kind)):
            about = [kinds[event] for event in events_of(table, kind, number)]
            labels = {
                "id": f"{table.protocol}/{LAYER}/{identity(table, kind, number)}",
                "rev": 1,
                "title": _title(table, kind, number),
                "level": "must",
                "clauses": sorted({clause for one in about for clause in table.clauses[one]}, key=in_order),
            }
            yield [kind, number, first + number, _needs(table, kind, number), labels]


def events_of(table: Table, kind: str, number: int) -> list[int]:
    """The events of a vector."""
    if kind == "path":
        return sorted({table.steps[step].event for step in table.steps_of(number)})
    return [table.steps[number].event] if kind == "step" else table.refusals[number][1]


def kind_of(table: Table, event: int) -> str:
    """The subject of an event, as in `Table.clauses`: the type of a message, command or timer; `restart`; or `sent`."""
    kind, *what = table.events[event]
    if kind == "restart":
        return "restart"
    if kind not in ("send", "sent"):
        name: str = what[0]["type"]
        return name
    message: str = describe_bytes(table.protocol, what[1])["type"]
    return message if kind == "send" else "sent"


def _needs(table: Table, kind: str, number: int) -> list[str]:
    found = {"exchange"} if kind == "path" else {"exchange", "observe.state"}
    if beginning(table, kind, number)[1] is not None:
        found.add("state.load")
    found |= needs_of_nodes(table.protocol, table.nodes)
    for event in events_of(table, kind, number):
        sort, *what = table.events[event]
        if sort == "call":
            found.add(f"api.{what[0]['type']}")
        elif sort in ("restart", "sent"):
            found.add(sort)
    if open_draws(table, kind, number):
        found.add("choices.oracle")
    return sorted(found)


def open_draws(table: Table, kind: str, number: int) -> bool:
    """Whether the vector needs an implementation whose choices the runner answers."""
    if kind == "step":
        row = table.steps[number]
        return bool(row.picks) and table.draws[row.state, row.event][0] != number
    rows = [table.steps[step] for step in table.steps_of(number)] if kind == "path" else []
    return any(len({table.steps[other].after for other in table.draws[row.state, row.event]}) > 1 for row in rows)


def identity(table: Table, kind: str, number: int) -> str:
    """The end of a vector's id, derived from its content only."""
    place, state, _ = beginning(table, kind, number)
    what: list[Any] = [table.nodes[place]["addr"], table.nodes[place]["config"]]
    if kind == "path":
        rows = [table.steps[step] for step in table.steps_of(number)]
        what.append([[table.events[row.event], row.picks] for row in rows])
        what += [] if state is None else [table.states[state][1]]
    else:
        assert state is not None
        what += [table.states[state][1], [table.events[event] for event in events_of(table, kind, number)]]
        what += [table.steps[number].picks] if kind == "step" else []
    text = json.dumps(what, sort_keys=True, separators=(",", ":"))
    return f"{table.configuration}-{kind}-{blake2b(text.encode(), digest_size=5).hexdigest()}"


def _title(table: Table, kind: str, number: int) -> str:
    place, state, _ = beginning(table, kind, number)
    who, model = f"node {table.nodes[place]['addr']}", f"the model {table.configuration}"
    if kind == "path":
        return f"on a path of {count_text(len(table.steps_of(number)), 'step')} through {model}, {who} reacts as specified"
    picks = table.steps[number].picks if kind == "step" else []
    draws = ", ".join(" ".join(map(plain_text, answer)) for _, answer in picks)
    what = ", ".join(_what(table, event) for event in events_of(table, kind, number))
    does = "refuses" if kind == "refusal" else "reacts as specified to"
    title = f"in state {state} of {model}, {who} {does} {what}{f', choosing {draws}' if draws else ''}"
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"


def _what(table: Table, event: int) -> str:
    kind, *what = table.events[event]
    match kind:
        case "send":
            return f"{message_text(describe_bytes(table.protocol, what[1]))} from {what[0]}"
        case "sent":
            outcome = "loss" if what[2] is None else "arrival"
            return f"the {outcome} of its {message_text(describe_bytes(table.protocol, what[1]))} to {what[0]}"
        case "call":
            return f"the command {message_text(what[0])}"
        case "timer":
            return f"its timer {message_text(what[0])}"
    return "a restart"
