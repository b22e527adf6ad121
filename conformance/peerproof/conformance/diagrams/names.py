"""Which node an id names: long ids are shown as the names that a vector gives its nodes, or as addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeGuard

from peerproof.spec.core import Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import Line

#: A UUID, or an id of 128 bits.
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")

_IDS_IN_TEXT: Final = re.compile(rf"(?<![0-9A-Za-z])(?:{_ID.pattern})(?![0-9A-Za-z])")

#: Members of a record that describes a node, in plain form: its id, and its host.
_IDS: Final = ("uuid", "id")
_HOSTS: Final = ("host", "local_ip")


def names_in_vector(spec: Specification, body: Mapping[str, Any]) -> dict[str, str]:
    """
    Returns the names of the nodes whose ids are in a vector: as the vector calls them, else their addresses.

    An id belongs to a node that is configured with it, that sends it as its own, or whose address stands beside it.
    """
    nodes: Mapping[str, Any] = body.get("nodes", {})
    names = {own: name for name, node in nodes.items() for own in _own_ids(node.get("config", {}))}
    called = {node["addr"]: name for name, node in nodes.items() if "addr" in node}
    for step in (*body.get("setup", ()), *body.get("steps", ())):
        send = step.get("send") or {}
        for message in _messages(spec, send):
            if is_id(sender := message.get("sender")) and "from" in send:
                names.setdefault(sender, send["from"])
            _add_described(names, called, message)
    _add_described(names, called, body)
    return names


def names_in_trace(lines: Sequence[Line]) -> dict[str, str]:
    """Returns the addresses of the nodes whose ids are in a trace."""
    names: dict[str, str] = {}
    for line in lines:
        if line.kind == "start" and isinstance(line.args, Mapping):
            names.update(dict.fromkeys(_own_ids(line.args), line.node))
    for line in lines:
        _add_described(names, {}, line.args)
    return names


def rename(text: str, names: Mapping[str, str]) -> str:
    """
    Replaces long ids by the names of their nodes.

    >>> rename("ping 11111111-1111-4111-8111-111111111111 1", {"11111111-1111-4111-8111-111111111111": "n1"})
    'ping n1 1'
    """
    return _IDS_IN_TEXT.sub(lambda found: names.get(found[0], found[0]), text)


def is_id(value: Any) -> TypeGuard[str]:
    """
    Whether a value is a long id.

    >>> is_id("11111111-1111-4111-8111-111111111111"), is_id("n1")
    (True, False)
    """
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _own_ids(config: Mapping[str, Any]) -> Iterator[str]:
    yield from (config[name] for name in _IDS if is_id(config.get(name)))


def _messages(spec: Specification, send: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the message of a step in plain form, if it is one."""
    message = send.get("message")
    if message is None and isinstance(digits := send.get("bytes"), str):
        with suppress(MalformedMessage, ValueError):
            message = spec.MESSAGE.plain(spec.MESSAGE.decode(bytes.fromhex(digits)))
    if isinstance(message, Mapping):
        yield message


def _add_described(names: dict[str, str], called: Mapping[str, str], plain: Plain) -> None:
    """Adds the nodes of which an id stands beside an address."""
    for found, address in _described(plain):
        names.setdefault(found, called.get(address, address))


def _described(plain: Plain) -> Iterator[tuple[str, str]]:
    if isinstance(plain, Mapping):
        ids = [plain[name] for name in _IDS if is_id(plain.get(name))]
        hosts = [plain[name] for name in _HOSTS if isinstance(plain.get(name), str)]
        if ids and hosts and isinstance(plain.get("port"), int):
            yield str(ids[0]), f"{hosts[0]}:{plain['port']}"
        for part in plain.values():
            yield from _described(part)
    elif isinstance(plain, Sequence) and not isinstance(plain, str):
        for part in plain:
            yield from _described(part)
