"""Mistakes in what is a sign of life, how suspicion grows, and what the application is told of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import received, variants, without_effects

from peerproof.spec.core import Duration, Expired, Instant, NodeId, Notify, Pick, Send
from peerproof.spec.scuttlebutt import arrival, transitions
from peerproof.spec.scuttlebutt.arrival import ONE_BY_LN_10, ArrivalWindow, Detector
from peerproof.spec.scuttlebutt.messages import Delta, DigestEntry, DigestRequest, DigestResponse, Down, Heartbeat, Up
from peerproof.spec.scuttlebutt.state import State, Status
from peerproof.spec.scuttlebutt.transitions import Next

_HEARD = arrival.record_arrival
_LEARNED = transitions.add_peers
_WITH_HEARTBEAT = transitions.with_heartbeat


def _exceeds(window: ArrivalWindow, silence: int, mean_of: tuple[int, int], thousandths: int) -> bool:
    """Whether phi is above a threshold, for a mean given as a fraction."""
    total, count = mean_of
    return silence * count * ONE_BY_LN_10[0] * 1000 > thousandths * total * ONE_BY_LN_10[1]


class DigestsAreHeartbeats(Wrong):
    """Takes digests for signs of life as well."""

    caught_by: ClassVar = (
        "digest-request-is-no-heartbeat",
        "digest-response-is-no-heartbeat",
        "delta-is-told-as-a-heartbeat",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Counts them."""
        step = super().step(state, event, pick)
        if not received(event, DigestRequest) and not received(event, DigestResponse):
            return step
        alive, heartbeat = _WITH_HEARTBEAT(step.state, event.now, event.sender)
        return Next(alive, (*step.effects, heartbeat))


class OnlyDigestsAreHeartbeats(Wrong):
    """Takes digests for signs of life, and deltas not."""

    caught_by: ClassVar = ("delta-is-told-as-a-heartbeat", "peer-heard-again-comes-up", "delta-starts-the-silence-anew-above")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Undoes the delta's heartbeat."""
        step = super().step(state, event, pick)
        if received(event, Delta):
            step = without_effects(step, lambda effect: isinstance(effect, Notify) and isinstance(effect.notice, Heartbeat))
            return step._replace(state=replace(step.state, liveness=state.liveness))
        return step


class EmptyDeltasAreNoHeartbeats(Wrong):
    """Drops an empty delta without a look at who sent it."""

    caught_by: ClassVar = ("empty-delta-is-a-heartbeat", "round-trip-from-a-request")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops them."""
        if received(event, Delta) and not event.message.entries:
            return Next(state)
        return super().step(state, event, pick)


class StaleDeltasAreNoHeartbeats(Wrong):
    """Counts a delta as a sign of life only if it changed something."""

    caught_by: ClassVar = ("stale-delta-is-a-heartbeat", "stale-delta-is-not-told")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops what is stale."""
        step = super().step(state, event, pick)
        stale = received(event, Delta) and event.message.entries and step.state.store == state.store
        return Next(state) if stale else step


class HeartbeatsOfThoseNamed(Wrong):
    """Takes a delta for a sign of life of the peers that it is about."""

    caught_by: ClassVar = ("delta-is-no-heartbeat-of-those-in-it", "heartbeat-of-the-source-not-of-those-named")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Mistakes who is alive."""
        if received(event, Delta) and event.message.entries:
            event = replace(event, sender=event.message.entries[0].addr)
        return super().step(state, event, pick)


class StrangersBecomePeers(Wrong):
    """Stores who sends a delta."""

    caught_by: ClassVar = ("heartbeat-of-a-stranger", "delta-from-an-unknown-source")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Stores the sender first."""
        if received(event, Delta):
            state = _LEARNED(state, event.now, [DigestEntry(event.sender, 0)])[0]
        return super().step(state, event, pick)


