"""
The functions that several events of DistKV go through, as they stand for all that they may do.

Where a step calls one of them, what it needs is claimed, and any state is returned that it may leave. That they leave no other is
shown by `steps`, which runs each of them by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.distkv.any_node import (
    NULL,
    Change,
    Cluster,
    Node,
    change_of,
    of_chain,
    of_entry,
    of_pings,
    same,
)
from peerproof.conformance.proofs.distkv.tables import (
    AnyRows,
    AnyTicks,
    any_truth,
    replacing,
    rows_of,
    set_of_ticks,
    table_of,
    ticks_up_to,
)
from peerproof.conformance.proofs.distkv.terms import UNASKED
from peerproof.conformance.proofs.followed import Followed
from peerproof.conformance.proofs.paths import Term
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.spec.core import Step
from peerproof.spec.distkv import (
    Element,
    Info,
    Loaded,
    Ping,
    Stored,
    Update,
    chains,
    changes,
    election,
    entries,
    outgoing,
    ranges,
    recovery,
    startup,
    ticks,
    transitions,
)
from peerproof.spec.distkv.chains import Chain, Claim, Relation
from peerproof.spec.distkv.entries import Entry
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding

#: No replacements.
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

#: The path of the root.
ROOT_PATH: Final = Number(smt.Int("the root"))


class Parts:
    """What the parts of a step may leave: any state that they are shown to leave, after a claim of what they need."""

    def __init__(self, node: Node, cluster: Cluster | None = None) -> None:
        self.node = node
        self.path = node.path
        self.cluster = cluster or node.cluster  #: with the change that is made
        self.changes: list[tuple[Change, Any, Any]] = []  #: that were made instead of the function, with path and value

    def within(self, *inner: str) -> AbstractContextManager[None]:
        """Returns a context in which these parts are not run but stand for all that they may do."""
        return self.path.on_terms(_followed.within(self, _overrides(inner)))

    def need(self, about: str, holds: Term) -> None:
        """Claims what a part needs."""
        self.path.claim_all(lambda: {about: holds})

    # -- what is any ----------------------------------------------------------------------------------------------

    def pick(self, why: str, among: Any, some: int = 1) -> tuple[Any, ...]:  # noqa: ARG002  # as of `Pick`
        """Picks the first options: the choices only decide on times."""
        return tuple(among)[:some]

    def table(self, rows: Mapping[Any, Any] = NOTHING) -> Any:
        """Returns a table with these rows."""
        return table_of(self.path, rows)

    def rows(self, rows: Mapping[Any, Entry]) -> AnyRows:
        """Returns a table with these entries."""
        return rows_of(self.path, rows)

    def payload(self, _: Any) -> bytes:
        """Returns the bytes of a message: few, or too many."""
        return bytes(10_000 if any_truth(self.path, "is too large") else 0)

    def greater(self, *numbers: Any) -> Any:
        """Returns the greatest of these, like `max`."""
        found = term_of(numbers[0])
        for number in numbers[1:]:
            found = smt.If(term_of(number) > found, term_of(number), found)
        return Number(found)

    def lesser(self, one: Any, other: Any) -> Any:
        """Returns the lesser of two numbers, like `min`."""
        return Number(smt.If(term_of(one) < term_of(other), term_of(one), term_of(other)))

    def is_any(self, *_: Any) -> bool:
        """Answers a question about pings, names or sizes, which decides on nothing else: either."""
        return any_truth(self.path, "is so")

    def kind_of(self, *_: Any) -> Kind:
        """Returns the kind of a ping: any."""
        return tuple(Kind)[choice(self.path, "kind of the ping", len(Kind))]

    def winner(self, ping: Ping, last: Ping) -> Ping:
        """Returns the ping that wins: either."""
        return ping if any_truth(self.path, "wins") else last

    def side_of(self, *_: Any) -> frozenset[Any]:
        """Returns the nodes of a side: any one."""
        return frozenset([self.node.any_node("on this side")])

    # -- parts ----------------------------------------------------------------------------------------------------

    def relation(self, chain: Chain, other: Chain) -> Relation:
        """Returns any relation of two changes that their tocks permit."""
        self.path.claim_all(lambda: self.of_chains(chain, other))
        found = tuple(Relation)[choice(self.path, "relation", len(Relation))]
        self.path.assume(of_relation(self.cluster, chain, other, found))
        return found

    def of_chains(self, *chains_: Chain) -> dict[str, Term]:
        """Returns what the chains of two changes of an entry need."""
        at = self.cluster.path(*change_of(chains_[0].head))
        found = [flat(of_chain(self.cluster, at, chain)) for chain in chains_]
        return {name: smt.And(*(goals[name] for goals in found)) for name in found[0]}

    def claim(self, tock: Any, head: Element) -> Any:
        """Returns the claim of a change, which wins over another by the order of `Cluster.wins`."""
        return OfChange(tock, head)

    def pairs(self, message: Any) -> list[tuple[Any, Any]]:
        """Returns the ticks in a message, or in a download; `the_ticks_of_a_message` and `the_ticks_of_a_download` show it."""
        return [*pairs_in(message)]

    def latest(self, known: AnyTicks, pairs: Any) -> AnyTicks:
        """Returns the ticks with those of a message."""
        return known.raised(pairs)

    def send_info(self, state: Any, what: str, rows: Any, prev: Chain | None = None, reason: Chain | None = None) -> Any:
        """A later tock: infos are sent, which are sound if their rows and chains are."""
        self.path.claim_all(lambda: self.of_rows(what, rows, prev, reason))
        return Step(self.node.later(state))

    def of_rows(self, what: str, rows: Any, prev: Chain | None, reason: Chain | None) -> dict[str, Term]:
        """Returns what the rows and chains of an info need."""
        chain = Chain((), cut=True) if prev is None else prev
        info = Info(chain, 0, **{what: rows}, reason=reason)
        groups = self.node.of_message(self.cluster, info)
        return flat(groups)

    def greet(self, state: Any, newcomer: Chain) -> Any:
        """Any newcomer and a later tock, after an answer to a start-up ping."""
        self.need("the newcomer's ping has ticks of changes", of_pings(self.cluster, newcomer))
        return Step(self.node.later(state, "newcomer"))

    def begin(self, state: Any, mine: Chain, other: Chain, **_: bool) -> Any:
        """Any recovery and a later tock, after a split has healed."""
        holds = smt.And(*(of_pings(self.cluster, chain) for chain in (mine, other)))
        self.need("the chains of both sides have ticks of changes", holds)
        return Step(self.node.later(state, "recovery"))

    def accept(self, state: Any, ping: Ping, _: Any) -> Any:
        """Any last ping and any source, after a ping was accepted."""
        self.need("an accepted ping has ticks of changes", of_pings(self.cluster, ping.chain))
        return Step(self.node.later(state, "last", "source"))

    def on_ticks(self, state: Any, _: Info) -> Any:
        """No newcomer, or the same, after the ticks of another node."""
        return Step(self.node.later(state, "newcomer"))

    def on_missing(self, state: Any, _: Info) -> Any:
        """Any recovery and a later tock, after a request."""
        return Step(self.node.later(state, "recovery"))

    def on_known_due(self, state: Any) -> Any:
        """A later tock, after an answer to a request."""
        self.path.claim_all(lambda: {"entries are as before": truth(state.entries is self.node.start.entries)})
        return Step(self.node.later(state))

    def on_update(self, state: Any, arrived: Update) -> Any:
        """Any later entries, after a change that arrives."""
        self.path.claim_all(lambda: of_arrival(self.cluster, state, arrived))
        return Step(self.node.later_entries(state, [change_of(arrived.chain.head)]))

    def change(self, state: Any, at: Any, value: Any) -> Any:
        """Any later entries, after a change by this node."""
        if any_truth(self.path, "is refused"):
            raise NotEnabled("refused", "no tick is left, or it is too large")
        new, grown = new_change(self.node, state, term_of(at), value)
        self.changes.append((new, at, value))
        after = state.replaced(tock=state.tock + 1, ticks=state.ticks.put({self.node.id: Number(new.tick)}))
        return Step(self.node.later_entries(after, [new], grown))

    def unchanged(self, state: Any, *_: Any) -> Any:
        """The same state: only timers change, or the node becomes ready."""
        return Step(state)


def of_arrival(cluster: Cluster, state: Any, arrived: Update) -> dict[str, Term]:
    """Returns what an update needs where it is applied: the tock and ticks in it were taken."""
    ticks_ = [term_of(tick) <= state.ticks.at(term_of(node)) for node, tick in arrived.chain.elements]
    taken = {"its ticks were taken": smt.And(*ticks_), "its tock was taken": term_of(arrived.tock) <= state.tock.term}
    return flat(of_entry(cluster, term_of(arrived.path), arrived)) | taken


def new_change(node: Node, state: Any, at: Term, value: Term) -> tuple[Change, Cluster]:
    """Returns the next change of a node, and the cluster after it."""
    new = Change(node.id.term, smt.simplify(term_of(state.ticks.get(node.id, 0)) + 1))
    return new, node.cluster.after(new, at, value, state.tock.term + 1)


def flat(groups: Mapping[str, Mapping[str, Term]]) -> dict[str, Term]:
    """Returns the goals of all groups."""
    return {name: goal for goals in groups.values() for name, goal in goals.items()}


class OfChange(Claim):
    """The claim of a change."""

    def beats(self, other: Claim) -> bool:
        """Compares tocks, then ticks, then names."""
        return bool(wins(self, other))


def wins(one: Claim, other: Claim) -> Term:
    """States that a claim wins over another."""
    (tock, head), (its, others) = one, other
    by_name = smt.And(term_of(head.tick) == term_of(others.tick), head.node < others.node)
    by_tick = smt.Or(term_of(head.tick) > term_of(others.tick), by_name)
    return smt.Or(term_of(tock) > term_of(its), smt.And(term_of(tock) == term_of(its), by_tick))


def of_relation(cluster: Cluster, chain: Chain, other: Chain, found: Relation) -> Term:
    """States what the relation of two changes shows: whether they are the same, or which has the lower tock."""
    one, two = change_of(chain.head), change_of(other.head)
    if found is Relation.EQUAL:
        return same(one, two)
    tocks = cluster.tock(*one), cluster.tock(*two)
    lower = {Relation.BEFORE: tocks[0] < tocks[1], Relation.AFTER: tocks[0] > tocks[1]}
    return smt.And(smt.Not(same(one, two)), lower.get(found, smt.BoolVal(val=True)))


def pairs_in(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yields the nodes and ticks in a message, or in a download or on a disk."""
    for entry in getattr(message, "entries", ()):
        yield from entry.chain.elements
    chains = [getattr(message, name, None) for name in ("chain", "reason")]
    for chain in chains:
        yield from (element for element in (chain.elements if chain else ()) if element.tick is not None)
    if getattr(message, "sender", None) is not None:
        yield message.sender
    if isinstance(message, (Info, Loaded, Stored)):
        yield from () if isinstance(message, Stored) else message.ticks.items()
        sets = message.known if isinstance(message, Info) else message.superseded
        yield from ((node, found.ends[-1] - 1) for node, found in sets.items())


