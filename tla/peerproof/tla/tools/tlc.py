"""
Running TLC.

Each run has a temporary folder of its own for configuration, queue and other files, so that runs do not disturb each other. It
ends with a `Result`, if TLC has printed all that belongs to a finished run, or with a `RunFailed`, which says why there is no
verdict. The exit code alone never decides.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from threading import Timer

from peerproof.tla.output import tlc_messages
from peerproof.tla.output.outcome import Progress, Report, Result, RunFailed, Simulated, TimedOut, progress, states_generated
from peerproof.tla.tools.installation import Tools


@dataclass(frozen=True, slots=True)
class Walks:
    """Random walks, instead of exploring all states."""

    number: int
    length: int  #: maximum steps of a walk
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The input and the options of a run of TLC."""

    module: Path  #: the root module
    configuration: str  #: the text of its .cfg
    library: tuple[Path, ...] = ()  #: folders with further modules
    classes: tuple[Path, ...] = ()  #: folders with classes that define operators, and the files that these read
    workers: int = 1  #: with more than one, the order of a dump and the length of a counterexample vary
    heap_megabytes: int = 2048
    stack_megabytes: int = 16
    brief: bool = False  #: takes only seconds: run Java without optimizing compiler and parallel garbage collector
    coverage: bool = False  #: count the steps of each action
    dump: Path | None = None  #: file for the state graph, written if there is a result; the name must end in .dot
    seconds: float | None = None  #: time limit
    walks: Walks | None = None


def run(
    tools: Tools,
    what: Run,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_line: Callable[[str], None] = lambda _: None,
) -> Result:
    """Runs TLC to its end; `on_line` gets the output of the model. The Java process is always ended, also by an exception."""

    def on_message(message: tlc_messages.Message) -> None:
        if message.code == tlc_messages.PROGRESS:
            on_progress(progress(message.text))
        elif message.code == 0:
            on_line(message.text)

    return execute(tools, what, on_message).result()


def simulate(tools: Tools, what: Run, on_states: Callable[[int], None] = lambda _: None) -> Simulated:
    """Runs random walks. A violation found is real; finding none proves nothing. Raises `outcome.RunFailed`."""

    def on_message(message: tlc_messages.Message) -> None:
        if message.code == tlc_messages.SIMULATION_PROGRESS:
            on_states(states_generated(message.text))

    return execute(tools, what, on_message).simulation_result()


def execute(tools: Tools, what: Run, on_message: Callable[[tlc_messages.Message], None]) -> Report:
    """Runs TLC and returns its report. The dump is kept if there is a result."""
    if what.dump is not None and what.dump.suffix != ".dot":
        raise ValueError(f"TLC would add .dot to {what.dump}")
    try:
        folder = Path(tempfile.mkdtemp(prefix="peerproof-tlc-"))
    except OSError as problem:
        raise RunFailed(f"cannot create a temporary folder for TLC: {problem.strerror or problem}") from problem
    try:
        (folder / "model.cfg").write_text(what.configuration, encoding="utf-8")
        (folder / "tmp").mkdir()
        report = _watch(command(tools, what, folder), folder, what.seconds, on_message)
        if what.dump is not None:
            report.result()
            try:
                shutil.move(folder / "graph.dot", what.dump)
            except OSError as problem:
                raise RunFailed(f"cannot write the state graph to {what.dump}: {problem.strerror or problem}") from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


def command(tools: Tools, what: Run, folder: Path) -> list[str]:
    """Returns the command line. `-deadlock` turns off deadlock checking; `-cleanup` would delete files of other runs, too."""
    library = (what.module.parent.resolve(), *(path.resolve() for path in what.library))
    java = [
        tools.java,
        *(("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") if what.brief else ("-XX:+UseParallelGC",)),
        f"-Xmx{what.heap_megabytes}m",
        f"-Xss{what.stack_megabytes}m",
        f"-Djava.io.tmpdir={folder / 'tmp'}",  # the standard modules are unpacked there, under the same names in every run
        "-DTLA-Library=" + ":".join(map(str, library)),
    ]
    tlc = ["-tool", "-deadlock", "-fp", "0", "-workers", str(what.workers), "-metadir", str(folder / "meta")]
    if what.walks is not None:
        number, length, seed = map(str, (what.walks.number, what.walks.length, what.walks.seed))
        tlc += ["-simulate", f"num={number}", "-depth", length, "-seed", seed]
    if what.coverage:
        tlc += ["-coverage", "60"]
    if what.dump is not None:
        tlc += ["-dump", "dot,actionlabels", "graph.dot"]
    classes = ":".join(map(str, (*what.classes, tools.jar)))
    return [*java, "-cp", classes, "tlc2.TLC", *tlc, "-config", "model.cfg", what.module.stem]


def _watch(line: list[str], folder: Path, seconds: float | None, on_message: Callable[[tlc_messages.Message], None]) -> Report:
    try:
        process = subprocess.Popen(line, cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")
    except OSError as problem:
        raise RunFailed(f"{line[0]} cannot be started: {problem}") from problem
    has_expired = False

    def expire() -> None:
        nonlocal has_expired
        has_expired = True
        process.kill()

    timer = Timer(seconds or 0, expire)
    timer.daemon = True
    said: list[tlc_messages.Message] = []
    with process:
        assert process.stdout is not None
        if seconds is not None:
            timer.start()
        try:
            for message in tlc_messages.read(process.stdout):
                said.append(message)
                on_message(message)
            exit_code = process.wait()
        finally:
            timer.cancel()
            process.kill()  # if it still runs; its files are deleted with the folder
            process.wait()
    if has_expired:
        raise TimedOut(f"TLC had no verdict after {seconds:g} s; allow more time, or use a smaller model")
    return Report(tuple(said), exit_code)
