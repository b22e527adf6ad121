"""Traces of single DistKV nodes to which anything happens: messages that no node would send, timers in any order, commands."""

from __future__ import annotations

from random import Random
from typing import Any

from peerproof.reference.runtime.recorder import Recorder
from peerproof.spec import distkv
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import recording

ME = NodeId("n2")

_NODES = tuple(f"n{number}" for number in range(5))
_PATHS: tuple[Plain, ...] = ([], [""], ["a"], ["a", 1], [None, "x"])
_VALUES: tuple[Plain, ...] = (None, 1, "v", [1, 2], {"k": None}, {"$bin": "c0"}, "x" * 200, "x" * 400)


class _Anything:
    """Plain data of few nodes, ticks, paths and values, so that they meet each other."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def _chain(self, least: int, *, of_change: bool = False) -> Plain:
        random, length = self.random, self.random.choice([1, 1, 2, 2, 3, 4, 6])
        nodes = random.sample(_NODES, min(length, 5)) if of_change else random.choices(_NODES, k=length)
        ticks = [str(random.randint(least, 4)) if of_change or random.random() < 0.95 else None for _ in nodes]
        return {
            "elements": [{"node": node, "tick": tick} for node, tick in zip(nodes, ticks, strict=True)],
            "cut": random.random() < 0.4,
        }

    def _sets(self) -> Plain:
        random = self.random
        return {
            node: [str(tick) for tick in sorted(random.sample(range(1, 6), random.randint(1, 4)))]
            for node in random.sample(_NODES, random.randint(1, 3))
        }

    def _ticks(self, count: int) -> Plain:
        return {node: str(self.random.randint(0, 5)) for node in self.random.sample(_NODES, count)}

    def _update(self, sender: Plain = None) -> Plain:
        random = self.random
        return {
            "chain": self._chain(1, of_change=True),
            "path": random.choice(_PATHS),
            "value": random.choice(_VALUES),
            "tock": str(random.randint(0, 25)),
            "sender": sender,
        }

    def _entries(self) -> list[Plain]:
        """One for each path."""
        updates = [self._update() for _ in range(self.random.randint(0, 3))]
        return [*{str(update["path"]): update for update in updates}.values()]

    def _info(self) -> Plain:
        random, chain = self.random, self._chain(0)
        chain["elements"][0]["tick"] = str(random.randint(0, 5))
        info = {"type": "info", "chain": chain, "tock": str(random.randint(0, 30)), "known": {}, "ticks": {}, "missing": {}}
        for name in random.sample(["known", "ticks", "missing"], random.choice([1, 1, 1, 2, 3])):
            info[name] = self._ticks(random.randint(1, 5)) if name == "ticks" else self._sets()
        return info | {"reason": self._chain(0) if info["ticks"] and random.random() < 0.5 else None}

    def message(self) -> Plain:
        """A message."""
        random = self.random
        kind, tock = random.choice(["update", "ping", "ping", "info"]), str(random.randint(0, 30))
        if kind == "update":
            sender = {"node": random.choice(_NODES), "tick": str(random.randint(0, 6))}
            return {"type": "update", **self._update(random.choice([None, sender]))}
        return self._info() if kind == "info" else {"type": "ping", "chain": self._chain(0), "tock": tock}

    def command(self, source: str | None) -> Plain:
        """A command; the downloads that fail are those that are under way."""
        random, path = self.random, self.random.choice(_PATHS)
        loaded = {"type": "loaded", "node": source or "n1", "entries": self._entries(), "superseded": self._sets()}
        commands = [
            {"type": "set_value", "path": path, "value": random.choice(_VALUES)},
            {"type": "delete_value", "path": path},
            loaded | {"ticks": self._ticks(5), "tock": "25"},
            *([{"type": "load_failed", "node": source}] if source else []),
        ]
        return random.choice(commands)

    def event(self, now: Instant, state: distkv.State) -> Any:
        """What happens to a node: of its timers, any that runs may expire."""
        kind = self.random.choice(["message", "timer", "command"] if state.timers else ["message"])
        if kind == "timer":
            return Expired(now, self.random.choice(sorted(state.timers, key=str)))
        if kind == "command":
            return Asked(now, distkv.COMMAND.value(self.command(state.source)))
        return Received(now, NodeId("x"), distkv.MESSAGE.form.value(self.message()))

    def config(self) -> Plain:
        """A configuration, with or without a root, or what was on disk, whose tock is not below those of its entries."""
        random, length = self.random, self.random.choice([1, 2, 3, 4])
        stored = {"tock": "25", "entries": self._entries(), "superseded": {}, "ticks": dict.fromkeys(_NODES, "5")}
        return {
            "clock": random.choice([8, 11, 4000]),
            "ping_length": length,
            "change_length": random.choice([1, 2, 5]),
            "max_payload": random.choice([15 + 91 * length, 459]),
            "start": None,
            "root": random.choice([None, "root"]),
            "stored": random.choice([None, stored]),
        }


def hostile(seed: str, events: int = 60) -> list[str]:
    """The trace of a node to which so much happens."""
    lines: list[str] = []
    recorder, anything, now = Recorder(distkv, f"hostile {seed}", lines.append), _Anything(seed), 0
    random = anything.random
    config = distkv.CONFIG.value(anything.config())
    taken: Step[Any, Any] = distkv.initial(ME, config)
    recorder.record_start(ME, Instant(now), config, taken)
    for _ in range(events):
        now, state = now + random.randint(0, 2000), taken.state
        event = anything.event(Instant(now), state)
        pick, answers = recording(lambda _, among, some=1: tuple(random.sample(sorted(among), min(some, len(among)))))
        try:
            taken, refused = distkv.step(state, event, pick), None
        except NotEnabled as refusal:
            taken, refused = Step(state), refusal.reason
        recorder.record_step(ME, event, answers, taken, refused)
    return lines
