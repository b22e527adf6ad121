"""
The types that every protocol here shares.

A node is a value. `step` takes an *event* and returns the next state of the node and its *effects*, which the driver carries out.
The driver has the clock, the random numbers and the network: time comes in with the event, random choices come through `pick`,
and packets go out as effects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NewType, NoReturn, Protocol, TypeVar

from peerproof.spec.errors import NotEnabled

#: A permanent name of a node; a restarted node keeps it.
NodeId = NewType("NodeId", str)

#: As the receiver of a message: all other nodes, known or not, where the network can address them.
EVERYBODY: Final = NodeId("*")

#: The transport of messages: "udp"; "tcp", where each message is confirmed; "serf", where an agent sends each message to all
#: nodes.
UDP: Final = "udp"
TCP: Final = "tcp"
SERF: Final = "serf"

#: Milliseconds on the node's own monotonic clock.
Instant = NewType("Instant", int)

#: Milliseconds.
Duration = NewType("Duration", int)

Message = TypeVar("Message", covariant=True)
Timer = TypeVar("Timer", covariant=True)
Command = TypeVar("Command", covariant=True)
Notice = TypeVar("Notice", covariant=True)
State = TypeVar("State", covariant=True)
Effect = TypeVar("Effect", covariant=True)
Option = TypeVar("Option", bound=str | int)
Value = TypeVar("Value")
K = TypeVar("K")
V = TypeVar("V", covariant=True)


@dataclass(frozen=True, slots=True)
class Received(Generic[Message]):
    """A complete message was received and decoded."""

    now: Instant
    sender: NodeId
    message: Message


@dataclass(frozen=True, slots=True)
class Sent(Generic[Message]):
    """
    The outcome of a sent message, where the transport can tell.

    Over a connection there is one for each `Send`, after the peer's confirmation or the timeout; over UDP there is none.
    """

    now: Instant
    to: NodeId
    message: Message
    took: int | None  #: microseconds from sending to confirmation; None if the message was not confirmed


@dataclass(frozen=True, slots=True)
class Expired(Generic[Timer]):
    """A timer that an earlier `SetTimer` started has expired."""

    now: Instant
    timer: Timer


@dataclass(frozen=True, slots=True)
class Asked(Generic[Command]):
    """A command from the application, or from the protocol above."""

    now: Instant
    command: Command


@dataclass(frozen=True, slots=True)
class Send(Generic[Message]):
    """Send one message, once; delivery is not guaranteed."""

    to: NodeId
    message: Message


@dataclass(frozen=True, slots=True)
class SetTimer(Generic[Timer]):
    """Start this timer, or restart it."""

    timer: Timer
    after: Duration


@dataclass(frozen=True, slots=True)
class CancelTimer(Generic[Timer]):
    """Cancel this timer; cancelling one that is not running is no error."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Notify(Generic[Notice]):
    """Notify the application, or the protocol above."""

    notice: Notice


