"""
What holds in every cluster of Scuttlebutt: whatever the number of nodes, messages, losses, repetitions and orders.

An invariant of one node's state and of one message is kept by every path of `step`, for every event that satisfies it. The rest
of the cluster is in three functions that only grow: what each owner has written, by version; the last version that it has
written; and the version up to which each node knows each other one. `composition` shows why this is enough.

A store has any number of peers, each with any number of keys. Where the code goes through all of them, it gets any two: each
entry of a digest depends on its own peer only; of the pairs of a delta, any two neighbours in the order of versions stand for
all. So a digest has one entry and a delta two pairs, of one peer or two: handlers take them one after the other. The failure
detector is off: it decides only which nodes get a digest, and here any node may get one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any, Final, NamedTuple, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.composition import composition
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Stated, Twin
from peerproof.conformance.proofs.scuttlebutt.terms import Key, Value, rows
from peerproof.conformance.proofs.terms import Number, Rows, choice, copy_rows, term_of
from peerproof.spec.core import Asked, Expired, Instant, Received, Send, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.scuttlebutt import reconcile, transitions
from peerproof.spec.scuttlebutt.messages import (
    Delta,
    DeltaEntry,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Round,
    UpdateLocal,
)
from peerproof.spec.scuttlebutt.state import Config, Peer, State, Versioned

PROOFS: Final = ProofTable()

_INT, _BOOL = smt.IntSort(), smt.BoolSort()
_NOW: Final = Instant(0)


def at_beginning() -> Term:
    """Returns that the window of an answer begins with its first pair; otherwise its pairs are any two neighbours."""
    return smt.Bool("the window is at the beginning")


@dataclass(frozen=True)
class Cluster:
    """What the rest of the cluster has: functions of an owner, and of a node and an owner, that only grow."""

    key: Callable[[Term, Term], Term]  #: owner, version -> the key that it wrote
    value: Callable[[Term, Term], Term]  #: owner, version -> the value
    top: Callable[[Term], Term]  #: owner -> the last version that it has written; 0: none
    last: Callable[[Term, Term], Term]  #: owner, key -> the last version of this key; 0: never written
    known: Callable[[Term, Term], Term]  #: node, owner -> the version up to which the node knows the owner

    def wrote(self, owner: Term, pair: Any) -> Term:
        """States that the owner has written this pair."""
        version = pair.version
        right = smt.And(self.key(owner, version) == pair.key, self.value(owner, version) == pair.value)
        return smt.And(version >= 1, version <= self.top(owner), right)

    def is_sound(self, owner: Term, key: Term, version: Term) -> Term:
        """States what `last` and `top` mean: the last version of a key is one at which it was written, and none is later."""
        last, top = self.last(owner, key), self.top(owner)
        written = smt.And(version >= 1, version <= top)
        return smt.And(
            *(top >= 0, last >= 0, last <= top, smt.Implies(last > 0, self.key(owner, last) == key)),
            smt.Implies(written, version <= self.last(owner, self.key(owner, version))),
        )

    def after(self, owner: Term, key: Term, value: Term) -> Cluster:
        """Returns the cluster after the owner has written a pair, at its next version."""
        new = self.top(owner) + 1

        def at(version: Term, o: Term) -> Term:
            return smt.And(o == owner, version == new)

        return Cluster(
            lambda o, v: smt.If(at(v, o), key, self.key(o, v)),
            lambda o, v: smt.If(at(v, o), value, self.value(o, v)),
            lambda o: smt.If(o == owner, new, self.top(o)),
            lambda o, k: smt.If(smt.And(o == owner, k == key), new, self.last(o, k)),
            self.known,
        )


def any_cluster() -> Cluster:
    """Returns any cluster."""
    return Cluster(
        smt.Function("key of", _INT, _INT, Key),
        smt.Function("value of", _INT, _INT, Value),
        smt.Function("top of", _INT, _INT),
        smt.Function("last of", _INT, Key, _INT),
        smt.Function("known by", _INT, _INT, _INT),
    )


class Store:
    """The peers of a node: any number of them. Going through them gives `members`."""

    def __init__(self, has: Callable[[Term], Term], record: Callable[[Term], Peer], members: tuple[Number, ...]) -> None:
        self.has = has
        self.record = record
        self.members = members
        self.owners: list[Term] = []  #: of which it is known what holds, for each of the keys
        self.keys: list[Term] = []

    def __contains__(self, addr: Any) -> bool:
        return bool(self.has(term_of(addr)))

    def __getitem__(self, addr: Any) -> Peer:
        if addr not in self:
            raise KeyError(addr)
        return self.record(term_of(addr))

    def get(self, addr: Any) -> Peer | None:
        """Like `Table`."""
        return self.record(term_of(addr)) if addr in self else None

    def put(self, records: Mapping[Any, Peer]) -> Store:
        """Like `Table`."""
        has, record = self.has, self.record
        for addr, new in records.items():
            has, record = _having(has, term_of(addr)), _with_record(record, term_of(addr), new)
        return Store(has, record, self.members)

    def __iter__(self) -> Iterator[Number]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


def _having(has: Callable[[Term], Term], addr: Term) -> Callable[[Term], Term]:
    return lambda a: smt.Or(a == addr, has(a))


def _with_record(record: Callable[[Term], Peer], addr: Term, new: Peer) -> Callable[[Term], Peer]:
    def at(other: Term) -> Peer:
        mine, theirs, before = rows(new), rows(record(other)), record(other)
        is_it = other == addr
        table: Any = Pairs(
            lambda k: smt.If(is_it, mine.has(k), theirs.has(k)),
            lambda k: Versioned(*(smt.If(is_it, one, two) for one, two in zip(mine.row(k), theirs.row(k), strict=True))),
        )
        return Peer(table, smt.If(is_it, term_of(new.version), term_of(before.version)))

    return at


class Pairs(Rows):
    """The pairs of a record; going through them gives those of `window`, if the statement says which."""

    window: tuple[Term, ...] = ()

    def items(self) -> list[tuple[Term, Any]]:
        """Like `Table`, for the keys of the window."""
        return [(key, self.row(key)) for key in self.window]

    def put(self, new: Mapping[Term, Any]) -> Pairs:
        """Like `Table`."""
        found = super().put(new)
        return Pairs(found.has, found.row)


@dataclass(frozen=True)
class Node:
    """Any node of any cluster, in a state that satisfies the invariant."""

    cluster: Cluster
    state: State  #: its store is a `Store`

    @property
    def store(self) -> Store:
        """Its store."""
        return cast("Store", self.state.store)

    @property
    def id(self) -> Term:
        """Its address."""
        return term_of(self.state.self_id)

    def after(self, state: State) -> Node:
        """Returns the node after a step of its own, which tells how much it knows now."""

        def known(node: Term, owner: Term) -> Term:
            return smt.If(node == self.id, _version(state, owner), self.cluster.known(node, owner))

        cluster = self.cluster
        return Node(Cluster(cluster.key, cluster.value, cluster.top, cluster.last, known), state)


def _version(state: State, owner: Term) -> Term:
    """The version of an owner as a state has it; 0 if it does not know the owner."""
    store = cast("Store", state.store)
    return smt.If(store.has(owner), term_of(store.record(owner).version), 0)


def any_node(path: Path, cluster: Cluster, *, restarted: bool = False, window: tuple[Term, ...] = ()) -> Node:
    """Returns any node in a state that satisfies the invariant; if it has restarted, its own versions begin anew."""
    own: Any = Number(path.integer("node"))
    has, version = smt.Function("known peer", _INT, _BOOL), smt.Function("version", _INT, _INT)
    pair_has, value = smt.Function("known key", _INT, Key, _BOOL), smt.Function("value", _INT, Key, Value)
    pair_version = smt.Function("version of key", _INT, Key, _INT)

    def record(owner: Term) -> Peer:
        table: Any = Pairs(lambda k: pair_has(owner, k), lambda k: Versioned(value(owner, k), pair_version(owner, k)))
        table.window = window
        return Peer(table, version(owner))

    members = (own, Number(path.integer("another peer")))
    store: Any = Store(has, record, members)
    path.know(*(has(member.term) for member in members))
    node = Node(cluster, State(own, Config(detector=None), store, Table()))
    if not restarted:
        path.know(owns(node))
    return node


def owns(node: Node) -> Term:
    """States that the node's own record is all that it has ever written: it has not restarted."""
    return smt.And(node.store.has(node.id), _version(node.state, node.id) == node.cluster.top(node.id))


