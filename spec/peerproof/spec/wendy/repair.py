"""
Repair: replacing nodes that have gone. [W-19…W-22, W-30, W-36]

A node has gone if it announces that it leaves, or if a message to it did not arrive. Each table is repaired by itself.
[WA-24, WA-25]
"""

from __future__ import annotations

from peerproof.spec.core import CancelTimer, Notify, SetTimer, Step, replace
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import (
    Cell,
    Effect,
    Mask,
    Node,
    NodeExit,
    NodeExited,
    NodeRepair,
    RepairTimeout,
    StateData,
    StateRequest,
)
from peerproof.spec.wendy.proximity import Next, header, send
from peerproof.spec.wendy.state import MOST_DEPARTED, Repair, State
from peerproof.spec.wendy.tables import remove_node, select_tables


def on_node_exit(state: State, message: NodeExit) -> Next:
    """A node announces that it leaves. [WA-24]"""
    return on_departure(state, message.header.sender.id)


def on_departure(state: State, gone: Id) -> Next:
    """
    A node has gone; if it is unknown, only pending answers from it are dropped. [WA-24, WA-25, WA-30]

    Then others are asked: for the cell of the routing table, for the leaf set of the farthest node on that side, for
    neighborhood sets.
    """
    state = replace(state, measured=state.measured.without((gone,))) if gone in state.measured else state
    node = state.known.get(gone)
    if node is None:
        return Step(state)
    before = state
    state = replace(remove_node(state, gone), departed=add_departed(state, gone))
    effects: tuple[Effect, ...] = (Notify(NodeExited(node)),)
    repairs = {cell: repair._replace(waiting=repair.waiting - {gone}) for cell, repair in state.repairs.items()}
    cells = [cell for cell in before.routing_table if cell not in state.routing_table]
    repairs |= {cell: Repair(cell[0] - 1, frozenset()) for cell in cells}  # so that its own row is the next one to be asked
    state = replace(state, repairs=state.repairs.put(repairs))
    for cell in cells:
        state, sent = advance_repair(state, cell)
        effects += sent
    return Step(state, effects + query_leaf_set(before, state, node) + query_neighborhood(before, state))


def add_departed(state: State, gone: Id) -> frozenset[Id]:
    """Adds a departed node; above the limit the farthest one, which could be no leaf, is dropped. [WA-30]"""
    departed = state.departed | {gone}
    if len(departed) <= MOST_DEPARTED:
        return departed
    return departed - {max(departed, key=lambda node: state.config.ring.rank(node, state.id))}


def query_leaf_set(before: State, state: State, gone: Node) -> tuple[Effect, ...]:
    """Asks the farthest remaining node of each side that has lost the node, if there is one. [W-30, WA-28]"""
    effects: tuple[Effect, ...] = ()
    for old, new in zip(before.leaf_set, state.leaf_set, strict=True):
        if len(new) < len(old) and new:
            effects += send(state, new[-1], NodeRepair(header(state, gone.id), Mask(leaf_set=True)))
    return effects


def query_neighborhood(before: State, state: State) -> tuple[Effect, ...]:
    """Asks all remaining members of the neighborhood set if it has lost the node. [W-36]"""
    effects: tuple[Effect, ...] = ()
    if len(state.neighborhood_set) < len(before.neighborhood_set):
        for node in state.neighborhood_set:
            effects += send(state, node, NodeRepair(header(state), Mask(neighborhood_set=True)))
    return effects


def advance_repair(state: State, cell: Cell) -> Next:
    """
    Advances the repair of a cell by one row, if it is time for that. [W-19…W-22, WA-26, WA-27]

    It is done when the cell is occupied, and ends after the last row. The first row that has any nodes is asked at once. After
    that it waits for pending answers, and for nodes that would fit and are being measured; then the nodes of the next row that
    has any are asked for the same cell.
    """
    repair, ring = state.repairs[cell], state.config.ring
    done = CancelTimer(RepairTimeout(*cell))
    if cell in state.routing_table:
        return Step(replace(state, repairs=state.repairs.without((cell,))), (done,))
    has_begun = repair.row >= cell[0]
    if has_begun and (repair.waiting or any(ring.cell(state.id, node) == cell for node in state.measured)):
        return Step(state)
    rows = sorted({row for row, _ in state.routing_table if row > repair.row})
    if not rows:
        return Step(replace(state, repairs=state.repairs.without((cell,))), (done,))
    asked = [node for (row, _), node in state.routing_table.items() if row == rows[0]]
    state = replace(state, repairs=state.repairs.put({cell: Repair(rows[0], frozenset(node.id for node in asked))}))
    question = NodeRepair(header(state), Mask(routing_table=True, rows=cell[:1], columns=cell[1:]))
    effects: tuple[Effect, ...] = ()
    for node in asked:
        effects += send(state, node, question)
    return Step(state, (*effects, SetTimer(RepairTimeout(*cell), state.config.network_timeout)))


def advance_all(state: State) -> Next:
    """Advances all repairs as far as possible. [WA-26, WA-71]"""
    effects: tuple[Effect, ...] = ()
    for cell in state.repairs:
        state, sent = advance_repair(state, cell)
        effects += sent
    return Step(state, effects)


def record_answer(state: State, data: StateData) -> State:
    """Counts a received routing table as the answer to all requests to its sender. [WA-26, WA-71]"""
    if data.tables.routing_table is None:
        return state
    who = data.header.sender.id
    repairs = {cell: repair._replace(waiting=repair.waiting - {who}) for cell, repair in state.repairs.items()}
    return replace(state, repairs=state.repairs.put(repairs))


def on_repair_timeout(state: State, cell: Cell) -> Next:
    """Counts nodes that have not answered as having nothing. [WA-26]"""
    if cell not in state.repairs:
        return Step(state)
    repair = state.repairs[cell]._replace(waiting=frozenset())
    return advance_repair(replace(state, repairs=state.repairs.put({cell: repair})), cell)


def on_node_repair(state: State, question: StateRequest | NodeRepair) -> Next:
    """Answers a request for tables, with their current contents. [W-19, W-30, W-36, WA-57]"""
    return Step(state, send(state, question.header.sender, StateData(header(state), select_tables(state, question.mask))))
