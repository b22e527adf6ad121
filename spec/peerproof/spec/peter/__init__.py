"""
Peter: trees of subscriptions on Wendy, through which an event on a topic reaches all its subscribers. [P-01, P-06]

`tree.py` is Peter's own part; read it with `spec/peter.md` beside it. `initial`, `step` and `MESSAGE` are the whole protocol: a
node of both, Peter on top of Wendy.
"""

from __future__ import annotations  # noqa: I001  # several names of one module on a line

from collections.abc import Callable, Mapping
from typing import Any, Final

from peerproof.spec import wendy
from peerproof.spec.forms.form import Plain
from peerproof.spec.peter import topics
from peerproof.spec.peter.codec import MESSAGE
from peerproof.spec.peter.forms import COMMAND, CONFIG, NOTICE, TIMER
from peerproof.spec.peter.messages import (
    Command, Effect, Event, Message, Notice, NotifyMessage, Publish, PublishMessage, Subscribe, SubscribeMessage, Unsubscribe,
    UnsubscribeMessage, Update,
)  # fmt: skip
from peerproof.spec.peter.overlay import Next, State, initial, step
from peerproof.spec.peter.properties import PROPERTIES
from peerproof.spec.peter.snapshot import STATE
from peerproof.spec.peter.topics import Row, id_of_topic
from peerproof.spec.wendy import Config, Timer

NAME: Final = "peter"

#: The transport of its messages.
TRANSPORT: Final = "tcp"


def _of_wendy(query: Callable[..., Plain]) -> Callable[[Any], Plain]:
    return lambda state: query(state.lower)


#: Queries of a state, which do not change the node.
QUERIES: Final[Mapping[str, Callable[..., Plain]]] = {
    **{name: _of_wendy(query) for name, query in wendy.QUERIES.items() if name != "state"},
    "topics": lambda state: topics.plain_topics(state.upper),
    "state": STATE.plain,
}

__all__ = [
    "COMMAND", "CONFIG", "MESSAGE", "NAME", "NOTICE", "PROPERTIES", "QUERIES", "STATE", "TIMER", "TRANSPORT", "Command", "Config",
    "Effect", "Event", "Message", "Next", "Notice", "NotifyMessage", "Publish", "PublishMessage", "Row", "State", "Subscribe",
    "SubscribeMessage", "Timer", "Unsubscribe", "UnsubscribeMessage", "Update", "id_of_topic", "initial", "step",
]  # fmt: skip
