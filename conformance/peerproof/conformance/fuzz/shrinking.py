"""
A run made as small as it gets while it still shows the same.

Hypothesis shrinks numbers from which a run was drawn; here the run itself is shrunk: actions, nodes, configurations and times
are left out or made simpler, as long as the same kind of finding comes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from peerproof.conformance.fuzz.arena import Action, Arena
from peerproof.conformance.fuzz.findings import Finding, Found, GivenUp
from peerproof.conformance.fuzz.inputs import Inputs
from peerproof.conformance.fuzz.judge import configured
from peerproof.conformance.fuzz.players import Player
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled

T = TypeVar("T")

#: So many smaller runs are tried at most.
MOST_TRIED: Final = 1_000


@dataclass
class Run:
    """A run to be done again."""

    configs: dict[NodeId, Any]
    dice: int
    script: list[Action] = field(default_factory=list)


class Shrinking:
    """The smallest run so far, and what it shows."""

    def __init__(self, inputs: Inputs, player: Player, run: Run, finding: Finding) -> None:
        self.finding = finding
        self._inputs = inputs
        self._player = player
        self._run = run
        self._tried = 0
        self._as_seen: list[Action] = []  #: what happened in the smallest run, as each node by itself has seen it

    def shrink(self) -> None:
        """Makes it smaller, until nothing helps. May raise Over; what is smallest then stays."""
        if not self._try(self._run):
            self.finding.again = False  # whatever decides it is not in the run
            return
        self._try(self._alone())
        size = None
        while size != (size := self._size()) and self._tried < MOST_TRIED:
            self._fewer_actions()
            for candidate in self._fewer_nodes():
                self._try(candidate)
            self._simpler_configs()
            self._simpler_actions()

    def _size(self) -> tuple[Any, ...]:
        return len(self._run.script), len(self._run.configs), repr(self._run)

    def _try(self, run: Run) -> bool:
        """Whether a run shows the same; then it is the smallest so far."""
        if self._tried >= MOST_TRIED:
            return False
        self._tried += 1
        self._player.begin(str(run.dice))
        arena = Arena(self._inputs, self._player, run.configs, Counter())
        try:
            arena.open(run.dice)
            for action in run.script:
                arena.perform(action)
        except Found as wrong:
            if wrong.finding.what != self.finding.what:
                return False
            self._run = replace(run, script=arena.script)  # what would have come later does not matter
            self._as_seen = arena.alone
            self.finding = wrong.finding
            return True
        except GivenUp:
            return False
        finally:
            arena.end()
        return False

    def _alone(self) -> Run:
        """The node that did wrong, by itself; what others told it is told it by nobody."""
        node = self.finding.node
        configs = {addr: config for addr, config in self._run.configs.items() if addr == node}
        script = [action for action in self._as_seen if action.what == "time" or action.addr == node]
        return replace(self._run, configs=configs or self._run.configs, script=script)

    def _fewer_actions(self) -> None:
        """Leaves actions out: halves, then smaller and smaller parts, the last first."""
        size = len(self._run.script)
        while size:
            end = len(self._run.script)
            while end > 0:
                script = self._run.script
                self._try(replace(self._run, script=script[: max(0, end - size)] + script[end:]))
                end = min(end - size, len(self._run.script))
            size //= 2

    def _fewer_nodes(self) -> Iterator[Run]:
        for addr in list(self._run.configs)[::-1]:
            configs = {other: config for other, config in self._run.configs.items() if other != addr}
            if configs:
                yield replace(self._run, configs=configs)

    def _simpler_configs(self) -> None:
        """Members of configurations that can have their defaults."""
        form = self._inputs.spec.CONFIG
        for addr in self._run.configs:
            for member in configured(form, self._run.configs[addr]):
                plain = configured(form, self._run.configs[addr])
                plain.pop(member)
                if member not in form.optional:
                    continue
                with suppress(ValueError):  # what goes with the others only
                    self._try(replace(self._run, configs={**self._run.configs, addr: form.value(plain)}))

    def _simpler_actions(self) -> None:
        for index in range(len(self._run.script)):
            simpler = True
            while simpler and index < len(self._run.script):
                script = self._run.script
                candidates = self._simpler(script[index])
                simpler = any(self._try(replace(self._run, script=_with(script, index, one))) for one in candidates)

    def _simpler(self, action: Action) -> Iterator[Action]:
        """The action with less in it."""
        if action.dice:
            yield action._replace(dice=0)
        shorter = (1, self._inputs.spans[0], action.span // 2, action.span - 1)
        yield from (action._replace(span=span) for span in shorter if 0 < span < action.span)
        if action.what == "inject" and action.datagram:
            for data in self._smaller(action.datagram.data):
                yield action._replace(datagram=action.datagram._replace(data=data))
        if action.what == "call":
            form = self._inputs.spec.COMMAND
            commands = _values(form.value, _simpler_data(form.plain(action.command)))
            yield from (action._replace(command=command) for command in commands)

    def _smaller(self, data: bytes) -> Iterator[bytes]:
        """A simpler message, or what is no message without one of its bytes."""
        codec = self._inputs.spec.MESSAGE
        try:
            plain = codec.plain(codec.decode(data))
        except MalformedMessage:
            yield from (data[:place] + data[place + 1 :] for place in range(len(data)))
            return
        yield from _values(codec.encode, _values(codec.value, _simpler_data(plain)))


def _values(make: Callable[[Any], Any], candidates: Iterable[Any]) -> Iterator[Any]:
    """What can be made of the candidates; what cannot is left out."""
    for candidate in candidates:
        try:
            yield make(candidate)
        except (MalformedMessage, NotEnabled):
            continue


def _simpler_data(plain: Any) -> Iterator[Any]:
    """Plain data with one item of a list less, a number smaller, or a text shorter."""
    match plain:
        case dict():
            for name, part in plain.items():
                if name != "type":
                    yield from ({**plain, name: simpler} for simpler in _simpler_data(part))
        case list():
            yield from (plain[:place] + plain[place + 1 :] for place in range(len(plain)))
            for place, part in enumerate(plain):
                yield from (_with(plain, place, simpler) for simpler in _simpler_data(part))
        case str() if plain.isdigit():
            yield from (str(number) for number in (0, 1, 2) if number < int(plain))
        case str() if len(plain) > 1:
            yield "k"


def _with(items: Sequence[T], index: int, item: T) -> list[T]:
    return [*items[:index], item, *items[index + 1 :]]
