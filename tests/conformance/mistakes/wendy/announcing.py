"""Mistakes in joining: in answering, asking, waiting and learning; in announcing oneself, and in noticing races."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around, forbidding, hearing, with_header, with_messages

from peerproof.spec.core import Asked, Duration, Notify, Pick, Send, SetTimer, Step
from peerproof.spec.wendy import joining, proximity
from peerproof.spec.wendy.messages import (
    NO_VERSIONS,
    Announce,
    Join,
    Joined,
    NodeAnnouncement,
    NodeJoin,
    StateData,
    Tables,
)
from peerproof.spec.wendy.state import Stage, State

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
ON_STATE_DATA = joining.on_state_data
TOLD = proximity.learn_tables


def joining_with(change: Callable[[State, Join, Next], Next]) -> dict[str, Any]:
    """What is replaced to do something else when it is asked to join."""
    return after(
        "step",
        lambda step, state, event, _: (
            change(state, event.command, step) if isinstance(event, Asked) and isinstance(event.command, Join) else step
        ),
    )


def _waits(state: State, data: StateData, *, may_wait: bool) -> Next:
    after, effects = ON_STATE_DATA(state, data)
    timers = tuple(effect for effect in effects if not isinstance(effect, SetTimer))
    if not may_wait:
        return Step(replace(after, stage=state.stage), timers)
    return Step(replace(after, stage=Stage.WAITING), (*timers, SetTimer(Announce(), Duration(2 * state.config.network_timeout))))


@wrong.after("step", "another-timeout before-the-wait-is-over")
def WaitsTwentySeconds(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Waits as long as by default, whatever is configured."""
    effects = [
        SetTimer(e.timer, Duration(20_000)) if isinstance(e, SetTimer) and isinstance(e.timer, Announce) else e
        for e in step.effects
    ]
    return step._replace(effects=tuple(effects))


@wrong.after(
    "transitions.on_node_announcement",
    "announcement-with-an-old-routing-table announcement-with-an-old-leaf-set announcement-with-an-old-neighborhood-set "
    "the-departed-comes-back-and-is-warned",
)
def InsertsWhomItWarns(step: Next, _: State, announcement: NodeAnnouncement) -> Next:
    """Warns an announcer, and inserts it."""
    after, effects = TOLD(step.state, announcement.header.sender, announcement.tables)
    return step if after is step.state else Step(after, (*step.effects, *effects))


@wrong.after("step", "announcement-after-the-wait the-versions-of-each versions-that-were-sent")
def OwnVersionsInAnnouncements(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Puts its own versions into announcements."""
    own = step.state.versions
    return with_messages(step, NodeAnnouncement, lambda said: with_header(said, versions=own))


@wrong.after("step", "the-versions-of-each versions-that-were-sent the-larger-versions-stay a-warning-is-applied-and-announced")
def NoVersionsInAnnouncements(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps no versions."""
    return with_messages(step, NodeAnnouncement, lambda said: with_header(said, versions=NO_VERSIONS))


@wrong.after("joining.announce", "everybody-is-told-once who-is-no-leaf-is-announced-to")
def AnnouncesToLeaves(step: Next, state: State) -> Next:
    """Announces itself to its leaves only."""
    leaves = {node.id for side in state.leaf_set for node in side}
    addresses = {f"{node.local_ip}:{node.port}" for node in state.known.values() if node.id in leaves}
    return step._replace(effects=tuple(e for e in step.effects if isinstance(e, Send) and e.to in addresses))


@wrong.after("step", "announcement-after-the-wait")
def JoinsInSilence(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Does not tell that it has joined."""
    return step._replace(effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, Joined))))


wrong |= {
    # Asks to join once, whatever comes of it.
    "JoinsOnce: a-join-once-more": forbidding("transitions.on_join", lambda state, _: state.stage is not Stage.ALONE),
    # Inserts the nodes of tables, and not who has sent them.
    "NoSender: a-joiner-has-met-its-contact sender-and-leaves-of-a-state-message leaves-nearest-first": hearing(
        StateData, lambda data, _: with_header(data, sender=data.header.sender._replace(local_ip="", global_ip=""))
    ),
    # Announces itself once for each table that somebody is in.
    "AnnouncesPerTable: everybody-is-told-once announcement-after-the-wait": after(
        "joining.announce", lambda step, _: step._replace(effects=(*step.effects, *step.effects))
    ),
    # Begins as if it had joined: whoever is alone is a cluster.
    "BeginsJoined: a-node-begins-with-nothing a-join-goes-to-the-contact": after(
        "initial", lambda first, *_: Step(replace(first.state, stage=Stage.JOINED), first.effects)
    ),
    # Sends a join with hops, as if it had received it.
    "JoinsByTheContactsKey: a-join-goes-to-the-contact alone-after-a-restart own-global-host own-host-with-colons": joining_with(
        lambda state, command, step: with_messages(step, NodeJoin, lambda join: with_header(join, hop=1))
    ),
    # Leaves the credentials out of a join.
    "JoinsWithoutCredentials: a-join-with-credentials": joining_with(
        lambda state, command, step: with_messages(step, NodeJoin, lambda join: with_header(join, credentials=None))
    ),
    # Sends joins to nobody else.
    "JoinsEndHere: contact-that-sends-on node-on-the-way largest-hops-of-a-join a-join-is-routed-by-its-key": {
        "joining.forward_join": lambda *_: None
    },
    # Does not wait when the mark comes without a leaf set.
    "WaitsForALeafSet: the-mark-without-a-leaf-set": around(
        "transitions.on_state_data",
        lambda right, state, data: _waits(state, data, may_wait=False) if data.tables.leaf_set is None else right(state, data),
    ),
    # Starts to wait at each mark, whoever it is.
    "WaitsAgain: a-second-leaf-set a-leaf-set-after-joining the-mark-for-somebody-alone": around(
        "transitions.on_state_data",
        lambda right, state, data: _waits(state, data, may_wait=True) if data.destination else right(state, data),
    ),
    # Waits one network timeout.
    "WaitsOnce: announcement-after-the-wait another-timeout before-the-wait-is-over": {"joining.WAIT": 1},
    # Accepts every announcement.
    "NeverWarns: who-is-known-is-warned-too announcement-with-an-old-routing-table announcement-with-an-old-leaf-set "
    "announcement-with-an-old-neighborhood-set the-same-announcement-twice the-versions-of-the-moment two-join-at-once": {
        "joining.is_newer": lambda *_: False
    },
    # Announces itself without its tables.
    "AnnouncesNoTables: warned-by-a-leaf announcement-after-the-wait stragglers-are-applied "
    "a-warning-is-applied-and-announced": around(
        "step",
        lambda right, state, event, pick: with_messages(
            right(state, event, pick), NodeAnnouncement, lambda said: replace(said, tables=Tables())
        ),
    ),
    # Warns also of versions that are later than its own.
    "WarnsAtAnyDifference: announcement-with-later-versions the-departed-comes-back "
    "versions-in-an-announcement-are-the-receivers": {"joining.is_newer": lambda own, included: own != included},
    # Warns of the versions that it has.
    "WarnsAtEqualVersions: who-is-known-is-not-warned-in-vain announcement-with-the-same-versions "
    "announcement-to-somebody-alone": {
        "joining.is_newer": lambda own, included: any(a >= b for a, b in zip(own, included, strict=True))
    },
}
__getattr__ = wrong.find
