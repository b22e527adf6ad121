"""
4. Chance: where the protocol says "at random", the runner may choose.

Let your implementation call `Choices.pick` where it calls its generator; then CHOICES is "oracle", and vectors that fix a draw
apply too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, Final

#: "oracle" if the implementation asks for every draw, "set" if it draws for itself.
CHOICES: Final[str] = "set"


class Choices:
    """Asks the runner in the middle of a request."""

    def __init__(self) -> None:
        self._request: Any = None
        self._asked = 0

    def begin(self, request: Any) -> None:
        """Questions are now about the request with this id."""
        self._request, self._asked = request, 0

    def pick(self, site: str, among: Iterable[Any], some: int = 1) -> list[Any]:
        """Some different options, texts or numbers, in the order to use them in. The site is a name of the protocol's."""
        if CHOICES != "oracle":
            raise NotImplementedError('choices.py: CHOICES is not "oracle"')
        options = sorted(among)
        some = min(some, len(options))
        if not options[1:]:
            return options
        self._asked += 1
        kind = "permutation" if some == len(options) else "sample"
        about = {"for": self._request, "n": self._asked, "site": site, "of": options}
        how = {"kind": "one"} if some == 1 else {"kind": kind, "some": some}
        print(json.dumps({"choice": {**about, **how}}), flush=True)
        picked = json.loads(sys.stdin.buffer.readline())["choice"]["pick"]
        return [options[index] for index in picked]
