"""
Wendy messages as bytes. [WA-63, WA-65]

A message is one JSON object, the envelope; the data of its purpose is JSON in base64 in its member `Value`. Encoding has exactly
one form, byte for byte. Decoding accepts any order of members, blanks, unknown members, and tables of any length; a missing
member is empty.
"""

from __future__ import annotations

import json
from binascii import Error as NoBase64
from binascii import a2b_base64, b2a_base64, unhexlify
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.packing import Codec
from peerproof.spec.wendy.forms import MESSAGE_FORM
from peerproof.spec.wendy.ids import ID_BYTES, ID_DIGITS, Id, id_text
from peerproof.spec.wendy.json_data import is_shallow, parse_json, quote, too_deep
from peerproof.spec.wendy.messages import (
    LEAST_ROUTED,
    MOST_CREDENTIALS,
    MOST_HOPS,
    MOST_PURPOSE,
    MOST_VALUE,
    MOST_VERSION,
    Application,
    Entry,
    Header,
    Heartbeat,
    LeafSet,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    StateData,
    StateRequest,
    Tables,
    Versions,
)
from peerproof.spec.wendy.state import LEAF_SET_SIDE, MAX_HOST, NEIGHBORHOOD_SET, PORT_MAX, is_short

#: Maximum bytes of a message to decode; encoded messages are always shorter. [WA-66]
MOST_BYTES: Final = 2**20

ROWS: Final = ID_DIGITS  # [W-13]
COLUMNS: Final = 16

#: Members of the envelope, of a node, of tables and of a mask, with the original's names.
ENVELOPE: Final = ("Purpose", "Sender", "Key", "Value", "Credentials", "LSVersion", "RTVersion", "NSVersion", "Hop")
NODE: Final = ("LocalIP", "GlobalIP", "Port", "Region", "ID")
TABLES: Final = ("rt", "ls", "ns", "eol")
MASK: Final = ("Mask", "Rows", "Cols")
_of_envelope, _of_node = itemgetter(*ENVELOPE), itemgetter(*NODE)
_EMPTY_ROW: Final = [None] * COLUMNS

#: Bits of a mask, in the order of `Mask`.
BITS: Final = (1, 2, 4)
MOST_MASK: Final = 255

_new: Final[Any] = tuple.__new__  # makes a named tuple in half the time of its class
_number: Final[Any] = int.from_bytes  # an id, without a call of `Id`


def encode(message: Message) -> bytes:
    """Encodes a message, with a line feed. Raises NotEnabled if the format cannot hold it. [WA-65, WA-66]"""
    purpose = message.purpose if isinstance(message, Application) else PURPOSES[type(message)]
    _check_range("a purpose of an application", purpose, MOST_PURPOSE, LEAST_ROUTED if isinstance(message, Application) else 0)
    header, value = message.header, VALUES[type(message)](message)
    credentials, (rt, ls, ns) = header.credentials, header.versions
    for what, octets, most in (("a value", value, MOST_VALUE), ("credentials", credentials, MOST_CREDENTIALS)):
        if octets is not None and len(octets) > most:
            raise NotEnabled("too_large", f"{what} of a message have at most {most} bytes, not {len(octets)}")
    for version in header.versions:
        _check_range("a version", version, MOST_VERSION)
    _check_range("a hop count", header.hop, MOST_HOPS)
    text = (
        f'{{"Purpose":{purpose},"Sender":{_node_text(header.sender)},"Key":{_id_text(header.key)},"Value":{_base64(value)}'
        f',"Credentials":{_base64(credentials)},"LSVersion":{ls},"RTVersion":{rt},"NSVersion":{ns},"Hop":{header.hop}}}\n'
    )
    return text.encode()


def _check_range(what: str, value: int, most: int, least: int = 0) -> None:
    if not least <= value <= most:
        raise NotEnabled("bad_value", f"{what} is from {least} to {most}, not {value}")


