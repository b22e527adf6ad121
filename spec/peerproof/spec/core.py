"""
What every protocol here is made of.

A node is a value.
Something happens to it, an *event*, and `step` says what it becomes and what it now wants done, its *effects*.
The clock, the dice and the network are the driver's: time comes in with the event, chance through `pick`,
and packets go out as effects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Final, Generic, NamedTuple, NewType, Protocol, TypeVar

from peerproof.spec.errors import NotEnabled

#: Names a node for all time; a restarted node keeps it.
NodeId = NewType("NodeId", str)

#: As the receiver of a message: every other node, whoever they are, where the network can do that.
EVERYBODY: Final = NodeId("*")

#: What carries messages: datagrams; connections, on which each is confirmed; an agent of Serf, from which each goes to everybody.
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
K = TypeVar("K")
V = TypeVar("V", covariant=True)


@dataclass(frozen=True, slots=True)
class Received(Generic[Message]):
    """A message came in, whole and decoded."""

    now: Instant
    sender: NodeId
    message: Message


@dataclass(frozen=True, slots=True)
class Sent(Generic[Message]):
    """
    What became of a message, where the transport can tell.

    Over a connection there is one for each `Send`, when the peer has confirmed the message or its time is over; over UDP none.
    """

    now: Instant
    to: NodeId
    message: Message
    took: int | None  #: microseconds until it was confirmed; None if it was not


@dataclass(frozen=True, slots=True)
class Expired(Generic[Timer]):
    """A timer set by an earlier `SetTimer` ran out."""

    now: Instant
    timer: Timer


@dataclass(frozen=True, slots=True)
class Asked(Generic[Command]):
    """The application on top, or the protocol on top, wants something."""

    now: Instant
    command: Command


@dataclass(frozen=True, slots=True)
class Send(Generic[Message]):
    """Put one message on the wire, once; nobody promises that it arrives."""

    to: NodeId
    message: Message


@dataclass(frozen=True, slots=True)
class SetTimer(Generic[Timer]):
    """Start this timer, or start it over."""

    timer: Timer
    after: Duration


@dataclass(frozen=True, slots=True)
class CancelTimer(Generic[Timer]):
    """Forget this timer; to cancel one that is not running is no error."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Notify(Generic[Notice]):
    """Tell the application on top."""

    notice: Notice


class Pick(Protocol):
    """
    Chance, as a choice function: where a protocol says "at random", the driver chooses.

    A seeded generator, a recorded trace, a conformance vector, Hypothesis and exhaustive search are all drivers that
    can answer. `why` names the place in the protocol (`"round.partner"`); `among` holds different options, sorted.
    """

    def __call__(self, why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        """`some` different ones of `among`, or all of them if there are fewer, in the order to use them in."""
        ...


class Step(NamedTuple, Generic[State, Effect]):
    """What a node becomes, and what it wants done, in this order."""

    state: State
    effects: tuple[Effect, ...] = ()


class Table(Mapping[K, V]):
    """
    A read-only mapping that can be hashed, and that is iterated in the order of its keys.

    The order makes a run the same under every hash seed; two equal tables behave the same however they came about.
    """

    __slots__ = ("_hash", "_is_sorted", "_rows", "_where")

    def __init__(self, rows: Mapping[K, V] | None = None) -> None:
        self._rows: dict[K, V] = dict(rows or {})
        self._is_sorted = False
        self._hash: int | None = None
        self._where: tuple[Callable[[V], bool], tuple[K, ...]] | None = None

    def __getitem__(self, key: K) -> V:
        return self._rows[key]

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[K]:
        return iter(self._in_order())

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._rows == other._rows

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._rows.items()))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self._rows,)  # without the hash, which another process would not agree with

    def __repr__(self) -> str:
        return f"Table({self._in_order()!r})"

    # Any mapping has the next three; those of a dict are several times as fast.

    def get(self, key: object, default: Any = None) -> Any:
        """The row of a key, or something else."""
        return self._rows.get(key, default)  # type: ignore[arg-type]  # a key of another type has no row

    def items(self) -> ItemsView[K, V]:
        """The keys with their rows, in the order of the keys."""
        return self._in_order().items()

    def values(self) -> ValuesView[V]:
        """The rows, in the order of their keys."""
        return self._in_order().values()

    def put(self, rows: Mapping[K, V]) -> Table[K, V]:
        """This table with these rows added or replaced."""
        if not rows:
            return self
        table: Table[K, V] = Table()
        table._rows = {**self._rows, **rows}
        if len(table._rows) == len(self._rows):
            table._is_sorted = self._is_sorted  # a row that is replaced keeps its place
            if self._where is not None and all(
                self._where[0](row) == self._where[0](self._rows[key]) for key, row in rows.items()
            ):
                table._where = self._where
        return table

    def keys_where(self, holds: Callable[[V], bool]) -> tuple[K, ...]:
        """
        The keys of the rows of which something holds, in order.

        What was found last is remembered, by this table and by those that are made of it with `put` as long as it stays the
        same: a table of a thousand rows, of which one changes at a time, is not gone over each time.
        """
        if self._where is None or self._where[0] is not holds:
            self._where = holds, tuple([key for key, row in self.items() if holds(row)])
        return self._where[1]

    def _in_order(self) -> dict[K, V]:
        if not self._is_sorted:
            self._rows = {key: self._rows[key] for key in sorted(self._rows)}  # type: ignore[type-var]  # keys of one table compare
            self._is_sorted = True
        return self._rows

    def without(self, keys: Collection[K]) -> Table[K, V]:
        """This table without the rows of these keys, which need not be there."""
        return Table({key: row for key, row in self._rows.items() if key not in keys})


class Outcome(NamedTuple, Generic[State, Effect]):
    """One of the steps that an event can lead to, with the answers to `pick` that lead there."""

    picks: tuple[tuple[str, tuple[str | int, ...]], ...]
    step: Step[State, Effect]


def outcomes(step: Callable[[Pick], Step[State, Effect]]) -> Iterator[Outcome[State, Effect]]:
    """
    Every step that some choice leads to, one for each way to answer: `outcomes(partial(scuttlebutt.step, state, event))`.

    Depth first, by running `step` again with a longer script of answers until no question is left open. Two ways to
    answer may lead to the same step; both are given. Permutations of n options are n! outcomes. Answers that lead to what
    the node cannot do (`NotEnabled`) are no outcome, the others still are; an event that is not enabled has none.
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
    What a protocol's package offers to drivers, traces, the suite and the pipeline: `peerproof.spec.scuttlebutt` is one.

    The protocol itself is three names, `initial`, `step` and `MESSAGE`. The others say how its values look as plain
    data, and what can be asked of a node without changing it.
    """

    NAME: str
    TRANSPORT: str  #: what carries its messages: "udp"; "tcp", where each is confirmed; or "serf", where each goes to everybody
    MESSAGE: Any  #: packing.Codec: messages as bytes and as plain data
    CONFIG: Any  #: wire.Form of the configuration
    COMMAND: Any  #: wire.Form of what an application can ask for
    TIMER: Any  #: wire.Form of the timers
    NOTICE: Any  #: wire.Form of what an application is told
    STATE: Any  #: `plain(state)` and `value(plain, self_id, config)`, which raises MalformedMessage: a state as plain data
    QUERIES: Mapping[str, Callable[[Any], Any]]  #: name -> plain view of a state
    PROPERTIES: tuple[Any, ...]  #: properties.Property

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """A node that has just started."""
        ...

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What the node does about one event."""
        ...
