"""Console commands: a name, and the members by position or as `member=value`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain, Tagged


def command(form: Tagged, name: str, arguments: list[str]) -> Plain:
    """Parses the words of a command. Raises MalformedMessage, which names the invalid member."""
    members = list(form.cases[name].forms)
    given: dict[str, str] = {}
    for index, argument in enumerate(arguments):
        member, equals, value = argument.partition("=")
        if equals and member in members:
            given[member] = value
        elif index < len(members):
            given[members[index]] = argument
        else:
            raise MalformedMessage("bad_value", 0, f"{name} takes {', '.join(members)}; {argument!r} is one too many")
    return form.value({"type": name, **{member: _plain(form, name, member, text) for member, text in given.items()}})


def help_of(form: Tagged, others: Mapping[str, str]) -> str:
    """Renders the usage; `others` has the usage of commands with a syntax of their own, by name."""
    usages = [
        others.get(name) or " ".join([name, *(member.upper() for member in record.forms)]) for name, record in form.cases.items()
    ]
    return "\n".join(["set KEY=VALUE    view    help    quit", *usages])


def _plain(form: Tagged, name: str, member: str, text: str) -> Plain:
    """Returns the text itself if the member takes a text, otherwise its JSON value."""
    try:
        form.cases[name].forms[member].value(text)
    except MalformedMessage:
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text
