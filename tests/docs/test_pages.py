"""The pages are true: a test types what stands in their blocks of `console`, in their order, and sees what they show."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.recorded import Packet, write_capture
from tests.support.tools import require
from tests.support.walkthrough import InTerminal, Reader, Step, Typed, steps, with_free_ports

from peerproof.cli.main import main

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs/quick-start", "docs/tutorial", "docs/how-to", "docs/explanation")
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))]

#: Pages with needs of their own, and what types them.
ELSEWHERE = {
    "docs/how-to/draw-a-message-graph.md": "tests/conformance/authoring/test_drawing_page.py",
    "docs/how-to/foreign-implementations.md": "tests/conformance/adapters/test_adapter_distkv_pypi.py",
    **{
        f"docs/how-to/test-a-{language}-implementation.md": "tests/conformance/authoring/test_skeleton_pages.py"
        for language in ("go", "java", "javascript", "python", "rust")
    },
}

INSTALLS = "it changes the environment that the tests run in"
MINUTES = "it takes minutes; `make test` or `make long` does the same"
CLUSTER = "it needs a cluster; tests/pipeline starts one"
CAPTURES = "it needs the rights of an administrator"

#: A file of the source tree as part of a page.
_INCLUDE = re.compile(r'^--8<-- "([^"]+)"$', re.MULTILINE)

#: Commands that are not typed, by their beginnings, and why.
UNTYPED = {
    ("README.md", "make run"): "it takes minutes; .ci/run runs it",
    ("README.md", "make test"): MINUTES,
    ("README.md", "make demo-pipeline"): "it takes minutes; docs/how-to/pipeline.md has what it does",
    ("README.md", ".venv/bin/pip install -e"): INSTALLS,
    ("README.md", "python3 -m venv .venv"): INSTALLS,
    ("README.md", ".venv/bin/peerproof model check"): MINUTES,
    ("README.md", ".venv/bin/peerproof model graph swim"): MINUTES,
    ("README.md", ".venv/bin/peerproof model mutants"): MINUTES,
    ("README.md", ".venv/bin/peerproof pipeline run"): "it starts Spark; docs/how-to/pipeline.md does so too",
    ("README.md", ".venv/bin/peerproof model prove"): MINUTES,
    ("README.md", ".venv/bin/peerproof vectors generate --check"): MINUTES,
    ("docs/quick-start/check-a-cluster.md", "pip install"): INSTALLS,
    ("docs/quick-start/fuzz-in-ci.md", "pip install"): INSTALLS,
    ("docs/quick-start/model-check.md", "pip install"): INSTALLS,
    ("docs/quick-start/port-a-protocol.md", "pip install"): INSTALLS,
    ("docs/quick-start/test-an-implementation.md", "pip install"): INSTALLS,
    ("docs/tutorial/first-verdict.md", "python3 -m venv .venv"): INSTALLS,
    ("docs/tutorial/first-verdict.md", ". .venv/bin/activate"): INSTALLS,
    ("docs/tutorial/first-verdict.md", "pip install"): INSTALLS,
    (
        "docs/how-to/add-a-clause.md",
        "peerproof vectors lint --reviewed",
    ): "it writes into the source tree; tests/conformance/authoring/test_reviewed.py",
    ("docs/how-to/fuzz.md", "pip install 'peerproof[fuzz]'"): INSTALLS,
    ("docs/how-to/fuzz.md", "pip install 'peerproof[fuzz-bytes]'"): INSTALLS,
    ("docs/how-to/fuzz.md", "peerproof fuzz scuttlebutt --bytes"): "it needs atheris; tests/conformance/fuzz/test_bytes.py",
    ("docs/how-to/ingest-logs.md", "sudo tcpdump -i any -s 0 -w cluster.pcap"): CAPTURES,
    ("docs/how-to/ingest-logs.md", "sudo tcpdump -i any -s 0 -w ring.pcap"): CAPTURES,
    (
        "docs/how-to/fuzz-in-ci.md",
        "peerproof fuzz scuttlebutt --impl './adapter'",
    ): "it takes twenty minutes; fuzz.md has the same",
    ("docs/how-to/judge-a-capture.md", "tcpdump"): CAPTURES,
    (
        "docs/explanation/document-or-decision.md",
        "peerproof vectors lint --",
    ): "it takes minutes; tests/conformance/authoring/test_reading_experiment.py",
    (
        "docs/explanation/mixed-clusters.md",
        "python -m tests.pipeline.silences",
    ): "its capture lies beside the repository; tests/pipeline/captures/test_originals.py has the same figures",
    ("docs/how-to/pipeline.md", "pip install"): INSTALLS,
    ("docs/how-to/pipeline.md", "peerproof pipeline run node*.jsonl --output /shared/out --master"): CLUSTER,
    ("docs/how-to/pipeline.md", "peerproof pipeline run node*.jsonl --output /shared/out --remote"): CLUSTER,
    ("docs/how-to/pipeline.md", "peerproof pipeline run --simulate swim --runs 1000"): MINUTES,
    ("docs/how-to/pipeline.md", "peerproof pipeline matrix"): MINUTES,
    ("docs/how-to/run-distkv.md", "serf agent -node=a -bind=192.0.2.1"): "it needs two machines",
    ("docs/how-to/run-distkv.md", "serf agent -node=b -bind=192.0.2.2"): "it needs two machines",
    ("docs/how-to/run-tlc.md", "PEERPROOF_TLA2TOOLS="): "it needs another TLC, and takes minutes",
}

#: Pages about Scuttlebutt, whose readers have its vectors and no others: most of the suite is of no use to them.
SCUTTLEBUTT = {"docs/how-to/add-a-clause.md", "docs/how-to/read-a-report.md"}

#: Those whose readers have no tables made from models either, which are nine of ten vectors.
WRITTEN = {
    "docs/tutorial/first-verdict.md",
    "docs/quick-start/test-an-implementation.md",
    "docs/how-to/run-without-python.md",
    "docs/how-to/troubleshooting.md",
}

#: Those that newcomers type first, and which take seconds; `make long` types the others.
FIRST = ("docs/quick-start/", "docs/tutorial/")
LONG = {"docs/quick-start/check-a-cluster.md", *(page for page in PAGES if not page.startswith(FIRST))}


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    path.chmod(0o755)


def reference(folder: Path) -> None:
    """An adapter around something that is right."""
    program(folder / "my-adapter", "from peerproof.cli.main import main\nmain(['node', 'harness', 'scuttlebutt'])\n")


def no_empty_delta(folder: Path) -> None:
    """An adapter around something that is wrong."""
    imports = "from peerproof.reference.harness import harness\nfrom peerproof.reference.divergences.scuttlebutt import BD02\n"
    served = "harness.Harness = lambda protocols: BD02()\nharness.main()\n"
    program(folder / "my-adapter", f"import sys\nsys.path[0] = '.'\n{imports}{served}")


def simulated(folder: Path, name: str = "node") -> None:
    """A trace, `name.jsonl`."""
    options = ["--nodes", "3", "--rounds", "5", "--seed", "0", "--trace", str(folder / f"{name}.jsonl")]
    assert main(["node", "simulate", "scuttlebutt", *options]) == 0


def captured(folder: Path) -> None:
    """A capture in which a stranger's packet is."""
    one, other = bytes.fromhex("01 03613a31 0000000000000002"), bytes.fromhex("01 03623a31 0000000000000002")
    said = [(0, one), (1, b"\x03"), (1, other), (0, b"\x03"), (0, b"\x09\x01\x02\x03\x04")]
    for name, ports in (("capture.pcapng", (40001, 40002)), ("cluster.pcap", (8119, 8120)), ("ring.pcap", (8119, 8120))):
        packets = [Packet(1000 + at, ports[who], ports[1 - who], payload) for at, (who, payload) in enumerate(said)]
        write_capture(folder / name, packets)


