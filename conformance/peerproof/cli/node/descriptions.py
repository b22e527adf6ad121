"""What the help of `node start PROTOCOL` and `node simulate PROTOCOL` says: only what concerns this protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from peerproof.reference.runtime.protocol import Runtime

_DATAGRAMS: Final = """
Runs a node of {name} on a UDP socket.

Start three in three terminals, and watch them converge:

  peerproof node start {name} --bind 127.0.0.1:8119 --set colour=red
  peerproof node start {name} --bind 127.0.0.1:8120 --peer 127.0.0.1:8119 --set colour=green
  peerproof node start {name} --bind 127.0.0.1:8121 --peer 127.0.0.1:8119 --set colour=blue

The node prints its view whenever it changes. Type "set colour=black" to change a pair, "view" to print the view, "help" for all
commands, "quit" or Ctrl-C to stop.
"""

_MEMBERS: Final = """
Runs a node of {name} on a UDP socket.

Start three in three terminals, and watch them find each other. End one, and the others consider it suspicious, then dead:

  peerproof node start {name} --bind 127.0.0.1:8119
  peerproof node start {name} --bind 127.0.0.1:8120 --peer 127.0.0.1:8119
  peerproof node start {name} --bind 127.0.0.1:8121 --peer 127.0.0.1:8119

The node prints its view whenever more than counters of datagrams change, with --json also then: its own uuid first, then a row
for each other node. Type "set colour=black" to set a member of its payload, "view" to print the view, "help" for all
commands, "quit" or Ctrl-C to stop.

Nodes know each other by uuid and address, seeds too. The default uuid follows from the address, so HOST:PORT is enough between
nodes that have it. For a node of another implementation, use --peer UUID@HOST:PORT, or type "add_node UUID HOST PORT". If that
node is to have this one as its seed, it needs the uuid of this one: choose it with --uuid.
"""

_RING: Final = """
Runs a node of {name} on a TCP socket.

Start three in three terminals. They form a ring, in which a message is routed to the node whose id is closest to its key:

  peerproof node start {name} --bind 127.0.0.1:8119 --id 11111111111111111111111111111111
  peerproof node start {name} --bind 127.0.0.1:8120 --id 77777777777777777777777777777777 --peer 127.0.0.1:8119
  peerproof node start {name} --bind 127.0.0.1:8121 --id cccccccccccccccccccccccccccccccc --peer 127.0.0.1:8119
  route 70000000000000000000000000000000 hello      (typed at any of them; the second prints what was delivered)

A node prints its tables whenever they change, and deliveries and nodes that join or exit as JSON lines. Joining takes two network
timeouts; if the contact cannot be reached, the node tries again, or the next one. Type "view" to print the tables, "help" for all
commands. After "quit" or Ctrl-C the node stops without notice, after "leave" it notifies its peers.
"""

_TOPICS: Final = """
The nodes also have topics. Type at the first two, and at the third:

  subscribe weather/london/today
  publish weather/london/today rain, later sun      (the first two print the update)
  unsubscribe weather/london/today

A topic has at least 16 bytes, and is identified by the first 16. It is one word, or is quoted: publish "weather in london" rain.
The rest of the line is the event.
"""

_STORE: Final = """
Runs a node of {name}. It communicates through an agent of Serf, or with other nodes on its machine through a folder (--loopback).

  serf agent -node=a -bind=127.0.0.1:7946 -rpc-addr=127.0.0.1:7373 -profile=local
  peerproof node start {name} --serf 127.0.0.1:7373 --name n1 --state n1.state --first '"the root"'
  peerproof node start {name} --serf 127.0.0.1:7373 --name n2 --state n2.state
  set ["weather","london"] {{"rain":true}}            (typed at any of them as soon as it is ready; each prints the change)
  delete ["weather","london"]
  get ["weather","london"]                          (also: dump, own, state)

The node reads and prints changes as JSON. Its data is stored in the file of --state, from which it starts again. "quit" or Ctrl-C
stops it.
"""

#: Protocol -> what `--set` sets, if it is no pair of the node.
PAIRS: Final = {"swim": "a member of its payload"}

#: Protocol -> what else a user of a running node has to know.
_REMARKS: Final = {
    "scuttlebutt": "A restarted node is a new node with an old address: its peers keep its old data until its version exceeds "
    "the old one (peerproof explain BX-03).",
    "swim": "A restarted node needs a higher --restart-counter than before: otherwise its peers take its messages for old ones.",
}

_SIMULATION: Final = """
Runs a seeded cluster of {name} in virtual time: reference nodes on a network with faults.

{examples}

