"""
Replays counterexamples: the same statement, with values in place of terms where it runs the specification's code.

The values are made from Z3's model (`values`), the running code takes them, with the change of a twin if it has one, and what it
returns is judged by the claims of the statement, in the same model. So a counterexample is confirmed only if the specification
itself breaks the claim; where the terms allowed more than the code does, the replay says that it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice, product
from typing import Any, Final

from peerproof.conformance.proofs.paths import Outcome, Path, Refutation, Term, refutations, truths
from peerproof.conformance.proofs.proof import Proof
from peerproof.conformance.proofs.values import NoValue, Values, WholeStep
from peerproof.spec.errors import MalformedMessage, NotEnabled

#: Counterexamples that are replayed, until one is confirmed.
MOST: Final = 200


@dataclass(frozen=True)
class Taken:
    """A call of the specification's code with values."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    result: Any
    picks: tuple[tuple[str, tuple[Any, ...]], ...]  #: the random choices, and the options taken


@dataclass(frozen=True)
class Replayed:
    """The replay of a counterexample."""

    about: tuple[str, ...]  #: the claims that are false
    taken: tuple[Taken, ...] = ()
    doubt: str = ""  #: why it does not confirm the counterexample; empty: it does
    values: Values | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether the specification's code, with values, breaks the claim."""
        return not self.doubt


@dataclass(frozen=True)
class Whole:
    """A step that is taken in place of a function, and the claims that the function breaks."""

    step: WholeStep
    about: tuple[str, ...]


class _Violated(Exception):
    """A claim is false."""

    def __init__(self, about: tuple[str, ...]) -> None:
        super().__init__(about)
        self.about = about


class _Replay(Path):
    """The path of a counterexample: what is decided, known and claimed has its value in the model."""

    def __init__(self, refutation: Refutation, values: Values, instance: Mapping[str, int], whole: Whole | None = None) -> None:
        super().__init__()
        self.taken: list[Taken] = []
        self.unmet = 0  #: premises that are false
        self._left = [*refutation.calls]
        self._values = values
        self._instance = instance
        self._whole = whole
        values.path = self
        values.defined.clear()

    def on_terms(self, overrides: AbstractContextManager[None]) -> AbstractContextManager[None]:  # noqa: ARG002
        """Replaces nothing."""
        return nullcontext()

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs code of the specification on values."""
        if not self._left:
            raise NoValue("the code was not called here on terms")
        call = self._left.pop(0)
        with truths(None):
            real = self._values.arguments(call)
            if self._whole is None:
                result = self._take(function, real)
            else:
                step = self._whole.step
                result = step.part(self._take(step.step, (step.state, step.event, self._values.answering([]))))
        self._fresh = call.fresh
        self._values.share(call.arguments, arguments)
        return self._values.result(result, real, arguments)

    def _take(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Calls a function, and records the call and its random choices; also one that ends with an exception."""
        asked: list[tuple[str, tuple[Any, ...]]] = []
        result: Any = ()
        try:
            result = function(*(_recording(one, asked) if callable(one) else one for one in arguments))
        finally:
            self.taken.append(Taken(function, arguments, result, tuple(asked)))
        return result

    def know(self, *facts: Term) -> None:
        """Counts the facts that the values do not have."""
        self.unmet += sum(not self._holds(fact) for fact in facts)

    assume = know

    def define(self, *facts: Term) -> None:
        """Adds to what the cluster has by the model what it has by definition."""
        for fact in facts:
            if not self._holds(fact):
                self._values.define(fact.args[1] if fact.op == "implies" else fact)

    def claim(self, about: str, goal: Term) -> None:
        """Raises _Violated if the goal is false."""
        self.claim_all(lambda: {about: goal})

    def claim_all(self, goals: Callable[[], Mapping[str, Term]]) -> None:
        """Raises _Violated if one of the goals is false; after a whole step, if it is one that the function alone breaks."""
        judged = {about: goal for about, goal in goals().items() if self._whole is None or about in self._whole.about}
        if false := tuple(about for about, goal in judged.items() if not self._holds(goal)):
            raise _Violated(false)

    def decide(self, condition: Term) -> bool:
        """Returns the truth of a formula in the model."""
        return self._holds(condition)

    def _holds(self, formula: Term) -> bool:
        return self._values.holds(formula, self._instance)


