"""Faults that the ports in Rust could have, and a vector that detects each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Fault(NamedTuple):
    """A part of a source, what may be written there instead, and a vector that this fails."""

    vector: str
    source: str
    right: str
    wrong: str


SCUTTLEBUTT: Mapping[str, Fault] = {
    "bytes are made UTF-8": Fault(
        "codec/delta-value-not-utf-8",
        "shared/src/plain.rs",
        'Err(_) => json!({"hex": hex(bytes)})',
        "Err(_) => json!(String::from_utf8_lossy(bytes))",
    ),
    "versions are floats": Fault(
        "codec/delta-largest-version",
        "scuttlebutt/src/plain.rs",
        "json!(version.to_string())",
        "json!((version as f64).to_string())",
    ),
    "the least significant byte comes first": Fault(
        "codec/digest-request-of-one",
        "scuttlebutt/src/codec.rs",
        "u64::from_be_bytes(self.take",
        "u64::from_le_bytes(self.take",
    ),
    "a length is cut to a byte": Fault(
        "exchange/update-with-value-of-256-bytes",
        "scuttlebutt/src/node.rs",
        "key.len() > MAX_TEXT || value.len() > MAX_TEXT",
        "key.len() as u8 > MAX_TEXT as u8 || value.len() as u8 > MAX_TEXT as u8",
    ),
    "the last version wraps": Fault(
        "exchange/update-after-the-last-version",
        "scuttlebutt/src/node.rs",
        "own.version.checked_add(1).ok_or(Refusal::Overflow)?",
        "own.version.wrapping_add(1)",
    ),
    "differences have a sign": Fault(
        "exchange/difference-has-no-sign", "scuttlebutt/src/reconcile.rs", "Some((Reverse(lead),", "Some((Reverse(lead as i64),"
    ),
    "a stable sort decides among equals": Fault(
        "exchange/ties-go-by-address-not-by-digest-order", "scuttlebutt/src/reconcile.rs", "(*lead, *addr)", "*lead"
    ),
    "pairs come in the order of the map": Fault(
        "exchange/pairs-go-by-version-not-by-key",
        "scuttlebutt/src/store.rs",
        "pairs.sort_by_key(|(_, pair)| pair.version);",
        "pairs.sort_by_key(|(key, _)| *key);",
    ),
    "what does not fit is skipped": Fault(
        "exchange/delta-stops-at-what-does-not-fit",
        "scuttlebutt/src/reconcile.rs",
        "return entries; // The datagram is full",
        "break; // The datagram is full",
    ),
    "what never fits ends the delta": Fault(
        "exchange/oversize-pair-does-not-starve-others",
        "scuttlebutt/src/reconcile.rs",
        "break; // No datagram",
        "return entries; // No datagram",
    ),
    "an equal version is newer": Fault(
        "exchange/equal-version-is-ignored", "scuttlebutt/src/store.rs", "if version <= known {", "if version < known {"
    ),
    "a node asks for its own past": Fault(
        "exchange/restarted-node-does-not-ask-for-its-past", "scuttlebutt/src/reconcile.rs", "entry.addr != *own && ", ""
    ),
    "a seed is two seeds": Fault(
        "exchange/seed-listed-twice-is-asked-once", "scuttlebutt/src/node.rs", " && !seeds.contains(seed)", ""
    ),
    "a threshold is reached": Fault(
        "exchange/threshold-that-is-reached", "scuttlebutt/src/detector.rs", "phi > (u128", "phi >= (u128"
    ),
    "a doubled delta is a second round trip": Fault(
        "exchange/round-trip-once-for-a-digest",
        "scuttlebutt/src/detector.rs",
        "self.digest_sent.take().map",
        "self.digest_sent.map",
    ),
    "a peer that is down stays down": Fault(
        "exchange/peer-heard-again-comes-up",
        "scuttlebutt/src/node.rs",
        "if window.phi_exceeds(detector.down, now)",
        "if window.status == Status::Down || window.phi_exceeds(detector.down, now)",
    ),
}

SWIM: Mapping[str, Fault] = {
    "fields are in another order": Fault(
        "exchange/restart-beats-any-tx",
        "swim/src/messages.rs",
        "    pub restart: u64,\n    pub tx: u64,\n",
        "    pub tx: u64,\n    pub restart: u64,\n",
    ),
    "a logarithm is rounded down": Fault(
        "exchange/fanout-of-5", "swim/src/gossip.rs", "(usize::BITS - (active - 1).leading_zeros())", "active.ilog2()"
    ),
    "a cache counts bytes": Fault(
        "codec/payload-with-keys-of-few-characters-and-more-bytes",
        "swim/src/cache.rs",
        "string.chars().count() >=",
        "string.len() >=",
    ),
    "a cache has more room": Fault(
        "codec/cache-is-emptied-when-full", "swim/src/cache.rs", "CAPACITY: usize = 1936", "CAPACITY: usize = 2048"
    ),
    "halves of a uuid have no sign": Fault(
        "codec/uuid-of-ones", "swim/src/msgpack.rs", "self.integer(half.into());", "self.integer((half as u64).into());"
    ),
    "a host is not escaped": Fault(
        "codec/host-like-a-keyword",
        "swim/src/codec.rs",
        "self.string(&escape(&place.host), false);",
        "self.string(&place.host, false);",
    ),
    "a string is made UTF-8": Fault(
        "codec/reject-host-that-is-no-utf-8",
        "swim/src/msgpack.rs",
        'String::from_utf8(bytes).map_err(|_| bad("a string that is no UTF-8".into()))?',
        "String::from_utf8_lossy(&bytes).into_owned()",
    ),
    "an integer is one up to 63 bits": Fault(
        "codec/payload-with-integers-around-2-53",
        "swim/src/data.rs",
        "const TWO_TO_53: i128 = 1 << 53;",
        "const TWO_TO_53: i128 = 1 << 63;",
    ),
    "nesting has no end": Fault(
        "codec/reject-nested-65-deep", "swim/src/msgpack.rs", "MAX_DEPTH: usize = 64;", "MAX_DEPTH: usize = usize::MAX;"
    ),
    "the same incarnation is the past": Fault(
        "exchange/equal-incarnation-is-accepted",
        "swim/src/node.rs",
        "Some(known) if at < known =>",
        "Some(known) if at <= known =>",
    ),
    "leaving is one more rank": Fault(
        "exchange/leave-stays-until-a-restart", "swim/src/table.rs", "Status::Leave => (1, 0),", "Status::Leave => (0, 4),"
    ),
    "a payload is lost with a larger tx": Fault(
        "exchange/payload-stays-while-tx-grows",
        "swim/src/table.rs",
        "if claim.incarnation.restart > self.incarnation.restart {",
        "if claim.incarnation > self.incarnation {",
    ),
    "an ack forgets its ping alone": Fault(
        "exchange/ack-forgets-the-older-pings",
        "swim/src/table.rs",
        "self.unanswered.drain(..=place);",
        "self.unanswered.remove(place);",
    ),
    "a lone neighbour isolates": Fault(
        "exchange/lone-neighbour-stays-suspicious",
        "swim/src/rounds.rs",
        "pinged.len() >= 2 && !heard",
        "!pinged.is_empty() && !heard",
    ),
    "a small event overtakes": Fault(
        "exchange/events-end-at-the-first-that-does-not-fit",
        "swim/src/gossip.rs",
        "                break;\n            }\n            carried.push",
        "                continue;\n            }\n            carried.push",
    ),
    "told dead, a node does not go on above": Fault(
        "exchange/told-dead-above-the-own-incarnation", "swim/src/node.rs", "restart: told.restart + 1", "restart: told.restart"
    ),
}
