"""Cuts a result to the size that a line of a report may have, and records what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

from peerproof.conformance.runner.result import Result, plain_part
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference
from peerproof.conformance.vectors.plain_data import describe_bytes

#: The share of each member; the rest is for the vector's own members and for `cut`.
_SHARES: Final = {"story": 1 / 2, "expected": 1 / 8, "essence": 1 / 8, "difference": 1 / 8, "errors": 1 / 32, "reason": 1 / 64}
_HEAD: Final = 1 / 4  #: the share of a story's beginning; its end matters most
_PART: Final = 1 / 16  #: the largest share of one part of a story
_NAME: Final = 200  #: bytes of the name of a member
_READ: Final = 2**17  #: the most digits of a message that is decoded to find its type
_LEAST: Final = 4096  #: bytes of a line below which nothing is cut

_Part = TypeVar("_Part")
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def cut_to(result: Result, most: int) -> Result:
    """
    Cuts a result so that its line in the report of record has at most about `most` bytes, and lists in `cut` what is missing.

    >>> arrow = Arrow(0, "a", "b", "00" * 100)
    >>> shown = cut_to(Result("p/exchange/x", "failed", "p/exchange/x", 1, "must", (), story=(arrow,) * 1000), 8192)
    >>> len(shown.story), shown.cut
    (17, ('story: 984 of 1,000 messages and events',))
    """
    most = max(most, _LEAST)
    if _is_within(result, most):
        return result
    cutting = _Cutting(result.vector.partition("/")[0], most)
    draw = _draw_short(cutting.protocol, cutting.room("expected"))
    story = cutting.story(result.story, result.judged)
    return replace(
        result,
        story=story[0],
        judged=story[1],
        expected=cutting.leading("expected", [draw(part) for part in result.expected], plain_part),
        essence=cutting.essence(result.essence),
        difference=result.difference and cutting.difference(result.difference),
        errors=cutting.text("errors", "stderr", result.errors, last=True),
        reason=result.reason and cutting.text("reason", "reason", result.reason),
        cut=tuple(cutting.missing),
    )


def _is_within(result: Result, most: int) -> bool:
    if not (result.story or result.difference or result.errors or result.essence or result.expected or result.reason):
        return True  # the usual case: it passes
    if sum(len(part.bytes or "") for part in result.story if isinstance(part, Arrow)) > most:
        return False
    return len(_encode(result.plain())) <= most


class _Cutting:
    """Cuts the members of one result, and collects what is missing."""

    def __init__(self, protocol: str, most: int) -> None:
        self.protocol = protocol
        self.most = most
        self.missing: list[str] = []

    def room(self, member: str) -> int:
        """The bytes available to a member."""
        return int(self.most * _SHARES[member])

    def story(self, story: Sequence[Arrow | TrialEvent], judged: int) -> tuple[tuple[Arrow | TrialEvent, ...], int]:
        """Keeps the beginning and the end of a story; returns it with the new value of `judged`."""
        room = self.room("story")
        draw = _draw_short(self.protocol, int(room * _PART))
        head = _fitting((draw(part) for part in story), plain_part, int(room * _HEAD))
        tail = _fitting((draw(part) for part in reversed(story[len(head) :])), plain_part, int(room * (1 - _HEAD)))[::-1]
        whole = set(map(id, story))
        if short := sum(id(part) not in whole for part in (*head, *tail)):
            self.missing.append(f"story: {short:,} long messages and events, shortened")
        out = len(story) - len(head) - len(tail)
        if not out:
            return (*head, *tail), judged
        self.missing.append(f"story: {out:,} of {len(story):,} messages and events")
        place = judged if judged <= len(head) else max(len(head) + 1, judged - out + 1)
        return (*head, TrialEvent(None, "", f"… {out:,} more messages and events left out"), *tail), place

    def leading(self, member: str, parts: Sequence[_Part], plain: Callable[[_Part], Any]) -> tuple[_Part, ...]:
        """Keeps the first parts that fit."""
        kept = _fitting(parts, plain, self.room(member))
        if len(kept) < len(parts):
            self.missing.append(f"{member}: {len(parts) - len(kept):,} of {len(parts):,}")
        return tuple(kept)

    def essence(self, essence: tuple[Any, ...]) -> tuple[Any, ...]:
        """Keeps all requests or none: half of a reproduction shows nothing."""
        if len(_encode(essence)) <= self.room("essence"):
            return essence
        self.missing.append(f"essence: {len(essence):,} requests")
        return ()

    def difference(self, difference: Difference) -> Difference:
        """Cuts the two sides; keeps their decoded forms whole or not at all."""
        room, shown = self.room("difference") // 5, difference
        if len(_encode(difference.where)) > room:
            shown = replace(shown, where=_cut_text(difference.where, room))
        for side in ("expected", "actual"):
            value = getattr(difference, side)
            if (size := len(_encode(value))) > room:
                self.missing.append(f"difference.{side}: {size:,} bytes, cut to {room:,}")
                shown = replace(shown, **{side: _cut_value(value, [room])})
        readings: dict[str, Any] = {}
        for reading in ("expected_read", "actual_read"):
            if (size := len(_encode(getattr(difference, reading)))) > room:
                self.missing.append(f"difference.{reading}: {size:,} bytes, all")
                readings[reading] = None
        return replace(shown, **readings)

    def text(self, member: str, name: str, text: str, *, last: bool = False) -> str:
        """Keeps the beginning of a text, or its end."""
        if len(_encode(text)) <= (room := self.room(member)):
            return text
        shown = _cut_text(text[::-1], room, mark=False)[::-1] if last else _cut_text(text, room)
        self.missing.append(f"{name}: cut to {len(shown):,} of {len(text):,} characters")
        return shown


def _fitting(parts: Any, plain: Callable[[Any], Any], room: int) -> list[Any]:
    """Returns the longest prefix that fits."""
    kept: list[Any] = []
    for part in parts:
        room -= len(_encode(plain(part))) + 1
        if room < 0:
            break
        kept.append(part)
    return kept


def _kind(protocol: str, digits: str) -> str:
    """The type of a message, or its first digits."""
    shown = None
    with suppress(KeyError):  # the protocol may be known to the implementation only
        shown = describe_bytes(protocol, digits) if len(digits) <= _READ else None
    return str(shown["type"]) if isinstance(shown, dict) else f"{digits[:_NAME]}…"


def _draw_short(protocol: str, most: int) -> Callable[[Arrow | TrialEvent], Arrow | TrialEvent]:
    """Returns a function that shortens a part of a story."""

    def draw(part: Arrow | TrialEvent) -> Arrow | TrialEvent:
        if isinstance(part, TrialEvent):
            return part if len(part.what) * 2 <= most else part._replace(what=_cut_text(part.what, most // 2))
        if part.bytes and len(part.bytes) > most:  # half a message cannot be decoded, so only its type is shown
            return part._replace(bytes=None, label=f"{_kind(protocol, part.bytes)} ({len(part.bytes) // 2:,} bytes)")
        return part if len(part.label) * 2 <= most else part._replace(label=_cut_text(part.label, most // 2))

    return draw


def _cut_text(text: str, room: int, *, mark: bool = True) -> str:
    """The beginning of a text, at most `room` bytes in JSON."""
    shown = text[: max(0, room - 2)]
    while len(_encode(shown)) > room and shown:
        shown = shown[: len(shown) // 2]
    return f"{shown}… ({len(text):,} characters)" if mark and len(shown) < len(text) else shown


def _cut_value(value: Any, left: list[int]) -> Any:
    """The beginning of JSON data; `left` holds the number of bytes that are left."""
    if isinstance(value, (list, tuple)):
        kept: list[Any] = []
        for item in value:
            if left[0] <= 0:
                kept.append(f"… {len(value) - len(kept):,} more left out")
                break
            left[0] -= 2
            kept.append(_cut_value(item, left))
        return kept
    if isinstance(value, dict):
        members: dict[str, Any] = {}
        for name, item in value.items():
            if left[0] <= 0:
                members["…"] = f"{len(value) - len(members):,} more left out"
                break
            short = _cut_text(name, _NAME) if len(name) > _NAME else name
            left[0] -= len(_encode(short)) + 2
            members[short] = _cut_value(item, left)
        return members
    size = len(_encode(value)) if not isinstance(value, str) or len(value) <= left[0] else left[0] + 1
    shown = _cut_text(value, max(left[0], 1)) if isinstance(value, str) and size > left[0] else value
    left[0] -= size
    return shown
