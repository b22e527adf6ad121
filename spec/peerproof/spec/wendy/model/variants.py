"""Variants of Wendy: wrong readings, and repairs of false claims; see `model.bounded.variant`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from peerproof.spec.core import Asked, CancelTimer, Pick, Step, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.bounded import Taking, variant
from peerproof.spec.overrides import names_in
from peerproof.spec.wendy import joining, repair
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Cell, RepairTimeout, Route, Versions
from peerproof.spec.wendy.model.bounded import Model
from peerproof.spec.wendy.proximity import Next
from peerproof.spec.wendy.state import Stage, State

_advanced = repair.advance_repair


def no_conflict(_own: Versions, _included: Versions) -> bool:
    """The versions in an announcement are ignored. [WX-04]"""
    return False


def forget_departed(state: State, _gone: Id) -> frozenset[Id]:
    """Departed nodes are not remembered. [WX-09]"""
    return state.departed


def row_only(state: State, cell: Cell) -> Next:
    """Only the nodes of a cell's own row are asked for it. [breaks WL-02]"""
    after, effects = _advanced(state, cell)
    asked = after.repairs.get(cell)
    if asked is None or asked.row <= cell[0]:
        return Step(after, effects)
    return Step(replace(state, repairs=state.repairs.without((cell,))), (CancelTimer(RepairTimeout(*cell)),))


def has_joined(step: Taking, state: State, event: Any, pick: Pick) -> Next:
    """An application's messages wait until its node has joined. [mends WX-03]"""
    if isinstance(event, Asked) and isinstance(event.command, Route) and state.stage is not Stage.JOINED:
        raise NotEnabled("not_joined", "a node that has not joined routes nothing")
    return step(state, event, pick)


VARIANTS: Final[Mapping[frozenset[str], type[Model]]] = {
    frozenset(): Model,
    frozenset({"NoConflict"}): variant(Model, overrides=names_in(joining, is_newer=no_conflict)),
    frozenset({"HasJoined"}): variant(Model, has_joined),
    frozenset({"Forgotten"}): variant(Model, overrides=names_in(repair, add_departed=forget_departed)),
    frozenset({"AskRowOnly"}): variant(Model, overrides=names_in(repair, advance_repair=row_only)),
}

BEHAVIOURS: Final[Mapping[str, None]] = {"Next": None, "FairSpec": None}
