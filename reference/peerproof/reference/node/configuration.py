"""
A protocol's configuration as command-line options: one per field of its declared form; nested fields are prefixed with the name
of their part.

The help texts are the fields' own comments (`#:`).
"""

from __future__ import annotations

import inspect
import re
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, NamedTuple

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.forms.form import U64, Flag, Integer, Optional, Plain, Record

_FIELD: Final = re.compile(r"^    (\w+): (\w+).*?#:\s*(.+)$", re.MULTILINE)
_CLAUSES: Final = re.compile(r"\s*\[[^\]]*\]")


class Setting(NamedTuple):
    """A field of the configuration, with its option."""

    path: tuple[str, ...]
    form: Integer | U64 | Flag
    default: int | bool
    unit: str
    about: str

    @property
    def name(self) -> str:
        """The name of the option."""
        return "-".join(self.path).replace("_", "-")


def protocol_commands(
    parser: ArgumentParser, about: str, describe: Callable[[Runtime], str]
) -> Iterator[tuple[Runtime, ArgumentParser]]:
    """
    Adds a subcommand for each protocol, with the options of its configuration; the caller adds further options.

    Its help is `about`, followed by "of" and the protocol's name; `describe` returns its description.
    """
    commands = parser.add_subparsers(dest="protocol", metavar="PROTOCOL", required=True)
    for protocol in RUNTIMES.values():
        command = commands.add_parser(
            protocol.name,
            help=f"{about} of {protocol.name}",
            description=describe(protocol),
            epilog=parser.epilog,
            formatter_class=parser.formatter_class,
        )
        yield protocol, command
        add_options(command, protocol)


def add_options(parser: ArgumentParser, protocol: Runtime) -> None:
    """Adds an option for each number and flag of the configuration, and a `--no-` option for each part that can be left out."""
    form = protocol.specification().CONFIG
    group = parser.add_argument_group(f"configuration of {protocol.name}")
    for setting in settings(form):
        destination = _destination(setting.path)
        if isinstance(setting.form, Flag):
            group.add_argument(f"--{setting.name}", action=BooleanOptionalAction, dest=destination, help=setting.about)
            continue
        least, most = getattr(setting.form, "least", 0), setting.form.most
        bounds = f"at least {least}" if most >= Integer().most else f"{least} to {most}"
        about = "; ".join(filter(None, (setting.about, bounds, f"default {setting.default}"))).replace("%", "%%")
        group.add_argument(f"--{setting.name}", type=int, metavar=setting.unit, dest=destination, help=about)
    for name in parts(form):
        group.add_argument(
            f"--{name}",
            action=BooleanOptionalAction,
            default=True,
            dest=_destination((name, "")),
            help=f"use a {name} (default)",
        )


def add_texts(parser: ArgumentParser, texts: Mapping[str, str]) -> None:
    """Adds an option for each member of the configuration that is a text; `texts` maps names to help texts."""
    for name, about in texts.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="TEXT", dest=_destination((name,)), help=about)


def texts_of(arguments: Namespace, texts: Mapping[str, str]) -> dict[str, Plain]:
    """Returns the text members that were given."""
    given = {name: getattr(arguments, _destination((name,))) for name in texts}
    return {name: text for name, text in given.items() if text is not None}


def plain_of(arguments: Namespace, protocol: Runtime) -> dict[str, Plain]:
    """Returns the configuration as plain data, with only the members that were given."""
    form = protocol.specification().CONFIG
    plain: dict[str, Plain] = {}
    for setting in settings(form):
        value = getattr(arguments, _destination(setting.path))
        if value is not None:
            inner = plain
            for name in setting.path[:-1]:
                inner = inner.setdefault(name, {})
            inner[setting.path[-1]] = value
    for name in parts(form):
        if not getattr(arguments, _destination((name, ""))):
            plain[name] = None
    return plain


def settings(form: Record, path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """Yields the numbers and flags of a configuration that have a default, including those of its parts."""
    defaults: dict[str, Any] = {field.name: field.default for field in fields(form.kind) if field.default is not MISSING}
    comments = {
        name: ("MS" if kind == "Duration" else "N", _CLAUSES.sub("", about))
        for name, kind, about in _FIELD.findall(inspect.getsource(form.kind))
    }
    for name, part in form.forms.items():
        if isinstance(part, (Integer, U64, Flag)) and name in defaults:
            yield Setting((*path, name), part, defaults[name], *comments.get(name, ("N", "")))
        elif isinstance(part, Optional) and isinstance(part.form, Record) and name in parts(form):
            yield from settings(part.form, (*path, name))


def parts(form: Record) -> list[str]:
    """Returns the parts of a configuration that can be left out and are there by default."""
    left_out = {field.name for field in fields(form.kind) if field.default is None}
    maybe = [name for name, part in form.forms.items() if isinstance(part, Optional) and isinstance(part.form, Record)]
    return [name for name in maybe if name not in left_out]


def _destination(path: tuple[str, ...]) -> str:
    return "config." + ".".join(path)
