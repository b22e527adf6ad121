"""
Exploration by several processes, with the same result as by one, including the order of the worlds.

Each process owns the worlds in which one chosen node has certain states, and only it stores them: so events at other nodes and in
the network need no exchange. A level is explored in three phases, coordinated by the process that started the others, which
does none of the exploring itself:

1. Each process expands its worlds as far as the steps of single nodes are cached, and reports the new questions. All processes
   answer all of these, in the order in which one process would have asked them: so they assign the same numbers without
   exchanging states. Then the other worlds are expanded.
2. Worlds that a process finds and does not own go to their owners, with the position of the edge that led there among all edges
   of the level; of several edges the first counts, as in one process.
3. The owners' new worlds are sorted by these positions: that is their breadth-first order.
"""

from __future__ import annotations

import marshal
import signal
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from multiprocessing import get_context
from multiprocessing.connection import Connection
from operator import itemgetter
from typing import Any, Final, NamedTuple

from peerproof.spec.collector import no_collector
from peerproof.spec.model.bounded import Question, System, Unanswered, World
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.graph_digest import GraphDigest, WorldKeys
from peerproof.spec.properties import Property

#: A position among the edges of a level: the rank of the source world, then the edge's index among those of that world.
_EDGE_BITS: Final = 20
_MARSHAL: Final = 2  # the version of the format that does not look for shared objects


class ProcessLost(Exception):
    """A process of the exploration has ended unexpectedly."""


class Found(NamedTuple):
    """The next level, in order, and the position of the first violation in this one."""

    worlds: list[World]
    places: list[int]  #: of the edges that led there
    broken: tuple[int, int] | None  #: the position of the edge, and the number of the property


class Shards:
    """The processes, as seen by the process that started them."""

    def __init__(self, exploration: Exploration, processes: list[Connection]) -> None:
        self._exploration = exploration
        self._processes = processes

    def questions(self) -> Iterator[tuple[int, Question]]:
        """Yields the new questions of this level in order, each with the rank of the world that it is about."""
        first: dict[Question, tuple[int, int]] = {}
        for asked in self._receive():
            for question, place in asked:
                first[question] = min(first.get(question, place), place)
        ordered = sorted(first.items(), key=itemgetter(1))
        yield from ((rank, question) for question, (rank, _) in ordered)  # a failing question raises here
        self._send([[question for question, _ in ordered]] * len(self._processes))

    def expand(self) -> Found:
        """Expands the level; counts its edges in the exploration."""
        counted = self._receive()
        for labels, digest, _ in counted:
            self._exploration.edges.update(labels)
            if self._exploration.digest:
                self._exploration.digest.sum += digest
        self._send([[parcels[to] for _, _, parcels in counted] for to in range(len(self._processes))])
        places, worlds, broken = zip(*self._receive(), strict=True)
        keys = [array("Q", octets) for octets in places]
        ordered = sorted(chain(*keys))
        ranks = dict(zip(ordered, range(size := len(self._exploration.depths), size + len(ordered)), strict=True))
        mine = [array("Q", map(ranks.__getitem__, own)) for own in keys]
        self._send([own.tobytes() for own in mine])
        level: list[Any] = [None] * len(ordered)  # the processes are at the next level by now
        for own, packed in zip(mine, worlds, strict=True):
            for rank, world in zip(own, marshal.loads(packed), strict=True):
                level[rank - size] = world
        return Found(level, ordered, min((found for found in broken if found), default=None))

    def _send(self, messages: list[Any]) -> None:
        for process, message in zip(self._processes, messages, strict=True):
            try:
                process.send_bytes(marshal.dumps(message, _MARSHAL))
            except OSError as problem:
                raise _process_lost() from problem

    def _receive(self) -> list[Any]:
        try:
            received = [marshal.loads(process.recv_bytes()) for process in self._processes]
        except (EOFError, OSError) as problem:
            raise _process_lost() from problem
        if failed := next((message for message in received if isinstance(message, str)), None):
            raise ProcessLost(f"a process of the exploration failed: {failed}")
        return received


def place_of(place: int) -> int:
    """Returns the rank of an edge's source world, from the position of the edge."""
    return place >> _EDGE_BITS


@contextmanager
def start_shards(
    exploration: Exploration, level: list[World], of_clusters: tuple[Property, ...], processes: int
) -> Iterator[Shards]:
    """Starts processes that continue from here; they end with the context, and if the process that started them ends."""
    context = get_context("fork")  # a model and its states need not be picklable, and need no copying
    pipes = [context.Pipe() for _ in range(processes)]
    deciding = _deciding(exploration, level, processes)
    started: list[Any] = []
    try:
        for number, (_, theirs) in enumerate(pipes):
            others = [end for pipe in pipes for end in pipe if end is not theirs]
            worker = context.Process(
                target=_work, args=(theirs, others, number, processes, deciding, exploration, level, of_clusters), daemon=True
            )
            worker.start()
            started.append(worker)
        for _, theirs in pipes:
            theirs.close()
        with no_collector():  # worlds contain no cycles
            yield Shards(exploration, [ours for ours, _ in pipes])
    finally:
        for worker in started:
            worker.terminate()
            worker.join()
        for pipe in pipes:
            for end in pipe:
                end.close()


