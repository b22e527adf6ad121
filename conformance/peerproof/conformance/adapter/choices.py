"""
Answers to an implementation's random choices: a vector's picks, and a reproducible stream for all other questions.

The stream is a function of the seed, the site of the question and the number of earlier questions of this site, so it can be
computed in any language: option i of question n has the weight blake2b("SEED/SITE/n/i", 8 bytes), and the answer takes the
options with the smallest weights.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any


class WrongQuestion(Exception):
    """A question that cannot be answered; the message says why."""


def nothing_to_choose(question: dict[str, Any]) -> list[int]:
    """Rejects every question. Raises WrongQuestion."""
    raise WrongQuestion(f"asked for a choice in a request without choices: {question!r}")


def case_seed(seed: str, case_id: str) -> str:
    """Returns the seed of one case, which does not depend on the other cases of the run."""
    return blake2b(f"{seed}/{case_id}".encode(), digest_size=8).hexdigest()


def pick_indices(seed: str, site: str, n: int, options: int, some: int) -> list[int]:
    """Returns the stream's answer: `some` different indices below `options`."""
    if options == 1:
        return [0]
    weights = [blake2b(f"{seed}/{site}/{n}/{index}".encode(), digest_size=8).digest() for index in range(options)]
    return sorted(range(options), key=weights.__getitem__)[:some]


class Choices:
    """Answers the questions of one case."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.asked: list[tuple[str, list[Any]]] = []  #: site and answer as options, in the order of the questions
        self.wrong: str | None = None  #: the first question that does not match the vector's picks
        self._script: dict[str, deque[list[Any]]] = {}
        self._count: Counter[str] = Counter()

    def script(self, picks: Iterable[Mapping[str, Any]]) -> None:
        """Sets the next answers, and discards earlier ones that are left."""
        if self._script:
            self._script = {}
        for answer in picks:
            self._script.setdefault(answer["site"], deque()).append(answer["pick"])

    def answer(self, question: Mapping[str, Any]) -> list[int]:
        """Returns the indices of the chosen options, in order. Raises WrongQuestion."""
        site, options, some = _parse_question(question)
        n = self._count[site]
        self._count[site] += 1
        picked: list[int] | None = None
        if script := self._script.get(site):
            wanted = script.popleft()
            if len(wanted) == some and all(option in options for option in wanted):
                picked = [options.index(option) for option in wanted]
            elif self.wrong is None:
                self.wrong = (
                    f"asked at {site} for {some} of {options}, where the vector answers {wanted}"  # basis.json digests it
                )
        if picked is None:
            picked = pick_indices(self.seed, site, n, len(options), some)
        self.asked.append((site, [options[index] for index in picked]))
        return picked


def _parse_question(question: Mapping[str, Any]) -> tuple[str, list[Any], int]:
    site, options, kind = question.get("site"), question.get("of"), question.get("kind")
    if not isinstance(site, str) or not isinstance(options, list) or not options:
        raise WrongQuestion(f'a choice needs "site", and "of" with the options: {question!r}')
    some = {"permutation": len(options), "one": 1, "sample": question.get("some")}.get(str(kind))
    if type(some) is not int or not 0 < some <= len(options):
        raise WrongQuestion(f'"kind" of a choice is permutation, one, or sample with "some" up to {len(options)}: {question!r}')
    return site, options, some
