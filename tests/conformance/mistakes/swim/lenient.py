"""Mistakes of decoders that take too much, or die of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgpack
from tests.conformance.mistakes.swim import Wrong

from peerproof.reference.divergences.swim import NAMES
from peerproof.spec.errors import MalformedMessage


class _Lenient(Wrong):
    """Takes what is malformed in one way for something legal."""

    def decode(self, data: bytes) -> Any:
        """Mends what is malformed, and reads it again."""
        try:
            return super().decode(data)
        except MalformedMessage:
            try:
                mended = self.mended(data)
            except (ValueError, TypeError, LookupError, RecursionError, msgpack.UnpackException):
                raise MalformedMessage("bad_type", 0, "beyond repair") from None
            return super().decode(mended)

    def mended(self, data: bytes) -> bytes:
        """What it takes the bytes for."""
        return bytes(msgpack.packb(everywhere(msgpack.unpackb(data, strict_map_key=False), self.part)))

    def part(self, value: Any) -> Any:
        """What it takes one value for."""
        return value


def everywhere(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with a change to each of its parts."""
    if isinstance(value, list):
        return change([everywhere(part, change) for part in value])
    if isinstance(value, dict):
        return change({change(name): everywhere(part, change) for name, part in value.items()})
    return change(value)


class IgnoresWhatIsLeftOver(_Lenient):
    """Reads one value and looks no further."""

    caught_by: ClassVar = ("reject-byte-left-over", "reject-byte-put-in")

    def mended(self, data: bytes) -> bytes:
        """The first value."""
        unpacker = msgpack.Unpacker(strict_map_key=False)
        unpacker.feed(data)
        unpacker.unpack()
        return data[: unpacker.tell()]


class FloatsAreIntegers(_Lenient):
    """Cuts off the fraction of a float."""

    caught_by: ClassVar = ("reject-counter-that-is-a-float", "reject-port-that-is-a-float")

    def part(self, value: Any) -> Any:
        """An integer."""
        return int(value) if isinstance(value, float) else value


class BooleansAreIntegers(_Lenient):
    """Takes true for 1."""

    caught_by: ClassVar = ("reject-counter-that-is-true", "reject-port-that-is-true")

    def part(self, value: Any) -> Any:
        """An integer."""
        return int(value) if isinstance(value, bool) else value


class NilIsZero(_Lenient):
    """Takes nil for 0."""

    caught_by: ClassVar = ("reject-counter-that-is-nil",)

    def part(self, value: Any) -> Any:
        """An integer."""
        return 0 if value is None else value


class DigitsAreIntegers(_Lenient):
    """Takes a string of digits for the integer."""

    caught_by: ClassVar = ("reject-counter-that-is-a-large-string", "reject-counter-that-is-a-negative-string")

    def part(self, value: Any) -> Any:
        """An integer."""
        digits = value.removeprefix("~i").removeprefix("~n").partition(".")[0] if isinstance(value, str) else ""
        return (
            min(abs(int(digits or 0)), 2**63 - 1)
            if (isinstance(value, str) and digits.lstrip("-").isdigit()) or value == "~i"
            else value
        )


class CountersAreSigned(_Lenient):
    """Takes negative counters for 0, and those that are too large for the largest."""

    caught_by: ClassVar = ("reject-counter-of-2-63", "reject-negative-counter")

    def part(self, value: Any) -> Any:
        """Within the bounds."""
        if isinstance(value, list) and value[:1] and isinstance(value[0], str) and value[0][:1] in "~^" and value[0] != "~#u":
            return [min(max(item, 0), 2**63 - 1) if type(item) is int else item for item in value]
        return value


class AnyPort(_Lenient):
    """Cuts ports to sixteen bits."""

    caught_by: ClassVar = ("reject-anti-entropy-with-port-0", "reject-port-0")

    def part(self, value: Any) -> Any:
        """Within the bounds."""
        if isinstance(value, list) and len(value) == 6 and type(value[5]) is int:
            return [*value[:5], value[5] % 2**16 or 1]
        if isinstance(value, dict) and value.get("~:port") == 0:
            return {**value, "~:port": 1}
        return value


