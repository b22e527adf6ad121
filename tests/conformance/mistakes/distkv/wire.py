"""Mistakes in writing messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants

from peerproof.spec.distkv.messages import Update
from peerproof.spec.forms.messagepack import pack

wrong = Variants(__name__, Wrong)


def writing(**functions: Callable[..., bytes]) -> Mapping[str, Any]:
    """What is replaced to write parts of messages otherwise."""
    return {f"codec.{name}": function for name, function in functions.items()}


@wrong("encode", "update update-that-deletes sets-a-value")
def NestsWhatItSendsAgain(right: Any, message: Any) -> Any:
    """Writes each update in the form in which the original sends changes again."""
    if isinstance(message, Update) and message.sender is None:
        message = replace(message, sender=message.chain.head)
    return right(message)


wrong |= {
    # Writes every number in eight bytes.
    "WritesEightBytes: update ping tick-of-32-bits tick-of-zero": writing(
        number_bytes=lambda number: struct.pack(">BQ", 0xCF, number)
    ),
    # Writes numbers in signed forms.
    "WritesSignedNumbers: tick-of-beyond-7-bits tick-of-16-bits tick-of-63-bits": writing(
        number_bytes=lambda number: pack(number) if number < 128 else struct.pack(">Bq", 0xD3, number)
    ),
}
__getattr__ = wrong.find
