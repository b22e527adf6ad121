"""
The failing run of a model as a message graph.

Runs of DistKV's models with time, `Pinging` and `Recovering`, come from TLC alone. Each of their steps shows its time, in clocks
from the start; the passing of time is not a step of its own. TLC gives only the name of a step, so its content is inferred from
the states before and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.models import counterexamples
from peerproof.conformance.models.run_diagram import value_text
from peerproof.spec.distkv.model.notation import chain_text, change_texts, nodes_text, pairs_text
from peerproof.spec.model.bounded import FAIL, LOSE
from peerproof.tla.manifest import Model
from peerproof.tla.output.counterexample import Counterexample, TraceState
from peerproof.tla.output.values import Function, Value


@dataclass(frozen=True)
class Failing:
    """The run in which a model fails."""

    graph: MessageGraph
    steps: int
    ends: str  #: the end of the run, as the end of a sentence

    @property
    def length(self) -> str:
        """The length of the run, as part of a sentence."""
        return f"in {pluralize(self.steps, 'step')}{self.ends}"


def failing(model: Model, without: Collection[str] = ()) -> Failing:
    """
    Draws how a model fails: the shortest run if the explorer finds one, else TLC's stored counterexample.

    Nodes are drawn without the members named in `without`. Raises OSError if the counterexample does not exist, and Unlike.
    """
    if not is_answered(model):
        return of_run(model, counterexamples.load_counterexample(model), without)
    answer = counterexamples.ask_explorer(model)
    ends = f", then for ever within {pluralize(answer.trap.size, 'state')}" if answer.trap else ""
    return Failing(counterexamples.draw_path(answer.graph, answer.path, without), len(answer.path), ends)


def is_answered(model: Model) -> bool:
    """
    Returns True if the explorer's run is the one to draw.

    If the explorer and TLC find it at the same depth, TLC's stored run is drawn.
    """
    only_tlc = has(model.module) or not is_walked(model)
    return not only_tlc and counterexamples.is_asked(model) and not (model.by == "tlc" and model.verdict == "invariant")


def of_run(model: Model, example: Counterexample, without: Collection[str] = ()) -> Failing:
    """Draws a run of TLC. Raises Unlike if the Python specification does not do the same."""
    if has(model.module):
        ends = ", and then nothing happens" if example.stutters else after(example.loop)
        return Failing(draw_run(model.module, model.configuration.constants, example.states), example.steps, ends)
    if not is_walked(model):
        return Failing(draw_trace(example.states, without), example.steps, "")
    graph, path = counterexamples.replay(model, example)
    return Failing(counterexamples.draw_path(graph, path, without), len(path), after(example.loop))


def of_states(example: Counterexample, without: Collection[str] = ()) -> Failing:
    """Draws a run of any module from its states alone. Raises Unlike, or another error, if its variables have another form."""
    ends = ", and then nothing happens" if example.stutters else after(example.loop)
    return Failing(draw_trace(example.states, without), example.steps, ends)


def after(loop: int | None) -> str:
    """Describes the loop of a run, if it has one."""
    return "" if loop is None else f", then again and again from after step {loop}"


def pluralize(number: int, what: str) -> str:
    """Renders a number with its noun."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def is_walked(model: Model) -> bool:
    """Returns True if the model's runs exist in the Python explorer; otherwise only TLC has them."""
    return model.behaviour in counterexamples.variants_of(model.protocol).BEHAVIOURS


def draw_trace(run: tuple[TraceState, ...], without: Collection[str]) -> MessageGraph:
    """Draws a run of TLC: of nodes and the messages under way, or of one message on its way through a ring."""
    first = run[0].variables
    if "net" in first:
        rows = {name: _rows(value) for name, value in first.items() if isinstance(value, Function | tuple)}
        if not rows:
            raise counterexamples.Unlike("no variable of the run is a function of the nodes")
        nodes = rows["up"] if "up" in rows else next(iter(rows.values()))
        shown = [name for name, values in rows.items() if values.keys() == nodes.keys() and name not in without]
        happenings = [each for number in range(1, len(run)) for each in _step(number, run[number - 1], run[number], shown)]
        return MessageGraph(tuple(map(_node_text, nodes)), tuple(happenings))
    hops = run[-1].variables["path"]
    assert isinstance(hops, tuple)
    key, ends = value_text(first["key"]), run[-1].variables["done"]
    ring = tuple(map(_node_text, sorted(first["ring"])))
    arrows = [Arrow(_node_text(one), _node_text(other), f"{n}. key {key}") for n, (one, other) in enumerate(pairwise(hops), 1)]
    return MessageGraph(ring, (*arrows, Note(_node_text(hops[-1]), f"{'delivers' if ends else 'has'} key {key}")))


def _node_text(node: Any) -> str:
    return f"node {node}"


