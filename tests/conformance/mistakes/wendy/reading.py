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
from tests.support.variant import variants

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.overrides import Overrides
from peerproof.spec.wendy import codec, json_data
from peerproof.spec.wendy.messages import Mask, Node
from peerproof.spec.wendy.tables import ALL

ID: Final[Any] = codec._id
LIST: Final[Any] = codec._list
MASK: Final[Any] = codec._mask
MEMBERS: Final[Any] = codec._members
NODE: Final[Any] = codec._node
NODE_TEXT: Final[Any] = codec._node_text
OBJECT: Final[Any] = codec._object
OCTETS: Final[Any] = codec._octets
PARSE: Final = json_data.parse_json
TEXT: Final[Any] = codec._text
QUOTE: Final = json_data.quote
WHOLE: Final[Any] = codec._whole

VERSIONS: Final = ("LSVersion", "RTVersion", "NSVersion")

#: A string of JSON, or what is to be one.
STRING: Final = r'("(?:[^"\\]|\\.)*")'

Change = Callable[[str], str]


def _refuse() -> Any:
    raise MalformedMessage("bad_value", 0, "not this one")


def _reads(change: Change) -> Overrides:
    """Reads a text that is no JSON as it is when this has changed it."""

    def parse(data: bytes) -> Any:
        try:
            return PARSE(data)
        except MalformedMessage as error:
            try:
                return PARSE(change(data.decode()).encode())
            except ValueError:
                raise error from None

    return {"json_data.parse_json": parse}


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
    return {"codec._whole": lambda raw, most, name: WHOLE(int(raw) if name in names and is_one(raw) else raw, most, name)}


def _paired(change: Change) -> Overrides:
    """Reads a text in which this has put the halves of pairs right."""

    def read(raw: Any) -> str:
        found: str = TEXT(change(raw).encode("utf-16", "surrogatepass").decode("utf-16", "replace") if raw else raw)
        return found

    return {"codec._text": read}


def _is_flag(raw: Any) -> bool:
    return type(raw) is bool


def _is_float(raw: Any) -> bool:
    return type(raw) is float and raw.is_integer()


def _is_text(raw: Any) -> bool:
    return type(raw) is str and raw.isdigit()


def _octets(change: Callable[[Any], Any]) -> Overrides:
    """Reads bytes from something else."""
    return {"codec._octets": lambda raw, name, most: OCTETS(change(raw), name, most)}


def _octets_of(name: str, change: Callable[[Any], Any]) -> Overrides:
    return {"codec._octets": lambda raw, which, most: OCTETS(change(raw) if which == name else raw, which, most)}


def _texts(change: Change) -> Overrides:
    return _octets(lambda raw: change(raw) if type(raw) is str else raw)


def _one_after_another(raw: str) -> str:
    parts = raw.rstrip("=").split("=")
    return b64encode(b"".join(b64decode(part + "=" * (-len(part) % 4)) for part in parts)).decode() if len(parts) > 1 else raw


def _padded(raw: Any) -> Any:
    return raw + "=" * (-len(raw) % 4) if type(raw) is str else raw


def _ids(change: Change) -> Overrides:
    return {"codec._id": lambda raw: ID(change(raw) if type(raw) is str else raw)}


def _ids_from_base64(raw: str) -> str:
    return b64decode(raw).hex() if raw.endswith("==") else raw


def _masks(are: Callable[[bytes], Mask | None]) -> Overrides:
    """Reads as a mask what this makes one of."""
    return {"codec._mask": lambda value: are(value) or MASK(value)}


def _mask_of_number(value: bytes) -> Mask | None:
    return ALL if value == b"7" else None


def _mask_of_words(value: bytes) -> Mask | None:
    return ALL if value == b"all" else None


def _lists(which: Collection[str], change: Callable[[Any], Any]) -> Overrides:
    return {"codec._list": lambda raw, most, what, inside: LIST(change(raw) if what in which else raw, most, what, inside)}


def _refuses_equal_names(member: str) -> Overrides:
    """Refuses objects with this member that have two members of one name."""

    def named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        return _refuse() if member in found and len(found) < len(pairs) else found

    return _objects(named)


