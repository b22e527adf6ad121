"""
Converts a vector file to vectors: checks rules beyond the schema, normalises bytes, derives needs.

`lint` checks style and doubtful cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from peerproof.conformance.suite.schema import did_you_mean, misfits, one_of
from peerproof.conformance.suite.strict_yaml import Document, VectorError
from peerproof.conformance.suite.strict_yaml import Path as Where
from peerproof.spec.protocols import PROTOCOLS

#: Members with protocol data: in them, only `{hex: …}` is bytes.
PROTOCOLS_OWN: Final = frozenset({"message", "args", "config", "equals", "events", "picks", "state", "timers"})
_REPEATED: Final = re.compile(r"\(([0-9a-fA-F ]+)\)x(\d+)")  #: a group of bytes, and its number of repetitions


def layer_of(vector_id: str) -> str:
    """`codec`, `exchange` or `cluster`."""
    return vector_id.split("/")[1]


def problems(document: Document, path: PurePosixPath) -> list[VectorError]:
    """Returns the errors of the file at this relative path, in its order."""
    if found := misfits(document, "vector"):
        return found
    found = list(_find_misplaced(document, path))
    for index, vector in enumerate(document.data["vectors"]):
        found += _offsets(document, ("vectors", index), vector)
        if "nodes" in vector:
            found += _Script(document, ("vectors", index), vector).problems()
    return found


def _find_misplaced(document: Document, path: PurePosixPath) -> Iterator[VectorError]:
    protocol = document.data["protocol"]
    if path.parts[0] != protocol:
        yield document.error(("protocol",), f"expected {path.parts[0]!r}, after the file's folder, found {protocol!r}")
    for index, vector in enumerate(document.data["vectors"]):
        folder = "/".join(vector["id"].split("/")[:2])
        if str(path.parent) != folder:
            yield document.error(("vectors", index, "id"), f"{vector['id']} belongs in a file in {folder}/, not {path.parent}/")


def _offsets(document: Document, where: Where, vector: Mapping[str, Any]) -> Iterator[VectorError]:
    for kind, how in vector.get("family", {}).items():
        size = len(_hex_of(how["bytes"])) // 2
        for index, offset in enumerate(how.get("at", ())):
            if offset >= size:
                message = f"there is no byte {offset}; expected 0 to {size - 1}" if size else "there are no bytes"
                yield document.error((*where, "family", kind, "at", index), message)


class _Script:
    """Checks the nodes and steps of an exchange or a cluster: named nodes exist, and time does not run backwards."""

    def __init__(self, document: Document, where: Where, vector: Mapping[str, Any]) -> None:
        self.document = document
        self.where = where
        self.vector = vector
        self.nodes: Mapping[str, Any] = vector["nodes"]
        self.under_test = [name for name, node in self.nodes.items() if "role" not in node]

    def problems(self) -> Iterator[VectorError]:
        yield from self._nodes()
        if not self.under_test:
            yield self.document.error((*self.where, "nodes"), "no node is under test: one must have no role")
            return
        clock = 0
        for part in ("setup", "steps"):
            for index, step in enumerate(self.vector.get(part, ())):
                path: Where = (*self.where, part, index)
                yield from self._names(path, step)
                for at, until in (
                    (("at",), step.get("at")),
                    (("expect", "quiet_until"), step.get("expect", {}).get("quiet_until")),
                ):
                    if until is not None and until < clock:
                        yield self.document.error((*path, *at), f"time runs backwards: {until} after {clock}")
                    clock = max(clock, until or 0)
                yield from self._branches((*path, "expect"), step.get("expect", {}))

    def _nodes(self) -> Iterator[VectorError]:
        addresses: dict[str, str] = {}
        for name, node in self.nodes.items():
            if (first := addresses.setdefault(str(node["addr"]), name)) != name:
                yield self.document.error(
                    (*self.where, "nodes", name, "addr"), f"{first} already has the address {node['addr']!r}"
                )
            if name == "all":
                message = "'all' means every node; choose another name"
                yield self.document.error((*self.where, "nodes", name), message, at_key=True)
            if "role" in node and layer_of(self.vector["id"]) == "cluster":
                yield self.document.error((*self.where, "nodes", name, "role"), "all nodes of a cluster are under test")

    def _names(self, path: Where, step: Mapping[str, Any]) -> Iterator[VectorError]:
        named: list[tuple[Where, str]] = [
            *(((action,), step[action]) for action in ("advance", "crash", "restart") if action in step),
            *(
                ((action, "node"), step[action]["node"])
                for action in ("call", "observe", "sent", "stream", "told")
                if action in step
            ),
            *((("send", "to"), step["send"]["to"]) for _ in range("send" in step)),
            *((("cut", g, n), name) for g, group in enumerate(step.get("cut", ())) for n, name in enumerate(group)),
        ]
        for place, name in named:
            if name not in self.under_test and not (name == "all" and place == ("advance",)):
                known = [*self.under_test, "all"] if place == ("advance",) else self.under_test
                what = "is scripted" if name in self.nodes else "does not exist"
                message = f"node {name!r} {what}{did_you_mean(name, known)}; expected {one_of(known)}"
                yield self.document.error((*path, *place), message)
        sides = [name for group in step.get("cut", ()) for name in group]
        if len(set(sides)) < len(sides):
            yield self.document.error((*path, "cut"), "a node stands on both sides of the cut")

    def _branches(self, path: Where, expect: Mapping[str, Any]) -> Iterator[VectorError]:
        names: list[str] = []
        for index, branch in enumerate(expect.get("any_of", ())):
            if branch["branch"] in names:
                yield self.document.error((*path, "any_of", index, "branch"), f"branch {branch['branch']!r} occurs twice")
            names.append(branch["branch"])
        if (picked := expect.get("picked")) is not None and picked not in names:
            message = f"there is no branch {picked!r}{did_you_mean(picked, names)}; expected {one_of(names)}"
            yield self.document.error((*path, "picked"), message)


def body(file: Mapping[str, Any], vector: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the normalised vector; one that rejects also has the file's receiver, if any."""
    receiver = {"receiver": file["receiver"]} if "rejects" in vector and "receiver" in file else {}
    return normalise({**vector, **receiver})


