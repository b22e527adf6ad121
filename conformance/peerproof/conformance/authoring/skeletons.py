"""
The skeleton of an adapter that `peerproof init` writes.

The templates are in `conformance/skeletons`. Those of a language run unchanged, for a node called `my-node`; those in `common`
are the same for every language. Some words in them are placeholders (`_words`). A language with a native runner gets its source
files, and the vectors as a bundle, in the folder `vectors`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.bundles.bundle_file import bundle_data, bundle_name, runner_sources
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.expected_failures import render_expected_failures
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite, Deferred
from peerproof.conformance.vectors.suite import Suite

KNOWN_FAILING: Final = "known-failing.txt"
VECTORS: Final = "vectors"  #: folder of the native runner and the bundle

_STANDS_FOR_ANOTHER: Final = re.compile(r'my-node|scuttlebutt|"udp"|@[A-Z]+@')


@dataclass(frozen=True)
class Language:
    """How a project in this language is built, tested, started, and set up on an empty machine."""

    title: str
    plug: str  #: the file to fill in
    build: str
    test: str  #: the command by which every case is a test of this language
    some: str  #: the same for cases with a text in their ids
    start: str  #: the adapter
    runner: str = ""  #: its native runner, if it has one
    setup: str = ""  #: steps of the workflow
    extras: str = "fuzz"  #: of peerproof, which the workflow installs

    def update(self, protocol: str) -> str:
        """Returns the command that brings newer vectors; empty if they come with peerproof."""
        return f"peerproof vectors export --output {VECTORS} {protocol} --gzip --runner {self.runner}" if self.runner else ""


_SETUP_GO: Final = """\
      - uses: actions/setup-go@v5
        with:
          go-version-file: "@FOLDER@/go.mod"
          cache: false
"""
_SETUP_JS: Final = """\
      - uses: actions/setup-node@v4
        with:
          node-version: "22"
"""
_SETUP_JAVA: Final = """\
      - uses: actions/setup-java@v4
        with:
          distribution: "temurin"
          java-version: "21"
"""
LANGUAGES: Final[Mapping[str, Language]] = {
    "python": Language(
        "Python",
        plug="adapter/implementation.py",
        build="python3 -m compileall -q adapter",
        test="python3 -m pytest",
        some="python3 -m pytest -k codec",
        start="python3 -m adapter",
        extras="fuzz,pytest",
    ),
    "go": Language(
        "Go",
        plug="implementation.go",
        build="go build -o adapter .",
        test="go test ./...",
        some="go test -run 'TestVectors/.*/codec'",
        start="./adapter",
        runner="go",
        setup=_SETUP_GO,
    ),
    "js": Language(
        "JavaScript",
        plug="implementation.js",
        build="node --check main.js",
        test="node --test",
        some="node --test --test-name-pattern=/codec/",
        start="node main.js",
        runner="javascript",
        setup=_SETUP_JS,
    ),
    "java": Language(
        "Java",
        plug="src/main/java/adapter/Implementation.java",
        build="mvn --quiet --batch-mode -DskipTests package",
        test="mvn --batch-mode test",
        some="mvn --batch-mode test -Dpeerproof.cases=/codec/",
        start="java -jar target/adapter.jar",
        runner="java",
        setup=_SETUP_JAVA,
    ),
    "rust": Language(
        "Rust",
        plug="src/implementation.rs",
        build="cargo build",
        test="cargo test",
        some="cargo test /codec/",
        start="target/debug/adapter",
        runner="rust",
    ),
}


class AlreadyThere(Exception):
    """Some of the files exist already; they are in `paths`."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__(", ".join(map(str, paths)))
        self.paths = paths


def repository(folder: Path) -> Path | None:
    """Returns the Git repository that contains a folder, which need not exist yet."""
    resolved = folder.resolve()
    return next((place for place in (resolved, *resolved.parents) if (place / ".git").exists()), None)


def render_skeleton(language: str, protocol: str, name: str, folder: Path, suite: Suite) -> dict[Path, bytes]:
    """Returns the path and content of every file of an adapter in this folder. The workflow is where GitHub looks for it."""
    root = repository(folder) or folder.resolve()
    words = _words(LANGUAGES[language], protocol, name, folder.resolve().relative_to(root).as_posix())
    common, own = locations.skeletons_root() / "common", locations.skeletons_root() / language
    found = {folder / path.relative_to(own): _fill_template(path, words) for path in _sources(own)}
    found[folder / "README.md"] = _fill_template(common / "README.md", words)
    found[folder / KNOWN_FAILING] = "".join(
        f"{line}\n" for line in render_expected_failures(name, _empty_codec_failures(protocol, suite))
    )
    found[workflow_path(folder, name)] = _fill_template(common / "workflow.yml", words)
    if runner := LANGUAGES[language].runner:
        found |= {folder / VECTORS / path: text for path, text in runner_sources(runner).items()}
    written = {path: text.encode() for path, text in found.items()}
    if runner:
        written[folder / VECTORS / bundle_name(protocol, compress=True)] = bundle_data(suite, protocol, compress=True)
    return written


