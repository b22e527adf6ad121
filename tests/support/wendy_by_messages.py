"""
Twins of Wendy's vectors whose node is loaded: the same steps, after messages that lead to such tables.

`python -m tests.support.wendy_by_messages` prints the file `by-messages.yaml`; which decisions each rests on is then found by
`peerproof vectors lint wendy --basis`. What is expected is taken over from the loaded
vector. Only versions are left open, because messages count them otherwise than a table that is made up.

A node stands in the routing table alone if it was met while the leaf set was full of nearer ones, which have gone since, and in
the leaf set alone as long as its score is unknown. If neighbors matter, too, the fillers are measured: 32 of them keep it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.vectors.suite import Vector, load

FOLDER: Final = Path(__file__).parents[2] / "conformance" / "vectors" / "wendy" / "exchange"
HEARTBEAT: Final = 300_000
WAIT: Final = 20_000
MADE_UP: Final = (3, 2, 5)  #: the versions of a node that is loaded for announcements
NONE: Final = "{routing_table: 0, leaf_set: 0, neighborhood_set: 0}"
HEAD: Final = """\
format: 1
protocol: wendy
about: Nodes that other vectors load, as messages lead to them.
notes:
"""

BUILT: Final = {"stage", "routing_table", "leaf_set", "neighborhood_set", "scores", "versions"}
#: Whose expectation needs more than tables that no message leads to: a neighbor that is in no other table, or 2^64 changes.
LEFT_OUT: Final = (
    "versions-end",
    "versions-in-an-announcement-are-the-receivers",
    "leaving",
    "neighbours-met-again",
    "asked-for-all",
    "asked-for-the-leaf-set",
    "asked-for-the-neighborhood-set",
    "asked-for-a-cell",
    "asked-for-an-empty-cell",
    "asked-for-rows",
    "asked-for-columns-of-rows",
    "asked-for-columns-without-rows",
    "asked-for-nothing",
    "asked-for-a-cell-and-leaves",
    "the-last-leaf-of-a-side-is-lost",
    "neighbour-is-lost",
    "neighbours-of-neighbours",
    "a-helper-that-cannot-be-reached",
)

Node = dict[str, Any]


def node_text(node: Node) -> str:
    """A node as it is written in vectors."""
    return (
        f'{{id: "{node["id"]}", local_ip: {node["local_ip"]}, global_ip: {node["global_ip"]}, port: {node["port"]}, '
        f'region: "{node["region"]}"}}'
    )


def state_data(
    sender: Node,
    *,
    left: Iterable[Node] = (),
    right: Iterable[Node] = (),
    cells: Iterable[Any] = (),
    is_destination: bool = False,
) -> str:
    """A step in which a node sends its tables."""
    sides = [", ".join(map(node_text, side)) for side in (left, right)]
    entries = ", ".join(f"{{row: {cell['row']}, column: {cell['column']}, node: {node_text(cell['node'])}}}" for cell in cells)
    routing_table = f"[{entries}]" if entries else "null"
    leaf_set = f"{{left: [{sides[0]}], right: [{sides[1]}]}}" if any(sides) else "null"
    return (
        f'send: {{from: "{sender["local_ip"]}:{sender["port"]}", to: node, message: {{type: state_data, header: '
        f'{{sender: {node_text(sender)}, key: "{sender["id"]}", versions: {NONE}, credentials: null, hop: 0}}, '
        f"tables: {{routing_table: {routing_table}, leaf_set: {leaf_set}, neighborhood_set: null}}, "
        f"destination: {str(is_destination).lower()}}}}}"
    )


def sent(node: Node, took: int) -> str:
    """A step in which a node has confirmed what it was sent."""
    return f'sent: {{node: node, to: "{node["local_ip"]}:{node["port"]}", took: {took}}}'


def fillers(own: str, numbers: Iterable[int]) -> list[Node]:
    """Nodes right beside the own id, that many steps from it."""
    nodes = []
    for number in numbers:
        host = f"{'up' if number > 0 else 'down'}{abs(number)}"
        digits = f"{(int(own, 16) + number) % 2**128:032x}"
        nodes.append({"id": digits, "local_ip": host, "global_ip": host, "port": 4000, "region": ""})
    return nodes


class Tables:
    """The tables of a loaded node, and the steps that lead to them."""

    def __init__(self, own: str, state: dict[str, Any]) -> None:
        self.own = own
        self.cells = state.get("routing_table", [])
        leaves = state.get("leaf_set", {"left": [], "right": []})
        self.left, self.right = leaves["left"], leaves["right"]
        self.scores = {known["node"]: int(known["score"]) for known in state.get("scores", [])}
        self.neighbors = {node["id"] for node in state.get("neighborhood_set", [])}

    def steps(self, *, is_exact: bool) -> tuple[list[str], int]:
        """The steps of the set-up, and when it ends. `is_exact` if nodes of the routing table are to be no neighbors."""
        leaves = {node["id"]: node for node in (*self.left, *self.right)}
        lone = [cell for cell in self.cells if cell["node"]["id"] not in leaves]
        found: list[str] = []
        end = 0
        if lone and is_exact:
            found, end = self.measured_fillers(lone), HEARTBEAT
        elif lone:
            found = self.plain_fillers(lone)
        if leaves:
            first = (*self.left, *self.right)[0]
            found.append(f"at: {end}\n    " + state_data(first, left=self.left, right=self.right))
        placed = {cell["node"]["id"] for cell in self.cells} | self.neighbors
        found += [
            f"at: {end}\n    " + sent(node, self.scores[name])
            for name, node in leaves.items()
            if name in placed & self.scores.keys()
        ]
        return found, end

    def join(self) -> tuple[list[str], int]:
        """The steps by which a node joins that has all others in all tables, and when they end; each table's version is 2."""
        contact = self.left[0]
        where = f"{contact['local_ip']}:{contact['port']}"
        first = (
            f'call: {{node: node, op: join, args: {{contact: "{where}"}}}}',
            sent(contact, 100),
            state_data(contact, left=self.left, right=self.right, is_destination=True),
            "sent: {node: node, took: 100}",
        )
        return [*(f"at: 0\n    {step}" for step in first), f"at: {WAIT}\n    sent: {{node: node, took: 100}}"], WAIT

    def plain_fillers(self, lone: list[Any]) -> list[str]:
        """The leaf set full of nodes that do not answer, until the others are met."""
        sides = {int(cell["node"]["id"], 16) - int(self.own, 16) for cell in lone}
        is_right = {0 < away % 2**128 <= 2**127 for away in sides}
        up = fillers(self.own, range(256, 4097, 256)) if True in is_right else []
        down = fillers(self.own, range(-256, -4097, -256)) if False in is_right else []
        helper = (*up, *down)[0]
        return [
            "at: 0\n    " + text
            for text in (
                state_data(helper, left=down, right=up),
                state_data(helper, cells=lone),
                *(sent(cell["node"], self.scores.get(cell["node"]["id"], 100)) for cell in lone),
                "sent: {node: node, failed: true}",
            )
        ]

    def measured_fillers(self, lone: list[Any]) -> list[str]:
        """Leaf set and neighborhood set full of better ones, which do not answer the next heartbeat."""
        up, down = fillers(self.own, range(1, 33)), fillers(self.own, range(-1, -17, -1))
        scores = [sent(cell["node"], self.scores[cell["node"]["id"]]) for cell in lone]
        first = (
            state_data(up[0], left=up[16:], right=up[:16]),
            "sent: {node: node, took: 1}",
            state_data(up[0], left=down),
            state_data(up[0], cells=lone),
            *scores,
        )
        return [
            *("at: 0\n    " + text for text in first),
            *(f"at: {HEARTBEAT}\n    {text}" for text in (*scores, "sent: {node: node, failed: true}")),
        ]


