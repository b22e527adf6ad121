"""
Checking of traces with TLC: an independent check of the replay, with the operators that are model-checked.

One run of TLC goes through all traces, one event after the other (`tla/scuttlebutt/ScuttlebuttTrace.tla`), and reads them on the
way. There are verdicts only if TLC reaches the end of all traces.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from pathlib import Path
from typing import Final

from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import Divergence, Line
from peerproof.tla.manifest import root
from peerproof.tla.output.outcome import Progress, RunFailed, Verdict
from peerproof.tla.tools import tlc
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces.trace_data import Trace, TraceData

#: The folder of the Java class that reads traces.
CLASSES: Final = "java"

_FEW: Final = 10_000

#: Megabytes; a module goes through a message entry by entry, and the largest has thousands of them.
_STACK: Final = 256

#: How a module reports the event at which a trace departs, or from which on it has no verdict: the event's number, the trace's,
#: the line's, and what is wrong or why.
_REPORT: Final = re.compile(r'<< ?"(departs|undetermined)", (\d+), (\d+), (\d+), "([^"]+)" ?>>')


class Opinion(Enum):
    """TLC's verdict on a trace."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Judgement:
    """TLC's verdict on one trace, and the part of it that TLC has checked."""

    run: str
    node: str
    opinion: Opinion
    events: int  #: number of events passed to TLC, or before the first that the module cannot judge
    event: int | None = None  #: the first that is no step of the module; counted from 1, as the trace's lines
    seq: int | None = None  #: the `seq` of this line
    what: str | None = None  #: the wrong member: "seq", "args", "picks", "refused" or "effects"
    why: str | None = None  #: why it is undetermined


def module(protocol: str) -> Path | None:
    """Returns the module that checks traces of a protocol, if there is one: `DistKVTrace.tla`, its name in any capitals."""
    folder, name = root(protocol) / protocol, f"{protocol}trace.tla"
    return next((path for path in sorted(folder.glob("*.tla")) if path.name.lower() == name), None)


def check_with_tlc(
    tools: Tools,
    protocol: str,
    data: TraceData,
    on_progress: Callable[[Progress], None] = lambda _: None,
    *,
    seconds: float | None = None,
) -> list[Judgement]:
    """Returns TLC's verdicts on the traces, in the order of their first lines. Raises `RunFailed` if there are none."""
    path = module(protocol)
    if path is None:
        raise RunFailed(f"no TLA+ module for traces of {protocol}")
    ends: dict[int, _End] = {}
    report = ""

    def on_line(line: str) -> None:
        nonlocal report
        report = line.strip() if line.startswith("<<") else f"{report} {line.strip()}"  # TLC divides lines of 80 characters
        if found := _REPORT.fullmatch(report):
            # only the first report of a trace counts
            ends.setdefault(int(found[3]), _End(found[1] == "departs", int(found[2]), int(found[4]), found[5]))

    with tempfile.TemporaryDirectory(prefix="peerproof-traces-") as folder:
        data.write(Path(folder))
        what = tlc.Run(
            module=path,
            configuration=path.with_suffix(".cfg").read_text(encoding="utf-8"),
            library=(root(),),
            classes=(root() / CLASSES, Path(folder)),
            brief=data.events < _FEW,
            stack_megabytes=_STACK,
            seconds=seconds,
        )
        result = tlc.run(tools, what, on_progress, on_line)
    if result.verdict is not Verdict.SUCCESS or result.distinct != data.events + 1:
        raise RunFailed(f"TLC has checked {result.distinct - 1} of {data.events} events ({result.verdict.value})")
    begins = accumulate((len(trace.events) for trace in data.traces.values()), initial=0)
    numbered = enumerate(zip(data.traces.values(), begins, strict=False), start=1)
    return [_judgement(trace, begin, ends.get(number)) for number, (trace, begin) in numbered]


@dataclass(frozen=True, slots=True)
class _End:
    """Where a module stops judging a trace."""

    is_wrong: bool
    at: int  #: the event, counted from 1 through all traces
    seq: int
    what: str  #: the wrong member, or why there is no verdict


def _judgement(trace: Trace, begins: int, end: _End | None) -> Judgement:
    count = len(trace.events)
    if end is not None and end.is_wrong:
        return Judgement(trace.run, trace.node, Opinion.REJECTED, count, end.at - begins, end.seq, end.what)
    if end is not None:
        why = f"the module cannot judge the line with seq {end.seq}: {end.what}"
        return Judgement(trace.run, trace.node, Opinion.UNDETERMINED, end.at - begins - 1, why=why)
    if trace.ends is not None:
        return Judgement(trace.run, trace.node, Opinion.UNDETERMINED, count, why=trace.ends)
    return Judgement(trace.run, trace.node, Opinion.ACCEPTED, count)