class Pick(Protocol):
    """
    A choice function: where a protocol says "at random", the driver chooses.

    A seeded generator, a recorded trace, a conformance vector, Hypothesis and exhaustive search are all drivers that can answer.
    `why` names the place in the protocol (`"round.partner"`); `among` holds distinct options, sorted.
    """

    def __call__(self, why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        """Returns `some` distinct options of `among`, or all of them if there are fewer, in the order in which to use them."""


class Step(NamedTuple, Generic[State, Effect]):
    """The next state of a node, and its effects in order."""

    state: State
    effects: tuple[Effect, ...] = ()


def replace(value: Value, /, **changes: Any) -> Value:
    """
    Returns a copy of a dataclass with other values in some fields.

    It does what `dataclasses.replace` does in half the time. Raises TypeError for what is no field.
    """
    kind = type(value)
    copied: Value = (_COPIERS.get(kind) or _copier(kind))(value, **changes)
    return copied


#: Class -> what copies its values. Overrides switch caches of functools off, and nothing overrides this.
_COPIERS: Final[dict[type, Callable[..., Any]]] = {}


def _copier(kind: Any) -> Callable[..., Any]:
    """Compiles the function that copies values of this class: what `replace` looks up each time is in its source."""
    names = [field.name for field in fields(kind) if field.init]
    taken = ", ".join(f"{name}=__kept__" for name in names)
    given = ", ".join(f"{name}=__old__.{name} if {name} is __kept__ else {name}" for name in names)
    copier = eval(f"lambda __old__, /, *, {taken}: __old__.__class__({given})", {"__kept__": object()})
    return _COPIERS.setdefault(kind, copier)


if TYPE_CHECKING:
    _Rows = Mapping
else:
    _Rows = dict  # whose look-ups take a fraction of the time of methods in Python

_fill: Final[Any] = dict.update
_equal: Final[Any] = dict.__eq__


class Table(_Rows[K, V]):
    """
    A read-only, hashable mapping that iterates in the order of its keys.

    The order makes a run the same under every hash seed. Equal tables behave the same, however they were built.
    """

    __slots__ = ("_hash", "_where")

    def __init__(self, rows: Mapping[K, V] | None = None) -> None:
        if rows:
            keys: list[Any] = sorted(rows)
            _fill(self, rows if keys == list(rows) else {key: rows[key] for key in keys})
        self._hash: int | None = None
        self._where: tuple[Callable[[V], bool], tuple[K, ...]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and _equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.items()))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (dict(self),)  # without the hash, which differs between processes

    def __repr__(self) -> str:
        return f"Table({dict(self)!r})"

    def put(self, rows: Mapping[K, V]) -> Table[K, V]:
        """Returns this table with these rows added or replaced."""
        if not rows:
            return self
        table: Table[K, V] = Table()
        _fill(table, self)
        _fill(table, rows)
        if len(table) > len(self):
            return Table(table)
        if self._where is not None and all(self._where[0](row) == self._where[0](self[key]) for key, row in rows.items()):
            table._where = self._where
        return table

    def without(self, keys: Collection[K]) -> Table[K, V]:
        """Returns this table without the rows of these keys; a missing key is no error."""
        return Table({key: row for key, row in self.items() if key not in keys})

    def keys_where(self, holds: Callable[[V], bool]) -> tuple[K, ...]:
        """
        Returns the keys whose rows satisfy a predicate, in order.

        The last result is cached by this table and by the tables that `put` makes of it, as long as it stays the same: in a table
        of a thousand rows, of which one changes at a time, the predicate does not run on every row each time.
        """
        if self._where is None or self._where[0] is not holds:
            self._where = holds, tuple([key for key, row in self.items() if holds(row)])
        return self._where[1]

    if TYPE_CHECKING:

        def __getitem__(self, key: K) -> V: ...

        def __iter__(self) -> Iterator[K]: ...

        def __len__(self) -> int: ...

    else:  # of a dict; a type checker knows no methods that change a mapping

        def _refuse(self, *_: Any, **__: Any) -> NoReturn:
            """Raises TypeError."""
            raise TypeError("a table is read-only: `put` and `without` return another one")

        __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class Outcome(NamedTuple, Generic[State, Effect]):
    """One possible step of an event, with the answers to `pick` that lead to it."""

    picks: tuple[tuple[str, tuple[str | int, ...]], ...]
    step: Step[State, Effect]


def outcomes(step: Callable[[Pick], Step[State, Effect]]) -> Iterator[Outcome[State, Effect]]:
    """
    Yields every possible step, one for each way to answer `pick`: `outcomes(partial(scuttlebutt.step, state, event))`.

    The search is depth-first: it runs `step` again with a longer script of answers until each question is answered. Two ways to
    answer may lead to the same step; both are yielded. Permutations of n options are n! outcomes. Answers that make the node
    raise `NotEnabled` are no outcome, the others still are; an event that is not enabled has none.
    """
    scripts: list[tuple[tuple[Any, ...], ...]] = [()]
    while scripts:
        script = scripts.pop()
        asked: list[tuple[str, tuple[Any, ...]]] = []

        def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
            nonlocal script
            if len(asked) == len(script):  # noqa: B023  # called only within this turn of the loop
                first, *others = permutations(sorted(among), min(some, len(among)))
                scripts.extend((*script, other) for other in reversed(others))
                script = (*script, first)
            answer: tuple[Option, ...] = script[len(asked)]  # noqa: B023
            asked.append((why, answer))  # noqa: B023
            return answer

        try:
            taken = step(pick)
        except NotEnabled:
            continue
        yield Outcome(tuple(asked), taken)


class Specification(Protocol):
    """
    The interface of a protocol's package for drivers, traces, the suite and the pipeline: `peerproof.spec.scuttlebutt` is one.

    The protocol itself is `initial`, `step` and `MESSAGE`. The other names describe its values as plain data, and the queries
    that read a state.
    """

    NAME: str
    TRANSPORT: str  #: the transport: "udp"; "tcp", where each is confirmed; or "serf", where each goes to all nodes
    MESSAGE: Any  #: packing.Codec: messages as bytes and as plain data
    CONFIG: Any  #: form.Form of the configuration
    COMMAND: Any  #: form.Form of the application's commands
    TIMER: Any  #: form.Form of the timers
    NOTICE: Any  #: form.Form of the notifications to the application
    STATE: Any  #: state as plain data: `plain(state)` and `value(plain, self_id, config)`, which raises MalformedMessage
    QUERIES: Mapping[str, Callable[[Any], Any]]  #: name -> plain view of a state
    PROPERTIES: tuple[Any, ...]  #: properties.Property

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """Returns a node that has just started."""

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Returns what one event makes of the node: its next state and its effects."""