def requirement(extras: str = "fuzz") -> str:
    """
    Returns what `pip install` needs to install this peerproof on another machine, for a workflow.

    It names the repository and commit, or the archive, from which this one was installed (PEP 610), and the release otherwise.
    """
    origin = _origin()
    url, where = origin.get("url", ""), f"#subdirectory={origin['subdirectory']}" if "subdirectory" in origin else ""
    if source := origin.get("vcs_info"):
        return f"peerproof[{extras}] @ {source['vcs']}+{url}@{source['commit_id']}{where}"
    if url.startswith(("https://", "http://")):
        return f"peerproof[{extras}] @ {url}{where}"
    return f"peerproof[{extras}]=={version('peerproof')}"


def is_from_a_folder() -> bool:
    """Whether this peerproof was installed from a folder or file of this machine, so that its release may not exist yet."""
    return _origin().get("url", "").startswith("file:") and "vcs_info" not in _origin()


def _origin() -> dict[str, Any]:
    """Returns what pip recorded of the place that this peerproof came from; nothing if it came from an index."""
    recorded: dict[str, Any] = json.loads(distribution("peerproof").read_text("direct_url.json") or "{}")
    return recorded


def workflow_path(folder: Path, name: str) -> Path:
    """Returns where GitHub looks for the workflow of an adapter in this folder: at the top of the repository that it is in."""
    root = repository(folder)
    place = folder if root is None or root == folder.resolve() else root
    return place / ".github" / "workflows" / f"conformance-{name}.yml"


def _sources(folder: Path) -> list[Path]:
    """Returns the files below a folder, without output of compilers."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path for path in found if path.suffix or path.name.startswith("."))


def _words(language: Language, protocol: str, name: str, folder: str) -> dict[str, str]:
    """Returns the replacement of each placeholder."""
    inside = json.dumps(folder)[1:-1]  # between double quotes in YAML
    return {
        "my-node": name,
        "scuttlebutt": protocol,
        '"udp"': f'"{specification(protocol).TRANSPORT}"',
        "@FOLDER@": inside,
        "@SETUP@": language.setup.rstrip("\n").replace("@FOLDER@", inside),
        "@REQUIREMENT@": json.dumps(requirement(language.extras))[1:-1],
        "@UPDATE@": f"- `{update}` brings newer vectors, and a newer runner." if (update := language.update(protocol)) else "",
        **{f"@{name.upper()}@": getattr(language, name) for name in ("plug", "build", "test", "some", "start")},
        "@WORDS@": "\n".join(_vocabulary(protocol)),
    }


def _fill_template(path: Path, words: Mapping[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for optional in ("@SETUP@", "@UPDATE@"):
        if not words[optional]:
            text = text.replace(f"{optional}\n", "")
    return _STANDS_FOR_ANOTHER.sub(lambda found: words[found[0]], text)


def _vocabulary(protocol: str) -> Iterator[str]:
    spec = specification(protocol)
    for title, forms in (("Messages", spec.MESSAGE.form.cases), ("Calls", spec.COMMAND.cases), ("Events", spec.NOTICE.cases)):
        shown = (f"`{name}` ({', '.join(record.forms)})" if record.forms else f"`{name}`" for name, record in forms.items())
        yield f"- {title}: {', '.join(shown)}"
    yield f"- Queries: {', '.join(f'`{name}`' for name in spec.QUERIES)}"
    yield f"- Configuration: {', '.join(f'`{name}`' for name in spec.CONFIG.forms)}"
    yield f"- Messages travel over {spec.TRANSPORT}"


def _empty_codec_failures(protocol: str, suite: Suite) -> Iterator[tuple[str, str, str]]:
    """Yields id, failure and reason of each case of the codec that an adapter fails which is not filled in."""
    every = cases(suite, (vector for vector in suite.vectors if vector.protocol == protocol))
    for case in every:
        if case.needs <= {"codec"} and (failure := _failure(case)) is not None:
            yield case.id, failure, "not written yet"


def _failure(case: Case) -> str | None:
    """Returns how an empty codec fails a case: it rejects everything without a class, and has no encoder. None if it passes."""
    if case.vector.level != "must":
        return None
    if how := {"decode": "rejected", "reencode": "rejected", "encode": "error"}.get(case.part):
        return how
    return "class" if case.vector.body["rejects"].get("class") not in (None, "other") else None


def write_files(contents: Mapping[Path, bytes], *, force: bool = False) -> None:
    """
    Writes files, all or none, and creates their folders.

    Raises CannotWrite, and AlreadyThere if one exists, unless `force` is set. Folders are never overwritten.
    """
    there = [path for path in contents if os.path.lexists(path) and (path.is_dir() or not force)]
    if there:
        raise AlreadyThere(there)
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in contents}  #: renamed when all are written
    try:
        with Deferred() as interruption, ExitStack() as undo:
            for path, content in contents.items():
                for folder in reversed((path.parent, *path.parent.parents)):
                    if not folder.exists():
                        folder.mkdir()
                        undo.callback(_try_to, folder.rmdir)
                undo.callback(_try_to, partial(parts[path].unlink, missing_ok=True))
                parts[path].write_bytes(content)
            for path, part in parts.items():
                before = path.read_bytes() if path.exists() else None
                undo.callback(_try_to, path.unlink if before is None else partial(path.write_bytes, before))
                part.replace(path)
            undo.pop_all()
    except OSError as error:
        raise CannotWrite(f"{error.filename}: {error.strerror}") from None
    if interruption.seen:
        raise KeyboardInterrupt


def _try_to(undo: Callable[[], object]) -> None:
    with suppress(OSError):
        undo()
