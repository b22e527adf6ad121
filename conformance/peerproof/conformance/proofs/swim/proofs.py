"""
Proofs about SWIM: the order of incarnations and rows, merging, payloads, refutation, rounds.

`transit` has the proofs about the encoding of values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.swim import any_cluster
from peerproof.conformance.proofs.swim.transit import WRITING
from peerproof.conformance.proofs.terms import choice, same_row, truth
from peerproof.spec.core import NodeId, Table
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import Config, Dead, Incarnation, Payload, Ping, Row, State, Status, gossip, rounds, table, transitions
from peerproof.spec.swim.messages import COUNTER_MAX, Uuid
from peerproof.spec.swim.table import Claim

A, B, C, D = (Uuid(f"{x * 8}-{x * 4}-4{x * 3}-8{x * 3}-{x * 12}") for x in "abcd")

Place: Final = smt.DeclareSort("Place")
Data: Final = smt.DeclareSort("Data")

NOT_LEAVE: Final = tuple(status for status in Status if status is not Status.LEAVE)

PROOFS: Final = ProofTable(WRITING)


def any_status(path: Path, name: str, among: Sequence[Status] = tuple(Status)) -> Status:
    """Returns any of these statuses."""
    return among[choice(path, f"{name} {[status.value for status in among]}", len(among))]


def any_incarnation(path: Path, name: str) -> Incarnation:
    """Returns any incarnation."""
    return Incarnation(path.integer(f"{name}.restart", 0, COUNTER_MAX), path.integer(f"{name}.tx", 0, COUNTER_MAX))


def any_row(path: Path, name: str, among: Sequence[Status] = tuple(Status)) -> Row:
    """Returns any row of a node, with any payload."""
    status, incarnation = any_status(path, f"{name}.status", among), any_incarnation(path, name)
    where = path.any_of(f"{name}.place", Place)
    return Row(where, where, status, incarnation, payload=path.any_of(f"{name}.payload", Data))


def any_claim(path: Path, name: str, among: Sequence[Status] = tuple(Status)) -> Claim:
    """Returns any claim about a node and its address."""
    status, incarnation = any_status(path, f"{name}.status", among), any_incarnation(path, name)
    where = path.any_of(f"{name}.place", Place)
    return Claim(B, status, incarnation, (where, where))


def at_least(one: Incarnation, other: Incarnation) -> Term:
    """States that an incarnation is not below another, by restart and then by tx."""
    return smt.Or(one.restart > other.restart, smt.And(one.restart == other.restart, one.tx >= other.tx))


def node(incarnation: Incarnation, **rows: Row) -> State:
    """Returns node A, which knows B and others; nothing is added to its datagrams."""
    known = {uuid: rows[name] for name, uuid in (("b", B), ("c", C), ("d", D)) if name in rows}
    return State(NodeId("a:1"), Config(A, ae_size=0), incarnation, Table(known))


# -- the order of incarnations and rows -------------------------------------------------------------------------------


def part_by_part(one: Incarnation, other: Incarnation) -> bool:
    """One incarnation is below another if neither of its parts is above, and one is below (SD-07)."""
    return bool(one.restart <= other.restart and one.tx <= other.tx and (one.restart < other.restart or one.tx < other.tx))


def as_it_is(one: Incarnation, other: Incarnation) -> bool:
    """The order of the running code: that of `Incarnation`."""
    return bool(one < other)


@PROOFS.add(
    "SZ-03 SA-10 SD-07",
    "swim.messages.Incarnation",
    Twin("part by part: [1,0] and [0,1]", {"below": part_by_part}),
    of={"not-part-by-part": {}},
)
@PROOFS.add("SZ-01 SA-10 S-14", "swim.messages.Incarnation", Twin("part by part (SD-07)", {"below": part_by_part}))
def two_incarnations_compare(path: Path, *, below: Callable[[Incarnation, Incarnation], bool] = as_it_is) -> None:
    """Of two incarnations exactly one is below the other, or they are equal."""
    a, b = any_incarnation(path, "a"), any_incarnation(path, "b")

    path.claim("one of three", smt.If(same_row(a, b), 1, 0) + below(a, b) + below(b, a) == 1)


class ByAnyPart(tuple[Any, ...]):
    """A key that is below another if its restart counter or its tx is lower."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return bool(self[0] < other[0]) or bool(self[2] < other[2])


