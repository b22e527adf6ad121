"""Files of vectors that are right; tests spoil them by replacing a part."""

from __future__ import annotations

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
