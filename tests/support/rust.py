"""The native runner in Rust: its crates, where they are compiled, and the verdicts of its program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from tests.support.catching import suite
from tests.support.native_runners import RUNNERS, Verdicts, bundle, parse_verdicts
from tests.support.shared import locked, own_folder
from tests.support.tools import LEFT_OUT, leave_out, require
from tests.support.waiting import PATIENCE

from peerproof.cli.main import main
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.selection import select_vectors

RUNNER = RUNNERS / "rust"

#: The template is compiled here, for this and for later runs, and with it all that crates of the tests depend on.
_COMPILED = RUNNERS.parents[1] / "build/rust"
_LOCK = _COMPILED / "lock"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in ("CARGO_TARGET_DIR", "RUST_BACKTRACE")},
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_TERM_COLOR": "never",
}


def require_rust() -> str:
    """Where Cargo is; the test is left out if it, or a crate of the runner or the template, cannot be had."""
    cargo = require("cargo")
    if problem := _fetch(cargo):
        leave_out(f"{LEFT_OUT}crates for Rust: let cargo reach its registry ({problem})")
    return cargo


@cache
def _fetch(cargo: str) -> str:
    """Downloads the crates of the template, which uses the runner; returns the last line of an error."""
    with TemporaryDirectory() as folder:
        _copy_template(Path(folder))
        command = [cargo, "fetch", "--quiet"]
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines() or ["it fails without a word"])[-1].strip() if done.returncode else ""


def _copy_template(folder: Path) -> None:
    """Copies the template and the runner in it, with the times of the files: to Cargo, those that were there are the same."""
    shutil.copytree(locations.skeletons_root() / "rust", folder, dirs_exist_ok=True)
    shutil.copytree(RUNNER, folder / "vectors", ignore=shutil.ignore_patterns("target"), dirs_exist_ok=True)


@cache
def _compiled() -> Path:
    """What Cargo makes of the template, for each of its commands."""
    crate, target = _COMPILED / "template", _COMPILED / "target"
    environment = {**ENVIRONMENT, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0"}
    with locked(_LOCK):
        _copy_template(crate)
        for arguments in ("build", "test --no-run", "check --all-targets"):
            command = [require_rust(), *arguments.split(), "--quiet"]
            subprocess.run(command, cwd=crate, env=environment, check=True, capture_output=True)
    return target


def begin_target(folder: Path) -> None:
    """Makes a folder in which Cargo can compile, unless it is there: what crates depend on is compiled already."""
    compiled = _compiled()
    with locked(_LOCK):
        if not folder.exists():
            shutil.copytree(compiled, folder)


def own_target() -> Path:
    """Where this process compiles crates."""
    target = own_folder("rust") / "target"
    begin_target(target)
    return target


def share_target(folder: Path) -> None:
    """
    Lets the crate in this folder compile where the others of this process do, one after the other.

    It moves to a place that is the same for all of them: Cargo compiles anew what lies in another folder.
    """
    place = own_folder("rust") / "crate"
    shutil.rmtree(place, ignore_errors=True)
    shutil.move(folder, place)
    (place / "target").symlink_to(own_target())
    folder.symlink_to(place)


@cache
def verdicts_program() -> Path:
    """Builds the program that prints the verdicts on an implementation behind the adapter protocol."""
    target = _compiled()
    command = [require_rust(), "build", "--quiet", "--bin", "verdicts", "--target-dir", str(target)]
    with locked(_LOCK):
        subprocess.run(command, cwd=RUNNER, env=ENVIRONMENT, check=True, capture_output=True)
    return target / "debug/verdicts"


@cache
def selected_bundle(protocol: str, words: str) -> Path:
    """The bundle of the vectors that an expression selects, as `peerproof run -k` does."""
    chosen = {vector.id for vector in select_vectors(suite(), words, protocol)}
    found = json.loads(bundle(protocol).read_bytes())
    tables = [{**table, "vectors": _chosen(table["vectors"], chosen)} for table in found["tables"]]
    path = Path(mkdtemp(), f"{protocol}.json")
    path.write_text(json.dumps({**found, "vectors": _chosen(found["vectors"], chosen), "tables": tables}), encoding="utf-8")
    return path


def _chosen(vectors: list[dict[str, Any]], ids: set[str]) -> list[dict[str, Any]]:
    return [vector for vector in vectors if vector["id"] in ids]


def of_rust(protocol: str, words: str, *command: str) -> Verdicts:
    """The verdicts of the runner in Rust on an adapter and the vectors that an expression selects."""
    program = [str(verdicts_program()), str(selected_bundle(protocol, words)), *command]
    done = subprocess.run(program, env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return parse_verdicts(done.stdout)


def of_python(protocol: str, words: str, implementation: str, report: Path) -> Verdicts:
    """The verdicts of `peerproof run` on the same vectors."""
    arguments = ["--impl", implementation, "--format", "jsonl", "--output", str(report), "-q"]
    assert main(["run", protocol, "-k", words, *arguments]) in (0, 1)
    return parse_verdicts(report.read_text("utf-8"))