def cut_off(folder: Path) -> None:
    """Traces of which one ends within its last line."""
    simulated(folder, "node3")
    trace = folder / "node3.jsonl"
    trace.write_bytes(trace.read_bytes()[:-20])


def examples(folder: Path) -> None:
    """The trace of a node that is wrong."""
    shutil.copy(ROOT / "conformance/examples/scuttlebutt-newest-first.jsonl", folder / "node1.jsonl")


def another_record(folder: Path) -> None:
    """Records of runs, `mine.jsonl` not among them."""
    for name, shard in (("1", "scuttlebutt/codec/delta"), ("2", "scuttlebutt/codec/digest")):
        assert main(["run", "--record", str(folder / f"{name}.jsonl"), "-k", shard]) == 0
    for name in ("theirs", "old", "new"):
        shutil.copy(folder / "1.jsonl", folder / f"{name}.jsonl")


#: What a reader of a page has before.
HAS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "README.md": (reference, simulated, another_record),
    "docs/how-to/fuzz.md": (no_empty_delta,),
    "docs/how-to/judge-a-capture.md": (captured,),
    "docs/how-to/pipeline.md": (reference, simulated, captured),
    "docs/how-to/ingest-logs.md": (cut_off, captured),
    "docs/how-to/read-a-report.md": (reference, another_record),
    "docs/how-to/validate.md": (examples,),
}