class Comparison(Enum):
    """The relation of the replay's verdict on a trace to TLC's."""

    AGREE = "agree"
    UNSEEN = "TLC does not compare what the replay found"
    UNDETERMINED = "TLC has no verdict"
    DISAGREE = "disagree"


@dataclass(frozen=True, slots=True)
class View:
    """The differences that the module of a protocol does not detect: `tla/PROTOCOL/PROTOCOLTrace.json`."""

    about: str  #: description for users
    open_kinds: frozenset[str]  #: events, such as `timer` or `recv publish`, of which the module accepts more than one outcome
    unseen_members: Mapping[str, frozenset[str]]  #: notice or message -> members, such as `hop` or `header.hop`, that it ignores
    unseen_effects: frozenset[str] = frozenset()  #: effects, such as `send` or `send publish`, that it ignores or leaves open
    is_ordered: bool = True  #: whether the module compares the order of effects
    open_refusals: frozenset[str] = frozenset()  #: events, as in `open_kinds`, whose refusal it takes as given

    def sees(self, divergence: Divergence) -> bool:
        """Whether the module should detect a divergence, too."""
        event = _event_names(divergence.line)
        if divergence.what == "refused" and event & self.open_refusals:
            return False
        if divergence.what == "state" or event & self.open_kinds:
            return divergence.what not in ("state", "picks", "effects")
        if divergence.what == "effects":
            return self._seen(divergence.expected) != self._seen(divergence.actual)
        return True

    def _seen(self, effects: Iterable[Plain]) -> list[Plain]:
        seen = [self._project(effect) for effect in effects if not _effect_names(effect) & self.unseen_effects]
        return seen if self.is_ordered else sorted(seen, key=lambda effect: json.dumps(effect, sort_keys=True))

    def _project(self, effect: Plain) -> Plain:
        match effect:
            case {"notify": {"type": str(name)} as notice}:
                return {"notify": self._without(name, notice)}
            case {"send": {"message": {"type": str(name)} as message, **members}}:
                return {"send": {**members, "message": self._without(name, message)}}
        return effect

    def _without(self, name: str, members: Mapping[str, Plain]) -> Plain:
        """Returns members without those that are unseen in notices or messages of this name."""
        shown = dict(members)
        for path in self.unseen_members.get(name, ()):
            _remove(shown, path.split("."))
        return shown


def _remove(members: dict[str, Plain], path: list[str]) -> None:
    """Removes the member at a path; members on the way to it are copied first."""
    first, *rest = path
    if not rest:
        members.pop(first, None)
    elif isinstance(members.get(first), dict):
        members[first] = dict(members[first])
        _remove(members[first], rest)


def _event_names(line: Line) -> set[str]:
    """Returns the names of an event in a view: its kind, and with the type of its timer, message or command: `recv publish`."""
    shown = line.args.get("message") if line.kind == "sent" and isinstance(line.args, dict) else line.args
    return {line.kind, f"{line.kind} {shown.get('type')}"} if isinstance(shown, dict) else {line.kind}


def _effect_names(effect: Plain) -> set[str]:
    """Returns the names of an effect in a view: what it is, and with the type of what is sent or notified: `send publish`."""
    match effect:
        case {"send": {"message": {"type": str(name)}}}:
            return {"send", f"send {name}"}
        case {"notify": {"type": str(name)}}:
            return {"notify", f"notify {name}"}
        case dict():
            return set(effect)
    return set()


def view(protocol: str) -> View:
    """Loads the differences that the module of a protocol does not detect. Raises `RunFailed` if there is no module."""
    path = module(protocol)
    if path is None:
        raise RunFailed(f"no TLA+ module for traces of {protocol}")
    data = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    members = {notice: frozenset(names) for notice, names in data["unseen_members"].items()}
    return View(
        data["about"],
        frozenset(data["open_kinds"]),
        members,
        unseen_effects=frozenset(data.get("unseen_effects", ())),
        is_ordered=data.get("is_ordered", True),
        open_refusals=frozenset(data.get("open_refusals", ())),
    )


def compare(divergence: Divergence | None, event: int | None, judgement: Judgement, seen_by: View) -> Comparison:
    """Compares the replay's first divergence in a trace, at this event, counted from 1, with TLC's verdict."""
    if divergence is None or event is None:
        return {
            Opinion.ACCEPTED: Comparison.AGREE,
            Opinion.REJECTED: Comparison.DISAGREE,
            Opinion.UNDETERMINED: Comparison.UNDETERMINED,
        }[judgement.opinion]
    if judgement.event is not None and judgement.event <= event:
        return Comparison.AGREE if judgement.event == event else Comparison.DISAGREE
    if event > judgement.events:
        return Comparison.UNDETERMINED
    return Comparison.DISAGREE if seen_by.sees(divergence) else Comparison.UNSEEN
