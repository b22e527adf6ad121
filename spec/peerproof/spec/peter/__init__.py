"""
Peter: trees of subscriptions on Wendy, so that what is published on a topic reaches everybody who wants it. [P-01, P-06]

`tree.py` is what Peter adds to Wendy; read it with `spec/peter.md` beside it. `initial`, `step` and `MESSAGE` are the protocol as
a whole: a node of both, one on the other.
"""

from __future__ import annotations  # noqa: I001  # many names of one module stand several to a line

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

#: What carries its messages.
TRANSPORT: Final = "tcp"


def _of_wendy(query: Callable[..., Plain]) -> Callable[[Any], Plain]:
    return lambda state: query(state.lower)


#: What can be asked of a node without changing it.
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
