"""How a whole SWIM node looks as plain data, for those who look into one or put one together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId, Table
from peerproof.spec.swim.forms import COUNTER, DATA, EVENT, EVENT_TYPE, HOST, INCARNATION, PORT, UUID_TEXT
from peerproof.spec.swim.messages import ClusterEventVector, EventType, Incarnation, Uuid
from peerproof.spec.swim.state import Config, Exchange, Probing, Queued, Relay, Row, State, Status, address
from peerproof.spec.wire import Flag, ListOf, Maybe, OneOf, Plain, Record, Whole, misfit


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A row with the name of its node; what is left out is as in a row that has just been made."""

    uuid: Uuid
    host: str
    port: int
    status: Status
    incarnation: Incarnation
    payload: str | None = None
    exchange: Exchange = Exchange.DONE
    misses: int = 0
    indirect_misses: int = 0
    indirect_asked: bool = False
    unanswered: tuple[int, ...] = ()


class QueuedEvent(NamedTuple):
    """An entry of the queue."""

    event: ClusterEventVector
    recipients: tuple[Uuid, ...]


class NodeSubscription(NamedTuple):
    """A subscription to events of one node."""

    node: Uuid
    event_type: EventType


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A node but for its name and configuration; what is left out is as in a node that has just started."""

    incarnation: Incarnation
    rows: tuple[KnownNode, ...] = ()
    queue: tuple[QueuedEvent, ...] = ()
    vector: tuple[Uuid, ...] = ()
    pinged: tuple[Uuid, ...] = ()
    answered: tuple[Uuid, ...] = ()
    heard: bool = False
    isolated: bool = False
    relays: tuple[Relay, ...] = ()
    payload: str = "{}"
    left: bool = False
    probes: tuple[Probing, ...] = ()
    node_subscriptions: tuple[NodeSubscription, ...] = ()
    cluster_subscriptions: tuple[EventType, ...] = ()


_UUIDS: Final = ListOf(UUID_TEXT)

SNAPSHOT: Final = Record(
    Snapshot,
    incarnation=INCARNATION,
    rows=ListOf(
        Record(
            KnownNode,
            uuid=UUID_TEXT,
            host=HOST,
            port=PORT,
            status=OneOf(Status),
            incarnation=INCARNATION,
            payload=Maybe(DATA),
            exchange=OneOf(Exchange),
            misses=Whole(),
            indirect_misses=Whole(),
            indirect_asked=Flag(),
            unanswered=ListOf(COUNTER),
        )
    ),
    queue=ListOf(Record(QueuedEvent, event=EVENT, recipients=_UUIDS)),
    vector=_UUIDS,
    pinged=_UUIDS,
    answered=_UUIDS,
    heard=Flag(),
    isolated=Flag(),
    relays=ListOf(Record(Relay, target=UUID_TEXT, requester=UUID_TEXT, tx=COUNTER, fresh=Flag())),
    payload=DATA,
    left=Flag(),
    probes=ListOf(Record(Probing, host=HOST, port=PORT, tx=COUNTER)),
    node_subscriptions=ListOf(Record(NodeSubscription, node=UUID_TEXT, event_type=EVENT_TYPE)),
    cluster_subscriptions=ListOf(EVENT_TYPE),
)


class StateForm:
    """How a state looks as plain data: the members of `Snapshot`."""

    record: Final = SNAPSHOT

    def plain(self, state: State) -> Plain:
        """The plain data of a state."""
        rows = (
            KnownNode(uuid, *(getattr(row, name) for name in Row.__dataclass_fields__))  # in the order of its fields
            for uuid, row in state.rows.items()
        )
        return SNAPSHOT.plain(
            Snapshot(
                incarnation=state.incarnation,
                rows=tuple(rows),
                queue=tuple(QueuedEvent(event, _sorted(recipients)) for event, recipients in state.queue),
                vector=state.vector,
                pinged=_sorted(state.pinged),
                answered=_sorted(state.answered),
                heard=state.heard,
                isolated=state.isolated,
                relays=state.relays,
                payload=state.payload,
                left=state.left,
                probes=tuple(state.probes.values()),
                node_subscriptions=tuple(NodeSubscription(*s) for s in sorted(state.node_subscriptions, key=str)),
                cluster_subscriptions=tuple(sorted(state.cluster_subscriptions, key=str)),
            )
        )

    def value(self, plain: Plain, self_id: NodeId, config: Config) -> State:
        """The state that plain data shows, of the node with this name. Raises MalformedMessage."""
        shown: Snapshot = SNAPSHOT.value(plain)
        for name, named in (("rows", [r.uuid for r in shown.rows]), ("queue", [q.event.node for q in shown.queue])):
            if len(set(named)) < len(named):
                raise misfit(name, "each node once", plain[name])
        if config.uuid in {row.uuid for row in shown.rows}:
            raise misfit("rows", "other nodes than this one", config.uuid)
        rows = {r.uuid: Row(*(getattr(r, name) for name in Row.__dataclass_fields__)) for r in shown.rows}
        return State(
            self_id,
            config,
            shown.incarnation,
            Table(rows),
            queue=tuple(Queued(event, frozenset(recipients)) for event, recipients in shown.queue),
            vector=shown.vector,
            pinged=frozenset(shown.pinged),
            answered=frozenset(shown.answered),
            heard=shown.heard,
            isolated=shown.isolated,
            relays=shown.relays,
            payload=shown.payload,
            left=shown.left,
            probes=Table({address(p.host, p.port): p for p in shown.probes}),
            node_subscriptions=frozenset((s.node, s.event_type) for s in shown.node_subscriptions),
            cluster_subscriptions=frozenset(shown.cluster_subscriptions),
        )


def _sorted(uuids: Iterable[Uuid]) -> tuple[Uuid, ...]:
    return tuple(sorted(uuids))


STATE: Final[Any] = StateForm()
