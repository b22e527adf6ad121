"""The documentation says what the code says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import redirect_stdout
from importlib import import_module
from io import BytesIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_adapter_reference import generate
from tests.test_library import PACKAGES, public

from peerproof.cli.commands import command_names
from peerproof.cli.main import main
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.runner.result import STATUSES
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.vectors.suite import load
from peerproof.reference.harness.harness import Harness
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.tla.manifest import configurations, models

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("spec/*.md"), *(ROOT / "docs").glob("**/*.md")])

#: A page that shows what happens if names are misspelt.
MISSPELT = ROOT / "docs/how-to/troubleshooting.md"

_DEFINITION = re.compile(r"^- \*\*([A-Z]{1,2}-\d{2,3})\*\* ", re.MULTILINE)
_MENTION = re.compile(r"(?<![\w-])([A-Z]{1,2}-\d{2,3})(?!\d)")
_PICTURE = re.compile(r"<!-- model ([\w-]+) -->")
_MADE = re.compile(r"<!-- (?:model|run|vector) [^>]*-->\n.*?<!-- end -->", re.DOTALL)
_MAP = re.compile(r"<!-- map: [a-z.]+ -->.*?<!-- end -->", re.DOTALL)
_CONSOLE = re.compile(r"```console\n.*?```", re.DOTALL)
_INCLUDED = re.compile(r"^::: (\S+)$", re.MULTILINE)


def output(*arguments: str, allowed: Collection[int] = (0,)) -> str:
    """What a command prints, which must end with one of these codes."""
    printed = BytesIO()
    with redirect_stdout(TextIOWrapper(printed, "utf-8", write_through=True)):
        assert main(list(arguments)) in allowed
        return printed.getvalue().decode()


@pytest.mark.slow
def test_reference_pages_are_generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command's help, each message's members and each clause are in them. The commands are asked in this process."""
    monkeypatch.setattr(generate, "output", output)
    monkeypatch.setattr("sys.argv", ["docs/generate.py", "--into", str(tmp_path)])
    for name, value in (("COLUMNS", generate.HELP_WIDTH), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)

    assert generate.main() == 0

    made = {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in tmp_path.rglob("*.md")}
    commands, library = ("".join(made[name] for name in made if name.startswith(f"{part}/")) for part in ("commands", "library"))
    assert all(f"usage: peerproof {name}" in commands for name in command_names())
    kept = {name: (ROOT / "docs/reference" / name).read_text("utf-8") for name in made if name.startswith("messages")}
    assert kept == {name: made[name] for name in kept}, "stale: python docs/generate.py makes it anew"
    for name, protocol in RUNTIMES.items():
        assert all(f"`{case}`" in made[f"messages/{name}.md"] for case in protocol.specification().MESSAGE.form.cases)
        assert all(f"| {clause.id} |" in made[f"clauses/{name}.md"] for clause in catalogue.load(name).with_level)
    assert all(re.search(rf"(^### |\.){name}$", library, re.MULTILINE) for package in PACKAGES for name, _ in public(package))


@pytest.mark.parametrize("protocol", RUNTIMES)
def test_every_constant_and_replaced_definition_of_a_model_is_explained(protocol: str) -> None:
    rows = [line.strip("| ").split(" | ") for line in generate.constants_of(protocol) if line.startswith("| `")]
    constants = {name for configuration in configurations(protocol).values() for name in configuration.constants}
    replaced = {name for model in models(protocol) for name in model.replace}

    assert constants | replaced == {row[0].strip("`") for row in rows}
    assert [row for row in rows if not row[2]] == []


