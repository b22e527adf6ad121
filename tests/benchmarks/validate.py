"""
What Spark adds to a replay, what a worker takes of memory, and whether an event costs the same however many there are.

    python tests/benchmarks/validate.py [--events 1000000] [--one-node 1000000] [--cluster 1000000] [--sizes 1000000 10000000]

The numbers of events are those of the targets, a default is smaller, and 0 leaves a part out: starts and commits weigh more then.
First, `validate` in a warm session on two cores against two plain processes that replay the same files with the same
`spec.replay`, and do no more. Then one node with all the events, in one task. Then a standalone cluster on loopback, with one
worker of one core and with two. Then `validate` of each size; the default is small.
The logs are those of three nodes that have agreed, without failure detectors, repeated: such events are the cheapest that there
are, so that what is not replay weighs most. Properties of the cluster are looked at in one comparison only, which says so.

Beside the time on the wall stands that of the processors, of all processes: of Java and of Python's workers, or of the two plain
ones. On a busy machine only the second means anything.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from _ratios import options, target
from tests.pipeline.cluster import CONF, standalone

from peerproof.conformance.traces.events import event_of, line_of
from peerproof.pipeline.spark.execution import Engine
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.spark.work import work
from peerproof.pipeline.stages.validate import Validated, Validation, execute
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.batches import Batch, Output, Plan, Unit, table_files
from peerproof.pipeline.storage.tables import TRACES
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec import scuttlebutt
from peerproof.spec.traces.replay import Replay
from peerproof.spec.traces.trace import parse

TARGET, MEMORY_TARGET, SPREAD_TARGET, CLUSTER_TARGET = 0.85, 200, 0.15, 1.4
CORES, FILES, NODES, ROUNDS, LOT = 2, 8, 3, 400, 8192
REPEATED = 3  # of which the better counts
_MEMBERS = ("run_id", "node", "seq", "t_us", "kind", "peer", "args", "picks", "effects", "state_hash")
_TICK = os.sysconf("SC_CLK_TCK")


class Log(NamedTuple):
    """A node's events up to a timer, and then those of some rounds, which may come again and again."""

    begin: Any
    rounds: Any
    period: int  #: microseconds


def logs() -> list[Log]:
    """One for each node."""
    lines: list[str] = []
    plan = Campaign(RUNTIMES["scuttlebutt"], {"detector": None}, NODES, ROUNDS, "benchmark", 20)
    campaign.run(plan, lines.append)
    rows = [event_of(parse(line)) for line in lines]
    return [cut([row for row in rows if row.node == f"n{node}:1"]) for node in range(NODES)]


