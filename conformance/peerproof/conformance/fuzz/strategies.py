"""
Hypothesis strategies, derived from the declared forms of a protocol.

A form is declared once (`peerproof.spec.forms`). From it come the values of a protocol (`values`), every way to write them as
plain data (`spellings`), and byte strings that are messages or nearly so (`datagrams`). A new protocol gets all of them without
code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.spec.forms import form as forms
from peerproof.spec.forms.packing import Codec
from peerproof.spec.forms.state_form import ShownAs

#: Strategies for record fields by name, which replace those derived from the forms.
Named: TypeAlias = Mapping[str, SearchStrategy[Any]]

#: Long enough for two equal items with another one between them.
MAX_ITEMS = 6

_LAST_IN_RANGE = (0, 1, 2**32, 2**53, 2**53 + 1, 2**63, forms.U64_MAX - 1, forms.U64_MAX)


def texts(most: int) -> SearchStrategy[str]:
    """Draws texts of at most this many bytes: words, Unicode, arbitrary bytes, and the longest."""
    return st.one_of(
        st.text("abc:1", max_size=min(most, 4)),
        st.text(max_size=most // 4),  # a code point takes at most four bytes
        st.binary(max_size=most).map(forms.text),
        st.just("x" * most),
    )


def values(form: forms.Form, named: Named | None = None) -> SearchStrategy[Any]:
    """Draws values of a form. `named` overrides the strategy of a field; `Type.name` takes precedence over `name`."""
    match form:
        case forms.U64():
            return st.one_of(st.sampled_from(_LAST_IN_RANGE), st.integers(0, forms.U64_MAX), st.integers(0, 9))
        case forms.Integer(least, most):
            return st.integers(least, most)
        case forms.Text(most):
            return texts(most)
        case forms.OneOf(enumeration):
            return st.sampled_from(list(enumeration))
        case forms.Flag():
            return st.booleans()
        case forms.Optional(inner):
            return st.none() | values(inner, named)
        case forms.ListOf(inner):
            return st.lists(values(inner, named), max_size=MAX_ITEMS).map(tuple)
        case ShownAs(inner, _, read):
            return values(inner, named).map(read)
        case forms.Record():
            known = named or {}
            own = {name: key for name in form.forms for key in (name, f"{form.kind.__name__}.{name}") if key in known}
            fields = {name: known[own[name]] if name in own else values(part, named) for name, part in form.forms.items()}
            return st.builds(form.kind, **fields)
        case forms.Tagged():
            return st.one_of([values(record, named) for record in form.cases.values()])
    raise TypeError(f"no strategy for {form}")


def spellings(form: forms.Form, value: Any) -> SearchStrategy[forms.Plain]:
    """Draws every way to write a value as plain data; `form.value` must read each as this value."""
    match form:
        case forms.U64():
            return st.sampled_from([str(value), value, {"u64": str(value)}, {"u64": value}])
        case forms.Text():
            data = forms.octets(value)
            return st.sampled_from([form.plain(value), {"hex": data.hex()}, {"hex": data.hex(" ").upper()}])
        case forms.Optional(inner):
            return st.none() if value is None else spellings(inner, value)
        case forms.ListOf(inner):
            return st.tuples(*(spellings(inner, item) for item in value)).map(list)
        case forms.Record():
            members = {name: spellings(part, getattr(value, name)) for name, part in form.forms.items()}
            return st.fixed_dictionaries(members)
        case forms.Tagged():
            name = form.names[type(value)]
            return spellings(form.cases[name], value).map(lambda members: {**members, "type": name})
    return st.just(form.plain(value))


def messages(codec: Codec[Any], named: Named | None = None) -> SearchStrategy[bytes]:
    """Draws the bytes of legal messages."""
    return values(codec.form, named).map(codec.encode)


def datagrams(codec: Codec[Any], named: Named | None = None) -> SearchStrategy[bytes]:
    """Draws noise, legal messages, and legal messages that were cut, lengthened, or changed in a few places."""
    legal = messages(codec, named)
    tag = st.sampled_from(sorted(codec.form.tags.values())).map(lambda tag: bytes((tag,)))
    return st.one_of(st.binary(max_size=64), st.tuples(tag, st.binary(max_size=64)).map(b"".join), legal, legal.flatmap(_near))


def _near(legal: bytes) -> SearchStrategy[bytes]:
    place = st.integers(0, len(legal) - 1)
    return st.one_of(
        place.map(lambda at: legal[:at]),
        st.tuples(place, st.binary(min_size=1, max_size=8)).map(lambda put: legal[: put[0]] + put[1] + legal[put[0] :]),
        st.lists(st.tuples(place, st.integers(1, 255)), min_size=1, max_size=3).map(lambda flips: _flip_bits(legal, flips)),
        st.tuples(place, place).map(lambda cut: legal[: min(cut)] + legal[max(cut) :]),
        st.just(legal + legal),
    )


def _flip_bits(legal: bytes, flips: list[tuple[int, int]]) -> bytes:
    changed = bytearray(legal)
    for at, bits in flips:
        changed[at] ^= bits
    return bytes(changed)
