"""Changes by this node and by others. [D-49, D-57…D-59, DA-12, DA-17, DA-80, DA-84]"""

from __future__ import annotations

from peerproof.spec.core import EVERYBODY, Notify, Send, Step, Table, replace
from peerproof.spec.distkv import entries
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.entries import Outcome
from peerproof.spec.distkv.messages import Contradiction, EntryChanged, Update
from peerproof.spec.distkv.outgoing import Next
from peerproof.spec.distkv.paths import Path, is_meta
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.recovery import without_wanted
from peerproof.spec.distkv.state import Phase, State
from peerproof.spec.distkv.ticks import with_elements
from peerproof.spec.distkv.values import Value
from peerproof.spec.errors import NotEnabled


def on_change(state: State, path: Path, value: Value) -> Next:
    """The application changes an entry. Raises NotEnabled: `not_ready`, `bad_path`, `exhausted`, `too_large`. [DA-80]"""
    if state.phase is not Phase.READY:
        raise NotEnabled("not_ready", f"{state.self_id} has not yet got what others have")
    if is_meta(path):
        raise NotEnabled("bad_path", "the hierarchy about the system itself is not for applications")
    return change(state, path, value)


def change(state: State, path: Path, value: Value) -> Next:
    """Changes an entry on this node, and sends the update to all others. Raises NotEnabled. [D-49, D-51, DA-12, DA-21]"""
    tick, tock = state.own_tick + 1, state.tock + 1
    if max(tick, tock) > TICK_MAX:
        raise NotEnabled("exhausted", f"no tick or tock follows {TICK_MAX}")
    config = state.config
    said = entries.change(state.entries, path, value, Element(state.self_id, tick), tock, config.change_length)
    if (size := len(payload(said))) > config.max_payload:
        raise NotEnabled("too_large", f"its update has {size} bytes, and at most {config.max_payload} can be sent")
    stored, _ = state.entries.apply_update(said, config.change_length)
    after = replace(state, tock=tock, ticks=state.ticks.put({state.self_id: tick}), entries=stored)
    return Step(after, (Send(EVERYBODY, said), Notify(EntryChanged(path, value))))


def on_update(state: State, arrived: Update) -> Next:
    """Handles an update; missing changes on its chain are no longer requested from this node. [D-57, D-58, DA-78, DA-84]"""
    stored, outcome = state.entries.apply_update(arrived, state.config.change_length)
    after = replace(state, entries=stored)
    if state.wanted:
        after = without_wanted(after, with_elements(Table(), arrived.chain.elements))
    if outcome in (Outcome.ACCEPT, Outcome.CONFLICT_ACCEPT):
        return Step(after, (Notify(EntryChanged(arrived.path, arrived.value)),))
    if outcome is Outcome.CONTRADICTION:
        return Step(after, (Notify(Contradiction(arrived.path, arrived.chain.head)),))
    return Step(after)
