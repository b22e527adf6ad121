"""The plain data of a whole SWIM node, for tools that read or build a state."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from peerproof.spec.forms import state_form
from peerproof.spec.forms.answers import COUNT, FLAG, Answer, Members, Sorted
from peerproof.spec.forms.form import Flag, Integer, ListOf, OneOf, Optional, Plain, Record, misfit
from peerproof.spec.forms.state_form import ShownAs, rows_by, rows_of, set_of
from peerproof.spec.swim.forms import COUNTER, DATA, EVENT, EVENT_TYPE, HOST, INCARNATION, PORT, UUID_TEXT
from peerproof.spec.swim.messages import EventType, Uuid
from peerproof.spec.swim.state import Exchange, Probing, Queued, Relay, Row, State, Status, address


class NodeSubscription(NamedTuple):
    """A subscription to events of one node."""

    node: Uuid
    event_type: EventType


class StateForm(state_form.StateForm):
    """The plain data of a state."""

    def check(self, state: State, plain: Plain) -> None:
        """Refuses a queue with two events of a node, and a row of the node itself."""
        if len({entry.event.node for entry in state.queue}) < len(state.queue):
            raise misfit("queue", "each node once", plain["queue"])
        if state.uuid in state.rows:
            raise misfit("rows", "other nodes than this one", state.uuid)


_SUBSCRIPTION: Final = Record(NodeSubscription, node=UUID_TEXT, event_type=EVENT_TYPE)

STATE: Final[Any] = StateForm(
    State,
    incarnation=INCARNATION,
    rows=rows_of(
        Row,
        "uuid",
        UUID_TEXT,
        expected="each node once",
        host=HOST,
        port=PORT,
        status=OneOf(Status),
        incarnation=INCARNATION,
        payload=Optional(DATA),
        exchange=OneOf(Exchange),
        misses=Integer(),
        indirect_misses=Integer(),
        indirect_asked=Flag(),
        unanswered=ListOf(COUNTER),
    ),
    queue=ListOf(Record(Queued, event=EVENT, recipients=set_of(UUID_TEXT))),
    vector=ListOf(UUID_TEXT),
    pinged=set_of(UUID_TEXT),
    answered=set_of(UUID_TEXT),
    heard=Flag(),
    isolated=Flag(),
    relays=ListOf(Record(Relay, target=UUID_TEXT, requester=UUID_TEXT, tx=COUNTER, fresh=Flag())),
    payload=DATA,
    left=Flag(),
    probes=rows_by(Record(Probing, host=HOST, port=PORT, tx=COUNTER), lambda probing: address(probing.host, probing.port)),
    node_subscriptions=set_of(ShownAs(_SUBSCRIPTION, lambda pair: NodeSubscription(*pair), tuple), key=str),
    cluster_subscriptions=set_of(EVENT_TYPE, key=str),
)


_ROW: Final = Members(
    uuid=UUID_TEXT, host=HOST, port=PORT, status=OneOf(Status), restart=COUNTER, tx=COUNTER, payload=Optional(DATA)
)

#: The shapes of answers to queries.
ANSWERS: Final = {
    "total_size": Answer("The number of known nodes, this one among them.", COUNT),
    "active_size": Answer("The number of active nodes, this one among them.", COUNT),
    "node_info": Answer('What is known of the node that `"args": {"uuid": …}` names, or null.', Optional(_ROW)),
    "nodes": Answer("What is known of every other node, in any order.", Sorted(_ROW, "uuid")),
    "own": Answer(
        "What the node knows of itself; `joined` says whether it has exchanged its state with all that it knows.",
        Members(uuid=UUID_TEXT, restart=COUNTER, tx=COUNTER, joined=FLAG, isolated=FLAG, left=FLAG),
    ),
    "state": Answer("All that `load` takes.", STATE),
}
