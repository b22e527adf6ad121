"""
4. Random choices: where the protocol says "at random", the runner can choose.

Let your implementation call `Choices.pick` where it calls its random generator, and set CHOICES to "oracle". Then vectors that
fix a choice apply too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, Final

#: "set" if the implementation makes its own random choices, "oracle" if it calls `Choices.pick` for every one.
CHOICES: Final[str] = "set"


class Choices:
    """Asks the runner for random choices in the middle of a request."""

    def __init__(self) -> None:
        self._request: Any = None
        self._asked = 0

    def begin(self, request: Any) -> None:
        """Starts a request: the questions that follow carry its id."""
        self._request, self._asked = request, 0

    def pick(self, site: str, among: Iterable[Any], some: int = 1) -> list[Any]:
        """
        Returns some of the options, in the order in which to use them.

        The site is the protocol's name for this choice. The options are all numbers, or all texts: `bytes` or `str`.
        """
        if CHOICES != "oracle":
            raise NotImplementedError('choices.py: CHOICES is not "oracle"')
        options = sorted(among, key=_octets)
        some = min(some, len(options))
        if not options[1:]:
            return options
        self._asked += 1
        kind = "permutation" if some == len(options) else "sample"
        about = {
            "for": self._request,
            "n": self._asked,
            "site": site,
            "of": [_plain(option) for option in options],
        }
        how = {"kind": "one"} if some == 1 else {"kind": kind, "some": some}
        print(json.dumps({"choice": {**about, **how}}), flush=True)
        picked = json.loads(sys.stdin.buffer.readline())["choice"]["pick"]
        return [options[index] for index in picked]


def _octets(option: Any) -> Any:
    """Returns the bytes of a text, by which options are sorted, and a number as it is."""
    if isinstance(option, str):
        return option.encode("utf-8", "surrogateescape")
    return option


def _plain(option: Any) -> Any:
    """Returns an option in plain form: a text whose bytes are not UTF-8 as `{"hex": "fffe"}`."""
    octets = _octets(option)
    if not isinstance(octets, bytes):
        return option
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": octets.hex()}
