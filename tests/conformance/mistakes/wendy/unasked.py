"""Mistakes that are made one step too early, for one too many, or with the wrong one of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around, forbidding, remembering, with_effects, with_values

from peerproof.spec.core import Asked, Duration, Expired, Notify, Pick, Send, SetTimer, Step, Table
from peerproof.spec.overrides import Overrides
from peerproof.spec.wendy import proximity, routing, transitions
from peerproof.spec.wendy import state as states
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import (
    MOST_VALUE,
    NO_LEAVES,
    Announce,
    Application,
    Entry,
    FlushCache,
    Forward,
    Forwarding,
    Header,
    Heartbeat,
    HeartbeatDue,
    Join,
    Joined,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeRepair,
    RepairTimeout,
    StateRequest,
    Tables,
)
from peerproof.spec.wendy.proximity import header, send
from peerproof.spec.wendy.state import NETWORK_TIMEOUT_MS, Stage, State

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
Nodes = Iterable[Node]
CONSIDER = proximity.consider_node
ON_HEARTBEAT_DUE = transitions.on_heartbeat_due
ON_LEAVE = transitions.on_leave


def _met(order: Callable[[Nodes, Nodes, Iterable[Entry], Nodes], Nodes]) -> Overrides:
    """Meets nodes of left leaves, right leaves, cells and neighbors in this order."""

    def nodes_of(sent: Tables) -> dict[Id, Node]:
        left, right = sent.leaf_set or NO_LEAVES
        found: dict[Id, Node] = {}
        for node in order(left, right, sent.routing_table or (), sent.neighborhood_set or ()):
            found.setdefault(node.id, node)
        return found

    return {"proximity.nodes_of": nodes_of}


def _nodes(cells: Iterable[Entry], key: Callable[[Entry], Any] = lambda entry: entry[:2]) -> Nodes:
    return [entry.node for entry in sorted(cells, key=key)]


@wrong("proximity.nodes_of", "listed-under-two-addresses")
def TheLastOfTwoAddresses(right: Any, sent: Tables) -> Any:
    """Meets who is listed twice with the last of its addresses. [WA-60]"""
    left, right = sent.leaf_set or NO_LEAVES
    return {node.id: node for node in (*left, *right, *_nodes(sent.routing_table or ()), *(sent.neighborhood_set or ()))}


def _kept_if(is_kept: Callable[[State, Node], bool]) -> Overrides:
    """Keeps the versions only of these."""
    return around(
        "joining.with_versions",
        lambda right, state, sender, versions: right(state, sender, versions) if is_kept(state, sender) else state,
    )


@wrong("transitions.prune", "versions-of-who-is-measured-are-kept-by-messages")
def VersionsOfTablesOnly(right: Any, state: State) -> Any:
    """Forgets the versions of who is in no table yet. [WA-70]"""
    gone = [node for node in state.stored if node not in state.known]
    return right(replace(state, stored=state.stored.without(gone)) if gone else state)


def _measured_too(usual: Callable[[State], Next], message: Callable[[Header], Message]) -> Callable[[State], Next]:
    def send_more(state: State) -> Next:
        after, effects = usual(state)
        more = [send(state, node, message(header(state))) for node in state.measured.values() if node.id not in state.known]
        return Step(after, (*sum(more, ()), *effects))

    return send_more


def _cache_of_leaves(state: State, node: Node, *, is_leaf: bool) -> State:
    if is_leaf or node.id in state.scores or node.id not in state.cache:
        return CONSIDER(state, node, is_leaf=is_leaf)
    return replace(CONSIDER(replace(state, cache=state.cache.without((node.id,))), node, is_leaf=False), cache=state.cache)


def _tried_once(state: State, node: Node, *, is_leaf: bool) -> State:
    return state if node.id in state.scores else CONSIDER(state, node, is_leaf=is_leaf)


@wrong("transitions.on_node_repair", "asked-for-rows-without-their-table")
def RowsMeanTheTable(right: Any, state: State, question: StateRequest | NodeRepair) -> Any:
    """Sends rows that it is asked for, although the mask does not ask for the routing table. [WA-57]"""
    mask: Mask = question.mask
    wants = mask.routing_table or bool(mask.rows)
    return right(state, replace(question, mask=mask._replace(routing_table=wants)))


@wrong("proximity.update_address", "a-new-region")
def OneRegionForEver(right: Any, state: State, node: Node) -> Any:
    """Keeps the region of a node that says where it is now. [WA-68]"""
    known = state.known.get(node.id)
    return state if known is None else right(state, node._replace(region=known.region))


def caching(most: int) -> dict[str, Any]:
    """What is replaced to keep so many scores, the last ones."""

    def step(memory: dict[str, tuple[Id, ...]], right: Any, *given: Any) -> Any:
        step = right(*given)
        before = memory.get("order", ())
        order = (*[node for node in before if node in step.state.cache], *[n for n in step.state.cache if n not in before])
        memory["order"] = order[-most:]
        return with_values(step, cache=step.state.cache.without(order[:-most])) if order[:-most] else step

    return remembering(step)


def with_the_cache(change: Callable[[State], State]) -> dict[str, Any]:
    """What is replaced to empty something else with the cache."""

    def emptied(step: Next, _: State, event: Any, __: Pick) -> Next:
        is_hour = isinstance(event, Expired) and isinstance(event.timer, FlushCache)
        return step._replace(state=change(step.state)) if is_hour else step

    return after("step", emptied)


def restarting(is_it: Callable[[Any], bool], timer: Callable[[Any], SetTimer[Any] | None]) -> dict[str, Any]:
    """What is replaced to set a timer once more, if the configuration has it, after some events."""

    def restarted(step: Next, state: State, event: Any, _: Pick) -> Next:
        again = timer(state.config) if is_it(event) else None
        return step if again is None else with_effects(step, again)

    return after("step", restarted)


def is_join(event: Any) -> bool:
    """Whether the node is asked to join."""
    return isinstance(event, Asked) and isinstance(event.command, Join)


def cache_timer(_: Any) -> SetTimer[Any]:
    """When the cache is emptied."""
    return SetTimer(FlushCache(), states.CACHE_MS)


@wrong("step", "no-forward-after-leaving")
def ForwardsAfterLeaving(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends on what its application was asked about before it left. [WA-62]"""
    if state.stage is Stage.LEFT and isinstance(event, Asked) and isinstance(event.command, Forward):
        return routing_again(state, event.command.message)
    return right(state, event, pick)


