"""
Tables of vectors generated from the state graphs of a protocol's model: as text, and as files that are written or compared.

`tla/PROTOCOL/constants.json` selects the configurations. `"vectors": "every edge"` is for tiny graphs, whose paths take every
edge; `"vectors": "every step"` is for small ones, whose paths take every local step. The paths that take every edge of these are
too many to keep; the table has their number and digest, and `every_edge` generates them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import Clauses, in_order, load
from peerproof.conformance.diagrams.labels import window_texts
from peerproof.conformance.models.local_steps import LocalSteps, Progress, local_steps
from peerproof.conformance.models.path_cover import StateGraph, covering, state_graph
from peerproof.conformance.suite.locations import path_text, vectors_root
from peerproof.conformance.suite.output import CannotWrite, write_whole
from peerproof.conformance.vectors import model_table
from peerproof.conformance.vectors.model_vectors import kind_of
from peerproof.conformance.vectors.plain_data import Event, pick_first, plain_config
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Sent
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.bounded import NOW, Model, in_flight
from peerproof.spec.properties import InFlight
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla import manifest
from peerproof.tla.manifest import EVERY_EDGE, Configuration, configurations

#: Maximum number of local steps of a table; larger tables would take longer to run than all handwritten vectors.
MOST_STEPS: Final = 2_000
_MOST_SHOWN: Final = 160  #: characters of a line that differs, of each side


class TooManySteps(Exception):
    """The nodes of a configuration take too many steps for a table."""


def select_configurations(protocol: str) -> list[Configuration]:
    """Returns the configurations with tables. Raises BadManifest."""
    return [one for one in configurations(protocol).values() if one.vectors]


def render_table(configuration: Configuration, *, every_edge: bool = False, progress: Progress | None = None) -> str:
    """
    Returns the text of a configuration's table; with `every_edge`, of one whose paths take every edge.

    Raises TooManySteps, and CutShort as `local_steps` does.
    """
    return text(_plain(configuration, every_edge=every_edge, progress=progress))


def text(plain: Mapping[str, Any]) -> str:
    """Renders a table for its file: a line for each row, so that versions can be compared."""
    lines = []
    for name, value in plain.items():
        if isinstance(value, list) and value:
            rows = ",\n".join(_line(row) for row in value)
            lines.append(f"{_line(name)}: [\n{rows}\n]")
        else:
            lines.append(f"{_line(name)}: {_line(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def _plain(configuration: Configuration, *, every_edge: bool, progress: Progress | None) -> dict[str, Any]:
    local = local_steps(_model(configuration), progress)
    graph = state_graph(local)
    if len(local.steps) > MOST_STEPS and not every_edge:
        found = f"the nodes of {configuration.name} take {len(local.steps):,} different steps, a table holds {MOST_STEPS:,}"
        raise TooManySteps(f'{found}; in constants.json, give it narrower bounds, or take "vectors" out of it')
    whole = every_edge or configuration.vectors == EVERY_EDGE
    refused = list(_refusals(local, _calls(configuration.protocol)))
    parts, divided_states = model_table.split_states(local.plain_states)
    plain: dict[str, Any] = {
        "format": model_table.FORMAT,
        "protocol": configuration.protocol,
        "configuration": configuration.name,
        "about": configuration.about,
        "clauses": {},
        "graph": {"worlds": len(graph.edges), "edges": graph.count},
        "every_edge": {},
        "nodes": [_node(local, place) for place in range(len(local.places))],
        "parts": parts,
        "states": [[place, numbers] for place, numbers in zip(local.place_of, divided_states, strict=True)],
        "events": [[event.kind, *(event.plain if event.kind in ("send", "sent") else [event.plain])] for event in local.events],
        "messages": list(zip(local.senders, local.receivers, local.datagrams, strict=True)),
        "unnoticed": local.unnoticed,
        "notices": local.notices,
        "steps": local.steps,
        "refusals": refused,
        "paths": list(_paths(graph, every_edge=whole)),
        "walks": [],
    }
    table = model_table.table_of(json.loads(json.dumps(plain)))
    plain["clauses"] = _clauses(table)
    plain["walks"] = list(_walks(local, table, whole=whole))
    if not whole:
        plain["every_edge"] = fingerprint(_paths(graph, every_edge=True))
    return plain


def _model(configuration: Configuration) -> Model:
    model: Model = PROTOCOLS[configuration.protocol].bounded.load().Model(configuration.constants)
    return model


def _node(local: LocalSteps, place: int) -> dict[str, Any]:
    state, (fresh, effects) = local.first[place], local.start_node(place, None)
    first = {} if state == fresh else {"state": local.beginnings[place]}
    config = plain_config(local.spec, state.config)
    return {"addr": local.places[place], "config": config} | first | {"timers": local.timers(effects)}


def _paths(graph: StateGraph, *, every_edge: bool) -> Iterator[list[model_table.Tokens]]:
    """Yields paths in the form of a table."""
    for path in covering(graph, every_edge=every_edge):
        yield [tokens[0] if len(tokens) == 1 else list(tokens) for tokens in path]


def fingerprint(paths: Iterable[Sequence[model_table.Tokens]]) -> dict[str, Any]:
    """Returns the number of paths, the sum of their edges, and their digest."""
    count, edges, hashed = 0, 0, sha256()
    for path in paths:
        count, edges = count + 1, edges + len(path)
        hashed.update(f"{' '.join('+'.join(map(str, model_table.tokens_of(tokens))) for tokens in path)}\n".encode())
    return {"paths": count, "edges": edges, "sha256": hashed.hexdigest()}


def _calls(protocol: str) -> list[Any]:
    """Returns the calls that a node may get in its first state, in the configurations whose graphs are compared."""
    found: dict[Any, None] = {}
    for model in (_model(one) for one in configurations(protocol).values() if one.expected):
        for _, state in model.nodes:
            projected = (model.project_event(state, event) for _, event in model.offers(state))
            found.update((event.command, None) for event in projected if isinstance(event, Asked))
    return list(found)


def _refusals(local: LocalSteps, calls: Collection[Any]) -> Iterator[tuple[int, list[int]]]:
    """Yields the calls that a node refuses, state by state. A call that the model only leaves out to stay small is no refusal."""
    for number, state in enumerate(local.states):
        refused = []
        for command in calls:
            try:
                local.spec.step(state, Asked(NOW, command), pick_first)
            except NotEnabled:
                refused.append(local.event(Event("call", local.spec.COMMAND.plain(command))))
        if refused:
            yield number, refused


def _clauses(table: model_table.Table) -> dict[str, list[str]]:
    """Returns the kind of each event -> the clauses cited by the code that handles it: `on_round`, for a restart `initial`."""
    clauses = load(table.protocol)
    kinds = sorted({kind_of(table, event) for event in range(len(table.events))})
    refused = [event for _, events in table.refusals for event in events]
    taken = {kind_of(table, event) for event in (*[step.event for step in table.steps], *refused)}
    about = {kind: _citations(clauses, "initial" if kind == "restart" else f"on_{kind}", must=kind in taken) for kind in kinds}
    return {kind: cited for kind, cited in about.items() if cited}


def _citations(clauses: Clauses, function: str, *, must: bool) -> list[str]:
    cited = [clause for clause, places in clauses.code.items() if any(place.within.endswith(f".{function}") for place in places)]
    found = sorted((clause for clause in cited if clause in clauses.items and clauses.items[clause].level), key=in_order)
    if must and not found:
        raise ValueError(f"the specification of {clauses.protocol} has no {function} that cites a clause")
    return found


def _walks(local: LocalSteps, table: model_table.Table, *, whole: bool) -> Iterator[tuple[int, int, int]]:
    """
    Yields which node walks which path as the node under test, and how many steps of it.

    For all edges: every walk that is not a prefix of another one. For all local steps: the walks with a step that no earlier walk
    has.
    """
    walks = [(place, path) for path in range(len(table.paths)) for place in range(len(table.nodes))]
    steps = {walk: tuple(in_time(local, table, *walk)) for walk in walks}
    if whole:
        first = {(place, *taken): (place, path) for (place, path), taken in reversed(steps.items()) if taken}
        ordered = sorted(first.items())
        following = [one for one, _ in ordered[1:]]
        longest = [walk for (one, walk), other in zip(ordered, [*following, ()], strict=True) if other[: len(one)] != one]
        yield from ((place, path, len(steps[place, path])) for path, place in sorted((path, place) for place, path in longest))
        return
    seen: set[int] = set()
    for place, path in walks:
        if not seen.issuperset(taken := steps[place, path]):
            seen.update(taken)
            yield place, path, len(taken)


def in_time(local: LocalSteps, table: model_table.Table, place: int, path: int) -> Iterator[int]:
    """
    Yields the steps of one node in a path, as long as they stay the same when time passes.

    In a model no time passes: any timer may run out at any moment. A node under test has a clock.
    """
    steps = table.projection(place, path)
    state = local.first[place]
    clock = model_table.schedule(table, place, steps)
    for number in steps:
        try:
            at, row = next(clock)
        except model_table.OutOfTime:
            return
        state, sent, effects = _take_step(local, state, row, Instant(at))
        timers, notices = list(local.timers(effects)), list(local.notices_of(state.config, effects))
        expected = [local.messages[message] for message in row.sent], [(event, after) for event, after in row.timers], row.notices
        if (sent, timers, notices) != expected:
            return
        yield number


def _take_step(local: LocalSteps, state: Any, row: model_table.Row, now: Instant) -> tuple[Any, list[InFlight], Collection[Any]]:
    """Returns the state, the messages and all effects of a step at this time."""
    spec, (kind, plain) = local.spec, local.events[row.event]
    match kind:
        case "restart":
            after, effects = local.start_node(local.places.index(state.self_id), plain)
            return after, [], effects
        case "send":
            event: Any = Received(now, plain[0], spec.MESSAGE.decode(bytes.fromhex(plain[1])))
        case "sent":
            event = Sent(now, NodeId(plain[0]), spec.MESSAGE.decode(bytes.fromhex(plain[1])), plain[2])
        case "call":
            event = Asked(now, spec.COMMAND.value(plain))
        case _:
            event = Expired(now, spec.TIMER.value(plain))
    answers = iter(row.picks)

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # the answers are in order
        return tuple(next(answers)[1]) if len(among) > 1 else tuple(among)[:some]

    after, effects = spec.step(state, event, pick)
    return after, list(in_flight(state.self_id, effects, local.places)), effects


@dataclass(frozen=True)
class TableOutcome:
    """The outcome for one file."""

    path: Path | None  #: None if the outcome is about a configuration
    text: str  #: in words
    is_stale: bool  #: the file differs from the generated one and was not written, or the paths differ from the recorded digest


def table_protocols() -> list[str]:
    """
    Returns the protocols that have models, from which tables can be generated.

    >>> "scuttlebutt" in table_protocols()
    True
    """
    return sorted(protocol for protocol in PROTOCOLS if (manifest.root(protocol) / protocol / "constants.json").exists())


def table_names(protocol: str) -> list[str]:
    """
    Returns the configurations of a protocol that have tables. Raises BadManifest.

    >>> "tiny" in table_names("scuttlebutt")
    True
    """
    return [one.name for one in select_configurations(protocol)]


def generate_tables(  # each has its default
    protocol: str,
    root: Path,
    only: Collection[str] = (),
    *,
    check: bool = False,
    every_edge: bool = False,
    on_begin: Callable[[Configuration], Callable[[int, int, int], None]] = lambda _: lambda *_: None,
) -> Iterator[TableOutcome]:
    """
    Writes the tables of a protocol below a root of vectors, or with `check` only compares them; yields the outcome of each.

    Files of configurations that no longer exist are removed, unless `only` selects some. With `every_edge` the paths take every
    edge. `on_begin` returns a callback for the number of states explored and waiting, and the depth. Raises BadManifest,
    TooManySteps, CutShort, CannotWrite.
    """
    folder = root / protocol / "model"
    configurations = select_configurations(protocol)
    names = [one.name for one in configurations]
    for configuration in configurations:
        if configuration.name in (only or names):
            path = folder / f"{configuration.name}.json"
            yield from _table(configuration, path, on_begin(configuration), check=check, every_edge=every_edge)
    for path in sorted(folder.glob("*.json")) if not only else ():
        if path.stem not in names:
            if not check:
                path.unlink()
            yield TableOutcome(path, f"{'belongs to' if check else 'removed: there is'} no configuration", is_stale=check)


def _table(
    configuration: Configuration, path: Path, progress: Callable[[int, int, int], None], *, check: bool, every_edge: bool
) -> Iterator[TableOutcome]:
    text = render_table(configuration, every_edge=every_edge, progress=progress)
    before = path.read_text(encoding="utf-8") if path.exists() else None
    if before == text:
        yield TableOutcome(path, f"unchanged: {_format_counts(text)}", is_stale=False)
        return
    if check:
        again = f"peerproof vectors generate {configuration.protocol} --only {configuration.name}"
        yield TableOutcome(path, f"{_difference(before, text)}; {again} writes it again", is_stale=True)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except (OSError, CannotWrite) as error:
        raise CannotWrite(f"{path_text(path)} cannot be written: {error}") from None
    yield TableOutcome(path, f"written: {_format_counts(text)}", is_stale=False)
    if every_edge and (other := _other_paths(configuration, text)):
        yield TableOutcome(None, f"{configuration.name}  {other}", is_stale=True)


def _other_paths(configuration: Configuration, text: str) -> str | None:
    """Returns how the paths that take every edge differ from the digest in the kept table; None if they agree."""
    kept = vectors_root(configuration.protocol) / configuration.protocol / "model" / f"{configuration.name}.json"
    digest = json.loads(kept.read_bytes())["every_edge"] if kept.exists() else {}
    if digest in ({}, found := fingerprint(json.loads(text)["paths"])):
        return None
    return f"its paths differ from {path_text(kept)}: {found}, not {digest}"


def _format_counts(text: str) -> str:
    table = model_table.table_of(json.loads(text))
    counts = ", ".join(f"{table.count(kind):,} {kind}s" for kind in model_table.KINDS)
    return f"{counts} from {table.graph['worlds']:,} worlds and {table.graph['edges']:,} edges"


def _difference(before: str | None, now: str) -> str:
    if before is None:
        return "is missing"
    old, new = before.splitlines(), now.splitlines()
    at = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    there, here = (lines[at] if at < len(lines) else "(the end)" for lines in (old, new))
    there, here = window_texts(there, here, _MOST_SHOWN)
    return f"differs in line {at + 1}: it has {there}, now it is {here}"