def by_any_part(status: Status, incarnation: Incarnation) -> Any:
    """Returns a key whose comparison is not an order."""
    return ByAnyPart(table.key(status, incarnation))


def without_leaving(status: Status, incarnation: Incarnation) -> Any:
    """Returns the key without the special case for leaving."""
    return incarnation.restart, incarnation.tx, table.RANK[status]


@PROOFS.add("SZ-01 SA-10 SA-13", "swim.table.key", Twin("leaving is nothing special", {"key": without_leaving}))
def keys_are_ordered_totally(path: Path, *, key: Callable[[Status, Incarnation], Any] | None = None) -> None:
    """Of the keys of two rows exactly one is below the other, or they are equal; then status and incarnation are, too."""
    a, b = any_incarnation(path, "a"), any_incarnation(path, "b")
    one, other = any_status(path, "a"), any_status(path, "b")

    key = key or table.key
    below, above = bool(key(one, a) < key(other, b)), bool(key(other, b) < key(one, a))
    equal = smt.And(same_row(a, b), truth(one is other))
    path.claim("one of three", smt.If(equal, 1, 0) + below + above == 1)


@PROOFS.add("SZ-01 SA-10 SA-13", "swim.table.key", Twin("the restart counter or the tx is below", {"key": by_any_part}))
def order_is_transitive(path: Path, *, key: Callable[[Status, Incarnation], Any] | None = None) -> None:
    """If a is below b and b is below c, then a is below c."""
    statuses = (Status.JOINING, Status.DEAD, Status.LEAVE)
    key = key or table.key
    a, b, c = (key(any_status(path, name, statuses), any_incarnation(path, name)) for name in "abc")

    if a < b < c:
        path.claim("a is below c", truth(a < c))


# -- merging ----------------------------------------------------------------------------------------------------------


def row_key(row: Row) -> Any:
    """Returns the key of a row."""
    return table.key(row.status, row.incarnation)


@PROOFS.add("SZ-02 SA-11 SA-13 SI-03 SI-12", "swim.table.merge", Twin("leaving is nothing special", {"key": without_leaving}))
def merging_takes_the_greater_key(path: Path, *, key: Callable[[Status, Incarnation], Any] | None = None) -> None:
    """
    A row after a claim has the greater of the two keys, and is the row itself if the claim's is not greater.

    Keys are totally ordered, and determine status and incarnation. So of any claims the greatest key is left, in whatever order
    and groups they arrive and however often.
    """
    row, claim = any_row(path, "row"), any_claim(path, "claim")

    with overriding(names_in(table, key=key or table.key)):
        merged = table.merge(row, claim)
    if table.key(claim.status, claim.incarnation) > row_key(row):
        path.claim("the claim's", smt.And(same_row(merged.incarnation, claim.incarnation), truth(merged.status is claim.status)))
        path.claim("and where it is", merged.host == (claim.place or ("", 0))[0])
    else:
        path.claim("the row itself", truth(merged is row))


@PROOFS.add("SZ-02 SA-13 SX-07", "swim.table.merge", Twin("one key may have two places", {"premise": False}))
def merging_commutes(path: Path, *, premise: bool = True) -> None:
    """Two claims change a node's row alike in either order, and a repeated one changes nothing, if one key has one place."""
    row = any_row(path, "row", (Status.NORMAL,))
    a, b = any_claim(path, "a", (Status.JOINING, Status.DEAD)), any_claim(path, "b", (Status.DEAD, Status.LEAVE))
    if premise and a.status is b.status:
        path.assume(smt.Implies(same_row(a.incarnation, b.incarnation), a.place == b.place))

    one, other = table.merge(table.merge(row, a), b), table.merge(table.merge(row, b), a)
    again = table.merge(one, a)
    path.claim("the other order", smt.And(same_row(one.incarnation, other.incarnation), truth(one.status is other.status)))
    path.claim("where it is", one.host == other.host)
    path.claim("the payload", truth((one.payload is None) == (other.payload is None)))
    path.claim("a second time", truth(again is one))


