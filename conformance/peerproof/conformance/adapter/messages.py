"""
Messages of adapter protocol 1, and the checks of replies.

An invalid reply is the adapter's fault. It is reported as such, with what was expected, and never as a fault of the
implementation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from peerproof.spec.errors import REASONS
from peerproof.spec.protocols import PROTOCOLS

VERSION: Final = 1

Request: TypeAlias = dict[str, Any]
Reply: TypeAlias = dict[str, Any]

#: The codes of an adapter's errors.
ERROR_CODES: Final = ("version", "unknown_op", "unsupported", "bad_request", "no_handle", "panic", "internal", "timeout")

#: The event of a message that an implementation could not read. No protocol requires it.
MALFORMED: Final = "malformed"

#: Capability -> its meaning; of a capability with a dot, the part before it. Each protocol has its own calls and queries.
CAPABILITIES: Final[Mapping[str, str]] = {
    "codec": "`encode`, `decode`",
    "exchange": "`open`, `recv`, `advance`, `close`, with effects",
    "api": "`call` of this name",
    "observe": "`query` of this name",
    "events": "events among the effects: all kinds but the optional ones, or those that `events` lists",
    "config": "configurations of values that the protocol's document fixes, `config.sizes`: rings and tables of other sizes",
    "restart": "`crash`, `restart`",
    "state": "`load`: a node begins in a given state",
    "sent": "`sent`: a node learns the outcome of its message",
    "stream": "`stream`: connections that peers open, with their bytes",
    "choices": 'not among the capabilities, but `"choices": "oracle"` in the reply to `hello`',
}

#: Requests without choices; they may be sent before earlier ones are answered.
WITHOUT_CHOICES: Final = frozenset({"encode", "decode", "query", "crash", "close", "hello", "bye", "batch"})

#: The deepest nesting of a reply; messages nest at most 64 deep, and each level may take several of JSON.
DEEPEST: Final = 300
_HEX: Final = "0123456789abcdef"
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKET: Final = bytes(set(range(256)) - set(b"[]{}"))


def nests_too_deep(line: bytes) -> bool:
    """Whether a line, valid JSON or not, nests so deeply that parsing or comparing it could fail."""
    if line.count(b"[") + line.count(b"{") <= DEEPEST:  # the usual case
        return False
    brackets = _STRING.sub(b"", line).translate(_BRACKETS, _NO_BRACKET)
    levels = 0  # each pass removes the innermost level of each branch
    while levels <= DEEPEST and len(outer := brackets.replace(b"[]", b"")) < len(brackets):
        brackets, levels = outer, levels + 1
    return levels + brackets.count(b"[") > DEEPEST


@dataclass(frozen=True)
class Offered:
    """What an implementation offers for one protocol."""

    capabilities: frozenset[str]
    limits: Mapping[str, int] = field(default_factory=dict)
    events: frozenset[str] | None = None  #: the kinds that it reports; None: all but the optional ones
    optional: frozenset[str] = frozenset({MALFORMED})  #: kinds that it reports only if `events` lists them
    choices: str | None = None  #: who makes the random choices of this protocol; None: as the hello says for all

    def tells(self, kind: str) -> bool:
        """
        Returns whether events of this kind are compared.

        >>> Offered(frozenset({"events"})).tells("join"), Offered(frozenset({"events"})).tells("malformed")
        (True, False)
        >>> Offered(frozenset({"events"}), events=frozenset({"join"})).tells("update")
        False
        """
        if "events" not in self.capabilities:
            return False
        return kind not in self.optional if self.events is None else kind in self.events

    def has(self, capability: str) -> bool:
        """Returns whether it has a capability, or, for `events.KIND`, reports events of this kind."""
        word, _, kind = capability.partition(".")
        return capability in self.capabilities or (word == "events" and bool(kind) and self.tells(kind))


@dataclass(frozen=True)
class Hello:
    """How an adapter describes its implementation."""

    name: str
    version: str
    protocols: Mapping[str, Offered]
    language: str | None = None
    url: str | None = None
    clock: str = "virtual"
    choices: str = "set"
    sockets: tuple[str, ...] = ()  #: the transports over which it can serve nodes
    readings: Mapping[str, str] = field(default_factory=dict)  #: decision -> the other reading that it follows

    @property
    def oracle(self) -> bool:
        """Whether the runner answers the implementation's choices, in at least one protocol."""
        return "oracle" in (self.choices, *(offered.choices for offered in self.protocols.values()))

    def is_oracle(self, protocol: str) -> bool:
        """
        Whether the runner answers the implementation's choices in this protocol.

        >>> offered = {"swim": Offered(frozenset(), choices="set"), "wendy": Offered(frozenset())}
        >>> hello = Hello("my-node", "1", offered, choices="oracle")
        >>> hello.is_oracle("swim"), hello.is_oracle("wendy")
        (False, True)
        """
        own = self.protocols[protocol].choices if protocol in self.protocols else None
        return (own or self.choices) == "oracle"

    def plain(self) -> dict[str, Any]:
        """Plain data for reports: the implementation under test."""
        shown = {"name": self.name, "version": self.version, "language": self.language, "url": self.url}
        return {name: value for name, value in shown.items() if value is not None}