def invariant(node: Node, owner: Term, key: Term) -> dict[str, Term]:
    """Returns what holds of a node's knowledge of any owner and key."""
    cluster, store = node.cluster, node.store
    record = store.record(owner)
    table, version = rows(record), term_of(record.version)
    known = smt.And(store.has(owner), table.has(key))
    pair = DeltaEntry(owner, key, *table.row(key))
    last = cluster.last(owner, key)
    return {
        "HasHad": smt.Implies(known, cluster.wrote(owner, pair)),
        "HasHad of versions": smt.Implies(store.has(owner), smt.And(version >= 0, version <= cluster.top(owner))),
        "VersionIsMax": smt.Implies(known, pair.version <= version),
        "NoGap": smt.Implies(
            smt.And(store.has(owner), last >= 1, last <= version), smt.And(table.has(key), pair.version == last)
        ),
    }


def in_digest(cluster: Cluster, sender: Term, entry: DigestEntry) -> Term:
    """States what holds of an entry of a digest: its sender knows its peer up to that version, or farther by now."""
    addr, version = term_of(entry.addr), term_of(entry.version)
    return smt.And(version >= 0, version <= cluster.known(sender, addr), version <= cluster.top(addr))


def in_delta(cluster: Cluster, pair: DeltaEntry, since: Term, key: Term) -> Term:
    """States what holds of a pair of a delta and any key: its owner wrote it, and no other current pair is after `since`."""
    owner, last = term_of(pair.addr), cluster.last(term_of(pair.addr), key)
    between = smt.And(since < last, last <= pair.version)
    return smt.And(cluster.wrote(owner, pair), since < pair.version, smt.Implies(between, key == pair.key))