def routing_again(state: State, message: Application) -> Next:
    """The message goes where routing leads."""
    node = routing.next_hop(state, message.header.key)
    return Step(state, () if node is None else send(state, node, message))


def forwarding_with(change: Callable[[Header, Header], Header]) -> dict[str, Any]:
    """What is replaced to send on another header than the application says, from that and the one that it was asked about."""

    def step(memory: dict[str, Application], right: Any, state: State, event: Any, pick: Pick) -> Any:
        if isinstance(event, Asked) and isinstance(event.command, Forward) and "last" in memory:
            message = event.command.message
            message = replace(message, header=change(message.header, memory["last"].header))
            event = replace(event, command=Forward(message))
        step = right(state, event, pick)
        for effect in step.effects:
            if isinstance(effect, Notify) and isinstance(effect.notice, Forwarding):
                memory["last"] = effect.notice.message
        return step

    return remembering(step)


@wrong.after("step", "cell-who-does-not-answer-in-time")
def RepairsForTenSeconds(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Waits ten seconds for a cell, whatever is configured. [WA-26]"""
    usual = Duration(NETWORK_TIMEOUT_MS)
    return step._replace(
        effects=tuple(
            replace(effect, after=usual) if isinstance(effect, SetTimer) and isinstance(effect.timer, RepairTimeout) else effect
            for effect in step.effects
        )
    )


@wrong.after("step", "joined-is-told-once")
def JoinsAgainAndAgain(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Tells each time that it announces itself that it has joined. [WA-72]"""
    said = any(isinstance(effect, Send) and isinstance(effect.message, NodeAnnouncement) for effect in step.effects)
    is_again = said and state.stage is Stage.JOINED
    return with_effects(step, Notify(Joined())) if is_again else step


wrong |= {
    # Counts the hour of the cache from when it is asked to join. [WA-19]
    "TheHourBeginsWithTheJoin: the-cache-of-a-joiner-after-an-hour": restarting(is_join, cache_timer),
    # Counts the hour of the cache from when it has announced itself. [WA-19]
    "TheHourBeginsWhenItHasJoined: the-cache-of-a-joiner-after-an-hour": restarting(
        lambda event: isinstance(event, Expired) and isinstance(event.timer, Announce), cache_timer
    ),
    # Counts the time until the next heartbeats from when it is asked to join. [WA-24]
    "JoinsPutHeartbeatsOff: a-join-puts-no-heartbeat-off": restarting(
        is_join, lambda config: SetTimer(HeartbeatDue(), config.heartbeat) if config.heartbeat else None
    ),
    # Takes no value of 2^19 bytes from the application. [WA-66]
    "OneByteLess: longest-value-of-the-application": forbidding(
        "transitions.sendable", lambda message: message.value is not None and len(message.value) >= MOST_VALUE
    ),
    # Keeps 16 scores. [W-10]
    "Cache16: the-cache-has-no-limit": caching(16),
    # Keeps 256 scores. [W-10]
    "Cache256: the-cache-has-no-limit": caching(256),
    # Lets the application not change who has sent a message. [WA-58]
    "KeepsTheSender: asked-and-changed-in-each-part": forwarding_with(lambda new, old: replace(new, sender=old.sender)),
    # Lets the application not change the count of hops. [WA-58]
    "KeepsTheHops: asked-and-changed-in-each-part": forwarding_with(lambda new, old: replace(new, hop=old.hop)),
    # Lets the application not change versions and credentials. [WA-58]
    "KeepsVersionsAndCredentials: asked-and-changed-in-each-part": forwarding_with(
        lambda new, old: replace(new, versions=old.versions, credentials=old.credentials)
    ),
    # Forgets who has departed when the cache is emptied. [WA-30]
    "ForgetsTheDeparted: the-departed-after-an-hour": with_the_cache(lambda state: replace(state, departed=frozenset())),
    # Forgets who is being measured when the cache is emptied. [WA-19, WA-69]
    "ForgetsWhoIsMeasured: measured-when-the-cache-is-emptied": with_the_cache(lambda state: replace(state, measured=Table())),
    # Forgets the versions of others when the cache is emptied. [W-63, WA-19]
    "ForgetsVersions: versions-outlive-the-cache": with_the_cache(lambda state: replace(state, stored=Table())),
    # Meets right leaves before left ones. [WA-60]
    "RightLeavesFirst: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*right, *left, *_nodes(cells), *near)
    ),
    # Meets the nodes of the routing table first. [WA-60]
    "CellsBeforeLeaves: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*_nodes(cells), *left, *right, *near)
    ),
    # Meets neighbors first. [WA-60]
    "NeighborsFirst: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*near, *left, *right, *_nodes(cells))
    ),
    # Meets neighbors before the nodes of the routing table. [WA-60]
    "NeighborsBeforeCells: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*left, *right, *near, *_nodes(cells))
    ),
    # Goes through the routing table by columns. [WA-60]
    "ByColumns: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*left, *right, *_nodes(cells, lambda entry: entry[1::-1]), *near)
    ),
    # Goes through the routing table from the last row. [WA-60]
    "RowsFromTheLast: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*left, *right, *_nodes(cells, lambda entry: (-entry[0], entry[1])), *near)
    ),
    # Goes through each row from the last column. [WA-60]
    "ColumnsFromTheLast: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*left, *right, *_nodes(cells, lambda entry: (entry[0], -entry[1])), *near)
    ),
    # Meets the last neighbor first. [WA-60]
    "NeighborsFromTheLast: nodes-are-met-in-their-order-by-messages": _met(
        lambda left, right, cells, near: (*left, *right, *_nodes(cells), *reversed([*near]))
    ),
    # Keeps no versions of who is being measured. [WA-70]
    "VersionsOfTheMeasuredAreLost: versions-of-a-leaf-that-is-measured": _kept_if(
        lambda state, node: node.id not in state.measured
    ),
    # Keeps no newer versions of a leaf without a score. [WA-70]
    "VersionsOfTheUnmeasuredAreLost: versions-of-a-leaf-that-is-measured": _kept_if(
        lambda state, node: node.id in state.scores or node.id not in state.known
    ),
    # Keeps no versions before it has asked to join. [W-63]
    "VersionsForJoinersOnly: versions-from-before-it-joins": _kept_if(lambda state, _: state.stage is not Stage.ALONE),
    # Sends heartbeats to those whom it measures, too. [WA-24, WA-69]
    "HeartbeatsToTheMeasured: who-is-measured-gets-one-heartbeat": {
        "transitions.on_heartbeat_due": _measured_too(ON_HEARTBEAT_DUE, Heartbeat)
    },
    # Tells those whom it measures that it leaves, too. [WA-24]
    "ExitsToTheMeasured: who-is-measured-gets-one-heartbeat": {"transitions.on_leave": _measured_too(ON_LEAVE, NodeExit)},
    # Cuts values of the application that are too long. [WA-66]
    "ValuesWithoutLimit: longest-value-of-the-application": around(
        "transitions.sendable", lambda right, message: right(replace(message, value=message.value and message.value[:MOST_VALUE]))
    ),
    # Sends to a host in small letters. [WA-52]
    "SmallAddresses: a-host-with-capitals": around(
        "state.address_of",
        lambda right, config, node: right(
            config, node._replace(local_ip=node.local_ip.lower(), global_ip=node.global_ip.lower())
        ),
    ),
    # Asks the cache for leaves only. [WA-21]
    "TheCacheIsForLeaves: nodes-are-met-in-their-order-by-messages the-cache-has-no-limit": {
        "proximity.consider_node": _cache_of_leaves
    },
    # Never considers a node again that has a score. [W-56, WA-69]
    "TriedOnce: nodes-are-met-in-their-order-by-messages": {"proximity.consider_node": _tried_once},
}


@wrong("proximity.send", "asked-from-the-own-address sent-straight-to-itself")
def AnswersItself(right: Any, state: State, to: Node, message: Message) -> Any:
    """Sends also to nodes with its own address. [WA-52]"""
    where = states.address_of(state.config, to)
    return (Send(where, message),) if where == state.self_id else right(state, to, message)


__getattr__ = wrong.find