_followed: Final = Followed[Parts]()
_of_path: Final = _followed.method


@cache
def _overrides(inner: tuple[str, ...]) -> overriding:
    """Returns the overrides of these parts, and those of all paths: tables, sizes, limits and choices."""
    names: dict[str, Any] = {}
    for module in (changes, election, outgoing, recovery, startup, transitions):
        names |= names_in(module, replace=replacing)
    for module in (changes, entries, outgoing, recovery, ticks):
        names |= names_in(module, Table=_of_path("table"))
    for module in (changes, outgoing):
        names |= names_in(module, payload=_of_path("payload"))
    names |= names_in(ranges, up_to=ticks_up_to) | names_in(outgoing, min=_of_path("lesser"))
    names |= names_in(entries, of_ticks=set_of_ticks, **UNASKED)
    names |= names_in(changes, is_meta=_of_path("is_any"), max=_of_path("greater"))
    names |= names_in(startup, Table=_of_path("rows"), ROOT=ROOT_PATH, parse_node_id=lambda name: name)
    names |= names_in(transitions, NULL=NULL, max=_of_path("greater"), has_room=_of_path("is_any"))
    names |= names_in(transitions, is_of_namesake=_of_path("is_any"))
    names |= names_in(election, kind_of=_of_path("kind_of"), winner=_of_path("winner"), is_startup=_of_path("is_any"))
    names |= names_in(election, zero_may_ping=_of_path("is_any"), _moment=lambda *_: 1)
    names |= names_in(recovery, agree=_of_path("is_any"), side_of=_of_path("side_of"))
    for part in inner:
        names |= PARTS[part]
    return overriding(names)


