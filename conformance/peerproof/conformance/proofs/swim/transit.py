"""
Proofs about the encoding of SWIM's values: uuids, integers, codes of the cache, strings.

For the bytes after a head, `struct` is trusted: their number as given, most significant first.

A Python text holds no terms. So a formatted term leaves a mark in the text, a private-use character, and `Marks` returns the
terms of a text in order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import unwrap
from types import SimpleNamespace
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import truth
from peerproof.spec.forms import messagepack
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import transit

FIRST_MARK: Final = 0xE000  #: in the private use area

#: The proofs about encoding.
WRITING: Final = ProofTable()


class Marks:
    """The terms that have been formatted into texts."""

    def __init__(self) -> None:
        self._terms: list[Any] = []

    def mark(self, term: Any) -> str:
        """Returns the character that stands for a term."""
        self._terms.append(term)
        return chr(FIRST_MARK + len(self._terms) - 1)

    def pieces(self, text: str) -> list[Any]:
        """Returns the characters and terms of a text, in order."""
        return [self._terms[ord(c) - FIRST_MARK] if ord(c) >= FIRST_MARK else c for c in text]


class Index:
    """A number above -1 that supports division with remainder, like `int`."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def __lt__(self, other: int) -> bool:
        return bool(self.term < other)

    def __radd__(self, other: int) -> Term:
        return other + self.term

    def __floordiv__(self, other: int) -> Term:
        return self.term / other

    def __mod__(self, other: int) -> Term:
        return self.term % other


class Half:
    """Half a uuid, or the whole, like `int`; formatted in hexadecimal it leaves a mark for each digit: its term and place."""

    def __init__(self, path: Path, term: Term, marks: Marks) -> None:
        self.term = term
        self._path, self._marks = path, marks

    def __ge__(self, other: int) -> bool:
        return bool(self.term >= other)

    def __lt__(self, other: int) -> bool:
        return bool(self.term < other)

    def __mod__(self, other: int) -> Half:
        return self._of(self.term % other)

    def __lshift__(self, bits: int) -> Half:
        return self._of(self.term * 2**bits)

    def __or__(self, other: Half) -> Half:
        """Returns the sum, after claiming that no bit is in both."""
        low = 2**64
        self._path.claim("no bit is in both halves", smt.And(self.term % low == 0, other.term >= 0, other.term < low))
        return self._of(self.term + other.term)

    def __format__(self, form: str) -> str:
        width = int(form.removeprefix("0").removesuffix("x"))
        self._path.claim("it has so many digits", smt.And(self.term >= 0, self.term < 16**width))
        return "".join(self._marks.mark((self.term, place)) for place in range(width))

    def _of(self, term: Term) -> Half:
        return Half(self._path, term, self._marks)


class AnyString:
    """A string with a known first character, unless it is empty; formatted it leaves a mark."""

    def __init__(self, path: Path, name: str, marks: Marks) -> None:
        self.filled = path.any_of(f"{name} is not empty", smt.BoolSort())
        self.first = path.integer(f"first of {name}", 0, 0x10FFFF)
        self.rest = path.any_of(f"rest of {name}", smt.DeclareSort("Data"))
        self._marks = marks

    def __getitem__(self, part: slice) -> Letter:
        return Letter(self.filled, self.first)

    def __bool__(self) -> bool:
        return bool(self.filled)

    def __format__(self, _: str) -> str:
        return self._marks.mark(self)


class Letter:
    """The first character of a string, or nothing if the string is empty."""

    def __init__(self, filled: Term, code: Term) -> None:
        self._filled, self._code = filled, code

    def __eq__(self, other: object) -> Any:
        return smt.And(self._filled, self._code == ord(str(other)))

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


def packer(form: Any) -> Callable[[Term], tuple[Term, ...]]:
    """Returns the `pack` of a `struct.Struct` with one integer on terms: its bytes as one number, and their count."""
    width, is_signed = form.size, form.format[-1:].islower()

    def pack(value: Term) -> tuple[Term, ...]:
        whole = value + smt.If(value < 0, 2 ** (8 * width), 0) if is_signed else value
        return (whole, smt.IntVal(width))

    return pack


