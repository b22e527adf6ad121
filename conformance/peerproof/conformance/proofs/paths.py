"""
Runs Python on Z3 terms, along every path.

A comparison of terms gives a formula, not a bool. Where Python needs a bool (`if`, `while`, `and`, `in`, `max`, `sorted`), the
path asks the solver which answers are possible, takes one, and is run again from the start for the other. So a statement is
proved if its claims hold on every path, for every value of its symbols.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.spec.errors import MalformedMessage, NotEnabled

#: A Z3 expression; Z3 has no type annotations.
Term: TypeAlias = Any

Verdict: TypeAlias = Literal["proved", "refuted", "unknown"]


@dataclass(eq=False)
class Answers:
    """A function that a caller passes to the specification, such as a random choice, and the answers that it has given."""

    function: Callable[..., Any]
    given: list[tuple[tuple[Any, ...], Any]] = field(default_factory=list)  #: arguments, and the answer

    def __call__(self, *args: Any) -> Any:
        """Asks the function."""
        answer = self.function(*args)
        self.given.append((args, answer))
        return answer


@dataclass(eq=False)
class Call:
    """A call of the specification's code on a path: its arguments on terms."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    fresh: int = 0  #: the number of fresh names when it was over


@dataclass(frozen=True)
class Refutation:
    """Values for which claims are false, and the calls of the specification's code on the path that leads there."""

    about: tuple[str, ...]  #: the claims
    model: Term
    calls: tuple[Call, ...]
    symbols: Mapping[str, Term]
    notes: tuple[Any, ...]  #: what the statement has noted for values


@dataclass(frozen=True)
class Outcome:
    """The result of a statement."""

    verdict: Verdict
    detail: str = ""  #: the counterexample, or why there is no verdict
    paths: int = 0
    claims: int = 0
    seconds: float = 0.0  #: CPU time
    refutation: Refutation | None = field(default=None, compare=False)


_PLAIN: Final = z3.BoolRef.__bool__

_TIMER_ERROR: Final = 0.1  #: seconds by which the solver may stop before its timeout

#: Small numbers are tried in counterexamples up to each of these, one after the other.
_SMALL: Final = (1, 2, 3, 5, 9, 30, 100)
_LARGE: Final = 10**6

#: Milliseconds for a question whose answer only makes a counterexample easier to read.
_QUICK: Final = 5000


def _is_large(model: Term, term: Term) -> bool:
    """Whether a number was preferred that is large on purpose, such as the size of a ring."""
    return bool(abs(model.eval(term, model_completion=True).as_long()) >= _LARGE)


class _Refuted(Exception):
    """A claim is false."""

    def __init__(self, text: str, refutation: Refutation) -> None:
        super().__init__(text)
        self.refutation = refutation


class _Undecided(Exception):
    """The solver gave up."""


class _Impossible(Exception):
    """No value of the symbols leads here."""


