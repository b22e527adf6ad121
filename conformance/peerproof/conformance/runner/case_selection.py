"""Which cases a run consists of: an expression over vectors and cases, and the transports."""

from __future__ import annotations

from collections.abc import Sequence

from peerproof.conformance.runner.cases import cases, cases_over
from peerproof.conformance.runner.trial import Case, Over
from peerproof.conformance.vectors.lookup import find_vector
from peerproof.conformance.vectors.selection import select_vectors
from peerproof.conformance.vectors.suite import Suite

#: Transports of real time: the implementation serves its nodes on sockets.
SOCKETS = ("udp", "tcp")


class CaseNotFound(LookupError):
    """A vector has no such case; the message lists those that it has."""


def select_cases(suite: Suite, expression: str = "", protocol: str | None = None) -> list[Case]:
    """
    Selects cases under virtual time, in the order of the suite, by an expression as `-k` takes it; `VECTOR#PART` is one case.

    Raises NothingFits for a word that no vector fits, SelectionError for a key that does not exist.

    >>> from peerproof.conformance.vectors.suite import load
    >>> suite = load()
    >>> [case.part for case in select_cases(suite, "scuttlebutt/codec/digest-request-of-one")]
    ['decode', 'encode']
    >>> [case.part for case in select_cases(suite, "digest-request-of-one#decode")]
    ['decode']
    """
    words = [word.split(",") for word in expression.split()]
    wanted = {part for parts in words for part in parts if "#" in part}
    plain = " ".join(",".join(part.partition("#")[0] for part in parts) for parts in words)
    found = cases(suite, select_vectors(suite, plain, protocol))
    if not wanted:
        return found
    exact = {suite.aliases.get(name, name) + "#" + part for name, _, part in (word.partition("#") for word in wanted)}
    return [case for case in found if any(case.id == name or case.id.endswith(f"/{name}") for name in exact)]


def select_socket_cases(chosen: Sequence[Case], transport: str, slack: float) -> tuple[list[Case], int]:
    """
    Returns the cases of the chosen cases' vectors over a real socket, `udp` or `tcp`, and how many vectors these are taken from.

    An answer may take `slack` seconds.

    >>> from peerproof.conformance.vectors.suite import load
    >>> over, of = select_socket_cases(select_cases(load(), "layer:exchange", "scuttlebutt"), "udp", 2.0)
    >>> 0 < len(over) < of, over[0].id.endswith("@udp")
    (True, True)
    """
    vectors = list({case.vector.id: case.vector for case in chosen}.values())
    return cases_over(vectors, Over(transport, slack)), len(vectors)


def find_cases(suite: Suite, name: str) -> list[Case]:
    """
    Finds the cases of one vector by its name, or one of them by `VECTOR#PART`.

    Raises VectorNotFound, CaseNotFound.

    >>> from peerproof.conformance.vectors.suite import load
    >>> [case.id for case in find_cases(load(), "digest-request-of-one#encode")]
    ['scuttlebutt/codec/digest-request-of-one#encode']
    """
    vector = find_vector(suite, name)
    found = cases(suite, [vector])
    part = name.partition("#")[2]
    if not part:
        return found
    if chosen := [case for case in found if case.part == part]:
        return chosen
    parts = ", ".join(f"#{case.part}" for case in found if "#" in case.id)
    raise CaseNotFound(f"{vector.id} has no case #{part}; it has {parts or 'only one, without #'}")


def case_ids(suite: Suite, slack: float) -> list[str]:
    """
    Returns the ids of all cases of a suite, over every transport: what an entry of a list of expected failures may name.

    >>> from peerproof.conformance.vectors.suite import load
    >>> "scuttlebutt/codec/digest-request-of-one#decode" in case_ids(load(), 2.0)
    True
    """
    over = [case.id for name in SOCKETS for case in cases_over(suite.vectors, Over(name, slack))]
    return [*(case.id for case in cases(suite, suite.vectors)), *over]
