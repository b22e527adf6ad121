"""A relation that judges by other readings of the document where only these explain what was observed of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.traces.other_readings import (
    HINDSIGHT,
    MOST_WAYS,
    Explanation,
    Explanations,
    Taken,
    add_readings,
    candidates,
    explain,
    is_silent,
    read_explanations,
    specification_by,
    variant_by,
)
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.relation import Judgement, Observed, Opinion, Relation

#: Steps of the specification that are tried by one reading without knowledge of which answers represent others.
FREE_TRIES: Final = 500

#: A step, or knowledge of the state: judged by a relation, which then has moved on.
_Act: TypeAlias = Callable[[Relation], Judgement]

#: Returns what was observed of a step, in the form of allowed outcomes; called only where other readings are tried.
_See: TypeAlias = Callable[[], Mapping[str, Plain]]


class FairJudgement(NamedTuple):
    """The judgement of the specification, and the other readings that explain a step which it rejects."""

    judgement: Judgement
    explanations: Explanations = ()
    is_known: bool = True  #: states of the node after the step are known


class FairRelation:
    """The possible states of one node by the specification, or by other readings where only these explain its steps."""

    def __init__(self, protocol: str, relation: Relation, declared: Taken = ()) -> None:
        """`declared` are the readings that the node takes, and that are no difference."""
        self._protocol: Final = protocol
        self._first: Final = relation.under(specification_by(protocol, ()))
        self._ways: list[tuple[Taken, Relation]] = [
            (declared, relation.under(specification_by(protocol, declared)) if declared else relation)
        ]
        self._life: list[_Act] | None = None  #: since the start, while they are few

    @property
    def timers(self) -> Mapping[Any, int | None]:
        """See `Relation.timers`."""
        return self._ways[0][1].timers

    def start(self, node: NodeId, config: Any, observed: Observed, see: _See) -> FairJudgement:
        """The node has started or restarted. `see` returns what was observed, in the form of allowed outcomes."""
        self._life = []
        return self._judge(lambda relation: relation.start(node, config, observed), see)

    def take(self, event: Any, observed: Observed, see: _See) -> FairJudgement:
        """The node handles an event."""
        return self._judge(lambda relation: relation.take(event, observed), see)

    def keep(self, fits: Callable[[Any], bool]) -> FairJudgement:
        """Keeps the states that agree with knowledge of the state at this moment."""
        return self._judge(lambda relation: relation.keep(fits), dict)

    def _judge(self, act: _Act, see: _See) -> FairJudgement:
        if self._life is not None:
            self._life.append(act)
            self._life = self._life if len(self._life) <= HINDSIGHT else None
        before = [(taken, relation.under(specification_by(self._protocol, taken))) for taken, relation in self._ways]
        judged = [(taken, relation, self._act(taken, relation, act)) for taken, relation in self._ways]
        for opinion in (Opinion.ACCEPTED, Opinion.UNDETERMINED):
            if found := [one for one in judged if one[2].opinion is opinion]:
                self._ways = [(taken, relation) for taken, relation, _ in found]
                return FairJudgement(found[0][2])
        ordinary = judged[0][2]
        explained = [one for taken, relation in before for one in self._explain(taken, relation, act, ordinary, see)][:MOST_WAYS]
        if known := [(one.taken, one.after) for one in explained if one.after is not None]:
            self._ways = known
        return FairJudgement(ordinary, read_explanations(self._protocol, explained), bool(known))

    def _explain(self, taken: Taken, before: Relation, act: _Act, ordinary: Judgement, see: _See) -> list[Explanation]:
        """Returns the other readings that explain a step from some states; `taken` are those that the node takes already."""
        closed = [*candidates(self._protocol, taken)]
        changing = [number for number in closed if self._try(add_readings(taken, number), before, act)[0] != ordinary]

        def states_after_step(taken: Taken, tries: int | None = None) -> Relation | None:
            judgement, relation = self._try(taken, before, act, tries)
            return (self._live_by(taken) or relation) if judgement.opinion is Opinion.ACCEPTED else None

        every = [*closed, *candidates(self._protocol, taken, is_open=True)]
        return (
            explain(self._protocol, taken, changing, states_after_step)
            or explain(self._protocol, taken, every, self._live_by, most=1)
            or explain(self._protocol, taken, closed, partial(states_after_step, tries=FREE_TRIES), most=1)
            or list(self._explain_by_silence(taken, before, act, ordinary, see))
        )

    def _act(self, taken: Taken, relation: Relation, act: _Act) -> Judgement:
        """Judges a step; also which answers and states represent others is judged by the readings."""
        with variant_by(self._protocol, taken).overriding if taken else nullcontext():
            return act(relation)

    def _try(self, taken: Taken, before: Relation, act: _Act, tries: int | None = None) -> tuple[Judgement, Relation]:
        relation = before.under(specification_by(self._protocol, taken), tries)
        try:
            return self._act(taken, relation, act), relation
        except MalformedMessage as error:
            return Judgement(Opinion.REJECTED, why=str(error)), relation

    def _live_by(self, taken: Taken) -> Relation | None:
        """Returns the states after all steps since the start by some readings; None if these do not explain them."""
        relation = self._first.under(specification_by(self._protocol, taken))
        acts = self._life or ()
        is_explained = acts and all(self._act(taken, relation, act).opinion is Opinion.ACCEPTED for act in acts)
        return relation if is_explained else None

    def _explain_by_silence(
        self, taken: Taken, before: Relation, act: _Act, ordinary: Judgement, see: _See
    ) -> Iterator[Explanation]:
        """Yields the first reading that shows that the document is silent about what differs."""
        for number in candidates(self._protocol, taken, is_open=True):
            judgement, relation = self._try(add_readings(taken, number), before, act)
            if judgement.opinion is Opinion.ACCEPTED:
                yield Explanation((number,), add_readings(taken, number), relation)
                return
            if is_silent(_outcomes(ordinary), _outcomes(judgement), see()):
                yield Explanation((number,), taken)
                return


def _outcomes(judgement: Judgement) -> list[Mapping[str, Plain]]:
    return [outcome for outcome in judgement.allowed if isinstance(outcome, dict)]
