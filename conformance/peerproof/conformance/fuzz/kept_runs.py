"""
Runs as plain data, and the keeping of those that are worth it.

A run is worth it if something is wrong in it, or if something happens in it that has not happened in any before: a fault, a
`sometimes` property, or one of these twice as often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peerproof.conformance.fuzz.corpus import FINDINGS, RUNS, Corpus, CorpusError
from peerproof.conformance.fuzz.implementation_players import ADDRESS
from peerproof.conformance.fuzz.inputs.inputs import Inputs
from peerproof.conformance.fuzz.shrinking import Run
from peerproof.conformance.fuzz.simulation import Action, Datagram
from peerproof.spec.core import NodeId, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain


class Keeper:
    """A corpus, as a campaign of runs uses it."""

    def __init__(self, corpus: Corpus, inputs: Inputs) -> None:
        self.corpus = corpus
        self.found: Path | None = None  #: where the latest finding is
        self._spec = inputs.spec
        self._known: set[tuple[str, int]] = set()

    def runs(self, name: str) -> Iterator[tuple[Path, Run]]:
        """The runs that were kept. Raises CorpusError."""
        for path, plain in self.corpus.documents(name):
            try:
                yield path, run_of(self._spec, plain)
            except (MalformedMessage, ValueError, LookupError, TypeError, AttributeError) as error:
                remedy = "delete it, and nothing else is lost"
                raise CorpusError(f"{path} is no run of {self._spec.NAME} ({error!r}): {remedy}") from None

    def ran(self, run: Run, counts: Counter[str]) -> None:
        """A run is over, in which that has happened; it is kept if it is worth it."""
        if self.is_new(counts):
            self.corpus.keep(RUNS, plain_of(self._spec, run))

    def is_new(self, counts: Counter[str]) -> bool:
        """Whether something of that has not happened before; from now on it has."""
        features = {(name, count.bit_length()) for name, count in counts.items() if name not in ("run", "step") and count}
        new = features - self._known
        self._known |= new
        return bool(new)

    def finds(self, run: Run) -> None:
        """Something is wrong in this run, which may be made smaller yet."""
        self.found = self.corpus.keep(FINDINGS, plain_of(self._spec, run))

    def finds_smaller(self, run: Run) -> None:
        """The same in a smaller run."""
        assert self.found is not None, "it was found before it is made smaller"
        self.found = self.corpus.keep_instead(self.found, FINDINGS, plain_of(self._spec, run))


def plain_of(spec: Specification, run: Run) -> dict[str, Plain]:
    """A run as plain data."""
    configs = [[ADDRESS.plain(addr), spec.CONFIG.plain(config)] for addr, config in run.configs.items()]
    return {"dice": run.dice, "configs": configs, "script": [_plain_action(spec, action) for action in run.script]}


def run_of(spec: Specification, plain: Plain) -> Run:
    """The run that plain data shows. Raises MalformedMessage, LookupError, TypeError or ValueError for what shows none."""
    configs = {_addr(addr): spec.CONFIG.value(config) for addr, config in plain["configs"]}
    if not configs or type(plain["dice"]) is not int:
        raise ValueError("it has no nodes, or no dice")
    return Run(configs, plain["dice"], [_action(spec, action) for action in plain["script"]])


def _plain_action(spec: Specification, action: Action) -> dict[str, Plain]:
    plain: dict[str, Plain] = {"what": action.what}
    if action.addr is not None:
        plain["addr"] = ADDRESS.plain(action.addr)
    if action.dice:
        plain["dice"] = action.dice
    if action.span:
        plain["span"] = action.span
    if action.command is not None:
        plain["command"] = (spec.NOTICE if action.what == "fetch" else spec.COMMAND).plain(action.command)
    if action.datagram:
        sender, to, data, message, orphaned = action.datagram
        plain["datagram"] = [ADDRESS.plain(sender), ADDRESS.plain(to), data.hex(), message is not None, orphaned]
    if action.groups:
        plain["groups"] = [sorted(map(ADDRESS.plain, group), key=str) for group in action.groups]
    return plain


def _action(spec: Specification, plain: Plain) -> Action:
    command, groups = plain.get("command"), plain.get("groups", ())
    form = spec.NOTICE if plain["what"] == "fetch" else spec.COMMAND
    return Action(
        what=_text(plain["what"]),
        addr=_addr(plain["addr"]) if "addr" in plain else None,
        dice=int(plain.get("dice", 0)),
        span=int(plain.get("span", 0)),
        command=None if command is None else form.value(command),
        datagram=_datagram(spec, plain["datagram"]) if "datagram" in plain else None,
        groups=tuple(frozenset(map(_addr, group)) for group in groups),
    )


def _datagram(spec: Specification, plain: Plain) -> Datagram:
    sender, to, digits, is_read, orphaned = plain
    data = bytes.fromhex(digits)
    message: Any = spec.MESSAGE.decode(data) if is_read else None
    return Datagram(_addr(sender), _addr(to), data, message, bool(orphaned))


def _addr(plain: Plain) -> NodeId:
    return NodeId(ADDRESS.value(plain))


def _text(plain: Plain) -> str:
    if not isinstance(plain, str):
        raise TypeError(f"expected a word, found {plain!r}")
    return plain
