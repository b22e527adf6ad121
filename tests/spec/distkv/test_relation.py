"""Logs without the answers of chance are explained, though there are thousands of moments to choose from."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.distkv_samples import ping

from peerproof.spec import distkv
from peerproof.spec.core import Instant, NodeId, Received, SetTimer
from peerproof.spec.distkv import Config, PingDue
from peerproof.spec.distkv.relation import narrow
from peerproof.spec.traces.relation import Bounds, Judgement, Observed, Opinion, Question, Relation
from peerproof.spec.traces.trace import effect_plain


def heard(*answers: int, effects: bool) -> Judgement:
    """What is said of a node that has heard its first ping, after which it draws when to ping itself."""
    config, left = Config(), iter(answers)
    relation = Relation(distkv, narrow, Bounds(tries=20))
    assert relation.start(NodeId("n"), config, Observed()).opinion is Opinion.ACCEPTED
    event = Received(Instant(0), NodeId("a"), ping("a0"))

    def drawn(*_: Any) -> Any:
        return (next(left),)

    taken = distkv.step(distkv.initial(NodeId("n"), config).state, event, drawn)  # type: ignore[arg-type]  # it has been drawn
    assert any(isinstance(effect, SetTimer) and effect.timer == PingDue() for effect in taken.effects)
    shown = tuple(effect_plain(distkv, effect) for effect in taken.effects)
    return relation.take(event, Observed(effects=shown if effects else None))


@pytest.mark.parametrize("answers", [(0,), (7, 12500), (19, 15000), (1, 14321)])
@pytest.mark.parametrize("effects", [True, False])
def test_any_moment_is_explained_at_once(answers: tuple[int, ...], effects: bool) -> None:
    assert heard(*answers, effects=effects).opinion is Opinion.ACCEPTED


def test_moment_beyond_the_window_is_not() -> None:
    assert heard(7, 15001, effects=True).opinion is Opinion.REJECTED
    assert heard(7, 5001, effects=True).opinion is Opinion.REJECTED


def test_other_questions_are_left_to_others() -> None:
    question = Question("round.partner", (1, 2), 1, None, (), None)
    assert narrow(question) is None
