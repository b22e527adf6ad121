"""The known properties of a running node's answers, for each protocol that `run --connect` can check."""

from __future__ import annotations

from typing import Final, NamedTuple


class Rules(NamedTuple):
    """The known properties of a protocol's answers."""

    probe: str  #: a message that every node answers, whatever its state
    answers: tuple[str, ...]  #: types of messages that are sent only as answers
    about: tuple[str, str] | None  #: an answer's member with entries about nodes, and their member that names the node


SCUTTLEBUTT: Final = Rules("01", ("delta", "digest_response"), ("entries", "addr"))

SWIM: Final = Rules(
    "9194a77e3a70726f626592a37e237592cf1111111111114111d381111111111111110101",  # [probe 1111… 1 1], SA-41
    ("probe_ack", "ack"),
    None,
)
