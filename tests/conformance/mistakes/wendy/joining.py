"""Mistakes in joining: in answering those who want to, and in asking, waiting, and learning from what others send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import received, variants

from peerproof.spec.core import Asked, Duration, NodeId, Notify, Pick, Send, Sent, SetTimer, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import joining, routing
from peerproof.spec.wendy.messages import Announce, Join, JoinFailed, Mask, NodeAnnouncement, NodeJoin, StateData, Tables
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import Stage, State
from peerproof.spec.wendy.tables import insert_node, select_tables

Next = Step[Any, Any]

NEXT_HOP_OF_JOIN = routing.next_hop_of_join


def with_messages(step: Next, kind: type[Any], change: Callable[[Any], Any]) -> Next:
    """A step whose messages of this kind are others; None for one that is not sent."""
    effects: list[Any] = []
    for effect in step.effects:
        if isinstance(effect, Send) and isinstance(effect.message, kind):
            message = change(effect.message)
            effects += [] if message is None else [replace(effect, message=message)]
        else:
            effects.append(effect)
    return step._replace(effects=tuple(effects))


class _Answer(Wrong):
    """Answers joins otherwise."""

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:
        """What is sent instead."""
        raise NotImplementedError

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces the answer."""
        step = super().step(state, event, pick)
        if not received(event, NodeJoin):
            return step
        return with_messages(step, StateData, lambda data: self.answer(state, event.message, data))


class AllTables(_Answer):
    """Sends all tables, whoever it is to the joiner."""

    caught_by: ClassVar = ("contact-that-sends-on", "destination-of-a-join", "node-on-the-way", "third-node-of-a-join")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """All of them."""
        return replace(data, tables=select_tables(state))


class NoNeighborhoodSet(_Answer):
    """Sends no neighborhood set."""

    caught_by: ClassVar = ("contact-that-is-alone", "contact-that-sends-on", "a-second-join")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without it."""
        return replace(data, tables=data.tables._replace(neighborhood_set=None))


class EmptyTablesAreLeftOut(_Answer):
    """Sends no tables that are empty."""

    caught_by: ClassVar = ("contact-that-is-alone", "a-join-while-joining", "a-join-of-the-own-id")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without these."""
        table, leaves, near = data.tables
        return replace(data, tables=Tables(table or None, leaves if leaves and any(leaves) else None, near or None))


class NoMark(_Answer):
    """Forgets the mark of the destination."""

    caught_by: ClassVar = ("contact-that-is-alone", "destination-of-a-join", "two-nodes")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without it."""
        return replace(data, destination=False)


class AlwaysTheMark(_Answer):
    """Marks every answer to a join."""

    caught_by: ClassVar = ("contact-that-sends-on", "node-on-the-way")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """With it."""
        return replace(data, destination=True)


class OneAnswerEach(_Answer):
    """Answers a joiner once."""

    caught_by: ClassVar = ("a-second-join",)
    answered: frozenset[int] = frozenset()

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:  # noqa: ARG002
        """Nothing the second time."""
        known, self.answered = self.answered, self.answered | {join.header.sender.id}
        return None if join.header.sender.id in known else data


class MembersOnly(_Answer):
    """Answers nobody before it has joined."""

    caught_by: ClassVar = ("a-join-while-joining",)

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:  # noqa: ARG002
        """Nothing yet."""
        return None if state.stage in (Stage.JOINING, Stage.WAITING) else data


class StrangersOnly(_Answer):
    """Answers nobody who has its own id."""

    caught_by: ClassVar = ("a-join-of-the-own-id",)

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:
        """Nothing."""
        return None if join.header.sender.id == state.id else data


class VersionsOfNothing(_Answer):
    """Sends no versions with its tables."""

    caught_by: ClassVar = ("contact-that-sends-on", "destination-of-a-join")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without them."""
        return replace(data, header=replace(data.header, versions=type(data.header.versions)()))


class JoinersAreInserted(Wrong):
    """Takes a joiner into its leaf set."""

    caught_by: ClassVar = ("contact-that-is-alone", "destination-of-a-join", "before-the-wait-is-over")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """After the answer."""
        step = super().step(state, event, pick)
        joiner = event.message.header.sender if received(event, NodeJoin) else None
        return step._replace(state=insert_node(step.state, joiner, Mask(leaf_set=True))) if joiner else step


