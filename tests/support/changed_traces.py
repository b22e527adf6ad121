"""Traces as lines of text, and what may be wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


def bare(lines: list[str]) -> list[str]:
    """The trace without fingerprints; what a node does must give away what is wrong."""
    return [re.sub('"state":"[0-9a-f]+"', '"state":null', line) for line in lines]


def _configured(member: str) -> Change:
    """The trace of nodes that are said to have something else in their configuration, such as `"max_payload":25`."""
    name = member.partition(":")[0]
    return lambda lines, _: [re.sub(f"{name}:[^,]+", member, line) for line in bare(lines)]


def _altered(part: str, old: str, new: str) -> Change:
    """The trace without fingerprints and with a text replaced, once, in a part of a line: in args, picks or effects."""

    def change(lines: list[str], random: Random) -> list[str]:
        lines = bare(lines)
        found = [(at, *line.partition(f'"{part}":')) for at, line in enumerate(lines) if re.search(old, _part(line, part))]
        at, before, name, after = random.choice(found)
        return [*lines[:at], before + name + re.sub(old, new, after, count=1), *lines[at + 1 :]]

    return change


def _part(line: str, part: str) -> str:
    end = {"args": '"picks":', "picks": '"effects":'}.get(part, "\n")
    return line.partition(f'"{part}":')[2].partition(end)[0]


def _news_of_a_stranger(lines: list[str], random: Random) -> list[str]:
    """A delta that was news is about a peer that nobody knows."""
    at = random.choice([number for number, line in enumerate(lines) if '"type":"update"' in line])
    return [*lines[:at], lines[at].replace('"entries":[{"addr":"', '"entries":[{"addr":"x', 1), *lines[at + 1 :]]


#: How a trace of Scuttlebutt is changed.
_SCUTTLEBUTT: Mapping[str, Change] = {
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
    "the limit": _configured('"max_payload":25'),
}

#: What may be wrong with a trace of any protocol.
OF_ANY: Mapping[str, Change] = {
    name: _SCUTTLEBUTT[name]
    for name in (
        "nothing",
        "nothing, once more",
        "a line is missing",
        "a line is there twice",
        "two lines have changed places",
        "the file ends within a line",
        "a fingerprint",
        "a kind",
        "an unheard-of kind",
        "a refusal",
    )
}

#: How a trace of SWIM is changed.
_SWIM: Mapping[str, Change] = {
    **OF_ANY,
    "an effect": edited('"effects":[{"send"', '"effects":[{"sends"'),
    "the number of a datagram": _altered("effects", '"tx":"', '"tx":"9'),
    "a new life of who sends": _altered("args", '"incarnation":{"restart":"0"', '"incarnation":{"restart":"3"'),
    "who is meant": _altered("args", '"target":"[0-9a-f]{8}', '"target":"00000000'),
    "who sends": _altered("peer", '"n.:1","args":{"type":"ping"', '"n9:1","args":{"type":"ping"'),
    "a number in anti-entropy received": _altered("args", '"tx_counter":"', '"tx_counter":"9'),
    "a death for a suspicion": _altered("effects", '"type":"suspicious"', '"type":"dead"'),
    "whom it was sent to": _altered("effects", '"to":"n.:1"', '"to":"n9:1"'),
    "a host": _altered("effects", '"host":"n', '"host":"m'),
    "a port": _altered("effects", '"port":1', '"port":2'),
    "anti-entropy without a keyword": _altered("effects", '"tagged":true', '"tagged":false'),
    "anti-entropy of one more": _altered("effects", r'"members":\[(\{[^}]+\})', r'"members":[\1,\1'),
    "a payload": _altered("effects", '"k0":"v0"', '"k0":"v9"'),
    "an order": _altered("picks", r'\["round.order",\["([^"]+)","([^"]+)"', r'["round.order",["\2","\1"'),
    "an unknown node in a round": _altered("picks", r'\["round.order",\["[0-9a-f]{8}', '["round.order",["00000000'),
    "a place of chance": _altered("picks", '"anti-entropy"', '"entropy"'),
    "a notice": _altered("effects", '"event_type":"suspicious"', '"event_type":"leave"'),
    "the time to the next quantum": _altered("effects", '"after":300', '"after":301'),
    "the size of anti-entropy": _configured('"ae_size":0'),
    "incarnations in events": _configured('"emit_incarnation":true'),
}

#: How a trace is changed, by protocol.
CHANGES: Mapping[str, Mapping[str, Change]] = {"scuttlebutt": _SCUTTLEBUTT, "swim": _SWIM}