class NoAnswer(dict[str, Any]):
    """Stands for the reply of a recorded implementation that was never sent this request. No adapter sends it."""

    def __init__(self, number: int, because: str) -> None:
        super().__init__(id=number, error={"code": "internal", "message": because})
        self.because = because


class InvalidReply(Exception):
    """A reply does not match its request; the message says what was expected."""


def hello_of(reply: Reply) -> Hello:
    """Parses the reply to `hello`. Raises InvalidReply."""
    if "error" in reply:
        raise InvalidReply(f"an error: {reply['error']!r}")
    _check_members(reply, "hello")
    if reply["protocol"] != VERSION:
        raise InvalidReply(f"speaks protocol {reply['protocol']!r}; this runner speaks {VERSION}")
    protocols = {}
    for name, offered in _mapping(reply["protocols"], "protocols").items():
        offered = _mapping(offered, f"protocols.{name}")  # noqa: PLW2901  # the same object, now with its type
        capabilities = _words(offered.get("capabilities"), f"protocols.{name}.capabilities")
        limits = _mapping(offered.get("limits", {}), f"protocols.{name}.limits")
        optional = frozenset({MALFORMED, *(PROTOCOLS[name].optional_events if name in PROTOCOLS else ())})
        events, choices = _listed_events(name, offered), _choices(offered, f"protocols.{name}.choices")
        protocols[name] = Offered(frozenset(capabilities), limits, events, optional, choices)
    return Hello(
        name=str(reply["name"]),
        version=str(reply["version"]),
        protocols=protocols,
        language=reply.get("language"),
        url=reply.get("url"),
        clock=reply.get("clock", "virtual"),
        choices=_choices(reply, "choices") or "set",
        sockets=tuple(_words(reply.get("sockets", []), "sockets")),
        readings=_readings(reply.get("readings", {})),
    )


def _choices(plain: Mapping[str, Any], where: str) -> str | None:
    """Returns who makes random choices; None if that is not said."""
    if plain.get("choices", "set") not in ("oracle", "set"):
        raise InvalidReply(f"{where} must be 'oracle' or 'set', not {plain['choices']!r}")
    return plain.get("choices")


def _readings(plain: Any) -> dict[str, str]:
    readings = {str(name): value for name, value in _mapping(plain, "readings").items()}
    for name, value in readings.items():
        if not isinstance(value, str):
            raise InvalidReply(f"readings.{name} must be the name of a reading, not {value!r}")
    return readings


def event_kinds(protocol: str) -> tuple[str, ...]:
    """
    Returns the kinds of events that an adapter of a protocol can list. Raises KeyError.

    >>> event_kinds("scuttlebutt")
    ('join', 'update', 'heartbeat', 'up', 'down', 'malformed')
    """
    return (*PROTOCOLS[protocol].specification.load().NOTICE.cases, MALFORMED)


