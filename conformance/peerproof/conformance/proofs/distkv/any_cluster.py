"""
What holds in every cluster of DistKV: whatever the number of nodes, entries, messages, losses, repetitions and orders.

An invariant of one node's state and of one message is kept by every path of `step`, for every event that satisfies it. The rest
of the cluster is in functions that only grow: the last tick of each node; the path, value and tock of each change; the best
change of each entry. `composition` shows why this is enough.

A step is shown in parts. Functions that several events go through are run by themselves, on any state that satisfies the
invariant: the ticks of a message, an info that is sent, the answer to a newcomer, a recovery that begins, an accepted ping, and
what follows each event. Where the code calls one of them, what it needs is claimed, and any state is returned that it may leave.

A store has any number of entries, and a table any number of nodes. Where the code goes through all, it gets any one: each turn
looks at its own row. So do the changes of a download, which are applied one after the other, and an info has one of its members.
When a node pings, which of two pings wins, and what a message has room for is any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.composition import composition
from peerproof.conformance.proofs.distkv.any_node import (
    BEST,
    ISSUED,
    KEPT,
    ORDER,
    Change,
    Node,
    Value,
    any_cluster,
    of_entry,
    of_message,
    of_pings,
    same,
)
from peerproof.conformance.proofs.distkv.parts import NOTHING, Parts, flat
from peerproof.conformance.proofs.distkv.steps import ALL, CHANGING, DECIDING, SENDING, Claims, Part, any_download, any_message
from peerproof.conformance.proofs.distkv.tables import (
    AnySet,
    AnyTicks,
    any_config,
    any_truth,
    replacing,
)
from peerproof.conformance.proofs.distkv.terms import as_it_is, by_tocks
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Stated, Twin
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.spec.distkv import (
    Config,
    Element,
    Stored,
    entries,
    recovery,
    startup,
)
from peerproof.spec.distkv import state as states
from peerproof.spec.distkv.chains import Claim
from peerproof.spec.distkv.entries import Entry
from peerproof.spec.distkv.model.variants import LaterFirst, says_all
from peerproof.spec.overrides import names_in, overriding

PROOFS: Final = ProofTable()


def every_part(path: Path, parts: tuple[Part, ...], *groups: str, lost: bool = False) -> None:
    """Shows that every step keeps these groups of claims, part by part."""
    part = parts[choice(path, "part", len(parts))]
    part(Claims(Node(path, lost=lost), groups))


_STEP: Final = Evaluated(
    (
        *("distkv.transitions.step", "distkv.transitions.ticks_in", "distkv.ticks.latest", "distkv.state.download_of"),
        *("distkv.changes.change", "distkv.changes.on_update", "distkv.chains.relation", "distkv.chains.Claim"),
        *("distkv.outgoing.send_info", "distkv.recovery.greet", "distkv.recovery.begin", "distkv.recovery.on_known_due"),
        *("distkv.election.accept", "distkv.election.decide", "distkv.startup.check_settled", "distkv.recovery.look_for_repair"),
    ),
    (
        *("replace", "Table", "dict", "max", "min", "payload", "of_ticks", "up_to", "kind_of", "winner", "agree", "side_of"),
        *("has_room", "is_of_namesake", "is_startup", "is_meta", "zero_may_ping", "_moment"),
    ),
)


@PROOFS.add(
    "DZ-11 DI-03 DI-15 D-09 D-58 DA-45 DA-64 DA-81 DX-10",
    _STEP,
    Twin("a node may have lost its disk (DX-10)", {"lost": True}),
    scope=ANY_CLUSTER,
)
def what_is_known_was_made_by_its_node(path: Path, *, lost: bool = False) -> None:
    """
    Every change that a node knows, and every tick in a message, was given by its node; and a tick names one change.

    The path, the value and the tock of an entry, and of an update, are those with which its node has made the change at its head.
    """
    every_part(path, ALL, ISSUED, lost=lost)


@PROOFS.add(
    "DZ-12 DI-05 DI-06 DI-08 D-22 DA-01 DA-84 DX-04",
    _STEP,
    Twin("of two changes with the same tock the later arrival stays (DX-04)", {"instead": names_in(entries, Claim=LaterFirst)}),
    scope=ANY_CLUSTER,
)
def a_node_holds_the_best_of_the_changes_that_it_has_received(path: Path, *, instead: Mapping[str, Any] = NOTHING) -> None:
    """
    Of all changes of an entry that a node has received or made, it holds the one that wins, in whatever order they came.

    Which of two changes wins depends on their tocks, ticks and names alone. Tocks rise with the ticks of a node and fall along
    chains, which is what DZ-05 and DZ-06 assume.
    """
    with overriding(instead):
        every_part(path, (*DECIDING, *CHANGING, *SENDING), ORDER)


@PROOFS.add(
    "DZ-12 DI-07 DA-01 DD-09",
    "distkv.chains.Claim",
    Twin("tocks alone decide (DD-09)", {"beats": by_tocks}),
    scope=ANY_CLUSTER,
)
def nodes_that_have_received_the_same_hold_the_same(path: Path, *, beats: Callable[[Claim, Claim], bool] = as_it_is) -> None:
    """Two nodes that have both received the changes that the two hold, hold the same change, with its value and tock."""
    cluster = any_cluster()
    one, other = (Change(path.integer(f"{name} node"), path.integer(f"{name} tick", 1)) for name in ("one", "other"))
    claims: Any = [Claim(cluster.tock(*held), Element(Number(held.node), Number(held.tick))) for held in (one, other)]  # type: ignore[arg-type]
    if path.run(beats, *claims) or path.run(beats, *reversed(claims)):
        return  # one of the nodes would hold a change over which another one wins that it has received
    path.claim("the same change", same(one, other))
    path.claim("the same value and tock", smt.And(cluster.value(*one) == cluster.value(*other), claims[0].tock == claims[1].tock))


@PROOFS.add(
    "DZ-13 DI-07 D-63 DA-04 DA-48 DX-01",
    _STEP,
    Twin("a known message reports all that is known (DX-01)", {"instead": names_in(recovery, answer=says_all)}),
    scope=ANY_CLUSTER,
)
def a_node_that_knows_the_best_change_holds_it(path: Path, *, instead: Mapping[str, Any] = NOTHING) -> None:
    """
    A node that knows the best change of an entry holds it, in whatever way it knows it.

    So nodes that know all changes have the same entries, with the same values and tocks.
    """
    with overriding(instead):
        every_part(path, (*SENDING, *CHANGING), BEST)


@PROOFS.add(
    "DZ-14 DI-02 DI-08 DA-80 DA-84 DX-16",
    _STEP,
    Twin("a node may have lost its disk (DX-16)", {"lost": True}),
    scope=ANY_CLUSTER,
)
def what_is_acknowledged_is_kept(path: Path, *, lost: bool = False) -> None:
    """
    A change that a node has acknowledged is on its disk, and no step takes an entry away but for a change that wins over it.

    A node knows all changes that it has ever made, and nothing that is known is forgotten.
    """
    every_part(path, CHANGING, KEPT, lost=lost)


@PROOFS.add(
    "DZ-14 DA-81 DA-51 DX-10",
    Evaluated(("distkv.startup.initial", "distkv.state.stored_of"), ("replace", "Table", "of_ticks")),
    Twin("it starts without its disk (DX-10)", {"lost": True}),
    scope=ANY_CLUSTER,
)
def a_node_that_starts_with_its_disk_is_as_it_was(path: Path, *, lost: bool = False) -> None:
    """A node that starts again with what was on its disk has the same entries, known changes, ticks and tock as before."""
    node = Node(path)
    before, (at, change) = node.start, (node.at, node.change)
    held = before.entries.rows.get(at)
    with Parts(node).within(), path.on_terms(overriding(names_in(startup, _ticks_of=partial(ticks_on_disk, node)))):
        found: Any = path.run(start_again, before, any_config(path), lost)
    now, known = found.entries.rows.get(at), found.entries.known.get(Number(change.node), AnySet(none))
    path.claim("the entry at any path", truth(now is held or (now is not None and held is not None and same_entry(now, held))))
    path.claim("the changes that it knows", known.holds(change.tick) == before.entries.known.holds(*change))
    path.claim("the ticks", term_of(found.ticks.get(Number(change.node), -1)) == before.ticks.at(change.node))
    path.claim("the tock", term_of(found.tock) == before.tock.term)


def start_again(before: Any, config: Any, lost: bool) -> Any:
    """Returns a node that starts with the disk that it had, or without it."""
    stored = None if lost else states.stored_of(before)
    return startup.initial(before.self_id, replacing(config, stored=stored)).state


def ticks_on_disk(node: Node, stored: Stored) -> AnyTicks:
    """Returns the ticks on a disk, raised to those of the changes there, as `the_ticks_of_a_download` shows it."""
    pairs: list[Any] = [element for entry in stored.entries for element in entry.chain.elements]
    for member, found in stored.superseded.items():
        if any_truth(node.path, "has superseded changes"):
            last = Change(term_of(member), node.path.integer("last superseded tick", 1))
            node.path.know(found.has(last.tick))
            node.about(last)
            pairs.append((member, Number(last.tick)))
    known: Any = stored.ticks
    return known.raised(pairs)  # type: ignore[no-any-return]


def none(_: Term) -> Term:
    """The ticks of an empty set."""
    return smt.BoolVal(val=False)


def same_entry(one: Entry, other: Entry) -> bool:
    """Whether two entries are the same."""
    return one.chain is other.chain and one.value is other.value and one.tock is other.tock


@PROOFS.add(
    "DZ-15 D-96 DA-58 DX-10",
    Evaluated(("distkv.startup.initial",)),
    Twin("the node has run before: it has lost its disk (DX-10)", {"lost": True}),
    scope=ANY_CLUSTER,
)
def a_new_node_knows_nothing(path: Path, *, lost: bool = False) -> None:
    """A node that starts for the first time knows nothing, and has made as many changes as its tick says: none."""
    cluster, own = any_cluster(), Number(path.integer("this node"))
    path.know(cluster.issued(own.term) >= 0, smt.Or(lost, cluster.issued(own.term) == 0))
    with path.on_terms(overriding(names_in(startup, parse_node_id=lambda name: name))):
        state = path.run(startup.initial, own, Config()).state
    is_empty = not state.entries.rows and not state.entries.known and not state.ticks and not state.tock
    has_heard = any(one is not None for one in (state.last, state.newcomer, state.recovery))
    path.claim("it knows nothing", truth(is_empty and not has_heard))
    path.claim("its own tick is its last", cluster.issued(own.term) == state.own_tick)


@PROOFS.add(
    "DZ-15 DI-15 DX-10",
    Stated("what nodes add to what the cluster has: a change with the next tick of its node"),
    Twin("another node gives a tick again (DX-10)", {"again": True}),
    scope=ANY_CLUSTER,
)
def others_keep_what_holds_of_a_node(path: Path, *, again: bool = False) -> None:
    """What holds of a node and of a message keeps holding while other nodes change entries."""
    node, value = Node(path), smt.Const("another value", Value)
    writer, at, tock = (node.any_node(name) for name in ("writer", "its path", "its tock"))
    path.know(writer.term != node.id.term, node.cluster.issued(writer.term) >= 0)
    new = Change(writer.term, path.integer("its tick", 1) if again else node.cluster.issued(writer.term) + 1)
    node.about(new)
    path.know(node.cluster.is_made(at.term), node.cluster.is_made(node.at.term))
    entry = node.start.entries.rows.get(node.at)
    kind = ("state", "update", "ping", "ticks", "known", "missing", "download")[choice(path, "what it is about", 7)]
    if kind == "state":
        chains_: Any = node.any_ping("last").chain
        message: Any = None
    else:
        message = any_download(node) if kind == "download" else any_message(node, kind)
    grown = node.cluster.after(new, at.term, value, tock.term)
    if message is not None:
        path.claim_all(lambda: flat(of_message(grown, message, node.change)))
        return
    path.claim_all(lambda: node.goals(node.copied(), grown, (), (ISSUED, ORDER, BEST, KEPT)))
    path.claim("chains of pings", of_pings(grown, chains_))
    if entry is not None:
        path.claim_all(lambda: flat(of_entry(grown, node.at.term, entry)))
    best = {"the best change was made": grown.is_made(node.at.term), "and wins over all others": grown.is_defined(node.change)}
    path.claim_all(lambda: best)


PROOFS.append(composition("DZ-16", "DI-07 DI-15"))
