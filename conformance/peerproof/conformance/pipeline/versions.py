"""The version of code, so that what other code has made is not taken for what this one would make."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable


def spec_version(protocol: str) -> str:
    """The version of a protocol's specification: that of the package, and a digest of the sources."""
    return f"{version('peerproof')}+{code_digest('peerproof.spec', protocol)}"


def code_digest(package: str, *subpackages: str) -> str:
    """12 hexadecimal digits of the SHA-256 of the modules of a package, and of those of some packages in it."""
    root = files(package)
    digest = sha256()
    for folder in (root, *(root / name for name in subpackages)):
        for source in sorted(_modules(folder), key=lambda module: module.name):
            digest.update(f"{folder.name}/{source.name}\0".encode())
            digest.update(sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _modules(folder: Traversable) -> list[Traversable]:
    return [entry for entry in folder.iterdir() if entry.name.endswith(".py")]
