"""The plain data of Wendy's values: messages, commands, notices, configuration."""

from __future__ import annotations

from typing import Any, Final

from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import U64, Flag, Form, Integer, ListOf, Optional, Plain, Record, Tagged, misfit
from peerproof.spec.wendy import messages
from peerproof.spec.wendy.ids import DIGIT_BITS, ID_DIGITS, Ring, id_of_text, id_text
from peerproof.spec.wendy.state import LEAF_SET_SIDE, MAX_HOST, NEIGHBORHOOD_SET, PORT_MAX, Config, host_and_port, is_short


class IdText(Form):
    """An id, as 32 hexadecimal digits. [WA-49]"""

    def plain(self, value: Any) -> Plain:
        """Its digits, small."""
        return id_text(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From its digits, small or capital."""
        try:
            return id_of_text(plain if isinstance(plain, str) else "")
        except NotEnabled:
            raise misfit(where, f"{ID_DIGITS} hexadecimal digits", plain) from None


class Octets(Form):
    """Bytes, as hexadecimal digits."""

    def plain(self, value: Any) -> Plain:
        """Their digits, small."""
        return value.hex()

    def value(self, plain: Plain, where: str = "") -> Any:
        """From their digits; blanks between bytes are ignored."""
        try:
            return bytes.fromhex(plain)
        except (TypeError, ValueError):
            raise misfit(where, "bytes as hexadecimal digits", plain) from None


class ShortText(Form):
    """A string that takes at most 255 bytes in JSON. [WA-52]"""

    def plain(self, value: Any) -> Plain:
        """The string."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From a string that is valid Unicode and not too long."""
        if not is_short(plain):
            raise misfit(where, f"a string that is written with at most {MAX_HOST} bytes", plain)
        return plain


class Address(ShortText):
    """An address: `host:port` or `[host]:port`. [WA-52]"""

    def value(self, plain: Plain, where: str = "") -> Any:
        """From the text of an address."""
        try:
            host_and_port(plain if isinstance(plain, str) else "")  # type: ignore[arg-type]  # this checks the type
        except NotEnabled:
            raise misfit(where, "an address, host:port", plain) from None
        return plain


ID: Final = IdText()
OCTETS: Final = Octets()
TEXT: Final = ShortText()
ADDRESS: Final = Address()
PORT: Final = Integer(0, PORT_MAX)
NODE: Final = Record(messages.Node, id=ID, local_ip=TEXT, global_ip=TEXT, port=PORT, region=TEXT)
VERSIONS: Final = Record(messages.Versions, routing_table=U64(), leaf_set=U64(), neighborhood_set=U64())
ROW: Final = Integer(0, ID_DIGITS - 1)
COLUMN: Final = Integer(0, 2**DIGIT_BITS - 1)
ENTRY: Final = Record(messages.Entry, row=ROW, column=COLUMN, node=NODE)
LEAF_SET: Final = Record(messages.LeafSet, left=ListOf(NODE), right=ListOf(NODE))
TABLES: Final = Record(
    messages.Tables, routing_table=Optional(ListOf(ENTRY)), leaf_set=Optional(LEAF_SET), neighborhood_set=Optional(ListOf(NODE))
)
MASK: Final = Record(
    messages.Mask, routing_table=Flag(), leaf_set=Flag(), neighborhood_set=Flag(), rows=ListOf(ROW), columns=ListOf(COLUMN)
)
HEADER: Final = Record(
    messages.Header, sender=NODE, key=ID, versions=VERSIONS, credentials=Optional(OCTETS), hop=Integer(0, messages.MOST_HOPS)
)

#: The messages; their tags are the purposes on the wire, and all other purposes are an application's. [WA-55]
MESSAGE_FORM: Final = Tagged(
    node_join=(0, Record(messages.NodeJoin, header=HEADER)),
    node_exit=(1, Record(messages.NodeExit, header=HEADER)),
    heartbeat=(2, Record(messages.Heartbeat, header=HEADER)),
    state_data=(3, Record(messages.StateData, header=HEADER, tables=TABLES, destination=Flag())),
    state_request=(4, Record(messages.StateRequest, header=HEADER, mask=MASK)),
    node_race=(5, Record(messages.NodeRace, header=HEADER, tables=TABLES)),
    node_repair=(6, Record(messages.NodeRepair, header=HEADER, mask=MASK)),
    node_announcement=(7, Record(messages.NodeAnnouncement, header=HEADER, tables=TABLES)),
    application=(
        messages.LEAST_ROUTED,
        Record(
            messages.Application,
            header=HEADER,
            purpose=Integer(messages.LEAST_ROUTED, messages.MOST_PURPOSE),
            value=Optional(OCTETS),
        ),
    ),
)

_APPLICATION: Final = MESSAGE_FORM.cases["application"]

COMMAND: Final = Tagged(
    join=(0, Record(messages.Join, contact=ADDRESS)),
    leave=(0, Record(messages.Leave)),
    route=(
        0,
        Record(messages.Route, key=ID, value=Optional(OCTETS), purpose=Integer(messages.LEAST_ROUTED, messages.MOST_PURPOSE)),
    ),
    forward=(0, Record(messages.Forward, message=_APPLICATION)),
    send_to=(
        0,
        Record(
            messages.SendTo,
            node=NODE,
            key=ID,
            value=Optional(OCTETS),
            purpose=Integer(messages.LEAST_ROUTED, messages.MOST_PURPOSE),
            hop=Integer(0, messages.MOST_HOPS),
        ),
    ),
)
TIMER: Final = Tagged(
    flush_cache=(0, Record(messages.FlushCache)),
    announce=(0, Record(messages.Announce)),
    heartbeat_due=(0, Record(messages.HeartbeatDue)),
    repair_timeout=(0, Record(messages.RepairTimeout, row=ROW, column=COLUMN)),
)
NOTICE: Final = Tagged(
    delivered=(0, Record(messages.Delivered, message=_APPLICATION)),
    forwarding=(0, Record(messages.Forwarding, message=_APPLICATION, next_hop=NODE)),
    joined=(0, Record(messages.Joined)),
    join_failed=(0, Record(messages.JoinFailed, contact=ADDRESS)),
    node_joined=(0, Record(messages.NodeJoined, node=NODE)),
    node_exited=(0, Record(messages.NodeExited, node=NODE)),
)
CONFIG: Final = Record(
    Config,
    id=ID,
    global_ip=TEXT,
    region=TEXT,
    network_timeout=Integer(1),
    heartbeat=Integer(),
    credentials=Optional(OCTETS),
    is_consulted=Flag(),
    ring=Record(Ring, digits=Integer(1, ID_DIGITS), digit_bits=Integer(1, DIGIT_BITS)),
    leaf_set_side=Integer(1, LEAF_SET_SIDE),
    neighborhood_set=Integer(1, NEIGHBORHOOD_SET),
    is_two_sided=Flag(),
)
