"""The timeline of a simulation: when which node has learned or forgotten something, and by which event."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final, TypeAlias

from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Taken
from peerproof.spec.traces.trace import describe_event

#: Where something stands in a node's answers: the query, then members and, for an item of a list, what names it.
Path: TypeAlias = tuple[str, ...]

#: The two first steps of a path: a query and an item in it.
_ITEM: Final = 2

_PLACE: Final = {"recv": "from", "sent": "to"}


class Timeline:
    """Writes a line for each change of what a running node would print, and for each start and crash."""

    def __init__(self, simulation: Simulation, protocol: Runtime, write: Callable[[str], None]) -> None:
        """`write` is called with each line, without its end."""
        self._simulation: Final = simulation
        self._protocol: Final = protocol
        self._write: Final = write
        self._known: Final[dict[NodeId, dict[Path, str]]] = {}
        self._names: Final[dict[str, str]] = {}  #: what nodes call each other -> address
        simulation.observers.append(self._observe)
        simulation.changed = self._note_life

    def _note_life(self, node: NodeId) -> None:
        life = self._simulation.life(node)
        self._line(node, "crashes" if not life else "starts" if life == 1 else "starts again")
        if life:
            self._known[node] = self._read(node, self._simulation.states()[node])

    def _observe(self, node: NodeId, taken: Taken) -> None:
        if taken.after is taken.before:
            return
        before, now = self._known[node], self._read(node, taken.after)
        self._known[node] = now
        if changes := list(find_changes(before, now)):
            kind, peer, what = describe_event(self._simulation.specification, taken.event)
            named: Any = what
            cause = named["message"]["type"] if kind == "sent" else named["type"]
            outcome = f" {'did not arrive' if named['took'] is None else 'arrived'}" if kind == "sent" else ""
            by = f"{cause} {_PLACE[kind]} {peer}{outcome}" if peer else cause
            for change in changes:
                self._line(node, f"{change}   ({by})")

    def _line(self, node: NodeId, text: str) -> None:
        if self._names:
            text = re.sub("|".join(map(re.escape, self._names)), lambda name: self._names[name[0]], text)
        self._write(f"{self._simulation.now / 1000:9.3f} s  {node}  {text}")

    def _read(self, node: NodeId, state: Any) -> dict[Path, str]:
        queries, protocol = self._simulation.specification.QUERIES, self._protocol
        answers: dict[str, Any] = {name: queries[name](state) for name in protocol.shown}
        if protocol.own_name:
            self._names[answers["own"][protocol.own_name]] = node
        return dict(list_values(answers, protocol.passing))


def list_values(plain: Plain, passing: tuple[str, ...] = (), at: Path = ()) -> Iterator[tuple[Path, str]]:
    """
    Yields the values in plain data with their paths, except for null and members called `passing`.

    An object in a list is named by its first member, unless that is an object too; other items are names without a value.

    >>> dict(list_values({"nodes": [{"id": "b", "status": "dead", "tx": "7"}], "leaves": ["b"]}, ("tx",)))
    {('nodes', 'b', 'status'): 'dead', ('leaves', 'b'): ''}
    """
    if isinstance(plain, Mapping):
        for name, value in plain.items():
            if name not in passing:
                yield from list_values(value, passing, (*at, name))
    elif isinstance(plain, list):
        for item in plain:
            if isinstance(item, Mapping):
                first = next(name for name, value in item.items() if not isinstance(value, Mapping))
                others = {name: value for name, value in item.items() if name != first}
                yield from list_values(others, passing, (*at, _text(item[first])))
            else:
                yield (*at, _text(item)), ""
    elif plain is not None:
        yield at, _text(plain)


def _text(value: Plain) -> str:
    if isinstance(value, list):
        return "/".join(map(_text, value)) or "/"
    return value if isinstance(value, str) and value else json.dumps(value)


def find_changes(before: Mapping[Path, str], now: Mapping[Path, str]) -> Iterator[str]:
    """
    Yields the changes, those of an item together.

    >>> list(find_changes({("nodes", "n1:1", "status"): "normal"}, {("nodes", "n1:1", "status"): "dead"}))
    ['nodes n1:1: status=dead (was normal)']
    >>> list(find_changes({("leaves", "n1:1"): ""}, {("leaves", "n2:1"): ""}))
    ['leaves: -n1:1, +n2:1']
    """
    changed = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    for item, paths in groupby(changed, key=lambda path: path[: min(_ITEM, len(path) - 1)]):
        yield f"{' '.join(item)}: {', '.join(_describe(path[len(item) :], before.get(path), now.get(path)) for path in paths)}"


def _describe(path: Path, before: str | None, now: str | None) -> str:
    name = " ".join(path)
    if "" in (before, now):  # an item without a value, here or there
        return " ".join((*path[:-1], f"{'-' if now is None else '+'}{path[-1]}"))
    if now is None:
        return f"-{name} (was {before})"
    return f"{name}={now}" if before is None else f"{name}={now} (was {before})"