class Path:
    """One path through a statement: its symbols, assumptions and claims."""

    def __init__(self, solver: Term, script: list[bool], deadline: float) -> None:
        self.claims = 0
        self.forks: list[list[bool]] = []  #: scripts of other paths that branch off this one
        self._solver = solver
        self._script = script
        self._taken: list[bool] = []
        self._deadline = deadline
        self._shown: dict[str, Term] = {}
        self._fresh = 0
        self._calls: list[Call] = []
        self._notes: list[Any] = []
        self._preferred: list[Callable[[], Term]] = []
        self._numbers: list[Callable[[], Iterable[Term]]] = []

    def integer(self, name: str, least: int | None = 0, most: int | None = None) -> Term:
        """Returns a symbol for any integer within bounds."""
        found = self.show(name, z3.Int(name))
        if least is not None:
            self.know(found >= least)
        if most is not None:
            self.know(found <= most)
        return found

    def any_of(self, name: str, sort: Term) -> Term:
        """Returns a symbol for any value of a sort."""
        return self.show(name, z3.Const(name, sort))

    def fresh(self, about: str) -> str:
        """Returns a name that no other symbol has; the same one each time that this path is run."""
        self._fresh += 1
        return f"{about}!{self._fresh}"

    def show(self, name: str, term: Term) -> Term:
        """Returns the term, which counterexamples will show under this name."""
        self._shown[name] = term
        return term

    def know(self, *facts: Term) -> None:
        """Adds facts that hold by construction, without asking the solver whether they are consistent."""
        self._solver.add(*facts)

    def define(self, *facts: Term) -> None:
        """Adds facts that hold by definition of what the rest of the cluster has: each is such a truth, or implies one."""
        self.know(*facts)

    def assume(self, *premises: Term) -> None:
        """Excludes all values for which a premise is false."""
        self._solver.add(*premises)
        if not self._replays and not self._possible():
            raise _Impossible

    def prefer(self, fact: Callable[[], Term]) -> None:
        """Adds a fact that a counterexample has if it can; it is made only then."""
        self._preferred.append(fact)

    def prefer_small(self, numbers: Callable[[], Iterable[Term]]) -> None:
        """Adds numbers that are small in a counterexample if they can; they are made only then."""
        self._numbers.append(numbers)

    def note(self, thing: Any) -> None:
        """Notes something on terms of which something is known: a counterexample shows it."""
        self._notes.append(thing)

    def on_terms(self, overrides: AbstractContextManager[None]) -> AbstractContextManager[None]:
        """Returns a context in which code of the specification is replaced by versions for terms; a replay replaces nothing."""
        return overrides

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs code of the specification on terms; the replay of a counterexample runs it on values."""
        recorded = tuple(Answers(one) if callable(one) and not isinstance(one, type) else one for one in arguments)
        self._calls.append(call := Call(function, recorded))
        try:
            return function(*recorded)
        finally:
            call.fresh = self._fresh

    def claim(self, about: str, goal: Term | bool) -> None:
        """Proves the goal for all values that lead here; later claims may use it."""
        self.claims += 1
        goal = z3.BoolVal(goal) if isinstance(goal, bool) else goal
        if self._replays:  # proved already on the path that this one branches off
            self._solver.add(goal)
            return
        self._solver.push()
        self._solver.add(z3.Not(goal))
        if self._possible():
            raise self._refuted({about: goal})
        self._solver.pop()
        self._solver.add(goal)  # helps with later claims

    def claim_all(self, goals: Callable[[], Mapping[str, Term]]) -> None:
        """Proves several goals with one question; they are made only where they are not proved already, by another path."""
        if self._replays:
            return
        named = {about: goal for about, goal in goals().items() if not z3.is_true(z3.simplify(goal))}
        self.claims += 1
        if not named:
            return
        self._solver.push()
        self._solver.add(z3.Not(z3.And(*named.values())))
        if self._possible():
            raise self._refuted(named)
        self._solver.pop()

    def decide(self, condition: Term) -> bool:
        """Returns the truth of a formula on this path."""
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        if self._replays:
            answer = self._script[len(self._taken)]
        else:
            answer = self._possible(condition)
            if answer and self._possible(z3.Not(condition)):
                self.forks.append([*self._taken, False])
        self._taken.append(answer)
        self._solver.add(condition if answer else z3.Not(condition))
        return answer

    def _refuted(self, goals: Mapping[str, Term]) -> _Refuted:
        """Returns why the goals are false, in the solver's current model or in one with the preferred facts and small numbers."""
        model = self._preferred_model() if self._calls else self._solver.model()
        false = tuple(about for about, goal in goals.items() if z3.is_false(model.eval(goal, model_completion=True)))
        found = Refutation(false or tuple(goals), model, tuple(self._calls), dict(self._shown), tuple(self._notes))
        return _Refuted(f"false: {', '.join(found.about)}; {self.values(model)}", found)

    def _preferred_model(self) -> Term:
        model = self._solver.model()
        kept: list[Term] = []
        for fact in [make() for make in self._preferred]:
            if self._is_quickly_possible([*kept, fact]):
                kept.append(fact)
                model = self._solver.model()
        small = [number for make in self._numbers for number in make()]
        every = [*(term for term in self._shown.values() if z3.is_int(term)), *small]
        numbers = [term for term in every if not kept or not _is_large(model, term)]
        for most in _SMALL:
            if self._is_quickly_possible([*kept, *(z3.And(number >= -1, number <= most) for number in numbers)]):
                return self._solver.model()
        return model

    def _is_quickly_possible(self, facts: Iterable[Term]) -> bool:
        self._solver.set("timeout", _QUICK)
        return bool(self._solver.check(*facts) == z3.sat)

    def values(self, model: Term = None) -> str:
        """Renders the values of the symbols in a model, by default the solver's current one."""
        model = self._solver.model() if model is None else model
        with truths(None):
            return ", ".join(f"{name} = {model.eval(term, model_completion=True)}" for name, term in self._shown.items())

    def example(self) -> str:
        """Renders values of the symbols that lead here."""
        return self.values() if self._possible() else "nothing leads here"

    @property
    def _replays(self) -> bool:
        return len(self._taken) < len(self._script)

    def _possible(self, *conditions: Term) -> bool:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise _Undecided("out of time")
        self._solver.set("timeout", max(1, int(left * 1000)))
        found = self._solver.check(*conditions)
        if found == z3.unknown:
            reason = self._solver.reason_unknown()
            if "keyboard" in reason or (reason == "canceled" and time.monotonic() < self._deadline - _TIMER_ERROR):
                raise KeyboardInterrupt  # Z3 catches the signal while it works
            raise _Undecided("out of time" if reason in ("timeout", "canceled") else f"the solver reports {reason}")
        return bool(found == z3.sat)