def cut(rows: list[Any]) -> Log:
    """Where the node's state does not change any more, at a timer; and where it ends, at another."""
    timers = [row.seq for row in rows if row.kind == "timer"]
    last = timers[-1]
    first = next(seq for seq in timers[len(timers) // 2 + 2 :] if rows[seq - 1].state_hash == rows[last - 1].state_hash)
    assert len({row.state_hash for row in rows[first - 1 : last]}) == 1
    return Log(TRACES.batch(rows[:first]), TRACES.batch(rows[first:last]), rows[last].t_us - rows[first].t_us)


def repeated(log: Log, run: str, count: int) -> Iterator[Any]:
    """Batches of a node with about so many events, each of some thousand rows."""
    begin, rounds, period = log
    copies = max(1, round((count - begin.num_rows) / rounds.num_rows))
    together = max(1, LOT // rounds.num_rows)
    yield shifted(begin, run, 0, 0)
    for first in range(0, copies, together):
        some = [shifted(rounds, run, n * rounds.num_rows, n * period) for n in range(first, min(copies, first + together))]
        yield pa.Table.from_batches(some).combine_chunks().to_batches()[0]


def shifted(batch: Any, run: str, numbers: int, microseconds: int) -> Any:
    """The same events later, in a run of this name."""
    columns = {"run_id": pa.array([run] * batch.num_rows)}
    for name, shift in (("seq", numbers), ("t_us", microseconds)):
        columns[name] = pa.array(np.from_dlpack(batch.column(name)) + shift)
    return pa.RecordBatch.from_arrays([columns.get(f.name, batch.column(f.name)) for f in TRACES.schema], schema=TRACES.schema)


def write(place: Path, nodes: list[Log], files: int, events_in_all: int) -> int:
    """A folder with a batch of so many events, in files of one run each; how many they are."""
    each = events_in_all // (files * len(nodes))

    def run(unit: Unit, output: Output) -> None:
        for log in nodes:
            for batch in repeated(log, f"r{unit.number:03}", each):
                output.write(TRACES, batch, "0")

    units = [Unit(number, {"number": number}) for number in range(files)]
    with Batch.open(place, Plan("ingest", (), {"events": events_in_all}, (), {})) as batch:
        work(None, batch, units, run)
        return batch.commit(units, (TRACES,)).rows(TRACES)


def replayed(files: list[str]) -> None:
    """A plain replay, and no more."""
    replay = Replay(scuttlebutt)
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(4096, columns=None, use_threads=False):
            members = zip(*(batch.column(name).to_pylist() for name in _MEMBERS), strict=True)
            for index, row in enumerate(members):
                if not replay.agrees(row):
                    assert replay.line(line_of(next(events(batch.slice(index, 1))))) is None


def plain_process(files: list[str], warm: str, ready: Any, done: Any) -> None:
    """One of the processes: warms up, waits for the other, and replays."""
    replayed([warm])
    ready.wait()
    begun = time.process_time()
    replayed(files)
    done.put(time.process_time() - begun)


class Took(NamedTuple):
    """Seconds."""

    wall: float
    cpu: float


def plain(place: Path, warm: Path) -> Took:
    """Two plain processes, each with every second file."""
    context = multiprocessing.get_context("spawn")
    files = [str(file) for file in table_files(place, TRACES)]
    ready, done = context.Barrier(CORES + 1), context.Queue()
    first = str(table_files(warm, TRACES)[0])
    processes = [
        context.Process(target=plain_process, args=(files[number::CORES], first, ready, done)) for number in range(CORES)
    ]
    for process in processes:
        process.start()
    ready.wait()
    begun = time.monotonic()
    cpu = sum(done.get() for _ in processes)
    wall = time.monotonic() - begun
    for process in processes:
        process.join()
    return Took(wall, cpu)


def tree_cpu() -> float:
    """Seconds of processor that this process and all that it has started have taken."""
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = sum(map(int, fields[11:15])) / _TICK
    tree = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(times.get(process, 0.0) for process in tree)


def by_spark(engine: Engine, place: Path, out: Path, every: int = 0) -> tuple[Took, Validated]:
    """The whole stage, to the commit."""
    begun, cpu = time.monotonic(), tree_cpu()
    result = execute(engine, out, Validation(place, every=every), lambda _: None)
    return Took(time.monotonic() - begun, tree_cpu() - cpu), result


def compare(engine: Engine, folder: Path, nodes: list[Log], count: int) -> None:
    """Spark beside two plain processes."""
    place, warm = folder / "ratio", folder / "warm"
    count = write(place, nodes, FILES, count)
    write(warm, nodes, FILES, 20_000)
    by_spark(engine, warm, folder / "warm-out")
    rounds = [(by_spark(engine, place, folder / f"ratio-{n}"), plain(place, warm)) for n in range(REPEATED)]
    took, baseline = (Took(*map(min, zip(*each, strict=True))) for each in zip(*((a[0], b) for a, b in rounds), strict=True))
    result = rounds[-1][0][1]
    print(f"{count:,} events in {FILES} files, local[{CORES}], warm")
    for what, ours, theirs in (("wall", took.wall, baseline.wall), ("CPU", took.cpu, baseline.cpu)):
        print(
            f"  {what:4}  validate {count / ours:9,.0f} events/s; two plain processes {count / theirs:9,.0f}; "
            f"ratio {theirs / ours:.2f} {target(theirs / ours, least=TARGET)}"
        )
    print(f"  a worker took at most {max(done.peak_mib for done in result.done):.0f} MiB")
    together, _ = by_spark(engine, place, folder / "together-out", every=1)
    print(f"  with the cluster at every instant: {together.cpu / took.cpu:.1f} times the CPU")


def one_node(engine: Engine, folder: Path, nodes: list[Log], count: int) -> None:
    """A single node with all events."""
    place = folder / "one"
    count = write(place, nodes[:1], 1, count)
    took, result = by_spark(engine, place, folder / "one-out")
    peak = max(done.peak_mib for done in result.done)
    print(f"one node with {count:,} events: {took.wall:.1f} s; worker's MiB: {peak:.0f} {target(peak, most=MEMORY_TARGET)}")


def on_a_cluster(folder: Path, nodes: list[Log], count: int) -> None:
    """Two workers, and then one of them; both are warm."""
    place, warm = folder / "cluster", folder / "cluster-warm"
    count = write(place, nodes, FILES, count)
    write(warm, nodes, FILES, 20_000)
    times = []
    with standalone(folder, workers=2) as cluster, Engine(Settings(cluster.url, conf=tuple(CONF.items()))) as engine:
        for workers in (2, 1):
            by_spark(engine, warm, folder / f"warm-{workers}")
            rounds = [by_spark(engine, place, folder / f"cluster-{workers}-{n}")[0] for n in range(REPEATED)]
            times.append(Took(*map(min, zip(*rounds, strict=True))))
            cluster.workers.pop().kill()
    two, one = times
    ratio = one.wall / two.wall
    print(f"cluster, {count:,} events: one worker {count / one.wall:,.0f} events/s, two {count / two.wall:,.0f}")
    print(f"  wall  ratio {ratio:.2f} {target(ratio, least=CLUSTER_TARGET)}")
    more = two.cpu / one.cpu
    print(f"  CPU   two workers take {more:.2f} times that of one: on free cores they are up to {2 / more:.2f} times as fast")


def sizes(engine: Engine, folder: Path, nodes: list[Log], counts: list[int]) -> None:
    """The cost of an event, at each size."""
    costs = []
    for number, wanted in enumerate(counts):
        place = folder / f"size-{number}"
        count = write(place, nodes, FILES, wanted)
        took, result = by_spark(engine, place, folder / f"size-{number}-out")
        costs.append(took.cpu / count * 1e6)
        peak = max(done.peak_mib for done in result.done)
        print(f"{count:12,} events: {costs[-1]:.2f} µs of CPU each, {took.wall:.1f} s; a worker took at most {peak:.0f} MiB")
    spread = max(costs) / min(costs) - 1
    print(f"the dearest costs {spread:.0%} more than the cheapest {target(spread, most=SPREAD_TARGET)}")


def main() -> None:
    """Prints the figures."""
    arguments = options(__doc__, events=400_000, one_node=200_000, cluster=400_000, sizes=[200_000, 600_000])
    nodes = logs()
    steps: list[tuple[Callable[..., None], Any]] = [
        (compare, arguments.events),
        (one_node, arguments.one_node),
        (sizes, arguments.sizes),
    ]
    with tempfile.TemporaryDirectory() as folder:
        with Engine(Settings(master=f"local[{CORES},4]")) as engine:
            for step, count in steps:
                if count:
                    step(engine, Path(folder), nodes, count)
        if arguments.cluster:
            on_a_cluster(Path(folder), nodes, arguments.cluster)


if __name__ == "__main__":
    main()