def _step(number: int, before: TraceState, after: TraceState, shown: Collection[str]) -> Iterator[Arrow | Note]:
    old, new = before.variables, after.variables
    gone, sent = (_messages(one["net"]) - _messages(other["net"]) for one, other in ((old, new), (new, old)))
    if gone and all(str(message[2]) == str(other[2]) and message[:2] == other[:2] for message in gone for other in sent) and sent:
        (message,) = sent
        yield Note(_node_text(message[0]), f"{number}. {after.action}: {' '.join(map(value_text, message[2:]))}")
    elif gone:
        for message in gone:
            text = " ".join(map(value_text, message[2:]))
            yield Arrow(_node_text(message[0]), _node_text(message[1]), f"{number}. {text}", lost=after.action in (LOSE, FAIL))
    else:
        yield Note("", f"{number}. {after.action}")
    rows = {name: (_rows(old[name]), _rows(new[name])) for name in shown}
    for node in next(iter(rows.values()))[0] if rows else ():
        changed = [f"{name} = {value_text(now[node])}" for name, (was, now) in rows.items() if was[node] != now[node]]
        if changed:
            yield Note(_node_text(node), ", ".join(changed))


def _messages(net: Value) -> frozenset[Any]:
    assert isinstance(net, frozenset)
    return net


Happenings = Iterator[Arrow | Note]
State = Mapping[str, Any]

#: Variables that have a value for each node.
_OF_NODES: Final = frozenset(
    {"status", "up", "tock", "last", "heard", "due", "start", "since", "judged", "apart"}
    | {"ticks", "superseded", "has", "recovery", "wanted", "timers", "got"}
)


def draw_run(module: str, constants: Mapping[str, Any], run: tuple[TraceState, ...]) -> MessageGraph:
    """Draws a run of a module in `_DRAWN`."""
    states = [_state(each) for each in run]
    actions = [str(each.action) for each in run[1:]]
    names = tuple(f"n{node}" for node in sorted(states[0]["last"]))
    return MessageGraph(names, tuple(_DRAWN[module](constants, states, actions)))


def has(module: str) -> bool:
    """Returns True if `draw_run` supports this module."""
    return module in _DRAWN


def _state(state: TraceState) -> State:
    return {name: _rows(value) if name in _OF_NODES else value for name, value in state.variables.items()}


def _rows(value: Any) -> Any:
    """Returns a function on nodes as a dict."""
    return dict(value.rows) if isinstance(value, Function) else dict(enumerate(value, 1))


def _steps(constants: Mapping[str, Any], states: list[State], actions: list[str]) -> Iterator[tuple[int, str, str, State, State]]:
    """Yields each step except ticks of the clock: number, beginning of its line, name, and the states before and after it."""
    units = 0
    for number, (action, (was, now)) in enumerate(zip(actions, pairwise(states), strict=True), 1):
        if action == "Tick":
            units += 1
        else:
            yield number, f"{number}. at {units / constants['Clock']:g}", action, was, now


def _later(sent: int | None, number: int) -> str:
    return f" (sent in {sent})" if sent not in (None, number - 1) else ""


def _pinging(constants: Mapping[str, Any], states: list[State], actions: list[str]) -> Happenings:
    states = list(_accumulate_tocks(states, actions))
    for node, last in states[0]["last"].items():
        text = f"last {_ping(*last)}" if last else "no last"
        yield Note(f"n{node}", text if states[0]["status"][node] == "up" else "not there yet")
    sent: dict[Any, int] = {}
    for number, begin, action, was, now in _steps(constants, states, actions):
        yield from _draw_step(number, begin, action, was, now, sent)
        sent |= {(to, chain, tock): number for to, _, chain, tock, again in now["net"] - was["net"] if not again}
    for to, _, chain, tock, again in sorted(states[-1]["net"]):
        yield Note(f"n{chain[0][0][0]}", f"still under way to n{to}: ping: {_ping(chain, tock)}{' (once more)' if again else ''}")


def _accumulate_tocks(states: list[State], actions: list[str]) -> Iterator[State]:
    """Makes tocks cumulative: the model counts them anew after each step, from the lowest that is left; nodes count on."""
    yield states[0]
    above = 0
    for action, (was, now) in zip(actions, pairwise(states), strict=True):
        there = [node for node, status in now["status"].items() if status != "gone"]
        alone = action in ("Ping", "Start") and len(there) == 1  # otherwise another node does not move
        above += max((was["tock"][node] + alone - now["tock"][node] for node in there), default=0)
        yield {
            **now,
            "last": {node: (last[0], last[1] + above) if last else last for node, last in now["last"].items()},
            "net": frozenset((to, left, chain, tock + above, again) for to, left, chain, tock, again in now["net"]),
        }


def _ping(chain: Any, tock: int) -> str:
    return f"{chain_text(chain)} tock {tock}"


