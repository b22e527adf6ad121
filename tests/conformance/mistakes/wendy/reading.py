"""Mistakes in reading, one step beside JSON, base64 and the forms of messages, and in what is kept of texts."""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection
from ipaddress import ip_address
from typing import Any, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.overrides import Overrides
from peerproof.spec.wendy import codec
from peerproof.spec.wendy.messages import Mask, Node
from peerproof.spec.wendy.tables import ALL

wrong = Variants(__name__, Wrong)
MEMBERS: Final[Any] = codec._members
OBJECT: Final[Any] = codec._object
VERSIONS: Final = ("LSVersion", "RTVersion", "NSVersion")
#: A string of JSON, or what is to be one.
STRING: Final = r'("(?:[^"\\]|\\.)*")'
Change = Callable[[str], str]


def _refuse() -> Any:
    raise MalformedMessage("bad_value", 0, "not this one")


def _reads(change: Change) -> Overrides:
    """Reads a text that is no JSON as it is when this has changed it."""

    def parse(right: Any, data: bytes) -> Any:
        try:
            return right(data)
        except MalformedMessage as error:
            try:
                return right(change(data.decode()).encode())
            except ValueError:
                raise error from None

    return around("json_data.parse_json", parse)


def _everywhere(pattern: str, other: Any) -> Change:
    return lambda text: re.sub(pattern, other, text)


def _between(pattern: str, other: Any) -> Change:
    """Changes what is between strings."""

    def change(text: str) -> str:
        parts = re.split(STRING, text)
        return "".join(part if index % 2 else re.sub(pattern, other, part) for index, part in enumerate(parts))

    return change


def _numbers(names: Collection[str], is_one: Callable[[Any], bool]) -> Overrides:
    """Reads also these as numbers, where these names stand."""
    return around(
        "codec._whole", lambda right, raw, most, name: right(int(raw) if name in names and is_one(raw) else raw, most, name)
    )


def _paired(change: Change) -> Overrides:
    """Reads a text in which this has put the halves of pairs right."""

    def read(right: Any, raw: Any) -> Any:
        found: str = right(change(raw).encode("utf-16", "surrogatepass").decode("utf-16", "replace") if raw else raw)
        return found

    return around("codec._text", read)


def _is_flag(raw: Any) -> bool:
    return type(raw) is bool


def _is_float(raw: Any) -> bool:
    return type(raw) is float and raw.is_integer()


def _is_text(raw: Any) -> bool:
    return type(raw) is str and raw.isdigit()


def _octets(change: Callable[[Any], Any]) -> Overrides:
    """Reads bytes from something else."""
    return around("codec._octets", lambda right, raw, name, most: right(change(raw), name, most))


def _octets_of(name: str, change: Callable[[Any], Any]) -> Overrides:
    return around("codec._octets", lambda right, raw, which, most: right(change(raw) if which == name else raw, which, most))


def _texts(change: Change) -> Overrides:
    return _octets(lambda raw: change(raw) if type(raw) is str else raw)


@wrong(_texts, "reject-value-two-texts")
def TextsOneAfterAnother(raw: str) -> str:
    """Reads several texts of base64 as one. [WA-63]"""
    parts = raw.rstrip("=").split("=")
    return b64encode(b"".join(b64decode(part + "=" * (-len(part) % 4)) for part in parts)).decode() if len(parts) > 1 else raw


def _padded(raw: Any) -> Any:
    return raw + "=" * (-len(raw) % 4) if type(raw) is str else raw


def _ids(change: Change) -> Overrides:
    return around("codec._id", lambda right, raw: right(change(raw) if type(raw) is str else raw))


def _masks(are: Callable[[bytes], Mask | None]) -> Overrides:
    """Reads as a mask what this makes one of."""
    return around("codec._mask", lambda right, value: are(value) or right(value))


def _lists(which: Collection[str], change: Callable[[Any], Any]) -> Overrides:
    return around(
        "codec._list", lambda right, raw, most, what, inside: right(change(raw) if what in which else raw, most, what, inside)
    )


