"""
The invariants of DistKV, of one node's state and of one message; and any node that satisfies them.

What a node cannot see is in functions that only grow: the last tick that each node has given to a change; the path, value and
tock of each change; the best change of each entry, which wins over all others; and which changes a node has received or made.

A chain of changes has any number of elements: its head, and any two others, which stand for all. Where code looks for a node's
element, it is one of these, or there is none. Nodes, paths and values are only compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.distkv.tables import (
    AnyNames,
    AnyPhase,
    AnyRows,
    AnySets,
    AnyState,
    AnyTicks,
    Lazy,
    Row,
    any_config,
    any_truth,
)
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, term_of
from peerproof.spec.distkv import Info, Ping, Recovery, Update
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entries, Entry
from peerproof.spec.distkv.messages import Loaded
from peerproof.spec.distkv.ranges import TICK_MAX

_INT, _BOOL = smt.IntSort(), smt.BoolSort()

Value: Final = smt.DeclareSort("Value")

#: The value Null, of a deleted entry.
NULL: Final = smt.Const("null", Value)

#: The configured value of the root.
ROOT_VALUE: Final = smt.Const("configured root", Value)

#: What is claimed, by name.
Goals = dict[str, Term]

#: The groups of claims.
ISSUED, ORDER, BEST, KEPT = "issued", "order", "best", "kept"

_Of = Callable[[Term, Term], Term]


class Place(Number):
    """A path, by its number."""


class Change(NamedTuple):
    """A change: the node that made it, and its tick."""

    node: Term
    tick: Term


@dataclass(frozen=True)
class Cluster:
    """What the rest of the cluster has: functions that only grow."""

    issued: Callable[[Term], Term]  #: node -> its last tick
    path: _Of  #: node, tick -> the path of the change
    value: _Of
    tock: _Of
    best_node: Callable[[Term], Term]  #: path -> the change that wins over all others of this path
    best_tick: Callable[[Term], Term]

    def is_issued(self, change: Change) -> Term:
        """States that a node has made the change."""
        return smt.And(change.tick >= 1, change.tick <= self.issued(change.node))

    def wins(self, one: Change, other: Change) -> Term:
        """States that one change wins over another: by the higher tock, then the higher tick, then the lower name. [DA-01]"""
        mine, its = self.tock(*one), self.tock(*other)
        by_name = smt.And(one.tick == other.tick, one.node < other.node)
        return smt.Or(mine > its, smt.And(mine == its, smt.Or(one.tick > other.tick, by_name)))

    def best(self, path: Term) -> Change:
        """Returns the best change of a path; its tick is 0 if there is none."""
        return Change(self.best_node(path), self.best_tick(path))

    def is_best(self, change: Change) -> Term:
        """States that a change is the best of its path."""
        return same(change, self.best(self.path(*change)))

    def is_made(self, path: Term) -> Term:
        """States that the best change of a path was made, if there is one."""
        best = self.best(path)
        return smt.Implies(best.tick >= 1, smt.And(self.is_issued(best), self.path(*best) == path))

    def is_defined(self, change: Change) -> Term:
        """States what the best change of the path of a change is, by definition."""
        path = self.path(*change)
        best = self.best(path)
        wins = smt.Or(same(change, best), self.wins(best, change))
        return smt.Implies(self.is_issued(change), smt.And(self.is_issued(best), self.path(*best) == path, wins))

    def rises(self, one: Change, other: Change) -> Term:
        """States that the tock of a node's changes rises with its ticks."""
        both = smt.And(self.is_issued(one), self.is_issued(other), one.node == other.node, one.tick < other.tick)
        return smt.Implies(both, self.tock(*one) < self.tock(*other))

    def after(self, change: Change, path: Term, value: Term, tock: Term) -> Cluster:
        """Returns the cluster after a change."""

        def written(before: _Of, new: Term) -> _Of:
            return lambda n, t: smt.If(same(Change(n, t), change), new, before(n, t))

        grown = replace(
            self,
            issued=lambda n: smt.If(n == change.node, change.tick, self.issued(n)),
            path=written(self.path, path),
            value=written(self.value, value),
            tock=written(self.tock, tock),
        )
        best = self.best(path)
        is_better = smt.Or(best.tick < 1, grown.wins(change, best))
        return replace(
            grown,
            best_node=lambda p: smt.If(smt.And(p == path, is_better), change.node, self.best_node(p)),
            best_tick=lambda p: smt.If(smt.And(p == path, is_better), change.tick, self.best_tick(p)),
        )


