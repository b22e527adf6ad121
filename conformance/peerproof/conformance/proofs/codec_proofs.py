"""
Statements about declared forms and their bytes, for every protocol whose codec is `packing.binary`.

`packing` and `wire` run unchanged, on byte strings and texts of any length; `terms` defines `len`, `bytearray` and the like for
them. `struct` is written in C, so the eight bytes of an integer are digits, whose uniqueness is BZ-05.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Defined, Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import (
    BYTE_MAX,
    U64_DIGITS,
    AnyText,
    BigEndian,
    Octets,
    Writable,
    any_octets,
    any_text,
    byte_names,
    choice,
    number,
    octets_of,
    same_octets,
)
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms import form as forms
from peerproof.spec.forms import packing
from peerproof.spec.forms.form import U64, U64_MAX, Form, ListOf, Record, Tagged, Text
from peerproof.spec.overrides import names_in, overriding

ON_TERMS: Final = ("len", "str", "bytes", "bytearray", "octets", "text", "struct")


class WrappingBytes(Writable):
    """A byte array that keeps only the lowest eight bits of a value, as in many languages."""

    def append(self, value: Term) -> None:
        """Appends a byte; never refuses."""
        self.octets += octets_of([value % (BYTE_MAX + 1)])


class SevenBits(Writable):
    """A byte array that loses the highest bit of a value."""

    def append(self, value: Term) -> None:
        """Appends a byte; never refuses."""
        self.octets += octets_of([value % 128])


class LittleEndian(BigEndian):
    """Reads the lowest byte first."""

    def unpack_from(self, data: Octets, at: Term) -> tuple[Term]:
        """Returns the number with its digits in reverse order."""
        return (number([data.at(at + place) for place in reversed(range(U64_DIGITS))]),)


def on_terms(path: Path, **instead: Any) -> overriding:
    """Returns the context in which `packing` works on terms."""
    names = byte_names(path) | instead
    of_forms = {name: names.pop(name) for name in ("octets", "text")}
    return overriding(names_in(packing, **names) | names_in(forms, len=names["len"], **of_forms))


def pack(form: Form, value: Any) -> Octets:
    """Packs one value into bytes, on terms."""
    out = vars(packing)["bytearray"]()
    packing._pack(form)(value, out)  # noqa: SLF001  # the part of `binary` that the statement is about
    return out.octets  # type: ignore[no-any-return]  # it is a `Writable`


def any_value(path: Path, form: Form, name: str) -> Any:
    """Returns any value of a form."""
    if isinstance(form, U64):
        return path.integer(name, 0, U64_MAX)
    if isinstance(form, Text):
        return any_text(path, name, form.most)
    if isinstance(form, Record):
        return form.kind(*(any_value(path, part, f"{name}.{field}") for field, part in form.forms.items()))
    raise TypeError(f"no terms for {form}")


def same_value(path: Path, form: Form, one: Any, other: Any) -> Term:
    """States that two values of a form are equal, for a claim."""
    if isinstance(form, Record):
        return smt.And(*(same_value(path, part, getattr(one, name), getattr(other, name)) for name, part in form.forms.items()))
    if isinstance(one, AnyText):
        return same_octets(path, one.octets, other.octets)
    return one == other


def a_number_has_one_list_of_digits(path: Path, *, digits: int = U64_DIGITS, most: int = BYTE_MAX) -> None:
    """
    Eight bytes are one 64-bit integer, and each such integer is eight bytes in one way.

    Eight digits to the base 256 are below 2^64; two different lists of digits are different numbers; and each number has the list
    of digits that dividing it by the powers of 256 gives.
    """
    one, other = ([path.integer(f"{name}{place}", 0, most) for place in range(digits)] for name in "ab")
    path.claim("eight digits are below 2^64", number(one) <= U64_MAX)
    first, second = (_leading(path, name, ds) for name, ds in (("A", one), ("B", other)))
    path.claim("the number is made of its leading digits", smt.And(first[-1] == number(one), second[-1] == number(other)))
    value = path.integer("value", 0, U64_MAX)
    path.claim("the digits of a number make it up", number(_digits(path, value, digits)) == value)
    path.assume(first[-1] == second[-1])
    for place in reversed(range(digits)):
        path.claim("the last digits are equal", one[place] == other[place])
        path.claim("the digits before it make equal numbers", first[place] == second[place])


def _leading(path: Path, name: str, digits: list[Term]) -> list[Term]:
    """Returns the numbers made of the first 0, 1, 2… digits, each named, so that the solver handles one digit at a time."""
    numbers = [smt.IntVal(0)]
    for place, digit in enumerate(digits):
        numbers.append(smt.Int(f"{name}{place}"))
        path.know(numbers[-1] == (BYTE_MAX + 1) * numbers[-2] + digit)
    return numbers


def _digits(path: Path, value: Term, digits: int) -> list[Term]:
    """Returns the remainders of dividing a number by 256 repeatedly, the first remainder last."""
    found: list[Term] = []
    for place in range(digits):
        quotient = smt.Int(f"quotient{place}")
        path.know(quotient == value / (BYTE_MAX + 1))
        found.insert(0, value % (BYTE_MAX + 1))
        path.claim("dividing loses nothing", value == quotient * (BYTE_MAX + 1) + found[0])
        path.claim("the quotient is so much smaller", quotient < 256 ** (digits - 1 - place))
        value = quotient
    return found


def an_integer_reads_as_it_was_written(path: Path, *, struct: type[BigEndian] = BigEndian) -> None:
    """A version is read back from its bytes, at any place and with any bytes after it."""
    one_reads_as_it_was_written(path, form=U64(), _u64=struct(path))


def a_string_delimits_itself(path: Path, *, most: int = BYTE_MAX, **instead: Any) -> None:
    """A string of up to 255 bytes is read back from its bytes, at any place and with any bytes after it."""
    reader = Text(most=min(most, BYTE_MAX))  # `packing` refuses a reader of longer ones
    one_reads_as_it_was_written(path, form=Text(most=most), reader=reader, **instead)


def one_reads_as_it_was_written(path: Path, *, form: Form, reader: Form | None = None, **instead: Any) -> None:
    """
    An entry is read back from its bytes, at any place and with any bytes after it.

    Hence no two entries have the same bytes, and a list of them, read from its start, is split where it was joined.
    """
    value = any_value(path, form, "entry")
    before, after = any_octets(path, "before"), any_octets(path, "after")

    with on_terms(path, **instead):
        raw = pack(form, value)
        whole: Any = before + raw + after
        found, end = packing._unpack(reader or form, last=False)(whole, before.length)  # noqa: SLF001

    path.claim("it ends where it was written to", end == before.length + raw.length)
    path.claim("it is what was written", same_value(path, form, value, found))
    path.claim("it takes a byte at least, so that a list comes to its end", raw.length >= 1)


def what_is_read_would_be_written_so(path: Path, *, form: Form, writer: Form | None = None) -> None:
    """Any bytes that are read as an entry are exactly the bytes that it is written as: there is no second spelling."""
    data: Any = any_octets(path, "datagram")
    at = path.integer("at")
    path.assume(at <= data.length)
    with on_terms(path):
        try:
            value, end = packing._unpack(form, last=False)(data, at)  # noqa: SLF001
        except MalformedMessage:
            return
        written = pack(writer or form, value)

    path.claim("the bytes are the same", same_octets(path, data[at:end], written))


def a_message_reads_as_it_was_written(path: Path, *, form: Tagged, most: int = 2, cut: int = 0) -> None:
    """Messages of up to two entries are read back from their whole datagram."""
    message = any_message(path, form, most)
    path.assume(*(smt.Not(text.ascii) for text in _texts(message)))  # halves the paths per text; one entry follows all

    with on_terms(path):
        codec = packing.binary(form)
        datagram: Any = codec.encode(message)
        found = codec.decode(datagram[0 : datagram.length - cut])

    path.claim("it is of the same type", type(found) is type(message))
    for name, part in form.cases[form.names[type(message)]].forms.items():
        written, read = getattr(message, name), getattr(found, name)
        if isinstance(part, ListOf):
            path.claim("it has as many entries", len(written) == len(read))
            for one, other in zip(written, read, strict=True):
                path.claim("its entries are the same", same_value(path, part.form, one, other))
        else:
            path.claim(f"its {name} is the same", same_value(path, part, written, read))


def any_message(path: Path, form: Tagged, most: int) -> Any:
    """Returns any message of a protocol, with at most this many entries in each of its lists."""
    record = list(form.cases.values())[choice(path, "type", len(form.cases))]
    fields = []
    for field, part in record.forms.items():
        if isinstance(part, ListOf):
            count = choice(path, f"entries of {field}", most + 1)
            fields.append(tuple(any_value(path, part.form, f"{field}[{at}]") for at in range(count)))
        else:
            fields.append(any_value(path, part, field))
    return record.kind(*fields)


def _texts(value: Any) -> Iterator[AnyText]:
    if isinstance(value, AnyText):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        yield from _texts(tuple(getattr(value, field.name) for field in fields(value)))


def size_is_what_is_written(path: Path, *, form: Form, **instead: Any) -> None:
    """The size that is counted for the datagram limit is the number of bytes that an entry takes."""
    value = any_value(path, form, "entry")

    with on_terms(path, **instead):
        size = packing.size(form)(value)
    with on_terms(path):
        path.claim("the size is the number of bytes", size == pack(form, value).length)


@dataclass(frozen=True)
class Cites:
    """The items and clauses of a protocol that its proofs about bytes cover, separated by blanks."""

    string: str
    integer: str
    entry: str
    message: str
    size: str


#: The test that `terms.BigEndian` equals `struct.Struct(">Q")`.
DIGITS_TEST: Final = "tests/conformance/proofs/test_terms.py::test_digits_are_the_bytes_of_struct"


def codec_proofs(form: Tagged, entries: Mapping[str, Record], cites: Cites) -> ProofTable:
    """Returns the proofs about a protocol's messages and the entries in them."""
    proofs = ProofTable()

    def add(statement: Callable[..., None], clauses: str, functions: str, twin: Twin, of: str = "", **arguments: Any) -> None:
        by = Evaluated(tuple(f"forms.{function}" for function in functions.split()), ON_TERMS)
        proofs.add(clauses, by, twin, of={of: arguments})(statement)

    twin = Twin("256 bytes are allowed, and the size keeps the lowest eight bits", {"most": 256, "bytearray": WrappingBytes})
    add(a_string_delimits_itself, cites.string, "packing._pack_text packing._unpack_text form.encode_string", twin)
    twin = Twin("a digit may be 256", {"most": BYTE_MAX + 1})
    proofs.add(cites.integer, Defined(("forms.packing._u64",), DIGITS_TEST), twin)(a_number_has_one_list_of_digits)
    twin = Twin("read with the lowest byte first", {"struct": LittleEndian})
    add(an_integer_reads_as_it_was_written, cites.integer, "packing._pack_u64 packing._unpack_u64", twin)
    for name, entry in entries.items():
        parts = {part: Text(most=9) if isinstance(form, Text) else form for part, form in entry.forms.items()}
        twin = Twin("a size loses its highest bit", {"bytearray": SevenBits})
        add(one_reads_as_it_was_written, cites.entry, "packing._pack packing._unpack", twin, name, form=entry)
        twin = Twin("strings are written up to 9 bytes only", {"writer": Record(entry.kind, **parts)})
        add(what_is_read_would_be_written_so, cites.entry, "packing._unpack packing._pack", twin, name, form=entry)
        twin = Twin("characters are counted instead of bytes", {"octets": lambda text: text})
        add(size_is_what_is_written, cites.size, "packing.size packing._pack", twin, name, form=entry)
    twin = Twin("the datagram lost its last byte", {"cut": 1})
    add(a_message_reads_as_it_was_written, cites.message, "packing.binary", twin, form=form)
    return proofs
