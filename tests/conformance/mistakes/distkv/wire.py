"""Mistakes in writing messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Reading

from peerproof.spec.distkv.messages import Update
from peerproof.spec.forms.messagepack import pack


def writing(**functions: Callable[..., bytes]) -> Mapping[str, Any]:
    """What is replaced to write parts of messages otherwise."""
    return {f"codec.{name}": function for name, function in functions.items()}


class WritesEightBytes(Reading):
    """Writes every number in eight bytes."""

    caught_by: ClassVar = ("update", "ping", "tick-of-32-bits", "tick-of-zero")
    instead: ClassVar = writing(number_bytes=lambda number: struct.pack(">BQ", 0xCF, number))


class WritesSignedNumbers(Reading):
    """Writes numbers in signed forms."""

    caught_by: ClassVar = ("tick-of-beyond-7-bits", "tick-of-16-bits", "tick-of-63-bits")
    instead: ClassVar = writing(number_bytes=lambda number: pack(number) if number < 128 else struct.pack(">Bq", 0xD3, number))


class NestsWhatItSendsAgain(Reading):
    """Writes each update in the form in which the original sends changes again."""

    caught_by: ClassVar = ("update", "update-that-deletes", "sets-a-value")

    def encode(self, message: Any) -> bytes:
        """Nested."""
        if isinstance(message, Update) and message.sender is None:
            message = replace(message, sender=message.chain.head)
        return super().encode(message)
