"""
Runs Python on Z3 terms, along every path.

A comparison of terms gives a formula, not a bool. Where Python needs a bool (`if`, `while`, `and`, `in`, `max`, `sorted`), the
path asks the solver which answers are possible, takes one, and is run again from the start for the other. So a statement is
proved if its claims hold on every path, for every value of its symbols.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs import smt
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
    model: smt.Model
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


#: A timeout of the solver is kept while it is at most this many times the time that is left.
_TIMEOUT_MOST: Final = 1.1

_TIMER_ERROR: Final = 0.1  #: seconds by which the solver may stop before its timeout

#: Small numbers are tried in counterexamples up to each of these, one after the other.
_SMALL: Final = (1, 2, 3, 5, 9, 30, 100)
_LARGE: Final = 10**6

#: Milliseconds for a question whose answer only makes a counterexample easier to read.
_QUICK: Final = 5000


def _is_large(model: smt.Model, term: Term) -> bool:
    """Whether a number was preferred that is large on purpose, such as the size of a ring."""
    return abs(model.eval(term).as_long()) >= _LARGE


class _Refuted(Exception):
    """A claim is false."""

    def __init__(self, text: str, refutation: Refutation) -> None:
        super().__init__(text)
        self.refutation = refutation


class _Undecided(Exception):
    """The solver gave up."""


class _Impossible(Exception):
    """No value of the symbols leads here."""


class _Questions:
    """
    The solver's stack of facts, with a level for each decision of the path that is followed.

    A path begins with the facts of the one that it branches off, which are on the stack already. A model that is known to have
    all facts answers for the solver what it has itself.
    """

    def __init__(self, seconds: float, logic: str) -> None:
        self.context = z3.Context()  #: of its own, so that what was asked before has no influence on what the solver finds
        self.solver = z3.SolverFor(logic, self.context) if logic else z3.Solver(ctx=self.context)
        self._deadline = time.monotonic() + seconds
        self._timeout = 0.0  #: seconds, as the solver has it
        self._new: list[Term] = []  #: facts that the solver does not have yet
        self._model: smt.Model | None = None
        self._unseen: list[Term] = []  #: facts that the model may not have
        self._found: list[smt.Model] = []  #: kept: Z3 would number terms as those of a freed one, whenever Python frees it
        self.solver.push()

    def return_to(self, level: int, model: smt.Model | None) -> None:
        """Drops the facts above a level, for which a model is known."""
        self._new.clear()
        self._unseen.clear()
        self.solver.pop(self.solver.num_scopes() - 1 - level)
        self._model = model

    def add(self, facts: Iterable[Term]) -> None:
        """Adds facts to the last level."""
        for fact in facts:
            if not smt.is_true(fact):
                self._new.append(fact)
                self._unseen.append(fact)

    def enter(self, fact: Term, model: smt.Model | None) -> None:
        """Adds a level with a fact; the model has it."""
        self._flush()
        self.solver.push()
        self._new.append(fact)
        self._model = model
        self._unseen.clear()

    def _flush(self) -> None:
        for fact in self._new:
            z3.Z3_solver_assert(self.solver.ctx.ref(), self.solver.solver, fact.raw.as_ast())  # `add` takes three times as long
        self._new.clear()

    def guess(self, condition: Term) -> bool | None:
        """Returns the truth of a condition in the known model; None if there is none."""
        if self._model is not None and all(map(self._model.holds, self._unseen)):
            self._unseen.clear()
            return self._model.holds(condition)
        self._model = None
        return None

    def possible(self, condition: Term | None = None) -> smt.Model | None:
        """Asks the solver for a model in which a condition is true."""
        self._flush()
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise _Undecided("out of time")
        if not left <= self._timeout <= _TIMEOUT_MOST * left:
            self._timeout = left
            self.solver.set("timeout", max(1, int(left * 1000)))
        found = self.solver.check() if condition is None else self.solver.check(condition.raw)
        if found == z3.unknown:
            reason = self.solver.reason_unknown()
            if "keyboard" in reason or (reason == "canceled" and time.monotonic() < self._deadline - _TIMER_ERROR):
                raise KeyboardInterrupt  # Z3 catches the signal while it works
            raise _Undecided("out of time" if reason in ("timeout", "canceled") else f"the solver reports {reason}")
        return self._model_of(found)

    def _model_of(self, answer: Any) -> smt.Model | None:
        if answer != z3.sat:
            return None
        self._found.append(found := smt.Model(self.solver.model()))
        return found

    def is_consistent(self) -> bool:
        """Whether all facts can be true."""
        if self.guess(smt.BoolVal(val=True)) is None:
            self._model = self.possible()
            self._unseen.clear()
        return self._model is not None

    def both(self, condition: Term) -> tuple[smt.Model | None, smt.Model | None]:
        """Returns models in which a condition is true, and false; without the first, the second may be unknown."""
        guess = self.guess(condition)
        yes = self._model if guess else self.possible(condition)
        if yes is None:
            return None, self._model
        return yes, self._model if guess is False else self.possible(smt.Not(condition))

    def refute(self, goal: Term) -> smt.Model | None:
        """Returns a model in which a goal is false, with which the solver stays; None if there is none."""
        self._flush()
        self.solver.push()
        self.solver.add(smt.Not(goal).raw)
        found = self.possible()
        if found is None:
            self.solver.pop()
        return found

    def quickly(self, facts: Iterable[Term]) -> smt.Model | None:
        """Returns a model with these facts, if it is found at once."""
        self.solver.set("timeout", _QUICK)
        self._timeout = 0.0
        return self._model_of(self.solver.check(*(fact.raw for fact in facts)))


@dataclass(frozen=True)
class Script:
    """The first answers on a path, of which the last has not been followed before; and a model that has them."""

    answers: Sequence[bool] = ()
    model: smt.Model | None = None


class Path:
    """One path through a statement: its symbols, assumptions and claims."""

    def __init__(self, questions: Any = None, script: Script = Script()) -> None:  # it is frozen
        self.claims = 0
        self.forks: list[Script] = []  #: other paths that branch off this one
        self._asked: Any = questions  #: None where nothing is asked
        self._script = script
        self._taken: list[bool] = []
        self._known: set[Term] = set()  #: what holds on this path
        self._shown: dict[str, Term] = {}
        self._fresh = 0
        self._calls: list[Call] = []
        self._notes: list[Any] = []
        self._preferred: list[Callable[[], Term]] = []
        self._numbers: list[Callable[[], Iterable[Term]]] = []

    def integer(self, name: str, least: int | None = 0, most: int | None = None) -> Term:
        """Returns a symbol for any integer within bounds."""
        found = self.show(name, smt.Int(name))
        if least is not None:
            self.know(found >= least)
        if most is not None:
            self.know(found <= most)
        return found

    def any_of(self, name: str, sort: Term) -> Term:
        """Returns a symbol for any value of a sort."""
        return self.show(name, smt.Const(name, sort))

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
        new = [fact for fact in facts if fact not in self._known]
        self._keep(new)
        if not self._replays:
            self._asked.add(new)

    def define(self, *facts: Term) -> None:
        """Adds facts that hold by definition of what the rest of the cluster has: each is such a truth, or implies one."""
        self.know(*facts)

    def assume(self, *premises: Term) -> None:
        """Excludes all values for which a premise is false."""
        self._keep(premises)
        if not self._replays:
            self._asked.add(premises)
            if not self._asked.is_consistent():
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
        goal = smt.BoolVal(goal) if isinstance(goal, bool) else goal
        if self._replays:  # proved already on the path that this one branches off
            self._keep([goal])
            return
        if not self._is_known(goal) and (model := self._asked.refute(goal)):
            raise self._refuted({about: goal}, model)
        self._keep([goal])
        self._asked.add([goal])  # helps with later claims

    def claim_all(self, goals: Callable[[], Mapping[str, Term]]) -> None:
        """Proves several goals with one question; they are made only where they are not proved already, by another path."""
        if self._replays:
            return
        named = {about: goal for about, goal in goals().items() if not self._is_known(goal)}
        self.claims += 1
        if named and (model := self._asked.refute(smt.And(*named.values()))):
            raise self._refuted(named, model)

    def decide(self, condition: Term) -> bool:
        """Returns the truth of a formula on this path."""
        known = self._truth(condition)
        if known is not None:
            return known
        if self._replays:
            answer, model = self._script.answers[len(self._taken)], self._script.model
            self._go_on(condition, answer=answer)
            if not self._replays:
                self._asked.enter(condition if answer else smt.Not(condition), model)
            return answer
        yes, no = self._asked.both(condition)
        if yes and no:
            self.forks.append(Script([*self._taken, False], no))
        self._go_on(condition, answer=yes is not None)
        self._asked.enter(condition if yes else smt.Not(condition), yes or no)
        return yes is not None

    def _go_on(self, condition: Term, *, answer: bool) -> None:
        self._taken.append(answer)
        self._keep([condition if answer else smt.Not(condition)])

    def _keep(self, facts: Iterable[Term]) -> None:
        """Remembers what holds on this path, so that it is not asked again."""
        for fact in facts:
            self._known.add(fact)
            if fact.op == "and":
                self._known.update(fact.args)

    def _truth(self, formula: Term) -> bool | None:
        """Returns the truth of a formula, as far as that can be seen without the solver."""
        if formula in self._known:
            return True
        return False if smt.Not(formula) in self._known else smt.verdict(formula)

    def _is_known(self, goal: Term) -> bool:
        """Whether it can be seen without the solver that a goal holds."""
        if goal.op == "and":
            return all(map(self._is_known, goal.args))
        if goal.op == "or":
            return any(map(self._is_known, goal.args))
        if goal.op == "implies":
            return self._is_known(goal.args[1]) or self._is_known(smt.Not(goal.args[0]))
        return self._truth(goal) is True

    def _refuted(self, goals: Mapping[str, Term], model: smt.Model) -> _Refuted:
        """Returns why the goals are false, in this model or in one with the preferred facts and small numbers."""
        if self._calls:
            model = self._preferred_model(model)
        false = tuple(about for about, goal in goals.items() if not model.holds(goal))
        found = Refutation(false or tuple(goals), model, tuple(self._calls), dict(self._shown), tuple(self._notes))
        return _Refuted(f"false: {', '.join(found.about)}; {self.values(model)}", found)

    def _preferred_model(self, model: smt.Model) -> smt.Model:
        kept: list[Term] = []
        for fact in [make() for make in self._preferred]:
            if better := self._asked.quickly([*kept, fact]):
                kept.append(fact)
                model = better
        small = [number for make in self._numbers for number in make()]
        every = [*(term for term in self._shown.values() if smt.is_int(term)), *small]
        numbers = [term for term in every if not kept or not _is_large(model, term)]
        for most in _SMALL:
            if better := self._asked.quickly([*kept, *(smt.And(number >= -1, number <= most) for number in numbers)]):
                model = better
                break
        return model

    def values(self, model: smt.Model) -> str:
        """Renders the values of the symbols in a model."""
        return ", ".join(f"{name} = {model.eval(term)}" for name, term in self._shown.items())

    def example(self) -> str:
        """Renders values of the symbols that lead here."""
        model = self._asked.possible()
        return self.values(model) if model else "nothing leads here"

    def leave(self) -> None:
        """Drops what has been asked and found: the path refers to itself, so that Python would keep it for a while."""
        self._asked, self._script = None, Script()
        self.forks.clear()

    @property
    def _replays(self) -> bool:
        return len(self._taken) < len(self._script.answers)


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
    smt.forget_terms()
    questions, scripts = _Questions(seconds, logic), [Script()]
    while scripts:
        script = scripts.pop()
        path = Path(questions, script)
        with smt.within(questions.context):
            questions.return_to(max(0, len(script.answers) - 1), script.model)
            ended = _run(statement, path)
        scripts += path.forks
        try:
            yield path, ended
        finally:
            path.leave()


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


def truths(path: Path | None) -> AbstractContextManager[None]:
    """Makes the path decide the truth of formulas within the context; None: only the same terms are equal."""
    return smt.deciding(path.decide if path else None)
