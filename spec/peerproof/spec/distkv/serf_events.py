"""
Messages as Serf's user events: their names, and the RPC request that sends one. [D-01…D-05]

A deployment chooses the root of its events' names. The client of the agent replaces it by the default one, so that all
other code sees one name for each type.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.forms.messagepack import integer_bytes, map_header, older_string, string_bytes

#: The default root. [D-04, DA-55]
DEFAULT_ROOT: Final = "distkv"

#: The types of messages. [D-03]
TYPES: Final = ("update", "info", "ping")


def event_name(kind: str, root: str = DEFAULT_ROOT) -> str:
    """Returns the name of the events for a type of messages. [D-03]"""
    return f"{root}.{kind}"


def type_of_event(name: str, root: str = DEFAULT_ROOT) -> str | None:
    """Returns the type of messages for an event name; None for other programs and other roots. [DA-89]"""
    return next((kind for kind in TYPES if name == event_name(kind, root)), None)


def request(sequence: int, name: str, payload: bytes) -> bytes:
    """
    Returns the RPC request that makes an agent send an event, which must not be coalesced. [D-05]

    Agents use an older MessagePack, whose strings are any bytes.
    """
    return b"".join(
        (
            map_header(2),
            *(string_bytes("Command"), string_bytes("event"), string_bytes("Seq"), integer_bytes(sequence)),
            map_header(3),
            *(string_bytes("Name"), older_string(name.encode())),
            *(string_bytes("Payload"), older_string(payload)),
            *(string_bytes("Coalesce"), b"\xc2"),
        )
    )
