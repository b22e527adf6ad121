"""Versions of code, so that results of other code are not mistaken for those of this code."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec

from peerproof.spec.protocols import PROTOCOLS


def spec_version(protocol: str) -> str:
    """Returns the version of a protocol's specification: the package's version and a digest of the sources."""
    shared = (f"peerproof.spec.{name}" for name in ("core", "errors", "stack", "connections", "properties", "forms", "traces"))
    return f"{version('peerproof')}+{code_digest(*shared, PROTOCOLS[protocol].specification.target)}"


def code_digest(*names: str) -> str:
    """Returns 12 hexadecimal digits of the SHA-256 of modules, and of all modules in packages."""
    digest = sha256()
    for name in names:
        package, _, module = name.rpartition(".")
        found = find_spec(name)
        is_package = found is not None and found.submodule_search_locations is not None
        sources = sorted(_modules(files(name), "")) if is_package else [(module, files(package) / f"{module}.py")]
        for path, source in sources:
            digest.update(f"{name}/{path}\0".encode())
            digest.update(sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _modules(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _modules(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield f"{path}{entry.name}", entry
