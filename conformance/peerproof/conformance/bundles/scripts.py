"""
Scripts of exchange and cluster vectors in the closed form of bundles: every name is an address, every message is bytes.

What only this package can do is done here: messages that peers send are encoded, names of nodes become addresses, repeated
items are written out. Members and matchers that the form of bundles does not know are an error, so that a runner never meets
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.vectors.plain_data import expand_numbered
from peerproof.conformance.vectors.suite import Vector

#: Integers above it are rounded by many JSON parsers.
EXACT: Final = 2**53

_ALTERNATIVES: Final = frozenset({"multiset", "contains", "one_of"})
_NAMES: Final = frozenset({"bind", "ref"})


class CannotExport(ValueError):
    """A vector has a member or a matcher that bundles do not have."""


def script(vector: Vector) -> dict[str, Any]:
    """Returns the nodes and steps of an exchange or cluster vector."""
    return _Script(vector).plain()


def pattern(value: Any) -> Any:
    """
    Returns an expectation with the matchers of bundles: an integer that a parser could round becomes a range of digits.

    >>> pattern({"version": {"u64": "14"}, "tx": 2**60})
    {'version': {'between': ['14', '14']}, 'tx': {'between': ['1152921504606846976', '1152921504606846976']}}
    """
    if type(value) is int and abs(value) >= EXACT:
        return {"between": [str(value), str(value)]}
    if isinstance(value, list):
        return [pattern(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, argument),) = value.items()
        if (matcher := _matcher(name, argument)) is not None:
            return matcher
    return {name: pattern(part) for name, part in value.items()}


def _matcher(name: str, argument: Any) -> Any:
    """A matcher of a vector as one of bundles; None if it is no matcher."""
    if name == "u64":
        return {"between": [str(argument), str(argument)]}
    if name == "between":
        return {name: [limit["u64"] if isinstance(limit, dict) else str(limit) for limit in argument]}
    if name in _ALTERNATIVES and isinstance(argument, list) and any(map(_has_names, argument)):
        raise CannotExport(f"in bundles no pattern within {name} gives or uses a name")
    if name == "contains" and isinstance(argument, dict):
        return {name: {key: pattern(part) for key, part in argument.items()}}
    if name in _ALTERNATIVES:
        return {name: [pattern(item) for item in argument]}
    if name == "any":
        return {name: True}
    if name in _NAMES:
        return {"same": argument}
    if name in ("subset_of", "absent"):
        raise CannotExport(f"bundles have no matcher {name}")
    return None


def _has_names(expected: Any) -> bool:
    if isinstance(expected, list):
        return any(map(_has_names, expected))
    return isinstance(expected, dict) and (not _NAMES.isdisjoint(expected) or any(map(_has_names, expected.values())))


class _Script:
    """The nodes and steps of one vector."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.body = vector.body
        self.addresses = {name: node["addr"] for name, node in self.body["nodes"].items()}
        self.bound: Counter[str] = Counter()  #: how often a name was bound

    def plain(self) -> dict[str, Any]:
        """The members of the vector in a bundle."""
        shown: dict[str, Any] = {"nodes": list(self.nodes())}
        if self.vector.layer == "cluster":
            shown["delay"] = self.body.get("network", {}).get("delay", 1)
        if "setup" in self.body:
            shown["setup"] = list(map(self.step, self.body["setup"]))
        return shown | {"steps": list(map(self.step, self.body["steps"]))}

    def nodes(self) -> Iterator[dict[str, Any]]:
        """The nodes under test, in the order in which their timers run."""
        for name, node in self.body["nodes"].items():
            if "role" in node:
                continue
            shown = {"name": name, "addr": node["addr"], "config": node.get("config", {})}
            if "state" in node:
                timers = [{"timer": one["timer"], "due_ms": one["due"]} for one in node.get("timers", ())]
                shown |= {"state": expand_numbered(node["state"]), "timers": timers}
            yield shown

    def address(self, who: Any) -> Any:
        """The address of a node by its name; anything else is an address."""
        return self.addresses.get(who, who) if isinstance(who, str) else who

    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A step: its kind as `do`, and what belongs to it."""
        kind = next(name for name in _STEPS if name in step)
        shown = {"do": _DO.get(kind, kind)}
        shown |= {name: step[name] for name in ("at", "picks", "refused") if name in step}
        return shown | _STEPS[kind](self, step)

    def send(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A peer sends a message."""
        send, spec = step["send"], specification(self.vector.protocol)
        digits = send.get("bytes")
        if digits is None:
            digits = bytes(spec.MESSAGE.encode(spec.MESSAGE.value(send["message"]))).hex()
        return _asking(send["to"], "recv", via=spec.TRANSPORT, **{"from": self.address(send["from"])}, bytes=digits)

    def sent(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """The outcome of messages that a node has sent."""
        sent = step["sent"]
        shown = {"node": sent["node"], "took_us": sent.get("took")}
        return shown | {name: self.address(sent[name]) if name == "to" else sent[name] for name in _WHICH if name in sent}

    def stream(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """An event of a connection."""
        stream = dict(step["stream"])
        return _asking(stream.pop("node"), "stream", **stream)

    def call(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A call of the application."""
        call = step["call"]
        return _asking(call["node"], "call", name=call["op"], args=call.get("args", {}))

    def advance(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Time passes."""
        named = step["advance"]
        return {"nodes": [one["name"] for one in self.nodes()] if named == "all" else [named]}

    def restart(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A node starts again."""
        return _asking(step["restart"], "restart", **({"config": step["config"]} if "config" in step else {}))

    def expect(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the output since the last check."""
        expect = step["expect"]
        unknown = expect.keys() - {"any_of", "picked", "quiet_until", "messages", "events", "streams", "state"}
        if unknown:
            raise CannotExport(f"{self.vector.id}: bundles have no member {min(unknown)} of expect")
        shown = {"outcomes": [self.outcome(one) for one in expect.get("any_of", (expect,))]}
        return shown | {name: expect[name] for name in ("picked", "quiet_until") if name in expect}

    def outcome(self, expect: Mapping[str, Any]) -> dict[str, Any]:
        """One allowed outcome."""
        shown = {name: expect[name] for name in ("branch", "verdict", "because") if name in expect}
        ((order, messages),) = expect.get("messages", {"ordered": []}).items()
        reads = any("message" in message for message in messages)
        items = [self.message(message, reads) for message in messages]
        shown |= {"sends": items if order == "ordered" else {"multiset": items}, "reads": reads}
        shown["streams"] = self.pattern(expect.get("streams", []))
        shown |= {"reports": self.reports(expect["events"])} if "events" in expect else {}
        return shown | ({"state": self.pattern(expect["state"])} if "state" in expect else {})

    def message(self, message: Mapping[str, Any], reads: bool) -> dict[str, Any]:
        """An expected message with all members that are compared."""
        shown = {"to": self.address(message["to"]), "bytes": message.get("bytes", _ANY)}
        return shown | ({"message": self.pattern(message.get("message", _ANY))} if reads else {})

    def reports(self, events: Any) -> dict[str, Any]:
        """Expected events with their kinds, so that those of a kind that is not compared can be left out."""
        is_ordered = isinstance(events, list)
        if not is_ordered and events.keys() != {"multiset"}:
            raise CannotExport(f"{self.vector.id}: bundles have no matcher {min(events)} of events")
        items = [self.report(event) for event in (events if is_ordered else events["multiset"])]
        return {"order": "ordered" if is_ordered else "unordered", "items": items}

    def report(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """An expected event, and its kind if it is fixed."""
        kind = event.get("contains", event).get("name")
        return ({"kind": kind} if isinstance(kind, str) else {}) | {"event": self.pattern(event)}

    def pattern(self, expected: Any) -> Any:
        """A pattern in which a name that is bound again is another one."""
        return pattern(self.renamed(expected))

    def renamed(self, expected: Any) -> Any:
        """An expectation with a number behind each name, of how often it was bound."""
        match expected:
            case {"bind": name}:
                self.bound[name] += 1
                return {"bind": f"{name}-{self.bound[name]}"}
            case {"ref": name}:
                return {"ref": f"{name}-{self.bound[name]}"}
            case dict():
                return {name: self.renamed(part) for name, part in expected.items()}
            case list():
                return [self.renamed(item) for item in expected]
        return expected

    def observe(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the answer to a query."""
        observe = step["observe"]
        args = {"args": observe["args"]} if observe.get("args") else {}
        return _asking(observe["node"], "query", what=observe["query"], **args) | {"equals": self.pattern(observe["equals"])}

    def told(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the events of a kind that one node reported."""
        told = step["told"]
        return {"node": told["node"], "event": told["event"], "equals": self.pattern(told["equals"])}


def _asking(node: str, op: str, **members: Any) -> dict[str, Any]:
    """A step that is a request of the adapter protocol to a node, without handle and time."""
    return {"node": node, "request": {"op": op, **members}}


_ANY: Final = {"any": True}

_WHICH: Final = ("to", "type", "bytes")  #: members of a step `sent` that say which message

#: The member of a vector's step that says its kind -> what belongs to it in a bundle. `restart` stands before its `config`.
_STEPS: Final[Mapping[str, Callable[[_Script, Mapping[str, Any]], dict[str, Any]]]] = {
    "send": _Script.send,
    "sent": _Script.sent,
    "stream": _Script.stream,
    "call": _Script.call,
    "advance": _Script.advance,
    "crash": lambda _, step: _asking(step["crash"], "crash"),
    "restart": _Script.restart,
    "cut": lambda _, step: {"groups": step["cut"]},
    "heal": lambda *_: {},
    "expect": _Script.expect,
    "observe": _Script.observe,
    "told": _Script.told,
}
_DO: Final = {"send": "receive"}  #: kinds that are called otherwise from the side of the node


def is_inexact(value: Any) -> bool:
    """
    Returns whether usual JSON parsers lose something of a value: a fraction of zero, digits, or the order of members.

    >>> is_inexact({"a": [1.0]}), is_inexact({"10": 1}), is_inexact(2**53), is_inexact({"a": 1})
    (True, True, True, False)
    """
    if isinstance(value, dict):
        return any(name.isdigit() or is_inexact(part) for name, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(map(is_inexact, value))
    return isinstance(value, float) or (type(value) is int and abs(value) >= EXACT)
