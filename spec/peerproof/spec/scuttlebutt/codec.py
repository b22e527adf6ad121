"""
The encodings of Scuttlebutt values: messages as bytes and as plain data, all others as plain data. [B-40…B-45]

    datagram     = type entry*                      type: 1 digest request, 2 digest response, 3 delta
    digest entry = addr version                     addr: size (1 byte) bytes
    delta entry  = addr key value version           version: 8 bytes, most significant first [BA-01]

All other bytes are malformed as a whole, even if they begin with valid entries. [BA-20]
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.forms import packing
from peerproof.spec.forms.form import U64, Integer, ListOf, Optional, Record, Tagged, Text
from peerproof.spec.forms.packing import Codec, binary
from peerproof.spec.scuttlebutt.arrival import Detector
from peerproof.spec.scuttlebutt.messages import (
    Delta,
    DeltaEntry,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Down,
    Heartbeat,
    Join,
    Message,
    Round,
    Up,
    Update,
    UpdateLocal,
)
from peerproof.spec.scuttlebutt.state import MAX_DATAGRAM, MAX_STRING, Config

STRING: Final = Text(most=MAX_STRING)  # [B-42, BA-02, BA-04]
VERSION: Final = U64()  # [B-43, BA-01]
MILLISECONDS: Final = Integer()

DIGEST_ENTRY: Final = Record(DigestEntry, addr=STRING, version=VERSION)  # [B-43]
DELTA_ENTRY: Final = Record(DeltaEntry, addr=STRING, key=STRING, value=STRING, version=VERSION)  # [B-45]

#: The messages. [B-40, B-41]
MESSAGE: Final[Codec[Message]] = binary(
    Tagged(
        digest_request=(1, Record(DigestRequest, entries=ListOf(DIGEST_ENTRY))),
        digest_response=(2, Record(DigestResponse, entries=ListOf(DIGEST_ENTRY))),  # [B-44]
        delta=(3, Record(Delta, entries=ListOf(DELTA_ENTRY))),
    )
)

TYPE_SIZE: Final = 1
digest_entry_size: Final = packing.size(DIGEST_ENTRY)
delta_entry_size: Final = packing.size(DELTA_ENTRY)

COMMAND: Final = Tagged(update_local=(0, Record(UpdateLocal, key=Text(most=2**16), value=Text(most=2**16))))
TIMER: Final = Tagged(round=(0, Record(Round)))
NOTICE: Final = Tagged(
    join=(0, Record(Join, peer=STRING)),
    update=(0, Record(Update, peer=STRING, key=STRING, value=STRING, version=VERSION)),
    heartbeat=(0, Record(Heartbeat, peer=STRING, round_trip=Optional(MILLISECONDS))),
    up=(0, Record(Up, peer=STRING)),
    down=(0, Record(Down, peer=STRING)),
)
CONFIG: Final = Record(
    Config,
    seeds=ListOf(STRING),
    interval=Integer(1),
    max_payload=Integer(1, MAX_DATAGRAM),
    detector=Optional(Record(Detector, window=Integer(1), bootstrap=Integer(1), critical=Integer(), down=Integer())),
)