def typed(page: str) -> list[Step]:
    """What a reader does, with ports that are free here in place of those of the page."""
    text = _INCLUDE.sub(lambda found: (ROOT / found[1]).read_text("utf-8").rstrip("\n"), (ROOT / page).read_text("utf-8"))
    todo = steps(with_free_ports(text))
    return [step for step in todo if not is_untyped(page, step)]


def is_untyped(page: str, step: Step) -> bool:
    if not isinstance(step, Typed | InTerminal) or step.command is None:
        return False
    return any(page == on and step.command.startswith(beginning) for on, beginning in UNTYPED)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree, in which something can be written beside what is there, with an environment that is up to date."""
    for name in ("Makefile", "pyproject.toml", "spec", "tla", "reference", "conformance", "docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = tmp_path / ".venv"
    environment.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if not entry.name.startswith("."):
            (environment / entry.name).symlink_to(entry)
    for stamp in (".created", ".installed", ".developing", ".piping"):
        (environment / stamp).touch()
    return tmp_path


def with_vectors_of_scuttlebutt(tree: Path, *left_out: str) -> dict[str, str]:
    """The conformance package of a tree, with no other vectors and without those of some layers, and what has it found."""
    (tree / "conformance").unlink()
    (tree / "conformance").mkdir()
    for entry in (ROOT / "conformance").iterdir():
        if entry.name != "vectors":
            (tree / "conformance" / entry.name).symlink_to(entry)
    own = "conformance/vectors/scuttlebutt"
    shutil.copytree(ROOT / own, tree / own, ignore=shutil.ignore_patterns(*left_out))
    if sys.pycache_prefix:  # Python compiles by path, and would compile the package again
        packages = [f"{sys.pycache_prefix}{folder}/conformance/peerproof" for folder in (ROOT, tree)]
        Path(packages[1]).parent.mkdir(parents=True)
        Path(packages[1]).symlink_to(packages[0])
    return {"PYTHONPATH": os.pathsep.join([str(tree / "conformance"), os.environ.get("PYTHONPATH", "")])}


def read(page: str, tree: Path) -> None:
    """Types a page."""
    for prepare in HAS.get(page, ()):
        prepare(tree)
    more = with_vectors_of_scuttlebutt(tree, *["model"] * (page in WRITTEN)) if page in SCUTTLEBUTT | WRITTEN else {}
    folder = tree / "empty" if page.startswith("docs/quick-start/") else tree
    folder.mkdir(exist_ok=True)
    reader = Reader(folder, {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more})
    try:
        for step in typed(page):
            reader.follow(step)
    finally:
        reader.close()


WITH_BLOCKS = [page for page in PAGES if page not in ELSEWHERE and typed(page)]


@pytest.mark.slow
@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.minute] * (page in LONG)) for page in WITH_BLOCKS])
def test_a_reader_sees_what_the_page_shows(page: str, tree: Path) -> None:
    if "serf " in (ROOT / page).read_text("utf-8"):
        require("serf")
    read(page, tree)


@pytest.mark.parametrize("page", PAGES)
def test_what_looks_like_a_command_is_typed(page: str) -> None:
    """Only a block of `console` is."""
    blocks = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)

    assert [body for language, body in blocks if language in ("sh", "bash", "shell")] == []
    assert [body for language, body in blocks if language != "console" and re.search(r"^\$ ", body, re.MULTILINE)] == []
    assert [body for language, body in blocks if language == "console" and not re.search(r"^(\$ |\^C|…)", body)] == []


@pytest.mark.parametrize(("page", "beginning"), UNTYPED)
def test_what_is_not_typed_is_there(page: str, beginning: str) -> None:
    commands = [step.command for step in steps((ROOT / page).read_text("utf-8")) if isinstance(step, Typed | InTerminal)]

    assert any(command is not None and command.startswith(beginning) for command in commands)


@pytest.mark.parametrize("page", ELSEWHERE)
def test_pages_that_are_typed_elsewhere_are(page: str) -> None:
    name = re.sub("-(go|java|javascript|python|rust)-", "-{language}-", Path(page).name)

    assert name in (ROOT / ELSEWHERE[page]).read_text("utf-8")
