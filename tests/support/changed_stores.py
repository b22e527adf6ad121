"""What may be wrong with traces of DistKV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

from tests.support.changed_traces import OF_ANY, Change, edited


def _done(old: str, new: str) -> Change:
    """The trace with a text replaced in one of the lines in whose effects it is."""

    def change(lines: list[str], random: Random) -> list[str]:
        at = random.choice([number for number, line in enumerate(lines) if old in line.partition('"effects":')[2]])
        before, effects, after = lines[at].partition('"effects":')
        return [*lines[:at], before + effects + after.replace(old, new, 1), *lines[at + 1 :]]

    return change


def _configured(name: str, value: int) -> Change:
    """Fingerprints are of the configuration, too; without them the messages must give it away."""

    def change(lines: list[str], random: Random) -> list[str]:
        bare = [re.sub('"state":"[0-9a-f]+"', '"state":null', line) for line in lines]
        return [re.sub(f'"{name}":[0-9]+', f'"{name}":{value}', line) for line in bare]

    return change


_PINGED = '"args":{"type":"ping","chain":{"elements":[{"node":"n0:1","tick":"'

#: How a trace is changed.
CHANGES: Mapping[str, Change] = {
    **OF_ANY,
    "an effect": edited('"effects":[{"notify"', '"effects":[{"notified"'),
    "a type": edited('"args":{"type":"ping"', '"args":{"type":"update"'),
    "a tick received": edited(_PINGED, f"{_PINGED}9"),
    "a tock sent": _done('"tock":"', '"tock":"9'),
    "a tick sent": _done('"tick":"', '"tick":"9'),
    "a chain that is cut": _done('"cut":false', '"cut":true'),
    "a node on a chain": _done('{"node":"n1:1"', '{"node":"n7:1"'),
    "ticks of nodes": _done('"ticks":{"n', '"ticks":{"m'),
    "another value": _done('"value":"root"', '"value":"leaf"'),
    "another path": _done('"path":[]', '"path":[""]'),
    "a value that is no value": edited('"value":"root"', '"value":{"$int":"a"}'),
    "a moment": _done('"after":', '"after":1'),
    "an answer": edited('["ping.late",[1', '["ping.late",[2'),
    "a place of chance": edited('"picks":[["ping.early",[', '"picks":[["ping.later",['),
    "whom it was sent to": _done('{"send":{"to":"*"', '{"send":{"to":"n0:1"'),
    "who has it all": edited('{"type":"loaded","node":"n', '{"type":"loaded","node":"m'),
    "a node that is ready": _done('{"notify":{"type":"ready"}}', '{"notify":{"type":"split_healed"}}'),
    "a timer": _done('{"timer":{"type":"initial_ping_due"}', '{"timer":{"type":"repair_due"}'),
    "a timer that expires": edited('"args":{"type":"ping_due"}', '"args":{"type":"old_data_due"}'),
    "the length of pings": _configured("ping_length", 3),
    "the clock": _configured("clock", 5002),
    "a limit that is too small for pings": _configured("max_payload", 100),
    "a start that is too early": _configured("start", 2499),
}
