"""The parser of all commands: help that wraps to the terminal, errors with a tip, and common options."""

from __future__ import annotations

import re
import shutil
import textwrap
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import Any, Final, NoReturn

from peerproof.cli.exits import Refusal

WIDEST: Final = 120  #: the most columns of help, however wide the terminal
LEAST_BEGINNING: Final = 3  #: the fewest letters of a name that are taken for its beginning
_CHOICE: Final = re.compile(r"invalid choice: '(?P<value>.*?)' \(choose from (?P<known>.*)\)")
_UNKNOWN: Final = re.compile(r"unrecognized arguments: (?P<words>.*)", re.DOTALL)
_MISSING: Final = "the following arguments are required"


class _Help(RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(WIDEST, shutil.get_terminal_size().columns) - 2, max_help_position=32)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002  # argparse's own signature
        return "\n\n".join(_fill(paragraph, width) for paragraph in textwrap.dedent(text).strip("\n").split("\n\n"))


def _fill(paragraph: str, width: int) -> str:
    """Wraps prose; indented lines (commands, tables) stay unchanged."""
    if any(line.startswith(" ") for line in paragraph.splitlines()):
        return paragraph
    return textwrap.fill(paragraph, width, break_on_hyphens=False, break_long_words=False)


class Parser(ArgumentParser):
    """A parser whose errors are `Refusal`s. Options and positional arguments may have any order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _Help, "allow_abbrev": False, **options})
        self.arguments: Sequence[str] = ()  #: what it parses
        self._chosen: Parser | None = None  #: the parser of the subcommand that the arguments name
        self.tips: dict[str, str] = {}  #: option -> what to do if its value is not one of the choices

    def parse(self, arguments: Sequence[str]) -> Namespace:
        """Parses the arguments of a command. Raises Refusal, and SystemExit after --help."""
        self.arguments = arguments
        subcommands = next((action.choices for action in self._actions if isinstance(action, _SubParsersAction)), None)
        if subcommands is None:
            return self.parse_intermixed_args(arguments)
        if place := next((at for at, word in enumerate(arguments, 1) if word in subcommands), None):
            self._chosen = subcommands[arguments[place - 1]]
            self._chosen.arguments = arguments[place:]
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        """Raises Refusal with a suggestion of the option or value."""
        if self._chosen and _UNKNOWN.search(message):  # argparse reports what a subcommand does not know to the parser above it
            self._chosen.error(message)
        tip = f"see {self.prog} --help"
        options = [option for action in self._actions for option in action.option_strings if action.help != SUPPRESS]
        if found := _UNKNOWN.search(message):
            words = found["words"].split()
            message = f"unknown {'option' if words[0].startswith('-') else 'argument'} {' '.join(words)}"
            tip = did_you_mean(words[0], options) or self._tip_on_words(words) or tip
        elif message.startswith(_MISSING) and (unknown := self._find_unknown_option()):
            message = f"unknown option {unknown}; {message}"
            tip = did_you_mean(unknown, options) or tip
        elif found := _CHOICE.search(message):
            known = [word.strip("'\" ") for word in found["known"].split(",")]
            place = message[: found.start()].removeprefix("argument ").rstrip(": ")
            message = f"{place}: {found['value']!r} is not one of {', '.join(known)}"
            tip = did_you_mean(found["value"], known) or self.tips.get(place, tip)
        raise Refusal(message.removeprefix("argument "), tip=tip)

    def _find_unknown_option(self) -> str | None:
        """Returns the first option among the arguments that is none. argparse reports missing arguments first."""
        given = takewhile(lambda word: word != "--", self.arguments)
        names = (word.partition("=")[0] for word in given if word.startswith("--"))
        return next((name for name in names if name not in self._option_string_actions), None)

    def _tip_on_words(self, words: Sequence[str]) -> str | None:
        """What to do with a second protocol, or with a word that belongs to `-k`."""
        from peerproof.spec.protocols import PROTOCOLS

        word, given = words[0], list(self.arguments)
        select = next((action for action in self._actions if "-k" in action.option_strings), None)
        if word in PROTOCOLS and select and "KEY:VALUE" in (select.help or ""):
            named = dict.fromkeys(one for one in given if one in PROTOCOLS)
            return f"-k protocol:{','.join(named)} selects several"
        if word in PROTOCOLS:
            return "name one protocol, and repeat the command for another"
        if select is None or word.startswith("-"):
            return None
        return select_tip(word, next((given[at + 1] for at, one in enumerate(given[:-1]) if one in select.option_strings), ""))


def select_tip(word: str, selected: str = "") -> str:
    """
    Returns how `-k` takes a word, beside those that are selected already.

    >>> select_tip("B-14"), select_tip("B-14", "layer:codec")
    ('-k B-14 selects by this word', "-k 'layer:codec B-14' selects by all of these words")
    """
    return f"-k '{selected} {word}' selects by all of these words" if selected else f"-k {word} selects by this word"


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """
    Returns a suggestion of a similar known word, else of one that begins so; or None. The case of letters does not matter.

    >>> did_you_mean("--formt", ["--format", "--output"]), did_you_mean("sx-04", ["SX-04-two-sides"])
    ('did you mean --format?', 'did you mean SX-04-two-sides?')
    """
    folded = {name.lower(): name for name in known}
    longer = [name for name in folded if len(word) >= LEAST_BEGINNING and name.startswith(word.lower())]
    close = get_close_matches(word.lower(), folded, n=1) or longer
    return f"did you mean {folded[close[0]]}?" if close else None


def add_common(parser: ArgumentParser) -> None:
    """Adds `--quiet`, `--verbose`, `--color` and `--no-progress`, which every command has."""
    taken = {option for action in parser._actions for option in action.option_strings}  # noqa: SLF001  # there is no public way
    add = parser.add_argument_group("output").add_argument
    for flags, settings in (
        (("-q", "--quiet"), {"action": "store_true", "help": "print results and errors only"}),
        (("-v", "--verbose"), {"action": "count", "default": 0, "help": "print details"}),
        (
            ("--color",),
            {"choices": ("auto", "always", "never"), "default": "auto", "help": "colour (default auto: on a terminal)"},
        ),
        (("--no-progress",), {"action": "store_true", "help": "do not show progress (also: PEERPROOF_NO_PROGRESS=1)"}),
    ):
        if not taken & set(flags):
            add(*flags, **settings)
