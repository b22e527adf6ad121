"""The election of the node that pings next. [D-71…D-86, D-106, D-107, DA-31…DA-41, DA-65…DA-67, DA-69, DA-70]"""

from __future__ import annotations

from peerproof.spec.core import Duration, Notify, Pick, Step, replace
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain, Element, is_authoritative, with_ping, zero_may_ping
from peerproof.spec.distkv.messages import InitialPingDue, NeedsDownload, Ping, PingDue
from peerproof.spec.distkv.outgoing import Next, cancel_timer, originate, set_timer, then
from peerproof.spec.distkv.pings import Kind, kind_of, winner
from peerproof.spec.distkv.recovery import begin, greet
from peerproof.spec.distkv.state import State, is_authoritative_for, is_startup


def on_ping(state: State, ping: Ping, pick: Pick) -> Next:
    """Handles a ping of another node. [DA-69]"""
    sender, last = ping.chain.head.node, state.last
    taken = greet(state, ping.chain) if is_startup(ping) else Step(state)
    kind = kind_of(ping, last, state.heard.get(sender))
    if kind is Kind.STALE:
        return taken
    taken = then(taken, lambda now: Step(replace(now, heard=now.heard.put({sender: ping.tock}))))
    if kind is Kind.INITIAL:
        return taken
    is_better = last is None or kind is Kind.NEXT or winner(ping, last) is ping
    may_follow = kind is Kind.SPLIT and not state.participates and last is not None and is_startup(last)
    if is_better or may_follow:
        taken = then(taken, lambda now: accept(now, ping, pick))
    if kind is Kind.SPLIT and last is not None:
        taken = then(taken, lambda now: begin(now, last.chain, ping.chain, lost=is_better, is_reason=False))
    return taken


def accept(state: State, ping: Ping, pick: Pick) -> Next:
    """Makes a ping the one that the next is based on. [DA-66]"""
    last = Ping(ping.chain.within(state.config.ping_length), ping.tock)
    taken = cancel_timer(replace(state, last=last), InitialPingDue())
    return then(taken, seek_download, lambda now: decide(now, pick))


def seek_download(state: State) -> Next:
    """A passive node has learnt of nodes with data, and starts to download from them. [D-103, D-122, DA-70]"""
    if state.participates or not is_authoritative_for(state):
        return Step(state)
    trying = frozenset() if state.source is None else frozenset((state.source,))
    after = replace(state, tried=trying)
    return Step(after) if trying else try_next(after)


def try_next(state: State) -> Next:
    """Requests a download from the newest node of the chain that has data and was not tried. [DA-70]"""
    elements = () if state.last is None else state.last.chain.elements
    tried = {state.self_id, *state.tried}
    source = next((node for node, tick in elements if tick and node not in tried), None)
    if source is None:
        return Step(replace(state, source=None))
    return Step(replace(state, source=source, tried=state.tried | {source}), (Notify(NeedsDownload(source)),))


def decide(state: State, pick: Pick) -> Next:
    """Sets the timer for this node's ping, by the last accepted ping. [DA-09, DA-66, DA-67]"""
    last, clock = state.last, state.config.clock
    if last is None or (is_startup(last) and last.chain.head.node == state.self_id):
        return Step(state)
    if not state.message_tick and not zero_may_ping(last.chain):
        return then(cancel_timer(state, PingDue()), lambda now: set_timer(now, InitialPingDue(), schedule.silence(clock)))
    moment = _moment(state, last.chain, pick)
    return then(cancel_timer(state, InitialPingDue()), lambda now: set_timer(now, PingDue(), moment))


def _moment(state: State, chain: Chain, pick: Pick) -> Duration:
    """Returns the delay of this node's ping after the last one, if no other node pings before. [DA-38, DA-39, DA-66]"""
    clock, place = state.config.clock, state.position(chain)
    if place is not None:
        return schedule.ping(clock, place, state.config.ping_length)
    if state.message_tick and not is_authoritative(chain):
        return schedule.early_ping(clock)
    names = {state.self_id, *state.ticks, *state.heard}
    (number,) = pick("ping.early", range(schedule.early_odds(len(names))))
    return schedule.early_ping(clock) if number == 0 else schedule.pick_moment(pick, "ping.late", schedule.late_ping(clock))


def on_ping_due(state: State, pick: Pick) -> Next:
    """Sends this node's ping when its turn has come. [D-84, DA-66]"""
    if state.last is None:
        return Step(state)
    me = Element(state.self_id, state.message_tick)
    chain = with_ping(state.last.chain, me, state.config.ping_length)
    return then(_ping(state, chain), lambda now: decide(now, pick))


def on_initial_ping_due(state: State) -> Next:
    """Repeats the initial ping, since no other node has followed it. [D-95…D-97, DA-65]"""
    chain = Chain((Element(state.self_id, state.message_tick),))
    again = schedule.silence(state.config.clock)
    return then(_ping(state, chain), lambda now: set_timer(now, InitialPingDue(), again))


def _ping(state: State, chain: Chain) -> Next:
    ping, (after, effects) = originate(state, lambda tock: Ping(chain, tock))
    return Step(replace(after, last=ping) if isinstance(ping, Ping) else after, effects)
