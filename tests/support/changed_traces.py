"""Traces of Scuttlebutt as lines of text, and what may be wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from peerproof.spec.traces.trace import parse

Change = Callable[[list[str], Random], list[str]]


def edited(old: str, new: str) -> Change:
    """The trace with a text replaced in one of the lines that have it."""

    def change(lines: list[str], random: Random) -> list[str]:
        at = random.choice([number for number, line in enumerate(lines) if old in line])
        return [*lines[:at], lines[at].replace(old, new, 1), *lines[at + 1 :]]

    return change


def _without_one(lines: list[str], random: Random) -> list[str]:
    at = random.randrange(len(lines) // 2)
    return [*lines[:at], *lines[at + 1 :]]


def _doubled(lines: list[str], random: Random) -> list[str]:
    at = random.randrange(len(lines))
    return [*lines[:at], lines[at], *lines[at:]]


def _swapped(lines: list[str], random: Random) -> list[str]:
    """Two lines of one node."""
    node = parse(random.choice(lines[len(lines) // 2 :])).node
    first, second = [at for at, line in enumerate(lines) if parse(line).node == node][-2:]
    return [*lines[:first], lines[second], *lines[first + 1 : second], lines[first], *lines[second + 1 :]]


def _truncated(lines: list[str], random: Random) -> list[str]:
    at = random.randrange(len(lines) // 2, len(lines))
    return [*lines[:at], lines[at][: random.randrange(1, len(lines[at]))]]


def _another_limit(lines: list[str], random: Random) -> list[str]:
    """Fingerprints are of the configuration, too; without them the messages must give it away."""
    bare = [re.sub('"state":"[0-9a-f]+"', '"state":null', line) for line in lines]
    return [re.sub('"max_payload":[0-9]+', '"max_payload":25', line) for line in bare]


def _news_of_a_stranger(lines: list[str], random: Random) -> list[str]:
    """A delta that was news is about a peer that nobody knows."""
    at = random.choice([number for number, line in enumerate(lines) if '"type":"update"' in line])
    return [*lines[:at], lines[at].replace('"entries":[{"addr":"', '"entries":[{"addr":"x', 1), *lines[at + 1 :]]


#: How a trace is changed.
CHANGES: dict[str, Change] = {
    "nothing": lambda lines, _: lines,
    "nothing, once more": lambda lines, _: lines,
    "a line is missing": _without_one,
    "a line is there twice": _doubled,
    "two lines have changed places": _swapped,
    "the file ends within a line": _truncated,
    "news received": _news_of_a_stranger,
    "a version sent": edited('"version":"1"}]}}}', '"version":"3"}]}}}'),
    "a version that is no number": edited('"version":"1"', '"version":"one"'),
    "a version written in another way": edited('"version":"1"}]}}}', '"version":1}]}}}'),
    "another value": edited('"value":"v1"', '"value":"v2"'),
    "a type": edited('"type":"delta"', '"type":"digest_request"'),
    "a heartbeat that was none": edited('"type":"heartbeat"', '"type":"up"'),
    "whom it was sent to": edited('{"send":{"to":"n0:1"', '{"send":{"to":"n9:1"'),
    "the partner": edited('["round.partner",["n0:1"]]', '["round.partner",["n8:1"]]'),
    "the partner, by number": edited('["round.partner",["n0:1"]]', '["round.partner",[0]]'),
    "a place of chance": edited('"digest.order"', '"order"'),
    "an order": edited('["digest.order",["n0:1",', '["digest.order",["n1:1",'),
    "a fingerprint": edited('"state":"', '"state":"0'),
    "a kind": edited('"kind":"timer"', '"kind":"recv"'),
    "an unheard-of kind": edited('"kind":"timer"', '"kind":"tick"'),
    "a refusal": edited('"state":"', '"refused":"too_large","state":"'),
    "an effect": edited('"effects":[{"notify"', '"effects":[{"notified"'),
    "a round-trip time": edited('"round_trip":', '"round_trip":9'),
    "the limit": _another_limit,
}