def follow(statement: Callable[[Path], None], seconds: float, logic: str = "") -> Outcome:
    """
    Follows every path of a statement until one refutes it or the time is over. A statement without claims is refuted.

    With a `logic` of Z3, such as QF_BV, only that logic is supported; for bit vectors it is 20 times as fast.
    """
    begun = time.process_time()
    paths = claims = 0
    ended = _Ended("proved")
    for path, ended in _followed(statement, seconds, logic):
        paths += 1
        claims += path.claims
        if ended.verdict != "proved":
            break
    if ended.verdict == "proved" and not claims:
        ended = _Ended("refuted", "no path reaches a claim")
    return Outcome(ended.verdict, ended.detail, paths, claims, time.process_time() - begun, ended.refutation)


def refutations(statement: Callable[[Path], None], seconds: float, logic: str = "") -> Iterator[Refutation]:
    """Yields what refutes a statement, on each path that has it, until the time is over."""
    for _, ended in _followed(statement, seconds, logic):
        if ended.refutation:
            yield ended.refutation


@dataclass(frozen=True)
class _Ended:
    """How a path ends."""

    verdict: Verdict
    detail: str = ""
    refutation: Refutation | None = None


def _followed(statement: Callable[[Path], None], seconds: float, logic: str) -> Iterator[tuple[Path, _Ended]]:
    """Yields each path, and how it ends."""
    deadline = time.monotonic() + seconds
    solver, scripts = z3.SolverFor(logic) if logic else z3.Solver(), [[]]  # type: ignore[var-annotated]
    while scripts:
        solver.push()
        path = Path(solver, scripts.pop(), deadline)
        ended = _run(statement, path)
        solver.pop(solver.num_scopes())
        scripts += path.forks
        yield path, ended


def _run(statement: Callable[[Path], None], path: Path) -> _Ended:
    try:
        with truths(path):
            try:
                statement(path)
            except (MalformedMessage, NotEnabled) as error:
                return _Ended("refuted", f"{type(error).__name__} ({error.reason}); {path.example()}")
    except _Refuted as found:
        return _Ended("refuted", str(found), found.refutation)
    except _Undecided as reason:
        return _Ended("unknown", str(reason))
    except _Impossible:
        pass
    except Exception as error:  # noqa: BLE001  # code that fails on terms is not a counterexample
        return _Ended("unknown", f"the code cannot be evaluated on terms: {type(error).__name__}: {error}")
    return _Ended("proved")


@contextmanager
def truths(path: Path | None) -> Iterator[None]:
    """Makes the path decide the truth of formulas within the context; None restores Z3's own behaviour."""
    before = z3.BoolRef.__bool__

    def decided(formula: Term) -> bool:
        return _PLAIN(formula) if path is None else path.decide(formula)

    z3.BoolRef.__bool__ = decided
    try:
        yield
    finally:
        z3.BoolRef.__bool__ = before
