"""
Why a property of every node holds in every cluster: assume and guarantee.

A cluster is a set of nodes of any size, each with its own state, the messages that were ever sent, and what the cluster as a
whole has (what owners have written, for example). A node takes a step by itself, or with a message that was sent to it: a message
may arrive late, out of order, again, or never. A step changes the state of its own node alone, adds messages, and may add to what
the cluster has.

Three premises are enough for an invariant of a node and one of a message to hold for ever. The first holds when a node starts.
Each step of a node that satisfies it, with a message that satisfies the other, keeps it, and sends only such messages. Steps of
other nodes break neither. The proofs of a protocol show these premises with the code that runs; the one here shows that they are
enough.
"""

from __future__ import annotations

from typing import Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Proof, Stated, Twin

Node: Final = smt.DeclareSort("Node")
Local: Final = smt.DeclareSort("State")
Message: Final = smt.DeclareSort("Message")
World: Final = smt.DeclareSort("What the cluster has")

_BOOL: Final = smt.BoolSort()


def composition(item: str, clauses: str) -> Proof:
    """Returns the proof of the composition, as an item of a protocol."""
    about = Stated("the step from one node to the cluster, the same for all protocols")
    twin = Twin("steps of other nodes may break what holds of a node", {"undisturbed": False})
    return Proof((item, *clauses.split()), what_each_node_keeps_holds_of_every_cluster, about, twin, scope=ANY_CLUSTER)


def what_each_node_keeps_holds_of_every_cluster(path: Path, *, undisturbed: bool = True) -> None:
    """What every step of one node keeps, assuming it of all messages, holds of all nodes and messages of any cluster for ever."""
    good = smt.Function("invariant of a node", Node, Local, World, _BOOL)
    sound = smt.Function("invariant of a message", Message, World, _BOOL)
    starts = smt.Function("is a first state", Node, Local, _BOOL)
    takes = smt.Function("takes a step", Node, Local, World, Local, World, _BOOL)
    takes_in = smt.Function("takes a step with a message", Node, Message, Local, World, Local, World, _BOOL)
    sends = smt.Function("sends in a step", Node, Local, World, Local, World, Message, _BOOL)
    n, o = smt.Consts("n o", Node)
    s, t, u = smt.Consts("s t u", Local)
    v, w = smt.Consts("v w", World)
    m, other = smt.Consts("m other", Message)
    step_alone, step_with = takes(n, s, v, t, w), takes_in(n, m, s, v, t, w)
    kept = smt.And(good(n, t, w), smt.ForAll([other], smt.Implies(sends(n, s, v, t, w, other), sound(other, w))))
    path.know(
        smt.ForAll([n, s, v], smt.Implies(starts(n, s), good(n, s, v))),
        smt.ForAll([n, s, v, t, w], smt.Implies(smt.And(good(n, s, v), step_alone), kept)),
        smt.ForAll([n, m, s, v, t, w], smt.Implies(smt.And(good(n, s, v), sound(m, v), step_with), kept)),
    )
    any_step = smt.Or(step_alone, smt.Exists([other], takes_in(n, other, s, v, t, w)))
    if undisturbed:
        path.know(
            smt.ForAll([n, o, s, t, u, v, w], smt.Implies(smt.And(n != o, any_step, good(o, u, v)), good(o, u, w))),
            smt.ForAll([n, m, s, t, v, w], smt.Implies(smt.And(any_step, sound(m, v)), sound(m, w))),
        )
    _claim_induction(path, good, sound, starts, takes, takes_in, sends)


def _claim_induction(path: Path, good: Term, sound: Term, starts: Term, takes: Term, takes_in: Term, sends: Term) -> None:
    """Claims that both invariants hold at the start, and after any step of any cluster in which they hold."""
    state = smt.Function("state", Node, Local)
    sent = smt.Function("was sent", Message, _BOOL)
    before, after = path.any_of("before", World), path.any_of("after", World)
    node, one = path.any_of("node", Node), path.any_of("one of the nodes", Node)
    message, received = path.any_of("message", Message), path.any_of("received message", Message)
    new = path.any_of("new state", Local)
    n, m = smt.Const("n", Node), smt.Const("m", Message)
    path.claim("at the start", smt.Implies(starts(one, state(one)), good(one, state(one), before)))
    path.know(
        smt.ForAll([n], good(n, state(n), before)),
        smt.ForAll([m], smt.Implies(sent(m), sound(m, before))),
    )
    by_itself = takes(node, state(node), before, new, after)
    with_message = smt.And(sent(received), takes_in(node, received, state(node), before, new, after))
    path.assume(smt.Or(by_itself, with_message))
    now = smt.If(one == node, new, state(one))
    path.claim("every node", good(one, now, after))
    was_sent = smt.Or(sent(message), sends(node, state(node), before, new, after, message))
    path.claim("every message", smt.Implies(was_sent, sound(message, after)))