def _base64(value: bytes | None) -> str:
    return "null" if value is None else f'"{b2a_base64(value, newline=False).decode()}"'


def _id_text(node: Id) -> str:
    _check_range("an id", node, 2 ** (8 * ID_BYTES) - 1)
    return f'"{id_text(node)}"'


def _string(text: str) -> str:
    if not is_short(text):
        raise NotEnabled("bad_value", f"a host or region is written with at most {MAX_HOST} bytes, not {text[:40]!a}")
    return quote(text)


@lru_cache(2**12)
def _node_text(node: Node) -> str:
    """Encodes a node; cached, since a node is in many messages."""
    _check_range("a port", node.port, PORT_MAX)
    hosts = f'"LocalIP":{_string(node.local_ip)},"GlobalIP":{_string(node.global_ip)}'
    return f'{{{hosts},"Port":{node.port},"Region":{_string(node.region)},"ID":{_id_text(node.id)}}}'


def _places(nodes: Iterable[Node], most: int) -> str:
    texts = [_node_text(node) for node in nodes]
    if len(texts) > most:
        raise NotEnabled("too_large", f"there are {most} places for {len(texts)} nodes")
    return f"[{','.join(texts + ['null'] * (most - len(texts)))}]"


def _cells(entries: Iterable[Entry]) -> str:
    rows = [["null"] * COLUMNS for _ in range(ROWS)]
    for row, column, node in entries:
        _check_range("a row", row, ROWS - 1)
        _check_range("a column", column, COLUMNS - 1)
        if rows[row][column] != "null":
            raise NotEnabled("bad_value", f"a cell holds one node, that in row {row} and column {column} two")
        rows[row][column] = _node_text(node)
    texts = [f"[{','.join(row)}]" for row in rows]
    return f"[{','.join(texts)}]"


def _tables_value(tables: Tables, *, destination: bool = False) -> bytes:
    rt, ls, ns = tables
    members = [
        *([] if rt is None else [f'"rt":{_cells(rt)}']),
        *([] if ls is None else [f'"ls":[{",".join([_places(side, LEAF_SET_SIDE) for side in ls])}]']),
        *([] if ns is None else [f'"ns":{_places(ns, NEIGHBORHOOD_SET)}']),
        *(['"eol":true'] if destination else []),
    ]
    return f"{{{','.join(members)}}}".encode()


def _mask_value(mask: Mask) -> bytes:
    for name, places, most in (("row", mask.rows, ROWS), ("column", mask.columns, COLUMNS)):
        for place in places:
            _check_range(f"a {name}", place, most - 1)
    bits = sum(bit for bit, wanted in zip(BITS, mask[:3], strict=True) if wanted)
    rows, columns = (json.dumps(list(places), separators=(",", ":")) if places else "null" for places in mask[3:])
    return f'{{"Mask":{bits},"Rows":{rows},"Cols":{columns}}}'.encode()


def decode(data: bytes) -> Message:
    """Decodes a message. Raises MalformedMessage. [WA-63, WA-66]"""
    if len(data) > MOST_BYTES:
        raise MalformedMessage("too_large", MOST_BYTES, f"a message takes at most {MOST_BYTES} bytes, not {len(data)}")
    raw = parse_json(data)
    purpose, sender, key, value, credentials, ls, rt, ns, hop = _members(raw, _of_envelope, ENVELOPE, "a message", 1)
    for name, member in (("Purpose", purpose), ("Sender", sender), ("Key", key)):
        if member is None:
            raise _bad("bad_value", f"a message has a member {name}")
    purpose = _whole(purpose, MOST_PURPOSE, "Purpose")
    ls = _whole(ls, MOST_VERSION, "LSVersion")
    rt = _whole(rt, MOST_VERSION, "RTVersion")
    ns = _whole(ns, MOST_VERSION, "NSVersion")
    header = Header(
        _node(sender, 1),
        _id(key),
        _new(Versions, (rt, ls, ns)),
        _octets(credentials, "Credentials", MOST_CREDENTIALS),
        _whole(hop, MOST_HOPS, "Hop"),
    )
    value = _octets(value, "Value", MOST_VALUE)
    read = READERS.get(purpose)
    if read is None:
        return Application(header, purpose, value)
    try:
        return read(header, value or b"")
    except MalformedMessage as error:
        reason = "too_large" if error.reason == "too_large" else "bad_value"
        raise MalformedMessage(reason, 0, f"Value: {error.detail}") from None