The same options give the same run, bit for bit. Nodes are called n0:1, n1:1 and so on, and a round is as long as
--{period}.{rounds}
"""

#: Protocol -> how the rounds of a simulation differ from those of its document.
_ROUNDS: Final = {"swim": " That is a quantum of SWIM, whose own rounds have several."}

_SIMULATED_PAIRS: Final = """
Nodes start within the first round, or --apart by so many, and all but n0:1 know that node as their contact. In the first half of
the run each sets pairs of its own.
"""

_SIMULATED_STORE: Final = """
Nodes start within the first round, or --apart by so many, and every message goes to all of them. In the first half of the run
each sets entries.
"""

_EXAMPLES: Final = {
    "udp": (
        "--nodes 5 --rounds 50 --loss 0.1 --seed 7 --check",
        "--nodes 5 --rounds 50 --seed 7 --trace out.jsonl",
        "--nodes 6 --rounds 60 --partition 10-30 --check",
        "--nodes 5 --rounds 60 --crash 2@10 --restart 2@30",
    ),
    "tcp": (
        "--nodes 20 --rounds 80 --updates 20 --check",
        "--nodes 20 --rounds 80 --updates 20 --crash 3@60 --check",
        "--nodes 8 --rounds 80 --apart 2 --trace out.jsonl",
        "--nodes 20 --rounds 80 --churn 0.02",
    ),
    "serf": (
        "--nodes 8 --rounds 80 --loss 0.05 --check",
        "--nodes 8 --rounds 80 --partition 12-30 --check",
        "--nodes 5 --rounds 50 --seed 7 --trace out.jsonl",
    ),
}

_SIMULATED_RING: Final = """
Nodes start within the first round in a random order, or --apart by so many rounds beginning with n0:1. Each joins by the node
that has been running longest, which takes two rounds. Contacts and ids cannot be chosen: the id of a node is made from its name,
and is in its first line in --trace. Over connections nothing is lost or duplicated.
"""

_SIMULATED_ROUTES: Final = """
In the second half of the run each node routes messages to random keys. The report has the hops of these messages, whether they
arrived at the closest node of the time, and the messages of each join.
"""

_SIMULATED_TOPICS: Final = """
Nodes subscribe to some topics before the first publication; in the second half of the run each node publishes on random topics.
Topics begin with random characters, which decide their meeting points. An event is due to the nodes that are up and subscribed
all the time. The report has lost and duplicate events, the depth of the trees, the children of a node, and the messages with
events over each link.
"""

_CHURN: Final = """
--churn P crashes each node but the first in each round of the second half with this probability; they restart three rounds later.
"""

_CHURN_OF_TOPICS: Final = f"""
{_CHURN.strip()} They then have their old subscriptions. With the same probability a node changes one topic for another.
"""

_CHECK: Final = """
--check checks the protocol's properties at every step. Of an eventual property the report says since when it holds, or that it
does not hold at the end; that is no violation, since no finite run refutes it. The properties apply to runs without restarts;
with --restart or --churn, a violation shows what a restart breaks.
"""

_CHECK_OF_RINGS: Final = """
The properties about a ring at rest do not apply while a node that has crashed is still in a leaf set, or after a node has left.
"""


def describe_start(protocol: Runtime) -> str:
    """Returns the description of `node start` for a protocol."""

    def parts() -> Iterator[str]:
        yield (
            _STORE
            if protocol.transport == "serf"
            else _RING
            if protocol.is_connected
            else _MEMBERS
            if protocol.names_seeds
            else _DATAGRAMS
        )
        if protocol.subscribes:
            yield _TOPICS
        yield _REMARKS.get(protocol.name, "")

    return _join(parts()).format(name=protocol.name)


def describe_simulation(protocol: Runtime) -> str:
    """Returns the description of `node simulate` for a protocol."""

    def parts() -> Iterator[str]:
        yield _SIMULATION
        if protocol.is_connected:
            yield _SIMULATED_RING
            yield _SIMULATED_TOPICS if protocol.subscribes else _SIMULATED_ROUTES
        else:
            yield _SIMULATED_STORE if protocol.transport == "serf" else _SIMULATED_PAIRS
        yield _CHURN_OF_TOPICS if protocol.subscribes else _CHURN
        yield _CHECK
        if protocol.is_connected:
            yield _CHECK_OF_RINGS

    shown = _EXAMPLES[protocol.transport]
    examples = "\n".join(f"  peerproof node simulate {protocol.name} {options}" for options in shown)
    return _join(parts()).format(
        name=protocol.name,
        period=protocol.period.replace("_", "-"),
        rounds=_ROUNDS.get(protocol.name, ""),
        examples=examples,
    )


def _join(parts: Iterable[str]) -> str:
    """Returns paragraphs, without the empty ones."""
    return "\n\n".join(stripped for part in parts if (stripped := part.strip("\n")))