@pytest.mark.slow
def test_pages_show_what_the_models_make() -> None:
    """To make them again: python docs/models.py."""
    done = subprocess.run([sys.executable, ROOT / "docs/models.py", "--check"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr or "stale"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_message_graph_is_made_from_a_vector_or_a_model(page: Path) -> None:
    """What stands between marks is checked above; nobody draws by hand."""
    by_hand = _MAP.sub("", _MADE.sub("", page.read_text(encoding="utf-8")))

    assert "```mermaid" not in by_hand
    assert "sequenceDiagram" not in _CONSOLE.sub("", by_hand)


@pytest.mark.parametrize("protocol", RUNTIMES)
def test_page_shows_every_counterexample(protocol: str) -> None:
    """But those of what is only claimed so that it fails: that something interesting never happens."""
    page = (ROOT / f"docs/explanation/counterexamples-{protocol}.md").read_text(encoding="utf-8")
    negative = {model.name for model in models(protocol) if model.verdict != "success"}

    assert set(_PICTURE.findall(page)) == {name for name in negative if not name.startswith("sometimes-")}


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")]

    assert [page for page in pages if f": {page}\n" not in navigation] == []


@pytest.mark.parametrize("protocol", RUNTIMES)
def test_included_objects_exist(protocol: str) -> None:
    """Prose includes code by object name; a name that is gone fails here, and in `make docs`."""
    included = _INCLUDED.findall((ROOT / f"spec/{protocol}.md").read_text(encoding="utf-8"))

    assert included
    for name in included:
        module, _, member = name.rpartition(".")
        assert hasattr(import_module(module), member), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_mentioned_clauses_exist(page: Path) -> None:
    """A clause that prose mentions is defined in some protocol's specification."""
    known = {clause for protocol in RUNTIMES for clause in clauses_of(protocol)}
    prefixes = {clause.split("-")[0] for clause in known}
    mentioned = {clause for clause in _MENTION.findall(page.read_text(encoding="utf-8")) if clause.split("-")[0] in prefixes}

    assert mentioned - known == ({"B-999", "BD-99"} if page == MISSPELT else set())


def is_command(name: str, word: str) -> bool:
    """Whether that is a command, which takes the word as it likes, or a group and a command of it."""
    known = command_names()
    groups = {known_name.partition(" ")[0] for known_name in known if " " in known_name}
    return f"{name} {word}" in known if name in groups and word else name in {*known, *groups}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_commands_and_files_exist(page: Path) -> None:
    """`peerproof X`, `make X` and `path/to/file` in prose are there."""
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    files = re.findall(r"`((?:spec|tla|conformance|reference|tests|docs)/[\w./-]+)`", text)

    named = re.findall(r"(?:`|\$ |^)peerproof ([a-z][a-z-]+)(?: ([a-z-]+))?", text, re.MULTILINE)
    assert [(name, word) for name, word in named if not is_command(name, word)] == ([("list", "")] if page == MISSPELT else [])
    assert set(re.findall(r"(?:`|\$ |^)make ([a-z-]+)", text, re.MULTILINE)) <= set(targets)
    assert [name for name in files if not (ROOT / name).exists() and not name.startswith("docs/reference")] == []


def test_every_status_and_class_of_failure_is_explained() -> None:
    """Each word that a report can hold has its row; that of a class of failures begins with the text of the report."""
    page = (ROOT / "docs/explanation/failing-vector.md").read_text(encoding="utf-8")
    rows = {**dict.fromkeys(STATUSES, ""), **FAILURES}

    assert [word for word, text in rows.items() if f"| `{word}` | {text}" not in page] == []


def test_adapter_page_shows_what_the_reference_answers() -> None:
    """The requests of the page, in their order, get the replies of the page."""
    page = (ROOT / "docs/how-to/write-an-adapter.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL) for line in objects(block)]
    harness = Harness()
    tried = set()
    for request, reply in pairwise(lines):
        if request.get("op") in ("encode", "decode", "open", "call", "recv", "query"):
            actual = harness.handle(request, lambda _: [])
            for shown in (actual, reply):
                shown.get("rejected", {}).pop("message", None)
            assert actual == reply
            tried.add(request["op"])

    assert tried == {"encode", "decode", "open", "call", "recv", "query"}


def test_vector_page_shows_a_vector_file(tmp_path: Path) -> None:
    """The file on the page loads."""
    page = (ROOT / "docs/how-to/write-a-vector.md").read_text(encoding="utf-8")
    (tmp_path / "scuttlebutt/exchange").mkdir(parents=True)
    (tmp_path / "scuttlebutt/exchange/example.yaml").write_text(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0], "utf-8")

    (vector,) = load(tmp_path).vectors

    assert vector.needs == ("api.update_local", "exchange", "observe.peers")


@pytest.mark.slow
def test_example_adapter_passes_and_fails_as_the_tutorial_says(tmp_path: Path) -> None:
    """It passes what it offers; with versions packed the wrong way round it fails, and the report shows the first difference."""
    example = ROOT / "docs/how-to/codec_adapter.py"
    broken = tmp_path / "mine.py"
    broken.write_text(example.read_text(encoding="utf-8").replace('struct.pack(">Q"', 'struct.pack("<Q"'), encoding="utf-8")

    output("doctor", "--impl", f"'{sys.executable}' '{example}'")
    good = output("run", "--impl", f"'{sys.executable}' '{example}'", "-k", "layer:codec")
    bad = output("run", "--impl", f"'{sys.executable}' '{broken}'", "-k", "layer:codec", allowed=(1,))

    assert "FAILED" not in good
    assert "FAILED scuttlebutt/codec/digest-request-of-one#encode" in bad
    assert re.search(r"first difference: bytes, from byte \d+", bad)


def objects(text: str) -> Iterator[Any]:
    """The JSON objects that stand one after the other in a text."""
    at = 0
    while at < len(text.rstrip()):
        value, at = json.JSONDecoder().raw_decode(text, at)
        yield value
        at += len(text[at:]) - len(text[at:].lstrip())


def clauses_of(protocol: str) -> list[str]:
    """The ids that a specification defines."""
    return _DEFINITION.findall((ROOT / f"spec/{protocol}.md").read_text(encoding="utf-8"))


def test_map_of_the_code_is_that_of_its_imports() -> None:
    """The diagrams of the architecture page, and the table of folders in CONTRIBUTING.md."""
    done = subprocess.run([sys.executable, ROOT / "docs/architecture.py", "--check"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
