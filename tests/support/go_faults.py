"""Faults that the implementation of Scuttlebutt in Go is given, to compare verdicts on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

#: Name -> module of the implementation, what stands there, what is wrong.
Faults: TypeAlias = Mapping[str, tuple[str, str, str]]

_OVER: Final = "if size += needs; size > n.config.MaxPayload {\n\t\t\t\treturn packed\n\t\t\t}"
_SKIPPED: Final = "if size+needs > n.config.MaxPayload {\n\t\t\t\tcontinue\n\t\t\t}\n\t\t\tsize += needs"
_SHORT: Final = "version, err := take(versionSize)\n\t\tif err != nil {\n\t\t\treturn Message{}, err\n"
_FILLED: Final = "version, err := take(versionSize)\n\t\tif err != nil {\n\t\t\tversion, at = make([]byte, 8), len(datagram)\n"
_SEND: Final = "\tn.send(to, message)\n"
_OFTEN: Final = "\tfor count := 0; count < 1001; count++ {\n\t\tn.send(to, message)\n\t}\n"
_RAISED: Final = "own.Version++\n\town.Pairs[key] = Pair{value, own.Version}"
_RAISED_LATER: Final = "own.Pairs[key] = Pair{value, own.Version}\n\town.Version++"
_PAST: Final = "\tpast := int64(-1)\n\tdone := vectors.Reaction{Effects: l.effects, NextTimer: &past}"
_LEARN: Final = "n.learn(now, entry.Addr)\n"
_LEARN_VERSION: Final = (
    "n.learn(now, entry.Addr)\n\t\tn.store[entry.Addr].Version = max(n.store[entry.Addr].Version, entry.Version)\n"
)

OF_CODEC: Final[Faults] = {
    "versions are little-endian": ("codec.go", "entry.Version = binary.BigEndian", "entry.Version = binary.LittleEndian"),
    "versions have 32 bits": ("codec.go", "binary.BigEndian.Uint64(version)", "uint64(uint32(binary.BigEndian.Uint64(version)))"),
    "a missing version is zero": ("codec.go", _SHORT, _FILLED),
    "what follows the last entry is ignored": ("codec.go", "for at < len(datagram) {", "for len(datagram)-at > versionSize {"),
    "there is a fourth type": ("codec.go", "message.Kind > Delta {", "message.Kind > Delta+1 {"),
    "sizes are signed": ("codec.go", "take(int(size[0]))", "take(int(int8(size[0])))"),
    "sizes have seven bits": ("codec.go", "byte(len(*text))", "byte(len(*text)&127)"),
    "nothing is a message": (
        "codec.go",
        'Message{}, &Malformed{"truncated", 0, "an empty datagram has no type"}',
        "Message{1, nil}, nil",
    ),
}

OF_NODE: Final[Faults] = {
    "the newest pairs come first": (
        "node.go",
        "cmp.Compare(one.Version, other.Version)",
        "cmp.Compare(other.Version, one.Version)",
    ),
    "what does not fit is left out": ("node.go", _OVER, _SKIPPED),
    "an empty digest response is sent": ("node.go", " && len(lacking) > 0 {", " {"),
    "the response comes before the delta": ("node.go", "\tn.send(from, Message{Delta, ", "\tdefer n.send(from, Message{Delta, "),
    "a response is answered by a response": ("node.go", "if message.Kind == DigestRequest && ", "if "),
    "the first round comes at once": ("node.go", "due := now + config.Interval", "due := now"),
    "rounds are twice as far apart": ("node.go", "due + n.config.Interval", "due + 2*n.config.Interval"),
    "versions begin at 0": ("node.go", _RAISED, _RAISED_LATER),
    "a new peer has the version of the digest": ("node.go", _LEARN, _LEARN_VERSION),
    "a stranger in a delta ends it": ("node.go", "record == nil || ", ""),
    "others overwrite its own pairs": ("node.go", "entry.Addr == n.self || record == nil", "record == nil"),
    "peers that are known are asked as seeds": ("node.go", "return n.store[addr] != nil", "return addr == n.self"),
    "a digest is sorted": ("node.go", 'n.chosen("digest.order", "permutation", known)', "known"),
    "each digest is sent a thousand times": ("node.go", _SEND, _OFTEN),
}

OF_DETECTOR: Final[Faults] = {
    "a peer is down too early": ("detector.go", "oneByLn10, 1000)", "unit, 1000)"),
    "a peer that is down stays it": ("detector.go", "isDown != known.IsDown", "isDown && !known.IsDown"),
    "a round trip takes longer": ("detector.go", "max(0, now-*sent)", "now - *sent + 1"),
    "no interval is assumed at first": ("detector.go", "{detector.Bootstrap}", "{}"),
}

OF_LIMITS: Final[Faults] = {
    "a digest is never quite full": ("node.go", "DigestRequest.size(entry); size > n", "DigestRequest.size(entry); size >= n"),
    "an oversize pair ends the delta": ("node.go", "break // could never be sent", "return packed // could never be sent"),
    "the largest version is followed by 0": (
        "node.go",
        "if own.Version == math.MaxUint64 {",
        "if own.Version > math.MaxUint64 {",
    ),
    "what is too large is set": ("node.go", "|| size > n.config.MaxPayload {", "|| size > 2*n.config.MaxPayload {"),
    "timers lie in the past": ("plug.go", "\tdone := vectors.Reaction{Effects: l.effects, NextTimer: l.roundDue}", _PAST),
}

_NOT_YET: Final = 'panic(vectors.Unsupported("not yet"))'

#: What it claims in its offer and does not support, or may leave out.
UNSUPPORTED: Final[Faults] = {
    "encode": ("plug.go", "\tvar shown plainMessage\n", f"\t{_NOT_YET}\n\tvar shown plainMessage\n"),
    "call": ("plug.go", "\tvar pair struct{ Key, Value Text }\n", f"\t{_NOT_YET}\n\tvar pair struct{{ Key, Value Text }}\n"),
    "query": ("plug.go", '\tcase "status":\n', f'\tcase "status":\n\t\t{_NOT_YET}\n'),
    "restart": ("plug.go", "\tl.begin(now, config)\n", f"\t{_NOT_YET}\n\tl.begin(now, config)\n"),
    "a state": ("plug.go", "\t\tmade.load()\n", f"\t\t{_NOT_YET}\n"),
    "a configuration": (
        "plug.go",
        "\tif changes != nil {\n",
        f"\tif shown.MaxPayload != 1400 {{\n\t\t{_NOT_YET}\n\t}}\n\tif changes != nil {{\n",
    ),
}
