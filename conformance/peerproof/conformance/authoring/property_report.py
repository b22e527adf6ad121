"""Everything about a property by its name: what it says, its clauses, its definition in TLA+, and the models that check it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import getdoc, isfunction
from itertools import takewhile
from pathlib import Path
from textwrap import fill, indent
from typing import Any, Final, NamedTuple

from peerproof.conformance.clauses.catalogue import find_clause_ids, protocols, specification
from peerproof.conformance.suite.locations import path_text
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla import manifest

WIDTH: Final = 100
MOST_LISTED: Final = 15  #: the most models or vectors that are listed one by one

_WHEN: Final = {
    "always": "must hold at every instant of a run",
    "sometimes": "must hold at some instant of some run, so that what is said about it is not vacuous",
    "eventually": "must hold at the end of every fair run",
}
_OF: Final = {"node": "of one node", "step": "of one step of a node", "cluster": "of the whole cluster"}
_CITATION: Final = re.compile(r"\s*\[[A-Z]{1,3}-[^\]]*\]")


class Definition(NamedTuple):
    """A definition in a TLA+ module."""

    path: Path
    line: int
    comment: str
    lines: tuple[str, ...]


def property_names() -> list[str]:
    """
    Returns the names of all properties that specifications define or models check.

    >>> "NoStaleRumour" in property_names()
    True
    """
    defined = {one.name for protocol in protocols() for one in specification(protocol).PROPERTIES}
    return sorted(defined | {name for model in manifest.models() for name in (*model.invariants, *model.properties)})


def explain_property(name: str) -> str | None:
    """
    Returns what a property says, its clauses, its definition and the models that check it; None if there is no such property.

    A name may be in any case. If several protocols have a property of this name, each is explained.

    >>> explain_property("NoStaleRumour").splitlines()[0]
    'NoStaleRumour (swim)'
    >>> explain_property("B-14")
    """
    known = {each.lower(): each for each in property_names()}
    if name.lower() not in known:
        return None
    return "\n\n".join(filter(None, (_explain(protocol, known[name.lower()]) for protocol in protocols())))


def _explain(protocol: str, name: str) -> str:
    """Explains a property of one protocol; empty if it has none of this name."""
    own = next((each for each in specification(protocol).PROPERTIES if each.name == name), None)
    models = [model for model in manifest.models(protocol) if name in (*model.invariants, *model.properties)]
    if own is None and not models:
        return ""
    definition = find_definition(manifest.root(protocol) / protocol, name)
    said = [f"{own.about}; {_WHEN[own.when]}, {_OF[own.of]}"] if own else []
    written = definition.comment if definition else ""
    described = written or _docstring(protocol, name)
    said += [_CITATION.sub("", described)] if _CITATION.sub("", described).strip(" .") else []
    cited = [*(own.clauses if own else ()), *find_clause_ids(described)]
    code = [f"{path_text(definition.path)}:{definition.line}", *definition.lines] if definition else []
    lists = (
        ("clauses", [" ".join(dict.fromkeys(cited))] if cited else []),
        ("definition in TLA+", code),
        ("checked by models", [*listed(map(_model, models), "peerproof model check --list")]),
        ("to check it", [f"peerproof model check {protocol} --model {models[0].name}"] if models else []),
    )
    return "\n".join(
        [
            f"{name} ({protocol})",
            *(f"\n{indent(fill(text, WIDTH - 2), '  ')}" for text in said),
            *(f"\n{title}\n{indent(chr(10).join(lines), '  ')}" for title, lines in lists if lines),
        ]
    )


def _model(model: manifest.Model) -> str:
    fails = model.verdict != "success"
    expected = f"expected to fail: {model.violated or 'a property'}" if fails else "expected to hold"
    return f"{model.name}  {model.size}, {expected}  {model.question}"


def _docstring(protocol: str, name: str) -> str:
    """Returns the first paragraph of the docstring of a property that only models of the Python specification have."""
    questions: Any = PROTOCOLS[protocol].questions
    found = getattr(questions.load(), "QUESTIONS", {}).get(name) if questions else None
    text = getdoc(found) if isfunction(found) and found.__name__ != "<lambda>" else None
    return " ".join((text or "").partition("\n\n")[0].split())


def find_definition(folder: Path, name: str) -> Definition | None:
    """Finds the definition of a name in the TLA+ modules of a folder, with the comment above it."""
    for path in sorted(folder.glob("*.tla")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for at, line in enumerate(lines):
            if re.match(rf"{re.escape(name)}\s*==", line):
                above = at
                while above and lines[above - 1].startswith(r"\*"):
                    above -= 1
                comment = " ".join(text.lstrip("\\*").strip() for text in lines[above:at])
                body = takewhile(lambda text: text.startswith(" "), lines[at + 1 :])
                return Definition(path, at + 1, comment, (line, *body))
    return None


def listed(lines: Iterable[str], command: str) -> Iterator[str]:
    """
    Yields the first lines, and how many are left out with the command that lists them.

    >>> [*listed(map(str, range(17)), "list")][-1]
    '… and 2 more: list'
    """
    every = [*lines]
    yield from every[:MOST_LISTED]
    if len(every) > MOST_LISTED:
        yield f"… and {len(every) - MOST_LISTED} more: {command}"