class SilentHeartbeats(Wrong):
    """Does not tell the application of heartbeats."""

    caught_by: ClassVar = ("delta-is-told-as-a-heartbeat", "round-trip-from-a-request")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves them out."""
        return without_effects(
            super().step(state, event, pick), lambda effect: isinstance(effect, Notify) and isinstance(effect.notice, Heartbeat)
        )


# Suspicion


class OneThreshold(Wrong):
    """Takes a critical peer for down."""

    caught_by: ClassVar = ("down-by-default-below",)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Makes both the same."""
        detector = config.detector and replace(config.detector, down=config.detector.critical)
        return super().initial(self_id, replace(config, detector=detector))


class AlwaysADetector(Wrong):
    """Has a failure detector though none is configured."""

    caught_by: ClassVar = ("without-a-detector-nobody-is-critical",)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Adds the default one."""
        return super().initial(self_id, replace(config, detector=config.detector or Detector()))


# Status


class StartsDown(Wrong):
    """Takes a peer for down until it is heard."""

    caught_by: ClassVar = ("new-peer-is-up",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Marks new peers."""
        step = super().step(state, event, pick)
        new = {
            addr: replace(known, status=Status.DOWN) for addr, known in step.state.liveness.items() if addr not in state.liveness
        }
        return step._replace(state=replace(step.state, liveness=step.state.liveness.put(new)))


