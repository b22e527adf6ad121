"""Rules for messages alone: what nodes really say keeps to them, and each of them is broken by something."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.spec.distkv import test_monitors as distkv
from tests.spec.peter import test_monitors as peter
from tests.spec.scuttlebutt import test_monitors as scuttlebutt
from tests.spec.swim import test_monitors as swim
from tests.spec.wendy import test_monitors as wendy
from tests.support.watched import complaints_on_the_wire, mismatched_senders, simulated, watched
from tests.support.wendy_nodes import h

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec.core import Duration
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.wendy import Config

#: Of each protocol a module with messages that break rules (`BREACHES`), break these rules (`MORE`), or none (`FINE`), and the
#: settings (`SETTINGS`) with which they do.
TABLES: dict[str, Any] = {"scuttlebutt": scuttlebutt, "swim": swim, "wendy": wendy, "peter": peter, "distkv": distkv}

CASES = [
    *((protocol, name, [name], seen) for protocol, table in TABLES.items() for name, seen in table.BREACHES.items()),
    *((protocol, what, names, seen) for protocol, table in TABLES.items() for what, (names, seen) in table.MORE.items()),
    *((protocol, what, [], seen) for protocol, table in TABLES.items() for what, seen in table.FINE.items()),
]


@pytest.mark.parametrize(("protocol", "what", "names", "seen"), CASES, ids=[" ".join(case[:2]) for case in CASES])
def test_these_rules_are_broken_and_no_others(protocol: str, what: str, names: list[str], seen: list[Any]) -> None:
    assert TABLES[protocol].NODE.broken(*seen, **TABLES[protocol].SETTINGS.get(what, {})) == names


def rules_of(protocol: str) -> Any:
    monitors = PROTOCOLS[protocol].monitors
    assert monitors is not None
    return monitors.load().RULES


def test_each_rule_is_broken_by_something() -> None:
    """Peter's rules are those of trees, and Wendy's."""
    rules = {protocol: {rule.name for rule in rules_of(protocol)} for protocol in TABLES}

    assert {protocol: set(table.BREACHES) for protocol, table in TABLES.items()} == rules | {
        "peter": rules["peter"] - rules["wendy"]
    }


FAULTS = {
    "none": Faults(),
    "loss": Faults(loss=0.3),
    "duplication": Faults(duplication=0.3),
    "reordering": Faults(reordering=0.3, most_delay=Duration(400)),
}
BACK_SOON: dict[str, Any] = {"crashes": ((1, 8),), "restarts": ((1, 20),)}
INCARNATIONS = {"emit_incarnation": True, "ae_size": 5}
CHURN: dict[str, Any] = {"apart": 2, "crashes": ((2, 25), (0, 30)), "restarts": ((2, 32), (0, 40))}
TREES: dict[str, Any] = {"topics": 3, "config": {"heartbeat": 20_000}}

#: Protocol and what happens: nodes, rounds, what applications want, and more of the plan.
PLANS: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    **{f"scuttlebutt {name}": (5, 30, 6, {"faults": faults}) for name, faults in FAULTS.items()},
    **{
        f"scuttlebutt small {name}": (5, 30, 6, {"faults": FAULTS[name], "config": {"max_payload": 60}})
        for name in ("loss", "reordering")
    },
    **{f"swim {name}": (6, 30, 6, {"faults": faults, **BACK_SOON}) for name, faults in FAULTS.items()},
    **{
        f"swim incarnations {name}": (6, 30, 6, {"faults": FAULTS[name], "config": INCARNATIONS, **BACK_SOON})
        for name in ("none", "reordering")
    },
    **{
        f"swim small {name}": (6, 30, 6, {"faults": FAULTS[name], "config": {"max_datagram": 512}, **BACK_SOON})
        for name in ("loss", "duplication")
    },
    "wendy all at once": (7, 50, 6, {}),
    "wendy churn": (7, 50, 6, CHURN),
    "wendy partition": (7, 50, 6, {"partition": (20, 25)}),
    "peter all at once": (7, 50, 6, TREES),
    "peter churn": (7, 50, 6, {**TREES, "apart": 2, "churn": 0.05}),
    "peter partition": (7, 50, 6, {**TREES, "partition": (20, 35)}),
    "distkv nothing goes wrong": (5, 80, 5, {"config": {"clock": 400}}),
    "distkv split": (5, 80, 5, {"config": {"clock": 400}, "partition": (20, 40)}),
    "distkv losses": (5, 80, 5, {"config": {"clock": 400}, "faults": Faults(loss=0.1, duplication=0.1)}),
    "distkv restarts": (
        *(5, 80, 5),
        {"config": {"clock": 400}, "crashes": ((2, 20), (3, 25)), "restarts": ((2, 30), (3, 60))},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_what_nodes_say_breaks_no_rule(name: str) -> None:
    """Neither where each node says in its order what it has sent, nor with times, nor where all of it is seen as it arrives."""
    protocol, (nodes, rounds, updates, plan) = name.split(maxsplit=1)[0], PLANS[name]
    trace = simulated(protocol, "m", nodes, rounds, updates, **plan)

    complaints, _, count = watched(protocol, trace, with_starts=True, with_times=False)
    assert complaints == []
    assert count > 200
    if protocol == "distkv":
        assert watched(protocol, trace, with_starts=False, with_times=True)[0] == []
    if RUNTIMES[protocol].is_connected:
        assert complaints_on_the_wire(protocol, Config(h("0")), trace) == []
        assert mismatched_senders(protocol, trace) == []


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_was_not_seen_accuses_no_node(protocol: str) -> None:
    """Of what nodes send, a part is seen, when it arrives: rules that do not say that they need all of it find no fault."""
    trace, chance, found = simulated(protocol, "m", 5, 40, 8), Random("unseen"), list[Any]()
    start = next(line for line in trace if line.kind == "start")
    config = PROTOCOLS[protocol].specification.load().CONFIG.value(start.args)
    for unseen in (0.02, 0.1, 0.3, 0.6):
        seen = [line for line in trace if line.kind != "recv" or chance.random() >= unseen]
        found += complaints_on_the_wire(protocol, config, seen)

    assert {complaint.rule.needs_all for complaint in found} == {True}


#: Node 2 is away for five rounds, node 1 is back at once.
RESTARTS: dict[str, Any] = {"crashes": ((2, 15), (1, 22)), "restarts": ((2, 20), (1, 22))}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("loss", [0.0, 0.1])
@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_restart_is_no_fault(protocol: str, seed: str, loss: float) -> None:
    """What a node has forgotten is no fault, and nothing on the wire says why. Connections lose nothing."""
    faults = Faults(loss=0.0 if RUNTIMES[protocol].is_connected else loss)
    trace = simulated(protocol, seed, 5, 40, 8, faults=faults, **RESTARTS)

    complaints, watching, _ = watched(protocol, trace, with_starts=False, with_times=True)

    assert complaints == []
    assert sum(line.kind == "start" for line in trace) > len(watching)
    if protocol == "scuttlebutt" and not loss:
        assert [watching[node].lives for node in sorted(watching)] == [1, 2, 2, 1, 1]