_TICKS: Final = names_in(transitions, ticks_in=_of_path("pairs"), dict=lambda pairs: pairs, latest=_of_path("latest")) | names_in(
    startup, _ticks_of=_of_path("pairs"), latest=_of_path("latest")
)
PARTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ticks": _TICKS,
    "on_update": names_in(changes, on_update=_of_path("on_update")),
    "change": names_in(startup, change=_of_path("change")) | names_in(changes, change=_of_path("change")),
    "relation": names_in(chains, relation=_of_path("relation")),
    "claim": names_in(entries, Claim=_of_path("claim")),
    "send_info": names_in(outgoing, send_info=_of_path("send_info")),
    "greet": names_in(recovery, greet=_of_path("greet")),
    "begin": names_in(recovery, begin=_of_path("begin")),
    "next": names_in(recovery, _next_is_missing=_of_path("unchanged")),
    "on_ticks": names_in(recovery, _on_ticks=_of_path("on_ticks")),
    "on_missing": names_in(recovery, _on_missing=_of_path("on_missing")),
    "on_known_due": names_in(recovery, on_known_due=_of_path("on_known_due")),
    "accept": names_in(election, accept=_of_path("accept")),
    "decide": names_in(election, decide=_of_path("unchanged")),
    "after": names_in(transitions, check_settled=_of_path("unchanged"), look_for_repair=_of_path("unchanged")),
}
ALL_PARTS: Final = tuple(PARTS)
