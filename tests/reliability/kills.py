"""
Kills a stage of the pipeline fifty times at random on a real standalone cluster of Spark: its result must be the same each time.

    python -m tests.reliability.kills [--kills 50] [--seed 1]

The cluster has a master and two workers on the loopback. The stage is started; after a random time, or once a random number of
its units is finished, its driver or a process in Python of one of its workers is killed; it is started again, up to five times in
one folder, and then runs to its end. What it has written must be what a run without any kill writes: the same digests of all
tables, each row once.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.pipeline.cluster import standalone
from tests.pipeline.disturbed import RUNS_IN_ALL, assert_as_undisturbed, ended, finished, victim

from peerproof.pipeline.storage.batches import successes
from peerproof.pipeline.storage.tables import RUNS, TRACES

KILLS_IN_A_FOLDER = 5


def undisturbed(folder: Path, *where: str) -> tuple[tuple[str, str], float]:
    """Returns the digests of a run without any kill, and how long it took."""
    place = folder / "undisturbed"
    begun = time.monotonic()
    assert ended(place, *where) == 0
    took = time.monotonic() - begun
    (success,) = successes(place)
    return (success.digest(TRACES), success.digest(RUNS)), took


def python_workers() -> list[int]:
    """Returns the processes in Python that executors have started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"pyspark.daemon" in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it has just ended
    return found


def killed(place: Path, where: list[str], is_time: Callable[[float], bool], driver: bool) -> str:
    """Starts the stage, kills a process of it when it is time, and says what was killed; nothing if it had ended before."""
    begun = time.monotonic()
    with victim(place, *where) as process:
        while not is_time(time.monotonic() - begun) and process.poll() is None:
            time.sleep(0.002)
        if process.poll() is not None:
            return ""
        workers = python_workers()
        if driver or not workers:
            process.kill()
            return "the driver"
        os.kill(workers[-1], signal.SIGKILL)
        process.communicate()
        return "a worker in Python"


def a_moment(random: Random, most: float) -> Callable[[float], bool]:
    """Whether a random number of seconds is over."""
    seconds = random.uniform(0.1, most)
    return lambda passed: passed >= seconds


def some_units(random: Random, place: Path) -> Callable[[float], bool]:
    """Whether a random number of units more than now is finished."""
    units = random.randint(finished(place), RUNS_IN_ALL)
    return lambda _: finished(place) >= units


def main() -> int:
    """Prints what was killed, and whether every result was the same."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="how many")
    parser.add_argument("--seed", type=str, default="1", help="of what is random")
    arguments = parser.parse_args()
    random = Random(arguments.seed)
    kills: Counter[str] = Counter()
    progress: Counter[int] = Counter()  # units finished at the time
    with tempfile.TemporaryDirectory(prefix="kills-") as name, standalone(Path(name)) as cluster:
        folder, where = Path(name), cluster.options()
        digests, took = undisturbed(folder, *where)
        print(f"without a kill: {took:.0f} s, digests {json.dumps([digest[:12] for digest in digests])}", flush=True)
        folders = 0
        while kills.total() < arguments.kills:
            folders += 1
            place = folder / f"out{folders}"
            for _ in range(KILLS_IN_A_FOLDER):
                if kills.total() == arguments.kills:
                    break
                is_time = a_moment(random, took) if random.random() < 0.5 else some_units(random, place)
                if what := killed(place, where, is_time, random.random() < 0.7):
                    kills[what] += 1
                    progress[finished(place)] += 1
            assert ended(place, *where) == 0
            assert_as_undisturbed(place, digests)
            print(f"{kills.total()} kills, {folders} results, each the same", flush=True)
    print(f"{kills.total()} kills: " + ", ".join(f"{count} of {what}" for what, count in kills.most_common()))
    print(
        f"  units finished at the time, of {RUNS_IN_ALL}: "
        + ", ".join(f"{units}: {count}" for units, count in sorted(progress.items()))
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
