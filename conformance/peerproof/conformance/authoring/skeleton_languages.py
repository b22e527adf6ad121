"""The languages of the projects that `peerproof init` writes: their files and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

VECTORS: Final = "vectors"  #: folder of the native runner and the bundles


@dataclass(frozen=True)
class Language:
    """The files of a project in this language, and how it is built, tested, started, and set up on an empty machine."""

    title: str
    plug: str  #: the file to fill in of a protocol, named as it is for Scuttlebutt
    table: str  #: the file that names the implementations of all protocols
    build: str
    test: str  #: the command by which every case is a test of this language
    some: str  #: the same for cases with a text in their ids
    start: str  #: the adapter
    runner: str = ""  #: its native runner, if it has one
    setup: str = ""  #: steps of the workflow
    dependency: str = ""  #: what its dependency on the implementation needs before a build, as a sentence
    needs: str = ""  #: the same in the workflow
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
        plug="adapter/scuttlebutt.py",
        table="adapter/plugs.py",
        build="python3 -m compileall -q adapter",
        test="python3 -m pytest",
        some="python3 -m pytest -k codec",
        start="python3 -m adapter",
        extras="fuzz,pytest",
    ),
    "go": Language(
        "Go",
        plug="scuttlebutt/implementation.go",
        table="main.go",
        build="go build -o adapter .",
        test="go test",
        some="go test -run 'TestVectors/.*/codec'",
        start="./adapter",
        runner="go",
        setup=_SETUP_GO,
        dependency=" `go mod edit -replace=MODULE=FOLDER` says where it is; once it is imported, run `go mod tidy`.",
    ),
    "js": Language(
        "JavaScript",
        plug="scuttlebutt.js",
        table="implementations.js",
        build="node --check main.js",
        test="node --test",
        some="node --test --test-name-pattern=/codec/",
        start="node main.js",
        runner="javascript",
        setup=_SETUP_JS,
    ),
    "java": Language(
        "Java",
        plug="src/main/java/adapter/ScuttlebuttImplementation.java",
        table="src/main/java/adapter/Main.java",
        build="mvn --quiet --batch-mode -DskipTests package",
        test="mvn --batch-mode test",
        some="mvn --batch-mode test -Dpeerproof.cases=/codec/",
        start="java -jar target/adapter.jar",
        runner="java",
        setup=_SETUP_JAVA,
        dependency=" Run `mvn install` in its folder first, and after each change.",
        needs=" If it is a dependency: `mvn --batch-mode install` in its folder.",
    ),
    "rust": Language(
        "Rust",
        plug="src/scuttlebutt.rs",
        table="src/lib.rs",
        build="cargo build",
        test="cargo test",
        some="cargo test /codec/",
        start="target/debug/adapter",
        runner="rust",
    ),
}
