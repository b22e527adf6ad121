"""
Properties that are asked again and again, of things of which little has changed.

While a property is evaluated, it is noted which attributes it reads of states, and what they were. What it has said follows from
these alone. So as long as all of them are still the same objects it would say the same, and is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from peerproof.spec.core import NodeId
from peerproof.spec.properties import Cluster, Taken

#: Whose attribute it is, a node or "before" or "after" of a step, None for the subject itself; and the attribute's name.
Place: TypeAlias = tuple[NodeId | None, str]

_NOTHING: Final = object()


class Asked:
    """A property of a state, a step or a cluster, with what it has said last."""

    def __init__(self, holds: Callable[[Any], bool]) -> None:
        self._holds: Final = holds
        self._notes: dict[Place, Any] = {}
        self._names: tuple[NodeId, ...] | None = None  #: of all nodes, if it has looked at which there are
        self._can_be_noted = True
        self._is_whole = False  #: the notes are all that it has looked at
        self._answer = True

    def __call__(self, subject: Any) -> bool:
        """Whether it holds."""
        if not self._can_be_noted:
            return bool(self._holds(subject))
        if not (self._is_whole and self._is_same(subject)):
            self._notes, self._names, self._is_whole = {}, None, True
            try:
                self._answer = bool(self._holds(self._noting(subject)))
            except TypeError:  # it does with a state what can be done with nothing else, such as to make another of it
                self._can_be_noted = False
                return bool(self._holds(subject))
        return self._answer

    def note(self, place: Place, value: Any) -> Any:
        """It has looked at that."""
        self._notes[place] = value
        return value

    def note_all(self) -> None:
        """It has looked at more than can be noted."""
        self._is_whole = False

    def note_names(self, names: tuple[NodeId, ...]) -> None:
        """It has looked at which nodes there are."""
        self._names = names

    def _is_same(self, subject: Any) -> bool:
        nodes = subject.nodes if type(subject) is Cluster else None
        if self._names is not None and tuple(subject.nodes) != self._names:
            return False
        for (where, name), value in self._notes.items():
            owner = subject if where is None else getattr(subject, where) if nodes is None else nodes.get(where)
            if getattr(owner, name, _NOTHING) is not value:
                break
        else:
            return True
        return False

    def _noting(self, subject: Any) -> Any:
        if isinstance(subject, Cluster):
            return _NotingCluster(self, subject)
        if isinstance(subject, Taken):
            return _NotingTaken(self, subject)
        return _Noting(self, None, subject)


class _Noting:
    """A state of which it is noted what is read. To whoever does not look at its identity it is the state."""

    __slots__ = ("_asked", "_state", "_where")

    def __init__(self, asked: Asked, where: NodeId | None, state: Any) -> None:
        self._asked = asked
        self._where = where
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return self._asked.note((self._where, name), getattr(self._state, name))

    @property  # type: ignore[misc]  # mypy takes it for a method that is overridden
    def __class__(self) -> Any:
        return type(self._state)

    def __eq__(self, other: object) -> bool:
        self._asked.note_all()
        return bool(self._state == (other._state if type(other) is _Noting else other))

    def __hash__(self) -> int:
        self._asked.note_all()
        return hash(self._state)

    def __repr__(self) -> str:
        self._asked.note_all()
        return repr(self._state)


class _NotingTaken:
    """A step of which it is noted what is read."""

    def __init__(self, asked: Asked, taken: Taken) -> None:
        self._asked: Final = asked
        self._taken: Final = taken
        self.before: Final = _Noting(asked, NodeId("before"), taken.before)
        self.after: Final = _Noting(asked, NodeId("after"), taken.after)

    @property
    def event(self) -> Any:
        """What happened."""
        return self._asked.note((None, "event"), self._taken.event)

    @property
    def effects(self) -> Any:
        """What came of it."""
        return self._asked.note((None, "effects"), self._taken.effects)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.before, self.event, self.after, self.effects))


class _NotingCluster:
    """A cluster of which it is noted what is read."""

    def __init__(self, asked: Asked, cluster: Cluster) -> None:
        self._asked: Final = asked
        self._cluster: Final = cluster
        self.nodes: Final = _NotingNodes(asked, cluster.nodes)

    @property
    def in_flight(self) -> Any:
        """What is under way."""
        return self._asked.note((None, "in_flight"), self._cluster.in_flight)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.nodes, self.in_flight))


class _NotingNodes(Mapping[NodeId, Any]):
    """The nodes of a cluster."""

    def __init__(self, asked: Asked, nodes: Mapping[NodeId, Any]) -> None:
        self._asked: Final = asked
        self._nodes: Final = nodes

    def __getitem__(self, name: NodeId) -> Any:
        if name not in self:
            raise KeyError(name)
        return _Noting(self._asked, name, self._nodes[name])

    def __contains__(self, name: object) -> bool:
        self._asked.note_names(tuple(self._nodes))
        return name in self._nodes

    def __iter__(self) -> Iterator[NodeId]:
        self._asked.note_names(tuple(self._nodes))
        return iter(self._nodes)

    def __len__(self) -> int:
        self._asked.note_names(tuple(self._nodes))
        return len(self._nodes)
