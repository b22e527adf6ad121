"""Any messages of each protocol: as different as its format allows, so that a codec that is wrong about any field shows it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.strategies import values
from peerproof.spec import scuttlebutt, swim
from peerproof.spec.core import NodeId, Specification, Table
from peerproof.spec.distkv import Info, Ping, Update
from peerproof.spec.distkv.chains import Chain, Element, is_change_chain
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.peter import NotifyMessage, PublishMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.messages import lift_message
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.wendy import (
    Application,
    Entry,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Mask,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    StateData,
    StateRequest,
    Tables,
    Versions,
)
from peerproof.spec.wendy.messages import MOST_HOPS, MOST_VERSION

Drawn = st.SearchStrategy[Any]

SPECIFICATIONS: dict[str, Specification] = {name: PROTOCOLS[name].specification.load() for name in PROTOCOLS}
NODES = tuple(map(NodeId, ("a:1", "b:1", "c:1")))


def distkv_messages() -> Drawn:
    names = st.text(min_size=1, max_size=2).map(NodeId)
    ticks = st.integers(1, 5) | st.sampled_from([2**31, 2**53 + 1, TICK_MAX])
    changes = st.builds(Element, names, ticks)
    elements = st.builds(Element, names, ticks | st.sampled_from([0, None]))
    chains = st.builds(Chain, st.lists(elements, min_size=1, max_size=5).map(tuple), st.booleans())
    change_chains = st.builds(Chain, st.lists(changes, min_size=1, max_size=5).map(tuple), st.booleans())
    sender_first = st.builds(lambda head, rest: Chain((head, *rest.elements), rest.cut), changes, chains)
    sets = st.dictionaries(names, st.sets(ticks, min_size=1, max_size=5).map(of_ticks), max_size=3).map(Table)
    paths = st.lists(st.text(max_size=2) | st.binary(max_size=2) | st.integers(0, 300), max_size=3).map(path_of)
    plain = st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
        max_leaves=5,
    )
    set_to = plain.map(lambda value: value_of_plain({"v": value}))
    seen = st.dictionaries(names, ticks, max_size=3).map(Table)
    return st.one_of(
        st.builds(Update, change_chains.filter(is_change_chain), paths, set_to, ticks, st.none() | changes),
        st.builds(Ping, chains, ticks),
        st.builds(Info, sender_first, ticks, sets, seen, sets, st.none() | chains),
    )


IDS = st.integers(0, 2**128 - 1).map(Id)
VERSIONS = st.builds(Versions, *[st.integers(0, MOST_VERSION)] * 3)
ANY_NODE = st.builds(Node, IDS, *[st.text(max_size=60)] * 2, st.integers(0, 65535), st.text(max_size=60))
HEADERS = st.builds(Header, ANY_NODE, IDS, VERSIONS, st.none() | st.binary(max_size=9), st.integers(0, MOST_HOPS))


def wendy_messages() -> Drawn:
    cells = st.dictionaries(st.tuples(st.integers(0, 31), st.integers(0, 15)), ANY_NODE, max_size=8)
    some = st.lists(ANY_NODE, max_size=4).map(tuple)
    tables = st.builds(
        Tables,
        st.none() | cells.map(lambda cells: tuple(Entry(*cell, cells[cell]) for cell in sorted(cells))),
        st.none() | st.builds(LeafSet, some, some),
        st.none() | some,
    )
    places = [st.frozensets(st.integers(0, most), max_size=4).map(lambda found: tuple(sorted(found))) for most in (31, 15)]
    masks = st.builds(Mask, st.booleans(), st.booleans(), st.booleans(), *places)
    return st.one_of(
        st.builds(Application, HEADERS, st.integers(8, 255), st.none() | st.binary(max_size=99)),
        st.one_of([st.builds(kind, HEADERS) for kind in (NodeJoin, NodeExit, Heartbeat)]),
        st.one_of([st.builds(kind, HEADERS, masks) for kind in (StateRequest, NodeRepair)]),
        st.one_of([st.builds(kind, HEADERS, tables) for kind in (NodeRace, NodeAnnouncement)]),
        st.builds(StateData, HEADERS, tables, st.booleans()),
    )


def peter_messages() -> Drawn:
    events = st.binary(max_size=40)
    return st.one_of(
        wendy_messages().map(lift_message),
        st.one_of([st.builds(kind, HEADERS) for kind in (SubscribeMessage, UnsubscribeMessage)]),
        st.one_of([st.builds(kind, HEADERS, events) for kind in (PublishMessage, NotifyMessage)]),
    )


MESSAGES: dict[str, Drawn] = {
    "scuttlebutt": values(scuttlebutt.MESSAGE.form),
    "swim": values(swim.MESSAGE.form, inputs_of("swim").named(NODES)),
    "wendy": wendy_messages(),
    "peter": peter_messages(),
    "distkv": distkv_messages(),
}
