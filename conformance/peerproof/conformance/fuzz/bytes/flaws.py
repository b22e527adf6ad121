"""What can be wrong with a decoder, and what the specification's own must be able to do with any bytes."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from peerproof.conformance.fuzz.known_findings import one_word, sort_of
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.packing import Codec

#: What can be found, in a sentence: first of any decoder, then of the specification's, then of an implementation's.
KINDS: Final[Mapping[str, str]] = {
    "raised": "the decoder raised an error that is none of the peer's",
    "slow": "the decoder takes longer, or more memory, than it may",
    "unwritable": "what was read cannot be written",
    "unreadable": "what was written cannot be read",
    "changed": "written and read again, the message is another one",
    "unsettled": "written, read and written again, the bytes are others",
    "second-form": "two strings of bytes are one message, and each message must have one form",
    "plain": "as plain data and back, the message is another one",
    "accepted": "the implementation takes for a message what is none",
    "rejected": "the implementation rejects what is a message",
    "value": "the implementation reads another message",
    "bytes": "the implementation writes the message that it has read in another way",
    "crashed": "the implementation ended",
    "hung": "the implementation did not answer in time",
    "flooded": "the implementation answered with more than a line may have",
    "garbled": "the adapter wrote what is no line of the protocol",
    "misshapen": "the adapter's reply has not the members that it must have",
    "error": "the adapter says that it has a problem",
}


@dataclass(frozen=True)
class Flaw:
    """Bytes that show what is wrong with a decoder."""

    kind: str  #: one of `KINDS`
    data: bytes
    detail: str
    name: str = ""  #: of the exception
    expected: Any = None
    actual: Any = None
    errors: str = ""  #: a traceback, or the last that the implementation wrote on standard error

    @property
    def what(self) -> tuple[str, str]:
        """Two flaws of which this is the same are the same, whatever bytes show them."""
        return self.kind, self.name


class Flawed(Exception):
    """A flaw on its way out of a decoder that is being guided."""


def flaw_of(codec: Codec[Any], data: bytes, *, one_form: bool) -> Flaw | None:
    """
    What is wrong with a codec that reads these bytes.

    Reading gives a message or MalformedMessage. A message that was read can be written; what is written is read as the same
    message, and written again in the same way: it is the message's canonical form. With `one_form`, it is its only one.
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
        if (told := codec.value(codec.plain(message))) != message:
            return Flaw("plain", data, "plain data loses something", "", codec.plain(message), codec.plain(told))
    except MalformedMessage as error:
        return None if step == "decode" else Flaw("unreadable", data, f"to {step} gives {error}")
    except NotEnabled as error:
        return Flaw("unwritable", data, f"to {step} gives {error}")
    except Exception as error:  # noqa: BLE001  # whatever it raises is what is looked for
        return Flaw(
            "raised",
            data,
            f"to {step} raised {type(error).__name__}: {error}",
            type(error).__name__,
            errors=traceback.format_exc(),
        )
    return None


def name_flaw(flaw: Flaw) -> str:
    """Names what is wrong with a decoder: the kind, what kind of message it is about, and how it was said."""
    about = next((sort_of(value) for value in (flaw.expected, flaw.actual) if isinstance(value, dict)), "")
    return "/".join(one_word(part) for part in (flaw.kind, flaw.name or about, flaw.detail) if part)
