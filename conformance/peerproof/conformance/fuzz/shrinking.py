"""
Shrinks a run as long as it shows the same finding.

Hypothesis shrinks the numbers from which a run was drawn. Here the run itself is shrunk: actions, nodes, configurations and times
are removed or simplified, as long as the run shows the same kind of finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from peerproof.conformance.fuzz.findings import Finding, Found, GivenUp
from peerproof.conformance.fuzz.inputs.inputs import Inputs
from peerproof.conformance.fuzz.players import Player
from peerproof.conformance.fuzz.simpler import build_valid, leave_parts_out, replace_item, simpler_data
from peerproof.conformance.fuzz.simulation import Action, Arena
from peerproof.conformance.vectors.plain_data import plain_config
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage

#: Maximum number of smaller runs that are tried.
MOST_TRIED: Final = 1_000


@dataclass
class Run:
    """A run that can be repeated."""

    configs: dict[NodeId, Any]
    dice: int
    script: list[Action] = field(default_factory=list)


def again(inputs: Inputs, player: Player, run: Run) -> tuple[Arena, Finding | None]:
    """Repeats a run and returns its finding, if any. Raises Over."""
    player.begin(str(run.dice))
    arena = Arena(inputs, player, run.configs, Counter())
    try:
        arena.open(run.dice)
        for action in run.script:
            arena.perform(action)
    except Found as wrong:
        return arena, wrong.finding
    except GivenUp:
        pass
    finally:
        arena.end()
    return arena, None


class Shrinking:
    """The smallest run so far, and its finding."""

    def __init__(
        self, inputs: Inputs, player: Player, run: Run, finding: Finding, is_known: Callable[[Finding], bool] = lambda _: False
    ) -> None:
        """Runs with findings for which `is_known` is True do not count: the smaller run must show another finding."""
        self.finding = finding
        self._is_known = is_known
        self._inputs = inputs
        self._player = player
        self.run = run
        self._tried = 0
        self._as_seen: list[Action] = []  #: the actions of the smallest run, as each node alone saw them

    def shrink(self) -> None:
        """Shrinks until nothing helps. May raise Over; the smallest run so far is kept."""
        if not self._try(self.run):
            self.finding.again = False  # the cause is not in the run
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
        return len(self.run.script), len(self.run.configs), repr(self.run)

    def _try(self, run: Run) -> bool:
        """Returns True if a run shows the same finding, and keeps it as the smallest so far."""
        if self._tried >= MOST_TRIED:
            return False
        self._tried += 1
        arena, found = again(self._inputs, self._player, run)
        if found is None or found.what != self.finding.what or self._is_known(found):
            return False
        self.run = replace(run, script=arena.script)  # the actions after the finding do not matter
        self._as_seen = arena.alone
        self.finding = found
        return True

    def _alone(self) -> Run:
        """Returns the run with the faulty node alone; messages of other nodes are injected."""
        node = self.finding.node
        configs = {addr: config for addr, config in self.run.configs.items() if addr == node}
        script = [action for action in self._as_seen if action.what == "time" or action.addr == node]
        return replace(self.run, configs=configs or self.run.configs, script=script)

    def _fewer_actions(self) -> None:
        leave_parts_out(lambda: self.run.script, lambda script: self._try(replace(self.run, script=script)))

    def _fewer_nodes(self) -> Iterator[Run]:
        for addr in list(self.run.configs)[::-1]:
            configs = {other: config for other, config in self.run.configs.items() if other != addr}
            if configs:
                yield replace(self.run, configs=configs)

    def _simpler_configs(self) -> None:
        """Resets members of configurations to their defaults where possible."""
        form = self._inputs.spec.CONFIG
        for addr in self.run.configs:
            for member in plain_config(self._inputs.spec, self.run.configs[addr]):
                plain = plain_config(self._inputs.spec, self.run.configs[addr])
                plain.pop(member)
                if member not in form.optional:
                    continue
                with suppress(ValueError):  # the member is needed by others
                    self._try(replace(self.run, configs={**self.run.configs, addr: form.value(plain)}))

    def _simpler_actions(self) -> None:
        for index in range(len(self.run.script)):
            simpler = True
            while simpler and index < len(self.run.script):
                script = self.run.script
                candidates = self._simpler(script[index])
                simpler = any(self._try(replace(self.run, script=replace_item(script, index, one))) for one in candidates)

    def _simpler(self, action: Action) -> Iterator[Action]:
        """Yields simpler forms of an action."""
        if action.dice:
            yield action._replace(dice=0)
        shorter = (1, self._inputs.spans[0], action.span // 2, action.span - 1)
        yield from (action._replace(span=span) for span in shorter if 0 < span < action.span)
        if action.what == "inject" and action.datagram:
            for data in self._smaller(action.datagram.data):
                yield action._replace(datagram=action.datagram._replace(data=data))
        if action.what == "call":
            form = self._inputs.spec.COMMAND
            commands = build_valid(form.value, simpler_data(form.plain(action.command)))
            yield from (action._replace(command=command) for command in commands)

    def _smaller(self, data: bytes) -> Iterator[bytes]:
        """Yields simpler messages, or malformed data without one of its bytes."""
        codec = self._inputs.spec.MESSAGE
        try:
            plain = codec.plain(codec.decode(data))
        except MalformedMessage:
            yield from (data[:place] + data[place + 1 :] for place in range(len(data)))
            return
        yield from build_valid(codec.encode, build_valid(codec.value, simpler_data(plain)))
