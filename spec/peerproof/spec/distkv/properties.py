"""
Properties of every run of DistKV, and reachability checks; DI- names are those of `spec/distkv.md`.

Properties of a node or of a step hold whatever messages arrive. Properties of a cluster hold while no node sends false data or
loses its own; in models they consider only the running nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from peerproof.spec.core import Asked, Expired, Received, Send, Table
from peerproof.spec.distkv.chains import Claim, Element, Relation, is_change_chain, relation, zero_may_ping
from peerproof.spec.distkv.entries import on_chains
from peerproof.spec.distkv.messages import FoundingDue, Info, Loaded, OldDataDue, Ping, PingDue, Update
from peerproof.spec.distkv.paths import Path
from peerproof.spec.distkv.pings import winner
from peerproof.spec.distkv.ranges import up_to
from peerproof.spec.distkv.state import Phase, State, updates_of
from peerproof.spec.distkv.ticks import Ticks, difference, latest, missing_sets
from peerproof.spec.properties import Cluster, Property, Taken


def chains_bounded(state: State) -> bool:
    """No node is twice in a chain of changes, and no chain is too long. [DI-01]"""
    most = state.config.change_length
    return all(is_change_chain(entry.chain) and len(entry.chain.elements) <= most for entry in state.entries.rows.values())


def present_is_known(state: State) -> bool:
    """All changes on stored chains are known, and no known change is above the tick of its node. [DI-03]"""
    present, known = on_chains(state.entries.rows), state.entries.known
    beyond = any(ranges.ends[-1] > state.ticks.get(node, 0) + 1 for node, ranges in known.items())
    return not difference(present, known) and not beyond


def zero_is_silent(state: State) -> bool:
    """A node with the tick zero sets its ping timer only after a chain that permits it. [D-107, DA-67]"""
    if PingDue() not in state.timers or state.message_tick:
        return True
    return state.last is not None and zero_may_ping(state.last.chain)


def head_is_change(taken: Taken) -> bool:
    """A changed entry equals a received update, or has the node's own change at its head. [DI-01, DA-80, DA-84]"""
    before, after = taken.before.entries.rows, taken.after.entries.rows
    said = {(update.path, update.chain.head, update.value, update.tock) for update in _incoming_updates(taken)}
    own = Element(taken.after.self_id, taken.after.own_tick), taken.before.tock + 1
    changed = [(path, entry) for path, entry in after.items() if entry != before.get(path)]
    return before.keys() <= after.keys() and all(
        (path, entry.chain.head, entry.value, entry.tock) in said or (entry.chain.head, entry.tock) == own
        for path, entry in changed
    )


def tock_rises(taken: Taken) -> bool:
    """Each message that the node originates has a higher tock than all that it has received and sent. [DI-04, DA-03]"""
    highest: int = max(taken.before.tock, *_tocks_of(taken.event))
    for message in messages_sent(taken):
        if not is_originated(taken.before, message):
            continue
        if message.tock <= highest:
            return False
        highest = message.tock
    return all(message.tock <= taken.after.tock for message in messages_sent(taken)) and bool(
        taken.before.tock <= taken.after.tock
    )


def tock_of_entry(taken: Taken) -> bool:
    """The tock of an entry decreases only after false data: a later change has the higher tock. [DI-08, DI-05]"""
    rows = taken.after.entries.rows
    return all(
        rows[path].tock >= entry.tock or relation(rows[path].chain, entry.chain) is Relation.AFTER
        for path, entry in taken.before.entries.rows.items()
        if path in rows
    )


def deleted_stays(taken: Taken) -> bool:
    """A deleted entry is replaced only by a change that did not come before the deletion. [DI-09]"""
    rows = taken.after.entries.rows
    deleted = [(path, entry) for path, entry in taken.before.entries.rows.items() if entry.is_deleted]
    return all(
        path in rows and (rows[path] == entry or relation(rows[path].chain, entry.chain) in (Relation.AFTER, Relation.CONCURRENT))
        for path, entry in deleted
    )


#: The permitted changes of phase. [DA-59]
_NEXT: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.EMPTY: frozenset({Phase.EMPTY, Phase.SETTLING, Phase.READY}),
    Phase.OLD: frozenset({Phase.OLD, Phase.READY}),
    Phase.SETTLING: frozenset({Phase.SETTLING, Phase.READY}),
    Phase.READY: frozenset({Phase.READY}),
}


def ready_once(taken: Taken) -> bool:
    """A ready node stays so. [DI-12, DA-59]"""
    return taken.after.phase in _NEXT[taken.before.phase]


def ready_with_data(taken: Taken) -> bool:
    """A node becomes ready by a download, by old data, as the first node, or when nothing is missing. [DI-16]"""
    before, after = taken.before, taken.after
    if after.phase is not Phase.READY or before.phase is Phase.READY:
        return True
    if before.phase is Phase.SETTLING:
        return not after.misses
    match before.phase, taken.event:
        case Phase.OLD, Expired(timer=OldDataDue()):
            return True
        case Phase.EMPTY, Expired(timer=FoundingDue()):
            return True
    return _download(taken) is not None and (before.phase is Phase.OLD or not after.own_tick or not after.misses)


