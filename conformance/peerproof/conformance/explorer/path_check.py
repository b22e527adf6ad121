"""
A path of a model as a vector: to keep it, and to let an implementation play one of its nodes.

The vector has what that node's program observes on the path, and what the specification does. So an implementation is checked on
it as on any other vector, at the times at which timers run out by the clock.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.explorer.vector_run import run_once
from peerproof.conformance.explorer.walk import Walk
from peerproof.conformance.models.counterexample_vectors import PathVector, vector_of_path
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.vectors.suite import load
from peerproof.conformance.vectors.vector_text import document
from peerproof.spec.forms.form import Plain

_ABOUT: Final = "Paths through the models, made with peerproof model explore."


class NoSuchNode(LookupError):
    """The model has no node of this name; the message says which it has."""


def path_vector(walk: Walk, path: Sequence[str], node: str) -> tuple[PathVector, str]:
    """
    Returns the run of one node on a path as a vector, and a file with it.

    Raises NoSuchPath, NoSuchNode, NothingSeen, OutOfTime.
    """
    if node not in walk.names:
        raise NoSuchNode(f"there is no {node!r}: there are {', '.join(walk.names)}")
    digest = sha256(f"{walk.name} {' '.join(path)}".encode()).hexdigest()[:8]
    title = f"{node} on a path of {len(path)} steps through {walk.name}"
    word = "".join(letter if letter.isalnum() else "-" for letter in node.lower()).strip("-")
    found = vector_of_path(walk.system, walk.edges(path), walk.names.index(node), f"path-{digest}-{word}", title)
    return found, document(walk.protocol, _ABOUT, [found.vector])


def check_path(walk: Walk, path: Sequence[str], node: str, reach: Callable[[], Adapter]) -> dict[str, Plain]:
    """
    Lets an implementation play a node on a path, and compares it with the specification at every step of that node.

    Returns plain data: the verdict; for each step of the path that the node observes and reaches, its difference or null; and the
    difference at the end. Raises AdapterUnavailable, NotRun, and what `path_vector` raises.
    """
    found, text = path_vector(walk, path, node)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, walk.protocol, "exchange", "path.yaml")
        place.parent.mkdir(parents=True)
        place.write_text(text, encoding="utf-8")
        suite = load(Path(folder))
        (case,) = cases(suite, suite.vectors)
        run = run_once(case, reach())
    steps: dict[str, Plain] = {}
    begins = (-1, *found.checks)
    for edge, first, last in zip(found.edges, begins, found.checks, strict=False):
        moments = run.moments[first + 1 : last + 1]
        if moments:  # a crash ends the run
            steps[str(edge)] = next((moment.problem.plain() for moment in moments if moment.problem), None)
    ended = [moment.problem for moment in run.moments[max(found.checks) + 1 :] if moment.problem]
    return {"verdict": run.verdict, "steps": steps, "end": ended[0].plain() if ended else None}
