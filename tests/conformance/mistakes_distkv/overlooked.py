"""Mistakes where two things meet: an end and an answer, two lists in a row, a cut and an end, the last of five elements."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tests.conformance.wrong_distkv import Next, Wrong

from peerproof.spec.core import Step, Table
from peerproof.spec.distkv import chains, recovery, startup
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Info
from peerproof.spec.distkv.outgoing import cancel_timer, then
from peerproof.spec.distkv.state import Phase, State, is_authoritative_for

HAS_SEEN = vars(chains)["_has_seen"]
ON_INFO = recovery.on_info
ON_MISSING = vars(recovery)["_on_missing"]
ON_OLD_DATA_DUE = startup.on_old_data_due
ON_RECOVERY_OVER = recovery.on_recovery_over
SIDE_OF = chains.side_of


class LooksOnceForOldData(Wrong):
    """Looks once whether others know better, and waits for them for ever. [DA-51, DX-21]"""

    caught_by: ClassVar = ("old-data-when-its-source-has-gone", "old-data-when-nobody-answers")
    instead: ClassVar = {
        "transitions.on_old_data_due": lambda state: Step(state) if is_authoritative_for(state) else ON_OLD_DATA_DUE(state)
    }


class ForgetsWhatIsWanted(Wrong):
    """Forgets with its recovery what others have asked for. [DA-78]"""

    caught_by: ClassVar = ("over-before-an-answer",)
    instead: ClassVar = {"transitions.on_recovery_over": lambda state: ON_RECOVERY_OVER(replace(state, wanted=Table()))}


class CancelsAnAnswer(Wrong):
    """Cancels all timers when its recovery is over, that of an answer too. [DA-74, DA-78]"""

    caught_by: ClassVar = ("over-before-an-answer",)
    instead: ClassVar = {
        "transitions.on_recovery_over": lambda state: then(
            ON_RECOVERY_OVER(state), lambda now: cancel_timer(now, recovery.STEP_3)
        )
    }


def last_list_counts(state: State, info: Info) -> Next:
    """Of two lists of its side the last one."""
    after, effects = ON_MISSING(state, info)
    if after.recovery is not None and info.chain.head.node in after.recovery.side:
        after = replace(after, recovery=after.recovery._replace(covered=info.missing))
    return Step(after, effects)


class CoversTheLastList(Wrong):
    """Takes only the last list of its side for covered. [DA-77]"""

    caught_by: ClassVar = ("missing-without-two-lists-that-are-covered",)
    instead: ClassVar = {"recovery._on_missing": last_list_counts}


def knows_itself(state: State, info: Info) -> Next:
    """Who is told of itself settles."""
    after, effects = ON_INFO(state, info)
    is_told = state.phase is Phase.EMPTY and after.own_tick and info.known
    return Step(replace(after, phase=Phase.SETTLING) if is_told else after, effects)


class SettlesWhenToldOfItself(Wrong):
    """Takes part when it is told of ticks of its own. [D-123]"""

    caught_by: ClassVar = ("empty-and-told-of-itself",)
    instead: ClassVar = {"transitions.on_info": knows_itself}


def agree_if_any_is_cut(one: Chain, other: Chain) -> bool:
    """Whichever of the two was cut."""
    shorter, longer = sorted((one, other), key=lambda chain: len(chain.elements))
    common = len(shorter.elements)
    return longer.elements[:common] == shorter.elements and (one.cut or other.cut or len(longer.elements) == common)


class AgreesIfAnyIsCut(Wrong):
    """Takes a chain that has ended for the beginning of a longer one that was cut. [DA-32]"""

    caught_by: ClassVar = ("next-but-for-a-chain-that-goes-on",)
    instead: ClassVar = dict.fromkeys(("chains.agree", "pings.agree", "recovery.agree"), agree_if_any_is_cut)


class CutsTheOtherLikeItsOwn(Wrong):
    """Takes the other side's chain for cut if its own was. [DA-32, DA-75]"""

    caught_by: ClassVar = ("side-up-to-the-cut-of-the-other",)
    instead: ClassVar = {"recovery.side_of": lambda mine, other: SIDE_OF(mine, Chain(other.elements, mine.cut))}


def has_seen_in_four(chain: Chain, head: Element) -> bool:
    """The first four elements."""
    seen: bool = HAS_SEEN(Chain(chain.elements[:4], chain.cut), head)
    return seen


class ComparesFourElements(Wrong):
    """Does not look at the fifth element of a chain. [D-22]"""

    caught_by: ClassVar = ("stale-behind-four-later-ones", "after-four-others")
    instead: ClassVar = {"chains._has_seen": has_seen_in_four}
