"""The plain data of DistKV values: messages, commands and notices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import messages, ranges
from peerproof.spec.distkv.chains import ELEMENTS_MAX, NAME_MAX, Chain, Element, is_change_chain, is_name
from peerproof.spec.distkv.paths import path_of_plain, plain_of_path
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.values import plain_of, value_of_plain
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import U64, Flag, Form, ListOf, OneOf, Optional, Plain, Record, Tagged, misfit


class NodeName(Form):
    """The name of a node: 1 to 64 bytes of UTF-8. [D-06, DA-83]"""

    def plain(self, value: Any) -> Plain:
        """The name."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From the name."""
        if not isinstance(plain, str) or not is_name(plain):
            raise misfit(where, f"the name of a node, of 1 to {NAME_MAX} bytes", plain)
        return NodeId(plain)


@dataclass(frozen=True)
class Packed(Form):
    """A value or path, in the plain form that the page of the specification shows with the wire format."""

    what: str
    show: Callable[[Any], Plain]
    read: Callable[[Plain], Any]  #: raises NotEnabled

    def plain(self, value: Any) -> Plain:
        """The decoded content of the bytes."""
        return self.show(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From the decoded content."""
        try:
            return self.read(plain)
        except NotEnabled as error:
            raise misfit(where, f"{self.what} ({error})", plain) from None


class RangeList(Form):
    """A set of ticks: a sorted list of ticks and of pairs `[from, to)` of ticks, all as decimal strings. [D-30, DA-24]"""

    def plain(self, value: Any) -> Plain:
        """A list of ticks, each a decimal string, and pairs of such."""
        return [[TICK.plain(bound) for bound in item] if isinstance(item, tuple) else TICK.plain(item) for item in value.wire()]

    def value(self, plain: Plain, where: str = "") -> Any:
        """From such a list, or one of integers."""
        if not isinstance(plain, list):
            raise misfit(where, "a list of ticks and pairs of ticks", plain)
        try:
            return ranges.read(tuple([self._item(item, where) for item in plain]))
        except MalformedMessage as error:
            raise misfit(where, f"a set of ticks ({error.detail})", plain) from None

    def _item(self, item: Plain, where: str) -> Any:
        return tuple([_BOUND.value(bound, where) for bound in item]) if isinstance(item, list) else _BOUND.value(item, where)


@dataclass(frozen=True)
class ByNode(Form):
    """An object with a member for each node; empty rows are omitted. [DA-25]"""

    form: Form

    def plain(self, value: Any) -> Plain:
        """An object with a member per node."""
        return {node: self.form.plain(row) for node, row in value.items()}

    def value(self, plain: Plain, where: str = "") -> Any:
        """From such an object."""
        if not isinstance(plain, Mapping):
            raise misfit(where, "an object with a member per node", plain)
        rows = {NODE.value(node, where): self.form.value(row, f"{where}.{node}") for node, row in plain.items()}
        return Table({node: row for node, row in rows.items() if row != ranges.NONE})


@dataclass(frozen=True)
class ChainOf(Form):
    """A chain with at least one element, and no more than a message can have. [D-10, D-12]"""

    is_change: bool = False  #: it obeys the rules of changes
    needs_tick: bool = False  #: its head has a tick

    def plain(self, value: Any) -> Plain:
        """An object with the elements, and whether it was cut."""
        return _CHAIN.plain(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From such an object."""
        chain = _CHAIN.value(plain, where)
        if not 1 <= len(chain.elements) <= ELEMENTS_MAX:
            raise misfit(where, f"a chain of 1 to {ELEMENTS_MAX} elements", plain)
        if self.is_change and not is_change_chain(chain):
            raise misfit(where, "a chain whose elements have ticks above 0 and are of different nodes", plain)
        if self.needs_tick and chain.head.tick is None:
            raise misfit(where, "a chain whose head has a tick", plain)
        return chain


NODE: Final = NodeName()
TICK: Final = U64(most=TICK_MAX)  # [D-26]
RANGES: Final = RangeList()
VALUE: Final = Packed("a value", plain_of, value_of_plain)
PATH: Final = Packed("a path", plain_of_path, path_of_plain)
ELEMENT: Final = Record(Element, node=NODE, tick=Optional(TICK))
SENDER: Final = Record(Element, node=NODE, tick=TICK)
CHANGE_CHAIN: Final = ChainOf(is_change=True)
PING_CHAIN: Final = ChainOf()
SETS: Final = ByNode(RANGES)
TICKS: Final = ByNode(TICK)

_BOUND: Final = U64(most=TICK_MAX + 1)  # an end may be 2^63
_CHAIN: Final = Record(Chain, elements=ListOf(ELEMENT), cut=Flag())

UPDATE: Final = Record(messages.Update, chain=CHANGE_CHAIN, path=PATH, value=VALUE, tock=TICK, sender=Optional(SENDER))
_INFO: Final = Record(
    messages.Info,
    chain=ChainOf(needs_tick=True),
    tock=TICK,
    known=SETS,
    ticks=TICKS,
    missing=SETS,
    reason=Optional(PING_CHAIN),
)

PING: Final = Record(messages.Ping, chain=PING_CHAIN, tock=TICK)

MESSAGE_FORM: Final = Tagged(update=(0, UPDATE), info=(1, _INFO), ping=(2, PING))

LOADED: Final = Record(messages.Loaded, node=NODE, entries=ListOf(UPDATE), superseded=SETS, ticks=TICKS, tock=TICK)

COMMAND: Final = Tagged(
    set_value=(0, Record(messages.SetValue, path=PATH, value=VALUE)),
    delete_value=(1, Record(messages.DeleteValue, path=PATH)),
    loaded=(2, LOADED),
    load_failed=(3, Record(messages.LoadFailed, node=NODE)),
)

TIMER: Final = Tagged(
    initial_ping_due=(0, Record(messages.InitialPingDue)),
    founding_due=(1, Record(messages.FoundingDue)),
    old_data_due=(2, Record(messages.OldDataDue)),
    ping_due=(3, Record(messages.PingDue)),
    greeting_due=(4, Record(messages.GreetingDue)),
    recovery_due=(5, Record(messages.RecoveryDue, step=OneOf(messages.RecoveryStep))),
    recovery_over=(6, Record(messages.RecoveryOver)),
    repair_due=(7, Record(messages.RepairDue)),
    repair_allowed=(8, Record(messages.RepairAllowed)),
)

NOTICE: Final = Tagged(
    entry_changed=(0, Record(messages.EntryChanged, path=PATH, value=VALUE)),
    ready=(1, Record(messages.Ready)),
    needs_download=(2, Record(messages.NeedsDownload, node=NODE)),
    split_healed=(3, Record(messages.SplitHealed)),
    contradiction=(4, Record(messages.Contradiction, path=PATH, change=ELEMENT)),
    fault=(5, Record(messages.Fault, kind=OneOf(messages.FaultKind))),
)
