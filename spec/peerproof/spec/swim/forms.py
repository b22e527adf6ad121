"""The plain data of SWIM values: messages, commands, notices, configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import U64, Flag, Form, Integer, ListOf, OneOf, Optional, Plain, Record, Tagged, misfit
from peerproof.spec.swim import messages
from peerproof.spec.swim.state import LEAST_DATAGRAM, MAX_HOST, MOST_DATAGRAM, PORT_MAX, Config, Seed, is_host
from peerproof.spec.swim.transit import is_uuid
from peerproof.spec.swim.transit_json import canonical


class UuidText(Form):
    """A UUID, as text."""

    def plain(self, value: Any) -> Plain:
        """Its canonical text."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From its text, in small or capital letters."""
        if not isinstance(plain, str) or not is_uuid(plain):
            raise misfit(where, "a UUID", plain)
        return messages.Uuid(plain.lower())


class Host(Form):
    """A host name or IP address: 1 to 255 bytes of UTF-8. [SA-65]"""

    def plain(self, value: Any) -> Plain:
        """The name."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From the name."""
        if not isinstance(plain, str) or not is_host(plain):
            raise misfit(where, f"a host's name, of 1 to {MAX_HOST} bytes", plain)
        return plain


class TransitMap(Form):
    """A map in the verbose JSON form of Transit; its value is the text of the map. [S-23]"""

    def plain(self, value: Any) -> Plain:
        """The object."""
        return json.loads(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an object whose texts are in Transit's notation."""
        if not isinstance(plain, Mapping):
            raise misfit(where, "an object", plain)
        try:
            return canonical(dict(plain))
        except NotEnabled as error:
            raise MalformedMessage("bad_value", 0, f"{where}: {error}") from None


UUID_TEXT: Final = UuidText()
COUNTER: Final = U64(most=messages.COUNTER_MAX)  # [SA-47]
HOST: Final = Host()
PORT: Final = Integer(1, PORT_MAX)
INCARNATION: Final = Record(messages.Incarnation, restart=COUNTER, tx=COUNTER)
MEMBER: Final = Record(messages.Member, host=HOST, port=PORT, uuid=UUID_TEXT, restart_counter=COUNTER, tx_counter=COUNTER)
DATA: Final = TransitMap()
EVENT_TYPE: Final = OneOf(messages.EventType)

_EVENTS: Final = {
    "joining": (0, Record(messages.Joining, node=UUID_TEXT, incarnation=INCARNATION, host=HOST, port=PORT)),
    "normal": (0, Record(messages.Normal, node=UUID_TEXT, incarnation=Optional(INCARNATION))),
    "suspicious": (0, Record(messages.Suspicious, node=UUID_TEXT, incarnation=Optional(INCARNATION))),
    "dead": (0, Record(messages.Dead, node=UUID_TEXT, incarnation=Optional(INCARNATION))),
    "leave": (0, Record(messages.Leave, node=UUID_TEXT, incarnation=INCARNATION)),
}
EVENT: Final = Tagged(**_EVENTS)
VECTOR: Final = Tagged(
    **_EVENTS,
    anti_entropy=(0, Record(messages.AntiEntropy, members=ListOf(MEMBER), tagged=Flag())),
    payload=(0, Record(messages.Payload, data=DATA)),
    indirect_ping=(0, Record(messages.IndirectPing, target=UUID_TEXT, host=HOST, port=PORT)),
    indirect_ack=(0, Record(messages.IndirectAck, target=UUID_TEXT, incarnation=INCARNATION)),
)

MESSAGE_FORM: Final = Tagged(
    ping=(0, Record(messages.Ping, sender=UUID_TEXT, incarnation=INCARNATION, target=UUID_TEXT, vectors=ListOf(VECTOR))),
    ack=(
        0,
        Record(
            messages.Ack, sender=UUID_TEXT, incarnation=INCARNATION, target=UUID_TEXT, target_tx=COUNTER, vectors=ListOf(VECTOR)
        ),
    ),
    probe=(0, Record(messages.Probe, sender=UUID_TEXT, incarnation=INCARNATION)),
    probe_ack=(0, Record(messages.ProbeAck, sender=UUID_TEXT, incarnation=INCARNATION, probe_tx=COUNTER)),
)

COMMAND: Final = Tagged(
    add_node=(0, Record(messages.AddNode, uuid=UUID_TEXT, host=HOST, port=PORT)),
    leave_node=(0, Record(messages.LeaveNode, uuid=UUID_TEXT)),
    remove_node=(0, Record(messages.RemoveNode, uuid=UUID_TEXT)),
    probe_node=(0, Record(messages.ProbeNode, host=HOST, port=PORT)),
    on_node_event=(0, Record(messages.OnNodeEvent, uuid=UUID_TEXT, event_type=EVENT_TYPE)),
    on_cluster_event=(0, Record(messages.OnClusterEvent, event_type=EVENT_TYPE)),
    set_payload=(0, Record(messages.SetPayload, uuid=UUID_TEXT, data=DATA)),
)
TIMER: Final = Tagged(
    quantum=(0, Record(messages.Quantum)), probe_timeout=(0, Record(messages.ProbeTimeout, host=HOST, port=PORT))
)
NOTICE: Final = Tagged(
    node_event=(0, Record(messages.NodeEvent, node=UUID_TEXT, event_type=EVENT_TYPE)),
    cluster_event=(0, Record(messages.ClusterEvent, node=UUID_TEXT, event_type=EVENT_TYPE)),
    reachable=(0, Record(messages.Reachable, host=HOST, port=PORT, node=UUID_TEXT)),
    unreachable=(0, Record(messages.Unreachable, host=HOST, port=PORT)),
)
CONFIG: Final = Record(
    Config,
    uuid=UUID_TEXT,
    restart_counter=COUNTER,
    seeds=ListOf(Record(Seed, uuid=UUID_TEXT, host=HOST, port=PORT)),
    interval=Integer(1),
    ae_size=Integer(),
    max_datagram=Integer(LEAST_DATAGRAM, MOST_DATAGRAM),
    emit_incarnation=Flag(),
    cluster_events=ListOf(EVENT_TYPE),
)
