"""The plain data of Peter's values: those of Wendy, and its own."""

from __future__ import annotations

from typing import Any, Final

from peerproof.spec.forms.form import Form, Plain, Record, Tagged, misfit
from peerproof.spec.peter import messages
from peerproof.spec.wendy import forms
from peerproof.spec.wendy.forms import HEADER, ID, OCTETS


class TopicText(Form):
    """The text of a topic: any string; a string that is too short fits the form, but the node refuses it. [P-02, PA-02]"""

    def plain(self, value: Any) -> Plain:
        """The string."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From a string."""
        if not isinstance(plain, str):
            raise misfit(where, "a topic, which is a string", plain)
        return plain


TOPIC: Final = TopicText()


def _with(form: Tagged, *left_out: str, **more: tuple[int, Record]) -> Tagged:
    """Returns a form with further cases, and without those in `left_out`."""
    cases = {name: (form.tags[name], record) for name, record in form.cases.items() if name not in left_out}
    return Tagged(**cases, **more)


#: The messages; their tags are Wendy's purposes. [P-01, PA-15]
MESSAGE_FORM: Final = _with(
    forms.MESSAGE_FORM,
    subscribe=(messages.SUBSCRIBE, Record(messages.SubscribeMessage, header=HEADER)),
    unsubscribe=(messages.UNSUBSCRIBE, Record(messages.UnsubscribeMessage, header=HEADER)),
    publish=(messages.PUBLISH, Record(messages.PublishMessage, header=HEADER, value=OCTETS)),
    notify=(messages.NOTIFY, Record(messages.NotifyMessage, header=HEADER, value=OCTETS)),
)
COMMAND: Final = _with(
    forms.COMMAND,
    "forward",
    "send_to",
    subscribe=(0, Record(messages.Subscribe, topic=TOPIC)),
    unsubscribe=(0, Record(messages.Unsubscribe, topic=TOPIC)),
    publish=(0, Record(messages.Publish, topic=TOPIC, value=OCTETS)),
)
NOTICE: Final = _with(forms.NOTICE, update=(0, Record(messages.Update, topic=ID, value=OCTETS)))
TIMER: Final = forms.TIMER
CONFIG: Final = forms.CONFIG
