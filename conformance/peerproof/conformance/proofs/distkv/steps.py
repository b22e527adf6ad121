"""
The steps of any node of DistKV, in parts, and what is claimed of each.

Each part is a function of the specification, or a step with an event, which is run on any state that satisfies the invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.distkv.any_node import (
    ISSUED,
    KEPT,
    NULL,
    ORDER,
    ROOT_VALUE,
    Change,
    Cluster,
    Node,
    Value,
    change_of,
    same,
)
from peerproof.conformance.proofs.distkv.parts import (
    ALL_PARTS,
    ROOT_PATH,
    Parts,
    new_change,
    of_arrival,
    of_relation,
    pairs_in,
    wins,
)
from peerproof.conformance.proofs.distkv.tables import (
    AnySets,
    AnyTicks,
    Row,
    any_truth,
)
from peerproof.conformance.proofs.paths import Term
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Step
from peerproof.spec.distkv import (
    DeleteValue,
    Element,
    FoundingDue,
    GreetingDue,
    Info,
    InitialPingDue,
    Loaded,
    LoadFailed,
    OldDataDue,
    Ping,
    PingDue,
    RecoveryDue,
    RecoveryOver,
    RecoveryStep,
    RepairAllowed,
    RepairDue,
    SetValue,
    State,
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
from peerproof.spec.distkv import state as states
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.errors import NotEnabled

_NOW: Final = Instant(0)


class Claims:
    """The groups of claims that a proof makes of each part."""

    def __init__(self, node: Node, groups: tuple[str, ...]) -> None:
        self.node = node
        self.path = node.path
        self.groups = groups

    def of_step(self, taken: Any, new: tuple[Change, ...] = (), cluster: Cluster | None = None) -> None:
        """Claims what holds after a step in which the node has received or made the `new` changes."""
        after, effects = taken
        cluster = cluster or self.node.cluster
        self.path.claim_all(lambda: self.of_state(after, cluster, new))
        for effect in effects:
            if isinstance(effect, Send):
                self.of_sent(effect.message, cluster)

    def of_state(self, after: Any, cluster: Any, new: tuple[Change, ...]) -> dict[str, Term]:
        """Returns what is claimed of a state."""
        found = {"the tock never decreases": after.tock.term >= self.node.start.tock.term}
        return found | self.node.goals(after, cluster, new, self.groups)

    def of_new(self, new: Change, row: Row, value: Term) -> dict[str, Term]:
        """Returns what is claimed of a new change: its tick was never used, its tock is above all others, and it is held."""
        tock = self.node.start.tock.term + 1
        cluster, old = self.node.cluster, self.node.change
        is_own = smt.And(old.node == new.node, cluster.is_issued(old))
        is_held = smt.And(row.has, same(Change(row.node, row.tick), new), row.value == value)
        found = {
            ISSUED: {"a new change has a tick that its node has not used": new.tick > cluster.issued(new.node)},
            ORDER: {"its tock is above those of all own changes": smt.Implies(is_own, cluster.tock(*old) < tock)},
            KEPT: {"what is acknowledged is held": is_held},
        }
        return {name: goal for group in self.groups for name, goal in found.get(group, {}).items()}

    def of_sent(self, message: Any, cluster: Any) -> None:
        """Claims what holds of a message that is sent."""
        groups = self.node.of_message(cluster, message)
        self.path.claim_all(lambda: {name: goal for group in self.groups for name, goal in groups.get(group, {}).items()})

    def of_quiet(self, taken: Any, *fields: str, new: tuple[Change, ...] = (), cluster: Cluster | None = None) -> None:
        """Claims that a step changes these fields alone, besides timers, and what holds of them and of what it sends."""
        node, (after, effects) = self.node, taken
        changed = {name for name, field in after.fields.items() if field is not node.start.fields[name]}
        self.path.claim("nothing else changes", truth(changed <= {*fields, "timers"}))
        if changed - {"timers"} or effects:
            self.of_step(taken, new, cluster)


Part = Callable[[Claims], None]


def the_relation_of_two_changes(claims: Claims) -> None:
    """Which of two changes of an entry came before the other."""
    node, path = claims.node, claims.path
    one, two = (node.any_update(name, 2) for name in ("one", "other"))
    for update in (one, two):
        path.know(term_of(update.path) == node.at.term)
        node.know_entry(node.at.term, update)
    elements = [change_of(element) for update in (one, two) for element in update.chain.elements]
    path.know(*(node.cluster.rises(*pair) for pair in permutations(elements, 2)))
    with Parts(node).within():
        found = path.run(chains.relation, one.chain, two.chain)
    path.claim("tocks rise from change to change", of_relation(node.cluster, one.chain, two.chain, found))


def the_order_of_changes(claims: Claims) -> None:
    """Which of two changes wins."""
    node = claims.node
    made: Any = vars(entries)["Claim"]
    one, two = (made(update.tock, update.chain.head) for update in (node.any_update("one", 1), node.any_update("other", 1)))
    claims.path.prefer(lambda: one.head.node != two.head.node)
    with Parts(node).within():
        found = claims.path.run(made.beats, one, two)
    claims.path.claim("their tocks, ticks and names decide", truth(found) == wins(one, two))


def with_ticks_of_message(known: Any, message: Any) -> Any:
    """Returns the ticks with those of a message."""
    return ticks.latest(known, dict(transitions.ticks_in(message)))


def with_ticks_of_download(known: Any, loaded: Loaded) -> Any:
    """Returns the ticks with those of a download."""
    return ticks.latest(known, startup._ticks_of(loaded))  # noqa: SLF001


def what_follows(state: Any, pick: Any) -> Any:
    """Returns what follows each event at a node."""
    return outgoing.then(Step(state), startup.check_settled, lambda now: recovery.look_for_repair(now, pick))


def begun(state: Any, chains_: tuple[Chain, Chain], lost: bool, is_reason: bool) -> Any:
    """Returns a node with a recovery."""
    return recovery.begin(state, *chains_, lost=lost, is_reason=is_reason)


def the_ticks_of_a_message(claims: Claims) -> None:
    """The ticks in a message of any kind: any two of them."""
    node, path = claims.node, claims.path
    chain, tock = node.any_chain("ping"), 0
    none = Chain((chain.head, Element(chain.elements[1].node, None)))
    some: Any = node.any_ticks("ticks")
    messages: Any = (
        *(Update(chain, ROOT_PATH, NULL, tock), Update(chain.within(1), ROOT_PATH, NULL, tock, chain.elements[1])),  # type: ignore[arg-type]
        *(Ping(chain, tock), Ping(none, tock), Info(chain.within(1), tock, reason=chain.prev)),
        *(Info(chain.within(1), tock, ticks=some), Info(chain.within(1), tock, known=node.any_superseded("known"))),
    )
    message = messages[choice(path, "message", len(messages))]
    with Parts(node).within():
        found: Any = path.run(with_ticks_of_message, node.start.ticks, message)
    expected: Any = node.start.ticks.raised(pairs_in(message))
    path.claim("they are raised to the highest in the message", found.at(node.change.node) == expected.at(node.change.node))


def the_ticks_of_a_download(claims: Claims) -> None:
    """The ticks in a download: any two of them, or of a change and of a set."""
    node, path = claims.node, claims.path
    update = node.any_update("loaded", 2)
    node.know_entry(term_of(update.path), update)
    some: Any = node.any_ticks("ticks")
    nothing: Any = AnySets(path, lambda *_: smt.BoolVal(val=False), ())
    is_set = any_truth(path, "has superseded changes")
    superseded = node.any_superseded("superseded") if is_set else nothing
    loaded = Loaded(NodeId("other"), (update,), superseded, AnyTicks(lambda _: smt.IntVal(-1)) if is_set else some, 0)  # type: ignore[arg-type]
    with Parts(node).within():
        found: Any = path.run(with_ticks_of_download, node.start.ticks, loaded)
    expected: Any = node.start.ticks.raised(pairs_in(loaded))
    path.claim("they are raised to the highest in the download", found.at(node.change.node) == expected.at(node.change.node))


def the_tick_that_is_shown(claims: Claims) -> None:
    """The tick of a node, and the one that its messages show."""
    state = claims.node.start
    own, shown = (term_of(of.fget(state)) for of in (State.own_tick, State.message_tick))  # type: ignore[attr-defined]
    claims.path.claim("its own", own == term_of(state.own_tick))
    claims.path.claim("its own or 0", smt.Or(shown == 0, shown == own))


def what_follows_each_event(claims: Claims) -> None:
    """Whether a node is ready, and whether it has to ask for what is missing."""
    parts = Parts(claims.node)
    with parts.within():
        taken = claims.path.run(what_follows, claims.node.start, parts.pick)
    claims.of_quiet(taken, "phase")
    claims.path.claim("nothing is sent", truth(not any(isinstance(effect, Send) for effect in taken.effects)))


def the_next_ping(claims: Claims) -> None:
    """When a node pings."""
    parts = Parts(claims.node)
    with parts.within():
        taken = claims.path.run(election.decide, claims.node.start, parts.pick)
    claims.of_quiet(taken)
    claims.path.claim("nothing is sent", truth(not any(isinstance(effect, Send) for effect in taken.effects)))


def an_info(claims: Claims) -> None:
    """The infos that a node sends."""
    node, path = claims.node, claims.path
    what = ("ticks", "missing", "known")[choice(path, "member", 3)]
    rows = node.start.ticks if what == "ticks" else node.any_sets("rows")
    prev = None if any_truth(path, "answers none") else node.any_chain("prev")
    reason = node.any_chain("reason") if what == "ticks" and any_truth(path, "has a reason") else None
    parts = Parts(node)
    path.know(*parts.of_rows(what, rows, prev, reason).values())
    with parts.within():
        taken = path.run(outgoing.send_info, node.start, what, rows, prev, reason)
    claims.of_quiet(taken, "tock")


def an_answer_to_a_newcomer(claims: Claims) -> None:
    """The answer to a start-up ping."""
    with Parts(claims.node).within("send_info", "next"):
        taken = claims.path.run(recovery.greet, claims.node.start, claims.node.any_chain("of the newcomer"))
    claims.of_quiet(taken, "newcomer", "tock")


def a_recovery(claims: Claims) -> None:
    """The begin of a recovery."""
    node = claims.node
    chains = node.any_chain("mine"), node.any_chain("other")
    lost, is_reason = (any_truth(claims.path, name) for name in ("lost", "is a reason"))
    with Parts(node).within("send_info", "next"):
        taken = claims.path.run(begun, node.start, chains, lost, is_reason)
    claims.of_quiet(taken, "recovery", "tock")


def the_next_request(claims: Claims) -> None:
    """When a node requests what is missing, in a recovery."""
    with Parts(claims.node).within():
        taken = claims.path.run(recovery._next_is_missing, claims.node.start)  # noqa: SLF001
    claims.of_quiet(taken)


def ticks_of_another(claims: Claims) -> None:
    """The ticks of another node, which may answer the newcomer, or be a step of a recovery."""
    message = any_message(claims.node, "ticks")
    with Parts(claims.node).within("next"):
        taken = claims.path.run(recovery._on_ticks, claims.node.start, message)  # noqa: SLF001
    claims.of_quiet(taken, "newcomer")


def a_request(claims: Claims) -> None:
    """A request for missing changes."""
    message = any_message(claims.node, "missing")
    with Parts(claims.node).within("on_known_due"):
        taken = claims.path.run(recovery._on_missing, claims.node.start, message)  # noqa: SLF001
    claims.of_quiet(taken, "recovery", "wanted", "tock")


def an_answer(claims: Claims) -> None:
    """The answer to requests: changes that are sent again, and those that are superseded."""
    with Parts(claims.node).within("send_info", "next"):
        taken = claims.path.run(recovery.on_known_due, claims.node.start)
    claims.of_quiet(taken, "wanted", "tock")


def an_accepted_ping(claims: Claims) -> None:
    """A ping that is accepted."""
    parts = Parts(claims.node)
    with parts.within("decide"):
        taken = claims.path.run(election.accept, claims.node.start, claims.node.any_ping("accepted"), parts.pick)
    claims.of_quiet(taken, "last", "source", "tried")


def any_message(node: Node, kind: str) -> Any:
    """Returns any message of a kind that satisfies the invariant."""
    tock: Any = Number(node.path.integer("tock of the message", 0, ranges.TICK_MAX))
    if kind == "update":
        message: Any = node.any_update("update")
    elif kind == "ping":
        message = Ping(node.any_chain("ping"), tock)
    else:
        chain = node.any_chain("info")
        members: dict[str, Any] = {}
        if kind == "ticks":
            members = {
                "ticks": node.any_ticks("ticks"),
                "reason": node.any_chain("reason") if any_truth(node.path, "has a reason") else None,
            }
        elif kind == "known":
            members = {"known": node.any_superseded("known")}
        else:
            members = {"missing": node.any_sets("asked")}
        message = Info(chain, tock, **members)
    node.know_message(message)
    return message


def any_download(node: Node) -> Loaded:
    """Returns any download that satisfies the invariant, with one change."""
    tock: Any = Number(node.path.integer("tock of the download", 0, ranges.TICK_MAX))
    update, superseded = node.any_update("loaded"), node.any_superseded("superseded")
    loaded = Loaded(node.any_node("whose data it is"), (update,), superseded, node.any_ticks("ticks"), tock)
    node.know_message(loaded)
    return loaded


def step(claims: Claims, event: Any) -> tuple[Any, Parts]:
    """Takes a step with the running code, and returns the parts that it used; no step if the node refuses it."""
    parts = Parts(claims.node)
    try:
        with parts.within(*ALL_PARTS):
            return claims.path.run(transitions.step, claims.node.start, event, parts.pick), parts
    except NotEnabled:
        return None, parts


def a_change_that_arrives(claims: Claims) -> None:
    """A change by another node, whose tock and ticks were taken."""
    node = claims.node
    message = node.any_update("update")
    node.know_message(message)
    claims.path.know(*of_arrival(node.cluster, node.start, message).values())
    with Parts(node).within("relation", "claim"):
        taken = claims.path.run(changes.on_update, node.start, message)
    claims.of_quiet(taken, "entries", "wanted", new=(change_of(message.chain.head),))


def a_change(claims: Claims) -> None:
    """A change by this node."""
    node, value = claims.node, smt.Const("new value", Value)
    at = node.any_place("path of the change")
    new, grown = new_change(node, node.start, at.term, value)
    node.about(new)
    try:
        with Parts(node, grown).within("relation", "claim"):
            taken: Any = claims.path.run(changes.change, node.start, at, value)
    except NotEnabled:
        return
    claims.path.claim_all(lambda: claims.of_new(new, taken.state.entries.rows.at(at.term), value))
    claims.of_quiet(taken, "entries", "ticks", "tock", new=(new,), cluster=grown)


def a_message(claims: Claims) -> None:
    """An update or an info that arrives."""
    kinds = ("update", "ticks", "known", "missing")
    message = any_message(claims.node, kinds[choice(claims.path, "kind", len(kinds))])
    taken, _ = step(claims, Received(_NOW, NodeId("other"), message))
    is_taken = isinstance(message, Update) and taken.state.entries is not claims.node.start.entries
    claims.of_step(taken, (change_of(message.chain.head),) if is_taken else ())


#: What changes without a change of an entry, besides timers.
_OTHERS: Final = "tock", "phase", "last", "heard", "tried", "source", "wanted", "newcomer", "recovery"


def a_ping(claims: Claims) -> None:
    """A ping that arrives."""
    taken, _ = step(claims, Received(_NOW, NodeId("other"), any_message(claims.node, "ping")))
    claims.of_quiet(taken, "ticks", *_OTHERS)


_TIMERS: Final = (
    *(InitialPingDue(), OldDataDue(), PingDue(), GreetingDue(), *map(RecoveryDue, RecoveryStep)),
    *(RecoveryOver(), RepairDue(), RepairAllowed()),
)


def a_timer(claims: Claims) -> None:
    """A timer that expires."""
    taken, _ = step(claims, Expired(_NOW, _TIMERS[choice(claims.path, "timer", len(_TIMERS))]))
    claims.of_quiet(taken, *_OTHERS)


def the_first_node(claims: Claims) -> None:
    """The time at which a node is the first one; it changes the root."""
    of_own_change(claims, Expired(_NOW, FoundingDue()), ROOT_PATH, ROOT_VALUE)


def a_command(claims: Claims) -> None:
    """A change by the application."""
    at, value = claims.node.any_place("path of the command"), smt.Const("value of the command", Value)
    command: Any = SetValue(at, value) if choice(claims.path, "command", 2) else DeleteValue(at)
    of_own_change(claims, Asked(_NOW, command), at, value if isinstance(command, SetValue) else NULL)


def of_own_change(claims: Claims, event: Any, at: Number, value: Term) -> None:
    """Claims what holds after a step with which the node may write a value at a path, once."""
    taken, parts = step(claims, event)
    if taken is None:
        return
    if not parts.changes:
        claims.of_step(taken)
        return
    ((new, where, what),) = parts.changes
    claims.path.claim_all(lambda: {"this value is written there": smt.And(where.term == at.term, what == value)})
    grown = new_change(claims.node, claims.node.start, at.term, value)[1]
    claims.of_step(taken, (new,), grown)


def a_download(claims: Claims) -> None:
    """A download that is complete, or has failed."""
    loaded = any_download(claims.node)
    fails = any_truth(claims.path, "fails")
    taken, _ = step(claims, Asked(_NOW, LoadFailed(loaded.node) if fails else loaded))
    if taken is not None:
        claims.of_step(taken, () if fails else (change_of(loaded.entries[0].chain.head),))


def what_others_download(claims: Claims) -> None:
    """The download that other nodes get."""
    with Parts(claims.node).within():
        loaded = claims.path.run(states.download_of, claims.node.start)
    if loaded is not None:
        claims.of_sent(loaded, claims.node.cluster)


#: Parts after which entries and known changes may be others; and those that send them.
CHANGING: Final[tuple[Part, ...]] = (*(a_change, a_change_that_arrives, a_message, a_download, the_first_node, a_command),)
SENDING: Final[tuple[Part, ...]] = (an_answer, an_info, a_timer, what_others_download)

#: Parts of which nothing else is needed.
DECIDING: Final[tuple[Part, ...]] = (the_order_of_changes, the_relation_of_two_changes)

#: All parts. Those that are in none of the above leave entries as they are, and this is claimed.
ALL: Final[tuple[Part, ...]] = (
    *(*CHANGING, *SENDING, *DECIDING, the_tick_that_is_shown, the_ticks_of_a_message, the_ticks_of_a_download),
    *(what_follows_each_event, the_next_ping, an_answer_to_a_newcomer, a_recovery, the_next_request, ticks_of_another),
    *(a_request, an_accepted_ping, a_ping),
)
