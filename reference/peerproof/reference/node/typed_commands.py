"""Console commands: a name, and the members by position or as `member=value`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain, Tagged

#: Commands of the console itself -> what they do.
OWN: Final = {"view": "Prints what the node knows", "help": "Prints these lines", "quit": "Ends the node"}

SET: Final = "set KEY=VALUE"


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
            raise MalformedMessage("bad_value", 0, f"{argument!r} is one too many")
    if missing := [member.upper() for member in members if member not in given and member not in form.cases[name].optional]:
        raise MalformedMessage("bad_value", 0, f"no {' and no '.join(missing)}")
    return form.value({"type": name, **{member: _plain(form, name, member, text) for member, text in given.items()}})


def usage_of(form: Tagged, others: Mapping[str, str], name: str) -> str:
    """Returns how a command is typed; `others` has the usage of commands with a syntax of their own, by name."""
    if name == "set" or name in OWN:
        return SET if name == "set" else name
    return others.get(name) or " ".join([name, *(member.upper() for member in form.cases[name].forms)])


def help_of(form: Tagged, others: Mapping[str, str], set_text: str) -> str:
    """Renders the usage of each command, as `usage_of` returns it, with what it does; `set_text` is what `set` does."""
    about = {"set": set_text, **OWN}
    about |= {name: _SENTENCE_END.split(record.kind.__doc__ or "")[0] for name, record in form.cases.items()}
    usages = {name: usage_of(form, others, name) for name in about}
    width = max(map(len, usages.values()))
    return "\n".join(f"{usages[name]:{width}}  {text}" for name, text in about.items())


#: The end of the first sentence of a docstring, or of its first part.
_SENTENCE_END: Final = re.compile(r"[.;]|$", re.MULTILINE)


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
