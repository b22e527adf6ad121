"""What the suite's tests share: folders of vectors made for one test, a cache of its own for each that writes there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.catching import suite
from tests.support.native_runners import bundle
from tests.support.numbered import write_suite
from tests.support.vector_files import CODEC, EXCHANGE

from peerproof.cli import options
from peerproof.conformance.bundles import bundle_file
from peerproof.conformance.bundles.bundle_file import bundle_text
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.suite import Suite, load

OWN = locations.vectors_root()

Written = Callable[..., Path]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that a test runs in this process share the suite's own vectors, and its bundles; both take seconds to make."""

    def load_own(root: Path | None, protocol: str | None) -> Suite:
        return suite() if (root or locations.vectors_root(protocol)) == OWN else load(root, protocol)

    def text_of(of: Suite, protocol: str) -> str:
        return bundle(protocol).read_text("utf-8") if of is suite() else bundle_text(of, protocol)

    monkeypatch.setattr(options, "load", load_own)
    monkeypatch.setattr(bundle_file, "bundle_text", text_of)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for this test."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    """The folder of the numbered vectors."""
    return write_suite(tmp_path / "numbered")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a root of vectors: `written(codec=…, exchange=…)`, without arguments one of each."""

    def write(**texts: str) -> Path:
        root = tmp_path / "vectors"
        for layer, text in (texts or {"codec": CODEC, "exchange": EXCHANGE}).items():
            file = root / "scuttlebutt" / layer / "some.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return root

    return write


@pytest.fixture
def codec() -> str:
    """A file of codec vectors."""
    return CODEC


@pytest.fixture
def exchange() -> str:
    """A file of exchange vectors."""
    return EXCHANGE