@WRITING.add("SZ-08 SA-61 SA-63", "swim.transit.uuid_text", Twin("halves may be signed or not", {"most": 2**64 - 1}))
def uuids_are_pairs_of_halves(path: Path, *, least: int = -(2**63), most: int = 2**63 - 1) -> None:
    """A uuid's text has the digits of the first half, then those of the second; two signed halves have exactly one text."""
    marks = Marks()
    halves = [path.integer(name, least, most) for name in ("high", "low", "other high", "other low")]

    write = unwrap(transit.uuid_text)  # terms would be remembered for as long as the process runs
    text = write(*(Half(path, term, marks) for term in halves[:2]))
    digits = [piece for piece in marks.pieces(text) if piece != "-"]
    other = write(*(Half(path, term, marks) for term in halves[2:]))
    again = [piece for piece in marks.pieces(other) if piece != "-"]
    path.claim("32 digits in their order", truth([place for _, place in digits] == list(range(32))))
    path.claim("hyphens where they belong", truth([at for at, c in enumerate(text) if c == "-"] == [8, 13, 18, 23]))
    equal = smt.And(halves[0] == halves[2], halves[1] == halves[3])
    path.claim("different halves, different digits", smt.Implies(digits[0][0] == again[0][0], equal))


@WRITING.add(
    "SZ-08 SA-61",
    Evaluated(("forms.messagepack.integer_bytes",), ("_SMALL", "_INTEGERS")),
    Twin("signed and unsigned integers of eight bytes begin alike", {"heads": lambda head: head.replace(b"\xd3", b"\xcf")}),
)
def integers_are_told_apart(path: Path, *, heads: Callable[[bytes], bytes] = lambda head: head) -> None:
    """Different integers of 64 bits have different bytes, and the first byte determines how many there are."""
    values = [path.integer(name, -(2**63), 2**64 - 1) for name in "ab"]
    written = [encode_integer(value, heads) for value in values]

    (head, whole, width), (other_head, other_whole, other_width) = written
    if head == other_head and bool(whole == other_whole):
        path.claim("the same integer", values[0] == values[1])
    path.claim(
        "the first byte says the width", smt.Implies(_first(head, whole) == _first(other_head, other_whole), width == other_width)
    )


def encode_integer(value: Any, heads: Callable[[bytes], bytes]) -> tuple[bytes, Any, Any]:
    """Encodes an integer with the running code: its head, the number in its other bytes, and their count."""

    class Head(bytes):
        def __add__(self, other: Any) -> Any:
            return (bytes(self), *other)

    count = len(messagepack._SMALL)  # noqa: SLF001  # the table of the code, replaced by `Small`

    class Small:
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: Any) -> Any:
            return (b"", index, smt.IntVal(1))

    rows = messagepack._INTEGERS  # noqa: SLF001
    kinds = tuple((least, most, Head(heads(head)), SimpleNamespace(pack=packer(form))) for least, most, head, form in rows)
    with overriding(names_in(messagepack, _INTEGERS=kinds, _SMALL=Small())):
        found: Any = messagepack.integer_bytes(value)
    return found  # type: ignore[no-any-return]  # made by `Head` and `Small`


def _first(head: bytes, whole: Any) -> Any:
    return smt.IntVal(head[0]) if head else whole


@WRITING.add(
    "SZ-08 SA-62", Evaluated(("swim.transit.cache_code",), ("chr",)), Twin("one entry more", {"most": transit.CACHE_MAX})
)
def cache_codes_are_told_apart(path: Path, *, most: int = transit.CACHE_MAX - 1) -> None:
    """Different places of the cache have different codes, of one or two characters after the caret, and none is a blank."""
    places = [path.integer(name, 0, most) for name in ("a", "b")]
    marks = Marks()
    code: Any = transit.cache_code

    with overriding(names_in(transit, chr=marks.mark)):
        one, other = (marks.pieces(code(Index(place)))[1:] for place in places)
    if len(one) == len(other):
        path.claim("no other has it", smt.Implies(smt.And(*map(operator.eq, one, other)), places[0] == places[1]))
    letters = [
        smt.And(letter >= transit.CODE_FIRST, letter < transit.CODE_FIRST + transit.CODE_BASE) for letter in (*one, *other)
    ]
    path.claim("no blank, and no caret", smt.And(*letters))


@WRITING.add(
    "SZ-09 SA-61", Evaluated(("swim.transit.escape",), ("_SPECIAL",)), Twin("the backquote is not escaped", {"special": "~^"})
)
def escaping_is_injective(path: Path, *, special: str = "~^`") -> None:
    """
    A string is escaped if and only if it begins like another kind of value; then the text after the escape is no keyword, tag or
    uuid.

    So the first character of the encoded string shows whether it was escaped, and the rest is the string.
    """
    marks = Marks()
    string: Any = AnyString(path, "string", marks)

    with overriding(names_in(transit, _SPECIAL=tuple(special))):
        written = marks.pieces(f"{transit.escape(string)}")
    needs = smt.And(string.filled, smt.Or(*(string.first == ord(c) for c in "~^`")))
    path.claim("the string is there", truth(written[-1] is string))
    path.claim("after an escape or nothing", truth(written[:-1] in ([], ["~"])))
    path.claim("escaped exactly if it has to be", needs == truth(len(written) > 1))
