"""State graphs as TLC dumps them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from peerproof.tla.output.dot import BadDump, Edge, State, read, summary
from peerproof.tla.tools.installation import Tools
from peerproof.tla.tools.tlc import Run, run

DUMP = r"""strict digraph DiskGraph {
nodesep=0.35;
subgraph cluster_graph {
color="white";
-5 [label="x = \"a\\\"b\\\\n\"",style = filled]
-5 -> 7 [label="Grow",color="black",fontcolor="black"];
7 [label="x = << 1,\n   2 >>"];
-5 -> 7 [label="Grow",color="black",fontcolor="black"];
7 -> 7 [label="Stay",color="black",fontcolor="black"];
7 -> 7 [style="dashed"];
{rank = same; -5;}
{rank = same; 7;}
}
}"""


#: The same graph as later versions write it.
NEWER = r"""strict digraph DiskGraph {
node [shape=box,style=rounded]
nodesep=0.35;
subgraph cluster_graph {
color="white";
-5 [label="x = \"a\\\"b\\\\n\"",style = filled]
-5 -> 7 [label="Grow(1, \"(\")",color="black",fontcolor="black"];
7 [label="x = << 1,\n   2 >>",tooltip="x = << 1,\n   2 >>"];
-5 -> 7 [label="Grow(2, \"a\")",color="black",fontcolor="black"];
7 -> 7 [label="Stay",color="black",fontcolor="black"];
7 -> 7 [style="dashed",color="lightgray"];
{rank = same; -5;}
{rank = same; 7;}
}
}"""


@pytest.fixture
def dump(tmp_path: Path) -> Callable[[str], Path]:
    """A dump with this text."""

    def write(text: str) -> Path:
        path = tmp_path / "graph.dot"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_states_and_edges_come_in_the_order_of_the_file(dump: Callable[[str], Path]) -> None:
    """Equal edges count each; labelled loops are steps, dashed ones are not."""
    assert list(read(dump(DUMP))) == [
        State(-5, {"x": 'a"b\\n'}, True),
        Edge(-5, 7, "Grow"),
        State(7, {"x": (1, 2)}, False),
        Edge(-5, 7, "Grow"),
        Edge(7, 7, "Stay"),
    ]


def test_later_versions_write_the_same_in_more_words(dump: Callable[[str], Path]) -> None:
    assert list(read(dump(NEWER))) == list(read(dump(DUMP)))


@pytest.mark.parametrize("whole", [DUMP, NEWER], ids=["packaged version", "later version"])
def test_every_cut_of_a_dump_is_an_error(dump: Callable[[str], Path], whole: str) -> None:
    for end in range(len(whole)):
        with pytest.raises(BadDump):
            summary(dump(whole[:end]))


def test_state_outside_of_the_model_is_no_initial_state(dump: Callable[[str], Path]) -> None:
    """Later versions can be asked to write those, too; here they are an error."""
    outside = NEWER.replace('2 >>"];', '2 >>",style = filled, fillcolor=lightyellow];')

    with pytest.raises(BadDump, match="unknown line"):
        summary(dump(outside))


@pytest.mark.parametrize(
    ("found", "instead", "line"),
    [
        pytest.param("strict digraph DiskGraph {", "graph {", 1, id="other header"),
        pytest.param('[label="Grow"', "[label=Grow", 6, id="label without quotes"),
        pytest.param('\\n   2 >>"', '\\n   2 >"', 7, id="value that is none"),
        pytest.param('7 -> 7 [label="Stay"', '7 -> [label="Stay"', 9, id="edge without a target"),
        pytest.param("\n}\n}", "\n}\n}\n}", 15, id="more than the end"),
        pytest.param('-5 -> 7 [label="Grow",color="black",fontcolor="black"];\n7 ->', "-x -> 7;\n7 ->", 8, id="no number"),
        pytest.param("\n7 -> 7 [style", "\n7 -> 8 [style", 10, id="dashed line that is no loop"),
    ],
)
def test_what_is_not_understood_is_an_error_with_its_line(
    dump: Callable[[str], Path], found: str, instead: str, line: int
) -> None:
    with pytest.raises(BadDump) as problem:
        summary(dump(DUMP.replace(found, instead, 1)))

    assert problem.value.line == line
    assert f"graph.dot:{line}: " in str(problem.value)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_graph(dump: Callable[[str], Path]) -> None:
    """The lists of the states on one level have one line each, as long as there are states."""
    edge = '-5 -> 7 [label="Grow",color="black",fontcolor="black"];\n'
    ranks = "{rank = same; " + "1234567890123456789;" * 500_000 + "}\n"
    path = dump(DUMP.replace("{rank = same; 7;}\n", edge * 100_000 + ranks))

    tracemalloc.start()
    try:
        found = summary(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found.edges == 100_003
    assert peak < path.stat().st_size / 2


@pytest.mark.slow
def test_dump_of_tlc_is_read_and_agrees_with_its_counts(tools: Tools, module: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    lines = r"""
Init == x = "a\"b\\n"
Names == x' \in {[y \in {"p", "q"} |-> 1..3], [y \in {} |-> 1]}
Twice == x' = <<>> \/ x' = <<>>
Next == Names \/ Twice"""

    result = run(tools, Run(module=module(lines), configuration="INIT Init\nNEXT Next\n", dump=path, brief=True))

    found = summary(path)
    states = [element.variables["x"] for element in read(path) if isinstance(element, State)]
    assert (found.initial, found.states, found.edges) == (1, result.distinct, result.edges)
    assert states[0] == 'a"b\\n'
    assert len(set(states)) == 3
    assert found.actions == {"Names": 6, "Twice": 6}
