"""Mistakes about what bears a node's own name, and about names that are nearly the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from struct import pack, unpack
from typing import Any, ClassVar, Final
from unicodedata import normalize

from tests.conformance.mistakes.distkv import Reading, Wrong
from tests.conformance.mistakes.distkv.limits import BEATS, Beats, outcome_by, winner_by
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import PATH_OF, Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import codec, election, pings, recovery, ticks, transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Info, Message, Ping, Update
from peerproof.spec.distkv.paths import Path
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.distkv.state import Phase, State

BY_NODE = codec._by_node
IS_NAMESAKE = transitions.is_of_namesake
KIND_OF = pings.kind_of
LATEST = ticks.latest
NODE = codec._node
ON_MESSAGE = transitions.on_message
SETS_BYTES = codec._sets_bytes
TICKS_BYTES = codec._ticks_bytes


class AnswersItsNamesake(Wrong):
    """Treats infos with its own name as anybody's."""

    caught_by: ClassVar = ("answers-no-namesake", "answers-not-itself", "reason-of-its-own", "greeted-by-its-own-echo")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if another had sent it."""
        step = super().step(state, event, pick)
        message = getattr(event, "message", None)
        if isinstance(message, Info) and message.chain.head.node == state.self_id:
            after, effects = recovery.on_info(step.state, message)
            return Step(after, (*step.effects, *effects))
        return step


class PingsItsNamesake(Wrong):
    """Treats pings with its own name as anybody's."""

    caught_by: ClassVar = ("start-up-ping-of-a-former-life", "greets-not-itself", "answers-no-namesake")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if another had sent it."""
        step = super().step(state, event, pick)
        message = getattr(event, "message", None)
        if isinstance(message, Ping) and message.chain.head.node == state.self_id:
            after, effects = election.on_ping(step.state, message, pick)
            return Step(after, (*step.effects, *effects))
        return step


def believe_own(state: State, message: Message, pick: Pick) -> Next:
    """Takes known of any info."""
    after, effects = ON_MESSAGE(state, message, pick)
    known = message.known if isinstance(message, Info) else None
    return Step(replace(after, entries=after.entries.mark_superseded(known)) if known else after, effects)


def taking_for_own(like: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to compare only this of a name with the own one."""

    def on_message(state: State, message: Message, pick: Pick) -> Next:
        head, *behind = message.chain.elements
        if like(head.node) == like(state.self_id) and not isinstance(message, Update):
            message = replace(message, chain=Chain((Element(state.self_id, head.tick), *behind), message.chain.cut))
        return ON_MESSAGE(state, message, pick)

    return {"transitions.on_message": on_message}


# -- names: bytes in their order, and nothing else ---------------------------------------------------------------------

Key = Callable[[str], Any]


def by_name(key: Key) -> Beats:
    """The order by names of which this is compared, where tocks and ticks are equal."""
    return lambda one, other: (
        key(one.head.node) < key(other.head.node)
        if (one.tock, one.head.tick) == (other.tock, other.head.tick)
        else BEATS(one, other)
    )


def ordered_by(key: Key) -> dict[str, Any]:
    """What is replaced to compare names so, for pings and for changes."""
    return {"election.winner": winner_by(by_name(key)), "entries._outcome": outcome_by(by_name(key))}


def writing_by(key: Key) -> dict[str, Any]:
    """What is replaced to write nodes in this order."""
    return {
        "codec._ticks_bytes": lambda ticks: TICKS_BYTES(dict(sorted(ticks.items(), key=lambda row: key(row[0])))),  # type: ignore[arg-type]  # a mapping will do
        "codec._sets_bytes": lambda sets: SETS_BYTES(dict(sorted(sets.items(), key=lambda row: key(row[0])))),  # type: ignore[arg-type]  # a mapping will do
    }


