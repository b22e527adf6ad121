"""The proofs of SWIM are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from tests.support.refuting import Mistake, each_of, is_refuted

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term, follow
from peerproof.conformance.proofs.swim import any_cluster, any_node
from peerproof.conformance.proofs.swim.proofs import Bits
from peerproof.conformance.proofs.swim.terms import Neighbours, Seen, at_most, code, key_grows, replacing
from peerproof.conformance.proofs.swim.transit import Half, Index, Marks, packer
from peerproof.conformance.proofs.terms import Number, truth
from peerproof.spec.core import Expired, Instant, NodeId, Pick, Received, Send, Table
from peerproof.spec.overrides import overriding
from peerproof.spec.properties import Cluster, Taken
from peerproof.spec.swim import (
    Ack,
    Config,
    Dead,
    Incarnation,
    IndirectAck,
    Normal,
    Ping,
    Quantum,
    Row,
    State,
    Status,
    Suspicious,
    Uuid,
    commands,
    gossip,
    properties,
    rounds,
    table,
    transit,
    transitions,
)
from peerproof.spec.swim.state import LIVE, Relay


def base_43(index: int) -> str:
    """Codes to a smaller base."""
    letter = vars(transit)["chr"]
    if index < transit.CODE_BASE:
        return f"^{letter(transit.CODE_FIRST + index)}"
    return f"^{letter(transit.CODE_FIRST + index // 43)}{letter(transit.CODE_FIRST + index % 44)}"


MERGED = table.merge


def of_itself(state: State, claim: table.Claim) -> State:
    """Takes an entry of anti-entropy about the node itself."""
    row = state.rows.get(claim.node)
    if row is None:
        return gossip.with_row(state, claim.node, Row("host", 1, Status.NORMAL, claim.incarnation))
    return gossip.apply_claim(state, claim) if claim.incarnation > row.incarnation else state


def without_a_step(state: State, teller: Uuid, said: Suspicious | Dead) -> State:
    """Refutes at the incarnation told, and not above it."""
    if said.incarnation is None or said.incarnation <= state.incarnation:
        return state
    return gossip.reborn(state, Incarnation(said.incarnation.restart, 0))


def with_its_own(state: State, ack: Ack, done: tuple[Relay, ...], pick: Pick) -> tuple[State, tuple[Send[Any], ...]]:
    """Reports an ack with the incarnation of the relay."""
    sends: tuple[Send[Any], ...] = ()
    for relay in done:
        if relay.requester in state.rows:
            told = (IndirectAck(ack.sender, state.incarnation),)
            state, sent = gossip.request(state, relay.requester, pick, told)
            sends += sent
    return state, sends


MISTAKES: list[Mistake] = [
    # A payload survives a restart (SD-16).
    (table, "merge", lambda row, claim: replace(MERGED(row, claim), payload=row.payload), "SZ-04"),
    # tx counts before the restart counter.
    (table, "key", lambda status, of: (of.tx, status is Status.LEAVE, of.restart, table.RANK[status]), "SZ-04"),
    # The past is told by the restart counter alone (SD-06).
    (
        transitions,
        "is_past",
        lambda state, message: message.incarnation.restart < state.rows[message.sender].incarnation.restart,
        "SZ-04",
    ),
    # A node takes over what it is told of itself.
    (
        transitions,
        "refute",
        lambda state, teller, said: replace(state, incarnation=said.incarnation or state.incarnation),
        "SZ-10",
    ),
    (gossip, "fanout", lambda nodes: nodes.bit_length(), "SZ-06"),  # the logarithm rounded down
    (transit, "escape", lambda string: string, "SZ-09"),
    (transit, "cache_code", base_43, "SZ-08"),
    (transitions, "with_member", of_itself, "SZ-11"),
    (transitions, "forward_ack", with_its_own, "SZ-11"),
    (gossip, "count_datagram", lambda state: state, "SZ-11"),
    # A header says of its sender that it is dead.
    (transitions, "of_sender", lambda state, node, at: table.Claim(node, Status.DEAD, at), "SZ-12"),
    # An added node is dead.
    (commands, "build_row", lambda state, asked: Row(asked.host, asked.port, Status.DEAD, Incarnation(0, 0)), "SZ-12"),
    # tx counts before the restart counter.
    (table, "key", lambda status, of: (of.tx, status is Status.LEAVE, of.restart, table.RANK[status]), "SZ-13"),
    (transitions, "refute", without_a_step, "SZ-13"),
    (transitions, "is_past", lambda state, message: False, "SZ-14"),
    (rounds, "still_live", lambda state: tuple(state.live), "SZ-07"),  # nobody is taken out of the vector
]


@pytest.mark.slow
@each_of(MISTAKES)
def test_a_mistake_in_the_code_fails_its_proof(mistake: Mistake) -> None:
    assert is_refuted("swim", mistake)


@pytest.mark.slow
def test_with_a_lost_counter_nothing_else_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row and no message is ahead of what the node has ever given itself; only its own counter is behind that (SX-09)."""
    since = any_node.Node.since

    def without_counter(node: any_node.Node, before: State, after: State) -> dict[str, Term]:
        return {about: goal for about, goal in since(node, before, after).items() if not about.startswith("the own counter")}

    monkeypatch.setattr(any_node.Node, "since", without_counter)

    outcome = follow(lambda path: any_cluster.every_part(path, any_node.Invariant(ahead=True, counter=False)), 600)

    assert outcome.verdict == "proved", outcome.detail