class _Turn:
    """The results of a process in one level: worlds of its own and of others, with the positions of the edges to them."""

    def __init__(self, of: int) -> None:
        self.found: dict[World, int] = {}
        self.parcels: list[dict[World, int]] = [{} for _ in range(of)]
        self.labels: dict[str, int] = {}
        self.digest = GraphDigest()


class _Shard:
    """The worlds of one process."""

    def __init__(self, number: int, of: int, deciding: int, exploration: Exploration, of_clusters: tuple[Property, ...]) -> None:
        self.number, self.of, self.of_clusters = number, of, of_clusters
        self.system: System = exploration.system
        self.system.may_ask = False
        self.keys = WorldKeys(self.system) if exploration.digest else None
        self.deciding = deciding
        self.known = {world for world in exploration.depths if world[deciding] % of == number}

    def questions(self, level: Mapping[World, int]) -> list[tuple[Question, tuple[int, int]]]:
        """Returns the new questions about these worlds, each with the rank of the world and its position there."""
        asked: dict[Question, tuple[int, int]] = {}
        for world, rank in level.items():
            for place, question in self.system.open_questions(world):
                asked.setdefault(question, (rank, place))
        return list(asked.items())

    def expand(self, level: Mapping[World, int], turn: _Turn, *, late: bool = False) -> dict[World, int]:
        """Expands worlds, the later ones possibly out of order; returns those with an unanswered question."""
        known, deciding, moves, of, number = self.known, self.deciding, self.system.moves, self.of, self.number
        found, labels, parcels = turn.found, turn.labels, turn.parcels
        waiting: dict[World, int] = {}
        for world, rank in level.items():
            try:
                edges = list(moves(world))
            except Unanswered:
                waiting[world] = rank
                continue
            for place, (label, target) in enumerate(edges, rank << _EDGE_BITS):
                labels[label] = labels.get(label, 0) + 1
                if (to := target[deciding] % of) != number:
                    if parcels[to].get(target, place) >= place:
                        parcels[to][target] = place
                elif target not in known:
                    known.add(target)
                    found[target] = place
                elif late and found.get(target, -1) > place:
                    found[target] = place
            if self.keys:
                turn.digest.add(self.keys(world), [(label, self.keys(target)) for label, target in edges])
        return waiting

    def take(self, parcel: bytes, found: dict[World, int]) -> None:
        """Adds worlds that another process has found."""
        known = self.known
        for world, place in marshal.loads(parcel).items():
            if world not in known:
                known.add(world)
                found[world] = place
            elif world in found:
                found[world] = min(found[world], place)

    def find_violation(self, worlds: list[World], found: Mapping[World, int]) -> tuple[int, int] | None:
        if not self.of_clusters:
            return None
        for world in worlds:
            cluster = self.system.cluster(world)
            for number, p in enumerate(self.of_clusters):
                if not p.holds(cluster):
                    return found[world], number
        return None


def _work(
    pipe: Connection,
    others: list[Connection],
    number: int,
    of: int,
    deciding: int,
    exploration: Exploration,
    level: list[World],
    of_clusters: tuple[Property, ...],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    for end in others:
        end.close()  # or the end of the other side would go undetected
    shard = _Shard(number, of, deciding, exploration, of_clusters)
    first = len(exploration.depths) - len(level)
    mine = {world: rank for rank, world in enumerate(level, first) if world[deciding] % of == number}

    def send(message: Any) -> None:
        pipe.send_bytes(marshal.dumps(message, _MARSHAL))

    def receive() -> Any:
        return marshal.loads(pipe.recv_bytes())

    try:
        while True:
            mine = _turn(shard, mine, send, receive)
    except (EOFError, OSError):
        return  # the other side has closed the connection
    except Exception as problem:  # noqa: BLE001  # any error is reported to the other side
        send(f"{type(problem).__name__}: {problem}")


def _deciding(exploration: Exploration, level: list[World], of: int) -> int:
    """Returns the index of the node whose states split these worlds most evenly."""

    def largest(place: int) -> int:
        return max(Counter(world[place] % of for world in level).values())

    return min(range(len(exploration.system.places)), key=largest)


def _turn(shard: _Shard, level: dict[World, int], send: Callable[[Any], None], receive: Callable[[], Any]) -> dict[World, int]:
    """Explores one level; returns this process's own worlds of the next one, with ranks."""
    turn = _Turn(shard.of)
    waiting = shard.expand(level, turn)
    send(shard.questions(waiting))
    for question in receive():
        shard.system.answer(question)
    shard.expand(waiting, turn, late=True)
    send((turn.labels, turn.digest.sum, [marshal.dumps(parcel, _MARSHAL) for parcel in turn.parcels]))
    found = turn.found
    for parcel in receive():
        shard.take(parcel, found)
    worlds = sorted(found, key=found.__getitem__)
    send(
        (
            array("Q", map(found.__getitem__, worlds)).tobytes(),
            marshal.dumps(worlds, _MARSHAL),
            shard.find_violation(worlds, found),
        )
    )
    return dict(zip(worlds, array("Q", receive()), strict=True))


def _process_lost() -> ProcessLost:
    return ProcessLost("a process of the exploration was killed, perhaps for lack of memory; use fewer, or a smaller model")