# -- events -----------------------------------------------------------------------------------------------------------


def assume(path: Path, node: Node, owners: Iterable[Term], keys: Iterable[Term], versions: Iterable[Term]) -> None:
    """Assumes the invariant of a node and of the cluster, for all of these owners, keys and versions."""
    node.store.owners, node.store.keys = [*owners], [*keys]
    path.prefer_small(lambda: map(node.cluster.top, node.store.owners))
    path.prefer_small(lambda: (rows(node.store.record(o)).row(k).version for o, k in product(node.store.owners, node.store.keys)))
    for owner, key in product(owners, keys):
        path.know(node.cluster.known(node.id, owner) == _version(node.state, owner))
        path.know(*invariant(node, owner, key).values())
        path.know(*(node.cluster.is_sound(owner, key, version) for version in versions))


def digest_entry(path: Path, cluster: Cluster, sender: Term) -> DigestEntry:
    """Returns an entry of a digest that satisfies its invariant."""
    entry = DigestEntry(Number(path.integer("peer of the digest")), path.integer("version of the digest"))  # type: ignore[arg-type]
    path.know(in_digest(cluster, sender, entry))
    return entry


class InDelta(NamedTuple):
    """A pair of a delta, and the version that it follows: that of the digest, or that of an earlier pair."""

    pair: DeltaEntry
    since: Term


def delta_of(path: Path, cluster: Cluster, receiver: Term, keys: Iterable[Term], *, late: bool) -> list[InDelta]:
    """Returns a delta of two pairs that satisfies its invariant; a late one was made for a version that no node had then."""
    found: list[InDelta] = []
    for at in range(2):
        owner = Number(path.integer(f"owner of pair {at}"))
        key, value = path.any_of(f"key of pair {at}", Key), path.any_of(f"value of pair {at}", Value)
        pair = DeltaEntry(owner, key, value, path.integer(f"version of pair {at}", 1))  # type: ignore[arg-type]
        since = path.integer(f"pair {at} follows version")
        before = [smt.And(term_of(one.pair.addr) == owner.term, since <= one.pair.version) for one in found]
        if not late:
            path.know(smt.Or(since <= cluster.known(receiver, owner.term), *before))
        found.append(InDelta(pair, since))
    every = [*keys, *(one.pair.key for one in found)]
    path.know(*(in_delta(cluster, one.pair, one.since, key) for one, key in product(found, every)))
    return found


