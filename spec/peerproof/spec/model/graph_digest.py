"""
A digest of a whole labelled state graph, independent of the explorer and the order of exploration.

A state has a key of 128 bits: the sum of the keys of its parts. The parts are each node's values with the node's index, the
restarts left, and each message under way, or, with order, the messages of each pair of nodes. A part's key is a hash of its
values as text, which is the same for equal values. The digest of a graph is the sum of a hash for each state, over its key and
its labelled edges, sorted; and of a hash for each initial state. A sum does not depend on the order, so that several processes
can add parts of a graph in any order; a duplicate edge counts twice.

The collision probability of two states is 2^-128. In a graph of n states the probability of any collision is at most
n^2 / 2^129, see `chance_of_collision`; the same bounds the probability that a different graph has the digest that was
recorded.
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
    Returns the canonical text of nested numbers, booleans, texts, tuples, frozensets and mappings; a mapping on 1..n is a tuple.

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
    """Returns the key of a part: `NODE`, its index and its values; `RESTARTS` and their number; `MESSAGE` and its value."""
    return _number(text(part).encode())


class GraphDigest:
    """A digest under construction."""

    def __init__(self) -> None:
        self.sum = 0

    def begin(self, initial: int) -> None:
        """Adds an initial state, by its key."""
        self.sum += _number(b"initial" + _octets(initial))

    def add(self, source: int, edges: Iterable[tuple[str, int]]) -> None:
        """Adds a state with all its edges: its key, and for each edge the label and the target's key."""
        ends = sorted([f"{label}\0".encode() + _octets(target) for label, target in edges])
        self.sum += _number(_octets(source) + b"".join(ends))

    def __str__(self) -> str:
        return f"{self.sum % _ALL:0{2 * KEY_BYTES}x}"


class WorldKeys:
    """The keys of a system's worlds; the key of each part is computed once."""

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
        """Returns the key of a world."""
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
    """Returns an upper bound on the probability that two of this many states have the same key."""
    return states * states / 2 / _ALL


def _octets(state_key: int) -> bytes:
    return (state_key % _ALL).to_bytes(KEY_BYTES, "big")


def _number(octets: bytes) -> int:
    return int.from_bytes(blake2b(octets, digest_size=KEY_BYTES).digest(), "big")
