"""Plain data with a little less in it: what a finding is made smaller by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from peerproof.spec.errors import MalformedMessage, NotEnabled

T = TypeVar("T")


def build_valid(make: Callable[[Any], Any], candidates: Iterable[Any]) -> Iterator[Any]:
    """What can be made of the candidates; what cannot is left out."""
    for candidate in candidates:
        try:
            yield make(candidate)
        except (MalformedMessage, NotEnabled):
            continue


def simpler_data(plain: Any) -> Iterator[Any]:
    """Plain data with one item of a list less, a number smaller, or a text shorter."""
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
    """Leaves halves out, then smaller and smaller parts, the last first; `attempt` may change what is current."""
    size = len(current())
    while size:
        end = len(current())
        while end > 0:
            items = current()
            attempt([*items[: max(0, end - size)], *items[end:]])
            end = min(end - size, len(current()))
        size //= 2


def replace_item(items: Sequence[T], index: int, item: T) -> list[T]:
    """The items with another one in one place."""
    return [*items[:index], item, *items[index + 1 :]]
