"""
Inputs for fuzzing DistKV.

There are few nodes, few paths and small ticks, so that new changes often concern existing data; ticks and tocks at their maximum;
chains and payloads with much or little room; and a stranger that others may have heard of. The first node founds the network.
Half of the runs begin when all nodes have its data. Nodes that crash keep their data or lose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.inputs.inputs import RESTART, STRANGER, Inputs
from peerproof.conformance.fuzz.strategies import Named, values
from peerproof.spec import distkv
from peerproof.spec.core import Duration, NodeId, Table
from peerproof.spec.distkv import Chain, Config, Element, State, download_of, stored_of
from peerproof.spec.distkv.chains import is_change_chain
from peerproof.spec.distkv.messages import Loaded, LoadFailed, NeedsDownload, SetValue
from peerproof.spec.distkv.paths import ROOT, path_of
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.snapshot import STORED
from peerproof.spec.distkv.state import DEFAULT_CLOCK, DEFAULT_PAYLOAD, ELEMENT_BYTES, PING_BYTES
from peerproof.spec.distkv.values import NULL, value_of
from peerproof.spec.forms.form import Plain

_TICKS: Final = st.sampled_from([1, 1, 1, 2, 2, 3, 4, 5, 8, TICK_MAX - 1, TICK_MAX])
_TOCKS: Final = st.sampled_from([*range(12), 20, 50, 100, TICK_MAX - 1, TICK_MAX])
_PATHS: Final = st.sampled_from(
    [ROOT, path_of(["x"]), path_of(["x"]), path_of(["y", 1]), path_of(["z", b"\xff"]), path_of([None])]
)
_VALUES: Final = st.sampled_from([NULL, value_of(1), value_of(1), value_of("two"), value_of((1.5, None)), value_of("x" * 380)])
_LENGTHS: Final = st.sampled_from([4, 4, 1, 2, 3])


def _config(clock: Duration, lengths: tuple[int, int], payload: int, start: int, root: Any) -> Config:
    least = PING_BYTES + ELEMENT_BYTES * lengths[0]
    return Config(clock, *lengths, max(payload, least), (None, clock, Duration(clock // 2))[start], root)


def _configs(nodes: tuple[NodeId, ...]) -> SearchStrategy[tuple[Any, ...]]:
    """Draws configurations, mostly with the same clock and lengths for all nodes."""
    clocks = st.sampled_from([DEFAULT_CLOCK, DEFAULT_CLOCK, Duration(DEFAULT_CLOCK + 1)])
    shared = st.tuples(clocks, st.tuples(_LENGTHS, _LENGTHS))
    payloads = st.sampled_from([DEFAULT_PAYLOAD, DEFAULT_PAYLOAD, 0])
    roots = [st.just(value_of("root")), *(st.sampled_from([None, None, None, value_of("other")]) for _ in nodes[1:])]

    def alike(common: tuple[Any, Any]) -> SearchStrategy[tuple[Any, ...]]:
        lengths = st.just(common[1]) | st.tuples(_LENGTHS, _LENGTHS)
        return st.tuples(*(st.builds(_config, st.just(common[0]), lengths, payloads, st.integers(0, 2), root) for root in roots))

    return shared.flatmap(alike)


def _field_strategies(nodes: tuple[NodeId, ...]) -> Named:
    known = st.sampled_from((*nodes, *nodes, STRANGER))
    changes = st.lists(st.builds(Element, known, _TICKS), min_size=1, max_size=4).map(tuple)
    pings = st.lists(st.builds(Element, known, _TICKS | st.sampled_from([0, 0, None])), min_size=1, max_size=5).map(tuple)
    nothing = st.just(Chain(cut=True))
    senders = st.builds(Element, known, _TICKS | st.just(0))
    sets = st.dictionaries(known, st.sets(_TICKS, min_size=1, max_size=4).map(of_ticks), max_size=3).map(Table)
    chains = st.builds(Chain, pings, st.booleans())
    return {
        "addr": known,
        "Update.chain": st.builds(Chain, changes, st.booleans()).filter(is_change_chain),
        "Info.chain": st.builds(lambda sender, rest: Chain((sender, *rest.elements), rest.cut), senders, nothing | chains),
        "Ping.chain": chains,
        "Update.sender": st.none() | senders,
        "node": known,
        "path": _PATHS,
        "value": _VALUES,
        "tock": _TOCKS,
        **dict.fromkeys(("known", "missing", "superseded"), sets),
        "ticks": st.dictionaries(known, _TICKS | st.just(0), max_size=3).map(Table),
        "reason": st.none() | chains,
    }


def _commands(nodes: tuple[NodeId, ...]) -> SearchStrategy[Any]:
    """Draws mostly changes; downloads and their failures mostly come from what nodes ask for."""
    named = _field_strategies(nodes)
    set_value, delete_value = (values(distkv.COMMAND.cases[name], named) for name in ("set_value", "delete_value"))
    return st.one_of(*(set_value for _ in range(6)), delete_value, delete_value, values(distkv.COMMAND, named))


def _lies(state: State, command: Any) -> bool:
    """Returns True for a download that the node waits for, and that no node has given."""
    return isinstance(command, Loaded) and command.node == state.source


def _restart_config(state: State) -> Mapping[str, Plain]:
    """Returns the data on the node's disk. [DA-81]"""
    return {"stored": STORED.plain(stored_of(state))}


def _download_result(notice: Any, states: Mapping[NodeId, Any]) -> Any:
    """Returns the download as it would be made now. [DA-70, DA-71]"""
    if not isinstance(notice, NeedsDownload):
        return None
    return (download_of(states[notice.node]) if notice.node in states else None) or LoadFailed(notice.node)


def _opening(nodes: tuple[NodeId, ...]) -> list[tuple[NodeId, Any]]:
    """While time passes the first node founds the network and the others join it; they cannot change anything yet."""
    return [(addr, SetValue(ROOT, value_of(place))) for place, addr in enumerate((*nodes, *nodes))]


#: Properties that hold as long as no change is forged and no node loses its data; also the tock of an entry, because a forged
#: tock of a change that came after another one can make it fall.
TRUTHFUL: Final = (
    "OwnComplete",
    "ChainsFollowTocks",
    "BetterIsOrder",
    "Converged",
    "PingOrder",
    "OneTickOneChange",
    "TockOfEntry",
)

INPUTS: Final = Inputs(
    spec=distkv,
    configs=_configs,
    named=_field_strategies,
    commands=_commands,
    spans=(DEFAULT_CLOCK, 1, DEFAULT_CLOCK // 2, 3 * DEFAULT_CLOCK, 10 * DEFAULT_CLOCK, 8),
    malformed=("DA-30", "DA-90"),
    survives=dict.fromkeys(TRUTHFUL, frozenset({RESTART})),
    kept=_restart_config,
    opening=_opening,
    fetched=_download_result,
    lies=_lies,
)
