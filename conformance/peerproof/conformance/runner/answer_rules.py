"""What is known of the answers of a node that runs somewhere, for each protocol that `run --connect` can check."""

from __future__ import annotations

from typing import Final, NamedTuple


class Rules(NamedTuple):
    """What is known of answers in a protocol."""

    probe: str  #: a message that every node answers, whatever it knows
    answers: tuple[str, ...]  #: types of messages that are only sent as answers
    about: tuple[str, str] | None  #: the member with what an answer says of nodes, and whom each entry is about, if it says so


SCUTTLEBUTT: Final = Rules("01", ("delta", "digest_response"), ("entries", "addr"))

SWIM: Final = Rules(
    "9194a77e3a70726f626592a37e237592cf1111111111114111d381111111111111110101",  # [probe 1111… 1 1], SA-41
    ("probe_ack", "ack"),
    None,
)