# -- the twins of what holds in any cluster, with values ----------------------------------------------------------------

ME, OTHER, THIRD = (Uuid(f"{x * 8}-{x * 4}-4{x * 3}-8{x * 3}-{x * 12}") for x in "abc")


def knowing(row: Row, **fields: Any) -> State:
    """Returns a node that knows one other."""
    return State(NodeId("a:1"), Config(ME), Incarnation(0, 9), Table({OTHER: row}), **fields)


def received(message: Ping) -> Received[Ping]:
    """Returns the event of a message that arrives."""
    return Received(Instant(0), NodeId("c:1"), message)


def take_step(state: State, event: Any) -> Taken:
    """Takes a step."""
    after, effects = transitions.step(state, event, lambda _, among, some=1: tuple(among)[:some])
    return Taken(state, event, after, effects)


def twin_of(name: str) -> Any:
    """Returns the arguments of the twin of a proof."""
    (proof,) = [proof for proof in any_cluster.PROOFS if proof.statement.__name__ == name]
    return proof.twin.arguments


LATE = Row("b", 1, Status.NORMAL, Incarnation(0, 3), payload="{}", misses=1)
NEWS = Ping(OTHER, Incarnation(1, 1), ME)
RUMOUR = Ping(OTHER, Incarnation(0, 4), ME, (Normal(OTHER),))


@pytest.mark.parametrize(
    ("name", "state", "event", "holds"),
    [
        (
            "no_node_is_dead_without_having_been_suspicious",
            knowing(LATE, vector=(), pinged=frozenset({OTHER}), heard=True),
            Expired(Instant(0), Quantum()),
            properties.dead_only_after_suspicious,
        ),
        (
            "a_refuted_rumour_does_not_come_back",
            knowing(replace(LATE, status=Status.LEAVE)),
            received(RUMOUR),
            properties.monotone,
        ),
        ("a_payload_is_of_the_life_of_its_row", knowing(LATE), received(NEWS), properties.payload_life),
    ],
    ids=["dead", "rumour", "payload"],
)
def test_a_twin_is_refuted_by_a_step_with_values(name: str, state: State, event: Any, holds: Callable[[Taken], bool]) -> None:
    """What refutes a twin on terms is a step that a node takes, and that a property of runs refuses."""
    assert holds(take_step(state, event))

    with overriding(twin_of(name)["instead"]):
        assert not holds(take_step(state, event))


def test_a_death_without_its_incarnation_is_one_of_a_later_one() -> None:
    """B was suspicious and dead at [0,1]; the news, without an incarnation, makes it dead at [0,3] (SX-02)."""
    state = State(NodeId("a:1"), Config(ME), Incarnation(0, 9), Table({OTHER: LATE, THIRD: replace(LATE, host="c")}))

    for at, expected in ((Incarnation(0, 1), Status.NORMAL), (None, Status.DEAD)):
        after = take_step(state, received(Ping(THIRD, Incarnation(0, 4), ME, (Dead(OTHER, at),)))).after
        assert (after.rows[OTHER].status, after.rows[OTHER].incarnation) == (expected, Incarnation(0, 3))


def test_a_lost_counter_is_behind_what_is_known() -> None:
    """A node that starts again with the restart counter that it had is behind a row, unless it raises that (SX-09)."""
    row = Row("b", 1, Status.NORMAL, Incarnation(0, 3))
    for counter, holds in ((0, False), (1, True)):
        again = transitions.initial(NodeId("b:1"), Config(OTHER, counter)).state
        assert properties.own_ahead(Cluster({NodeId("a:1"): knowing(row), NodeId("b:1"): again})) is holds