class NamesAreNames(_Lenient):
    """Takes strings and symbols for keywords."""

    caught_by: ClassVar = ("reject-anti-entropy-with-strings-for-keys", "reject-event-name-that-is-a-string")

    def part(self, value: Any) -> Any:
        """A keyword."""
        bare = value.removeprefix("~$") if isinstance(value, str) else ""
        known = {name[2:] for name in NAMES} | {"host", "port", "uuid", "restart-counter", "tx-counter"}
        return f"~:{bare}" if bare in known else value


class ExtraElementsAreIgnored(_Lenient):
    """Looks at the elements of a vector that it knows, and not at the others."""

    caught_by: ClassVar = ("reject-ack-of-7-elements", "reject-ping-of-6-elements")

    def part(self, value: Any) -> Any:
        """As many as there should be."""
        arity = {"~:ping": 5, "~:ack": 6, "~:joining": 6, "~:payload": 2, "~:probe": 4}
        status = ("~:normal", "~:suspicious", "~:dead")
        if isinstance(value, list) and value and isinstance(value[0], str):
            if value[0] in status:
                return value[:4] if len(value) > 4 else value[:2]
            return value[: arity.get(value[0], len(value))]
        return value


class MissingElementsAreNothing(_Lenient):
    """Takes an element that is missing for 0, an empty map or the node itself."""

    caught_by: ClassVar = ("reject-ping-of-4-elements", "reject-probe-ack-of-4-elements")

    def part(self, value: Any) -> Any:
        """As many as there should be."""
        if not isinstance(value, list) or not value or not isinstance(value[0], str):
            return value
        a = [*value, *([["~#u", [1, 1]]] if value[0] == "~:ping" else [])]
        wanted = {
            "~:ping": 5, "~:ack": 6, "~:leave": 4, "~:indirect-ack": 4, "~:probe-ack": 5, "~:joining": 6, "~:indirect-ping": 4
        }.get(value[0], 0)  # fmt: skip
        if value[0] in ("~:normal", "~:dead") and len(value) == 1:
            return [*value, ["~#u", [1, 1]]]
        if value == ["~:payload"]:
            return [*value, {}]
        return [*a, *([1] * (wanted - len(a)))][: max(wanted, len(value))]


class MissingKeysHaveDefaults(_Lenient):
    """Takes a key that is missing in anti-entropy for an empty value."""

    caught_by: ClassVar = ("reject-anti-entropy-without-host", "reject-anti-entropy-without-port")

    def part(self, value: Any) -> Any:
        """All five keys."""
        if not isinstance(value, dict) or ("~:host" not in value and "~:port" not in value):
            return value
        some: dict[str, Any] = {"~:host": "h", "~:port": 1, "~:uuid": ["~#u", [1, 1]], "~:restart-counter": 0, "~:tx-counter": 0}
        return some | value


class UnknownCodesAreStrings(_Lenient):
    """Takes a cache code that stands for nothing for a string, and a string for an unknown name."""

    caught_by: ClassVar = ("reject-cache-code-at-the-beginning", "reject-unknown-header")

    def part(self, value: Any) -> Any:
        """A name of its own."""
        return f"~:code{value[1:]}" if isinstance(value, str) and value[:1] == "^" else value

    def mended(self, data: bytes) -> bytes:
        """With the name that must be there."""
        vectors = msgpack.unpackb(super().mended(data), strict_map_key=False)
        return bytes(msgpack.packb([["~:ping", *vectors[0][1:]], *vectors[1:]]))


class StrangeStringsAreStrings(_Lenient):
    """Takes a form of Transit that it does not know for a string."""

    caught_by: ClassVar = ("reject-backquote", "reject-tilde-alone")

    def part(self, value: Any) -> Any:
        """Escaped."""
        return f"~{value}" if isinstance(value, str) and value[:1] in "~`" and value[:2] not in ("~:", "~#", "~u") else value


