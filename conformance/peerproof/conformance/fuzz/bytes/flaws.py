"""Flaws of decoders, and what the specification's own decoder must do with any bytes."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from peerproof.conformance.fuzz.findings import FAILURES
from peerproof.conformance.fuzz.known_findings import one_word, sort_of
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.packing import Codec

#: The kinds of flaws, each with a sentence: first of any decoder, then of the specification's, then of an implementation's.
KINDS: Final[Mapping[str, str]] = {
    "raised": "the decoder raised an error other than the one for malformed input",
    "slow": "the decoder takes longer, or more memory, than it may",
    "unwritable": "a message that was read cannot be written",
    "unreadable": "a message that was written cannot be read",
    "changed": "written and read again, the message is another one",
    "unsettled": "written, read and written again, the bytes are others",
    "second-form": "two strings of bytes are one message, and each message must have one form",
    "plain": "as plain data and back, the message is another one",
    "accepted": "the implementation accepts bytes that are not a message",
    "rejected": "the implementation rejects a message",
    "value": "the implementation reads another message",
    "bytes": "the implementation writes the message that it has read in another way",
    **FAILURES,
}


@dataclass(frozen=True)
class Flaw:
    """Bytes that show a fault of a decoder."""

    kind: str  #: one of `KINDS`
    data: bytes
    detail: str
    name: str = ""  #: of the exception
    expected: Any = None
    actual: Any = None
    errors: str = ""  #: a traceback, or the end of the implementation's standard error
    about: str = ""  #: of an implementation that gives no result: the type of the message, or why it is none

    @property
    def what(self) -> tuple[str, str]:
        """The identity of a flaw: two flaws with equal values are the same, whatever bytes show them."""
        return self.kind, self.name


class Flawed(Exception):
    """Carries a flaw out of a decoder under coverage guidance."""


def flaw_of(codec: Codec[Any], data: bytes, *, one_form: bool) -> Flaw | None:
    """
    Returns the flaw of a codec that these bytes show, or None.

    Reading gives a message or MalformedMessage. A message that was read can be written. The written bytes are read as the same
    message and written again in the same way: they are its canonical form. With `one_form`, they are its only form.
    """
    step = "decode"
    try:
        message = codec.decode(data)
        step = "encode"
        canonical = codec.encode(message)
        step = "decode what was encoded"
        again = codec.decode(canonical)
        if again != message:
            return Flaw("changed", data, f"encoded, it is {canonical.hex()}", "", codec.plain(message), codec.plain(again))
        step = "encode what was decoded again"
        if (twice := codec.encode(again)) != canonical:
            return Flaw("unsettled", data, "the canonical form is not stable", "", canonical.hex(), twice.hex())
        if one_form and canonical != data:
            return Flaw("second-form", data, "the canonical form is another one", "", canonical.hex(), data.hex())
        step = "read the plain data"
        if (parsed := codec.value(codec.plain(message))) != message:
            return Flaw("plain", data, "plain data loses something", "", codec.plain(message), codec.plain(parsed))
    except MalformedMessage as error:
        return None if step == "decode" else Flaw("unreadable", data, f"to {step} gives {error}")
    except NotEnabled as error:
        return Flaw("unwritable", data, f"to {step} gives {error}")
    except Exception as error:  # noqa: BLE001  # any other exception is a flaw
        return Flaw(
            "raised",
            data,
            f"to {step} raised {type(error).__name__}: {error}",
            type(error).__name__,
            errors=traceback.format_exc(),
        )
    return None


def name_flaw(flaw: Flaw) -> str:
    """Names a fault of a decoder by its kind, the type of the message, and the detail."""
    about = next((sort_of(value) for value in (flaw.expected, flaw.actual) if isinstance(value, dict)), flaw.about)
    return "/".join(one_word(part) for part in (flaw.kind, flaw.name or about, flaw.detail) if part)
