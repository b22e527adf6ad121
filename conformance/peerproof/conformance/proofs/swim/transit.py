"""
What is proved of how SWIM's values are written: uuids, integers, codes of the cache, strings.

Of the bytes that follow a head, `struct` is taken for granted: as many as it says, most significant first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.swim.terms import AnyString, Half, Index, Marks, packer
from peerproof.conformance.proofs.terms import truth
from peerproof.spec.forms import messagepack
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import transit

#: How values are written.
WRITING: Final = ProofTable()


@WRITING.add("SZ-08 SA-61 SA-63", "swim.transit.uuid_text", Twin("halves may be signed or not", {"most": 2**64 - 1}))
def uuids_are_pairs_of_halves(path: Path, *, least: int = -(2**63), most: int = 2**63 - 1) -> None:
    """A uuid's text has the digits of the first half, then those of the second, once each; of two signed halves there is one."""
    marks = Marks()
    halves = [path.integer(name, least, most) for name in ("high", "low", "other high", "other low")]

    text = transit.uuid_text.__wrapped__(*(Half(path, term, marks) for term in halves[:2]))
    digits = [piece for piece in marks.pieces(text) if piece != "-"]
    other = transit.uuid_text.__wrapped__(*(Half(path, term, marks) for term in halves[2:]))
    again = [piece for piece in marks.pieces(other) if piece != "-"]
    path.claim("32 digits in their order", truth([place for _, place in digits] == list(range(32))))
    path.claim("hyphens where they belong", truth([at for at, c in enumerate(text) if c == "-"] == [8, 13, 18, 23]))
    equal = z3.And(halves[0] == halves[2], halves[1] == halves[3])
    path.claim("different halves, different digits", z3.Implies(digits[0][0] == again[0][0], equal))


@WRITING.add(
    "SZ-08 SA-61",
    Evaluated(("forms.messagepack.integer_bytes",), ("_SMALL", "_INTEGERS")),
    Twin("signed and unsigned integers of eight bytes begin alike", {"heads": lambda head: head.replace(b"\xd3", b"\xcf")}),
)
def integers_are_told_apart(path: Path, *, heads: Callable[[bytes], bytes] = lambda head: head) -> None:
    """Different integers of 64 bits have different bytes, the first of which says how many there are."""
    values = [path.integer(name, -(2**63), 2**64 - 1) for name in "ab"]
    written = [encode_integer(value, heads) for value in values]

    (head, whole, width), (other_head, other_whole, other_width) = written
    if head == other_head and bool(whole == other_whole):
        path.claim("the same integer", values[0] == values[1])
    path.claim(
        "the first byte says the width", z3.Implies(_first(head, whole) == _first(other_head, other_whole), width == other_width)
    )


def encode_integer(value: Any, heads: Callable[[bytes], bytes]) -> tuple[bytes, Any, Any]:
    """The head of an integer, the number that its other bytes are, and how many these are; by the running code."""

    class Head(bytes):
        def __add__(self, other: Any) -> Any:
            return (bytes(self), *other)

    count = len(messagepack._SMALL)  # noqa: SLF001  # of the table that the code uses, which `Small` stands for

    class Small:
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: Any) -> Any:
            return (b"", index, z3.IntVal(1))

    rows = messagepack._INTEGERS  # noqa: SLF001
    kinds = tuple((least, most, Head(heads(head)), SimpleNamespace(pack=packer(form))) for least, most, head, form in rows)
    with overriding(names_in(messagepack, _INTEGERS=kinds, _SMALL=Small())):
        found: Any = messagepack.integer_bytes(value)
    return found  # type: ignore[no-any-return]  # what `Head` and `Small` make


def _first(head: bytes, whole: Any) -> Any:
    return z3.IntVal(head[0]) if head else whole


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
        path.claim("no other has it", z3.Implies(z3.And(*map(operator.eq, one, other)), places[0] == places[1]))
    letters = [z3.And(letter >= transit.CODE_FIRST, letter < transit.CODE_FIRST + transit.CODE_BASE) for letter in (*one, *other)]
    path.claim("no blank, and no caret", z3.And(*letters))


@WRITING.add(
    "SZ-09 SA-61", Evaluated(("swim.transit.escape",), ("_SPECIAL",)), Twin("the backquote is not escaped", {"special": "~^"})
)
def escaping_is_injective(path: Path, *, special: str = "~^`") -> None:
    """
    A string is escaped exactly if it begins like something that is none; then what follows the escape is no keyword, tag or uuid.

    So the first character of what is written says whether it was escaped, and the rest is the string.
    """
    marks = Marks()
    string: Any = AnyString(path, "string", marks)

    with overriding(names_in(transit, _SPECIAL=tuple(special))):
        written = marks.pieces(f"{transit.escape(string)}")
    needs = z3.And(string.filled, z3.Or(*(string.first == ord(c) for c in "~^`")))
    path.claim("the string is there", truth(written[-1] is string))
    path.claim("after an escape or nothing", truth(written[:-1] in ([], ["~"])))
    path.claim("escaped exactly if it has to be", needs == truth(len(written) > 1))