def _recording(choice: Callable[..., Any], asked: list[tuple[str, tuple[Any, ...]]]) -> Callable[..., Any]:
    def record(*args: Any) -> Any:
        answer = choice(*args)
        if isinstance(args[0], str) and isinstance(answer, tuple):
            asked.append((args[0], answer))
        return answer

    return record


def values_of(protocol: str) -> Callable[[Refutation], Values] | None:
    """Returns what makes the values of a protocol's counterexamples; None if it has nothing of this kind."""
    place = f"peerproof.conformance.proofs.{protocol}.values"
    found: Callable[[Refutation], Values] | None = import_module(place).Values if find_spec(place) else None
    return found


def replay(protocol: str, statement: Callable[[Path], None], refutation: Refutation) -> Replayed:
    """Runs a statement again on the values of a counterexample."""
    make = values_of(protocol)
    if make is None or not refutation.calls:
        return Replayed(refutation.about, doubt="no code of the specification is run with values")
    try:
        with truths(None):
            values = make(refutation)
            instances = [{}, *values.instances()]
    except Exception as error:  # noqa: BLE001  # a table that has no counterpart
        return Replayed(refutation.about, doubt=f"the model cannot be turned into values: {type(error).__name__}: {error}")
    first: Replayed | None = None
    for instance in instances:
        found = _replay(statement, refutation, values, instance)
        if found.is_confirmed:
            return _replay_whole(statement, refutation, values, found, instances)
        first = first or found
    assert first is not None, "there is an instance without changes"
    return first


def _replay_whole(
    statement: Callable[[Path], None], refutation: Refutation, values: Values, found: Replayed, instances: list[Any]
) -> Replayed:
    """Replays whole steps that may go through the function; returns the first that breaks the claim, or `found`."""
    if len(found.taken) > 1:
        return found
    with truths(None):
        steps = [*values.whole_steps(found.taken[0].arguments)]
    for step, instance in product(steps, instances):
        replayed = _replay(statement, refutation, values, instance, Whole(step, found.about))
        if replayed.is_confirmed:
            return replayed
    return found


def _replay(
    statement: Callable[[Path], None],
    refutation: Refutation,
    values: Values,
    instance: Mapping[str, int],
    whole: Whole | None = None,
) -> Replayed:
    path = _Replay(refutation, values, instance, whole)
    about = refutation.about
    doubt = "with these values the claim holds: the terms stand for more than the code does"
    try:
        with truths(path):
            statement(path)
    except _Violated as found:
        about, doubt = found.about, "the code leaves a state to which the model gives no values" if path.unmet else ""
    except (NotEnabled, MalformedMessage) as error:
        doubt = f"the node refuses it: {error.reason}"
    except NoValue as error:
        doubt = str(error)
    except Exception as error:  # noqa: BLE001  # values that the code was not made for are no counterexample
        doubt = f"the code cannot be run with these values: {type(error).__name__}: {error}"
    return Replayed(about, tuple(path.taken), doubt, values)


def replay_outcome(protocol: str, proof: Proof, outcome: Outcome, seconds: float, *, twin: bool) -> Replayed | None:
    """
    Replays what refutes a proof, or its twin; None if nothing does.

    If the first counterexample is not confirmed, other paths are followed until one is, for at most this many seconds.
    """
    if outcome.refutation is None:
        return None
    arguments = dict(proof.arguments) | (dict(proof.twin.arguments) if twin else {})
    statement = partial(proof.statement, **arguments)
    first = replay(protocol, statement, outcome.refutation)
    if first.is_confirmed or not outcome.refutation.calls:
        return first
    for refutation in islice(refutations(statement, seconds, proof.logic), MOST):
        found = replay(protocol, statement, refutation)
        if found.is_confirmed:
            return found
    return first