def natural(name: str) -> Any:
    """Numbers in a name count as numbers."""
    parts = re.split("([0-9]+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


BY_MANY_NAMES = ("collision-by-many-names", "conflict-by-many-names")
IN_ORDER = ("nodes-in-order-whatever-they-look-like", "nodes-in-order-in-sets")


class SignedBytesOfNames(Wrong):
    """Compares the bytes of names as numbers with a sign. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(lambda name: [(byte + 128) % 256 for byte in name.encode()])


class ShorterNamesFirst(Wrong):
    """Takes the shorter of two names for the lower. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(lambda name: (len(name.encode()), name))


class NumbersInNames(Wrong):
    """Takes n9 for lower than n10. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(natural)


class NormalisesWhatItCompares(Wrong):
    """Normalises names before it compares them. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(lambda name: normalize("NFC", name))


class StripsWhatItCompares(Wrong):
    """Compares names without blanks at their ends. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(str.strip)


class EndsNamesAtZeros(Wrong):
    """Compares names up to a zero byte. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(lambda name: name.partition("\0")[0])


class ComparesBeginningsOfNames(Wrong):
    """Compares the first 32 bytes of names. [DA-35]"""

    caught_by: ClassVar = BY_MANY_NAMES
    instead: ClassVar = ordered_by(lambda name: name.encode()[:32])


class WritesShorterNamesFirst(Reading):
    """Writes nodes with shorter names first. [DA-29]"""

    caught_by: ClassVar = IN_ORDER
    instead: ClassVar = writing_by(lambda name: (len(name.encode()), name))


class WritesNumbersInOrder(Reading):
    """Writes n9 before n10. [DA-29]"""

    caught_by: ClassVar = IN_ORDER
    instead: ClassVar = writing_by(natural)


class WritesIntegersFirst(Reading):
    """Writes names that are integers first, in their order, as objects have their members. [DA-29]"""

    caught_by: ClassVar = IN_ORDER
    instead: ClassVar = writing_by(lambda name: (0, int(name)) if name.isdecimal() and str(int(name)) == name else (1, 0))


class WritesNormalisedOrder(Reading):
    """Writes nodes in the order of their normalised names. [DA-29]"""

    caught_by: ClassVar = IN_ORDER
    instead: ClassVar = writing_by(lambda name: normalize("NFC", name))


def reading_nodes(like: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to read names of nodes so."""
    return {"codec._node": lambda raw: like(NODE(raw)) or NODE(raw)}


class StripsNodes(Reading):
    """Reads names of nodes without blanks at their ends. [DA-83]"""

    caught_by: ClassVar = ("names-that-look-alike", "nodes-in-order-whatever-they-look-like")
    instead: ClassVar = reading_nodes(str.strip)


class NormalisesNodes(Reading):
    """Normalises names of nodes. [DA-83]"""

    caught_by: ClassVar = ("names-that-look-alike", "nodes-in-order-whatever-they-look-like")
    instead: ClassVar = reading_nodes(lambda name: normalize("NFC", name))


class EndsNodesAtZeros(Reading):
    """Reads names of nodes up to a zero byte. [DA-83]"""

    caught_by: ClassVar = ("names-that-look-alike", "nodes-in-order-whatever-they-look-like")
    instead: ClassVar = reading_nodes(lambda name: name.partition("\0")[0])


class ReadsNoProto(Reading):
    """Loses nodes that are called __proto__, for it keeps its maps in objects. [DA-83]"""

    caught_by: ClassVar = ("names-that-look-alike", "nodes-in-order-in-sets")
    instead: ClassVar = {
        "codec._by_node": lambda raw, row: {node: found for node, found in BY_NODE(raw, row).items() if node != "__proto__"}
    }


class TakesWordsForNull(Reading):
    """Takes nodes that are called null or undefined for none. [DA-83]"""

    caught_by: ClassVar = ("names-that-look-alike",)
    instead: ClassVar = {"codec._node": lambda raw: NODE(None if raw in ("null", "undefined") else raw)}


def path_by(like: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to make paths of names that are read so."""
    return {"paths.path_of": lambda names: PATH_OF([like(name) for name in names])}


def path_joined_by(joint: str) -> dict[str, Any]:
    """What is replaced to keep paths as one text."""

    def path_of(names: Iterable[Any]) -> Path:
        found = list(names)
        is_text = found and all(type(name) is str for name in found)
        path: Path = PATH_OF(joint.join(found).split(joint) if is_text else found)
        return path

    return {"paths.path_of": path_of}


class StripsPaths(Reading):
    """Strips names of blanks at their ends. [D-35]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_by(lambda name: name.strip(" ") if isinstance(name, str) else name)


class EndsPathsAtZeros(Reading):
    """Ends names at a zero byte. [D-35]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_by(lambda name: name.partition("\0")[0] if isinstance(name, str) else name)


class KeepsBeginningsOfNames(Reading):
    """Keeps 128 letters of a name. [D-35]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_by(lambda name: name[:128] if isinstance(name, str) else name)


class KeepsFloatsInFourBytes(Reading):
    """Takes floats for one that are one in four bytes. [D-35]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_by(lambda name: unpack(">f", pack(">f", name))[0] if isinstance(name, float) else name)


class TakesGreatFloatsForIntegers(Reading):
    """Takes whole floats from 2^53 on for integers. [D-35]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_by(
        lambda name: int(name) if isinstance(name, float) and name.is_integer() and abs(name) >= 2**53 else name
    )


class JoinsBySlashes(Reading):
    """Keeps a path as one text, with slashes. [D-32]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_joined_by("/")


class JoinsByDots(Reading):
    """Keeps a path as one text, with dots. [D-32]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_joined_by(".")


class JoinsByCommas(Reading):
    """Keeps a path as one text, with commas. [D-32]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_joined_by(",")


class JoinsByZeros(Reading):
    """Keeps a path as one text, with zero bytes. [D-32]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = path_joined_by("\0")


class PassesOverARoot(Reading):
    """Passes over an empty name at the beginning of a path. [D-32]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = {"paths.path_of": lambda names: PATH_OF((found := list(names))[found[:1] == [""] :])}


class KeepsFifteenNames(Reading):
    """Keeps fifteen names of a path. [D-60]"""

    caught_by: ClassVar = ("paths-that-look-alike",)
    instead: ClassVar = {"paths.path_of": lambda names: PATH_OF(list(names)[:15])}


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NoticesNoNamesake": (
            "Does not see that another node has its name.",
            {"transitions.is_of_namesake": lambda _state, _message: False},
            "a-ping-above an-info-above an-update-above each-time",
        ),
        "TakesItselfForANamesake": (
            "Takes a message at its own tock for another's.",
            {
                "transitions.is_of_namesake": lambda state, message: (
                    IS_NAMESAKE(state, message)
                    or (state.participates and message.chain.head.node == state.self_id and message.tock == state.tock)
                )
            },
            "a-ping-at-its-tock an-info-at-its-tock the-own-ping-comes-back",
        ),
        "NoticesNamesakesTooSoon": (
            "Takes its own past for another node.",
            {
                "transitions.is_of_namesake": lambda state, message: (
                    message.chain.head.node == state.self_id and message.tock > state.tock and not isinstance(message, Update)
                )
            },
            "before-it-participates before-it-participates-with-data",
        ),
        "LooksAtTocksOfUpdates": (
            "Takes an own update with a higher tock for another's.",
            {
                "transitions.is_of_namesake": lambda state, message: (
                    state.participates and message.chain.head.node == state.self_id and message.tock > state.tock
                )
            },
            "an-update-at-its-tick",
        ),
        "SettlingNodesNoticeNothing": (
            "Does not see that another node has its name before it is ready. [DA-59, DA-63]",
            {"transitions.is_of_namesake": lambda state, message: state.phase is Phase.READY and IS_NAMESAKE(state, message)},
            "a-ping-above-while-settling",
        ),
        "LooksAtSenders": (
            "Takes who sends a change again for its head. [DA-49, DA-63]",
            {
                "transitions.is_of_namesake": lambda state, message: IS_NAMESAKE(
                    state,
                    replace(message, chain=Chain((message.sender,)))
                    if isinstance(message, Update) and message.sender is not None
                    else message,
                )
            },
            "its-name-as-the-sender-of-an-update",
        ),
        "BelievesItsNamesake": (
            "Takes what an info of its own name says to be known. [DA-54]",
            {"transitions.on_message": believe_own},
            "known-of-its-own-name",
        ),
        "TakesCapitalsForItself": (
            "Takes a node for itself whose name differs in capitals. [DA-54]",
            taking_for_own(str.lower),
            "names-like-its-own",
        ),
        "TakesBlanksForItself": (
            "Takes a node for itself whose name differs in blanks. [DA-54]",
            taking_for_own(str.strip),
            "names-like-its-own",
        ),
        "HalfLettersOfPings": (
            "Compares names of who pings by units of 16 bits. [D-82, DA-35]",
            {"election.winner": winner_by(by_name(lambda name: name.encode("utf-16-be")))},
            "collision-by-many-names",
        ),
        "KeepsNoMembersOfObjects": (
            "Keeps no ticks of nodes that are called like members of objects. [DA-45]",
            {
                "ticks.latest": lambda kept, heard: LATEST(
                    kept,
                    {node: tick for node, tick in heard.items() if node not in ("constructor", "toString", "hasOwnProperty")},
                )
            },
            "names-that-look-alike",
        ),
        "HearsMembersOfObjects": (
            "Has heard of nodes that are called like members of objects. [DA-31]",
            {
                "election.kind_of": lambda ping, last, tock: (
                    Kind.STALE if ping.chain.head.node in ("constructor", "toString", "__proto__") else KIND_OF(ping, last, tock)
                )
            },
            "each-sender-by-its-whole-name collision-by-many-names",
        ),
    },
)
__getattr__ = MISTAKES.find
