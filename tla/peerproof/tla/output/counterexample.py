"""
Counterexamples: behaviours that violate a property, as TLC reports them, and as ITF JSON, which other tools read.

ITF is the Informal Trace Format: a list of states, in which sets and functions are objects with a key that begins with `#`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peerproof.tla.output.values import Function, Value, function, order, parse_state

_STATE: Final = re.compile(r"(\d+): <(?P<head>[^\n]*)>\n(?P<state>.*)", re.DOTALL)
_ACTION: Final = re.compile(r"(?:Action )?(\w+)(?:\(.*\))? line \d+")  # newer versions of TLC add the arguments
_INITIAL: Final = "Initial predicate"
#: Larger numbers lose digits in readers that only have floating point.
_SAFE: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class TraceState:
    """A state of a behaviour, and the action that led to it; None for the first state."""

    action: str | None
    variables: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """
    A behaviour that violates a property.

    An invariant or action property is violated in the last state or step. A temporal property is violated by an infinite
    behaviour: it goes from the last state back to `loop` or, if `stutters`, stays there.
    """

    states: tuple[TraceState, ...]
    loop: int | None = None  #: index into `states`
    stutters: bool = False

    @property
    def steps(self) -> int:
        """The number of steps from the initial state."""
        return len(self.states) - 1

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions, in order."""
        return tuple(state.action for state in self.states if state.action is not None)


def read_state(text: str) -> TraceState:
    """Parses a state from the text of message 2217."""
    found = _STATE.match(text)
    if found is None:
        raise ValueError(f"not a state of a counterexample: {text[:80]!r}")
    action = _ACTION.match(found["head"])
    if action is None and not found["head"].startswith(_INITIAL):
        raise ValueError(f"no action in a state of a counterexample: {found['head']!r}")
    return TraceState(action[1] if action else None, parse_state(found["state"]))


def read_initial_state(text: str) -> TraceState | None:
    """Parses the state in message 2107, which reports an initial state that violates an invariant."""
    _, _, state = text.partition("by the initial state:\n")
    return TraceState(None, parse_state(state)) if state else None


def to_itf(example: Counterexample, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the counterexample as ITF; `about` is added to its metadata."""
    trace: dict[str, Any] = {
        "#meta": {"format": "ITF", "format-description": "https://apalache.informal.systems/docs/adr/015adr-trace.html", **about},
        "vars": sorted(example.states[0].variables) if example.states else [],
        "states": [
            {"#meta": {"index": index, "action": state.action}}
            | {name: _to_itf(value) for name, value in sorted(state.variables.items())}
            for index, state in enumerate(example.states)
        ],
    }
    loop = len(example.states) - 1 if example.stutters else example.loop
    return trace if loop is None else trace | {"loop": loop}


def from_itf(trace: Mapping[str, Any]) -> Counterexample:
    """Parses a counterexample that `to_itf` wrote."""
    states = tuple(
        TraceState(
            state.get("#meta", {}).get("action"), {name: _from_itf(value) for name, value in state.items() if name != "#meta"}
        )
        for state in trace["states"]
    )
    loop = trace.get("loop")
    stutters = loop is not None and loop == len(states) - 1
    return Counterexample(states, None if stutters else loop, stutters)


def dumps(trace: Mapping[str, Any]) -> str:
    """Renders ITF as text, with one line per state, so that a diff shows the changed states."""
    states: Sequence[Any] = trace["states"]
    rest = {name: value for name, value in trace.items() if name != "states"}
    lines = ",\n".join("    " + json.dumps(state, ensure_ascii=False) for state in states)
    return json.dumps(rest, indent=2, ensure_ascii=False)[:-2] + ',\n  "states": [\n' + lines + "\n  ]\n}\n"


def _to_itf(value: Value) -> Any:
    match value:
        case str():
            return str(value)  # a model value becomes its name
        case bool():
            return value
        case int():
            return value if abs(value) <= _SAFE else {"#bigint": str(value)}
        case frozenset():
            return {"#set": [_to_itf(element) for element in sorted(value, key=order)]}
        case tuple():
            return {"#tup": [_to_itf(element) for element in value]}
        case Function(rows):
            if all(type(argument) is str and not argument.startswith("#") for argument, _ in rows):
                return {argument: _to_itf(result) for argument, result in rows}
            return {"#map": [[_to_itf(argument), _to_itf(result)] for argument, result in rows]}
    raise TypeError(f"no ITF for {value!r}")


def _from_itf(value: Any) -> Value:
    match value:
        case {"#bigint": digits}:
            return int(digits)
        case {"#set": elements}:
            return frozenset(_from_itf(element) for element in elements)
        case {"#tup": elements}:
            return tuple(_from_itf(element) for element in elements)
        case {"#map": rows}:
            return function({_from_itf(argument): _from_itf(result) for argument, result in rows})
        case dict():
            return function({field: _from_itf(result) for field, result in value.items()})
        case list():
            return tuple(_from_itf(element) for element in value)
    return value
