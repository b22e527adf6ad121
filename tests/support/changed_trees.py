"""What may be wrong with traces of Peter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from tests.support.changed_traces import Change, edited

from peerproof.spec.forms.form import Plain

OTHER_ID: Final = "0" * 31 + "1"
NOBODY: Final = "n9:1"


def _one_of(change: Callable[[dict[str, Any]], bool]) -> Change:
    """The trace with one line changed, of those that can be, and without its fingerprint, which would give it away."""

    def changed(lines: list[str], random: Random) -> list[str]:
        parsed = [json.loads(line) for line in lines]
        order = random.sample(range(len(lines)), len(lines))
        at = next(at for at in order if change(parsed[at]))
        return [_text({**line, "state": None} if place == at else line) for place, line in enumerate(parsed)]

    return changed


def _text(line: Plain) -> str:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False)


def _named(effect: Plain, name: str) -> Any:
    """What is sent or notified, if it is of this name: `send publish`."""
    kind, _, what = name.partition(" ")
    shown = effect.get(kind)
    about = shown.get("message", shown) if shown else None
    return shown if about and about.get("type", what) == what else None


def done(name: str, change: Callable[[Any], None]) -> Change:
    """The trace with something else in one effect."""

    def changed(line: dict[str, Any]) -> bool:
        found = [shown for effect in line["effects"] if (shown := _named(effect, name))]
        for shown in found[:1]:
            change(shown)
        return bool(found)

    return _one_of(changed)


def times(name: str, number: int) -> Change:
    """The trace with one effect done so often in a row."""

    def changed(line: dict[str, Any]) -> bool:
        places = [at for at, effect in enumerate(line["effects"]) if _named(effect, name)]
        for at in places[:1]:
            line["effects"][at : at + 1] = [line["effects"][at]] * number
        return bool(places)

    return _one_of(changed)


def happened(kind: str, what: str, change: Callable[[Any], None]) -> Change:
    """The trace with something else in what happened: in a message received or sent, or in a command."""

    def changed(line: dict[str, Any]) -> bool:
        about = line["args"].get("message", line["args"])
        is_found = line["kind"] == kind and about.get("type") == what and "refused" not in line
        if is_found:
            change(line["args"])
        return is_found

    return _one_of(changed)


def to(*path: str, value: Plain) -> Callable[[Any], None]:
    """Puts a value in the place of a member."""

    def change(members: Any) -> None:
        for name in path[:-1]:
            members = members[name]
        members[path[-1]] = value

    return change


def _told_of_a_message(line: dict[str, Any]) -> bool:
    """The application is told of a message that is Peter's."""
    if line["kind"] != "recv" or line["args"]["type"] != "unsubscribe":
        return False
    message = {"header": line["args"]["header"], "purpose": 18, "value": ""}
    line["effects"].append({"notify": {"type": "delivered", "message": message}})
    return True


HEADER: Final = ("message", "header")

#: How a trace is changed so that the module sees it, if the replay does.
SEEN: Final[Mapping[str, Change]] = {
    "the number of a line": edited('"seq":5,', '"seq":7,'),
    "a kind": edited('"kind":"timer"', '"kind":"recv"'),
    "an unheard-of kind": edited('"kind":"timer"', '"kind":"tick"'),
    "a refusal": edited('"state":"', '"refused":"too_large","state":"'),
    "a choice": edited('"picks":[]', '"picks":[["tree.choice",[0]]]'),
    "an effect": edited('"effects":[{"notify"', '"effects":[{"notified"'),
    "a topic that is too short": happened("api", "subscribe", to("topic", value="short")),
    "an event that is too long": happened("api", "publish", to("value", value="00" * (2**19 + 1))),
    "a child that has no id": happened("recv", "subscribe", to("header", "sender", "id", value="nobody")),
    "a message for the application": _one_of(_told_of_a_message),
    "whom a copy goes to": done("send notify", to("to", value=NOBODY)),
    "a copy less": times("send notify", 0),
    "a copy more": times("send notify", 2),
    "the hops of a copy": done("send notify", to(*HEADER, "hop", value=9)),
    "the event of a copy": done("send notify", to("message", "value", value="00")),
    "the topic of a copy": done("send notify", to(*HEADER, "key", value=OTHER_ID)),
    "whose a copy is": done("send notify", to(*HEADER, "sender", "id", value=OTHER_ID)),
    "a delivery less": times("notify update", 0),
    "a delivery more": times("notify update", 2),
    "the topic of a delivery": done("notify update", to("topic", value=OTHER_ID)),
    "the event of a delivery": done("notify update", to("value", value="00")),
    "whom an UNSUBSCRIBE goes to": done("send unsubscribe", to("to", value=NOBODY)),
    "an UNSUBSCRIBE less": times("send unsubscribe", 0),
    "an UNSUBSCRIBE more": times("send unsubscribe", 2),
    "the topic of an UNSUBSCRIBE": done("send unsubscribe", to(*HEADER, "key", value=OTHER_ID)),
    "a SUBSCRIBE to nobody": done("send subscribe", to("to", value=NOBODY)),
    "a SUBSCRIBE more": times("send subscribe", 2),
    "the topic of a SUBSCRIBE": done("send subscribe", to(*HEADER, "key", value=OTHER_ID)),
    "whose a SUBSCRIBE is": done("send subscribe", to(*HEADER, "sender", "id", value=OTHER_ID)),
    "a PUBLISH to nobody": done("send publish", to("to", value=NOBODY)),
    "a PUBLISH more": times("send publish", 2),
    "the event of a PUBLISH": done("send publish", to("message", "value", value="00")),
    "the hops of a PUBLISH": done("send publish", to(*HEADER, "hop", value=9)),
    "whose a PUBLISH is": done("send publish", to(*HEADER, "sender", "id", value=OTHER_ID)),
}

#: How a trace is changed where the module may not see it: in what is Wendy's, and in next hops.
UNSEEN: Final[Mapping[str, Change]] = {
    "a fingerprint": edited('"state":"', '"state":"0'),
    "a heartbeat less": times("send heartbeat", 0),
    "a timer": done("set_timer", to("after", value=1)),
    "versions": done("send notify", to(*HEADER, "versions", "leaf_set", value="99")),
    "a node less that has joined": times("notify node_joined", 0),
    "a node less that has exited": times("notify node_exited", 0),
    "a SUBSCRIBE less": times("send subscribe", 0),
    "a PUBLISH less": times("send publish", 0),
    "a PUBLISH that does not arrive": happened("sent", "publish", to("took", value=None)),
}
