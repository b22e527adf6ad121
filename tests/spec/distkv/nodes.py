"""
Nodes in few words, and what they do in words. The clock is 4 s, both lengths are 4, unless said otherwise.

`x` is the path of one name; values are JSON. Of timers only the first part of their names is used: `Ping`, `RecoveryTicks`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from peerproof.spec.core import Asked, CancelTimer, Duration, Instant, NodeId, Notify, Received, Send, SetTimer, Table
from peerproof.spec.distkv import (
    Config,
    Contradiction,
    DeleteValue,
    EntryChanged,
    Fault,
    FoundingDue,
    GreetingDue,
    Info,
    InitialPingDue,
    Loaded,
    NeedsDownload,
    OldDataDue,
    Phase,
    Ping,
    PingDue,
    Recovery,
    RecoveryDue,
    RecoveryOver,
    RecoveryStep,
    RepairAllowed,
    RepairDue,
    SetValue,
    State,
    Stored,
    Timer,
    Update,
    initial,
    step,
)
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Entries, Entry, on_chains
from peerproof.spec.distkv.paths import ROOT, Path, names_of, path_of
from peerproof.spec.distkv.ticks import TickSets, union
from peerproof.spec.distkv.values import plain_of, value_of_plain

from .samples import chain, ticks

NOW = Instant(0)
CLOCK = Duration(4000)

TIMERS: dict[str, Timer] = {
    "Initial": InitialPingDue(),
    "Founding": FoundingDue(),
    "OldData": OldDataDue(),
    "Ping": PingDue(),
    "Greeting": GreetingDue(),
    "Ticks": RecoveryDue(RecoveryStep.TICKS),
    "Missing": RecoveryDue(RecoveryStep.MISSING),
    "Known": RecoveryDue(RecoveryStep.KNOWN),
    "Over": RecoveryOver(),
    "Repair": RepairDue(),
    "Allowed": RepairAllowed(),
}
NOTHING: TickSets = Table()
_NAMES = {timer: name for name, timer in TIMERS.items()}


def config(**settings: Any) -> Config:
    return Config(**{"clock": CLOCK, "ping_length": 4, "change_length": 4, **settings})


def node(
    name: str = "a",
    phase: Phase = Phase.READY,
    *,
    seen: dict[str, int] | None = None,
    entries: Collection[Update] = (),
    superseded: TickSets = NOTHING,
    timers: str = "",
    **kept: Any,
) -> State:
    """A node that has these entries, and has seen these ticks, and those that follow from the entries and what is superseded."""
    rows = Table({one.path: Entry(one.chain, one.value, one.tock) for one in entries})
    known = union(on_chains(rows), superseded)
    found = {one: sets.ends[-1] - 1 for one, sets in known.items()}
    return State(
        NodeId(name),
        **{"config": config(), "tock": 50, **kept},
        phase=phase,
        ticks=ticks(**{str(one): tick for one, tick in found.items()} | (seen or {})),
        entries=Entries(rows, known),
        timers=frozenset(TIMERS[word] for word in timers.split()),
    )


def recovery(mine: str, side: str, *, lost: bool = False, ping: str | None = None, covered: TickSets = NOTHING) -> Recovery:
    """`recovery("b2 a3", "a b")`"""
    return Recovery(chain(mine), frozenset(map(NodeId, side.split())), lost, None if ping is None else chain(ping), covered)


def info(head: str, tock: int = 60, prev: str | None = None, reason: str | None = None, **members: Any) -> Info:
    """`info("b2", ticks=ticks(a=7))`; the sender's chain goes on with `prev`, or is cut."""
    me = chain(head).elements
    rest = Chain(me, cut=True) if prev is None else Chain((*me, *chain(prev).elements), chain(prev).cut)
    return Info(rest, tock, reason=None if reason is None else chain(reason), **members)


