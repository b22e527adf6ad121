"""
Runs as plain data, and the selection of runs to keep.

A run is kept if it shows a finding, or if something happens in it that did not happen in any earlier run: a fault, a `sometimes`
property, or one of these twice as often.
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
    """Keeps the runs of a campaign in a corpus."""

    def __init__(self, corpus: Corpus, inputs: Inputs) -> None:
        self.corpus = corpus
        self.found: Path | None = None  #: file of the latest finding
        self._spec = inputs.spec
        self._known: set[tuple[str, int]] = set()

    def runs(self, name: str) -> Iterator[tuple[Path, Run]]:
        """Yields the kept runs with their files. Raises CorpusError."""
        for path, plain in self.corpus.documents(name):
            try:
                yield path, run_of(self._spec, plain)
            except (MalformedMessage, ValueError, LookupError, TypeError, AttributeError) as error:
                remedy = "delete it, and nothing else is lost"
                raise CorpusError(f"{path} is not a run of {self._spec.NAME} ({error!r}): {remedy}") from None

    def ran(self, run: Run, counts: Counter[str]) -> None:
        """Keeps a finished run if its counts show something new."""
        if self.is_new(counts):
            self.corpus.keep(RUNS, plain_of(self._spec, run))

    def is_new(self, counts: Counter[str]) -> bool:
        """Returns True if the counts show something new, and remembers it."""
        features = {(name, count.bit_length()) for name, count in counts.items() if name not in ("run", "step") and count}
        new = features - self._known
        self._known |= new
        return bool(new)

    def finds(self, run: Run) -> None:
        """Keeps a run with a finding, which may still be shrunk."""
        self.found = self.corpus.keep(FINDINGS, plain_of(self._spec, run))

    def finds_smaller(self, run: Run) -> None:
        """Replaces the latest finding with a smaller run."""
        assert self.found is not None, "finds() comes first"
        self.found = self.corpus.keep_instead(self.found, FINDINGS, plain_of(self._spec, run))


def plain_of(spec: Specification, run: Run) -> dict[str, Plain]:
    """Returns a run as plain data."""
    configs = [[ADDRESS.plain(addr), spec.CONFIG.plain(config)] for addr, config in run.configs.items()]
    return {"dice": run.dice, "configs": configs, "script": [_plain_action(spec, action) for action in run.script]}


def run_of(spec: Specification, plain: Plain) -> Run:
    """Parses a run from plain data. Raises MalformedMessage, LookupError, TypeError or ValueError."""
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
