"""
The registry of protocols: a row for each protocol names all of its parts.

A row names modules by reference, and a reference imports its module when it is loaded. So this module knows the parts of a
protocol in every layer and depends on none of them. Another distribution adds a protocol with an entry point of the group
`peerproof.protocols` whose object is a `Protocol`; `docs/how-to/add-a-protocol.md` shows one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from peerproof.spec.connections import Framing
from peerproof.spec.core import Specification

T = TypeVar("T")

#: The group of entry points through which distributions add protocols.
GROUP: Final = "peerproof.protocols"


@dataclass(frozen=True, slots=True)
class Reference(Generic[T]):
    """
    A module, `package.module`, or a name in one, `package.module:name`.

    >>> Reference("peerproof.spec.swim:NAME").load()
    'swim'
    """

    target: str

    def load(self) -> T:
        """Imports the module; returns it, or its attribute of the given name. Raises ImportError, AttributeError."""
        module, _, name = self.target.partition(":")
        found: Any = import_module(module)
        return getattr(found, name) if name else found  # type: ignore[no-any-return]  # the row declares its type


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One protocol: a reference for each of its parts, None for a missing part."""

    name: str  #: in commands, vectors and traces
    specification: Reference[Specification]  #: the package, or the module, with `initial`, `step` and `MESSAGE`
    handlers: tuple[Reference[Any], ...] = ()  #: modules with a function `on_…` for each event; by default the specification
    bounded: Reference[Any]  #: module with `Model`: the meaning of a model's constants
    questions: Reference[Any] | None = None  #: module with the invariants of models; by default the specification's `PROPERTIES`
    variants: Reference[Any] | None = None  #: module with changed specifications that models use
    monitors: Reference[Any] | None = None  #: module with `monitor`: checks of a node by its messages alone
    relation: Reference[Any] | None = None  #: module with `narrow` and `unfold`: steps checked without recorded choices
    framing: Reference[Framing] | None = None  #: module with the framing of messages on connections, of a protocol over TCP
    senders: Reference[Any] | None = None  #: module with `Senders`: the sender of a message that was seen on a connection
    runtime: Reference[Any]  #: `peerproof.reference.runtime.protocol.Runtime`: the parts that running nodes need besides
    #: Id -> `peerproof.reference.divergences.divergence.Divergence`: behaviour of real implementations that differs.
    divergences: Reference[Mapping[str, type[Any]]] | None = None
    inputs: Reference[Any]  #: `peerproof.conformance.fuzz.inputs.Inputs`: the inputs of fuzzing
    #: Sequence of `peerproof.conformance.readings.reading.Reading`: other possible meanings of the document.
    readings: Reference[Any] | None = None
    #: Reason -> the decisions, separated by blanks, that have one reasonable reading only for this reason.
    settled: Reference[Mapping[str, str]] | None = None
    #: Type of a message -> items of its lists, in plain form, that mean nothing, where no document says whether they are sent.
    meaningless: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    #: Name of a query -> `peerproof.spec.forms.answers.Answer`: for authors of adapters; no running code needs it.
    query_answers: Reference[Mapping[str, Any]] | None = None
    #: Name of a random choice (`why` of `pick`) -> its description.
    sites: Mapping[str, str] = field(default_factory=dict)
    #: Class of a refused call -> when a node refuses one so.
    refusals: Mapping[str, str] = field(default_factory=dict)
    #: Kinds of events that no document demands: compared only for an implementation whose hello lists them.
    optional_events: tuple[str, ...] = ()
    #: Members of a configuration whose values the document fixes: a vector that sets one needs `config.sizes`.
    sizes: tuple[str, ...] = ()
    #: What a node sends to one that it has met, in words: said where a vector waits for that in vain.
    first_message: str = ""
    #: Configuration, kind of event -> the members of such an event that no document fixes; none by default.
    unsettled: Reference[Callable[[Any, str], frozenset[str]]] | None = None
    answers: Reference[Any] | None = None  #: `peerproof.conformance.runner.answer_rules.Rules`, for `run --connect`
    measures: Reference[Any] | None = None  #: module with `Observer`: measurements of the pipeline besides messages and bytes
    proofs: Reference[tuple[Any, ...]] | None = None  #: `peerproof.conformance.proofs.proof.Proof`, one for each statement
    #: The folder with its clauses (`NAME.md`), vectors (`vectors/NAME/…`), models (`tla/manifest.json`, `tla/NAME/…`) and its
    #: lists (`reviewed/NAME.txt`, `equivalent/NAME.yaml`); None: the folders of this project.
    home: Path | None = None

    def __post_init__(self) -> None:
        if not self.handlers:
            object.__setattr__(self, "handlers", (self.specification,))


