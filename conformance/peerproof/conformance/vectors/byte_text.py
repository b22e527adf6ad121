"""What the bytes in a vector or a reply say, for people."""

from __future__ import annotations

from typing import Any

from peerproof.conformance.clauses.catalogue import specification
from peerproof.spec.errors import MalformedMessage


def describe_bytes(protocol: str, digits: str) -> Any:
    """
    The message that the specification's codec decodes from hexadecimal digits, as plain data; a text if it is none.

    Raises KeyError for an unknown protocol, ValueError for what are no digits.

    >>> describe_bytes("swim", "00")
    'no message: a message is a vector of vectors, and has a header (at byte 0: bad_type)'
    """
    message = specification(protocol).MESSAGE
    try:
        return message.plain(message.decode(bytes.fromhex(digits)))
    except MalformedMessage as error:
        return f"no message: {error}"
