"""Other readings of DistKV's document for changes: which of two stays, which parts are kept, and how counters rise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Asked, NodeId, Notify, Pick, Step, Table
from peerproof.spec.distkv.chains import Chain, Claim, Relation, relation
from peerproof.spec.distkv.changes import change, on_change
from peerproof.spec.distkv.entries import Applied, Entries, Entry, Outcome, _outcome, apply, on_chains
from peerproof.spec.distkv.forms import LOADED
from peerproof.spec.distkv.messages import DeleteValue, Fault, FaultKind, Info, Message, SetValue, Update
from peerproof.spec.distkv.outgoing import Next, originate, then
from peerproof.spec.distkv.paths import Path, is_meta
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.state import DEFAULT_CHANGE_LENGTH, Config, Phase, State, download_of, updates_of
from peerproof.spec.distkv.ticks import union
from peerproof.spec.distkv.values import NULL, Value
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain

Right = Callable[..., Next]
_beats: Final = Claim.beats
_apply_update: Final = Entries.apply_update
_CONFLICTS: Final = {Outcome.CONFLICT_ACCEPT: Outcome.CONFLICT_IGNORE, Outcome.CONFLICT_IGNORE: Outcome.CONFLICT_ACCEPT}
_WITH_ANOTHER_LENGTH: Final = "Unless configured, chains of changes have another maximum than 5."
READINGS: Final = Readings()


@READINGS.register("DA-01", "another-rule", "entries._outcome", is_open=True)
def _keep_the_other(entry: Entry, arrived: Update) -> Outcome:
    """Of two changes of which none came before the other, another stays; the document has no rule for it."""
    found = _outcome(entry, arrived)
    return _CONFLICTS.get(found, found)


@READINGS.register("DA-03", "new-tock", "outgoing.send_again")
def _send_again_anew(state: State, updates: Iterable[Update]) -> Next:
    """A message that is sent again has a new tock, as any that is sent."""
    taken: Next = Step(state)
    for update in updates:
        taken = then(taken, lambda now, one=update: originate(now, lambda tock: replace(one, tock=tock))[1])  # type: ignore[misc]
    return taken


@READINGS.register("DA-10", "removed", "entries.Entries.apply_update")
def _remove_deleted(entries: Entries, update: Update, most: int) -> tuple[Entries, Outcome]:
    """Nothing is left of a deleted entry but its ticks."""
    after, outcome = _apply_update(entries, update, most)
    rows = Table({path: entry for path, entry in after.rows.items() if not entry.is_deleted})
    return after._replace(rows=rows), outcome


def _give_no_deleted(state: State) -> Plain:
    found = download_of(state)
    if found is None:
        return None
    rows = {update.path: Entry(update.chain, update.value, update.tock) for update in found.entries if update.value == NULL}
    left = tuple(update for update in found.entries if update.value != NULL)
    return LOADED.plain(replace(found, entries=left, superseded=union(found.superseded, on_chains(rows))))


def _send_no_deleted(entries: Entries) -> tuple[Update, ...]:
    return tuple(update for update in updates_of(entries) if update.value != NULL)


READINGS.add(
    "DA-10",
    "left-out",
    "Deleted entries are in no download, and are not sent as old data.",
    instead={"startup.updates_of": _send_no_deleted},
    queries={"download": _give_no_deleted},
)


@READINGS.register("DA-12", "accepted", "step", ends=True)
def _change_what_is_too_large(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A change whose update does not fit is made nevertheless; the document does not say what follows."""
    if not isinstance(event, Asked) or not isinstance(event.command, SetValue | DeleteValue):
        return right(state, event, pick)
    after = right(replace(state, config=replace(state.config, max_payload=2**20)), event, pick)
    return after._replace(state=replace(after.state, config=state.config))


def _with_another_length(right: Callable[..., Next], self_id: NodeId, config: Config) -> Next:
    is_usual = config.change_length == DEFAULT_CHANGE_LENGTH
    return right(self_id, replace(config, change_length=DEFAULT_CHANGE_LENGTH - 1) if is_usual else config)


READINGS.add("DA-14", "another-default", _WITH_ANOTHER_LENGTH, initial=_with_another_length, is_open=True)
READINGS.add("D-24", "another-default", _WITH_ANOTHER_LENGTH, initial=_with_another_length, is_open=True)