def _bad(reason: str, detail: str) -> MalformedMessage:
    return MalformedMessage(reason, 0, detail)


def _object(raw: Any, names: tuple[str, ...], what: str, depth: int) -> dict[str, Any]:
    """Checks that a value is an object, and that no unknown member nests too deep."""
    if type(raw) is not dict:
        raise _bad("bad_type", f"{what} is an object, not {_brief(raw)}")
    for name, value in raw.items():
        if name not in names and not is_shallow(value, depth):
            raise too_deep()
    return raw


def _members(raw: Any, of: Any, names: tuple[str, ...], what: str, depth: int) -> tuple[Any, ...]:
    """Returns the members of an object by their names; None for missing ones."""
    if type(raw) is dict and len(raw) == len(names):
        try:
            found: tuple[Any, ...] = of(raw)
        except KeyError:
            pass
        else:
            return found  # it has exactly these members
    raw = _object(raw, names, what, depth)
    return tuple([raw.get(name) for name in names])


def _brief(raw: Any) -> str:
    shown = ascii(raw) if isinstance(raw, (str, int, float)) else type(raw).__name__
    return shown if len(shown) <= 40 else shown[:39] + "…"  # noqa: PLR2004  # enough to recognise it


def _whole(raw: Any, most: int, name: str) -> int:
    if raw is None:
        return 0
    if type(raw) is not int or not 0 <= raw <= most:
        raise _bad("bad_value", f"{name} is a whole number from 0 to {most}, not {_brief(raw)}")
    return raw


def _octets(raw: Any, name: str, most: int) -> bytes | None:
    if not raw and (raw is None or raw == ""):  # the usual case
        return None if raw is None else b""
    try:
        octets = a2b_base64(raw, strict_mode=True) if type(raw) is str else _no_octets()
    except (NoBase64, ValueError):  # the latter for text that is not ASCII
        raise _bad("bad_value", f"{name} is null or bytes in base64, not {_brief(raw)}") from None
    if len(octets) > most:
        raise _bad("too_large", f"{name} has at most {most} bytes, not {len(octets)}")
    return octets


def _no_octets() -> bytes:
    raise ValueError


def _id(raw: Any) -> Id:
    try:
        if type(raw) is str and len(raw) == ID_DIGITS:
            node: Id = _number(unhexlify(raw), "big")
            return node
    except ValueError:
        pass
    raise _bad("bad_value", f"an id is written with {ID_DIGITS} hexadecimal digits, not {_brief(raw)}")


def _node(raw: Any, inside: int) -> Node:
    """Decodes a node at the given nesting depth."""
    local_ip, global_ip, port, region, own = _members(raw, _of_node, NODE, "a node", inside + 1)
    if not (is_short(local_ip) and is_short(global_ip) and is_short(region)):
        local_ip, global_ip, region = [_text(text) for text in (local_ip, global_ip, region)]
    if type(port) is not int or not 0 <= port <= PORT_MAX:
        port = _whole(port, PORT_MAX, "Port")
    node: Node = _new(Node, (_id(own), local_ip, global_ip, port, region))
    return node


def _text(raw: Any) -> str:
    if raw is None:
        return ""
    if not is_short(raw):
        raise _bad("bad_value", f"a host or region is a string that is written with at most {MAX_HOST} bytes, not {_brief(raw)}")
    return str(raw)