def written_vectors() -> Iterator[tuple[str, str]]:
    """File and text of each vector of the folder."""
    for file in sorted(FOLDER.glob("*.yaml")):
        for block in re.split(r"\n(?=- id: )", file.read_text(encoding="utf-8"))[1:]:
            yield file.name, block.rstrip("\n")


def counted(found: re.Match[str]) -> str:
    """Versions, as far from those of a node that has joined as they are from those of the loaded one."""
    numbers = [max(int(digits) - made_up + 2, 0) for digits, made_up in zip(found.groups(), MADE_UP, strict=True)]
    return "versions: {{routing_table: {}, leaf_set: {}, neighborhood_set: {}}}".format(*numbers)


def twin(vector: Vector, block: str, *, is_exact: bool) -> str:
    """The text of the twin of a loaded vector."""
    nodes = vector.body["nodes"]
    name = next(name for name, node in nodes.items() if "state" in node)
    own, state = nodes[name]["config"]["id"], nodes[name]["state"]
    is_joined = tuple(state.get("versions", {}).values()) == MADE_UP
    tables = Tables(own, state)
    setup, end = tables.join() if is_joined else tables.steps(is_exact=is_exact)
    kept: list[str] = []
    for written in block.split("\n"):
        line = written
        if line.startswith("- id: "):
            line = re.sub(r"^(- id: \S+).*", r"\1-by-messages", line)
        elif line.startswith("  title: "):
            title = vector.body["title"].replace('"', '\\"')
            line = f'  title: "{title} (tables by messages)"'
        elif line.startswith("  flags: "):
            flags = [flag for flag in vector.flags if flag != "loaded"]
            if not flags:
                continue
            line = f"  flags: [{', '.join(flags)}]"
        elif line.startswith("  transports: "):
            continue
        elif line.startswith(f"    {name}: "):
            line = re.sub(r", state: .*", "}", line)
        elif line in ("  setup:", "  steps:") and setup:
            kept += ["  setup:", *(f"  - {step}" for step in setup)]
            setup = []
            if line == "  setup:":
                continue
        elif is_joined:
            is_own = f'sender: {{id: "{own}"' in line
            if is_own != ("type: node_announcement" in line) or "query: own" in line:
                line = re.sub(r"versions: {routing_table: (\d+), leaf_set: (\d+), neighborhood_set: (\d+)}", counted, line)
        elif re.match(r"\s+- \{to: |\s+(- )?events: ", line):
            line = re.sub(rf'(sender: {{id: "?{own}"?,[^}}]*}}, key: \S+ versions: ){{[^}}]*}}', r"\1{any: true}", line)
        elif "query: own" in line:
            line = re.sub(r"versions: {[^}]*}", "versions: {any: true}", line)
        line = re.sub(r"\b(at|quiet_until): (\d+)", lambda found: f"{found[1]}: {int(found[2]) + end}", line)
        kept.append(line)
    return "\n".join(kept)


