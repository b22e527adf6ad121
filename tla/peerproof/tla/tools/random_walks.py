"""Random walks through a model, by TLC: for what is too large to be explored. What they find is real, what they miss is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow

from peerproof.tla.output import tlc_messages
from peerproof.tla.output.counterexample import Counterexample
from peerproof.tla.output.outcome import Verdict, states_generated
from peerproof.tla.tools.installation import Tools
from peerproof.tla.tools.tlc import Run, Walks, execute


@dataclass(frozen=True, slots=True)
class Simulated:
    """What random walks have come to. The same seed makes the same walks, with the same TLC."""

    verdict: Verdict
    violated: str | None
    counterexample: Counterexample | None
    states: int  #: generated, on all walks together
    seed: int


def simulate(
    tools: Tools,
    module: Path,
    configuration: str,
    walks: Walks,
    *,
    library: tuple[Path, ...] = (),
    seconds: float | None = None,
    on_states: Callable[[int], None] = lambda _: None,
) -> Simulated:
    """Walks. Raises `outcome.RunFailed` if that comes to no end."""
    what = Run(module=module, configuration=configuration, library=library, seconds=seconds, walks=walks)

    def tell(message: tlc_messages.Message) -> None:
        if message.code == tlc_messages.SIMULATION_PROGRESS:
            on_states(states_generated(message.text))

    verdict, violated, counterexample, states = execute(tools, what, tell).simulation_result()
    return Simulated(verdict, violated, counterexample, states, walks.seed)


def any_seed() -> int:
    """A seed that nobody has chosen."""
    return randbelow(2**31)