def step(path: Path, state: State, event: Any) -> Any:
    """Takes a step with the running code; sizes, targets and the order of a digest are any."""
    numbers = count()

    def size(*_: Any) -> Term:
        return path.integer(path.fresh("size"), 1)

    def pick(why: str, among: Any, some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # the signature of a pick
        return tuple(among) if why == "digest.order" else (Number(path.integer(f"target {next(numbers)}")),)

    replaced: dict[str, Any] = {"dict": _copy, "Table": copy_rows, "octets": lambda addr: addr}
    sizes = {"digest_entry_size": size, "delta_entry_size": size}
    with (
        path.on_terms(overriding(names_in(reconcile, **replaced, **sizes))),
        path.on_terms(overriding(names_in(transitions, encode_string=lambda *_: b"", delta_entry_size=size))),
    ):
        return path.run(transitions.step, state, event, pick)


def _copy(table: Any) -> Pairs:
    found = rows(Peer(table))
    return Pairs(found.has, found.row)


# -- statements -------------------------------------------------------------------------------------------------------

KINDS: Final = ("round", "update", "request", "response", "delta")


class Sent(NamedTuple):
    """What a message of a step says, with the version that a pair follows; None for one whose neighbour is not here."""

    entry: DigestEntry | DeltaEntry
    since: Term | None


@dataclass(frozen=True)
class Taken:
    """A step of any node: before, after, and what it sends; with an owner and a key that stand for all."""

    before: Node
    after: Node
    sent: tuple[Sent, ...]
    owner: Term
    key: Term


def any_step(
    path: Path, *, restarted: bool = False, late: bool = False, instead: Mapping[str, Any] | None = None
) -> Taken | None:
    """
    Takes any step of any node in a state that satisfies the invariant; None if the node refuses a command.

    `restarted`: the node's own versions began anew (BX-03). `late`: deltas were made for versions that no node had (BX-04).
    `instead`: other functions in the place of those of `transitions`.
    """
    kind = KINDS[choice(path, "event", len(KINDS))]
    owner, key = path.integer("owner"), path.any_of("key", Key)
    window = (path.any_of("first key of the answer", Key), path.any_of("next key of the answer", Key))
    cluster = any_cluster()
    node = any_node(path, cluster, restarted=restarted, window=window if kind in ("request", "response") else ())
    sender = path.integer("sender")
    owners, keys, versions = [owner, node.id], [key], [term_of(0)]
    written, event = cluster, Expired(_NOW, Round())
    since: Term | None = None
    if kind == "update":
        new_key, new_value = path.any_of("new key", Key), path.any_of("new value", Value)
        keys.append(new_key)
        event = Asked(_NOW, UpdateLocal(new_key, new_value))  # type: ignore[assignment]
        written = cluster.after(node.id, new_key, new_value)
    elif kind == "delta":
        pairs = delta_of(path, cluster, node.id, keys, late=late)
        keys += [one.pair.key for one in pairs]
        versions = [one.pair.version for one in pairs]
        event = Received(_NOW, Number(sender), Delta(tuple(one.pair for one in pairs)))  # type: ignore[arg-type,assignment]
    elif kind != "round":
        entry = digest_entry(path, cluster, sender)
        owners.append(term_of(entry.addr))
        keys += window
        since = term_of(entry.version)
        path.know(*neighbours(node, term_of(entry.addr), since, window, keys))
        event = Received(_NOW, Number(sender), (DigestRequest if kind == "request" else DigestResponse)((entry,)))  # type: ignore[arg-type,assignment]
    else:
        owners += [term_of(member) for member in node.store]
    assume(path, node, owners, keys, versions)
    try:
        with overriding(names_in(transitions, **(instead or {}))):
            found = step(path, node.state, event)
    except NotEnabled:
        return None
    after = Node(written, found.state).after(found.state)
    return Taken(node, after, tuple(sayings(found.effects, since)), owner, key)


def neighbours(node: Node, owner: Term, since: Term, window: tuple[Term, ...], keys: Iterable[Term]) -> Iterator[Term]:
    """Yields that the keys of the window are the first above a version, or neighbours above it: no other key is between."""
    table = rows(node.store.record(owner))
    first, second = (table.row(key).version for key in window)
    yield smt.And(*(table.has(key) for key in window), first < second, since < first)
    for key in keys:
        version = table.row(key).version
        is_between = smt.And(
            table.has(key),
            smt.If(at_beginning(), smt.And(since < version, version < first), smt.And(first < version, version < second)),
        )
        yield smt.Not(is_between)


def sayings(effects: Iterable[Any], since: Term | None) -> Iterator[Sent]:
    """Yields the entries of all messages of a step. The first pair of an answer follows `since` if it is the first above it."""
    for effect in effects:
        if not isinstance(effect, Send):
            continue
        follows = since
        for entry in effect.message.entries:
            yield Sent(entry, follows)
            follows = entry.version if isinstance(entry, DeltaEntry) else None


_STEP: Final = Evaluated(("scuttlebutt.transitions.step",), ("dict", "Table", "octets", "encode_string", "delta_entry_size"))


@PROOFS.add(
    "BZ-08 BI-02 BI-04 B-06 B-11 B-36 BX-03",
    _STEP,
    Twin("a node may have restarted, and its versions begin anew (BX-03)", {"restarted": True}),
    scope=ANY_CLUSTER,
)
def nothing_is_known_that_its_owner_has_not_had(path: Path, *, restarted: bool = False) -> None:
    """No node knows, and no message says, a version or a pair that its owner has not had; so a version has one value."""
    taken = any_step(path, restarted=restarted)
    if taken is None:
        return
    after = taken.after
    path.claim("the own record is all that was written", owns(after) if not restarted else after.cluster.top(after.id) >= 0)
    kept = invariant(after, taken.owner, taken.key)
    for name in ("HasHad", "HasHad of versions"):
        path.claim(name, kept[name])
    for entry, _ in taken.sent:
        if isinstance(entry, DeltaEntry):
            path.claim("a pair that is sent was written", after.cluster.wrote(term_of(entry.addr), entry))
        else:
            path.claim("a version that is sent is known", in_digest(after.cluster, after.id, entry))


@PROOFS.add(
    "BZ-08 B-01 B-04 BX-03",
    Evaluated(("scuttlebutt.transitions.initial",), ("encode_string",)),
    Twin("the owner has written before: it restarts without its versions (BX-03)", {"written_before": True}),
    scope=ANY_CLUSTER,
)
def a_new_node_knows_nothing(path: Path, *, written_before: bool = False) -> None:
    """A node starts with its own empty record, which is all that it has written, and satisfies the invariant."""
    cluster, own = any_cluster(), Number(path.integer("node"))
    owner, key = path.integer("owner"), path.any_of("key", Key)
    path.know(cluster.is_sound(own.term, key, term_of(1)))
    if not written_before:
        path.know(cluster.top(own.term) == 0)
    with path.on_terms(overriding(names_in(transitions, encode_string=lambda *_: b""))):
        state = path.run(transitions.initial, own, Config(detector=None)).state
    (record,) = state.store.values()
    store: Any = Store(lambda a: a == own.term, lambda _: record, (own,))
    node = Node(cluster, replace(state, store=store))
    path.claim("the own record is all that was written", owns(node))
    for name, holds in invariant(node, owner, key).items():
        path.claim(name, holds)


@PROOFS.add(
    "BZ-09 BI-03 BI-06 BI-07 B-13 B-29 B-30 B-36 BX-04",
    _STEP,
    Twin("a delta was made for a version that no node had (BX-04)", {"late": True}),
    scope=ANY_CLUSTER,
)
def what_is_known_has_no_gap(path: Path, *, late: bool = False) -> None:
    """A node that knows an owner at a version has every pair that was the owner's last of its key, up to this version."""
    taken = any_step(path, late=late)
    if taken is None:
        return
    kept = invariant(taken.after, taken.owner, taken.key)
    for name in ("VersionIsMax", "NoGap"):
        path.claim(name, kept[name])
    for place, (entry, since) in enumerate(taken.sent):
        if isinstance(entry, DeltaEntry) and since is not None:
            follows = at_beginning() if place == 0 else smt.Not(at_beginning())
            path.claim(
                "a pair follows what comes before it",
                smt.Implies(follows, in_delta(taken.after.cluster, entry, since, taken.key)),
            )


def overwriting(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """A merge that takes every pair, older ones too."""
    found = tuple(pairs)
    table: Any = rows(peer) if any(smt.is_expr(pair.version) for pair in found) else peer.pairs
    for pair in found:
        table = table.put({pair.key: Versioned(pair.value, pair.version)})
    return Peer(table, found[-1].version), found


@PROOFS.add(
    "BZ-10 BI-05 B-36 B-37",
    _STEP,
    Twin("older pairs are taken as well", {"instead": {"merge": overwriting}}),
    scope=ANY_CLUSTER,
)
def nothing_known_is_forgotten(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """No step takes a peer, a key or a version back: what a node knows only grows."""
    taken = any_step(path, instead=instead)
    if taken is None:
        return
    before, after = taken.before.store, taken.after.store
    was, now = rows(before.record(taken.owner)), rows(after.record(taken.owner))
    path.claim("peers", smt.Implies(before.has(taken.owner), after.has(taken.owner)))
    path.claim("versions of peers", _version(taken.after.state, taken.owner) >= _version(taken.before.state, taken.owner))
    grows = smt.And(now.has(taken.key), now.row(taken.key).version >= was.row(taken.key).version)
    path.claim("versions of pairs", smt.Implies(smt.And(before.has(taken.owner), was.has(taken.key)), grows))


@PROOFS.add(
    "BZ-11 B-06 B-07 BX-03",
    Stated("what a local update adds to what an owner has written"),
    Twin("an owner writes a version again (BX-03)", {"again": True}),
    scope=ANY_CLUSTER,
)
def others_keep_what_holds_of_a_node(path: Path, *, again: bool = False) -> None:
    """What holds of a node and of a message keeps holding while others write at their next version and learn more."""
    cluster = any_cluster()
    node = any_node(path, cluster)
    owner, key = path.integer("owner"), path.any_of("key", Key)
    writer, new_key, value = path.integer("writer"), path.any_of("new key", Key), path.any_of("new value", Value)
    path.know(writer != node.id)
    pairs = delta_of(path, cluster, path.integer("receiver"), [key, new_key], late=False)
    entry = digest_entry(path, cluster, path.integer("sender"))
    owners = [owner, writer, term_of(entry.addr), *(term_of(one.pair.addr) for one in pairs)]
    versions = [one.pair.version for one in pairs]
    assume(path, node, owners, [key, new_key, *(one.pair.key for one in pairs)], versions)

    grown = cluster.after(writer, new_key, value)
    if again:
        top = path.integer("version that is written", 1)
        path.know(top <= cluster.top(writer))
        grown = replace(
            grown, top=cluster.top, last=lambda o, k: smt.If(smt.And(o == writer, k == new_key), top, cluster.last(o, k))
        )
        grown = replace(grown, key=lambda o, v: smt.If(smt.And(o == writer, v == top), new_key, cluster.key(o, v)))
    for name, holds in invariant(Node(grown, node.state), owner, key).items():
        path.claim(name, holds)
    for one in pairs:
        path.claim("a delta under way", in_delta(grown, one.pair, one.since, key))
    path.claim("a digest under way", in_digest(grown, smt.Int("sender"), entry))
    path.claim("versions, last ones and keys", grown.is_sound(owner, key, versions[0]))


PROOFS.append(composition("BZ-12", "BI-02 BI-03 BI-05"))
