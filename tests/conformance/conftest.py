"""What the suite's tests share: folders of vectors made for one test, a cache of its own for each that writes there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.catching import suite

from peerproof.cli import options
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.suite import Suite, load

OWN = locations.vectors_root()

#: A codec vector and an exchange that are right; tests spoil them by replacing a part.
CODEC = """\
format: 1
protocol: scuttlebutt
about: How digests look in bytes.
notes:
  edge: {kind: edge, text: A value at the end of its range.}
vectors:
- id: scuttlebutt/codec/request-of-one
  rev: 1
  title: a digest request is its type and its entries
  level: must
  clauses: [B-40, B-43]
  flags: [edge]
  message: {type: digest_request, entries: [{addr: "n1:1", version: 14}]}
  bytes: "01 046e313a31 000000000000000e"
  checks: [decode, encode]

- id: scuttlebutt/codec/request-cut
  rev: 1
  title: no beginning of a digest request but its type is a message
  level: must
  clauses: [BA-20]
  family: {truncate: {bytes: "01 046e313a31 000000000000000e"}}
  rejects: {class: truncated}
"""

EXCHANGE = """\
format: 1
protocol: scuttlebutt
about: What one digest request makes a node answer.
vectors:
- id: scuttlebutt/exchange/delta-then-response
  rev: 1
  title: a digest that is behind on one peer and ahead on another gets a delta, then a digest response
  level: must
  clauses: [B-13, B-14, B-34]
  nodes:
    node: {addr: "b:1", config: {max_payload: 512}}
    peer: {addr: "a:1", role: scripted}
  setup:
  - at: 0
    call: {node: node, op: update_local, args: {key: k, value: v}}
  steps:
  - at: 10
    send: {from: peer, to: node, bytes: "01 03613a31 0000000000000002 03623a31 0000000000000000"}
  - expect:
      messages:
        ordered:
        - {to: peer, bytes: "03 03623a31 016b 0176 0000000000000001"}
        - {to: peer, message: {type: digest_response, entries: [{addr: "a:1", version: "0"}]}}
      events: {contains: [{name: join, peer: "a:1"}]}
  - expect: {quiet_until: 500}
  - observe: {node: node, query: peers, equals: {multiset: ["a:1", "b:1"]}}
"""

Written = Callable[..., Path]


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that a test runs in this process share the suite's own vectors, which take a second to read."""

    def load_own(root: Path | None, protocol: str | None) -> Suite:
        return suite() if (root or locations.vectors_root(protocol)) == OWN else load(root, protocol)

    monkeypatch.setattr(options, "load", load_own)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for this test."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache


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