# -- payloads ---------------------------------------------------------------------------------------------------------


@PROOFS.add(
    "SZ-04 S-34 S-41 S-47 SA-16 SA-34 SI-08",
    "swim.transitions.is_past swim.transitions.apply_message swim.table.merge",
    Twin("a node claims that another has left, at an earlier incarnation", {"leaving": True}),
)
def payload_is_of_the_latest_message(path: Path, *, leaving: bool = False) -> None:
    """
    The payload of a row is never replaced by that of an earlier message of its node.

    The invariant: the payload came in a message whose incarnation is not above the row's. Then a message of the node is either
    from the past, and refused as a whole, or not earlier. All other claims raise the incarnation, except that the node has left,
    which counts at any incarnation.
    """
    row, since = any_row(path, "row"), any_incarnation(path, "payload")
    path.assume(at_least(row.incarnation, since))
    state = node(any_incarnation(path, "own"), b=row)
    message = Ping(B, any_incarnation(path, "message"), A, (Payload("newer"),))

    if not transitions.is_past(state, message):
        after = transitions.apply_message(state, message).rows[B]
        path.claim("not an earlier one", at_least(message.incarnation, since))
        path.claim("still not above the row's", at_least(after.incarnation, message.incarnation))
        path.claim("it is the new one", truth(after.payload == "newer"))
    merged = table.merge(row, any_claim(path, "claim", tuple(Status) if leaving else NOT_LEAVE))
    path.claim("after other news", at_least(merged.incarnation, since))
    kept = truth(merged.payload is row.payload)
    path.claim("forgotten exactly with a new life", kept == (merged.incarnation.restart == row.incarnation.restart))


# -- rumours ----------------------------------------------------------------------------------------------------------


def receive_ping(state: State, message: Ping) -> State:
    """Returns the node after a message, unless the message comes from the past."""
    return state if transitions.is_past(state, message) else transitions.apply_message(state, message)


@PROOFS.add(
    "SZ-05 SA-12 SI-11 SX-02 SX-07",
    "swim.transitions.is_past swim.transitions.apply_message",
    Twin("the death without its incarnation (SX-02)", {"literal": True}),
)
def death_and_a_header_commute(path: Path, *, literal: bool = False) -> None:
    """B's message and C's report of B's death change B's row to the same in either order, if C gives the incarnation."""
    row = any_row(path, "row", (Status.NORMAL, Status.SUSPICIOUS, Status.DEAD))
    state = node(Incarnation(0, 0), b=row, c=Row("c", 1, Status.NORMAL, Incarnation(0, 0)))
    alive = Ping(B, any_incarnation(path, "header"), A)
    dead = Ping(C, Incarnation(0, 0), A, (Dead(B, None if literal else any_incarnation(path, "death")),))

    one, other = receive_ping(receive_ping(state, alive), dead).rows[B], receive_ping(receive_ping(state, dead), alive).rows[B]
    path.claim("the same", smt.And(same_row(one.incarnation, other.incarnation), truth(one.status is other.status)))


@PROOFS.add("SZ-10 S-11 S-12 SA-17", "swim.transitions.refute", Twin("the counter may be at its end", {"premise": False}))
def refuting_takes_one_step(path: Path, *, premise: bool = True) -> None:
    """A node that hears of its death above its own incarnation is above that at once; and it never goes back."""
    own, said = any_incarnation(path, "own"), any_incarnation(path, "told")
    state = node(own, b=Row("b", 1, Status.NORMAL, Incarnation(0, 0)))
    if premise:
        path.assume(said.restart < COUNTER_MAX)  # at the maximum of the counter there is nothing above [SA-17]

    after = transitions.refute(state, B, Dead(A, said)).incarnation
    path.claim("never back", at_least(after, own))
    path.claim("at least as far", at_least(after, said))
    path.claim("above, if it was below", smt.Or(at_least(own, said), smt.Not(at_least(said, after))))


