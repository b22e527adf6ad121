"""
Input that could not be read: set aside with its place, the reason and its first bytes, never dropped.

The reasons are a closed list, so that a report can count them; the details are for people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

#: Maximum bytes that are kept of unreadable input.
RAW: Final = 4096

#: Reason -> what it means.
REASONS: Final[Mapping[str, str]] = {
    # of lines
    "line_too_long": "a line of more than 16 MiB",
    "not_utf8": "a line that is not UTF-8",
    "nul_bytes": "a line with NUL bytes, as a crash of the machine leaves them",
    "not_json": "a line that is no JSON object",
    "truncated_line": "the last line, without its end, and no JSON as far as it goes",
    "not_a_trace_line": "a JSON object that is no trace line",
    "missing_field": "a field that the mapping names is not there",
    "bad_field": "a field holds something else than the mapping says",
    "unmatched": "no event of the mapping fits the line",
    "unknown_protocol": "a trace line of a protocol that this version has no specification of",
    # of messages
    "not_a_message": "bytes, or plain data, that are no message of the protocol",
    # of packets
    "truncated_packet": "a packet of which only the beginning was captured",
    "bad_length": "a packet whose lengths contradict each other",
    "bad_header": "a packet of IP in a version that does not exist",
    "fragment": "a fragment of an IP packet",
    "unknown_link": "a frame of a link type that is not read",
    "other_protocol": "a packet of something else than the protocol's transport",
    "unknown_interface": "a packet of an interface that the capture does not describe",
    "no_time": "a packet without a time",
    "stream_gap": "a part of a TCP stream that cannot be read, because what comes before it was not captured",
    "unfinished_frame": "the beginning of a message at the end of a TCP stream",
    # of files
    "truncated_file": "the file ends within a packet, a block or its compression",
    "damaged_file": "from here on, the file is not what it should be",
}


class Refusal(NamedTuple):
    """A piece of input that could not be read."""

    offset: int  #: in the file, uncompressed
    number: int | None  #: of the line or packet, from 1
    reason: str  #: one of `REASONS`
    detail: str
    raw: bytes  #: the first bytes, at most `RAW`


#: Called by a reader with each piece that it cannot read.
SetAside: TypeAlias = Callable[[Refusal], None]


class Unreadable(Exception):
    """A record, packet or block that could not be read: the reason, one of `REASONS`, and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        assert reason in REASONS, reason
        self.reason = reason
        self.detail = detail
