"""
The adapter protocol, version 1: what a reply to each request looks like.

A reply that does not look like this is the adapter's mistake and is reported as such, with what was expected; never as a
mistake of the implementation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from peerproof.spec.errors import REASONS

VERSION: Final = 1

Request: TypeAlias = dict[str, Any]
Reply: TypeAlias = dict[str, Any]

#: What an adapter's trouble is called.
ERROR_CODES: Final = ("version", "unknown_op", "unsupported", "bad_request", "no_handle", "panic", "internal", "timeout")

#: Requests in which an implementation has nothing to choose; they may be sent before earlier ones are answered.
WITHOUT_CHOICES: Final = frozenset({"encode", "decode", "query", "crash", "close", "hello", "bye", "batch"})

#: Arrays and objects of a reply nest at most so deep; those of a message nest 64 deep, and several stand for each of them.
DEEPEST: Final = 300
_HEX: Final = re.compile("(?:[0-9a-f]{2})*").fullmatch
_BRACKETS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL).finditer


def nests_too_deep(text: str) -> bool:
    """Whether a line of JSON, legal or not, nests so deep that whoever reads or compares it could come to grief."""
    if text.count("[") + text.count("{") <= DEEPEST:  # nearly always
        return False
    depth = 0
    for found in _BRACKETS(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEEPEST:
            return True
    return False


@dataclass(frozen=True)
class Offered:
    """What an implementation can do in one protocol."""

    capabilities: frozenset[str]
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Hello:
    """How an adapter introduces its implementation."""

    name: str
    version: str
    protocols: Mapping[str, Offered]
    language: str | None = None
    url: str | None = None
    clock: str = "virtual"
    choices: str = "set"
    sockets: tuple[str, ...] = ()  #: what it can serve nodes over

    @property
    def oracle(self) -> bool:
        """Whether the implementation lets the runner choose."""
        return self.choices == "oracle"

    def plain(self) -> dict[str, Any]:
        """For reports: who was judged."""
        shown = {"name": self.name, "version": self.version, "language": self.language, "url": self.url}
        return {name: value for name, value in shown.items() if value is not None}


class InvalidReply(Exception):
    """A reply that is no reply to that request; the message says what was expected."""


def hello_of(reply: Reply) -> Hello:
    """The introduction in a reply to `hello`. Raises InvalidReply."""
    if "error" in reply:
        raise InvalidReply(f"an error: {reply['error']!r}")
    _check_members(reply, "hello")
    if reply["protocol"] != VERSION:
        raise InvalidReply(f"speaks protocol {reply['protocol']!r}; this runner speaks {VERSION}")
    protocols = {}
    for name, offered in _mapping(reply["protocols"], "protocols").items():
        offered = _mapping(offered, f"protocols.{name}")  # noqa: PLW2901  # the same, now known to be one
        capabilities = _words(offered.get("capabilities"), f"protocols.{name}.capabilities")
        protocols[name] = Offered(frozenset(capabilities), _mapping(offered.get("limits", {}), f"protocols.{name}.limits"))
    if reply.get("choices", "set") not in ("oracle", "set"):
        raise InvalidReply(f"choices must be 'oracle' or 'set', not {reply['choices']!r}")
    return Hello(
        name=str(reply["name"]),
        version=str(reply["version"]),
        protocols=protocols,
        language=reply.get("language"),
        url=reply.get("url"),
        clock=reply.get("clock", "virtual"),
        choices=reply.get("choices", "set"),
        sockets=tuple(_words(reply.get("sockets", []), "sockets")),
    )


def check(request: Request, reply: Reply) -> None:
    """Raises InvalidReply if that is no reply to this request. An `error` is one to every request."""
    op = request["op"]
    if "error" in reply:
        error = _mapping(reply["error"], "error")
        if error.get("code") not in ERROR_CODES:
            raise InvalidReply(f"error.code must be one of {', '.join(ERROR_CODES)}, not {error.get('code')!r}")
        return
    usual, checks = _SHAPES[op]
    if reply.keys() != usual or reply["ok"] is not True:
        _check_members(reply, op)
    for name, checked in checks:
        if name in reply:
            checked(reply[name], name)


def _check_members(reply: Reply, op: str) -> None:
    if reply.get("ok") is not True:
        raise InvalidReply('expected "ok": true or an "error"')
    needed, others = MEMBERS[op]
    for name in reply:
        if name not in needed and name not in others and name not in ("id", "ok"):
            raise InvalidReply(f"unknown member {name!r} in a reply to {op}; there are {', '.join((*needed, *others)) or 'none'}")
    can_reject = "rejected" in others
    for name in needed:
        if name not in reply and not (can_reject and "rejected" in reply):
            either = " or 'rejected'" if can_reject else ""
            raise InvalidReply(f"a reply to {op} needs a member {name!r}{either}")


_OPENED: Final = (("handle", "effects", "next_timer_ms"), ())
_ACTED: Final = (("effects", "next_timer_ms"), ("refused",))

#: op -> members that its reply must have, members that it may have
MEMBERS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "hello": (("protocol", "name", "version", "protocols"), ("language", "url", "clock", "choices", "sockets", "reset")),
    "encode": (("bytes",), ("rejected",)),
    "decode": (("value",), ("rejected",)),
    **dict.fromkeys(("open", "load"), _OPENED),
    **dict.fromkeys(("call", "recv", "sent", "advance", "stream", "restart"), _ACTED),
    **dict.fromkeys(("crash", "close", "bye"), ((), ())),
    "query": (("value",), ()),
    "batch": (("results",), ()),
    "serve": (("handle", "addrs"), ()),
}


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidReply(f"{where} must be an object, not {value!r}")
    return value


def _words(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InvalidReply(f"{where} must be a list of words, not {value!r}")
    return value


def _hex(value: Any, where: str) -> None:
    if not isinstance(value, str) or not _HEX(value):
        raise InvalidReply(f"{where} must be bytes as pairs of lower-case hexadecimal digits, not {value!r}")


def _effects(value: Any, where: str) -> None:
    if not isinstance(value, list):
        raise InvalidReply(f"{where} must be a list, not {value!r}")
    for index, effect in enumerate(value):
        match effect:
            case {"send": {"via": str(), "to": _, "bytes": sent}} if len(effect) == 1 and len(effect["send"]) == 3:  # noqa: PLR2004  # these
                _hex(sent, f"{where}[{index}].send.bytes")
            case {"event": {"name": str()}} if len(effect) == 1:
                pass
            case {"stream": {"conn": str(), "event": "data", "bytes": sent}} if len(effect) == 1 and len(effect["stream"]) == 3:  # noqa: PLR2004  # these
                _hex(sent, f"{where}[{index}].stream.bytes")
            case {"stream": {"conn": str(), "event": "close"}} if len(effect) == 1 and len(effect["stream"]) == 2:  # noqa: PLR2004  # these
                pass
            case _:
                wanted = (
                    '{"send": {"via": …, "to": …, "bytes": …}}, {"event": {"name": …, …}}, '
                    '{"stream": {"conn": …, "event": "data", "bytes": …}} or {"stream": {"conn": …, "event": "close"}}'
                )
                raise InvalidReply(f"{where}[{index}] must be {wanted}, not {effect!r}")


def _instant(value: Any, where: str) -> None:
    if value is not None and type(value) is not int:
        raise InvalidReply(f"{where} must be an integer of milliseconds or null, not {value!r}")


def _check_rejection(value: Any, where: str) -> None:
    if not isinstance(value, dict) or value.get("class") not in REASONS:
        raise InvalidReply(f"{where}.class must be one of {', '.join(REASONS)}: {value!r}")


def _check_refusal(value: Any, where: str) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("class"), str):
        raise InvalidReply(f"{where}.class must be a word: {value!r}")


_CHECKED: Final[tuple[tuple[str, Callable[[Any, str], None]], ...]] = (
    ("effects", _effects),
    ("next_timer_ms", _instant),
    ("bytes", _hex),
    ("rejected", _check_rejection),
    ("refused", _check_refusal),
)

#: op -> what a reply has if nothing is unusual, and what is checked of it: so that the usual takes no time
_SHAPES: Final = {
    op: (
        frozenset({"id", "ok", *needed}),
        tuple((name, checked) for name, checked in _CHECKED if name in needed or name in others),
    )
    for op, (needed, others) in MEMBERS.items()
}