class Protocols(Mapping[str, Protocol]):
    """
    The protocols by name: those of this project, then those of other distributions.

    >>> list(PROTOCOLS)[:2], PROTOCOLS["swim"].specification.load().TRANSPORT
    (['scuttlebutt', 'swim'], 'udp')
    """

    def __init__(self, *own: Protocol) -> None:
        self._own: Final = {protocol.name: protocol for protocol in own}

    def __getitem__(self, name: str) -> Protocol:
        """Returns the protocol of this name. Raises KeyError if there is none."""
        return self._own[name] if name in self._own else self._all[name]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._all)

    def __len__(self) -> int:
        """Returns the number of protocols."""
        return len(self._all)

    @cached_property
    def _all(self) -> Mapping[str, Protocol]:
        added: list[Protocol] = [point.load() for point in entry_points(group=GROUP)]
        return self._own | {protocol.name: protocol for protocol in added if protocol.name not in self._own}


#: Anti-entropy of no node, with and without its keyword.
_EMPTY_ANTI_ENTROPY: Final[tuple[Mapping[str, Any], ...]] = tuple(
    {"type": "anti_entropy", "members": [], "tagged": tagged} for tagged in (True, False)
)
_WENDY_REFUSALS: Final = {
    "not_alone": "`join`, while the message of an earlier one is under way, or once the node has got a leaf set",
    "own_node": "`join` with the node itself as its contact",
    "left": "any call, at a node that has left",
    "too_large": "a message whose value, or whose credentials, are too long",
}
_MEASUREMENT: Final = "a heartbeat, by which a node measures another that it has met [W-52, WA-69]"


def _own_protocol(name: str, *handlers: str, **others: Any) -> Protocol:
    """
    Returns a protocol of this project, whose regular parts have the same names in the folders of all protocols.

    `handlers` are modules of the specifications; `others` are parts that not all protocols have.
    """
    spec, conformance, reference = f"peerproof.spec.{name}", "peerproof.conformance", "peerproof.reference"
    return Protocol(
        name=name,
        specification=Reference(spec),
        handlers=tuple(Reference(f"peerproof.spec.{module}") for module in handlers),
        bounded=Reference(f"{spec}.model.bounded"),
        query_answers=Reference(f"{spec}.snapshot:ANSWERS"),
        questions=Reference(f"{spec}.model.questions"),
        variants=Reference(f"{spec}.model.variants"),
        monitors=Reference(f"{spec}.model.monitors"),
        runtime=Reference(f"{reference}.protocols.{name}.runtime:RUNTIME"),
        divergences=Reference(f"{reference}.divergences.{name}:DIVERGENCES"),
        inputs=Reference(f"{conformance}.fuzz.inputs.{name}:INPUTS"),
        readings=Reference(f"{conformance}.readings.protocols.{name}:READINGS"),
        settled=Reference(f"{conformance}.readings.protocols.{name}:SETTLED"),
        measures=Reference(f"peerproof.pipeline.measures.protocols.{name}"),
        proofs=Reference(f"{conformance}.proofs.{name}.proofs:PROOFS"),
        **others,
    )


