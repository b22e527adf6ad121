"""The start of a node: as the first, with old data, or by download. [D-94…D-110, D-121…D-124, DA-51, DA-65, DA-70…DA-73]"""

from __future__ import annotations

from functools import partial

from peerproof.spec.core import NodeId, Notify, Pick, Step, Table, replace
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.changes import change, on_update
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.election import decide, on_initial_ping_due, try_next
from peerproof.spec.distkv.entries import Entries, Entry, on_chains
from peerproof.spec.distkv.messages import (
    Fault,
    FaultKind,
    FoundingDue,
    InitialPingDue,
    Loaded,
    LoadFailed,
    OldDataDue,
    Ready,
    Update,
)
from peerproof.spec.distkv.outgoing import Next, send_again, set_timer, then
from peerproof.spec.distkv.paths import ROOT
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.recovery import tell_ticks
from peerproof.spec.distkv.state import Config, Phase, State, Stored, in_order, is_authoritative_for, parse_node_id, updates_of
from peerproof.spec.distkv.ticks import Ticks, latest, union
from peerproof.spec.errors import NotEnabled


def initial(self_id: NodeId, config: Config) -> Next:
    """
    Returns a node that has just started, with its stored data. [DA-65, DA-72, DA-81]

    Raises ValueError for an invalid name, and for a root that is too large to be sent.
    """
    if config.root is not None:
        founding = Update(Chain((Element(self_id, TICK_MAX),)), ROOT, config.root, TICK_MAX)
        if len(payload(founding)) > config.max_payload:
            raise ValueError(f"the root's update would have more than the {config.max_payload} bytes that can be sent")
    state = _restore(State(parse_node_id(self_id), config), config.stored)
    is_first = config.root is not None and state.phase is Phase.EMPTY
    first = config.clock if config.start is None else config.start
    taken = set_timer(state, FoundingDue() if is_first else InitialPingDue(), first)
    if state.phase is Phase.EMPTY:
        return taken
    return then(taken, lambda now: set_timer(now, OldDataDue(), schedule.silence(config.clock)))


def _restore(state: State, stored: Stored | None) -> State:
    if stored is None:
        return state
    rows = Table({update.path: Entry(update.chain, update.value, update.tock) for update in stored.entries})
    known = union(on_chains(rows), stored.superseded)
    phase = Phase.OLD if rows else Phase.EMPTY
    return replace(state, phase=phase, tock=stored.tock, ticks=_ticks_of(stored), entries=Entries(rows, known))


def _ticks_of(found: Stored | Loaded) -> Ticks:
    """Returns its ticks, raised to those of the changes in it; downloads and disks have both. [DA-64]"""
    highest = {node: ranges.ends[-1] - 1 for node, ranges in found.superseded.items()}
    for entry in found.entries:
        for node, tick in entry.chain.elements:
            highest[node] = max(tick or 0, highest.get(node, 0))
    return latest(found.ticks, highest)


def ready(state: State) -> Next:
    """Makes the node ready: it has the network's data. [DA-59]"""
    return Step(replace(state, phase=Phase.READY), (Notify(Ready()),))


def check_settled(state: State) -> Next:
    """Makes a node that had lost its data ready when nothing is missing; runs after each event. [D-123, D-124, DA-53, DA-73]"""
    return ready(state) if state.phase is Phase.SETTLING and not state.misses else Step(state)


def on_founding_due(state: State, pick: Pick) -> Next:
    """Founds a new network, since no other node was heard. [D-105, DA-72]"""
    root = state.config.root
    if root is None or state.phase is not Phase.EMPTY or is_authoritative_for(state):
        return Step(state)
    if max(state.own_tick, state.tock) >= TICK_MAX:
        return Step(state, (Notify(Fault(FaultKind.EXHAUSTED)),))
    founded = then(change(state, ROOT, root), ready)
    return then(founded, on_initial_ping_due if state.last is None else lambda now: decide(now, pick))


def on_old_data_due(state: State) -> Next:
    """
    Accepts the old data as valid, and publishes it, since no other node has newer data. [D-104, DA-51]

    A node with newer data may disappear before it has sent it: while the node waits for it, it checks again.
    """
    if state.phase is not Phase.OLD:
        return Step(state)
    if is_authoritative_for(state):
        return set_timer(state, OldDataDue(), schedule.silence(state.config.clock))
    return then(send_again(state, updates_of(state.entries)), ready)


def on_loaded(state: State, loaded: Loaded, pick: Pick) -> Next:
    """Adds the data downloaded from another node. Raises NotEnabled. [D-103, D-123, DA-73]"""
    _is_from_source(state, loaded.node)
    was, own = state.phase, state.ticks
    after = replace(state, source=None, tock=max(state.tock, loaded.tock), ticks=latest(state.ticks, _ticks_of(loaded)))
    taken: Next = Step(after)
    for entry in sorted(loaded.entries, key=in_order):
        taken = then(taken, partial(on_update, arrived=entry))
    taken = then(taken, lambda now: Step(replace(now, entries=now.entries.mark_superseded(loaded.superseded))))
    taken = then(taken, _finish_load)
    if was is Phase.OLD and any(tick > loaded.ticks.get(node, 0) for node, tick in own.items()):
        taken = then(taken, lambda now: tell_ticks(now, None, None))
    return then(taken, lambda now: decide(now, pick))


def _finish_load(state: State) -> Next:
    if state.participates:
        return Step(state)
    has_lost = state.phase is Phase.EMPTY and state.own_tick > 0 and state.misses
    return Step(replace(state, phase=Phase.SETTLING)) if has_lost else ready(state)


def on_load_failed(state: State, failed: LoadFailed) -> Next:
    """Tries the next node. Raises NotEnabled. [DA-70]"""
    _is_from_source(state, failed.node)
    after = replace(state, source=None)
    return Step(after) if state.participates or not is_authoritative_for(state) else try_next(after)


def _is_from_source(state: State, node: NodeId) -> None:
    if state.source != node:
        raise NotEnabled("not_loading", f"{state.self_id} is not downloading from {node}")
