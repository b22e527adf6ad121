"""
The transitions of a Wendy node: `initial` makes one, `step` handles one event.

Messages are sent over connections: the node learns whether each message arrived and how long that took. So it measures proximity
and detects departed nodes [W-06, WA-24]. There are no random choices: `pick` is never called.
"""

from __future__ import annotations

from typing import assert_never

from peerproof.spec.core import Asked, CancelTimer, Expired, NodeId, Notify, Pick, Received, Sent, SetTimer, Step, Table, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy.joining import (
    on_announce,
    on_announcement_sent,
    on_join,
    on_join_failed,
    on_join_sent,
    on_node_announcement,
    on_node_join,
    on_node_race,
    on_state_data,
)
from peerproof.spec.wendy.messages import (
    LEAST_ROUTED,
    MOST_CREDENTIALS,
    MOST_HOPS,
    MOST_PURPOSE,
    MOST_VALUE,
    Announce,
    Application,
    Command,
    Delivered,
    Effect,
    Event,
    FlushCache,
    Forward,
    Forwarding,
    Header,
    Heartbeat,
    HeartbeatDue,
    Join,
    Leave,
    Message,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    RepairTimeout,
    Route,
    SendTo,
    StateData,
    StateRequest,
    Timer,
)
from peerproof.spec.wendy.proximity import Next, everybody, header, prune, refresh_score, send
from peerproof.spec.wendy.repair import advance_all, on_departure, on_node_exit, on_node_repair, on_repair_timeout, record_answer
from peerproof.spec.wendy.routing import next_hop
from peerproof.spec.wendy.state import CACHE_MS, Config, Stage, State, host_and_port


def initial(self_id: NodeId, config: Config) -> Next:
    """Returns a node that knows no other, and is a cluster by itself until it joins another. [W-45, WA-19, WA-24]"""
    host_and_port(self_id)
    beat = (SetTimer(HeartbeatDue(), config.heartbeat),) if config.heartbeat else ()
    return Step(State(self_id, config), (SetTimer(FlushCache(), CACHE_MS), *beat))


def step(state: State, event: Event, pick: Pick) -> Next:  # noqa: ARG001  # the protocol has no random choices
    """Dispatches one event to its handler."""
    if state.stage is Stage.LEFT:
        return on_nothing(state, event)
    match event:
        case Received(_, _, message):
            after, effects = on_message(state, message) if is_admitted(state, message) else Step(state)
        case Sent():
            after, effects = on_sent(state, event)
        case Expired(_, timer):
            after, effects = on_timer(state, timer)
        case Asked(_, command):
            after, effects = on_command(state, command)
        case _:
            assert_never(event)
    if after is not state and after.stage is not Stage.LEFT:
        after, advances = advance_all(after)
        effects += advances
        after = prune(after)
    return Step(after, effects)


def on_nothing(state: State, event: Event) -> Next:
    """Handles an event at a node that has left: commands are refused, all else is ignored. [WA-62]"""
    if isinstance(event, Asked):
        raise NotEnabled("left", "a node that has left does nothing any more")
    return Step(state)


def is_admitted(state: State, message: Message) -> bool:
    """Whether a message has the required credentials; otherwise it is not even confirmed. [WA-53]"""
    return state.config.credentials in (None, message.header.credentials)


def on_message(state: State, message: Message) -> Next:
    """Handles a message. It names its sender, because its connection may come from any port. [WA-52]"""
    match message:
        case NodeJoin():
            return on_node_join(state, message)
        case NodeExit():
            return on_node_exit(state, message)
        case Heartbeat():
            return on_heartbeat(state)
        case StateData():
            return on_state_data(record_answer(state, message), message)
        case StateRequest() | NodeRepair():
            return on_node_repair(state, message)
        case NodeRace():
            return on_node_race(state, message)
        case NodeAnnouncement():
            return on_node_announcement(state, message)
        case Application():
            return on_application(state, message)
        case _:
            assert_never(message)


def on_timer(state: State, timer: Timer) -> Next:
    """Handles an expired timer."""
    match timer:
        case FlushCache():
            return on_flush_cache(state)
        case Announce():
            return on_announce(state)
        case HeartbeatDue():
            return on_heartbeat_due(state)
        case RepairTimeout(row, column):
            return on_repair_timeout(state, (row, column))
        case _:
            assert_never(timer)


def on_command(state: State, command: Command) -> Next:
    """Handles a command of the application. Raises NotEnabled."""
    match command:
        case Join(contact):
            return on_join(state, contact)
        case Leave():
            return on_leave(state)
        case Route():
            return on_route(state, command)
        case Forward(message):
            return route_message(state, sendable(message), is_allowed=True)
        case SendTo():
            return on_send_to(state, command)
        case _:
            assert_never(command)


