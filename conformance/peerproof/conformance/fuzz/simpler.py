"""Plain data made a little simpler, for shrinking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from peerproof.spec.errors import MalformedMessage, NotEnabled

T = TypeVar("T")


def build_valid(make: Callable[[Any], Any], candidates: Iterable[Any]) -> Iterator[Any]:
    """Yields what `make` returns for each candidate; candidates that it rejects are skipped."""
    for candidate in candidates:
        try:
            yield make(candidate)
        except (MalformedMessage, NotEnabled):
            continue


def simpler_data(plain: Any) -> Iterator[Any]:
    """Yields the data with one list item less, a smaller number, or a shorter text."""
    match plain:
        case dict():
            for name, part in plain.items():
                if name != "type":
                    yield from ({**plain, name: simpler} for simpler in simpler_data(part))
        case list():
            yield from (plain[:place] + plain[place + 1 :] for place in range(len(plain)))
            for place, part in enumerate(plain):
                yield from (replace_item(plain, place, simpler) for simpler in simpler_data(part))
        case str() if plain.isdigit():
            yield from (str(number) for number in (0, 1, 2) if number < int(plain))
        case str() if len(plain) > 1:
            yield "k"


def leave_parts_out(current: Callable[[], Sequence[Any]], attempt: Callable[[Any], object]) -> None:
    """Removes halves, then smaller and smaller parts, the last first; `attempt` may change what `current` returns."""
    size = len(current())
    while size:
        end = len(current())
        while end > 0:
            items = current()
            attempt([*items[: max(0, end - size)], *items[end:]])
            end = min(end - size, len(current()))
        size //= 2


def replace_item(items: Sequence[T], index: int, item: T) -> list[T]:
    """Returns the items with one replaced."""
    return [*items[:index], item, *items[index + 1 :]]
