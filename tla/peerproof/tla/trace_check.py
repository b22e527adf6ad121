"""
Traces judged by TLC: a second opinion on the replay, by the operators that are model-checked.

One Java machine goes through all traces, one event after the other (`tla/scuttlebutt/ScuttlebuttTrace.tla`), and reads them
while it runs. There is a verdict on a trace only if TLC has come to the end of all of them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from peerproof.tla import tlc
from peerproof.tla.manifest import root
from peerproof.tla.outcome import Progress, RunFailed, Verdict
from peerproof.tla.tools import Tools
from peerproof.tla.trace_data import Trace, TraceData

#: Where the class that reads traces is.
CLASSES: Final = "java"

_DEPARTS: Final = re.compile(r'<<"departs", (\d+), (\d+), (\d+), "(\w+)">>')


class Opinion(Enum):
    """What TLC says of a trace."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What TLC says of one trace, and of which part of it."""

    run: str
    node: str
    opinion: Opinion
    events: int  #: those that it was told of
    seq: int | None = None  #: of the first event that is no step of the module
    what: str | None = None  #: what is wrong with it: "seq", "args", "picks", "refused" or "effects"
    why: str | None = None  #: why it is undetermined


def module(protocol: str) -> Path | None:
    """The module that judges traces of a protocol, if there is one."""
    path = root() / protocol / f"{protocol.capitalize()}Trace.tla"
    return path if path.is_file() else None


def judge(
    tools: Tools,
    protocol: str,
    data: TraceData,
    on_progress: Callable[[Progress], None] = lambda _: None,
    *,
    seconds: float | None = None,
) -> list[Judgement]:
    """
    What TLC says of each trace, in the order of their first lines. Raises `RunFailed` if it has no verdict.

    Of a trace only the first departure counts.
    """
    path = module(protocol)
    if path is None:
        raise RunFailed(f"there is no TLA+ module for traces of {protocol}: {protocol}/{protocol.capitalize()}Trace.tla")
    departures: dict[int, tuple[int, str]] = {}

    def hear(line: str) -> None:
        if found := _DEPARTS.fullmatch(line.strip()):
            departures.setdefault(int(found[2]), (int(found[3]), found[4]))

    with tempfile.TemporaryDirectory(prefix="peerproof-traces-") as folder:
        data.write(Path(folder))
        what = tlc.Run(
            module=path,
            configuration=path.with_suffix(".cfg").read_text(encoding="utf-8"),
            library=(root(),),
            classes=(root() / CLASSES, Path(folder)),
            seconds=seconds,
        )
        result = tlc.run(tools, what, on_progress, hear)
    if result.verdict is not Verdict.SUCCESS or result.distinct != data.events + 1:
        raise RunFailed(f"TLC has seen {result.distinct - 1} of {data.events} events ({result.verdict.value})")
    return [_judgement(trace, departures.get(number)) for number, trace in enumerate(data.traces.values(), start=1)]


def _judgement(trace: Trace, departure: tuple[int, str] | None) -> Judgement:
    told = len(trace.events)
    if departure is not None:
        return Judgement(trace.run, trace.node, Opinion.REJECTED, told, *departure)
    if trace.ends is not None:
        return Judgement(trace.run, trace.node, Opinion.UNDETERMINED, told, why=trace.ends)
    return Judgement(trace.run, trace.node, Opinion.ACCEPTED, told)
