"""The samples of the wire format: what they say, and their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from peerproof.spec.swim import Ack, Incarnation, IndirectAck, IndirectPing, Message, Payload, Ping

from .nodes import HOST, A, B, C, D, member, members, said

#: Uuids in bytes.
_UUIDS: Final = {
    "A": "92a37e237592cf1111111111114111d38111111111111111",
    "B": "92a37e237592cf2222222222224222d38222222222222222",
    "C": "92a37e237592cf3333333333334333d39333333333333333",
    "D": "92a37e237592cf4444444444444444d3a444444444444444",
}
_HOST: Final = "a93132372e302e302e31"
_KEYS: Final = (
    "a67e3a686f7374",
    "a67e3a706f7274",
    "a67e3a75756964",
    "b17e3a726573746172742d636f756e746572",
    "ac7e3a74782d636f756e746572",
)


def raw(text: str) -> bytes:
    """Bytes from digits, where A to D in braces stand for uuids, H for the host, and host, port, … for keys of maps."""
    names = _UUIDS | {"H": _HOST} | dict(zip(("host", "port", "uuid", "restart", "tx"), _KEYS, strict=True))
    for name, digits in names.items():
        text = text.replace(f"{{{name}}}", digits)
    return bytes.fromhex(text)


PING: Final = "a67e3a70696e67"
ACK: Final = "a57e3a61636b"
NORMAL: Final = "a87e3a6e6f726d616c"
ANTI_ENTROPY: Final = "ae7e3a616e74692d656e74726f7079"
C1: Final = "85 {host}{H} {port}cd138b {uuid}{C} {restart}01 {tx}"  # up to its tx


def _ping(sender: str, restart: int, tx: int, target: str, *vectors: object) -> Ping:
    names = {"A": A, "B": B, "C": C}
    return Ping(names[sender], Incarnation(restart, tx), names[target], vectors)  # type: ignore[arg-type]  # a table's cells


#: name: what it says, its bytes, how many they are
SAMPLES: Final[Mapping[str, tuple[Message, bytes, int]]] = {
    "W1": (_ping("A", 1, 1, "B"), raw(f"91 95{PING}{{A}}0101{{B}}"), 59),
    "W2": (
        _ping("A", 1, 1, "B", said("joining A 1 1")),
        raw(f"92 95{PING}{{A}}0101{{B}} 96a97e3a6a6f696e696e67{{A}}0101{{H}}cd1389"),
        109,
    ),
    "W3": (
        Ack(B, Incarnation(4, 120), A, 1, (said("joining A 1 1"), members(member(C, 1, 2), member(D, 5, 8), tagged=False))),
        raw(
            f"93 96{ACK}{{B}}0478{{A}}01 96a97e3a6a6f696e696e67{{A}}0101{{H}}cd1389"
            f" 92 {C1}02 85 a25e32{{H}} a25e33cd138c a25e34{{D}} a25e3505 a25e3608"
        ),
        257,
    ),
    "W4": (_ping("A", 1, 2, "B", said("normal A")), raw(f"92 95{PING}{{A}}0102{{B}} 92{NORMAL}{{A}}"), 93),
    "W5": (
        Ack(B, Incarnation(4, 121), A, 2, (said("normal A"), members(member(C, 1, 3)))),
        raw(f"93 96{ACK}{{B}}0479{{A}}02 92{NORMAL}{{A}} 92{ANTI_ENTROPY} {C1}03"),
        201,
    ),
    "W6": (
        Ack(B, Incarnation(4, 122), A, 7, (said("dead A 3 90"),)),
        raw(f"92 96{ACK}{{B}}047a{{A}}07 94a67e3a64656164{{A}}035a"),
        93,
    ),
    "W7": (
        _ping(
            "A",
            1,
            70000,
            "B",
            said("normal C"),
            said("joining D 5 8"),
            said("suspicious C"),
            members(member(C, 1, 2), member(D, 5, 8)),
            Payload('{"~:some":"~:data"}'),
        ),
        raw(
            f"96 95{PING}{{A}}01ce00011170{{B}} 92{NORMAL}{{C}} 96a97e3a6a6f696e696e67{{D}}0508{{H}}cd138c"
            f" 92ac7e3a737573706963696f7573{{C}} 93{ANTI_ENTROPY} {C1}02"
            " 85 a25e35{H} a25e36cd138c a25e37{D} a25e3805 a25e3908 92a97e3a7061796c6f6164 81a67e3a736f6d65a67e3a64617461"
        ),
        374,
    ),
    "W8": (
        _ping("A", 1, 3, "B", said("normal C"), said("normal D"), said("dead C")),
        raw(f"94 95{PING}{{A}}0103{{B}} 92{NORMAL}{{C}} 92a25e31{{D}} 92a67e3a64656164{{C}}"),
        153,
    ),
    "W9": (_ping("A", 1, 5, "B", said("leave A 1 5")), raw(f"92 95{PING}{{A}}0105{{B}} 94a77e3a6c65617665{{A}}0105"), 94),
    "W10": (
        _ping("A", 1, 6, "C", IndirectPing(B, HOST, 5002)),
        raw(f"92 95{PING}{{A}}0106{{C}} 94af7e3a696e6469726563742d70696e67{{B}}{{H}}cd138a"),
        113,
    ),
    "W11": (
        _ping("C", 1, 3, "A", IndirectAck(B, Incarnation(4, 130))),
        raw(f"92 95{PING}{{C}}0103{{A}} 94ae7e3a696e6469726563742d61636b{{B}}04cc82"),
        102,
    ),
}
