"""Checks which programs and extras that some commands need are installed, and how to install the missing ones."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from peerproof.tla.tools.installation import ToolsUnusable, find_jar, find_java, find_jdk, java_version

#: Extra -> the package that it brings, and the commands that need it.
_EXTRAS: Final = {
    "prove": ("z3-solver", "model prove"),
    "fuzz": ("hypothesis", "fuzz"),
    "fuzz-bytes": ("atheris", "fuzz --bytes, guided by coverage"),
    "pipeline": ("pyspark", "pipeline"),
}


def check_environment() -> Iterator[tuple[str, bool | None, str]]:
    """
    Yields the name of each program, True if it can be used or None if it is missing, and its version or how to install it.

    >>> next(check_environment())[:2]
    ('Python', True)
    """
    yield "Python", True, ".".join(map(str, sys.version_info[:3]))
    yield _check_java("Java", find_java, "TLC")
    try:
        yield "TLC", True, f"{find_jar().name}, for model check and model graph"
    except ToolsUnusable as problem:
        yield "TLC", None, f"for model check and model graph: {problem}"
    yield _check_java("JDK", find_jdk, "pipeline on Spark")
    serf = shutil.which("serf")
    install = "sudo apt install serf, or https://github.com/hashicorp/serf"
    yield "Serf", True if serf else None, serf or f"for node start distkv --serf: {install}"
    for extra, (package, needed_by) in _EXTRAS.items():
        try:
            yield extra, True, f"{package} {version(package)}, for {needed_by}"
        except PackageNotFoundError:
            yield extra, None, f"for {needed_by}: pip install 'peerproof[{extra}]'"


def _check_java(name: str, find: Callable[[], str], needed_by: str) -> tuple[str, bool | None, str]:
    try:
        java = find()
        return name, True, f"{java_version(java)}, {java}, for {needed_by}"
    except ToolsUnusable as problem:
        return name, None, f"for {needed_by}: {problem}"
