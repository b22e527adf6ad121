"""The native runners of bundles, and the Python runner: the verdicts of both on the same implementation."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from tests.support.catching import suite
from tests.support.javascript import ADAPTERS
from tests.support.shared import made_once
from tests.support.tools import LEFT_OUT, leave_out, require
from tests.support.waiting import PATIENCE

from peerproof.cli.main import main
from peerproof.conformance.bundles.bundle_file import bundle_text
from peerproof.conformance.runner.cases import select_cases

RUNNERS = ADAPTERS.parent / "runners"
PROGRAMS = Path(__file__).parents[1] / "conformance/runners"  #: in Java, around the runner
GO = 1, 21  #: the oldest Go with what the runner uses; `go.mod` has it too


class Verdict(NamedTuple):
    """What a runner says of a case."""

    status: str
    failure: str | None
    decisions: tuple[str, ...]


Verdicts = dict[str, Verdict]


@cache
def bundle(protocol: str) -> Path:
    """The bundle of a protocol, written once for all tests."""
    name = f"{protocol}.json"

    def write(folder: Path) -> None:
        (folder / name).write_text(bundle_text(suite(), protocol), encoding="utf-8")

    return made_once(f"bundle-{protocol}", write) / name


def parse_verdicts(lines: str) -> Verdicts:
    """Verdicts from lines of JSON, those of native runners or those of `peerproof run --format jsonl`."""
    return verdicts_of(row.get("case", row) for row in map(json.loads, filter(None, lines.split("\n"))))


def verdicts_of(rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """Verdicts from records of cases; others are left out."""
    return {
        row["id"]: Verdict(row["status"], row.get("failure") or None, tuple(row.get("decisions") or ()))
        for row in rows
        if "status" in row
    }


@cache
def part_of_bundle(protocol: str, *layers: str) -> Path:
    """The same with the vectors of some layers only, and without those made from models."""
    found = json.loads(bundle(protocol).read_bytes())
    vectors = [vector for vector in found["vectors"] if vector["id"].split("/")[1] in layers]
    path = Path(mkdtemp()) / f"{protocol}-{'-'.join(layers)}.json"
    path.write_text(json.dumps({**found, "vectors": vectors, "tables": []}), encoding="utf-8")
    return path


def of_python(protocol: str, implementation: str, report: Path, *options: str) -> Verdicts:
    """The verdicts of `peerproof run`."""
    command = ["run", protocol, "--impl", implementation, "--format", "jsonl", "--output", str(report), "-q", *options]
    assert main(command) in (0, 1)
    return parse_verdicts(report.read_text("utf-8"))


def of_reference(protocol: str) -> Verdicts:
    """The verdicts of `peerproof run` on the reference, which passes all cases: `test_the_reference_passes_all_vectors`."""
    return {case.id: Verdict("passed", None, ()) for case in select_cases(suite(), protocol=protocol)}


def of_javascript(bundle: Path, *ports: Path) -> list[Verdicts]:
    """The verdicts of the runner in JavaScript on each port in these folders, all in one process."""
    plugs = [str(port / "plug.mjs") for port in ports]
    rows = [
        json.loads(line) for line in _output([require("node"), RUNNERS / "javascript/verdicts.mjs", bundle, *plugs]).splitlines()
    ]
    return [verdicts_of(row for row in rows if row["plug"] == plug) for plug in plugs]


def require_go() -> str:
    """Where Go is; the test is left out if it is older than the runner needs."""
    program = require("go")
    version = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < GO:
        leave_out(f"{LEFT_OUT}Go {GO[0]}.{GO[1]}, only {version}: https://go.dev/dl")
    return program


def build_go(folder: Path, package: str) -> Path:
    """Builds a program of the runner in Go, or of a copy of it."""
    program = folder / "program"
    subprocess.run([require_go(), "build", "-o", program, package], cwd=folder, check=True, capture_output=True)
    return program


def build_go_with(folder: Path, module: str, right: str, wrong: str) -> Path:
    """Builds the implementation of Scuttlebutt in Go with something replaced in one of its modules."""
    source = RUNNERS / "go/scuttlebutt" / module
    text = source.read_text("utf-8")
    assert text.count(right) == 1, f"{right!r} is no longer in {module}"
    (folder / module).write_text(text.replace(right, wrong), encoding="utf-8")
    overlay, program = folder / "overlay.json", folder / "program"
    overlay.write_text(json.dumps({"Replace": {str(source): str(folder / module)}}), encoding="utf-8")
    command: list[str | Path] = [require_go(), "build", "-overlay", overlay, "-o", program, "./scuttlebutt/cmd"]
    subprocess.run(command, cwd=RUNNERS / "go", check=True, capture_output=True)
    return program


def copy_go(folder: Path) -> Path:
    """A copy of the runner in Go, with the implementation beside it."""
    return Path(shutil.copytree(RUNNERS / "go", folder / "go", ignore=shutil.ignore_patterns("testdata")))


def of_go(program: Path, *arguments: str | Path) -> Verdicts:
    """The verdicts that such a program prints."""
    return parse_verdicts(_output([program, *arguments]))


def selected_bundle(protocol: str, folder: Path, is_wanted: Callable[[str], bool]) -> Path:
    """A bundle of the vectors with these ids, without tables, which takes less time."""
    found = json.loads(bundle(protocol).read_bytes())
    vectors = [vector for vector in found["vectors"] if is_wanted(vector["id"])]
    path = folder / f"{protocol}.json"
    path.write_text(json.dumps({**found, "vectors": vectors, "tables": []}), encoding="utf-8")
    return path


def maven(folder: Path, *goals: str) -> subprocess.CompletedProcess[str]:
    """What comes of goals of Maven; the test is left out if it cannot reach Maven Central."""
    require("javac")
    command = [require("mvn"), "--batch-mode", *goals]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE)
    require_maven_central(done.stdout)
    return done


def require_maven_central(said: str) -> None:
    """Leaves the test out if Maven said that it cannot reach Maven Central."""
    if re.search(r"Could not (transfer|find) artifact|Unknown host|resolution will not be reattempted", said):
        leave_out(f"{LEFT_OUT}Maven Central: connect this machine to the network")


def begin_java(folder: Path, protocol: str) -> Path:
    """The template in Java, with the runner and the bundle of a protocol, as `peerproof init` writes them."""
    assert main(["init", "--lang", "java", protocol, "--name", "my-node", str(folder)]) == 0
    return folder


@cache
def _java_classes() -> str:
    """The class path of the runner in Java, and of the programs of tests beside it, compiled once for all tests."""

    def build(folder: Path) -> None:
        done = maven(begin_java(folder / "mine", "scuttlebutt"), "-DskipTests", "package")
        assert done.returncode == 0, done.stdout
        classes, libraries = folder / "mine/target/classes", folder / "mine/target/lib/*"
        compiler = [require("javac"), "-J-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{libraries}", "-d", str(classes)]
        subprocess.run([*compiler, *map(str, PROGRAMS.glob("*.java"))], check=True)

    folder = made_once("java-runner", build) / "mine"
    return f"{folder}/target/classes:{folder}/target/lib/*"


def java(program: str, *arguments: str | Path) -> list[str]:
    """The command that runs a class of the runner, or a program of tests, in a Java that starts fast."""
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return [require("jdk"), *quick, "-cp", _java_classes(), program, *map(str, arguments)]


def of_java(path: Path, *commands: Sequence[str | Path]) -> list[Verdicts]:
    """The verdicts of the runner in Java on programs behind the adapter protocol."""
    command = java("peerproof.vectors.Verdicts", path)
    programs = "".join(json.dumps(list(map(str, words))) + "\n" for words in commands)
    done = subprocess.run(command, input=programs, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return [parse_verdicts(each) for each in done.stdout.split("\n\n")[:-1]]


def _output(command: list[str | Path]) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout
