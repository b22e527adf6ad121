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
from tests.support.tools import LEFT_OUT, leave_out, require
from tests.support.waiting import PATIENCE

from peerproof.cli.main import main
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.selection import select_vectors

RUNNER = RUNNERS / "rust"

#: Crates are compiled here, once. Cargo locks a folder while it builds in it.
_TARGETS = RUNNERS.parents[1] / "build/rust"
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
        shutil.copytree(locations.skeletons_root() / "rust", folder, dirs_exist_ok=True)
        shutil.copytree(RUNNER, Path(folder, "vectors"), ignore=shutil.ignore_patterns("target"))
        command = [cargo, "fetch", "--quiet"]
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines() or ["it fails without a word"])[-1].strip() if done.returncode else ""


def share_target(folder: Path) -> None:
    """Lets a crate in this folder compile where the others of this process do, so that its dependencies are there already."""
    target = _TARGETS / os.environ.get("PYTEST_XDIST_WORKER", "main")
    target.mkdir(parents=True, exist_ok=True)
    (folder / "target").symlink_to(target)


@cache
def verdicts_program() -> Path:
    """Builds the program that prints the verdicts on an implementation behind the adapter protocol."""
    target = _TARGETS / "runner"
    command = [require_rust(), "build", "--quiet", "--bin", "verdicts", "--target-dir", str(target)]
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
