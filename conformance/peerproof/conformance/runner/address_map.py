"""
The map between a vector's addresses and the addresses of real sockets.

A vector calls its nodes `a:1` or `127.0.0.1:5001`; real sockets use free ports. Addresses are part of messages,
configurations and answers to queries, and some protocols compare them. All outgoing data is therefore rewritten to real
addresses and all incoming data is rewritten back, at this one place; everything else, including the story of a failure, has
the vector's addresses. The real hosts sort like the vector's addresses, byte by byte: they are in 127.0.0.0/8, which is this
machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain

_LEAST: Final = 100  #: three digits, so that texts sort like numbers
_EACH: Final = 150
MOST: Final = _EACH * _EACH  #: the most addresses
_HOSTS: Final = ("host", "local_ip", "global_ip")  #: members of an object that hold a host and stand beside its port
_ADDRESS: Final = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}").fullmatch


class Unmovable(Exception):
    """A message holds an address, and its bytes cannot be rewritten with another address."""


class Places:
    """Maps a vector's addresses to real ones, and back."""

    def __init__(self, protocol: str) -> None:
        self.real: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._codec = specification(protocol).MESSAGE

    def put(self, address: str, real: str) -> None:
        """Adds an address and its real one."""
        self.real[address] = real
        self._known[real] = address

    def outward(self, plain: Any) -> Any:
        """Returns plain data with real addresses."""
        return _map_addresses(plain, self.real)

    def inward(self, plain: Any) -> Any:
        """Returns plain data with the vector's addresses."""
        return _map_addresses(plain, self._known)

    def outward_bytes(self, digits: str) -> bytes:
        """Returns a message with real addresses; other bytes are unchanged. Raises Unmovable."""
        data = bytes.fromhex(digits)
        try:
            plain = self._codec.plain(self._codec.decode(data))
        except MalformedMessage:
            return data
        moved = self.outward(plain)
        if moved == plain:
            return data
        if self._encode(plain) != data:
            raise Unmovable("it has a message in a form that would change with other addresses")
        return self._encode(moved)

    def inward_bytes(self, data: bytes) -> str:
        """Returns a message with the vector's addresses, in hex; other or non-canonical bytes are unchanged."""
        try:
            plain = self._codec.plain(self._codec.decode(data))
        except MalformedMessage:
            return data.hex()
        moved = self.inward(plain)
        return self._encode(moved).hex() if moved != plain and self._encode(plain) == data else data.hex()

    def _encode(self, plain: Plain) -> bytes:
        return bytes(self._codec.encode(self._codec.value(plain)))


def addresses(protocol: str, body: Mapping[str, Any]) -> list[str]:
    """Returns all addresses in a vector, including those in messages given as bytes, sorted by their bytes."""
    codec = specification(protocol).MESSAGE

    def read(digits: str) -> Any:
        try:
            return codec.plain(codec.decode(bytes.fromhex(digits)))
        except (MalformedMessage, ValueError):
            return None

    def found(plain: Any) -> Iterator[str]:
        match plain:
            case str():
                if is_address(plain):
                    yield plain
            case list() | tuple():
                for part in plain:
                    yield from found(part)
            case Mapping():
                yield from _pairs(plain).values()
                for name, part in plain.items():
                    yield from found(name)
                    yield from found(read(part) if name == "bytes" and isinstance(part, str) else part)

    parts = [body[name] for name in ("nodes", "setup", "steps") if name in body]
    return sorted(set(found(parts)), key=str.encode)


def is_address(text: str) -> bool:
    """Whether it has the form of a host and a port."""
    return _ADDRESS(text) is not None


def host(rank: int) -> str:
    """The real host for the address of this rank; a higher rank sorts later."""
    return f"127.0.{_LEAST + rank // _EACH}.{_LEAST + rank % _EACH}"


def _pairs(plain: Mapping[Any, Any]) -> dict[str, str]:
    """The addresses of an object that holds host and port as members, by the member with the host; port 0 means none. [WA-52]"""
    port = plain.get("port")
    if type(port) is not int or not port:
        return {}
    hosts = {member: name for member in _HOSTS if isinstance(name := plain.get(member), str)}
    pairs = {member: f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for member, name in hosts.items()}
    return {member: address for member, address in pairs.items() if is_address(address)}


def _map_addresses(plain: Any, to: Mapping[str, str]) -> Any:
    match plain:
        case str():
            return to.get(plain, plain)
        case list() | tuple():
            return [_map_addresses(part, to) for part in plain]
        case Mapping():
            moved = {_map_addresses(name, to): _map_addresses(part, to) for name, part in plain.items()}
            for member, address in _pairs(plain).items():
                if address in to:
                    name, _, port = to[address].rpartition(":")
                    moved |= {member: name.strip("[]"), "port": int(port)}
            return moved
        case _:
            return plain