def _first_of_equal_names(member: str) -> Overrides:
    """Takes the first of equal names in objects with this member."""
    return _objects(lambda pairs: dict(reversed(pairs)) if member in dict(pairs) else dict(pairs))


def _merged(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        there = found.get(name)
        found[name] = {**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value
    return found


def _null_replaces_nothing(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if value is not None or name not in found:
            found[name] = value
    return found


def _objects(made: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Overrides:
    """Makes objects of their members in this way."""

    def parse(data: bytes) -> Any:
        PARSE(data)
        return json.loads(data.decode(), object_pairs_hook=made)

    return {"codec.parse_json": parse}


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
    return {"codec._node": lambda raw, inside: change(NODE(raw, inside))}


def _hosts(change: Change) -> Overrides:
    return _nodes(lambda node: node._replace(local_ip=change(node.local_ip), global_ip=change(node.global_ip)))


def _regions(change: Change) -> Overrides:
    return _nodes(lambda node: node._replace(region=change(node.region)))


def _shortest(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        return host


def _only_if(is_one: Callable[[Node], bool]) -> Overrides:
    return _nodes(lambda node: node if is_one(node) else _refuse())


def _in_tables_only_if(is_one: Callable[[Node], bool]) -> Overrides:
    def node(raw: Any, inside: int) -> Node:
        found: Node = NODE(raw, inside)
        return found if inside == 1 or is_one(found) else _refuse()

    return {"codec._node": node}


def _written(change: Change) -> Overrides:
    """Writes nodes otherwise."""
    return {"codec._node_text": lambda node: change(NODE_TEXT(node))}


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "TabsAndFormsAreBlanks": (
            "Takes vertical tabs and form feeds for blanks. [WA-63]",
            _reads(_between("[\x0b\x0c]", " ")),
            "reject-a-vertical-tab reject-a-form-feed",
        ),
        "BlanksOfUnicode": (
            "Takes the blanks of Unicode for blanks. [WA-63]",
            _reads(_between("[\u00a0\u2028\u3000]", " ")),
            "reject-a-no-break-space",
        ),
        "ControlCharactersAreBlanks": (
            "Takes each character up to the blank for one. [WA-63]",
            _reads(_between("[\x01-\x1f]", " ")),
            "reject-a-unit-separator reject-a-vertical-tab reject-a-form-feed reject-a-record-separator",
        ),
        "CommasAtTheEnd": (
            "Passes a comma at the end of an array over. [WA-63]",
            _reads(_between(r",(?=\])", "")),
            "reject-a-comma-at-the-end-of-an-array",
        ),
        "CommasAnywhere": (
            "Passes commas over. [WA-63]",
            _reads(_between(r"(?<=[\[{,])\s*,", "")),
            "reject-a-comma-first reject-two-commas",
        ),
        "CommentsToTheEnd": (
            "Passes over what stands behind two slashes or a hash. [WA-63]",
            _reads(_between(r"(//|#)[^\n]*", "")),
            "reject-a-comment-to-the-end-of-the-line reject-a-comment-behind-a-hash",
        ),
        "HexadecimalNumbers": (
            "Reads numbers with 0x. [WA-63]",
            _reads(_between("0x([0-9a-f]+)", lambda found: str(int(found[1], 16)))),
            "reject-a-hexadecimal-number",
        ),
        "HalfNumbers": (
            "Reads numbers that begin or end with their point. [WA-63]",
            _reads(_between(r"(?<!\d)\.(?=\d)|(?<=\d)\.(?!\d)", lambda found: "0.0" if found.start() == 0 else ".0")),
            "reject-a-point-at-the-end",
        ),
        "PointsFirst": (
            "Reads numbers that begin with their point. [WA-63]",
            _reads(_between(r"(?<!\d)\.(?=\d)", "0.")),
            "reject-a-point-first",
        ),
        "NumbersInGroups": (
            "Reads numbers with underscores. [WA-63]",
            _reads(_between(r"(?<=\d)_(?=\d)", "")),
            "reject-an-underscore-in-a-number",
        ),
        "EmptyExponents": (
            "Reads exponents without digits. [WA-63]",
            _reads(_between(r"(?<=\d)[eE](?![\d+-])", "")),
            "reject-an-empty-exponent",
        ),
        "WordsOfPython": (
            "Reads True, False and None. [WA-63]",
            _reads(_between("True|False|None", lambda found: {"None": "null"}.get(found[0], found[0].lower()))),
            "reject-a-word-with-a-capital reject-a-word-that-means-nothing",
        ),
        "NamesWithoutQuotes": (
            "Reads names without quotes, and with an equals sign behind them. [WA-63]",
            _reads(lambda text: _between(r"[A-Za-z]+(?=\s*:)", r'"\g<0>"')(_between("=", ":")(text))),
            "reject-names-without-quotes reject-an-equals-sign",
        ),
        "SemicolonsForCommas": (
            "Takes semicolons for commas, and passes over one at the end. [WA-63]",
            _reads(lambda text: _between(";", ",")(text.removesuffix(";\n"))),
            "reject-a-semicolon reject-a-semicolon-behind",
        ),
        "AnyEscape": (
            "Reads an escape that it does not know as the character itself. [WA-63]",
            _reads(_everywhere(r'\\([^"\\/bfnrtu])', r"\1")),
            "reject-an-escaped-apostrophe reject-an-escaped-zero reject-an-escape-with-a-capital",
        ),
        "ShortEscapes": (
            "Reads escapes of fewer digits, also in braces. [WA-63]",
            _reads(_everywhere(r"\\u\{?([0-9a-f]{1,3})(?![0-9a-f])\}?", lambda found: f"\\u{found[1]:0>4}")),
            "reject-an-escape-of-two-digits reject-an-escape-in-braces",
        ),
        "EscapesWithASign": (
            "Reads the digits of an escape as any number. [WA-63]",
            _reads(_everywhere(r"\\u\+", r"\\u0")),
            "reject-an-escape-with-a-sign",
        ),
        "NakedTabs": (
            "Reads tabs in strings. [WA-63]",
            _reads(_everywhere("\t", r"\\t")),
            "reject-a-naked-tab",
        ),
        "LonelyHalves": (
            "Reads the second half of a pair as a character. [WA-63]",
            _paired(lambda text: re.sub("^[\udc00-\udfff]$", "?", text)),
            "reject-a-lone-low-surrogate",
        ),
        "HalvesInAnyOrder": (
            "Reads the halves of a pair in either order. [WA-63]",
            _paired(lambda text: re.sub("([\udc00-\udfff])([\ud800-\udbff])", r"\2\1", text)),
            "reject-a-pair-in-the-wrong-order",
        ),
        "FlagsArePorts": ("Reads true as a port. [WA-63]", _numbers(("Port",), _is_flag), "reject-port-true"),
        "FlagsAreVersions": (
            "Reads true as a version. [WA-63]",
            _numbers(VERSIONS, _is_flag),
            "reject-version-true reject-rtversion-true reject-nsversion-true",
        ),
        "FlagsAreHops": ("Reads true as a count of hops. [WA-63]", _numbers(("Hop",), _is_flag), "reject-hop-true"),
        "FlagsAreMasks": (
            "Reads true in a mask. [WA-63]",
            _numbers(codec.MASK, _is_flag),
            "reject-mask-true reject-row-true reject-column-true",
        ),
        "FloatsArePorts": (
            "Reads a float without a fraction as a port. [WA-63]",
            _numbers(("Port",), _is_float),
            "reject-port-with-a-point",
        ),
        "FloatsAreVersions": (
            "Reads a float without a fraction as a version or a count of hops. [WA-63]",
            _numbers((*VERSIONS, "Hop"), _is_float),
            "reject-version-with-a-point reject-hop-with-a-point",
        ),
        "FloatsAreMasks": (
            "Reads floats without a fraction in a mask. [WA-63]",
            _numbers(codec.MASK, _is_float),
            "reject-mask-with-a-point reject-row-with-a-point reject-column-with-a-point",
        ),
        "TextsAreHops": (
            "Reads a string of digits as a count of hops or a column. [WA-63]",
            _numbers(("Hop", "Cols"), _is_text),
            "reject-hop-a-string reject-column-a-string",
        ),
        "OneRowWithoutAnArray": (
            "Reads a number as an array of it. [WA-63]",
            _lists(("Rows", "Cols"), lambda raw: [raw] if type(raw) is int else raw),
            "reject-rows-a-number",
        ),
        "FalseIsNoTable": (
            "Takes whatever counts as false for no table. [WA-63]",
            _lists(("a neighborhood set", "a routing table", "a leaf set"), lambda raw: raw or None),
            "reject-neighborhood-set-false",
        ),
        "LinesOfBase64": (
            "Reads base64 in lines. [WA-63]",
            _texts(lambda raw: re.sub(r"[\r\n\t]", "", raw)),
            "reject-value-a-line-end reject-value-a-tab reject-value-a-carriage-return",
        ),
        "PaddingOnly": (
            "Reads padding without anything before it. [WA-63]",
            _texts(lambda raw: raw.strip("=") and raw),
            "reject-value-only-padding",
        ),
        "TextsOneAfterAnother": (
            "Reads several texts of base64 as one. [WA-63]",
            _texts(_one_after_another),
            "reject-value-two-texts",
        ),
        "FalseIsNoValue": (
            "Takes whatever counts as false for no value. [WA-63]",
            _octets(lambda raw: None if raw is False else raw),
            "reject-value-false",
        ),
        "CredentialsWithoutPadding": (
            "Reads credentials without padding. [WA-63]",
            _octets_of("Credentials", _padded),
            "reject-credentials-no-padding",
        ),
        "CredentialsAsAnArray": (
            "Reads credentials that are an array of numbers. [WA-63]",
            _octets_of("Credentials", lambda raw: b64encode(bytes(raw)).decode() if type(raw) is list else raw),
            "reject-credentials-an-array",
        ),
        "NothingIsNoMask": (
            "Takes a mask that is nothing, null or an empty array for an empty one. [WA-63]",
            _masks(lambda value: Mask() if value in (b"", b"null", b"[]") else None),
            "reject-mask-empty-value reject-mask-null reject-mask-array",
        ),
        "MasksAreNumbers": (
            "Reads a mask that is its number alone. [WA-63]",
            _masks(_mask_of_number),
            "reject-mask-a-number",
        ),
        "MasksAreWords": ("Reads a mask that is a word. [WA-63]", _masks(_mask_of_words), "reject-mask-a-word"),
        "BlanksAroundIds": (
            "Passes blanks around ids over, and fills them up. [WA-49, WA-63]",
            _ids(lambda raw: raw.strip().zfill(32)),
            "reject-id-blank-for-a-digit reject-id-with-a-blank-before reject-id-empty",
        ),
        "HyphensInIds": ("Reads ids in groups. [WA-49, WA-63]", _ids(lambda raw: raw.replace("-", "")), "reject-id-with-hyphens"),
        "IdsInBase64": ("Reads ids in base64, too. [WA-49, WA-63]", _ids(_ids_from_base64), "reject-id-in-base64"),
        "OneKindOfDigits": (
            "Reads ids whose digits are all small or all capital. [WA-63]",
            _ids(lambda raw: raw if raw in (raw.lower(), raw.upper()) else ""),
            "id-of-both-kinds-of-digits",
        ),
        "TheFirstOfASender": (
            "Takes the first of equal names in a sender. [WA-63]",
            _first_of_equal_names("LocalIP"),
            "equal-names-in-a-sender",
        ),
        "EachNameOfATableOnce": (
            "Refuses tables with equal names. [WA-63]",
            _refuses_equal_names("ns"),
            "equal-names-in-tables",
        ),
        "TheFirstOfAMask": (
            "Takes the first of equal names in a mask. [WA-63]",
            _first_of_equal_names("Mask"),
            "equal-names-in-a-mask",
        ),
        "MergesEqualNames": (
            "Makes one object of two of the same name. [WA-63]",
            _objects(_merged),
            "two-senders",
        ),
        "NullReplacesNothing": (
            "Keeps what it has read when null follows under the same name. [WA-63]",
            _objects(_null_replaces_nothing),
            "null-behind-a-number equal-names-in-a-mask",
        ),
        "NamesOfNodesInAnyCase": (
            "Reads names of a node in whatever letters. [WA-63]",
            _any_case(codec.NODE),
            "names-in-other-letters-in-a-node",
        ),
        "NamesOfTablesInAnyCase": (
            "Reads names of tables in whatever letters. [WA-63]",
            _any_case(codec.TABLES),
            "names-in-other-letters-in-tables",
        ),
        "NamesOfMasksInAnyCase": (
            "Reads names of a mask in whatever letters. [WA-63]",
            _any_case(codec.MASK),
            "names-in-other-letters-in-a-mask",
        ),
        "AsManyRowsAsThereAre": (
            "Refuses a mask with more than 32 rows. [WA-63]",
            _lists(("Rows",), lambda raw: raw if raw is None or len(raw) <= codec.ROWS else _refuse()),
            "more-rows-than-there-are",
        ),
        "OnlyNodesWithAnAddress": (
            "Reads nodes in tables only if they have a host and a port. [WA-63]",
            _in_tables_only_if(lambda node: bool(node.local_ip and node.port)),
            "nodes-without-an-address",
        ),
        "SmallHosts": ("Makes letters of hosts small. [WA-52, WA-63]", _hosts(str.lower), "hosts-with-capitals"),
        "HostsWithoutTheirPoint": (
            "Leaves out the point at the end of a host. [WA-52, WA-63]",
            _hosts(lambda host: host.rstrip(".")),
            "hosts-with-capitals",
        ),
        "HostsWithoutBlanks": (
            "Leaves blanks around hosts out. [WA-52, WA-63]",
            _hosts(str.strip),
            "hosts-with-blanks",
        ),
        "ShortestHosts": (
            "Writes the numbers of hosts in their shortest form. [WA-52, WA-63]",
            _hosts(_shortest),
            "hosts-with-colons-as-they-are",
        ),
        "HostsWithoutAZone": (
            "Leaves out what stands behind a percent sign. [WA-52, WA-63]",
            _hosts(lambda host: host.partition("%")[0]),
            "hosts-with-colons-as-they-are",
        ),
        "HostsWithoutBrackets": (
            "Takes brackets off a host. [WA-52, WA-63]",
            _hosts(lambda host: host.strip("[]")),
            "hosts-with-brackets",
        ),
        "HostsOfAscii": (
            "Reads hosts of ASCII only. [WA-52, WA-63]",
            _only_if(lambda node: (node.local_ip + node.global_ip).isascii()),
            "hosts-in-other-alphabets",
        ),
        "RegionsEndAtZero": (
            "Has a region end at a zero character. [WA-52, WA-63]",
            _regions(lambda region: region.partition("\0")[0]),
            "region-with-a-zero-character",
        ),
        "RegionsInOneForm": (
            "Puts a letter and its mark together. [WA-52, WA-63]",
            _regions(lambda region: unicodedata.normalize("NFC", region)),
            "region-of-letters-and-marks",
        ),
        "EscapesBlanksOfUnicode": (
            "Escapes blanks of Unicode, and marks of an order of bytes. [WA-65]",
            {
                "json_data.quote": lambda text: re.sub(
                    "[\u0085\u00a0\ufeff\uffff]", lambda found: f"\\u{ord(found[0]):04x}", QUOTE(text)
                )
            },
            "blanks-and-marks-are-themselves",
        ),
        "OneHostIsEnough": (
            "Writes no global host that is the local one. [WA-65]",
            {"codec._node_text": lambda node: NODE_TEXT(node._replace(global_ip=node.global_ip.removeprefix(node.local_ip)))},
            "one-host-for-both",
        ),
        "TheLocalHostIsGlobal": (
            "Has the local host for the global one if that is empty. [WA-52, WA-63]",
            _nodes(lambda node: node._replace(global_ip=node.global_ip or node.local_ip)),
            "no-global-host",
        ),
        "EmptyMembersAreLeftOut": (
            "Leaves out members of a node that are empty. [WA-65]",
            _written(_everywhere(r'"\w+":(?:""|0),', "")),
            "sender-of-nothing",
        ),
    },
)
__getattr__ = MISTAKES.find
