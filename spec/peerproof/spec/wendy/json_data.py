"""
JSON in Wendy's messages: decoded by the standard library, within limits of this project.

The library accepts some texts that are not JSON, takes more than linear time for others, and fails for deep nesting;
`parse_json` accepts exactly JSON in UTF-8, in time linear in its length. Of a duplicate name the last value counts. [WA-63]
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from peerproof.spec.errors import MalformedMessage

#: The maximum nesting depth of arrays and objects. [WA-63]
DEPTH_MAX: Final = 64

#: The value of each integer with more digits than any field holds; no field holds this one either.
HUGE: Final = 2**256
_MOST_DIGITS: Final = 20

#: A text of at most this many characters has no integer long enough to be slow.
_SHORT: Final = 1024

_IN_STRING: Final = re.compile(rb'["\\]')
_STRUCTURAL: Final = re.compile(rb'["\[\]{}]')


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _MOST_DIGITS else HUGE


def _float(digits: str) -> float:
    return float(digits) if len(digits) <= 2 * _MOST_DIGITS else float(HUGE)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def parse_json(data: bytes) -> Any:
    """Parses a JSON text; integers too large for any field may be `HUGE`. Raises MalformedMessage."""
    try:
        text = str(data, "utf-8")
        value, end = (_scan_short if len(text) <= _SHORT else _scan)(text, 0)
        if text[end:] in ("", "\n"):
            return value
    except (ValueError, RecursionError, StopIteration):
        pass  # the slow path finds the error, or accepts leading blanks
    try:
        text = str(data, "utf-8")
        return _decoder.decode(text)
    except UnicodeDecodeError as error:
        reason = "truncated" if error.end == len(data) and error.reason == "unexpected end of data" else "bad_value"
        raise MalformedMessage(reason, error.start, "the text is no UTF-8") from None
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        if error.msg == "Extra data":
            raise MalformedMessage("trailing", at, "something follows the message") from None
        if end_of_value(data) is None:
            raise MalformedMessage("truncated", len(data), "the text ends before the message does") from None
        raise MalformedMessage("bad_value", at, f"no JSON: {error.msg}") from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:  # from `_no_number`
        raise MalformedMessage("bad_value", 0, f"no JSON: {error}") from None


#: Characters that the original escapes in another way than the standard library. [WA-65]
_ESCAPES: Final = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def quote(text: str) -> str:
    """Returns a text in JSON, with its quotation marks. [WA-65]"""
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


def is_shallow(value: Any, depth: int) -> bool:
    """Whether a value at the given nesting depth nests no deeper than allowed. [WA-63]"""
    level = [value]
    while containers := [part for part in level if isinstance(part, (dict, list))]:
        depth += 1
        if depth > DEPTH_MAX:
            return False
        level = [inner for part in containers for inner in (part.values() if isinstance(part, dict) else part)]
    return True


def too_deep() -> MalformedMessage:
    """Returns the error for a text that nests too deep."""
    return MalformedMessage("too_large", 0, f"arrays and objects nest deeper than {DEPTH_MAX}")


class ValueEnd:
    """
    Finds the end of the first value in a stream of bytes, if it is an object or an array; it looks at each byte once.

    Its content need not be valid JSON.
    """

    __slots__ = ("_depth", "_in_string", "at")

    def __init__(self) -> None:
        self.at = 0  #: the number of bytes examined
        self._depth = 0
        self._in_string = False

    def find(self, data: bytes | bytearray) -> int | None:
        """Returns the end of the value in all bytes received so far; None while it is incomplete."""
        while found := (_IN_STRING if self._in_string else _STRUCTURAL).search(data, self.at):
            byte = found.group()
            self.at = found.end()
            if byte == b'"':
                self._in_string = not self._in_string
            elif byte == b"\\":
                if self.at == len(data):
                    self.at -= 1  # the escaped byte is still to come
                    return None
                self.at += 1
            else:
                self._depth += 1 if byte in b"[{" else -1
                if self._depth <= 0:
                    return self.at
        self.at = len(data)
        return None


def end_of_value(data: bytes) -> int | None:
    """Returns the end of the first object or array in some bytes; None if there is none."""
    return ValueEnd().find(data)


_decoder: Final[Any] = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_no_number)
_short_decoder: Final[Any] = json.JSONDecoder(parse_float=_float, parse_constant=_no_number)
_scan, _scan_short = _decoder.scan_once, _short_decoder.scan_once  # the decoder's own function, which does not skip blanks