def same(one: Change, other: Change) -> Term:
    """States that two changes are the same."""
    return smt.And(one.node == other.node, one.tick == other.tick)


def change_of(element: Element) -> Change:
    """Returns the change of an element of a chain."""
    return Change(term_of(element.node), term_of(element.tick))


def any_cluster() -> Cluster:
    """Returns any cluster."""
    return Cluster(
        smt.Function("last tick of", _INT, _INT),
        *(smt.Function(f"{name} of", _INT, _INT, sort) for name, sort in (("path", _INT), ("value", Value), ("tock", _INT))),
        *(smt.Function(f"{name} of the best of", _INT, _INT) for name in ("node", "tick")),
    )


_CLUSTER: Final = any_cluster()


# -- what holds of chains and messages --------------------------------------------------------------------------------


def of_chain(cluster: Cluster, at: Term, chain: Chain) -> dict[str, Goals]:
    """Returns what holds of a chain of changes of a path, by group."""
    head, *others = map(change_of, chain.elements)
    every = [head, *others]
    return {
        ISSUED: {
            "each change on a chain was made": smt.And(*map(cluster.is_issued, every)),
            "and is of this path": smt.And(*(cluster.path(*one) == at for one in every)),
        },
        ORDER: {
            "tocks fall along a chain": smt.And(*(cluster.tock(*one) < cluster.tock(*head) for one in others)),
            "no node is twice on a chain": smt.Distinct(*(one.node for one in every)),
        },
    }


def of_entry(cluster: Cluster, at: Term, entry: Entry | Update) -> dict[str, Goals]:
    """Returns what holds of an entry, and of an update, by group."""
    head, found = change_of(entry.chain.head), of_chain(cluster, at, entry.chain)
    value, tock = cluster.value(*head) == entry.value, cluster.tock(*head) == term_of(entry.tock)
    found[ISSUED]["path, value and tock are those of the change"] = smt.And(value, tock)
    return found


def of_pings(cluster: Cluster, chain: Chain | None) -> Term:
    """States that each tick on a chain of pings is that of a change, or below."""
    elements = () if chain is None else chain.elements
    changes = [change_of(one) for one in elements if one.tick is not None]
    return smt.And(*(smt.And(one.tick >= 0, one.tick <= cluster.issued(one.node)) for one in changes))


def of_known(cluster: Cluster, sets: Any, change: Change) -> dict[str, Goals]:
    """Returns what holds of changes that are reported as superseded, for any change."""
    is_reported = _has(sets, change)
    return {
        ISSUED: {"what is reported as known was made": smt.Implies(is_reported, cluster.is_issued(change))},
        BEST: {"what is reported as superseded is not the best": smt.Implies(is_reported, smt.Not(cluster.is_best(change)))},
    }


def of_message(cluster: Cluster, message: Any, change: Change) -> dict[str, Goals]:
    """Returns what holds of a message, or of a download, by group; of its sets, for any change."""
    match message:
        case Update():
            return of_entry(cluster, term_of(message.path), message)
        case Ping():
            return {ISSUED: {"a ping shows ticks of changes": of_pings(cluster, message.chain)}}
        case Info() | Loaded():
            sets = message.known if isinstance(message, Info) else message.superseded
            found = of_known(cluster, sets, change)
            ticks = [smt.And(term_of(tick) <= cluster.issued(term_of(node))) for node, tick in message.ticks.items()]
            found[ISSUED]["the ticks of a message are those of changes"] = smt.And(*ticks)
    if isinstance(message, Loaded):
        for entry in message.entries:
            for group, goals in of_entry(cluster, term_of(entry.path), entry).items():
                found.setdefault(group, {}).update(goals)
            found[ORDER]["the tock of a download is the highest"] = term_of(entry.tock) <= term_of(message.tock)
    else:
        chains = smt.And(of_pings(cluster, message.chain), of_pings(cluster, message.reason))
        found[ISSUED]["the chains of an info have ticks of changes"] = chains
        found[ISSUED]["what is asked for was made"] = smt.Implies(_has(message.missing, change), cluster.is_issued(change))
    return found


