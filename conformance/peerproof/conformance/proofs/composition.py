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

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Proof, Stated, Twin

Node: Final = z3.DeclareSort("Node")
Local: Final = z3.DeclareSort("State")
Message: Final = z3.DeclareSort("Message")
World: Final = z3.DeclareSort("What the cluster has")

_BOOL: Final = z3.BoolSort()


def composition(item: str, clauses: str) -> Proof:
    """Returns the proof of the composition, as an item of a protocol."""
    about = Stated("the step from one node to the cluster, the same for all protocols")
    twin = Twin("steps of other nodes may break what holds of a node", {"undisturbed": False})
    return Proof((item, *clauses.split()), what_each_node_keeps_holds_of_every_cluster, about, twin, scope=ANY_CLUSTER)


def what_each_node_keeps_holds_of_every_cluster(path: Path, *, undisturbed: bool = True) -> None:
    """What every step of one node keeps, assuming it of all messages, holds of all nodes and messages of any cluster for ever."""
    good = z3.Function("invariant of a node", Node, Local, World, _BOOL)
    sound = z3.Function("invariant of a message", Message, World, _BOOL)
    starts = z3.Function("is a first state", Node, Local, _BOOL)
    takes = z3.Function("takes a step", Node, Local, World, Local, World, _BOOL)
    takes_in = z3.Function("takes a step with a message", Node, Message, Local, World, Local, World, _BOOL)
    sends = z3.Function("sends in a step", Node, Local, World, Local, World, Message, _BOOL)
    n, o = z3.Consts("n o", Node)
    s, t, u = z3.Consts("s t u", Local)
    v, w = z3.Consts("v w", World)
    m, other = z3.Consts("m other", Message)
    step_alone, step_with = takes(n, s, v, t, w), takes_in(n, m, s, v, t, w)
    kept = z3.And(good(n, t, w), z3.ForAll([other], z3.Implies(sends(n, s, v, t, w, other), sound(other, w))))
    path.know(
        z3.ForAll([n, s, v], z3.Implies(starts(n, s), good(n, s, v))),
        z3.ForAll([n, s, v, t, w], z3.Implies(z3.And(good(n, s, v), step_alone), kept)),
        z3.ForAll([n, m, s, v, t, w], z3.Implies(z3.And(good(n, s, v), sound(m, v), step_with), kept)),
    )
    any_step = z3.Or(step_alone, z3.Exists([other], takes_in(n, other, s, v, t, w)))
    if undisturbed:
        path.know(
            z3.ForAll([n, o, s, t, u, v, w], z3.Implies(z3.And(n != o, any_step, good(o, u, v)), good(o, u, w))),
            z3.ForAll([n, m, s, t, v, w], z3.Implies(z3.And(any_step, sound(m, v)), sound(m, w))),
        )
    _claim_induction(path, good, sound, starts, takes, takes_in, sends)


def _claim_induction(path: Path, good: Term, sound: Term, starts: Term, takes: Term, takes_in: Term, sends: Term) -> None:
    """Claims that both invariants hold at the start, and after any step of any cluster in which they hold."""
    state = z3.Function("state", Node, Local)
    sent = z3.Function("was sent", Message, _BOOL)
    before, after = path.any_of("before", World), path.any_of("after", World)
    node, one = path.any_of("node", Node), path.any_of("one of the nodes", Node)
    message, received = path.any_of("message", Message), path.any_of("received message", Message)
    new = path.any_of("new state", Local)
    n, m = z3.Const("n", Node), z3.Const("m", Message)
    path.claim("at the start", z3.Implies(starts(one, state(one)), good(one, state(one), before)))
    path.know(
        z3.ForAll([n], good(n, state(n), before)),
        z3.ForAll([m], z3.Implies(sent(m), sound(m, before))),
    )
    by_itself = takes(node, state(node), before, new, after)
    with_message = z3.And(sent(received), takes_in(node, received, state(node), before, new, after))
    path.assume(z3.Or(by_itself, with_message))
    now = z3.If(one == node, new, state(one))
    path.claim("every node", good(one, now, after))
    was_sent = z3.Or(sent(message), sends(node, state(node), before, new, after, message))
    path.claim("every message", z3.Implies(was_sent, sound(message, after)))