PROTOCOLS: Final = Protocols(
    _own_protocol(
        "scuttlebutt",
        "scuttlebutt.transitions",
        relation=Reference("peerproof.spec.scuttlebutt.relation"),
        sites={
            "round.partner": "one of the other known peers, to send the digest of this round to",
            "round.seed": "one of the seeds that are not known, to send a digest to as well",
            "digest.order": "the order of all known peers in a digest request, asked for each request of a round",
        },
        refusals={
            "too_large": "`update_local` of a key, a value or a pair that no datagram can carry",
            "overflow": "`update_local`, if the node's version is the last one",
        },
        optional_events=("heartbeat",),
        unsettled=Reference("peerproof.spec.scuttlebutt.snapshot:unsettled"),
        answers=Reference("peerproof.conformance.runner.answer_rules:SCUTTLEBUTT"),
    ),
    _own_protocol(
        "swim",
        *("swim.transitions", "swim.commands", "swim.rounds"),
        relation=Reference("peerproof.spec.swim.relation"),
        # that they are not sent is decided by SA-28, SA-18 and SA-33
        meaningless={"ping": (*_EMPTY_ANTI_ENTROPY, {"type": "payload", "data": {}}), "ack": _EMPTY_ANTI_ENTROPY},
        sites={
            "round.order": "the order in which the nodes of a new round are pinged",
            "indirect.relay": "one of the other live nodes, to ping a silent node indirectly",
            "anti-entropy": "as many other nodes as are configured, to tell about in a message",
        },
        refusals={
            "own_node": "`add_node` or `remove_node` of the node itself",
            "unknown_node": "`leave_node` or `remove_node` of a node that is not in the table",
            "not_own": "`set_payload` for another node",
            "too_large": "`set_payload` of more than fits into a ping",
            "overflow": "`probe_node`, if both counters are at their end",
        },
        answers=Reference("peerproof.conformance.runner.answer_rules:SWIM"),
    ),
    _own_protocol(
        "wendy",
        *("wendy.transitions", "wendy.joining", "wendy.repair"),
        framing=Reference("peerproof.spec.wendy.framing"),
        senders=Reference("peerproof.spec.wendy.senders"),
        refusals={**_WENDY_REFUSALS, "bad_value": "`send_to` a node that has no address, or is the node itself"},
        sizes=("ring", "leaf_set_side", "neighborhood_set"),
        first_message=_MEASUREMENT,
    ),
    _own_protocol(
        "peter",
        *("peter.tree", "wendy.transitions"),
        framing=Reference("peerproof.spec.peter.framing"),
        senders=Reference("peerproof.spec.peter.senders"),
        refusals={
            **_WENDY_REFUSALS,
            "short_topic": "a topic of fewer bytes than an id has",
            "bad_value": "a topic that cannot be written in UTF-8",
            "reserved": "`route` with a purpose of Peter's own",
        },
        sizes=("ring", "leaf_set_side", "neighborhood_set"),
        first_message=_MEASUREMENT,
    ),
    _own_protocol(
        "distkv",
        *("distkv.transitions", "distkv.changes", "distkv.election", "distkv.recovery", "distkv.startup"),
        relation=Reference("peerproof.spec.distkv.relation"),
        sites={
            "ping.early": "a number below the odds of an early ping; at 0 the node pings early",
            "ping.late": "the moment of a late ping, in milliseconds from now",
            "repair.moment": "the moment at which changes that are missing are repaired, in milliseconds from now",
        },
        refusals={
            "not_ready": "a change, before the node has got what others have",
            "bad_path": "a change in the hierarchy about the system itself",
            "too_large": "a change whose update is larger than `max_payload`",
            "exhausted": "a change, if the tick or the tock is the last one",
            "not_loading": "`loaded` or `load_failed` about a node from which nothing is being downloaded",
        },
    ),
)