def file_text(names: Iterable[str], exact: Iterable[str]) -> str:
    """The whole file."""
    vectors = {vector.id: vector for vector in load().vectors if vector.protocol == "wendy"}
    found: list[str] = []
    flags: dict[str, Any] = {}
    wanted, is_exact = set(names), set(exact)
    for _, block in written_vectors():
        about = vectors[block.split("\n")[0].removeprefix("- id: ").split()[0]]
        last = about.id.rpartition("/")[2]
        if last in wanted or last in is_exact:
            found.append(twin(about, block, is_exact=last in is_exact))
            flags |= {flag: load().notes[flag] for flag in about.flags if flag != "loaded"}
    notes = [f'  {flag}: {{kind: {note["kind"]}, text: "{note["text"]}"}}' for flag, note in sorted(flags.items())]
    return HEAD + "\n".join(notes) + "\nvectors:\n\n" + "\n\n".join(found) + "\n"


def is_built(vector: Vector) -> bool:
    """Whether messages can lead to the state of a vector: nothing in it but tables, and no timer."""
    (node,) = (node for node in vector.body["nodes"].values() if "state" in node)
    return "timers" not in node and not node["state"].keys() - BUILT and vector.id.rpartition("/")[2] not in LEFT_OUT


if __name__ == "__main__":
    loaded = [v for v in load().vectors if v.protocol == "wendy" and v.layer == "exchange" and "state.load" in v.needs]
    built = {v.id.rpartition("/")[2]: v.file.rpartition("/")[2] for v in loaded if is_built(v)}
    print(file_text(built, [name for name, file in built.items() if file == "repair.yaml"]), end="")
