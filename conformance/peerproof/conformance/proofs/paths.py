"""
Runs Python on Z3 terms, along every path.

A comparison of terms gives a formula, not a bool. Where Python needs a bool (`if`, `while`, `and`, `in`, `max`, `sorted`), the
path asks the solver which answers are possible, takes one, and is run again from the start for the other. So a statement is
proved if its claims hold on every path, for every value of its symbols.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.spec.errors import MalformedMessage, NotEnabled

#: A Z3 expression; Z3 has no type annotations.
Term: TypeAlias = Any

Verdict: TypeAlias = Literal["proved", "refuted", "unknown"]


@dataclass(frozen=True)
class Outcome:
    """The result of a statement."""

    verdict: Verdict
    detail: str = ""  #: the counterexample, or why there is no verdict
    paths: int = 0
    claims: int = 0
    seconds: float = 0.0  #: CPU time


_PLAIN: Final = z3.BoolRef.__bool__

_TIMER_ERROR: Final = 0.1  #: seconds by which the solver may stop before its timeout


class _Refuted(Exception):
    """A claim is false."""


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

    def assume(self, *premises: Term) -> None:
        """Excludes all values for which a premise is false."""
        self._solver.add(*premises)
        if not self._replays and not self._possible():
            raise _Impossible

    def claim(self, about: str, goal: Term) -> None:
        """Proves the goal for all values that lead here; later claims may use it."""
        self.claims += 1
        if self._replays:  # proved already on the path that this one branches off
            self._solver.add(goal)
            return
        self._solver.push()
        self._solver.add(z3.Not(goal))
        if self._possible():
            raise _Refuted(f"false: {about}; {self.values()}")
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
            model = self._solver.model()
            false = [about for about, goal in named.items() if z3.is_false(model.eval(goal, model_completion=True))]
            raise _Refuted(f"false: {', '.join(false)}; {self.values()}")
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

    def values(self) -> str:
        """Renders the values of the symbols in the solver's current model."""
        model = self._solver.model()
        with _truths(None):
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
    begun, deadline = time.process_time(), time.monotonic() + seconds
    solver, scripts = z3.SolverFor(logic) if logic else z3.Solver(), [[]]  # type: ignore[var-annotated]
    paths = claims = 0
    verdict: Verdict = "proved"
    detail = ""
    while scripts and verdict == "proved":
        solver.push()
        path = Path(solver, scripts.pop(), deadline)
        verdict, detail = _run(statement, path)
        solver.pop(solver.num_scopes())
        scripts += path.forks
        paths += 1
        claims += path.claims
    if verdict == "proved" and not claims:
        verdict, detail = "refuted", "no path reaches a claim"
    return Outcome(verdict, detail, paths, claims, time.process_time() - begun)


def _run(statement: Callable[[Path], None], path: Path) -> tuple[Verdict, str]:
    try:
        with _truths(path):
            try:
                statement(path)
            except (MalformedMessage, NotEnabled) as error:
                return "refuted", f"{type(error).__name__} ({error.reason}); {path.example()}"
    except _Refuted as found:
        return "refuted", str(found)
    except _Undecided as reason:
        return "unknown", str(reason)
    except _Impossible:
        pass
    except Exception as error:  # noqa: BLE001  # code that fails on terms is not a counterexample
        return "unknown", f"the code cannot be evaluated on terms: {type(error).__name__}: {error}"
    return "proved", ""


@contextmanager
def _truths(path: Path | None) -> Iterator[None]:
    """Makes the path decide the truth of formulas within the context; None restores Z3's own behaviour."""
    before = z3.BoolRef.__bool__

    def decided(formula: Term) -> bool:
        return _PLAIN(formula) if path is None else path.decide(formula)

    z3.BoolRef.__bool__ = decided
    try:
        yield
    finally:
        z3.BoolRef.__bool__ = before