def _objects(made: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Overrides:
    """Makes objects of their members in this way."""

    def parse(right: Any, data: bytes) -> Any:
        right(data)
        return json.loads(data.decode(), object_pairs_hook=made)

    return around("codec.parse_json", parse)


def _refuses_equal_names(member: str) -> Overrides:
    """Refuses objects with this member that have two members of one name."""

    def named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        return _refuse() if member in found and len(found) < len(pairs) else found

    return _objects(named)


def _first_of_equal_names(member: str) -> Overrides:
    """Takes the first of equal names in objects with this member."""
    return _objects(lambda pairs: dict(reversed(pairs)) if member in dict(pairs) else dict(pairs))


@wrong(_objects, "two-senders")
def MergesEqualNames(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes one object of two of the same name. [WA-63]"""
    found: dict[str, Any] = {}
    for name, value in pairs:
        there = found.get(name)
        found[name] = {**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value
    return found


@wrong(_objects, "null-behind-a-number equal-names-in-a-mask")
def NullReplacesNothing(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keeps what it has read when null follows under the same name. [WA-63]"""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if value is not None or name not in found:
            found[name] = value
    return found


def _any_case(names: Collection[str]) -> Overrides:
    """Reads these names in whatever letters."""
    known = {name.lower(): name for name in names}

    def folded(raw: Any, expected: Collection[str]) -> Any:
        if type(raw) is not dict or set(expected) != set(names):
            return raw
        return {known.get(name.lower(), name): value for name, value in raw.items()}

    return {
        "codec._object": lambda raw, expected, what, depth: OBJECT(folded(raw, expected), expected, what, depth),
        "codec._members": lambda raw, of, expected, what, depth: MEMBERS(folded(raw, expected), of, expected, what, depth),
    }


def _nodes(change: Callable[[Node], Node]) -> Overrides:
    """Reads a node as another one."""
    return around("codec._node", lambda right, raw, inside: change(right(raw, inside)))


def _hosts(change: Change) -> Overrides:
    return _nodes(lambda node: node._replace(local_ip=change(node.local_ip), global_ip=change(node.global_ip)))


def _regions(change: Change) -> Overrides:
    return _nodes(lambda node: node._replace(region=change(node.region)))


@wrong(_hosts, "hosts-with-colons-as-they-are")
def ShortestHosts(host: str) -> str:
    """Writes the numbers of hosts in their shortest form. [WA-52, WA-63]"""
    try:
        return str(ip_address(host))
    except ValueError:
        return host


def _only_if(is_one: Callable[[Node], bool]) -> Overrides:
    return _nodes(lambda node: node if is_one(node) else _refuse())


def _in_tables_only_if(is_one: Callable[[Node], bool]) -> Overrides:
    def node(right: Any, raw: Any, inside: int) -> Any:
        found: Node = right(raw, inside)
        return found if inside == 1 or is_one(found) else _refuse()

    return around("codec._node", node)


def _written(change: Change) -> Overrides:
    """Writes nodes otherwise."""
    return around("codec._node_text", lambda right, node: change(right(node)))


wrong |= {
    # Takes vertical tabs and form feeds for blanks. [WA-63]
    "TabsAndFormsAreBlanks: reject-a-vertical-tab reject-a-form-feed": _reads(_between("[\x0b\x0c]", " ")),
    # Takes the blanks of Unicode for blanks. [WA-63]
    "BlanksOfUnicode: reject-a-no-break-space": _reads(_between("[\u00a0\u2028\u3000]", " ")),
    # Takes each character up to the blank for one. [WA-63]
    "ControlCharactersAreBlanks: reject-a-unit-separator reject-a-vertical-tab reject-a-form-feed "
    "reject-a-record-separator": _reads(_between("[\x01-\x1f]", " ")),
    # Passes a comma at the end of an array over. [WA-63]
    "CommasAtTheEnd: reject-a-comma-at-the-end-of-an-array": _reads(_between(r",(?=\])", "")),
    # Passes commas over. [WA-63]
    "CommasAnywhere: reject-a-comma-first reject-two-commas": _reads(_between(r"(?<=[\[{,])\s*,", "")),
    # Passes over what stands behind two slashes or a hash. [WA-63]
    "CommentsToTheEnd: reject-a-comment-to-the-end-of-the-line reject-a-comment-behind-a-hash": _reads(
        _between(r"(//|#)[^\n]*", "")
    ),
    # Reads numbers with 0x. [WA-63]
    "HexadecimalNumbers: reject-a-hexadecimal-number": _reads(_between("0x([0-9a-f]+)", lambda found: str(int(found[1], 16)))),
    # Reads numbers that begin or end with their point. [WA-63]
    "HalfNumbers: reject-a-point-at-the-end": _reads(
        _between(r"(?<!\d)\.(?=\d)|(?<=\d)\.(?!\d)", lambda found: "0.0" if found.start() == 0 else ".0")
    ),
    # Reads numbers that begin with their point. [WA-63]
    "PointsFirst: reject-a-point-first": _reads(_between(r"(?<!\d)\.(?=\d)", "0.")),
    # Reads numbers with underscores. [WA-63]
    "NumbersInGroups: reject-an-underscore-in-a-number": _reads(_between(r"(?<=\d)_(?=\d)", "")),
    # Reads exponents without digits. [WA-63]
    "EmptyExponents: reject-an-empty-exponent": _reads(_between(r"(?<=\d)[eE](?![\d+-])", "")),
    # Reads True, False and None. [WA-63]
    "WordsOfPython: reject-a-word-with-a-capital reject-a-word-that-means-nothing": _reads(
        _between("True|False|None", lambda found: {"None": "null"}.get(found[0], found[0].lower()))
    ),
    # Reads names without quotes, and with an equals sign behind them. [WA-63]
    "NamesWithoutQuotes: reject-names-without-quotes reject-an-equals-sign": _reads(
        lambda text: _between(r"[A-Za-z]+(?=\s*:)", r'"\g<0>"')(_between("=", ":")(text))
    ),
    # Takes semicolons for commas, and passes over one at the end. [WA-63]
    "SemicolonsForCommas: reject-a-semicolon reject-a-semicolon-behind": _reads(
        lambda text: _between(";", ",")(text.removesuffix(";\n"))
    ),
    # Reads an escape that it does not know as the character itself. [WA-63]
    "AnyEscape: reject-an-escaped-apostrophe reject-an-escaped-zero reject-an-escape-with-a-capital": _reads(
        _everywhere(r'\\([^"\\/bfnrtu])', r"\1")
    ),
    # Reads escapes of fewer digits, also in braces. [WA-63]
    "ShortEscapes: reject-an-escape-of-two-digits reject-an-escape-in-braces": _reads(
        _everywhere(r"\\u\{?([0-9a-f]{1,3})(?![0-9a-f])\}?", lambda found: f"\\u{found[1]:0>4}")
    ),
    # Reads the digits of an escape as any number. [WA-63]
    "EscapesWithASign: reject-an-escape-with-a-sign": _reads(_everywhere(r"\\u\+", r"\\u0")),
    # Reads tabs in strings. [WA-63]
    "NakedTabs: reject-a-naked-tab": _reads(_everywhere("\t", r"\\t")),
    # Reads the second half of a pair as a character. [WA-63]
    "LonelyHalves: reject-a-lone-low-surrogate": _paired(lambda text: re.sub("^[\udc00-\udfff]$", "?", text)),
    # Reads the halves of a pair in either order. [WA-63]
    "HalvesInAnyOrder: reject-a-pair-in-the-wrong-order": _paired(
        lambda text: re.sub("([\udc00-\udfff])([\ud800-\udbff])", r"\2\1", text)
    ),
    # Reads true as a port. [WA-63]
    "FlagsArePorts: reject-port-true": _numbers(("Port",), _is_flag),
    # Reads true as a version. [WA-63]
    "FlagsAreVersions: reject-version-true reject-rtversion-true reject-nsversion-true": _numbers(VERSIONS, _is_flag),
    # Reads true as a count of hops. [WA-63]
    "FlagsAreHops: reject-hop-true": _numbers(("Hop",), _is_flag),
    # Reads true in a mask. [WA-63]
    "FlagsAreMasks: reject-mask-true reject-row-true reject-column-true": _numbers(codec.MASK, _is_flag),
    # Reads a float without a fraction as a port. [WA-63]
    "FloatsArePorts: reject-port-with-a-point": _numbers(("Port",), _is_float),
    # Reads a float without a fraction as a version or a count of hops. [WA-63]
    "FloatsAreVersions: reject-version-with-a-point reject-hop-with-a-point": _numbers((*VERSIONS, "Hop"), _is_float),
    # Reads floats without a fraction in a mask. [WA-63]
    "FloatsAreMasks: reject-mask-with-a-point reject-row-with-a-point reject-column-with-a-point": _numbers(
        codec.MASK, _is_float
    ),
    # Reads a string of digits as a count of hops or a column. [WA-63]
    "TextsAreHops: reject-hop-a-string reject-column-a-string": _numbers(("Hop", "Cols"), _is_text),
    # Reads a number as an array of it. [WA-63]
    "OneRowWithoutAnArray: reject-rows-a-number": _lists(("Rows", "Cols"), lambda raw: [raw] if type(raw) is int else raw),
    # Takes whatever counts as false for no table. [WA-63]
    "FalseIsNoTable: reject-neighborhood-set-false": _lists(
        ("a neighborhood set", "a routing table", "a leaf set"), lambda raw: raw or None
    ),
    # Reads base64 in lines. [WA-63]
    "LinesOfBase64: reject-value-a-line-end reject-value-a-tab reject-value-a-carriage-return": _texts(
        lambda raw: re.sub(r"[\r\n\t]", "", raw)
    ),
    # Reads padding without anything before it. [WA-63]
    "PaddingOnly: reject-value-only-padding": _texts(lambda raw: raw.strip("=") and raw),
    # Takes whatever counts as false for no value. [WA-63]
    "FalseIsNoValue: reject-value-false": _octets(lambda raw: None if raw is False else raw),
    # Reads credentials without padding. [WA-63]
    "CredentialsWithoutPadding: reject-credentials-no-padding": _octets_of("Credentials", _padded),
    # Reads credentials that are an array of numbers. [WA-63]
    "CredentialsAsAnArray: reject-credentials-an-array": _octets_of(
        "Credentials", lambda raw: b64encode(bytes(raw)).decode() if type(raw) is list else raw
    ),
    # Takes a mask that is nothing, null or an empty array for an empty one. [WA-63]
    "NothingIsNoMask: reject-mask-empty-value reject-mask-null reject-mask-array": _masks(
        lambda value: Mask() if value in (b"", b"null", b"[]") else None
    ),
    # Reads a mask that is its number alone. [WA-63]
    "MasksAreNumbers: reject-mask-a-number": _masks(lambda value: ALL if value == b"7" else None),
    # Reads a mask that is a word. [WA-63]
    "MasksAreWords: reject-mask-a-word": _masks(lambda value: ALL if value == b"all" else None),
    # Passes blanks around ids over, and fills them up. [WA-49, WA-63]
    "BlanksAroundIds: reject-id-blank-for-a-digit reject-id-with-a-blank-before reject-id-empty": _ids(
        lambda raw: raw.strip().zfill(32)
    ),
    # Reads ids in groups. [WA-49, WA-63]
    "HyphensInIds: reject-id-with-hyphens": _ids(lambda raw: raw.replace("-", "")),
    # Reads ids in base64, too. [WA-49, WA-63]
    "IdsInBase64: reject-id-in-base64": _ids(lambda raw: b64decode(raw).hex() if raw.endswith("==") else raw),
    # Reads ids whose digits are all small or all capital. [WA-63]
    "OneKindOfDigits: id-of-both-kinds-of-digits": _ids(lambda raw: raw if raw in (raw.lower(), raw.upper()) else ""),
    # Takes the first of equal names in a sender. [WA-63]
    "TheFirstOfASender: equal-names-in-a-sender": _first_of_equal_names("LocalIP"),
    # Refuses tables with equal names. [WA-63]
    "EachNameOfATableOnce: equal-names-in-tables": _refuses_equal_names("ns"),
    # Takes the first of equal names in a mask. [WA-63]
    "TheFirstOfAMask: equal-names-in-a-mask": _first_of_equal_names("Mask"),
    # Reads names of a node in whatever letters. [WA-63]
    "NamesOfNodesInAnyCase: names-in-other-letters-in-a-node": _any_case(codec.NODE),
    # Reads names of tables in whatever letters. [WA-63]
    "NamesOfTablesInAnyCase: names-in-other-letters-in-tables": _any_case(codec.TABLES),
    # Reads names of a mask in whatever letters. [WA-63]
    "NamesOfMasksInAnyCase: names-in-other-letters-in-a-mask": _any_case(codec.MASK),
    # Refuses a mask with more than 32 rows. [WA-63]
    "AsManyRowsAsThereAre: more-rows-than-there-are": _lists(
        ("Rows",), lambda raw: raw if raw is None or len(raw) <= codec.ROWS else _refuse()
    ),
    # Reads nodes in tables only if they have a host and a port. [WA-63]
    "OnlyNodesWithAnAddress: nodes-without-an-address": _in_tables_only_if(lambda node: bool(node.local_ip and node.port)),
    # Makes letters of hosts small. [WA-52, WA-63]
    "SmallHosts: hosts-with-capitals": _hosts(str.lower),
    # Leaves out the point at the end of a host. [WA-52, WA-63]
    "HostsWithoutTheirPoint: hosts-with-capitals": _hosts(lambda host: host.rstrip(".")),
    # Leaves blanks around hosts out. [WA-52, WA-63]
    "HostsWithoutBlanks: hosts-with-blanks": _hosts(str.strip),
    # Leaves out what stands behind a percent sign. [WA-52, WA-63]
    "HostsWithoutAZone: hosts-with-colons-as-they-are": _hosts(lambda host: host.partition("%")[0]),
    # Takes brackets off a host. [WA-52, WA-63]
    "HostsWithoutBrackets: hosts-with-brackets": _hosts(lambda host: host.strip("[]")),
    # Reads hosts of ASCII only. [WA-52, WA-63]
    "HostsOfAscii: hosts-in-other-alphabets": _only_if(lambda node: (node.local_ip + node.global_ip).isascii()),
    # Has a region end at a zero character. [WA-52, WA-63]
    "RegionsEndAtZero: region-with-a-zero-character": _regions(lambda region: region.partition("\0")[0]),
    # Puts a letter and its mark together. [WA-52, WA-63]
    "RegionsInOneForm: region-of-letters-and-marks": _regions(lambda region: unicodedata.normalize("NFC", region)),
    # Escapes blanks of Unicode, and marks of an order of bytes. [WA-65]
    "EscapesBlanksOfUnicode: blanks-and-marks-are-themselves": around(
        "json_data.quote",
        lambda right, text: re.sub("[\u0085\u00a0\ufeff\uffff]", lambda found: f"\\u{ord(found[0]):04x}", right(text)),
    ),
    # Writes no global host that is the local one. [WA-65]
    "OneHostIsEnough: one-host-for-both": around(
        "codec._node_text", lambda right, node: right(node._replace(global_ip=node.global_ip.removeprefix(node.local_ip)))
    ),
    # Has the local host for the global one if that is empty. [WA-52, WA-63]
    "TheLocalHostIsGlobal: no-global-host": _nodes(lambda node: node._replace(global_ip=node.global_ip or node.local_ip)),
    # Leaves out members of a node that are empty. [WA-65]
    "EmptyMembersAreLeftOut: sender-of-nothing": _written(_everywhere(r'"\w+":(?:""|0),', "")),
}
__getattr__ = wrong.find
