"""
Plain data: decoded bytes, states with many items, and events of a node.

In a list of a state, `{numbered: {from: 1, to: 65535, item: …}}` stands for that many items. In the strings of an item, a row
of `#` is replaced by the item's number in as many hexadecimal digits. Vectors, tables and the local steps of models have the
same forms of events, configurations and choices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from peerproof.conformance.clauses.catalogue import specification
from peerproof.spec.core import Asked, Expired, Pick, Received, Sent, Specification, Step
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import U64, Plain
from peerproof.spec.protocols import PROTOCOLS

WORD: Final = "numbered"
_MEMBERS: Final = {"from", "to", "item"}
_DIGITS: Final = re.compile("#+")


def describe_bytes(protocol: str, digits: str) -> Any:
    """
    Returns the message that the specification's codec decodes from hex digits, as plain data; a text if it is none.

    Raises KeyError for an unknown protocol, ValueError for invalid digits.

    >>> describe_bytes("swim", "00")
    'no message: a message is a vector of vectors, and has a header (bad_type)'
    """
    message = specification(protocol).MESSAGE
    try:
        return message.plain(message.decode(bytes.fromhex(digits)))
    except MalformedMessage as error:
        return f"no message: {error}"


def expected_event(spec: Specification, config: Any, notice: Any) -> dict[str, Any]:
    """Returns an event as an adapter reports it; has matchers where no document fixes a value."""
    plain = dict(spec.NOTICE.plain(notice))
    kind, unsettled = plain.pop("type"), PROTOCOLS[spec.NAME].unsettled
    free = unsettled.load()(config, kind) if unsettled else ()
    return {"name": kind, **{name: {"any": True} if name in free else value for name, value in plain.items()}}


def kind_of_event(expected: Any) -> str | None:
    """Returns the kind of event that a matcher expects; None if it names none."""
    shown = expected.get("contains", expected) if isinstance(expected, dict) else {}
    return shown.get("name") if isinstance(shown, dict) else None


def select_events(expected: Any, tells: Callable[[str], bool]) -> Any:
    """
    Returns an expectation of events without the kinds that an implementation does not report.

    >>> select_events({"multiset": [{"name": "join"}, {"contains": {"name": "update"}}]}, "join".__eq__)
    {'multiset': [{'name': 'join'}]}
    """
    if isinstance(expected, dict) and len(expected) == 1:
        ((word, inner),) = expected.items()
        return {word: select_events(inner, tells)} if isinstance(inner, list) else expected
    if not isinstance(expected, list):
        return expected
    return [event for event in expected if (kind := kind_of_event(event)) is None or tells(kind)]


class WrongNumbers(ValueError):
    """The name `numbered` is used for other data."""


def expand_numbered(plain: Plain) -> Plain:
    """Returns plain data with all numbered items expanded. Raises WrongNumbers."""
    if isinstance(plain, dict):
        return {name: expand_numbered(value) for name, value in plain.items()}
    if not isinstance(plain, list):
        return plain
    found: list[Plain] = []
    for item in plain:
        if isinstance(item, dict) and item.keys() == {WORD}:
            found += _items(item[WORD])
        else:
            found.append(expand_numbered(item))
    return found


def _items(numbered: Any) -> list[Plain]:
    if not isinstance(numbered, dict) or numbered.keys() != _MEMBERS:
        raise WrongNumbers(f"{WORD}: expected from, to and item")
    first, last = numbered["from"], numbered["to"]
    if type(first) is not int or type(last) is not int or not 0 <= first <= last:
        raise WrongNumbers(f"{WORD}: expected whole numbers, from not above to")
    return [_item(numbered["item"], number) for number in range(first, last + 1)]


def _item(plain: Plain, number: int) -> Plain:
    if isinstance(plain, dict):
        return {name: _item(value, number) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_item(value, number) for value in plain]
    if isinstance(plain, str) and "#" in plain:
        return _DIGITS.sub(lambda row: f"{number:0{len(row[0])}x}", plain)
    return plain


def canonical(plain: Any) -> str:
    """Plain data as text, equal for equal data."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


class Event(NamedTuple):
    """
    An event of a node: `send` with sender and bytes, `call` with a command, `timer` with a timer, `restart`.

    Over connections also `sent` with receiver, bytes and microseconds, or None if the message did not arrive.
    """

    kind: str
    plain: Any

    @property
    def text(self) -> str:
        """A text that is equal for equal events."""
        return canonical([self.kind, self.plain])


def plain_event(spec: Specification, event: Any) -> Event:
    """Converts an event of the specification to plain data."""
    match event:
        case Received(_, sender, message):
            return Event("send", [sender, spec.MESSAGE.encode(message).hex()])
        case Sent(_, to, message, took):
            return Event("sent", [to, spec.MESSAGE.encode(message).hex(), took])
        case Asked(_, command):
            return Event("call", spec.COMMAND.plain(command))
        case Expired(_, timer):
            return Event("timer", spec.TIMER.plain(timer))
    raise TypeError(f"{event!r} is not an event")


def order(spec: Specification, receivers: Collection[Any]) -> str:
    """`unordered` if the order is not observable (different receivers, or connections of their own); else `ordered`."""
    is_seen = spec.TRANSPORT != "tcp" and len(set(receivers)) < len(receivers)
    return "ordered" if is_seen or len(receivers) <= 1 else "unordered"


def open_picks(
    step: Callable[[Pick], Step[Any, Any]], picks: Iterable[tuple[str, tuple[Any, ...]]]
) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """The answers to questions with more than one option; others are not asked."""
    answers, asked = iter(picks), []

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # the answers are known
        site, answer = next(answers)
        assert site == why, "the same step asks the same questions"
        if len(among) > 1:
            asked.append((why, answer))
        return answer

    step(pick)
    return tuple(asked)


def pick_first(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # it does not matter
    """Picks the first options, where the choice does not matter."""
    return tuple(sorted(among)[:some])


def adapter_config(protocol: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """
    A configuration as adapters receive it: integers of 64 bits, which vectors may write as numbers, are decimal strings.

    >>> adapter_config("swim", {"restart_counter": 7, "interval": 300})
    {'restart_counter': '7', 'interval': 300}
    """
    forms = specification(protocol).CONFIG.forms
    large = {name: form for name, form in forms.items() if isinstance(form, U64)}
    return {name: large[name].plain(large[name].value(value)) if name in large else value for name, value in config.items()}


def plain_config(spec: Specification, config: Any) -> dict[str, Any]:
    """A configuration as in vectors: only values that are not the defaults."""
    form = spec.CONFIG
    shown: dict[str, Any] = form.plain(config)
    needed = {name: getattr(config, name) for name in form.forms if name not in form.optional}
    usual = form.plain(form.kind(**needed))
    return {name: value for name, value in shown.items() if name in needed or value != usual[name]}


def without_items(plain: Mapping[str, Any], items: Collection[Any]) -> dict[str, Any]:
    """
    Returns an object without these items of its lists.

    >>> without_items({"type": "ping", "vectors": [{"type": "payload", "data": {}}]}, [{"type": "payload", "data": {}}])
    {'type': 'ping', 'vectors': []}
    """
    return {
        name: [item for item in value if item not in items] if isinstance(value, list) else value for name, value in plain.items()
    }