class Done(NamedTuple):
    """What a step has made."""

    state: State
    said: list[str]
    asked: list[tuple[str, Any, Any]]  #: what chance was asked: for what, the least and the greatest answer

    def sent(self) -> list[str]:
        """What is sent, of what it said."""
        return [one for one in self.said if one.split()[0] in ("update", "ping", "info")]


def started(name: str = "a", **settings: Any) -> Done:
    """A node that has just started."""
    state, effects = initial(NodeId(name), config(**settings))
    return Done(state, words(effects), [])


def do(state: State, event: Any, **picks: int) -> Done:
    """One step; `ping_late=3` takes the fourth answer there, otherwise chance takes the last."""
    asked: list[tuple[str, Any, Any]] = []

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:
        options = list(among)
        asked.append((why, options[0], options[-1]))
        return (options[picks.get(why.replace(".", "_"), -1)],) * some

    after, effects = step(state, event, pick)
    return Done(after, words(effects), asked)


def hears(state: State, message: Any, **picks: int) -> Done:
    return do(state, Received(NOW, message.chain.head.node, message), **picks)


def wants(state: State, command: Any, **picks: int) -> Done:
    return do(state, Asked(NOW, command), **picks)


def setting(name: str, value: Any) -> SetValue:
    return SetValue(path_of([name]), value_of_plain(value))


def deleting(name: str) -> DeleteValue:
    return DeleteValue(path_of([name]))


def loaded(source: str, entries: Collection[Update] = (), tock: int = 9, superseded: TickSets = NOTHING, **seen: int) -> Loaded:
    return Loaded(NodeId(source), tuple(entries), superseded, ticks(**seen), tock)


def stored(entries: Collection[Update] = (), tock: int = 9, superseded: TickSets = NOTHING, **seen: int) -> Stored:
    return Stored(tock, tuple(entries), superseded, ticks(**seen))


def running(state: State) -> str:
    """The timers that run, in the order of `TIMERS`."""
    return " ".join(name for name, timer in TIMERS.items() if timer in state.timers)


# -- in words ---------------------------------------------------------------------------------------------------------


def words(effects: Collection[Any]) -> list[str]:
    """Each effect in a line."""
    return [_in_words(effect) for effect in effects]


def _in_words(effect: Any) -> str:
    match effect:
        case Send("*", message):
            return _message(message)
        case SetTimer(timer, after):
            return f"{_NAMES[timer]} in {after}"
        case CancelTimer(timer):
            return f"no {_NAMES[timer]}"
        case Notify(EntryChanged(path, value)):
            return f"changed {where(path)} {plain_of(value)}"
        case Notify(Contradiction(path, change)):
            return f"contradiction {where(path)} {change.node}{change.tick}"
        case Notify(NeedsDownload(source)):
            return f"load {source}"
        case Notify(Fault(kind)):
            return f"fault {kind.value}"
        case Notify(notice):
            return type(notice).__name__
    raise ValueError(effect)


def _message(message: Any) -> str:
    shown = text(message.chain)
    match message:
        case Update(_, path, value, tock, _):
            return f"update {shown} {where(path)} {plain_of(value)} @{tock}"
        case Ping(_, tock):
            return f"ping {shown} @{tock}"
        case Info(_, tock, known, seen, missing, reason):
            parts = [f"ticks {' '.join(f'{one}{tick}' for one, tick in seen.items())}"] if seen else []
            for member, sets in (("known", known), ("missing", missing)):
                parts += [f"{member} {' '.join(f'{one}{list(ranges.ticks())}' for one, ranges in sets.items())}"] if sets else []
            parts += [] if reason is None else [f"reason {text(reason)}"]
            return f"info {shown} {' '.join(parts)} @{tock}"
    raise ValueError(message)


def text(shown: Chain) -> str:
    """A chain as `chain` reads it."""
    return " ".join([*(f"{one.node}{'?' if one.tick is None else one.tick}" for one in shown.elements), *["…"] * shown.cut])


def where(path: Path) -> str:
    """`/` is the root."""
    return "/" if path == ROOT else "/".join(map(str, names_of(path)))
