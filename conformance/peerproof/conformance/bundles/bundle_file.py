"""
Bundle files: a header, one line for each small part, and a digest of everything after the header.

The digest is that of all bytes after the line that has it. It does not depend on the version of the package, so two versions
with the same vectors have the same digest.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.bundles.bundle import FORMAT, make_bundle
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import Growing, write_whole
from peerproof.conformance.vectors.suite import VERSION, Suite

_GZIP: Final = ".gz"
_LINES: Final = ("messages", "vectors", "tables", "states", "nodes", "steps")  #: members with a line for each item


class BundleError(ValueError):
    """A file is not a bundle, or not one of this format; the message says why."""


def bundle_text(suite: Suite, protocol: str) -> str:
    """
    Returns the bundle of a protocol as the text of its file. Raises CannotExport.

    >>> from peerproof.conformance.vectors.suite import load
    >>> bundle_text(load(), "peter").splitlines()[1]
    '"format": 1,'
    """
    content = ",\n".join(_members(make_bundle(suite, protocol))) + "\n}\n"
    digest = sha256(content.encode()).hexdigest()
    header = {"format": FORMAT, "package": _package_version(), "suite": VERSION, "digest": f"sha256:{digest}"}
    return "{\n" + "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in header.items()) + content


def _package_version() -> str:
    try:
        return version("peerproof")
    except PackageNotFoundError:  # runs from a source tree that is not installed
        return "unknown"


def _members(value: dict[str, Any]) -> Iterator[str]:
    for name, member in value.items():
        yield f"{json.dumps(name)}: {_lines(member) if name in _LINES else _line(member)}"


def _lines(items: Sequence[Any]) -> str:
    """A list with a line for each item; an item with such lists itself takes several."""
    shown = ("{" + ",\n".join(_members(item)) + "}" if "configuration" in item else _line(item) for item in items)
    return "[\n" + ",\n".join(shown) + "\n]" if items else "[]"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def export_bundles(suite: Suite, folder: Path, protocols: Sequence[str], *, compress: bool = False) -> list[Path]:
    """
    Writes the bundle of each protocol to a folder, which is made if it does not exist; compressed by gzip if asked.

    Raises CannotExport, CannotWrite.

    >>> from tempfile import TemporaryDirectory
    >>> from peerproof.conformance.vectors.suite import load
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in export_bundles(load(), Path(folder), ["peter"])]
    ['peter.json']
    """
    found = {folder / bundle_name(protocol, compress): bundle_data(suite, protocol, compress) for protocol in protocols}
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in found.items():
        file = Growing(path)
        file.write(data)
        file.close()
    return list(found)


def bundle_name(protocol: str, compress: bool) -> str:
    """Returns the name of the file of a bundle."""
    return f"{protocol}.json{_GZIP * compress}"


def bundle_data(suite: Suite, protocol: str, compress: bool) -> bytes:
    """Returns the content of the file of a bundle. Raises CannotExport."""
    text = bundle_text(suite, protocol).encode()
    return gzip.compress(text, mtime=0) if compress else text


#: Language of a native runner -> the patterns of its source files; those of examples and of its own tests do not match.
RUNNERS: Final = {
    "go": ("*.go",),
    "java": ("peerproof/vectors/*.java",),
    "javascript": ("*.mjs",),
    "rust": ("Cargo.toml", "src/**/*.rs"),
}
_EXAMPLES: Final = "*_test.go", "*.test.mjs"


def runner_sources(language: str) -> dict[Path, str]:
    """
    Returns the source files of the native runner in a language (one of RUNNERS), by their paths within its folder.

    >>> "package vectors" in runner_sources("go")[Path("runner.go")]
    True
    """
    root = locations.runners_root() / language
    found = sorted(path for pattern in RUNNERS[language] for path in root.glob(pattern) if not any(map(path.match, _EXAMPLES)))
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in found}


def export_runner(language: str, folder: Path) -> list[Path]:
    """
    Writes the source files of the native runner in a language (one of RUNNERS) to a folder. Raises CannotWrite.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     "runner.go" in [path.name for path in export_runner("go", Path(folder))]
    True
    """
    sources = {folder / path: text for path, text in runner_sources(language).items()}
    for path, text in sources.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return list(sources)


def load_bundle(path: Path) -> dict[str, Any]:
    """
    Loads a bundle, compressed if its name ends in `.gz`, and checks its format and its digest. Raises BundleError.

    >>> load_bundle(Path("missing.json"))
    Traceback (most recent call last):
        ...
    peerproof.conformance.bundles.bundle_file.BundleError: missing.json cannot be read: No such file or directory
    """
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == _GZIP else data
    except (OSError, EOFError, zlib.error) as error:
        raise BundleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        plain = json.loads(data)
        found, written, digest = plain["format"], plain["package"], plain["digest"]
    except (ValueError, TypeError, KeyError):
        raise BundleError(f"{path} is not a bundle of vectors") from None
    if found != FORMAT:
        raise BundleError(f"{path} has format {found!r}, written by peerproof {written}; this version reads {FORMAT}")
    content = data.partition(b'"digest": ')[2].partition(b"\n")[2]
    if digest != f"sha256:{sha256(content).hexdigest()}":
        raise BundleError(f"{path} has been changed: its content has another digest than {digest}")
    return dict(plain)
