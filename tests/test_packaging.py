"""The package as its users get it: a namespace out of several roots, and a wheel with everything in it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from tests.pipeline.recorded import Packet, write_capture
from tests.support.light_install import EXTRAS

ROOT = Path(__file__).parents[1]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
ROOTS: list[str] = BUILD["dev-mode-dirs"]


def test_every_root_is_built() -> None:
    """A folder that holds a part of the namespace is in the editable install and in the wheel."""
    holding = {path.parent.name for path in ROOT.glob("*/peerproof")}

    assert set(ROOTS) == holding
    assert BUILD["targets"]["wheel"]["packages"] == [f"{root}/peerproof" for root in ROOTS]


@pytest.mark.parametrize("root", ROOTS)
def test_no_root_holds_an_init_of_the_namespace(root: str) -> None:
    """One `peerproof/__init__.py` would hide the other roots (PEP 420)."""
    assert (ROOT / root / "peerproof").is_dir()
    assert not (ROOT / root / "peerproof" / "__init__.py").exists()


@pytest.mark.parametrize("root", ROOTS)
def test_every_folder_with_modules_below_a_root_is_a_package(root: str) -> None:
    """Below the namespace there is no second namespace: a forgotten `__init__.py` would escape mypy and the wheel's users."""
    packages = {module.parent for module in (ROOT / root / "peerproof").glob("*/**/*.py")}

    assert packages
    assert [str(package) for package in sorted(packages) if not (package / "__init__.py").exists()] == []


@pytest.mark.parametrize("root", ROOTS)
def test_every_package_says_that_it_is_typed(root: str) -> None:
    """Without the marker, type checkers ignore an installed package (PEP 561); in a namespace each package has its own."""
    packages = [path.parent for path in (ROOT / root / "peerproof").glob("*/__init__.py")]

    assert packages
    assert [str(package) for package in packages if not (package / "py.typed").is_file()] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as an installer would."""
    into = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(into), str(ROOT))
    (built,) = into.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_holds_all_roots_and_all_vectors(wheel: Path) -> None:
    """What the suite reads from files beside the packages goes into the wheel."""
    names = set(zipfile.ZipFile(wheel).namelist())
    vectors = {path.relative_to(ROOT / "conformance").as_posix() for path in (ROOT / "conformance/vectors").rglob("*.yaml")}

    assert vectors
    assert {f"peerproof/conformance/data/{name}" for name in vectors} <= names
    assert {"peerproof/spec/core.py", "peerproof/cli/main.py", "peerproof/reference/harness/harness.py"} <= names
    assert "peerproof/__init__.py" not in names


@pytest.mark.slow
def test_wheel_holds_the_clauses_and_the_models_of_all_protocols(wheel: Path) -> None:
    """What `explain`, `coverage` and `model-check` read."""
    names = set(zipfile.ZipFile(wheel).namelist())
    clauses = {path.name for path in (ROOT / "spec").glob("*.md")}
    models = {
        path.relative_to(ROOT / "tla").as_posix()
        for path in (ROOT / "tla").rglob("*")
        if path.suffix in (".tla", ".json") or path.name.endswith("Trace.cfg")
    }

    assert len(clauses) >= 5
    assert {f"peerproof/conformance/data/clauses/{name}" for name in clauses} <= names
    assert {name for name in names if name.startswith("peerproof/tla/models/") and not name.endswith((".class", ".java"))} == {
        f"peerproof/tla/models/{name}" for name in models
    }


@pytest.mark.slow
def test_wheel_holds_the_templates_of_the_pages(wheel: Path) -> None:
    """With their stylesheets and scripts."""
    names = set(zipfile.ZipFile(wheel).namelist())
    root = ROOT / "conformance"
    templates = {
        path.relative_to(root).as_posix() for path in (root / "peerproof").rglob("*") if path.suffix in (".j2", ".css", ".js")
    }

    assert "peerproof/conformance/report/html/base.html.j2" in templates
    assert templates <= names


@pytest.mark.slow
def test_wheel_in_a_fresh_environment_judges_the_reference(wheel: Path, tmp_path: Path) -> None:
    """Without the source tree at hand: the command is there, the vectors load, and a verdict comes out."""
    venv.create(tmp_path / "fresh", symlinks=True)
    python = str(tmp_path / "fresh/bin/python")
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", str(wheel))
    peerproof = str(tmp_path / "fresh/bin/peerproof")

    assert "Does this implementation do what the protocol says?" in _run(peerproof, "--help", cwd=tmp_path)
    assert _run(peerproof, "vectors", "list", cwd=tmp_path).count("scuttlebutt/") >= 150
    assert "B-14" in _run(peerproof, "explain", "B-14", cwd=tmp_path)
    _run(peerproof, "run", "-k", "clause:B-14", cwd=tmp_path)
    _check_recordings(peerproof, python, tmp_path)


def _check_recordings(peerproof: str, python: str, folder: Path) -> None:
    """With the base dependencies only, traces are checked, and captures are judged and drawn."""
    absent = f"import importlib.util as u; print([name for name in {EXTRAS} if u.find_spec(name)])"
    capture = folder / "cluster.pcap"
    write_capture(capture, [Packet(1000.0, 8119, 8120, bytes.fromhex("01 03613a31 0000000000000002"))])

    assert _run(python, "-c", absent, cwd=folder) == "[]\n"
    for trace in sorted((ROOT / "conformance/examples").glob("*.jsonl")):
        _run(peerproof, "trace", "check", str(trace), cwd=folder, code=int(trace.stem.endswith("newest-first")))
    assert "2 nodes: 2 accepted" in _run(peerproof, "run", "--pcap", str(capture), "scuttlebutt", cwd=folder)
    assert "digest_request [a:1 2]" in _run(peerproof, "trace", "draw", str(capture), "--protocol", "scuttlebutt", cwd=folder)


def _run(*command: str, cwd: Path = ROOT, code: int = 0) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == code, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
