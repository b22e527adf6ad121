"""
Inputs for fuzzing SWIM.

There are few nodes and small counters, so that news often concerns known nodes; counters at their maximum; datagrams with room
for everything or for little; and a stranger that others may add, probe and hear of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.inputs.inputs import RESTART, STRANGER, Inputs, seeds_before
from peerproof.conformance.fuzz.strategies import Named, values
from peerproof.spec import swim
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain
from peerproof.spec.swim import Config, EventType, Seed, State, Uuid
from peerproof.spec.swim.messages import COUNTER_MAX
from peerproof.spec.swim.state import DEFAULT_DATAGRAM, LEAST_DATAGRAM, host_and_port

_COUNTERS: Final = st.sampled_from([0, 1, 1, 2, 2, 3, 5, 8, 13, COUNTER_MAX - 1, COUNTER_MAX])
_RESTARTS: Final = st.sampled_from([0, 0, 1, 1, 2, COUNTER_MAX - 1, COUNTER_MAX])
_LIMITS: Final = st.sampled_from([DEFAULT_DATAGRAM, DEFAULT_DATAGRAM, LEAST_DATAGRAM])
_SUBSCRIPTIONS: Final = st.sampled_from([(), tuple(EventType)])
_LONG: Final = (f'{{"k":"{"v" * size}"}}' for size in (150, 800))
_PAYLOADS: Final = st.sampled_from(["{}", '{"k":1}', '{"k":1.5}', '{"~:some":["~:data",null]}', '{"k":{"l":"~^m"}}', *_LONG])


def uuid_of(addr: NodeId) -> Uuid:
    """Returns the uuid of a node of a run: `a:1` is aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa."""
    letter = addr[0]
    return Uuid(f"{letter * 8}-{letter * 4}-4{letter * 3}-8{letter * 3}-{letter * 12}")


def _configs(nodes: tuple[NodeId, ...]) -> SearchStrategy[tuple[Any, ...]]:
    *known, stranger = [Seed(uuid_of(addr), *host_and_port(addr)) for addr in (*nodes, STRANGER)]
    drawn = {
        "restart_counter": _RESTARTS,
        "ae_size": st.sampled_from([2, 2, 0, 1, 9]),
        "max_datagram": _LIMITS,
        "emit_incarnation": st.booleans(),
        "cluster_events": _SUBSCRIPTIONS,
    }
    own = zip(nodes, seeds_before(known, stranger), strict=True)
    return st.tuples(*(st.builds(Config, uuid=st.just(uuid_of(addr)), seeds=seeds, **drawn) for addr, seeds in own))


def _field_strategies(nodes: tuple[NodeId, ...]) -> Named:
    known = (*nodes, STRANGER)
    uuids = st.sampled_from([uuid_of(addr) for addr in known])
    hosts = st.sampled_from([host_and_port(addr)[0] for addr in known])
    return {
        "addr": st.sampled_from(known),
        **dict.fromkeys(("uuid", "node", "sender", "target", "requester"), uuids),
        "host": hosts,
        "port": st.just(1),
        "data": _PAYLOADS,
        **dict.fromkeys(("restart", "tx", "restart_counter", "tx_counter", "target_tx", "probe_tx"), _COUNTERS),
    }


def _commands(nodes: tuple[NodeId, ...]) -> SearchStrategy[Any]:
    return values(swim.COMMAND, _field_strategies(nodes))


def _restart_config(state: State) -> Mapping[str, Plain]:
    """Returns the restart counter for the next start; at its maximum there is no next one to keep. [SA-48]"""
    restart = state.incarnation.restart
    return {"restart_counter": str(restart + 1)} if restart < COUNTER_MAX else {}


INPUTS: Final = Inputs(
    spec=swim,
    configs=_configs,
    named=_field_strategies,
    commands=_commands,
    spans=(300, 1, 100, 600, 3000),
    malformed=("SA-31", "SA-63", "SA-64", "SA-65"),
    survives={"OwnAhead": frozenset({RESTART}), "NothingInvented": frozenset({RESTART})},
    kept=_restart_config,
)