def passive_is_quiet(taken: Taken) -> bool:
    """A node in the phases empty or old sends only pings. [DI-18, DA-42]"""
    if taken.before.participates:
        return True
    others = [message for message in messages_sent(taken) if not isinstance(message, Ping)]
    if not taken.after.participates:
        return not others
    if _download(taken) is not None:
        return all(isinstance(message, Info) for message in others)
    return all(isinstance(message, Update) for message in others)


def messages_sent(taken: Taken) -> Iterator[Any]:
    """Yields the messages that a node has sent in a step, in order."""
    messages = (effect.message for effect in taken.effects if isinstance(effect, Send))
    return (message for message in messages if isinstance(message, (Update, Info, Ping)))


def is_originated(before: State, message: Any) -> bool:
    """Whether a message is new, and no update that is sent again. [DA-03]"""
    if not isinstance(message, Update):
        return True
    head = message.chain.head
    return head.node == before.self_id and (head.tick or 0) > before.own_tick


def _tocks_of(event: Any) -> Iterator[int]:
    match event:
        case Received(message=(Update() | Info() | Ping() | Loaded()) as message) | Asked(command=Loaded() as message):
            yield message.tock
    yield 0


def _download(taken: Taken) -> Loaded | None:
    """Returns the downloaded data, if a download has ended; in models it is a message."""
    match taken.event:
        case Asked(command=Loaded() as loaded) | Received(message=Loaded() as loaded):
            return loaded
    return None


def _incoming_updates(taken: Taken) -> Iterable[Update]:
    loaded = _download(taken)
    if loaded is not None:
        return loaded.entries
    match taken.event:
        case Received(message=Update() as update):
            return (update,)
    return ()


def running(cluster: Cluster) -> list[State]:
    """Returns the running nodes."""
    return [state for state in cluster.nodes.values() if getattr(state, "up", True)]


def changes(cluster: Cluster) -> Mapping[Path, set[Update]]:
    """Returns all changes that some node has or will receive, by path."""
    found: defaultdict[Path, set[Update]] = defaultdict(set)
    for state in cluster.nodes.values():
        for update in updates_of(state.entries):
            found[update.path].add(update)
    for _, _, message in cluster.in_flight:
        for update in message.entries if isinstance(message, Loaded) else (message,):
            if isinstance(update, Update):
                found[update.path].add(update)
    return found


def of_pairs(holds: Callable[[Update, Update], bool]) -> Callable[[Cluster], bool]:
    """Returns a predicate that holds if all pairs of different changes of one entry satisfy `holds`."""
    return lambda cluster: all(holds(*pair) for updates in changes(cluster).values() for pair in combinations(updates, 2))


def tocks_follow(one: Update, other: Update) -> bool:
    """A change that came before another one has the lower tock. [DI-05]"""
    match relation(one.chain, other.chain):
        case Relation.BEFORE:
            return one.tock < other.tock
        case Relation.AFTER:
            return one.tock > other.tock
    return True


def one_is_better(one: Update, other: Update) -> bool:
    """Of two different changes exactly one wins. [DI-06]"""
    return one.chain.head == other.chain.head or _beats(one, other) != _beats(other, one)


def better_is_order(cluster: Cluster) -> bool:
    """Of two different changes exactly one wins, and wins form no cycle. [DI-06]"""
    if not of_pairs(one_is_better)(cluster):
        return False
    for updates in changes(cluster).values():
        unlike = list({update.chain.head: update for update in updates}.values())
        if sorted(sum(_beats(one, other) for other in unlike) for one in unlike) != list(range(len(unlike))):
            return False
    return True


def _beats(one: Update, other: Update) -> bool:
    return Claim(one.tock, one.chain.head).beats(Claim(other.tock, other.chain.head))


def one_tick_one_change(cluster: Cluster) -> bool:
    """A node and a tick identify one change. [DI-15]"""
    named: dict[Element, tuple[Path, Any, int]] = {}
    for path, updates in changes(cluster).items():
        for update in updates:
            about = path, update.value, update.tock
            if named.setdefault(update.chain.head, about) != about:
                return False
    return True


def own_complete(cluster: Cluster) -> bool:
    """A node knows exactly its own changes about itself. [DI-02]"""
    return all(state.entries.known.get(state.self_id, up_to(0)) == up_to(state.own_tick) for state in cluster.nodes.values())


def all_known(cluster: Cluster) -> bool:
    """No message is under way, and every running node knows all changes that any running node knows of."""
    if tuple(cluster.in_flight):
        return False
    states = running(cluster)
    ticks: Ticks = Table()
    for state in states:
        ticks = latest(ticks, state.ticks)
    return not any(missing_sets(ticks, state.entries.known) for state in states)