def _listed_events(protocol: str, offered: Mapping[str, Any]) -> frozenset[str] | None:
    if "events" not in offered:
        return None
    where = f"protocols.{protocol}.events"
    listed = _words(offered["events"], where)
    if "events" not in offered["capabilities"]:
        raise InvalidReply(f"{where} lists kinds of events, so the capabilities must have 'events' as well")
    if protocol in PROTOCOLS and (unknown := [kind for kind in listed if kind not in event_kinds(protocol)]):
        raise InvalidReply(f"{where}: {protocol} has no event {unknown[0]!r}, but {', '.join(event_kinds(protocol))}")
    return frozenset(listed)


#: The capability that covers an op; `call` and `query` add the request's name.
_CLAIMED_BY: Final = {
    **dict.fromkeys(("encode", "decode"), "codec"),
    **dict.fromkeys(("open", "recv", "advance", "close"), "exchange"),
    **dict.fromkeys(("crash", "restart"), "restart"),
    "load": "state.load",
    "sent": "sent",
    "stream": "stream",
    "serve": "exchange",
}


def contradicts_hello(request: Request, offered: Offered, needed: Collection[str]) -> bool:
    """
    Returns whether `unsupported`, as the answer to a request, contradicts the capabilities of the adapter's hello.

    A capability covers an op under the protocol's default configuration. Other configuration members, except those `needed`
    for every node, are not covered, since an implementation may not have them. Neither are given states: some cannot be
    reached from outside.

    >>> offered = Offered(frozenset({"exchange", "api.join"}))
    >>> contradicts_hello({"op": "call", "name": "join"}, offered, ())
    True
    >>> contradicts_hello({"op": "open", "config": {"max_payload": 9}}, offered, ())
    False
    >>> contradicts_hello({"op": "load", "state": {}}, Offered(frozenset({"state.load"})), ())
    False
    """
    op = request["op"]
    if op == "load":
        return False
    if op in ("open", "serve", "restart") and not set(request.get("config", {})) <= set(needed):
        return False
    named = {"call": f"api.{request.get('name')}", "query": f"observe.{request.get('what')}"}
    return named.get(op, _CLAIMED_BY.get(op)) in offered.capabilities


def check(request: Request, reply: Reply) -> None:
    """Raises InvalidReply if the reply does not match the request. An `error` matches every request."""
    op = request["op"]
    if "error" in reply:
        error = _mapping(reply["error"], "error")
        if error.get("code") not in ERROR_CODES:
            raise InvalidReply(f"error.code must be one of {', '.join(ERROR_CODES)}, not {error.get('code')!r}")
        return
    if op not in _SHAPES:
        raise InvalidReply(f"there is no op {op!r}: expected the error unknown_op, not an answer")
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

#: op -> members that its reply must have, and members that it may have
MEMBERS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "hello": (
        ("protocol", "name", "version", "protocols"),
        ("language", "url", "clock", "choices", "sockets", "readings", "reset"),
    ),
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
    if not isinstance(value, str) or len(value) % 2 or value.strip(_HEX):
        raise InvalidReply(f"{where} must be bytes as pairs of lower-case hexadecimal digits, not {value!r}")


def _effects(value: Any, where: str) -> None:
    if not isinstance(value, list):
        raise InvalidReply(f"{where} must be a list, not {value!r}")
    for index, effect in enumerate(value):
        match effect:
            case {"send": {"via": str(), "to": to, "bytes": sent}} if len(effect) == 1 and len(effect["send"]) == 3:  # noqa: PLR2004  # these
                _address(to, f"{where}[{index}].send.to")
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


def _address(value: Any, where: str) -> None:
    match value:
        case str() | {"hex": str()}:
            return
    raise InvalidReply(f'{where} must be an address, a string or {{"hex": …}}, not {value!r}')


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

#: op -> the members of the usual reply and their checks: a fast path
_SHAPES: Final = {
    op: (
        frozenset({"id", "ok", *needed}),
        tuple((name, checked) for name, checked in _CHECKED if name in needed or name in others),
    )
    for op, (needed, others) in MEMBERS.items()
}
