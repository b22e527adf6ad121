"""The library under the commands: public names are documented, their examples are true, and loading them is lazy."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.support.captures import ROUND, capture

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/how-to/use-as-a-library.md"

#: Every package that lists its public names in a stub, and all that list them.
STUBS = sorted(
    ".".join(stub.relative_to(ROOT).parts[1:-1])
    for part in ("reference", "conformance")
    for stub in ROOT.glob(f"{part}/peerproof/**/__init__.pyi")
)
PACKAGES = [*STUBS, "peerproof.tla"]

#: Public names that have no example, and why.
WITHOUT_EXAMPLE = {
    "peerproof.conformance.authoring.find_counterexample": "it needs Java; tests/conformance/authoring/test_drawing.py",
    "peerproof.conformance.authoring.promote_finding": "it needs a finding; tests/conformance/fuzz/test_command.py",
    "peerproof.conformance.authoring.review_clauses": "it writes into the sources; tests/conformance/authoring/test_reviewed.py",
    "peerproof.conformance.models.generate_tables": "it writes the tables; tests/conformance/models/test_generation.py",
    "peerproof.conformance.models.record_digest": "it writes into the sources; tests/conformance/models/test_graph_check.py",
    "peerproof.conformance.models.report_edges": "it takes minutes",
    "peerproof.conformance.models.rewrite_vectors": "it writes into the source tree",
    "peerproof.conformance.mutation.load_mutant": "it changes the process; tests/conformance/mutation/test_trials.py",
    "peerproof.conformance.report.load_edges": "its file takes minutes to make; tests/conformance/report/test_html.py",
    "peerproof.conformance.report.load_scores": "its file takes minutes to make; tests/conformance/report/test_html.py",
    "peerproof.pipeline.stages.count_results": "it needs a batch of matrix; tests/pipeline/stages/test_matrix.py",
    "peerproof.pipeline.stages.count_verdicts": "it needs a batch of validate; tests/pipeline/stages/test_validate_runs.py",
    "peerproof.reference.harness.serve_stdio": "it serves until the end of its input; tests/reference/harness/test_harness.py",
    "peerproof.tla.find": "it needs Java; tests/tla",
}


def public(package: str) -> list[tuple[str, Any]]:
    """The public names of a package, and what they stand for."""
    module = import_module(package)
    return [(name, getattr(module, name)) for name in module.__all__]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists_and_has_a_docstring(package: str) -> None:
    """Constants are described where they are defined, by a comment."""
    names = public(package)

    assert names
    undocumented = [name for name, found in names if (inspect.isclass(found) or inspect.isfunction(found)) and not found.__doc__]
    assert undocumented == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_has_types(package: str) -> None:
    """Whoever calls it need not read its code."""
    functions = [found for _, found in public(package) if inspect.isfunction(found)]
    typed = [
        found
        for found in functions
        if all(name in found.__annotations__ for name in (*inspect.signature(found).parameters, "return"))
    ]

    assert typed == functions


def test_names_are_loaded_when_they_are_used() -> None:
    """To import a package takes no module of it."""
    code = "import sys, peerproof.conformance.runner, peerproof.conformance.report; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert [name for name in loaded if name.startswith(("peerproof.conformance.runner.", "peerproof.conformance.report."))] == []


def blocks(page: Path) -> str:
    """What is typed on a page, and what is shown."""
    return "\n".join(re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


@pytest.mark.slow
def test_the_page_shows_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks are typed in their order."""
    monkeypatch.chdir(tmp_path)
    capture(tmp_path / "cluster.pcapng", *ROUND)
    said: list[str] = []
    session = doctest.DocTestParser().get_doctest(blocks(PAGE), {}, PAGE.name, str(PAGE), 0)

    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=said.append)

    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_has_an_example(package: str) -> None:
    """In its docstring, which pytest runs, or on the page, which the test above types."""
    typed = blocks(PAGE)
    lacking = [
        name
        for name, found in public(package)
        if inspect.isfunction(found)
        and ">>>" not in (found.__doc__ or "")
        and not re.search(rf"\b{name}\(", typed)
        and f"{package}.{name}" not in WITHOUT_EXAMPLE
    ]

    assert lacking == []


def test_commands_compute_no_verdict() -> None:
    """They neither replay nor explore nor run a case: they call what does."""
    below = re.compile(r"import .*\b(Worker|Trial|Campaign|Bench|Guided|explore|cases)\b")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "conformance/peerproof/cli").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if below.search(line) and path.name not in ("simulate.py",)  # its campaign is the plan that the options make
    ]

    assert found == []


def test_the_stub_is_what_is_public() -> None:
    """What a type checker sees and what there is at run time."""
    for package in STUBS:
        module: ModuleType = import_module(package)
        stub = Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
        assert re.findall(r'^    "(\w+)",$', stub, re.MULTILINE) == sorted(module.__all__, key=_ordered), package


def _ordered(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)
