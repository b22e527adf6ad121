"""
Running TLC.

A run has a folder of its own, with its configuration, its queue and its temporary files, which goes away with it; so
runs do not disturb each other. It ends with a `Result`, when TLC has said all that a finished run says, or with a
`RunFailed`, which says why there is no verdict. There is no third: an exit code alone is never believed.
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
    """Random walks instead of all states."""

    number: int
    length: int  #: steps of each, at most
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What TLC is to check, and with what means."""

    module: Path  #: the root module
    configuration: str  #: the text of its .cfg
    library: tuple[Path, ...] = ()  #: folders with further modules
    classes: tuple[Path, ...] = ()  #: folders with classes that define operators, and what these read
    workers: int = 1  #: with more than one, neither the order of a dump nor the length of a counterexample is certain
    heap_megabytes: int = 2048
    stack_megabytes: int = 16
    brief: bool = False  #: over in seconds: it is not worth while that Java compiles well and collects in parallel
    coverage: bool = False  #: count what each action does
    dump: Path | None = None  #: write the state graph here, if the run succeeds; the name must end in .dot
    seconds: float | None = None  #: give up after this long
    walks: Walks | None = None


def run(
    tools: Tools,
    what: Run,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_line: Callable[[str], None] = lambda _: None,
) -> Result:
    """Runs TLC to its end; `on_line` gets what the model prints. Whatever ends this function ends the Java machine first."""

    def tell(message: tlc_messages.Message) -> None:
        if message.code == tlc_messages.PROGRESS:
            on_progress(progress(message.text))
        elif message.code == 0:
            on_line(message.text)

    return execute(tools, what, tell).result()


def simulate(tools: Tools, what: Run, on_states: Callable[[int], None] = lambda _: None) -> Simulated:
    """Walks at random: what that finds is real, what it misses is not. Raises `outcome.RunFailed` if it comes to no end."""

    def tell(message: tlc_messages.Message) -> None:
        if message.code == tlc_messages.SIMULATION_PROGRESS:
            on_states(states_generated(message.text))

    return execute(tools, what, tell).simulation_result()


def execute(tools: Tools, what: Run, on_message: Callable[[tlc_messages.Message], None]) -> Report:
    """What a run has said; its dump is kept if there is a result."""
    if what.dump is not None and what.dump.suffix != ".dot":
        raise ValueError(f"TLC would add .dot to {what.dump}")
    try:
        folder = Path(tempfile.mkdtemp(prefix="peerproof-tlc-"))
    except OSError as problem:
        raise RunFailed(f"TLC has no place to work in: {problem.strerror or problem}") from problem
    try:
        (folder / "model.cfg").write_text(what.configuration, encoding="utf-8")
        (folder / "tmp").mkdir()
        report = _watch(command(tools, what, folder), folder, what.seconds, on_message)
        if what.dump is not None:
            report.result()
            try:
                shutil.move(folder / "graph.dot", what.dump)
            except OSError as problem:
                raise RunFailed(f"the state graph cannot be kept at {what.dump}: {problem.strerror or problem}") from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


def command(tools: Tools, what: Run, folder: Path) -> list[str]:
    """The command line. `-deadlock` switches the search for deadlocks off; `-cleanup` would clean up other runs, too."""
    library = (what.module.parent.resolve(), *(path.resolve() for path in what.library))
    java = [
        tools.java,
        *(("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC") if what.brief else ("-XX:+UseParallelGC",)),
        f"-Xmx{what.heap_megabytes}m",
        f"-Xss{what.stack_megabytes}m",
        f"-Djava.io.tmpdir={folder / 'tmp'}",  # where the standard modules are unpacked, under the same names in every run
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
            process.kill()  # if it still runs; it has nothing to lose: its files go away with its folder
            process.wait()
    if has_expired:
        raise TimedOut(f"TLC had no verdict after {seconds:g} s; give it more time, or a smaller model")
    return Report(tuple(said), exit_code)