def same_stores(cluster: Cluster) -> bool:
    """The running nodes have the same entries, except for the lengths of chains."""
    stores = {
        frozenset((path, entry.chain.head, entry.value, entry.tock) for path, entry in state.entries.rows.items())
        for state in running(cluster)
    }
    return len(stores) <= 1


def converged(cluster: Cluster) -> bool:
    """When all nodes know all changes, all stores are equal. [DI-07]"""
    return not all_known(cluster) or same_stores(cluster)


def ping_order(cluster: Cluster) -> bool:
    """Of two pings of different nodes the same one wins, in either order of arrival. [DI-10]"""
    pings = {state.last for state in cluster.nodes.values() if state.last is not None}
    pings |= {message for _, _, message in cluster.in_flight if isinstance(message, Ping)}
    return all(
        (winner(one, other) is one) != (winner(other, one) is other)
        for one, other in combinations(pings, 2)
        if one.chain.head.node != other.chain.head.node
    )


def all_the_same(cluster: Cluster) -> bool:
    """All running nodes are ready and have the same entries, and no node misses changes. [DL-01, DL-02, DL-04]"""
    states = running(cluster)
    return all(state.phase is Phase.READY and not state.misses for state in states) and same_stores(cluster)


def conflicts(taken: Taken) -> bool:
    """A change arrives that is concurrent to the stored one."""
    before = taken.before.entries.rows
    arrived = [(update, before[update.path]) for update in _incoming_updates(taken) if update.path in before]
    return any(relation(update.chain, entry.chain) is Relation.CONCURRENT for update, entry in arrived)


def recovers(taken: Taken) -> bool:
    """Two chains of pings have met."""
    return taken.before.recovery is None and taken.after.recovery is not None


def asks(taken: Taken) -> bool:
    """A node requests missing changes."""
    return any(isinstance(message, Info) and message.missing for message in messages_sent(taken))


def sends_again(taken: Taken) -> bool:
    """A node sends a change again."""
    return any(not is_originated(taken.before, message) for message in messages_sent(taken))


def loads(taken: Taken) -> bool:
    """A node becomes ready by a download."""
    return _download(taken) is not None and taken.after.phase is Phase.READY and taken.before.phase is not Phase.READY


PROPERTIES: Final = (
    Property("ChainsBounded", "chains of changes are valid", ("DI-01", "D-12", "D-14"), "node", chains_bounded),
    Property("HeadIsChange", "an entry has the last change at its head", ("DI-01", "DA-84"), "step", head_is_change),
    Property("OwnComplete", "a node knows its own changes", ("DI-02", "D-21"), "cluster", own_complete),
    Property("PresentIsStored", "stored changes are known", ("DI-03", "DA-04"), "node", present_is_known),
    Property("TockRises", "tocks of messages rise", ("DI-04", "D-53", "D-54"), "step", tock_rises),
    Property("ChainsFollowTocks", "tocks rise along chains", ("DI-05",), "cluster", of_pairs(tocks_follow)),
    Property("BetterIsOrder", "of two changes one wins, without cycles", ("DI-06", "DA-01"), "cluster", better_is_order),
    Property("Converged", "nodes that know the same changes have the same entries", ("DI-07",), "cluster", converged),
    Property("TockOfEntry", "an entry's tock never decreases", ("DI-08",), "step", tock_of_entry),
    Property("DeletedStays", "older changes do not restore a deleted entry", ("DI-09", "DA-10"), "step", deleted_stays),
    Property("PingOrder", "of two pings the same one wins at all nodes", ("DI-10", "D-80"), "cluster", ping_order),
    Property("ReadyOnce", "a ready node stays ready", ("DI-12", "DA-59"), "step", ready_once),
    Property("OneTickOneChange", "a tick names one change", ("DI-15",), "cluster", one_tick_one_change),
    Property("ReadyWithData", "a ready node has data", ("DI-16", "DA-73"), "step", ready_with_data),
    Property("PassiveIsQuiet", "a node without data only pings", ("DI-18", "DA-42"), "step", passive_is_quiet),
    Property(
        "ZeroIsSilent", "a node without a tick yields the chain to nodes with one", ("D-107", "DA-67"), "node", zero_is_silent
    ),
    Property(
        "AllTheSame",
        "all nodes have the same data, and are ready",
        ("DL-01", "DL-02", "DL-04"),
        "cluster",
        all_the_same,
        "eventually",
    ),
    Property("SomebodyConflicts", "changes are concurrent", ("DA-01",), "step", conflicts, "sometimes"),
    Property("SomebodyRecovers", "a split heals", ("D-86", "DA-74"), "step", recovers, "sometimes"),
    Property("SomebodyAsks", "a node requests missing changes", ("D-67",), "step", asks, "sometimes"),
    Property("SomebodySendsAgain", "a change is sent again", ("D-68", "DA-03"), "step", sends_again, "sometimes"),
    Property("SomebodyLoads", "a download makes a node ready", ("D-103", "DA-73"), "step", loads, "sometimes"),
)