def sendable(message: Application) -> Application:
    """Returns the message if it can be encoded. Raises NotEnabled. [WA-55, WA-66]"""
    for what, octets, most in (
        ("value", message.value, MOST_VALUE),
        ("credentials", message.header.credentials, MOST_CREDENTIALS),
    ):
        if octets is not None and len(octets) > most:
            raise NotEnabled("too_large", f"a message's {what} may have at most {most} bytes, not {len(octets)}")
    if not LEAST_ROUTED <= message.purpose <= MOST_PURPOSE:
        raise NotEnabled("bad_value", f"an application's purpose is from {LEAST_ROUTED} to {MOST_PURPOSE}, not {message.purpose}")
    return message


def on_heartbeat(state: State) -> Next:
    """Ignores a heartbeat: the confirmation of the message is the answer. [WA-24]"""
    return Step(state)


def on_flush_cache(state: State) -> Next:
    """Clears the cache after one hour. [W-09, WA-19]"""
    return Step(replace(state, cache=Table()), (SetTimer(FlushCache(), CACHE_MS),))


def on_route(state: State, route: Route) -> Next:
    """Routes a message of the application to the node closest to a key. Raises NotEnabled. [W-37, WA-55]"""
    return route_message(state, sendable(Application(header(state, route.key), route.purpose, route.value)))


def on_send_to(state: State, command: SendTo) -> Next:
    """Sends a message of the application to a certain node. Raises NotEnabled. [WA-73]"""
    about = replace(header(state, command.key), hop=command.hop)
    effects = send(state, command.node, sendable(Application(about, command.purpose, command.value)))
    if not effects:
        raise NotEnabled("bad_value", f"nothing can be sent to {command.node}: a node with an address of its own is needed")
    return Step(state, effects)


def on_application(state: State, message: Application) -> Next:
    """Delivers or forwards a message for an application. [W-37…W-44, WA-46, WA-56]"""
    about = message.header
    counted = Header(about.sender, about.key, about.versions, about.credentials, min(about.hop + 1, MOST_HOPS))
    return route_message(state, Application(counted, message.purpose, message.value))


def route_message(state: State, message: Application, *, is_allowed: bool = False) -> Next:
    """
    Delivers a message here, or sends it to the next node. [W-37…W-44]

    If the application wants to be consulted, the message is not sent yet: the application may forward, change or drop it. [WA-58]
    """
    node = next_hop(state, message.header.key)
    if node is None:
        return Step(state, (Notify(Delivered(message)),))
    if is_allowed:
        return Step(state, send(state, node, message))
    notice = Notify(Forwarding(message, node))
    return Step(state, (notice,) if state.config.is_consulted else (notice, *send(state, node, message)))


def on_sent(state: State, sent: Sent[Message]) -> Next:
    """
    A message has arrived, and the time it took is a score; or it has failed, and its receiver has gone.

    A failed message that was only being forwarded then takes another route. There is one outcome for each message.
    [W-07, WA-24, WA-33]
    """
    effects: tuple[Effect, ...] = ()
    if sent.took is not None:
        state = refresh_score(state, sent.to, sent.took)
    else:
        for node in list(state.at(sent.to)):
            state, told = on_departure(state, node.id)
            effects += told
    state, more = on_outcome(state, sent.to, sent.message, failed=sent.took is None)
    return Step(state, effects + more)


def on_outcome(state: State, to: NodeId, message: Message, *, failed: bool) -> Next:
    """Handles the outcome of a message for the message itself. [WA-33, WA-59, WA-67]"""
    match message:
        case NodeJoin() if message.header.sender.id == state.id:
            return on_join_sent(state, to, failed=failed)
        case NodeJoin() if failed:
            return on_join_failed(state, message)
        case Application() if failed:
            return route_message(state, message)
        case NodeAnnouncement():
            return on_announcement_sent(state, to)
        case _:
            return Step(state)


def on_heartbeat_due(state: State) -> Next:
    """Sends a heartbeat to all known nodes, which also measures them. [WA-24]"""
    effects: tuple[Effect, ...] = ()
    for node in everybody(state):
        effects += send(state, node, Heartbeat(header(state)))
    return Step(state, (*effects, SetTimer(HeartbeatDue(), state.config.heartbeat)))


def on_leave(state: State) -> Next:
    """Notifies all known nodes, and then does nothing more. [WA-24, WA-62]"""
    effects: tuple[Effect, ...] = ()
    for node in everybody(state):
        effects += send(state, node, NodeExit(header(state)))
    timers: tuple[Timer, ...] = (FlushCache(), Announce(), HeartbeatDue(), *(RepairTimeout(*cell) for cell in state.repairs))
    return Step(replace(state, stage=Stage.LEFT), (*effects, *[CancelTimer(timer) for timer in timers]))
