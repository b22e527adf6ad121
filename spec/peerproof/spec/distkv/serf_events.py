"""
Messages as Serf's user events: their names, and what is said to an agent to send one. [D-01…D-05]

A deployment chooses the root of its events' names. Whoever talks to the agent exchanges it for the default one, so that
everything else sees one name for each type.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.forms.messagepack import integer_bytes, map_header, older_string, string_bytes

#: The root that is used if none is configured. [D-04, DA-55]
DEFAULT_ROOT: Final = "distkv"

#: The types of messages. [D-03]
TYPES: Final = ("update", "info", "ping")


def event_name(kind: str, root: str = DEFAULT_ROOT) -> str:
    """The name of the events that carry a type of messages. [D-03]"""
    return f"{root}.{kind}"


def type_of_event(name: str, root: str = DEFAULT_ROOT) -> str | None:
    """The type of messages that events of this name carry; None for those of other programs, and of other roots. [DA-89]"""
    return next((kind for kind in TYPES if name == event_name(kind, root)), None)


def request(sequence: int, name: str, payload: bytes) -> bytes:
    """
    What an agent is asked over its RPC to send an event, never one that may be coalesced. [D-05]

    Agents know the strings of an older MessagePack, which are any bytes.
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