def _draw_step(number: int, begin: str, action: str, was: State, now: State, sent: Mapping[Any, int]) -> Happenings:
    acting = [
        node for node in was["last"] if any(was[each][node] != now[each][node] for each in ("last", "due", "start", "judged"))
    ]
    match action:
        case "Split":
            yield Note("", f"{begin}: the network is split")
        case "Heal":
            yield Note("", f"{begin}: the split is over")
        case "Join" | "Crash":
            (node,) = (node for node in was["status"] if was["status"][node] != now["status"][node])
            yield Note(f"n{node}", f"{begin}: {'starts' if action == 'Join' else 'goes'}")
        case "Ping" | "Start":
            (node,) = (node for node in acting if now["status"][node] == "up")
            yield Note(f"n{node}", f"{begin}: {action}, last {_ping(*now['last'][node])}")
        case _:
            # A copy that has arrived before stays under way as it is.
            taken = was["net"] - now["net"] or {message for message in was["net"] if message[4] and message[0] in acting}
            to, _, chain, tock, _ = min(taken, key=lambda message: message[3])
            text = f"{begin}: ping: {_ping(chain, tock)}{_later(sent.get((to, chain, tock)), number)}"
            yield Arrow(f"n{chain[0][0][0]}", f"n{to}", text, lost=action == "Lose")
            parts = [f"last {_ping(*now['last'][to])}"] if was["last"][to] != now["last"][to] else []
            parts += ["sees a split"] if was["judged"][to] != now["judged"][to] else []
            yield from (Note(f"n{to}", ", ".join(parts)) for _ in parts[:1])


def _recovering(constants: Mapping[str, Any], states: list[State], actions: list[str]) -> Happenings:
    entries = {e: (tuple(zip(flat[::2], flat[1::2], strict=True)), bool(cut)) for e, cut, *flat in constants["Entries"]}

    def content(kind: str, said: Any) -> str:
        match kind:
            case "ping":
                return f"ping: {_ping(*said)}"
            case "ticks":
                return f"info: ticks {pairs_text(said[0])}{f', reason {chain_text(said[1][0])}' if said[1] else ''}"
            case "update":
                return f"update: /{said} {chain_text(entries[said])}"
        return f"info: {kind} {pairs_text(said[1])}"

    first = states[0]
    for node, last in first["last"].items():
        parts = [f"last {_ping(*last)}", *(f"/{e} {chain_text(entries[e])}" for e in sorted(first["has"][node]))]
        parts += [f"superseded {pairs_text(first['superseded'][node])}"] if first["superseded"][node] else []
        yield Note(f"n{node}", ", ".join(parts))
    sent: dict[Any, int] = {}
    for number, begin, action, was, now in _steps(constants, states, actions):
        if action in ("Receive", "Lose"):
            ((to, _, sender, kind, said, _),) = was["net"] - now["net"]
            text = f"{begin}: {content(kind, said)}{_later(sent.get((sender, kind, said)), number)}"
            yield Arrow(f"n{sender}", f"n{to}", text, lost=action == "Lose")
        for node in was["last"]:
            parts = [f"/{e} {chain_text(entries[e])}" for e in sorted(now["has"][node] - was["has"][node])]
            parts += _news(node, was, now)
            if parts and action in ("Expire", "Crash"):
                parts.insert(0, f"{begin}: {_due(node, was, now)}")
            yield from (Note(f"n{node}", ", ".join(parts)) for _ in parts[:1])
        sent |= {(sender, kind, said): number for _, _, sender, kind, said, _ in now["net"] - was["net"]}


def _due(node: int, was: State, now: State) -> str:
    """Describes the timer that has expired, or that the node has gone."""
    if was["up"][node] != now["up"][node]:
        return "goes"
    names = {name for name, left in was["timers"][node] - now["timers"][node] if left == 0}
    return f"{'over' if 'over' in names else min(names)} is due"


def _news(node: int, was: State, now: State) -> Iterator[str]:
    """Yields what has changed at a node, except its entries."""
    for name in ("last", "ticks", "superseded", "wanted"):
        if was[name][node] != now[name][node] and now["up"][node]:
            yield from change_texts(name, was[name][node], now[name][node])
    before, recovery = was["recovery"][node], now["recovery"][node]
    if recovery and not before:
        mine, side, lost, _ = recovery
        yield f"recovers: mine {chain_text(mine)}, side {nodes_text(side)}, {'lost' if lost else 'won'}"
    elif recovery and recovery[3] != before[3]:
        yield f"covered {pairs_text(recovery[3])}"
    names, names_before = ({name for name, _ in state["timers"][node]} for state in (now, was))
    if names != names_before or was["up"][node] != now["up"][node]:
        yield from change_texts("timers", (), names)
    if any(who == node for who, *_ in now["sent"] - was["sent"]) and (twice := now["twice"] - was["twice"]):
        yield f"the second {' and '.join(sorted(twice))} of its side"


_DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any], list[State], list[str]], Happenings]]] = {
    "MCPinging": _pinging,
    "MCRecovering": _recovering,
}