# -- what stands in for Python's own, and for tables and rows -----------------------------------------------------------


def test_keys_and_incarnations_on_terms_are_compared_like_those_of_the_code() -> None:
    """For all statuses, and counters of 0 and 1."""
    known = [(status, Incarnation(*counters)) for status in Status for counters in product((0, 1), repeat=2)]
    for (status, at), (other, then) in product(known, repeat=2):
        one, two = (Seen(*map(smt.IntVal, (1, code(s), *i, 0, 0))) for s, i in ((status, at), (other, then)))
        assert smt.is_true(smt.simplify(key_grows(one, two))) == (table.key(status, at) <= table.key(other, then))
        assert smt.is_true(smt.simplify(at_most(one.incarnation, two.incarnation))) == (at <= then)


def test_a_table_on_terms_is_like_a_table() -> None:
    """Rows are found, put, replaced and deleted; a row has each status on a path of its own, and a node one row on each."""

    def statement(path: Path) -> None:
        rows = Neighbours(path, "row", lambda node, seen: [seen.has == (node == 1)], (Number(smt.IntVal(1)),))
        path.claim("is there", truth(Number(smt.IntVal(1)) in rows and Number(smt.IntVal(2)) not in rows))
        path.claim("the same row each time", truth(rows[1] is rows[Number(smt.IntVal(1))]))
        live = rows.keys_where(lambda row: row.is_live)
        status = rows[1].status
        path.claim("live", truth(bool(live) == (status in LIVE)))
        path.claim("as it is seen", rows.at(smt.IntVal(1)).status == code(status))
        put = rows.put({2: replace(LATE, payload=None), 1: replacing(rows[1], status=Status.DEAD)})
        path.claim("put", smt.And(put.at(smt.IntVal(2)).tx == 3, put.at(smt.IntVal(1)).status == code(Status.DEAD)))
        path.claim("found", truth(put[1].status is Status.DEAD and put[2].incarnation == LATE.incarnation))
        without = put.without((2,))
        path.claim("deleted", truth(without.get(2) is None and 1 in without))
        path.claim("not seen", smt.Not(without.at(smt.IntVal(2)).has))

    outcome = follow(statement, 30)

    assert (outcome.verdict, outcome.paths) == ("proved", len(Status)), outcome.detail


def test_numbers_on_terms_are_like_those_of_python() -> None:
    marks = Marks()

    def statement(path: Path) -> None:
        for number in (1, 2, 3, 4, 7, 8, 9, 2**40):
            bits = Bits(path, smt.IntVal(number + 1)) - 1
            bits.bit_length()
            path.claim("bits", bits.halves[-1] == 2 ** (number.bit_length() - 1))
        for number in (0, 43, 44, 1935):
            index = Index(smt.IntVal(number))
            path.claim("division", smt.And(index // 44 == number // 44, index % 44 == number % 44, 48 + index == 48 + number))
        for high, low in ((0, 1), (2**63, 2**64 - 1)):
            whole = Half(path, smt.IntVal(high), marks) << 64 | Half(path, smt.IntVal(low), marks)
            path.claim("both halves", whole.term == (high << 64 | low))
            path.claim("a mark for each digit", smt.BoolVal(len(f"{whole:032x}") == 32))
            path.claim("the remainder", (Half(path, smt.IntVal(-high), marks) % 2**64).term == -high % 2**64)

    outcome = follow(statement, 30)

    assert (outcome.verdict, outcome.claims) == ("proved", 8 + 4 + 2 * 5)


@pytest.mark.parametrize("form", [">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"])
def test_packing_on_terms_is_like_that_of_python(form: str) -> None:
    kind = struct.Struct(form)
    bits = 8 * kind.size - form[-1].islower()
    least = -(2**bits) if form[-1].islower() else 0
    for value in (least, least + 1, 0, 1, 2**bits - 1):
        whole, width = packer(kind)(smt.IntVal(value))
        expected = kind.pack(value)
        assert smt.simplify(whole).as_long() == int.from_bytes(expected)
        assert width.as_long() == len(expected)


def test_marks_are_found_again_in_a_text() -> None:
    marks = Marks()

    assert marks.pieces(f"^{marks.mark('a')}-{marks.mark('b')}") == ["^", "a", "-", "b"]
