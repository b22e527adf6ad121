"""
One number for a whole labelled state graph, whoever explored it, in whichever order.

A state has a key of 128 bits: the sum of the keys of its parts, that is of each node's values with the node's place, of the
restarts left, and of each message under way, or, with order, of those of each pair of nodes together. A part's key is a hash
of its values as text, and that text is one for equal values. The digest of a graph is the sum of one hash for each state, over
its key and its labelled edges, sorted; and of one hash for each initial state. A sum has no order, so that parts of a graph can
be taken in any order and by several processes, and an edge that is there twice counts twice.

Two different states have equal keys with a chance of 2^-128. In a graph of n states some two of them have with a chance
of at most n^2 / 2^129, see `chance_of_collision`; the same bounds the chance that a graph other than the one that was
written down has its digest by accident.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from peerproof.spec.model.bounded import System, World

KEY_BYTES: Final = 16
_ALL: Final = 1 << (8 * KEY_BYTES)

NODE, RESTARTS, MESSAGE = "node", "restarts", "message"


def text(value: Any) -> str:
    """
    The one text of a value: of numbers, truths, texts, tuples, frozensets and mappings, nested; a mapping on 1..n is a tuple.

    >>> text({"b": frozenset({2, 1}), "a": (True, "x")})
    '("a":<true,"x">,"b":{1,2})'
    >>> text({2: "b", 1: "a"}) == text(("a", "b"))
    True
    """
    match value:
        case bool() | int():
            return json.dumps(value)
        case str() if type(value) is str:
            return json.dumps(value)
        case tuple():
            return "<" + ",".join(map(text, value)) + ">"
        case frozenset():
            return "{" + ",".join(sorted(map(text, value))) + "}"
        case Mapping():
            if all(type(key) is int and 1 <= key <= len(value) for key in value):
                return text(tuple(value[key] for key in range(1, len(value) + 1)))
            return "(" + ",".join(sorted(f"{text(key)}:{text(row)}" for key, row in value.items())) + ")"
    raise TypeError(f"{value!r} is no value that a state of a model is made of")


def key(*part: Any) -> int:
    """The key of a part of a state: `NODE`, its place and its values; `RESTARTS` and how many; `MESSAGE` and its value."""
    return _number(text(part).encode())


class GraphDigest:
    """A digest in the making."""

    def __init__(self) -> None:
        self.sum = 0

    def begin(self, initial: int) -> None:
        """Takes an initial state, by its key."""
        self.sum += _number(b"initial" + _octets(initial))

    def add(self, source: int, edges: Iterable[tuple[str, int]]) -> None:
        """Takes a state with all its edges: its key, and of each edge the label and the key of the target."""
        ends = sorted([f"{label}\0".encode() + _octets(target) for label, target in edges])
        self.sum += _number(_octets(source) + b"".join(ends))

    def __str__(self) -> str:
        return f"{self.sum % _ALL:0{2 * KEY_BYTES}x}"


class WorldKeys:
    """The keys of a system's worlds; each part's is worked out once."""

    def __init__(self, system: System) -> None:
        model, self._count = system.model, len(system.places)

        def node(number: int) -> int:
            state = system.states[number]
            return key(NODE, system.places.index(state.self_id), model.node_values(state))

        self._nodes = _Kept(node)
        self._restarts = _Kept(lambda left: key(RESTARTS, left))
        self._queues = _Kept(lambda queue: key(MESSAGE, system.queue_value(queue)))
        self._messages = _Kept(lambda number: self._queues[(number,)])
        self._network = system.network

    def __call__(self, world: World) -> int:
        """The key of a world."""
        count = self._count
        key_of = self._nodes.__getitem__
        total = self._restarts[world[count]] + sum(map(key_of, world[:count]))
        net = world[count + 1 :]
        if self._network.is_ordered:
            return total + sum(map(self._queues.__getitem__, self._network.queues(net)))
        return total + sum(map(self._messages.__getitem__, net))


class _Kept(dict[Any, int]):
    def __init__(self, make: Callable[[Any], int]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, part: Any) -> int:
        made = self[part] = self._make(part)
        return made


def chance_of_collision(states: int) -> float:
    """At most this likely is it that two of so many states have the same key."""
    return states * states / 2 / _ALL


def _octets(state_key: int) -> bytes:
    return (state_key % _ALL).to_bytes(KEY_BYTES, "big")


def _number(octets: bytes) -> int:
    return int.from_bytes(blake2b(octets, digest_size=KEY_BYTES).digest(), "big")