def normalise(vector: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the vector with all bytes as lower-case hex digits without blanks; `{"octets": …}` is such digits, anywhere."""
    return {
        name: _hex_of(value) if name == "bytes" else _normalise_value(value, protocols_own=name in PROTOCOLS_OWN)
        for name, value in vector.items()
    }


def _normalise_value(value: Any, *, protocols_own: bool) -> Any:
    match value:
        case list():
            return [_normalise_value(item, protocols_own=protocols_own) for item in value]
        case {"hex": str() as digits} if len(value) == 1:
            return {"hex": _hex_of(digits)}
        case {"octets": str() as digits} if len(value) == 1:
            return _hex_of(digits)  # plain digits of a protocol
        case dict():
            return {
                name: _hex_of(part)
                if name in ("bytes", "byte") and not protocols_own
                else _normalise_value(part, protocols_own=protocols_own or name in PROTOCOLS_OWN)
                for name, part in value.items()
            }
    return value


def _hex_of(text: str) -> str:
    """Of `0a (20 20)x3 ff` the digits 0a202020202020ff."""
    repeated = _REPEATED.sub(lambda found: found[1].replace(" ", "") * int(found[2]), text)
    return repeated.replace(" ", "").lower()


def needs(vector: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the capabilities that a vector needs: those it lists, and those derived from its content."""
    found = {"codec" if layer_of(vector["id"]) == "codec" else "exchange", *vector.get("needs", ())}
    if "rejects" in vector:
        found.add("codec")
    if any("state" in node for node in vector.get("nodes", {}).values()):
        found.add("state.load")
    found |= needs_of_nodes(vector["id"].partition("/")[0], vector.get("nodes", {}).values())
    for step in (*vector.get("setup", ()), *vector.get("steps", ())):
        for member, need in _NEEDS.items():
            if member in step:
                found |= need(step[member])
    return tuple(sorted(found))


def needs_of_nodes(protocol: str, nodes: Iterable[Mapping[str, Any]]) -> set[str]:
    """
    Returns the capabilities that nodes of these configurations need.

    >>> needs_of_nodes("wendy", [{"config": {"leaf_set_side": 2}}]), needs_of_nodes("wendy", [{"config": {"heartbeat": 0}}])
    ({'config.sizes'}, set())
    """
    sizes = PROTOCOLS[protocol].sizes if protocol in PROTOCOLS else ()
    return {"config.sizes"} if any(not node.get("config", {}).keys().isdisjoint(sizes) for node in nodes) else set()


def _needs_of_expect(expect: Mapping[str, Any]) -> set[str]:
    parts = (expect, *expect.get("any_of", ()))
    return {need for member, need in (("events", "events"), ("state", "observe.state")) if any(member in part for part in parts)}


#: The capabilities that a member of a step needs.
_NEEDS: Final[Mapping[str, Callable[[Any], set[str]]]] = {
    "sent": lambda _: {"sent"},
    "stream": lambda _: {"stream"},
    "call": lambda call: {f"api.{call['op']}"},
    "crash": lambda _: {"restart"},
    "restart": lambda _: {"restart"},
    "observe": lambda observe: {f"observe.{observe['query']}"},
    "expect": _needs_of_expect,
    "told": lambda _: {"events"},
}
