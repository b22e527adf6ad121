"""
A counterexample of a proof as a run: the state of a node before, what happens, the state after, and the claim that it breaks.

Only one node is known. What a claim says of other nodes, such as the last version that each has written, is on a card of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.diagrams.labels import message_text, plain_text, visible
from peerproof.conformance.diagrams.message_graph import Arrow, Note
from peerproof.conformance.explorer.fields import Fields, changed_fields, fields_of_plain
from peerproof.conformance.explorer.recorded_run import Moment, Problem, Run
from peerproof.conformance.proofs.counterexample import BadFile, read_counterexamples
from peerproof.conformance.traces.event_text import effect_text, event_text
from peerproof.spec.core import EVERYBODY
from peerproof.spec.traces.trace import Line

#: The card with what a claim says of other nodes.
CLUSTER: Final = "(rest of the cluster)"

#: The node of a step that has no state before.
_NODE: Final = "node"

#: Values of fields that say nothing.
_EMPTY: Final = frozenset({"", "[]", "{}", '""', "null", "false", "0"})


def read_runs(path: Path) -> list[Run]:
    """Returns the runs of a file of `peerproof model prove --save`. Raises OSError, BadFile."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadFile(f"it is not JSON: {error}") from None
    found = read_counterexamples(content)
    try:
        return [run_of_counterexample(one) for one in found]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadFile(f"a counterexample is not as peerproof model prove writes it: {error!r}") from None


def run_of_counterexample(found: Mapping[str, Any]) -> Run:
    """Returns the run that shows a counterexample."""
    of = f" (changed on purpose: {found['change']})" if found["change"] else ""
    run = Run(found["protocol"], f"{found['item']} {found['proof']}{of}")
    run.about = f"Claimed of any cluster: {found['statement']} {verdict_text(found)} Only one node is known."
    run.clauses = tuple(found["clauses"])
    run.names = dict(found["names"])
    run.verdict = "refuted" if found["confirmed"] else "not confirmed"
    run.commands = (("prove", f"peerproof model prove {found['protocol']} -k '{found['item']} {found['proof']}' --verbose"),)
    if found["cluster"]:
        run.add_state(CLUSTER, _texts(found["cluster"]).copy, -1)
    for place, step in enumerate(found["steps"]):
        node = step["node"] or _NODE
        run.add_state(node, _card(step, "before").copy, place - 1)
        is_last = place == len(found["steps"]) - 1
        run.moments.append(
            Moment(None, node, event_words(step), _parts(node, step), problem=_problem(found) if is_last else None)
        )
        if step["after"] is not None:
            run.add_state(node, _card(step, "after").copy, place)
    return run


def verdict_text(found: Mapping[str, Any]) -> str:
    """Returns whether the specification, run on these values, breaks the claim."""
    if found["confirmed"]:
        return "The specification, run on these values, breaks it."
    if not found["steps"]:
        return f"Not replayed: {found['doubt']}."
    return f"Not confirmed by the specification on these values: {found['doubt']}."


def words_of_counterexample(found: Mapping[str, Any]) -> list[str]:
    """Returns lines for a terminal: the state before, what happens, what changes, what is sent, the claim that is broken."""
    lines = [verdict_text(found)]
    if not found["steps"]:
        return lines
    short = partial(_with_names, found["names"])
    for step in found["steps"]:
        before, after = _fields(step["before"]), _fields(step["after"])
        if step["before"] is not None:
            shown = [f"{name} = {value}" for name, value in {**_config(step), **before}.items() if value not in _EMPTY]
            lines.append(f"before:  {short('; '.join(shown) or 'a new node')}")
        lines.append(f"event:   {short(event_words(step))}")
        lines += [f"choice:  {short(f'{why}: {plain_text(options)}')}" for why, options in step["picks"]]
        if step["after"] is not None:
            changed = changed_fields(before, after)
            shown = [f"{name} = {'(gone)' if value is None else value}" for name, value in changed.items()]
            shown = shown if step["before"] is not None else [one for one in shown if one.partition(" = ")[2] not in _EMPTY]
            lines.append(f"changed: {short('; '.join(shown) or 'nothing')}")
        lines += [f"effect:  {short(_effect(effect))}" for effect in step["effects"]]
        lines += [f"returns: {short(_text(value))}" for value in step["returned"]]
    if found["cluster"]:
        lines.append(f"others:  {short('; '.join(f'{name} = {value}' for name, value in _texts(found['cluster']).items()))}")
    return [*lines, f"false:   {'; '.join(found['violated'])}"]


def event_words(step: Mapping[str, Any]) -> str:
    """Returns what happens, on one line."""
    kind, args = step["kind"], step["args"]
    if kind == "call":
        return visible(f"{args['function']}({', '.join(map(_text, args['arguments']))})")
    if kind == "event":
        return visible(_text(args))
    if kind == "start":
        return visible(f"start: {_text(args)}")
    return event_text(Line("", "", "", step["node"], 0, 0, kind, step["peer"], args, (), (), None))


def _with_names(names: Mapping[str, str], text: str) -> str:
    for found, name in names.items():
        text = text.replace(found, name)
    return text


def _parts(node: str, step: Mapping[str, Any]) -> tuple[Arrow | Note, ...]:
    """Returns what a message graph shows of a step."""
    first: Arrow | Note = Note(node, event_words(step))
    if step["kind"] == "recv":
        first = Arrow(step["peer"], node, message_text(step["args"]))
    parts = [first, *(_part(node, effect) for effect in step["effects"])]
    return (*parts, *(Note(node, f"returns {_text(value)}") for value in step["returned"]))


def _part(node: str, effect: Any) -> Arrow | Note:
    match effect:
        case {"send": {"to": to, "message": message}}:
            return Arrow(node, "all others" if to == EVERYBODY else to, message_text(message))
    return Note(node, _effect(effect))


def _effect(effect: Any) -> str:
    return visible(_text(effect)) if isinstance(effect, Mapping) and "type" in effect else effect_text(effect)


def _text(value: Any) -> str:
    """Returns plain data on one line: a record as its type with its fields."""
    if isinstance(value, Mapping) and "type" in value:
        fields = [f"{name}: {_text(part)}" for name, part in value.items() if name != "type" and _says_something(part)]
        return f"{value['type']}({', '.join(fields)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return plain_text(value)


def _says_something(part: Any) -> bool:
    return part is not None and part is not False and part not in ([], "")


def _problem(found: Mapping[str, Any]) -> Problem:
    what = f"false: {'; '.join(found['violated'])}"
    if not found["confirmed"]:
        what = f"{what}. {verdict_text(found)}"
    return Problem(what, clauses=tuple(found["clauses"]), verdict="refuted" if found["confirmed"] else "not confirmed")


def _fields(state: Any) -> Fields:
    return {} if state is None else fields_of_plain(state)


def _config(step: Mapping[str, Any]) -> dict[str, str]:
    return {f"config.{name}": value for name, value in _fields(step["config"]).items()}


def _card(step: Mapping[str, Any], when: str) -> dict[str, str]:
    return {} if step[when] is None else {**_config(step), **_fields(step[when])}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {visible(name): visible(_text(value)) for name, value in values.items()}