class TellsStatusEveryRound(Wrong):
    """Tells the status of every peer in every round."""

    caught_by: ClassVar = ("status-is-told-when-it-changes",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Adds what did not change."""
        step = super().step(state, event, pick)
        if not isinstance(event, Expired):
            return step
        told = tuple(Notify(Up(addr) if known.status is Status.UP else Down(addr)) for addr, known in step.state.liveness.items())
        return without_effects(step, lambda effect: isinstance(effect, Notify))._replace(
            effects=(*(effect for effect in step.effects if not isinstance(effect, Notify)), *told)
        )


# Round trips


def _with_sent(state: State, before: State, keep: Any) -> State:
    sent = {addr: replace(known, digest_sent=keep(addr, known)) for addr, known in state.liveness.items()}
    return replace(state, liveness=state.liveness.put({addr: known for addr, known in sent.items() if addr in before.liveness}))


class RoundTripAgain(Wrong):
    """Measures a round trip at each delta, however many follow one digest."""

    caught_by: ClassVar = ("round-trip-once-for-a-digest",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Keeps the digest's time."""
        step = super().step(state, event, pick)
        if not received(event, Delta):
            return step
        return step._replace(state=_with_sent(step.state, state, lambda addr, _: state.liveness[addr].digest_sent))


class RoundTripOfRequestsOnly(Wrong):
    """Does not measure from a digest response."""

    caught_by: ClassVar = ("round-trip-from-a-response",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Forgets it."""
        step = super().step(state, event, pick)
        if not received(event, DigestRequest):
            return step
        return step._replace(state=_with_sent(step.state, state, lambda addr, _: state.liveness[addr].digest_sent))


class RoundTripOfDeltas(Wrong):
    """Measures from the last datagram of any kind."""

    caught_by: ClassVar = ("no-round-trip-from-a-delta",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Remembers deltas too."""
        step = super().step(state, event, pick)
        sent = [effect.to for effect in step.effects if isinstance(effect, Send)]
        return step._replace(state=transitions.record_digests(step.state, event.now, sent))


class RoundTripOfNothingIsNone(Wrong):
    """Takes a round trip of 0 ms for none."""

    caught_by: ClassVar = ("round-trip-of-nothing",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Mistakes 0 for nothing."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(
                Notify(replace(effect.notice, round_trip=effect.notice.round_trip or None))
                if isinstance(effect, Notify) and isinstance(effect.notice, Heartbeat)
                else effect
                for effect in step.effects
            )
        )


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NoBootstrap": (
            "Has no interval to judge a peer by that was never heard, and so never does.",
            {"transitions.open_window": lambda now, _: ArrivalWindow(now, ())},
            "critical-by-default-above down-by-default-above",
        ),
        "BootstrapIsReplaced": (
            "Drops the bootstrap interval as soon as there is a real one.",
            {
                "transitions.record_arrival": lambda window, now, detector: (
                    _HEARD(replace(window, intervals=()), now, detector)
                    if window.intervals == (detector.bootstrap,)
                    else _HEARD(window, now, detector)
                )
            },
            "bootstrap-interval-counts-in-the-mean-below",
        ),
        "NoWindow": (
            "Remembers all intervals, whatever the window.",
            {
                "transitions.record_arrival": lambda window, now, _: ArrivalWindow(
                    now, (*window.intervals, Duration(now - window.last))
                )
            },
            "window-forgets-the-oldest-interval-above delta-starts-the-silence-anew-above",
        ),
        "ForgetsTheNewest": (
            "Keeps the first intervals of a peer and drops the new ones.",
            {
                "transitions.record_arrival": lambda window, now, detector: ArrivalWindow(
                    now, (*window.intervals, Duration(now - window.last))[: detector.window]
                )
            },
            "window-forgets-the-oldest-interval-above",
        ),
        "SilenceSinceTheStart": (
            "Counts the silence of a peer that was never heard from its own start.",
            {"transitions.open_window": lambda _, detector: ArrivalWindow(Instant(0), (detector.bootstrap,))},
            "silence-counts-from-when-a-peer-is-stored-below",
        ),
        "LatestInterval": (
            "Takes the last interval for the mean.",
            {
                "transitions.phi_exceeds": lambda window, now, thousandths: _exceeds(
                    window, now - window.last, (max(window.intervals[-1], 1), 1), thousandths
                )
            },
            "bootstrap-interval-counts-in-the-mean-below mean-of-unequal-intervals-below",
        ),
        "MeanRoundedDown": (
            "Divides integers, and loses what is left.",
            {
                "transitions.phi_exceeds": lambda window, now, thousandths: _exceeds(
                    window, now - window.last, (max(sum(window.intervals) // len(window.intervals), 1), 1), thousandths
                )
            },
            "mean-of-unequal-intervals-below",
        ),
        "MeanRoundedUp": (
            "Rounds the mean to the next millisecond.",
            {
                "transitions.phi_exceeds": lambda window, now, thousandths: _exceeds(
                    window, now - window.last, (max(-(-sum(window.intervals) // len(window.intervals)), 1), 1), thousandths
                )
            },
            "mean-of-unequal-intervals-above",
        ),
        "LogarithmOf2": (
            "Takes the binary logarithm where the decimal one is meant.",
            {"arrival.ONE_BY_LN_10": (14_426_950_408_889, 10_000_000_000_000)},
            "phi-of-1-below phi-of-12345-thousandths-below down-at-phi-of-1-below",
        ),
        "RoundsTheFactor": (
            "Takes 0.434 for 1/ln 10.",
            {"arrival.ONE_BY_LN_10": (434, 1000)},
            "critical-by-default-above down-by-default-above phi-of-12345-thousandths-above",
        ),
        "WholeThresholds": (
            "Rounds thresholds to whole phi.",
            {
                "transitions.phi_exceeds": lambda window, now, thousandths: arrival.phi_exceeds(
                    window, now, thousandths // 1000 * 1000
                )
            },
            "phi-of-a-thousandth-below phi-of-12345-thousandths-below",
        ),
        "ZeroIsNoThreshold": (
            "Takes a threshold of 0 for one that is not set.",
            {
                "transitions.phi_exceeds": lambda window, now, thousandths: (
                    thousandths > 0 and arrival.phi_exceeds(window, now, thousandths)
                )
            },
            "critical-threshold-of-0",
        ),
        "RoundTripFromTheFirst": (
            "Measures from the first digest that is not answered.",
            {
                "transitions.record_digests": lambda state, now, targets: replace(
                    state,
                    liveness=state.liveness.put(
                        {
                            addr: replace(state.liveness[addr], digest_sent=state.liveness[addr].digest_sent or now)
                            for addr in targets
                            if addr in state.liveness
                        }
                    ),
                )
            },
            "round-trip-from-the-last-digest",
        ),
        "RoundTripOfAnybody": (
            "Measures from the last digest to anybody.",
            {
                "transitions.record_digests": lambda state, now, targets: replace(
                    state,
                    liveness=state.liveness.put(
                        {addr: replace(known, digest_sent=now) for addr, known in state.liveness.items()} if [*targets] else {}
                    ),
                )
            },
            "round-trips-of-two-peers",
        ),
    },
)
__getattr__ = MISTAKES.find