def _list(raw: Any, most: int, what: str, inside: int) -> list[Any]:
    """Returns the places of a table, an array at the given nesting depth; surplus places may hold anything. [WA-63]"""
    if raw is None:
        return []
    if type(raw) is not list:
        raise _bad("bad_type", f"{what} is an array, not {_brief(raw)}")
    if len(raw) > most and not is_shallow(raw[most:], inside):
        raise too_deep()
    return raw[:most]


def _side(raw: Any, most: int, what: str, inside: int) -> tuple[Node, ...]:
    return tuple([_node(node, inside + 1) for node in _list(raw, most, what, inside) if node is not None])


def _tables(value: bytes) -> tuple[Tables, bool]:
    members = _object(parse_json(value), TABLES, "what is sent of the tables", 1)
    rt, ls, ns, eol = [members.get(name) for name in TABLES]
    if eol is not None and type(eol) is not bool:
        raise _bad("bad_type", f"eol is true or false, not {_brief(eol)}")
    entries = [
        Entry(row, column, _node(node, 3))
        for row, places in enumerate(_list(rt, ROWS, "a routing table", 1))
        if places != _EMPTY_ROW
        for column, node in enumerate(_list(places, COLUMNS, "a row of a routing table", 2))
        if node is not None
    ]
    sides = [_side(side, LEAF_SET_SIDE, "a side of a leaf set", 2) for side in _list(ls, 2, "a leaf set", 1)]
    left, right = (*sides, (), ())[:2]
    tables = Tables(
        None if rt is None else tuple(entries),
        None if ls is None else LeafSet(left, right),
        None if ns is None else _side(ns, NEIGHBORHOOD_SET, "a neighborhood set", 1),
    )
    return tables, bool(eol)


def _mask(value: bytes) -> Mask:
    members = _object(parse_json(value), MASK, "a mask", 1)
    bits = _whole(members.get("Mask"), MOST_MASK, "Mask")
    rows, columns = (
        tuple(sorted({_whole(place, most - 1, name) for place in _list(members.get(name), MOST_BYTES, name, 1)}))
        for name, most in (("Rows", ROWS), ("Cols", COLUMNS))
    )
    rt, ls, ns = (bool(bits & bit) for bit in BITS)
    return Mask(rt, ls, ns, rows, columns)


def _state_data(header: Header, value: bytes) -> StateData:
    return StateData(header, *_tables(value))


#: Purposes of messages. [WA-55]
PURPOSES: Final[Mapping[type[Any], int]] = {
    record.kind: MESSAGE_FORM.tags[name] for name, record in MESSAGE_FORM.cases.items() if name != "application"
}

#: Encoders of `Value`. [WA-65]
VALUES: Final[Mapping[type[Any], Callable[[Any], bytes | None]]] = {
    NodeJoin: lambda m: m.header.credentials or b"",
    NodeExit: lambda _: b"",
    Heartbeat: lambda _: b"",
    StateData: lambda m: _tables_value(m.tables, destination=m.destination),
    StateRequest: lambda m: _mask_value(m.mask),
    NodeRace: lambda m: _tables_value(m.tables),
    NodeRepair: lambda m: _mask_value(m.mask),
    NodeAnnouncement: lambda m: _tables_value(m.tables),
    Application: lambda m: m.value,
}

#: Decoders of messages, by purpose; all other purposes are an application's. [WA-55]
READERS: Final[Mapping[int, Callable[[Header, bytes], Message]]] = {
    0: lambda header, _: NodeJoin(header),
    1: lambda header, _: NodeExit(header),
    2: lambda header, _: Heartbeat(header),
    3: _state_data,
    4: lambda header, value: StateRequest(header, _mask(value)),
    5: lambda header, value: NodeRace(header, _tables(value)[0]),
    6: lambda header, value: NodeRepair(header, _mask(value)),
    7: lambda header, value: NodeAnnouncement(header, _tables(value)[0]),
}

#: The messages. [W-47…W-66]
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode)
