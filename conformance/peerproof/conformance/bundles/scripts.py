"""
Scripts of exchange and cluster vectors in the closed form of bundles: every name is an address, every message is bytes.

What only this package can do is done here: messages that peers send are encoded, names of nodes become addresses, repeated
items are written out. Members and matchers that the form of bundles does not know are an error, so that a runner never meets
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.vectors.plain_data import adapter_config, expand_numbered
from peerproof.conformance.vectors.suite import Vector

#: Integers above it are rounded by many JSON parsers.
EXACT: Final = 2**53

_CHECKED_AS_LIST: Final = frozenset({"multiset", "one_of"})
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
    if name in _CHECKED_AS_LIST:
        return {name: [pattern(item) for item in argument]}
    if name == "contains":
        whole = isinstance(argument, dict)
        return {name: {key: pattern(part) for key, part in argument.items()} if whole else [*map(pattern, argument)]}
    if name == "any":
        return {name: True}
    if name in _NAMES:
        return {name: argument}
    if name in ("subset_of", "absent"):
        raise CannotExport(f"bundles have no matcher {name}")
    return None


class _Script:
    """The nodes and steps of one vector."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.body = vector.body
        self.addresses = {name: node["addr"] for name, node in self.body["nodes"].items()}

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
            shown = {"name": name, "addr": node["addr"], "config": self.config(node)}
            if "state" in node:
                timers = [{"timer": one["timer"], "due_ms": one["due"]} for one in node.get("timers", ())]
                shown |= {"state": expand_numbered(node["state"]), "timers": timers}
            yield shown

    def config(self, holder: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration of a node, or the changes of a restart."""
        return adapter_config(self.vector.protocol, holder.get("config", {}))

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
        send = step["send"]
        digits = send.get("bytes")
        if digits is None:
            message = specification(self.vector.protocol).MESSAGE
            digits = bytes(message.encode(message.value(send["message"]))).hex()
        return {"node": send["to"], "from": self.address(send["from"]), "bytes": digits}

    def sent(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """The outcome of messages that a node has sent."""
        sent = step["sent"]
        shown = {"node": sent["node"], "took_us": sent.get("took")}
        return shown | {name: self.address(sent[name]) if name == "to" else sent[name] for name in _WHICH if name in sent}

    def stream(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """An event of a connection."""
        stream = dict(step["stream"])
        return {"node": stream.pop("node"), "stream": stream}

    def call(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A call of the application."""
        call = step["call"]
        return {"node": call["node"], "name": call["op"], "args": call.get("args", {})}

    def advance(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Time passes."""
        named = step["advance"]
        return {"nodes": [one["name"] for one in self.nodes()] if named == "all" else [named]}

    def restart(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A node starts again."""
        return {"node": step["restart"], "config": self.config(step)}

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
        shown |= {"order": order, "messages": list(map(self.message, messages))}
        shown["streams"] = pattern(expect.get("streams", []))
        return shown | {name: pattern(expect[name]) for name in ("events", "state") if name in expect}

    def message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """An expected message: its bytes, what its decoded form must match, or both."""
        shown = {"to": self.address(message["to"])}
        shown |= {"bytes": message["bytes"]} if "bytes" in message else {}
        return shown | ({"message": pattern(message["message"])} if "message" in message else {})

    def observe(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the answer to a query."""
        observe = step["observe"]
        args = {"args": observe["args"]} if observe.get("args") else {}
        return {"node": observe["node"], "query": observe["query"], **args, "equals": pattern(observe["equals"])}

    def told(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the events of a kind that one node reported."""
        told = step["told"]
        return {"node": told["node"], "event": told["event"], "equals": pattern(told["equals"])}


_WHICH: Final = ("to", "type", "bytes")  #: members of a step `sent` that say which message

#: The member of a vector's step that says its kind -> what belongs to it in a bundle. `restart` stands before its `config`.
_STEPS: Final[Mapping[str, Callable[[_Script, Mapping[str, Any]], dict[str, Any]]]] = {
    "send": _Script.send,
    "sent": _Script.sent,
    "stream": _Script.stream,
    "call": _Script.call,
    "advance": _Script.advance,
    "crash": lambda _, step: {"node": step["crash"]},
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
