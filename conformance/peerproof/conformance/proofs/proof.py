"""Proofs: a statement, its clauses, and a twin that must be refuted; their selection and rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Final, TypeVar

from peerproof.spec.protocols import PROTOCOLS

if TYPE_CHECKING:
    from peerproof.conformance.proofs.paths import Outcome

Statement = TypeVar("Statement", bound=Callable[..., None])

#: The scope of a proof about clusters of any number of nodes.
ANY_CLUSTER: Final = "any cluster"

#: How to install Z3.
EXTRA: Final = "pip install 'peerproof[prove]'"


class ProverMissing(Exception):
    """Z3 is not installed."""


@dataclass(frozen=True)
class Evaluated:
    """The running code itself is evaluated on Z3 terms."""

    functions: tuple[str, ...]  #: below `peerproof.spec`
    instead: tuple[str, ...] = ()  #: builtins that the code looks up, and that are replaced by versions for terms

    def __str__(self) -> str:
        by = f", with {', '.join(self.instead)} on terms" if self.instead else ""
        return f"evaluates {', '.join(self.functions)}{by}"


@dataclass(frozen=True)
class Defined:
    """A Z3 definition; a test compares it with the running function on bounded inputs."""

    functions: tuple[str, ...]
    test: str  #: `path::name`

    def __str__(self) -> str:
        return f"defines {', '.join(self.functions)}, compared by {self.test}"


@dataclass(frozen=True)
class Stated:
    """A theorem about the prose that no code implements."""

    about: str
    functions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"runs no code of the specification: {self.about}"


@dataclass(frozen=True)
class Twin:
    """A deliberately broken version of the statement: with these arguments it must be refuted, or the proof shows nothing."""

    about: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Proof:
    """
    A statement about a protocol, for all values of its symbols.

    `statement` is a function of a `paths.Path` and of `arguments`; the first paragraph of its docstring is the statement in
    words.
    """

    clauses: tuple[str, ...]  #: the clauses that it covers: first its item in the protocol's prose, such as BZ-01
    statement: Callable[..., None]
    by: Evaluated | Defined | Stated
    twin: Twin
    arguments: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""  #: distinguishes two proofs of one statement
    logic: str = ""  #: a logic of Z3, if all terms belong to it
    scope: str = ""  #: ANY_CLUSTER, or empty: about functions

    @property
    def name(self) -> str:
        """The name of the statement, and the suffix that distinguishes it."""
        return "-".join([self.statement.__name__.replace("_", "-"), *filter(None, [self.of])])

    @property
    def item(self) -> str:
        """The item of the protocol's prose that this proof belongs to."""
        return self.clauses[0]

    @property
    def about(self) -> str:
        """The statement in words."""
        return " ".join((getdoc(self.statement) or "").partition("\n\n")[0].split())


class ProofTable(list[Proof]):
    """The proofs of a protocol. Use `add` as a decorator of each statement."""

    def add(
        self,
        clauses: str,
        by: str | Evaluated | Defined | Stated,
        twin: Twin,
        *,
        of: Mapping[str, Mapping[str, Any]] | None = None,
        logic: str = "",
        scope: str = "",
    ) -> Callable[[Statement], Statement]:
        """
        Adds a proof of the decorated statement for each name in `of` and its arguments.

        Blanks separate clauses; if `by` is a text, it has the names of the evaluated functions, also separated by blanks.
        """
        clause_ids = tuple(clauses.split())
        how = Evaluated(tuple(by.split())) if isinstance(by, str) else by

        def declare(statement: Statement) -> Statement:
            self.extend(
                Proof(clause_ids, statement, how, twin, arguments, name, logic, scope)
                for name, arguments in (of or {"": {}}).items()
            )
            return statement

        return declare


@dataclass(frozen=True)
class Proved:
    """The results of a proof and its twin."""

    proof: Proof
    outcome: Outcome
    twin: Outcome

    @property
    def as_expected(self) -> bool:
        """True if the statement is proved and its twin refuted."""
        return self.outcome.verdict == "proved" and self.twin.verdict == "refuted"

    @property
    def seconds(self) -> float:
        """CPU time of both."""
        return self.outcome.seconds + self.twin.seconds

    def without_values(self) -> Proved:
        """Returns the results without the values of what refutes, for which Z3 keeps 20 MB each."""
        return replace(self, outcome=replace(self.outcome, refutation=None), twin=replace(self.twin, refutation=None))


def prove(proof: Proof, seconds: float) -> Proved:
    """Follows the statement, then its twin, each for at most this many seconds."""
    from peerproof.conformance.proofs.paths import follow

    arguments = dict(proof.arguments)
    return Proved(
        proof,
        follow(partial(proof.statement, **arguments), seconds, proof.logic),
        follow(partial(proof.statement, **(arguments | dict(proof.twin.arguments))), seconds, proof.logic),
    )


def proven_protocols() -> list[str]:
    """Returns the protocols that have proofs."""
    return sorted(name for name, protocol in PROTOCOLS.items() if protocol.proofs)


def load(protocol: str) -> tuple[Proof, ...]:
    """Loads the proofs of a protocol, sorted by item. Raises ProverMissing."""
    try:
        import_module("z3")
    except ImportError as error:
        raise ProverMissing(f"proofs need Z3 ({error}): {EXTRA}") from None
    reference = PROTOCOLS[protocol].proofs
    return tuple(sorted(reference.load() if reference else (), key=lambda proof: proof.item))


def select_proofs(protocol: str | None = None, words: str = "", scope: str = "") -> list[tuple[str, Proof]]:
    """
    Returns the proofs of a protocol, or of all, whose item or name contains all of these words, each with its protocol.

    With a scope, such as ANY_CLUSTER, only those of this scope.

    Raises ProverMissing without Z3.

    >>> {protocol for protocol, _ in select_proofs("swim")}
    {'swim'}
    """
    chosen = [protocol] if protocol else proven_protocols()
    return [
        (name, proof)
        for name in chosen
        for proof in load(name)
        if scope in ("", proof.scope) and all(word in f"{proof.item} {proof.name}".lower() for word in words.lower().split())
    ]


def plain_proof(protocol: str, proof: Proof, found: Proved | None = None) -> dict[str, Any]:
    """
    Returns a proof as JSON data, with its result if that is given.

    >>> protocol, proof = select_proofs("swim")[0]
    >>> plain_proof(protocol, proof)["protocol"]
    'swim'
    """
    plain = {
        "protocol": protocol,
        "item": proof.item,
        "name": proof.name,
        "about": proof.about,
        "clauses": list(proof.clauses),
        "by": str(proof.by),
        "scope": proof.scope or "functions",
        "twin": {"about": proof.twin.about},
    }
    if found is None:
        return plain
    twin = {"about": proof.twin.about, **_outcome(found.twin)}
    return {**plain, "as_expected": found.as_expected, **_outcome(found.outcome), "twin": twin}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict,
        "detail": outcome.detail,
        "paths": outcome.paths,
        "claims": outcome.claims,
        "cpu_seconds": round(outcome.seconds, 3),
    }