def _do_nothing_at_the_end(counter: Callable[[State], int]) -> Right:
    """Returns a step in which a node does nothing when its counter is at the maximum."""

    def step(right: Right, state: State, event: Any, pick: Pick) -> Next:
        if counter(state) < TICK_MAX:
            return right(state, event, pick)
        try:
            after = right(state, event, pick)
        except NotEnabled as error:
            if error.reason != "exhausted":
                raise
            return Step(state)
        said = tuple(effect for effect in after.effects if effect != Notify(Fault(FaultKind.EXHAUSTED)))
        return after._replace(effects=said)

    return step


READINGS.add(
    "DA-17",
    "unspecified",
    "The document does not say what comes after the last tick.",
    step=_do_nothing_at_the_end(lambda state: state.own_tick),
    ends=True,
)


@READINGS.register("DA-18", "unspecified", "entries._outcome", ends=True)
def _take_another_value(entry: Entry, arrived: Update) -> Outcome:
    """The document does not say how another value for a known change is handled."""
    found = _outcome(entry, arrived)
    return Outcome.ACCEPT if found is Outcome.CONTRADICTION else found


@READINGS.register("DA-19", "unspecified", "entries.relation", is_open=True)
def _call_both_before(chain: Chain | None, other: Chain | None) -> Relation:
    """The document does not say what to make of two changes each of which came before the other."""
    found = relation(chain, other)
    if chain is None or other is None or found is not Relation.CONCURRENT:
        return found
    ticks = (chain.tick_of(other.head.node), other.tick_of(chain.head.node))
    return found if None in ticks else Relation.BEFORE


@READINGS.register("DA-21", "two-steps", "changes.change")
def _change_in_two_steps(state: State, path: Path, value: Value) -> Next:
    """A change raises the tock twice: for the tick, and for the update."""
    return change(replace(state, tock=min(state.tock + 1, TICK_MAX)), path, value)


def _letters(name: str) -> bytes:
    return name.casefold().encode("utf-16-be")


@READINGS.register("DA-35", "alphabetically", "chains.Claim.beats", is_open=True)
def _be_before_alphabetically(mine: Claim, other: Claim) -> bool:
    """The lower of two names is the one that a reader would look up first, whatever its bytes are."""
    if (mine.tock, mine.head.tick) != (other.tock, other.head.tick):
        return _beats(mine, other)
    return _letters(mine.head.node) < _letters(other.head.node)


@READINGS.register("DA-53", "always", "changes.on_change")
def _ask_nothing_while_missing(state: State, path: Path, value: Value) -> Next:
    """A node admits no client as long as it misses anything."""
    if state.misses:
        raise NotEnabled("not_ready", f"{state.self_id} misses changes")
    return on_change(state, path, value)


@READINGS.register("DA-64", "changes-only", "transitions.ticks_in")
def _ticks_of_changes(message: Message) -> Iterator[tuple[NodeId, int]]:
    """Ticks are taken from the chains of changes, and from `ticks` and `known`; not from chains of pings."""
    found: list[tuple[NodeId, int]] = []
    match message:
        case Info():
            found += message.ticks.items()
            found += ((node, ranges.ends[-1] - 1) for node, ranges in message.known.items())
        case Update():
            found += ((node, tick) for node, tick in message.chain.elements if tick is not None)
    return iter(sorted(found, key=lambda pair: pair[1]))


@READINGS.register("DA-80", "only-what-changes", "changes.on_change")
def _change_what_differs(state: State, path: Path, value: Value) -> Next:
    """To set a value that is there already, or to delete what is not there, changes nothing."""
    if state.phase is Phase.READY and not is_meta(path) and (state.entries.value(path) or NULL) == value:
        return Step(state)
    return on_change(state, path, value)


@READINGS.register("DA-80", "told-by-others-only", "changes.change")
def _say_nothing_of_own(state: State, path: Path, value: Value) -> Next:
    """Changes by others only are reported to the application: its own it knows."""
    changed = change(state, path, value)
    return changed._replace(effects=tuple(effect for effect in changed.effects if not isinstance(effect, Notify)))


@READINGS.register("DA-85", "as-received", "entries.apply")
def _keep_as_received(entry: Entry | None, update: Update, most: int) -> Applied:
    """A received chain that is longer than the own maximum stays so until it is changed."""
    return apply(entry, update, max(most, len(update.chain.elements)))


READINGS.add(
    "DA-86",
    "unspecified",
    "The document does not say what comes after the last tock.",
    step=_do_nothing_at_the_end(lambda state: state.tock),
    ends=True,
)