class AnyUuid(_Lenient):
    """Makes a uuid of whatever stands in the place of one."""

    caught_by: ClassVar = ("reject-uuid-of-three-halves", "reject-uuid-of-wrong-digits")

    def part(self, value: Any) -> Any:
        """Some uuid."""
        if isinstance(value, list) and value[:1] == ["~#u"] and value[1:] != [value[1][:2]]:
            return ["~#u", [1, 1]]
        if isinstance(value, list) and value[:1] == ["~#u"] and any(type(half) is not int for half in value[1]):
            return ["~#u", [1, 1]]
        if isinstance(value, list) and value[:1] == ["~:ping"] and not isinstance(value[1], list):
            return [value[0], ["~#u", [1, 1]], *value[2:]]
        return value


class SecondHeadersAreSkipped(_Lenient):
    """Skips headers that do not come first, and what follows a probe."""

    caught_by: ClassVar = ("reject-ack-after-ping", "reject-probe-ack-with-a-vector")

    def mended(self, data: bytes) -> bytes:
        """Without them."""
        header, *others = msgpack.unpackb(data, strict_map_key=False)
        if header[0] in ("~:probe", "~:probe-ack"):
            others = []
        return bytes(msgpack.packb([header, *(v for v in others if v[:1] not in (["~:ping"], ["~:ack"], ["^0"]))]))


class AnyHeader(_Lenient):
    """Takes a message without a header, or with one that it does not know, for a ping of somebody to somebody."""

    caught_by: ClassVar = ("reject-header-of-nothing", "reject-header-that-is-no-vector")

    def mended(self, data: bytes) -> bytes:
        """With a header."""
        value = msgpack.unpackb(data, strict_map_key=False)
        somebody = ["~#u", [1, 1]]
        return bytes(msgpack.packb([["~:ping", somebody, 0, 0, somebody], *(value[1:] if isinstance(value, list) else [])]))


class StrangePartsAreSkipped(_Lenient):
    """Skips what is no vector, and what it cannot read of one."""

    caught_by: ClassVar = ("reject-anti-entropy-of-no-maps", "reject-anti-entropy-untagged-of-no-maps")

    def mended(self, data: bytes) -> bytes:
        """Without them."""
        header, *others = msgpack.unpackb(data, strict_map_key=False)
        return bytes(msgpack.packb([header, *(v for v in others if isinstance(v, list) and self.legal(header, v))]))

    def legal(self, header: Any, vector: Any) -> bool:
        """Whether it can be read behind this header."""
        try:
            self.specification().MESSAGE.decode(msgpack.packb([header, vector]))
        except MalformedMessage:
            return False
        return True


class NoBounds(_Lenient):
    """Knows no bounds of hosts and nesting, and cuts what it is given to size."""

    caught_by: ClassVar = ("reject-nested-without-end", "reject-nothing-in-it")

    def part(self, value: Any) -> Any:
        """Cut to size."""
        if isinstance(value, list) and len(value) == 6 and value[0] == "~:joining" and isinstance(value[4], str):
            return [*value[:4], value[4][:100] or "h", value[5]]
        return value

    def mended(self, data: bytes) -> bytes:
        """Not so deep."""
        if data.count(b"\x91" * 60):
            data = data.split(b"\x91" * 60)[0] + b"\x90"
        if data == b"\x90":
            return bytes(msgpack.packb([["~:probe", ["~#u", [1, 1]], 0, 0]]))
        return super().mended(data)


class HostsOfAnything(_Lenient):
    """Makes a text of whatever stands in the place of a host."""

    caught_by: ClassVar = ("reject-host-that-is-no-utf-8", "reject-host-that-is-a-keyword")

    def mended(self, data: bytes) -> bytes:
        """A text."""
        header, joining = msgpack.unpackb(data, strict_map_key=False, unicode_errors="replace")
        return bytes(msgpack.packb([header, [*joining[:4], f"h{joining[4]}", joining[5]]]))


class Dies(Wrong):
    """Dies of what is malformed."""

    caught_by: ClassVar = (
        "reject-empty-datagram",
        "reject-ping-cut",
        "reject-joining-with-flipped-bits",
        "bad-payload-spoils-the-datagram",
    )

    def decode(self, data: bytes) -> Any:
        """Raises what nobody expects."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            raise IndexError(error.detail) from None