class AnswersToThePeer(Wrong):
    """Answers who has no address at the other end of the connection."""

    caught_by: ClassVar = ("a-join-of-somebody-without-an-address", "asked-by-nobody")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sends it there."""
        step = super().step(state, event, pick)
        if getattr(event, "sender", None) and not step.effects and type(event.message).__name__ in ("NodeJoin", "StateRequest"):
            data = StateData(event.message.header, select_tables(state))
            return step._replace(effects=(Send(event.sender, data),))
        return step


class TablesOnceMore(Wrong):
    """Sends its routing table again when a join has come back."""

    caught_by: ClassVar = ("a-join-that-does-not-get-on",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """With the leaf set."""
        step = super().step(state, event, pick)
        if not (isinstance(event, Sent) and isinstance(event.message, NodeJoin)):
            return step
        table = select_tables(step.state).routing_table
        return with_messages(step, StateData, lambda data: replace(data, tables=data.tables._replace(routing_table=table)))


# -- the one that joins ------------------------------------------------------------------------------------------------

ON_JOIN = joining.on_join
ON_STATE_DATA = joining.on_state_data


class BeginsJoined(Wrong):
    """Begins as if it had joined: whoever is alone is a cluster."""

    caught_by: ClassVar = ("a-node-begins-with-nothing", "a-join-goes-to-the-contact")

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Joined."""
        first = super().initial(self_id, config)
        return Step(replace(first.state, stage=Stage.JOINED), first.effects)


class _Joiner(Wrong):
    """Asks otherwise."""

    def asked(self, state: State, command: Join, step: Next) -> Next:
        """What is done instead."""
        raise NotImplementedError

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces what is done about a wish to join."""
        step = super().step(state, event, pick)
        return self.asked(state, event.command, step) if isinstance(event, Asked) and isinstance(event.command, Join) else step


class JoinsByTheContactsKey(_Joiner):
    """Sends a join with hops, as if it had received it."""

    caught_by: ClassVar = ("a-join-goes-to-the-contact", "alone-after-a-restart", "own-global-host", "own-host-with-colons")

    def asked(self, state: State, command: Join, step: Next) -> Next:  # noqa: ARG002
        """With one hop."""
        return with_messages(step, NodeJoin, lambda join: replace(join, header=replace(join.header, hop=1)))


class JoinsWithoutCredentials(_Joiner):
    """Leaves the credentials out of a join."""

    caught_by: ClassVar = ("a-join-with-credentials",)

    def asked(self, state: State, command: Join, step: Next) -> Next:  # noqa: ARG002
        """Without them."""
        return with_messages(step, NodeJoin, lambda join: replace(join, header=replace(join.header, credentials=None)))


def _any_time(state: State, contact: Any) -> Next:
    if contact == state.self_id:
        return Step(state)
    return Step(replace(state, stage=Stage.JOINING, contact=contact), (Send(contact, NodeJoin(header(state))),))


def _once(state: State, contact: Any) -> Next:
    if state.stage is not Stage.ALONE:
        raise NotEnabled("not_alone", "once")
    return ON_JOIN(state, contact)


class SilentFailure(Wrong):
    """Does not tell that its contact is not there."""

    caught_by: ClassVar = ("a-contact-that-is-not-there",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves that out."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, JoinFailed)))
        )


def _failed_anyway(state: State, *, failed: bool) -> Next:
    contact = state.contact
    if contact is None or not failed:
        return Step(replace(state, contact=None))
    return Step(replace(state, contact=None, stage=Stage.ALONE), (Notify(JoinFailed(contact)),))


def _waits(state: State, data: StateData, *, may_wait: bool) -> Next:
    after, effects = ON_STATE_DATA(state, data)
    timers = tuple(effect for effect in effects if not isinstance(effect, SetTimer))
    if not may_wait:
        return Step(replace(after, stage=state.stage), timers)
    return Step(replace(after, stage=Stage.WAITING), (*timers, SetTimer(Announce(), Duration(2 * state.config.network_timeout))))


class WaitsTwentySeconds(Wrong):
    """Waits as long as by default, whatever is configured."""

    caught_by: ClassVar = ("another-timeout", "before-the-wait-is-over")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sets another timer."""
        step = super().step(state, event, pick)
        effects = [
            SetTimer(e.timer, Duration(20_000)) if isinstance(e, SetTimer) and isinstance(e.timer, Announce) else e
            for e in step.effects
        ]
        return step._replace(effects=tuple(effects))


