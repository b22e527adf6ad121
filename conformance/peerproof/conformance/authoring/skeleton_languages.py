"""The languages of the projects that `peerproof init` writes: their files and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

VECTORS: Final = "vectors"  #: folder of the native runner and the bundles

Change = tuple[str, str]  #: a text of a template, and what stands there instead


@dataclass(frozen=True)
class Several:
    """How a project for several protocols differs from one for one, apart from the files in `skeletons/several`."""

    plug: str  #: the file to fill in of a protocol
    table: str  #: the file that names the implementations of all protocols
    changes: Mapping[str, Sequence[Change]]  #: a file of the template -> its changes


@dataclass(frozen=True)
class Language:
    """How a project in this language is built, tested, started, and set up on an empty machine."""

    title: str
    plug: str  #: the file to fill in
    build: str
    test: str  #: the command by which every case is a test of this language
    some: str  #: the same for cases with a text in their ids
    start: str  #: the adapter
    several: Several
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
        several=Several(
            plug="adapter/scuttlebutt.py",
            table="adapter/plugs.py",
            changes={
                "adapter/implementation.py": (("my-node with the suite. Fill", "my-node with the vectors of scuttlebutt. Fill"),),
                "adapter/parts.py": (
                    ("What `implementation.py` uses", "What the file of each protocol uses"),
                    ("'CHOICES in implementation.py is not \"oracle\"'", "'CHOICES of this protocol is not \"oracle\"'"),
                ),
                "pytest.ini": (("peerproof_protocol = scuttlebutt", "peerproof_protocol = @LIST@"),),
            },
        ),
        extras="fuzz,pytest",
    ),
    "go": Language(
        "Go",
        plug="implementation.go",
        build="go build -o adapter .",
        test="go test ./...",
        some="go test -run 'TestVectors/.*/codec'",
        start="./adapter",
        several=Several(
            plug="scuttlebutt/implementation.go",
            table="main.go",
            changes={
                "implementation.go": (
                    ("package main", "package scuttlebutt"),
                    ("type implementation struct{}", "// Implementation is the plug.\ntype Implementation struct{}"),
                    ("(implementation)", "(Implementation)"),
                ),
            },
        ),
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
        several=Several(
            plug="scuttlebutt.js",
            table="implementations.js",
            changes={
                "implementation.js": (
                    (
                        "The plug: what the suite can do with your implementation.",
                        "The plug of scuttlebutt: what the suite can do with your implementation.",
                    ),
                ),
            },
        ),
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
        several=Several(
            plug="src/main/java/adapter/ScuttlebuttImplementation.java",
            table="src/main/java/adapter/Main.java",
            changes={
                "src/main/java/adapter/Implementation.java": (
                    ("class Implementation ", "class ScuttlebuttImplementation "),
                    (", and the one file to fill in. It only", ". It only"),
                ),
            },
        ),
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
        several=Several(
            plug="src/scuttlebutt.rs",
            table="src/lib.rs",
            changes={
                "src/implementation.rs": (
                    (
                        "Connects my-node with the vectors: the only file to fill in.",
                        "Connects my-node with the vectors of scuttlebutt: a file to fill in.",
                    ),
                ),
                "Cargo.toml": (
                    ('name = "implementation"\npath = "src/implementation.rs"', 'name = "implementations"\npath = "src/lib.rs"'),
                ),
            },
        ),
        runner="rust",
    ),
}
