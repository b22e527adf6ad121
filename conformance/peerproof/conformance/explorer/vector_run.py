"""
A case of a vector as a run: each step, the state of the nodes after it, and the difference where an expectation is not met.

The specification plays the node under test, and beside it an implementation if one is given. Both get the same answers to their
random choices. Unlike in a verdict, the run goes on after a difference, to the end of the vector.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.diagrams.compact import Renderer, render_whole, select_renderer
from peerproof.conformance.diagrams.labels import plain_text
from peerproof.conformance.diagrams.message_graph import Arrow, Note
from peerproof.conformance.diagrams.names import names_in_vector
from peerproof.conformance.explorer.fields import fields_of_tables
from peerproof.conformance.explorer.recorded_run import BESIDE, Moment, Problem, Run
from peerproof.conformance.report.failure_diagram import find_wrong
from peerproof.conformance.report.failure_text import brief_sides, demanding, draw_part, failure_meaning, to_paste
from peerproof.conformance.runner.exchange import AFTER, DEFAULT_DELAY, JUDGING, Network, Script
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import missing
from peerproof.conformance.runner.trial import Arrow as TrialArrow
from peerproof.conformance.runner.trial import Asking, Case, Failure, Flood, Trial, TrialEvent, Unsupported
from peerproof.conformance.runner.vector_diagram import of_step
from peerproof.conformance.runner.virtual_host import Actor, Stage
from peerproof.conformance.runner.worker import RunningTrial, error_result, result_of
from peerproof.conformance.suite.bounds import USUAL, Bounds
from peerproof.conformance.vectors.matching import Bound, fits
from peerproof.spec.forms.form import Plain

#: Begins the words of a step that checks something.
CHECK: Final = "check: "

#: Begins the words of an expected event in the parts of an expectation.
_EVENTS: Final = "events: "

#: The state of a node is asked for by this query; an implementation without it is asked all others that need no arguments.
_STATE: Final = "state"


class NotRun(Exception):
    """The implementation lacks what the case needs; the message says what."""


def run_case(
    case: Case,
    reference: Callable[[], Adapter],
    reach: Callable[[], Adapter] | None = None,
    *,
    arguments: Mapping[str, Any] | None = None,
    bounds: Bounds = USUAL,
) -> Run:
    """
    Runs a case on the specification, and on an implementation if `reach` makes its adapter.

    `arguments` are options of the command, such as `impl` and `seed`. Raises AdapterUnavailable, NotRun.
    """
    seed = str((arguments or {}).get("seed") or "0")
    queries: list[str] = []
    run = run_once(case, (reach or reference)(), seed, bounds, queries)
    vector = case.vector
    run.title, run.clauses = f"{case.id}: {vector.title}", vector.clauses
    run.names = names_in_vector(specification(vector.protocol), vector.body)
    run.about = " ".join(filter(None, [run.about, *_configurations(vector.body), str(vector.body.get("about", ""))]))
    result = Result(case.id, "", vector.id, vector.rev, vector.level, vector.clauses)
    run.commands = tuple(pair for pair in to_paste(result, arguments or {}) if pair[0] == "again")
    if reach is None:
        run.verdict = ""
        return run
    for name, states in run_once(case, reference(), seed, bounds, queries).states.items():
        run.states[f"{name}{BESIDE}"] = states
    return run


def run_once(case: Case, adapter: Adapter, seed: str = "0", bounds: Bounds = USUAL, queries: list[str] | None = None) -> Run:
    """
    Runs a case on a fresh adapter alone. Raises AdapterUnavailable, NotRun.

    `queries` show what a node knows; an empty list is filled with those that the implementation answers.
    """
    queries = [] if queries is None else queries
    run = Run(case.vector.protocol, case.id)
    try:
        hello = adapter.start()
        run.about = f"{hello.name} {hello.version}."
        if lacking := missing(case, hello):
            raise NotRun(lacking)
        trial = Trial(case, seed, hello, bounds)
        queries[:] = queries or _queries(hello, case.vector.protocol)
        script = _script(trial, run, queries)
        playing = RunningTrial(trial, script.play() if script else None)
        try:
            while playing.outcome is None:
                playing.feed(adapter.ask(playing.requests, trial.choices.answer))
            result = result_of(trial, playing.outcome, 0)
        except AdapterError as trouble:
            result = error_result(trial, trouble, 0)
        _finish(run, trial, script, result)
    finally:
        adapter.stop()
    return run


def _script(trial: Trial, run: Run, queries: Sequence[str]) -> _Watched | None:
    """Returns the script of a case that has steps; None if it asks a codec, or is about malformed datagrams."""
    body = trial.body
    if trial.case.part in ("exchange", "model"):
        return _Watched(trial, Stage(trial, body["nodes"]), run, queries)
    if trial.case.part == "cluster":
        return _Watched(trial, Network(trial, body["nodes"], body.get("network", {}).get("delay", DEFAULT_DELAY)), run, queries)
    return None


def _finish(run: Run, trial: Trial, script: _Watched | None, result: Result) -> None:
    """Adds what ended the run, and the verdict: that of the first difference."""
    seen = script.seen if script else 0
    rest = [draw_part(part._replace(at=None), run.protocol, digits=not script) for part in trial.story[seen:]]
    found = next((moment.problem for moment in run.moments if moment.problem), None)
    if result.status == "skipped":
        raise NotRun(str(result.reason))
    if script is None:
        run.moments += [Moment(trial.story[place].at, _node_of(part), part.label, (part,)) for place, part in enumerate(rest)]
    if result.failure:
        problem = problem_of(result)
        last = trial.story[-1].at if trial.story else None
        if script is None and run.moments:
            whole = run.moments[-1]
            parts = mark(whole.parts, range(len(whole.parts)))
            run.moments[-1] = Moment(whole.at, whole.node, whole.what, parts, expected_parts(result), problem)
        else:
            node = next(iter(trial.body.get("nodes", ())), "")
            run.moments.append(Moment(last, node, problem.what, tuple(rest), expected_parts(result), problem))
        found = found or problem
    run.verdict = found.verdict if found else result.status


class _Watched(Script):
    """A script that makes each step a moment, asks the nodes for their states after it, and goes on after a difference."""

    def __init__(self, trial: Trial, stage: Stage, run: Run, queries: Sequence[str]) -> None:
        super().__init__(trial, stage)
        self.seen = 0  #: parts of the story that moments show already
        self._run = run
        self._shown: dict[int, tuple[int, int]] = {}  # part of the story -> its moment, and its place among the parts of that
        self._steps: Mapping[str, Any] = {
            f"{part}[{index}]": step for part in ("setup", "steps") for index, step in enumerate(trial.body.get(part, ()))
        }
        self._queries = queries

    def set_up(self) -> Asking:
        """Runs the steps before the first check."""
        self.seen = len(self.trial.story)
        yield from self._look(-1)
        for index, step in enumerate(self.trial.body.get("setup", ())):
            yield from self.play_step(f"setup[{index}]", self.act(step))
        self.clear()

    def play_step(self, where: str, doing: Asking) -> Asking:
        """Runs one step, and makes it a moment."""
        self.where = where
        self.trial.place = where if where.startswith("steps") or where == AFTER else ""
        problem: Problem | None = None
        instead: tuple[Arrow | Note, ...] = ()
        wrong: list[int] = []
        try:
            yield from doing
        except Flood:
            raise
        except Failure as miss:
            if not self.trial.find_claimed(miss):
                result = result_of(self.trial, miss, 0)
                problem, instead = problem_of(result), expected_parts(result)
                if miss.failure == "messages" and self.trial.wanted is not None:  # else the step itself needs a message
                    wrong, unsent = self._unpaired()
                    instead = mark_unsent(instead, unsent)
                else:
                    wrong, instead = mark_other(result, instead)
            self.clear()
        if where in self._steps or problem:
            came = [part.label for part in actual_parts([self.trial.story[place] for place in wrong], self.trial.vector.protocol)]
            self._add(where, problem, instead, came)
            self._mark(wrong)
            yield from self._look(len(self._run.moments) - 1)

    def _unpaired(self) -> tuple[list[int], list[int]]:
        """
        Returns which parts of the story are messages that no expectation covers, and which expected messages were not sent.

        Of several outcomes that a vector allows, the first is compared. If only the order differs, the messages that are not at
        their place count as not covered.
        """
        assert self.trial.wanted is not None
        wanted = self.trial.wanted
        branch = wanted.get("any_of", (wanted,))[0]
        ((order, expected),) = branch.get("messages", {"ordered": []}).items()
        in_plain_form = any("message" in message for message in expected)
        matchers = [self.matcher(message, in_plain_form) for message in expected]
        found = [self.actual_message(message, in_plain_form) for message in self.stage.messages]
        extra, left = unpaired(matchers, found, order, self.bound)
        sent = self._places_in_story()
        return [sent[place] for place in extra if place < len(sent)], left

    def _places_in_story(self) -> list[int]:
        """Returns the place in the story of each message that is not checked yet."""
        places: list[int] = []
        waiting = list(self.stage.messages)
        for place in range(self.trial.judged, len(self.trial.story)):
            part = self.trial.story[place]
            if waiting and isinstance(part, TrialArrow) and (part.source, part.bytes) == (waiting[0].sender, waiting[0].bytes):
                places.append(place)
                waiting.pop(0)
        return places

    def _mark(self, wrong: Sequence[int]) -> None:
        """Marks parts of the story as wrong in the moments that show them, and shows these whole."""
        for place in wrong:
            number, part = self._shown.get(place, (-1, -1))
            if number >= 0:
                moment = self._run.moments[number]
                (whole,) = actual_parts([self.trial.story[place]], self.trial.vector.protocol)
                parts = (*moment.parts[:part], whole, *moment.parts[part + 1 :])
                self._run.moments[number] = replace(moment, parts=mark(parts, [part]))

    def _add(self, where: str, problem: Problem | None, instead: tuple[Arrow | Note, ...], came: Sequence[str]) -> None:
        vector, step = self.trial.vector, self._steps.get(where, {})
        render = select_renderer(vector.protocol, is_full=problem is not None)  # a difference may be in what is left out
        parts = actual_parts(self.trial.story[self.seen :], vector.protocol, render)
        self._shown.update({self.seen + part: (len(self._run.moments), part) for part in range(len(parts))})
        self.seen = len(self.trial.story)
        check = "" if step.keys().isdisjoint(JUDGING) else CHECK
        what, exact = (f"{check}{_words(of_step(vector, step, is_full=is_full))}" or where for is_full in (False, True))
        if problem and what.startswith(CHECK):
            what, exact = words_of_check(exact, problem, instead, came), ""
        about = step.get("send", step.get("call", step.get("observe", step.get("told", {}))))
        node = about.get("to", about.get("node", "")) if isinstance(about, Mapping) else ""
        self._run.moments.append(Moment(self.stage.now, str(node), what, parts, instead, problem, exact))

    def _look(self, moment: int) -> Asking:
        """Asks each node that runs for its state."""
        for actor in self.stage.actors.values():
            if not actor.up:
                self._run.add_state(actor.name, lambda: {"(the node is down)": ""}, moment)
                continue
            found: dict[str, str] = {}
            for query in self._queries:
                found.update((yield from self._ask_state(actor, query)))
            self._run.add_state(actor.name, lambda found=found: found, moment)  # type: ignore[misc]  # bound now

    def _ask_state(self, actor: Actor, query: str) -> Asking:
        try:
            value: Plain = yield from self.stage.query(actor, query)
        except (Failure, Unsupported) as problem:
            return {f"({query} cannot be asked: {problem})": ""}
        return fields_of_tables(value if query == _STATE else {query: value})


def _words(parts: Sequence[Arrow | Note]) -> str:
    return "; ".join(part.label.partition(" ms: ")[2] or part.label for part in parts)


def _configurations(body: Mapping[str, Any]) -> Iterator[str]:
    """Yields how each node is configured, as far as it is not the default."""
    for name, node in body.get("nodes", {}).items():
        if config := node.get("config"):
            yield f"{name} is configured with {', '.join(f'{key} {plain_text(value)}' for key, value in config.items())}."


def _queries(hello: Hello, protocol: str) -> list[str]:
    """Returns the queries that show what a node knows: its state, or all that an implementation answers."""
    known = specification(protocol).QUERIES
    offered = hello.protocols[protocol]
    if offered.has(f"observe.{_STATE}"):
        return [_STATE]
    return [name for name, query in known.items() if offered.has(f"observe.{name}") and len(signature(query).parameters) == 1]


def problem_of(result: Result) -> Problem:
    """Returns the difference of a failed case, in words."""
    what = failure_meaning(result)
    if result.decisions:
        what += f"; only {demanding(result.decisions)} it, not the document"
    if result.reason:
        what += f"; {result.reason}"
    expected, actual = brief_sides(result.difference) if result.difference else ("", "")
    where = result.difference.where if result.difference else ""
    return Problem(what, where, expected, actual, (*result.clauses,), result.status)


def actual_parts(
    parts: Sequence[TrialArrow | TrialEvent], protocol: str, render: Renderer = render_whole
) -> tuple[Arrow | Note, ...]:
    """Returns a part of a story as a graph shows it, without times."""
    return tuple(draw_part(part._replace(at=None), protocol, digits=False, render=render) for part in parts)


def expected_parts(result: Result) -> tuple[Arrow | Note, ...]:
    """Returns what the expectation that was not met demands, drawn as demanded."""
    drawn = actual_parts(result.expected, result.vector.partition("/")[0])
    return tuple(part._replace(judged=True) if isinstance(part, Arrow) else part for part in drawn)


def unpaired(
    matchers: Sequence[Any], found: Sequence[Any], order: str, bound: Bound | None = None
) -> tuple[list[int], list[int]]:
    """
    Returns the places of the messages that no pattern covers, and of the patterns without a message.

    If only the order differs, the messages that are not at their place count as not covered.
    """
    extra, left = [*range(len(found))], [*range(len(matchers))]
    for place in range(len(found)):
        pair = next((each for each in left if fits(matchers[each], found[place], bound)), None)
        if pair is not None:
            extra.remove(place)
            left.remove(pair)
    if order == "ordered" and not extra and not left:
        extra = [place for place in range(len(found)) if not fits(matchers[place], found[place], bound)]
    return extra, left


def mark_unsent(instead: Sequence[Arrow | Note], unsent: Sequence[int]) -> tuple[Arrow | Note, ...]:
    """Returns what an expectation demands, with the messages that were not sent marked; `unsent` counts messages only."""
    arrows = [place for place, part in enumerate(instead) if isinstance(part, Arrow)]
    return mark(instead, [arrows[each] for each in unsent if each < len(arrows)])


def mark_other(result: Result, instead: Sequence[Arrow | Note]) -> tuple[list[int], tuple[Arrow | Note, ...]]:
    """Returns the place in the story of what is wrong other than messages, if the story shows it, and the marked expectation."""
    wrong = find_wrong(result)
    events = [place for place, part in enumerate(instead) if part.label.startswith(_EVENTS)] if result.failure == "events" else []
    return [] if wrong is None else [wrong], mark(instead, events)


def words_of_check(what: str, problem: Problem, instead: Sequence[Arrow | Note], came: Sequence[str]) -> str:
    """Returns the words of a check that fails: what was expected, and what came instead as far as that is known."""
    if not problem.expected and not problem.actual:  # the implementation ended, or did not answer
        return problem.what
    missing = [part.label for part in instead if part.wrong]
    if came and not missing and problem.expected == "nothing":
        return f"not expected: {'; '.join(came)}"
    expected = f"expected: {'; '.join(missing) or what.removeprefix(CHECK)}"
    if came:
        return f"{expected}; instead: {'; '.join(came)}"
    if missing and isinstance(next(part for part in instead if part.wrong), Arrow):
        return f"{expected}; it was not sent"
    return f"{expected}; instead: {problem.actual}"


def mark(parts: Sequence[Arrow | Note], wrong: Collection[int]) -> tuple[Arrow | Note, ...]:
    """Returns the parts, with those at these places marked as wrong."""
    return tuple(part._replace(wrong=True) if place in wrong else part for place, part in enumerate(parts))


def _node_of(part: Arrow | Note) -> str:
    return part.target if isinstance(part, Arrow) else part.node