# -- rounds -----------------------------------------------------------------------------------------------------------


class Bits:
    """A number below 2^64 with `bit_length`, like `int`."""

    def __init__(self, path: Path, term: Term, halves: list[Term] | None = None) -> None:
        self._path = path
        self.term = term
        self.halves: list[Term] = [] if halves is None else halves  #: for each result n of `bit_length`, 2 to the power of n-1

    def __gt__(self, other: int) -> bool:
        return bool(self.term > other)

    def __sub__(self, other: int) -> Bits:
        return Bits(self._path, self.term - other, self.halves)

    def bit_length(self) -> Term:
        """Returns, for a number above 0, the n for which it is at least 2^(n-1) and below 2^n."""
        half = smt.Int(self._path.fresh("half"))
        self._path.know(smt.Or(*(half == 2**power for power in range(64))), self.term >= half, self.term < 2 * half)
        self.halves.append(half)
        return smt.Int(self._path.fresh("bits"))


@PROOFS.add(
    "SZ-06 S-40 SA-23",
    Evaluated(("swim.gossip.fanout",), ("int.bit_length",)),
    Twin("a node does not count itself (SD-01)", {"without_itself": True}),
)
def fanout_is_the_logarithm(path: Path, *, without_itself: bool = False) -> None:
    """Of N nodes, more than one, an event goes to f with 2^(f-1) < N and N ≤ 2^f."""
    nodes = path.integer("N", 2, 2**63)
    bits = Bits(path, nodes - 1 if without_itself else nodes)
    if without_itself:
        path.assume(nodes > 2)  # noqa: PLR2004  # with one neighbour there is no fanout

    gossip.fanout(bits)  # type: ignore[arg-type]  # it only needs `bit_length`
    (half,) = bits.halves
    path.claim("2^(f-1) < N", half < nodes)
    path.claim("N ≤ 2^f", nodes <= 2 * half)


def top_up_quantum(state: State, pick: Any) -> Any:
    """A quantum that tops up the rest of the round from the next shuffle (SD-09)."""
    left = rounds.still_live(state)
    count = gossip.fanout(rounds.active_size(state))  # type: ignore[attr-defined]  # imported there
    if 0 < len(left) < count:
        shuffled = pick("round.order", state.live, len(state.live))
        state = replace(state, vector=(*left, *(uuid for uuid in shuffled if uuid not in left)), pinged=frozenset())
    return rounds.on_quantum(state, pick)


@PROOFS.add(
    "SZ-07 S-43 S-44 S-45 S-46 SA-26 SI-05",
    "swim.rounds.on_quantum",
    Twin("filled up from the next shuffle (SD-09)", {"quantum": top_up_quantum}),
)
def counts_of_a_round_differ_by_one_at_most(path: Path, *, quantum: Callable[[State, Any], Any] | None = None) -> None:
    """
    At every moment, nodes that have been live since the beginning have been pinged equally often, or one time more than others.

    For three others, each of which may be dead; any shuffles; five quanta, which is more than two rounds.
    """
    statuses = {name: any_status(path, name, (Status.NORMAL, Status.DEAD)) for name in "bcd"}
    state = node(Incarnation(0, 0), **{name: Row(name, 1, status, Incarnation(0, 0)) for name, status in statuses.items()})
    live, counts = state.live, Counter[str]()

    def pick(_: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:
        orders = list(permutations(sorted(among), min(some, len(among))))
        return orders[choice(path, path.fresh("order"), len(orders))]

    step: Any = quantum or rounds.on_quantum
    for _ in range(5):
        state, sends = step(replace(state, heard=True, answered=state.pinged), pick)
        counts.update(send.message.target for send in sends)
        of_each = [counts[uuid] for uuid in live]
        path.claim("one more at most", truth(max(of_each, default=0) - min(of_each, default=0) <= 1))
        path.claim("no other node", truth(set(counts) <= set(live)))


PROOFS.extend(any_cluster.PROOFS)
