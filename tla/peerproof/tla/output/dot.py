"""
Streaming parser for the state graph that TLC dumps with `-dump dot,actionlabels`.

TLC writes a line for each edge and each state, a state after the first edge that reaches it. Two edges with the same label
between the same states are two lines, and both count. Layout lines and dashed lines, which stand for stuttering, are skipped.
A truncated file is an error, and so is an unknown line.

Versions after the packaged one write the arguments of an action after its name, which are dropped here, and each state twice, the
second time as a tooltip.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeAlias

from peerproof.tla.output.values import NotAValue, Parser, Value


class State(NamedTuple):
    """A state; `fingerprint` is its name in the file. Each state occurs once."""

    fingerprint: int
    variables: dict[str, Value]
    initial: bool


class Edge(NamedTuple):
    """A step from one state to another, by the action of this name."""

    source: int
    target: int
    action: str


Element: TypeAlias = State | Edge


class BadDump(ValueError):
    """The file is not a complete dump of a state graph."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}; check whether the disk is full, and run TLC again")
        self.line = line


@dataclass(frozen=True, slots=True)
class Summary:
    """The size of a state graph."""

    initial: int
    states: int
    edges: int
    actions: dict[str, int]  #: edges by action


_EDGE: Final = re.compile(r'(-?\d+) -> (-?\d+) \[label="((?:[^"\\]++|\\.)*+)"[^\]]*\];$')
_STUTTERING: Final = re.compile(r'(-?\d+) -> \1 \[style="dashed"(?:,color="\w+")?\];$')
_STATE: Final = re.compile(
    r'(-?\d+) \[label="((?:[^"\\]++|\\.)*+)"(?:,tooltip="(?:[^"\\]++|\\.)*+")?(,\s*style\s*=\s*filled)?\];?$'
)
_LAYOUT: Final = re.compile(r'(?:\w+="?[\w.#]*"?;?|subgraph \w+ \{|(?:node|edge|graph) \[.*\];?)$')
_HEADER: Final = re.compile(r"(?:strict )?digraph \w+ \{$")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CHUNK: Final = 1 << 20


def read(path: Path) -> Iterator[Element]:
    """Yields states and edges in the order of the file. Raises `BadDump`, after the elements before the error."""
    parser = Parser()
    actions: dict[str, str] = {}  # cache: rest of an edge's line after the target -> action
    open_blocks, number = 0, 0
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(_lines(file), 1):  # after the loop, the number of the last line
            if not line.endswith("\n") and line != "}":
                raise BadDump(path, number, "the file ends within a line")
            parts = line.split(" ", 3)
            if open_blocks and parts[1:2] == ["->"] and (action := actions.get(parts[-1])):
                yield Edge(_fingerprint(parts[0], path, number), _fingerprint(parts[2], path, number), action)
                continue
            text = line.rstrip()
            if number == 1 and not _HEADER.match(text):
                raise BadDump(path, number, f"not the beginning of a state graph: {text[:40]!r}")
            if number > 1 and not open_blocks:
                raise BadDump(path, number, "text after the end of the graph")
            if edge := _EDGE.match(text):
                actions[line.split(" ", 3)[3]] = action = _unescape(edge[3]).partition("(")[0]
                yield Edge(int(edge[1]), int(edge[2]), action)
            elif state := _STATE.match(text):
                yield State(int(state[1]), _variables(parser, state[2], path, number), state[3] is not None)
            elif text == "}":
                open_blocks -= 1
            elif text.endswith("{"):
                open_blocks += 1
            elif text and not text.startswith("{rank") and not _STUTTERING.match(text) and not _LAYOUT.match(text):
                raise BadDump(path, number, f"unknown line: {text[:80]!r}")
    if open_blocks or not number:
        raise BadDump(path, number, "the file ends before the graph does")


def summary(path: Path) -> Summary:
    """Reads a whole dump and counts its elements."""
    initial, states, edges = 0, 0, 0
    actions: Counter[str] = Counter()
    for element in read(path):
        if isinstance(element, Edge):
            edges += 1
            actions[element.action] += 1
        else:
            states += 1
            initial += element.initial
    return Summary(initial, states, edges, dict(actions))


def _lines(file: IO[str]) -> Iterator[str]:
    """Yields lines; a list of the states on one level, which may be a very long line, is shortened."""
    while line := file.readline(_CHUNK):
        if line.startswith("{rank"):
            piece = line
            while piece and not piece.endswith("\n"):
                piece = file.readline(_CHUNK)
            yield "{rank...\n" if piece else "{rank..."
            continue
        pieces = [line]
        while not pieces[-1].endswith("\n") and (piece := file.readline(_CHUNK)):
            pieces.append(piece)
        yield "".join(pieces)


def _variables(parser: Parser, label: str, path: Path, number: int) -> dict[str, Value]:
    try:
        return parser.state(_unescape(label))
    except NotAValue as problem:
        raise BadDump(path, number, f"invalid state: {problem}") from problem


def _fingerprint(text: str, path: Path, number: int) -> int:
    try:
        return int(text)
    except ValueError as problem:
        raise BadDump(path, number, f"not the name of a state: {text[:40]!r}") from problem


def _unescape(label: str) -> str:
    r"""
    Unescapes a label in one scan from left to right: `\\n` is a backslash and an n, not a newline.

    >>> print(_unescape(r'x = \"a\\\\b\"'))
    x = "a\\b"
    """
    if "\0" in label:
        return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], label)
    return label.replace("\\\\", "\0").replace("\\n", "\n").replace('\\"', '"').replace("\0", "\\")
