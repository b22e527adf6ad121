"""Peter on Wendy: both as one protocol. [P-01]"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from peerproof.spec import wendy
from peerproof.spec.core import NodeId, Notify, Pick, Step, replace
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import Effect, Event, Rerouted, is_of_message, lift_message, lower_message
from peerproof.spec.peter.topics import State as Tree
from peerproof.spec.stack import Stack, Stacked
from peerproof.spec.wendy.routing import next_hop

State: TypeAlias = Stacked[wendy.State, Tree]
Next: TypeAlias = Step[State, Effect]


class Underlay:
    """Wendy, which asks the layer above before it forwards a message. [WA-58, PA-35]"""

    def initial(self, self_id: NodeId, config: wendy.Config) -> Step[Any, Any]:
        """See `stack.Overlay`."""
        return wendy.initial(self_id, config)

    def step(self, state: wendy.State, event: Any, pick: Pick) -> Step[Any, Any]:
        """
        See `stack.Overlay`.

        Also notifies of changed routes, once it is in the ring: before, it knows too few nodes. [PA-27]
        """
        after, told = wendy.step(state, event, pick)
        is_in_ring = after.stage in (wendy.Stage.ALONE, wendy.Stage.JOINED)
        if is_in_ring and (after.leaf_set, after.routing_table) != (state.leaf_set, state.routing_table):
            new = frozenset().union(*[now - then for now, then in zip(_members(after), _members(state), strict=True)])
            return Step(after, (*told, Notify(Rerouted(new))))
        return Step(after, told)

    def next_hop(self, state: wendy.State, key: wendy.Id, pick: Pick) -> wendy.Node | None:  # noqa: ARG002  # no random choice
        """See `stack.Overlay`. Of two nodes at the same distance, every query selects the same one. [W-39…W-44, PA-20]"""
        return next_hop(state, key)


def _members(state: wendy.State) -> tuple[frozenset[wendy.Id], frozenset[wendy.Id]]:
    """Returns the members of the two tables that decide routes."""
    leaves = frozenset([node.id for side in state.leaf_set for node in side])
    return leaves, frozenset([node.id for node in state.routing_table.values()])


class Trees:
    """Peter's own part. [P-06…P-28]"""

    initial = staticmethod(tree.initial)
    step = staticmethod(tree.step)
    lower_message = staticmethod(lower_message)
    lift_message = staticmethod(lift_message)
    is_of_message = staticmethod(is_of_message)


STACK: Final = Stack(Underlay(), Trees())


def initial(self_id: NodeId, config: wendy.Config) -> Next:
    """
    Returns a node that knows no other and has no subscriptions.

    Wendy asks it about every message in any configuration. [WA-58]
    """
    return STACK.initial(self_id, replace(config, is_consulted=True))


def step(state: State, event: Event, pick: Pick) -> Next:
    """Handles one event at a node of both protocols. Raises NotEnabled."""
    return STACK.step(state, event, pick)