def _has(sets: Any, change: Change) -> Term:
    """States that a change is in sets of ticks, of which there may be none."""
    return sets.holds(*change) if isinstance(sets, AnySets) else smt.BoolVal(val=False)


def any_row(when: str = "") -> Callable[[Term], Row]:
    """Returns any entries, by path."""
    sorts = {"has": _BOOL, "node": _INT, "tick": _INT, "value": Value, "tock": _INT}
    parts = [smt.Function(f"{name} of the entry{when}", _INT, sort) for name, sort in sorts.items()]
    return lambda at: Row(*(part(at) for part in parts))


# -- a node -----------------------------------------------------------------------------------------------------------


#: The facts about terms, by the numbers of these.
_FACTS: Final[dict[tuple[Any, ...], list[Term]]] = {}


class Node:
    """Any node of any cluster on one path, in a state that satisfies the invariant."""

    def __init__(self, path: Path, *, lost: bool = False) -> None:
        self.path = path
        self.lost = lost  #: whether it may have lost its disk
        self.cluster = _CLUSTER
        self.id = Number(path.integer("this node"))
        self.change = Change(path.integer("any node"), path.integer("any tick"))  #: what is claimed of it holds of all
        self.at = Place(path.integer("any path"))
        self.has_received: _Of = smt.Function("has received", _INT, _INT, _BOOL)  #: the changes that it has received or made
        self._entries: dict[Term, Entry] = {}
        self._known_of: set[tuple[Any, ...]] = set()
        self._row_of = any_row()
        self._tick_of = smt.Function("tick", _INT, _INT)
        self._known = smt.Function("knows", _INT, _INT, _BOOL)
        self.start = self._any_state()
        self.about(self.change)
        path.know(self._head_was_made(self.at.term))

    # -- what is known of it --------------------------------------------------------------------------------------

    def about(self, change: Change) -> None:
        """Knows what holds of a change and this node."""
        self.path.note(change)
        self.path.prefer_small(lambda: (*change, self.cluster.issued(change.node), self.cluster.tock(*change)))
        self._know_once("change", change, lambda: self._facts(change))

    def _know_once(self, about: str, terms: Iterable[Term], facts: Callable[[], list[Term]]) -> None:
        """Knows facts about these terms, once on a path; they are the same on all paths, and made once."""
        key = (about, self.lost, *(term.id for term in terms))
        if key not in self._known_of:
            self._known_of.add(key)
            if key not in _FACTS:
                _FACTS[key] = facts()
            self.path.know(*_FACTS[key])

    def _facts(self, change: Change) -> list[Term]:
        cluster, (node, tick) = self.cluster, change
        at, last, known, received = cluster.path(*change), self._tick_of(node), self._known(*change), self.has_received(*change)
        row = self._row_of(at)
        head = Change(row.node, row.tick)
        is_own = smt.And(node == self.id.term, cluster.is_issued(change))
        own = smt.And(known, received, cluster.tock(*change) <= self.start.tock.term)
        return [
            *(cluster.is_defined(change), cluster.issued(node) >= 0, last >= -1, last <= cluster.issued(node)),
            *(self._head_was_made(at), cluster.is_made(at)),
            smt.Implies(known, smt.And(tick >= 1, tick <= last)),
            smt.Implies(smt.And(known, cluster.is_best(change)), smt.And(row.has, same(head, change))),
            smt.Implies(received, smt.And(cluster.is_issued(change), row.has, smt.Not(cluster.wins(change, head)))),
            smt.Or(self.lost, smt.Implies(is_own, own)),
        ]

    def _head_was_made(self, at: Term) -> Term:
        row = self._row_of(at)
        head = Change(row.node, row.tick)
        return smt.Implies(
            row.has, smt.And(self.has_received(*head), self.cluster.is_issued(head), self.cluster.path(*head) == at)
        )

    def about_ticks(self, node: Term) -> None:
        """Knows what holds of the tick of a node."""
        self.path.note(Change(node, smt.IntVal(0)))
        last, issued = self._tick_of(node), self.cluster.issued(node)
        self.path.know(issued >= 0, last >= -1, last <= issued)

    def know_entry(self, at: Term, entry: Entry | Update) -> None:
        """Knows what holds of an entry, or of an update, and of each change on its chain."""
        terms = [at, *(term for element in entry.chain.elements for term in change_of(element))]
        self._know_once(
            "entry",
            terms,
            lambda: [goal for goals in of_entry(self.cluster, at, entry).values() for goal in goals.values()],
        )
        for element in entry.chain.elements:
            self.about(change_of(element))
        self.about(self.cluster.best(at))

    def know_message(self, message: Any) -> None:
        """Knows what holds of a message."""
        for goals in of_message(self.cluster, message, self.change).values():
            self.path.know(*goals.values())
        for update in getattr(message, "entries", (message,)):
            if isinstance(update, Update):
                self.know_entry(term_of(update.path), update)

    # -- states ---------------------------------------------------------------------------------------------------

    def _any_state(self) -> Any:
        path, own = self.path, self.id.term
        own_tick, issued = self._tick_of(own), self.cluster.issued(own)
        path.know(issued >= 0, issued <= TICK_MAX, own_tick >= -1, own_tick <= issued)
        if not self.lost:
            path.know(smt.If(own_tick < 0, 0, own_tick) == issued)
        some = Number(path.integer("a member"))
        self.about_ticks(some.term)
        rows: Any = AnyRows(path, self._row_of, self._any_entry, (self.at,))
        known: Any = AnySets(path, self._known, ((Number(self.change.node), None),))
        fields = {
            "self_id": self.id,
            "config": any_config(path, root=Lazy(lambda: None if any_truth(path, "no root") else ROOT_VALUE)),
            "phase": AnyPhase(path),
            "tock": Number(path.integer("tock", 0, TICK_MAX)),
            "ticks": AnyTicks(self._tick_of, (some,)),
            "entries": Entries(rows, known),
            "last": Lazy(lambda: None if any_truth(path, "no last ping") else self.any_ping("last")),
            "heard": AnyTicks(smt.Function("heard", _INT, _INT), (some,)),
            "tried": AnyNames(path),
            "source": Lazy(lambda: None if any_truth(path, "no source") else self.any_node("source")),
            "wanted": self.any_sets("wanted"),
            "newcomer": Lazy(lambda: None if any_truth(path, "no newcomer") else self.any_chain("newcomer")),
            "recovery": Lazy(lambda: None if any_truth(path, "no recovery") else self._any_recovery()),
            "timers": AnyNames(path),
        }
        return AnyState(path, fields)

    def later(self, state: Any, *fields: str) -> Any:
        """Returns a state with any values of these fields that satisfy the invariant, and any later tock."""
        made = {
            "last": lambda: self.any_ping("new last"),
            "newcomer": lambda: self.any_chain("new newcomer"),
            "recovery": self._any_recovery,
            "source": lambda: None if any_truth(self.path, "no new source") else self.any_node("new source"),
        }
        tock = Number(smt.Int(self.path.fresh("later tock")))
        self.path.know(tock.term >= state.tock.term, tock.term <= TICK_MAX)
        return state.replaced(tock=tock, **{name: Lazy(made[name]) for name in fields})

    def later_entries(self, state: Any, new: Iterable[Change] = (), cluster: Cluster | None = None) -> Any:
        """Returns a state with any entries that a part may leave."""
        row, known = any_row(self.path.fresh(" later")), smt.Function(self.path.fresh("later knows"), _INT, _INT, _BOOL)
        rows: Any = AnyRows(self.path, row, _unread)
        sets: Any = AnySets(self.path, known, ((Number(self.change.node), None),))
        after = state.replaced(entries=Entries(rows, sets))
        self.path.know(*self.goals(after, cluster or self.cluster, new, (ISSUED, ORDER, BEST, KEPT)).values())
        return after

    def copied(self) -> Any:
        """Returns the state with tables of their own, so that all is claimed of it."""
        entries, ticks = self.start.entries, self.start.ticks
        return self.start.replaced(entries=Entries(*entries), ticks=AnyTicks(ticks.at, ticks.members))

    def _any_entry(self, at: Number) -> Entry:
        """Returns the entry at a path, where there is one; the same one each time."""
        if at.term not in self._entries:
            self._entries[at.term] = self._make_entry(at)
        return self._entries[at.term]

    def _make_entry(self, at: Number) -> Entry:
        row = self._row_of(at.term)
        head = Element(Number(row.node), Number(row.tick))  # type: ignore[arg-type]
        others = [
            Element(*(Number(smt.Function(f"{part} of {name}", _INT, _INT)(at.term)) for part in ("node", "tick")))  # type: ignore[arg-type]
            for name in ("one behind", "another behind")
        ]
        entry = Entry(Chain((head, *others), smt.Bool("it was cut")), row.value, Number(row.tock))  # type: ignore[arg-type]
        self.path.note((at.term, entry))
        self.know_entry(at.term, entry)
        self.path.know(row.tock <= self.start.tock.term)
        self.path.know(*(self._known(*change_of(element)) for element in entry.chain.elements))
        return entry

    def _any_recovery(self) -> Recovery:
        lost: Any = smt.Bool(self.path.fresh("it has lost"))
        side: Any = AnyNames(self.path)
        ping = None if any_truth(self.path, "no ping") else self.any_chain("ping of the split")
        return Recovery(self.any_chain("chain of the side"), side, lost, ping, self.any_sets("covered"))

    # -- parts of messages ----------------------------------------------------------------------------------------

    def any_node(self, name: str) -> Any:
        """Returns any node."""
        return Number(self.path.integer(self.path.fresh(name)))

    def any_place(self, name: str) -> Any:
        """Returns any path."""
        return Place(self.path.integer(self.path.fresh(name)))

    def any_sets(self, name: str) -> Any:
        """Returns any sets of ticks; going through them gives one node."""
        holds = smt.Function(self.path.fresh(name), _INT, _INT, _BOOL)
        return AnySets(self.path, holds, ((Number(self.change.node), None),))

    def any_chain(self, name: str) -> Chain:
        """Returns any chain of pings: its head, and any other element, which may have no tick."""
        chain = Chain(self._elements(name, 2, 0), smt.Bool(self.path.fresh("was cut")))
        self.path.know(of_pings(self.cluster, chain))
        return chain

    def any_ping(self, name: str) -> Ping:
        """Returns any ping."""
        tock: Any = Number(self.path.integer(self.path.fresh(f"{name}.tock"), 0, TICK_MAX))
        return Ping(self.any_chain(name), tock)

    def _elements(self, name: str, size: int, least: int) -> tuple[Element, ...]:
        ticks: Any = [Number(self.path.integer(self.path.fresh(f"{name}.tick"), least)) for _ in range(size)]
        return tuple(Element(self.any_node(f"{name}.node"), tick) for tick in ticks)

    def any_ticks(self, name: str) -> Any:
        """Returns any tick of one node, in a table."""
        tick = Number(self.path.integer(self.path.fresh(f"{name}.tick")))
        return AnyTicks(lambda _: smt.IntVal(-1)).put({self.any_node(f"{name}.node"): tick})

    def any_update(self, name: str, size: int = 3) -> Update:
        """Returns any update of a change: its chain, its path, value and tock."""
        at, tock = self.any_place(f"{name}.path"), Number(self.path.integer(f"{name}.tock", 0, TICK_MAX))
        value: Any = smt.Const(f"{name}.value", Value)
        return Update(Chain(self._elements(name, size, 1), smt.Bool(f"{name} was cut")), at, value, tock)  # type: ignore[arg-type]

    def any_superseded(self, name: str) -> Any:
        """Returns any set of ticks of one node, with its last tick."""
        node, last = self.change.node, self.path.integer(f"last {name} tick", 1)
        holds = smt.Function(name, _INT, _BOOL)
        self.path.know(holds(last), last <= self.cluster.issued(node))
        return AnySets(
            self.path,
            lambda n, t: smt.And(n == node, holds(t), t >= 1, t <= last),
            ((Number(node), last),),
        )

    def of_message(self, cluster: Cluster, message: Any) -> dict[str, Goals]:
        """Returns what is to be shown of a message that it sends; of the best changes, for those of any path."""
        found = of_message(cluster, message, self.change)
        is_here = cluster.path(*self.change) == self.at.term
        return found | {BEST: {name: smt.Implies(is_here, goal) for name, goal in found.get(BEST, {}).items()}}

    # -- claims ---------------------------------------------------------------------------------------------------

    def goals(self, after: Any, cluster: Cluster, new: Iterable[Change], groups: Iterable[str]) -> Goals:
        """Returns what is to be shown of a state after a step, in which the node has received or made the `new` changes."""
        found: Goals = {}
        if after.entries is self.start.entries and ISSUED not in groups:
            return found
        claims = {ISSUED: self._issued, ORDER: self._order, BEST: self._best, KEPT: self._keeps}
        for group in groups:
            found |= claims[group](after, cluster, [*new])
        return found

    def _issued(self, after: Any, cluster: Cluster, _: Any) -> Goals:
        node, tick = self.change
        last, own = after.ticks.at(node), after.ticks.at(self.id.term)
        found = {"chains of pings have ticks of changes": smt.And(*(of_pings(cluster, one) for one in self._new_chains(after)))}
        if after.ticks is not self.start.ticks:
            found["no tick is above the last of its node"] = last <= cluster.issued(node)
            found["its own tick is its last"] = smt.Or(self.lost, smt.If(own < 0, 0, own) == cluster.issued(self.id.term))
        if after.entries is not self.start.entries or after.ticks is not self.start.ticks:
            known = after.entries.known.holds
            is_within = smt.Implies(known(node, tick), smt.And(tick >= 1, tick <= last))
            found["what is known is not above the tick of its node"] = is_within
            found["nothing known is forgotten"] = smt.Implies(self.start.entries.known.holds(node, tick), known(node, tick))
        for at, entry in after.entries.rows.written:
            found |= of_entry(cluster, term_of(at), entry)[ISSUED]
            on_chain = (after.entries.known.holds(*change_of(one)) for one in entry.chain.elements)
            found["what is on a chain is known"] = smt.And(*on_chain)
        return found

    def _order(self, after: Any, cluster: Cluster, new: list[Change]) -> Goals:
        is_own = smt.And(self.change.node == self.id.term, cluster.is_issued(self.change))
        has_received = smt.Or(self.has_received(*self.change), *(same(self.change, one) for one in new))
        row = after.entries.rows.at(cluster.path(*self.change))
        holds = smt.And(row.has, smt.Not(cluster.wins(self.change, Change(row.node, row.tick))))
        found = {
            "no own tock is above it": smt.Implies(is_own, smt.Or(self.lost, cluster.tock(*self.change) <= after.tock.term)),
            "no change that it has received wins over its entry": smt.Implies(has_received, holds),
        }
        for at, entry in after.entries.rows.written:
            found |= of_entry(cluster, term_of(at), entry)[ORDER]
            found["no tock of an entry is above it"] = term_of(entry.tock) <= after.tock.term
            head = change_of(entry.chain.head)
            found["it has received what it holds"] = smt.Or(self.has_received(*head), *(same(head, one) for one in new))
        return found

    def _best(self, after: Any, cluster: Cluster, _: Any) -> Goals:
        is_known = smt.And(cluster.is_best(self.change), after.entries.known.holds(*self.change))
        row = after.entries.rows.at(cluster.path(*self.change))
        holds = smt.And(row.has, same(self.change, Change(row.node, row.tick)))
        return {"a node that knows the best change of an entry holds it": smt.Implies(is_known, holds)}

    def _keeps(self, after: Any, cluster: Cluster, _: Any) -> Goals:
        before, row = self.start.entries.rows.at(self.at.term), after.entries.rows.at(self.at.term)
        is_own = smt.And(self.change.node == self.id.term, cluster.is_issued(self.change))
        return {
            "an entry gives way only to what wins over it": gives_way(cluster, before, row),
            "it knows all its own changes": smt.Implies(is_own, after.entries.known.holds(*self.change)),
        }

    def _new_chains(self, after: Any) -> Iterable[Chain | None]:
        """Yields the chains of pings in fields that have changed."""
        fields = {name: after.fields[name] for name in ("last", "newcomer", "recovery")}
        for name, field in fields.items():
            if field is self.start.fields[name] or field is None or isinstance(field, Lazy):
                continue
            if isinstance(field, Recovery):
                yield field.mine
                yield field.ping
            else:
                yield field.chain if isinstance(field, Ping) else field


def _unread(at: Number) -> Entry:
    """An entry that a part has left: no step reads it again."""
    raise AssertionError(f"the entry at {at.term} is read again")


def gives_way(cluster: Cluster, before: Row, after: Row) -> Term:
    """States that an entry is the same change as before, with its value and tock, or one that wins over it."""
    one, other = Change(before.node, before.tick), Change(after.node, after.tick)
    stays = smt.And(same(one, other), before.value == after.value, before.tock == after.tock)
    return smt.Implies(before.has, smt.And(after.has, smt.Or(stays, cluster.wins(other, one))))