class PassesStragglersOver(Wrong):
    """Applies no tables while it waits."""

    caught_by: ClassVar = ("stragglers-are-applied", "a-second-leaf-set", "the-larger-versions-stay")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops them."""
        late = received(event, StateData) and state.stage is Stage.WAITING
        return Step(state) if late else super().step(state, event, pick)


class NoSender(Wrong):
    """Inserts the nodes of tables, and not who has sent them."""

    caught_by: ClassVar = ("a-joiner-has-met-its-contact", "sender-and-leaves-of-a-state-message", "leaves-nearest-first")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Has a sender without an address."""
        if received(event, StateData):
            header = event.message.header
            sender = header.sender._replace(local_ip="", global_ip="")
            event = replace(event, message=replace(event.message, header=replace(header, sender=sender)))
        return super().step(state, event, pick)


class TellsWhoIsMeasured(Wrong):
    """Announces itself to those whom it only measures, too."""

    caught_by: ClassVar = ("who-is-measured-is-not-told",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sends more announcements."""
        step = super().step(state, event, pick)
        sends = [e for e in step.effects if isinstance(e, Send) and isinstance(e.message, NodeAnnouncement)]
        more = [replace(sends[0], to=NodeId(f"{node.local_ip}:{node.port}")) for node in state.measured.values()] if sends else []
        return step._replace(effects=(*step.effects, *more))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "JoinsGoToLeaves": (
            "Sends joins on by its leaf set alone.",
            {
                "joining.next_hop_of_join": lambda state, joiner: NEXT_HOP_OF_JOIN(
                    replace(state, routing_table=type(state.routing_table)()), joiner
                )
            },
            "a-join-is-routed-by-its-key",
        ),
        "JoinsEndHere": (
            "Sends joins to nobody else.",
            {"joining.forward_join": lambda *_: None},
            "contact-that-sends-on node-on-the-way largest-hops-of-a-join a-join-is-routed-by-its-key",
        ),
        "JoinsAnyTime": (
            "Joins whenever it is asked to, by whomever.",
            {"transitions.on_join": _any_time},
            "one-join-at-a-time no-join-by-itself no-join-while-waiting",
        ),
        "JoinsOnce": ("Asks to join once, whatever comes of it.", {"transitions.on_join": _once}, "a-join-once-more"),
        "FailsTooLate": (
            "Gives up because of its contact although others have answered.",
            {"transitions.on_join_sent": _failed_anyway},
            "the-join-fails-too-late",
        ),
        "WaitsForAnyLeafSet": (
            "Takes any leaf set for that of the destination.",
            {
                "transitions.on_state_data": lambda state, data: (
                    _waits(state, data, may_wait=True)
                    if data.tables.leaf_set is not None and state.stage is Stage.JOINING
                    else ON_STATE_DATA(state, data)
                )
            },
            "a-leaf-set-without-the-mark",
        ),
        "WaitsForALeafSet": (
            "Does not wait when the mark comes without a leaf set.",
            {
                "transitions.on_state_data": lambda state, data: (
                    _waits(state, data, may_wait=False) if data.tables.leaf_set is None else ON_STATE_DATA(state, data)
                )
            },
            "the-mark-without-a-leaf-set",
        ),
        "WaitsAgain": (
            "Starts to wait at each mark, whoever it is.",
            {
                "transitions.on_state_data": lambda state, data: (
                    _waits(state, data, may_wait=True) if data.destination else ON_STATE_DATA(state, data)
                )
            },
            "a-second-leaf-set a-leaf-set-after-joining the-mark-for-somebody-alone",
        ),
        "WaitsOnce": (
            "Waits one network timeout.",
            {"joining.WAIT": 1},
            "announcement-after-the-wait another-timeout before-the-wait-is-over",
        ),
    },
)
__getattr__ = MISTAKES.find
