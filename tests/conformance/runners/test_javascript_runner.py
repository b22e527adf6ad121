"""The native runner in JavaScript: what it says of small implementations, and how it serves them to `peerproof`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.javascript import copy_with
from tests.support.native_runners import RUNNERS, part_of_bundle
from tests.support.tools import require
from tests.support.waiting import PATIENCE

from peerproof.conformance.runner.trial import FAILURES

RUNNER = RUNNERS / "javascript"

pytestmark = pytest.mark.slow

#: An implementation with a node that only does what was typed for `receive`, and answers on connections with what comes in.
PLUG = """
import {{ Unsupported }} from "{runner}/runner.mjs";

class Node {{
  constructor(about, choose) {{
    this.choose = choose;
  }}
  receive(now, from, bytes) {{
    {receive}
  }}
  advance(now) {{
    return {{ nextTimer: now + 1000 }};
  }}
  call(now, name) {{
    throw new Unsupported(`no ${{name}} yet`);
  }}
  query(name) {{
    throw new Unsupported(`no ${{name}} yet`);
  }}
  stream(now, {{ conn, event, bytes }}) {{
    const answer = event === "data" ? {{ conn, event, bytes }} : {{ conn, event: "close" }};
    return {{ effects: [{{ stream: answer }}] }};
  }}
}}

export const implementation = {{
  name: "small",
  protocol: "{protocol}",
  transport: "udp",
  capabilities: {capabilities},
  choices: "oracle",
  decode: (bytes) => ({{ value: {{ type: "delta", entries: [BigInt(bytes.length)] }} }}),
  open: (about, choose) => [new Node(about, choose), {{ nextTimer: about.now + 1000 }}],
}};
"""


REJECTED = '{ rejected: { class: "other" } }'
EMPTY = "scuttlebutt/codec/delta-empty"


def plug(
    folder: Path, receive: str = "return {};", capabilities: tuple[str, ...] = ("exchange",), protocol: str = "scuttlebutt"
) -> Path:
    """A module with such an implementation."""
    path = folder / "plug.mjs"
    filled = {"receive": receive, "capabilities": json.dumps(capabilities), "protocol": protocol}
    path.write_text(PLUG.format(runner=RUNNER.as_uri(), **filled))
    return path


def node(script: str, *arguments: Path, lines: str = "") -> str:
    """What a module prints; the lines are its input."""
    command = [require("node"), "--input-type=module", "--eval", script, *map(str, arguments)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


#: Prints the results of all cases as text.
DESCRIBE = f"""
import {{ describe, load, loadKnownFailing, run }} from "{RUNNER.as_uri()}/runner.mjs";
const [, bundlePath, plugPath, knownPath] = process.argv;
const bundle = load(bundlePath);
const known = knownPath && loadKnownFailing(knownPath, bundle, new Date(2027, 5, 30));
const {{ implementation }} = await import(plugPath);
console.log((known?.problems ?? []).join("\\n"));
for (const result of run(bundle, implementation, known)) console.log(result.id + " " + describe(bundle, result));
"""


def described(*arguments: Path) -> dict[str, str]:
    """The text of each case, by its id; that of the list itself has none."""
    first, *texts = re.split(r"^(?=\w+/)", node(DESCRIBE, *arguments), flags=re.MULTILINE)
    return {"": first, **{text.split()[0]: text for text in texts}}


def test_what_the_capabilities_cover_is_a_failure_if_it_is_not_supported(tmp_path: Path) -> None:
    bundle = part_of_bundle("scuttlebutt", "exchange")
    calling = "scuttlebutt/exchange/delta-of-twenty-pairs-is-cut"

    without = described(bundle, plug(tmp_path))
    (tmp_path / "with").mkdir()
    covered = described(bundle, plug(tmp_path / "with", capabilities=("exchange", "api.update_local")))

    assert "skipped: " in without[calling]
    assert "the implementation does not offer api.update_local" in without[calling]
    assert " failed: " in covered[calling]
    assert "first difference (error): reply to call" in covered[calling]
    assert '    actual    {"error": {"code": "unsupported", "message": "no update_local yet"}}\n' in covered[calling]


def test_a_configuration_other_than_the_default_is_not_covered(tmp_path: Path) -> None:
    path = plug(tmp_path)
    path.write_text(
        path.read_text().replace("open: (about", 'open: (about) => { throw new Unsupported("too small"); }, o: (about')
    )

    texts = described(part_of_bundle("scuttlebutt", "exchange"), path)

    found = {text.split(" ", 2)[1] for text in texts.values() if "too small" in text}
    assert {"skipped:", "failed:"} <= found


def test_the_text_of_a_failure_says_what_happened(tmp_path: Path) -> None:
    receive = """
    const answers = Array.from({ length: 8 }, (_, number) => ({ event: { name: "join", peer: `größe:${number}` } }));
    return { effects: [{ send: { to: from, bytes: Buffer.alloc(40, 3) } }, ...answers], nextTimer: now + 1000 };"""

    texts = described(part_of_bundle("scuttlebutt", "exchange"), plug(tmp_path, receive, ("exchange", "events")))

    text = texts["scuttlebutt/exchange/applied-pairs-are-passed-on"].splitlines()
    at = text.index("  what happened (the last 20 of 31 events)")
    assert text[at - 2] == '    expected  "0303633a31016c04666976650000000000000005"'
    assert text[at + 10 : at + 14] == [
        '         0 ms  b:1  reports {"name": "join", "peer": "gr\\u00f6\\u00dfe:7"}',
        "         1 ms  b:1 <- z:9  0103633a310000000000000003",
        f"         1 ms  b:1 -> z:9  {'03' * 30}…",
        '         1 ms  b:1  reports {"name": "join", "peer": "gr\\u00f6\\u00dfe:0"}',
    ]
    assert (
        text[at + 21]
        == "  read on: peerproof explain B-13; peerproof vectors show scuttlebutt/exchange/applied-pairs-are-passed-on"
    )


@pytest.mark.parametrize(
    ("right", "wrong", "case", "entries"),
    [
        (
            "for (const entry of entries) {",
            "for (const entry of entries.toReversed()) {",
            "codec/delta-of-two#encode",
            "message.",
        ),
        ("entries.push(entry);", "entries.unshift(entry);", "codec/delta-of-two#decode", ""),
        (
            "for (const entry of entries) {",
            "for (const entry of entries.toReversed()) {",
            "exchange/digest-behind-gets-all-pairs",
            "steps[1].messages[0].message.",
        ),
    ],
)
def test_a_list_that_differs_only_in_its_order_is_named(right: str, wrong: str, case: str, entries: str, tmp_path: Path) -> None:
    path = copy_with(tmp_path, "scuttlebutt-js", "codec.mjs", right, wrong) / "plug.mjs"

    texts = described(part_of_bundle("scuttlebutt", case.partition("/")[0]), path)

    assert f"\n    {entries}entries: the same items in another order\n" in texts[f"scuttlebutt/{case}"]


def test_connections_are_in_the_text_too(tmp_path: Path) -> None:
    path = plug(tmp_path, capabilities=("exchange", "events", "stream"), protocol="wendy")

    texts = described(part_of_bundle("wendy", "exchange"), path)

    event = re.escape('connection {"conn": "c1", "event": "data", "bytes": "')
    pieces = texts["wendy/exchange/a-message-in-pieces"]
    assert re.search(rf"ms  (\S+)  {event}(\w{{60}})\w*\"}}\n +0 ms  \1  writes on connection c1: \2…$", pieces, re.MULTILINE)


def test_expected_failures_are_a_list_that_is_kept_right(tmp_path: Path) -> None:
    bundle, path, known = part_of_bundle("scuttlebutt", "codec"), plug(tmp_path, capabilities=("codec",)), tmp_path / "known.txt"
    path.write_text(path.read_text().replace('{ value: { type: "delta", entries: [BigInt(bytes.length)] } }', REJECTED))
    known.write_text(
        "# a comment\n\n"
        "scuttlebutt/codec/delta-[a-e]*#decode rejected 2027-06-30 https://issues/1 as  listed\n"
        "  scuttlebutt/codec/delta-of-cyrillic#decode value - - otherwise\n"
        "scuttlebutt/codec/reject-type-?#rejects accepted - - passes\n"
        "scuttlebutt/codec/delta-[!a-z]* value - - none\n"
        "scuttlebutt/codec/delta-empty value - - part of an id\n"
        "scuttlebutt/codec/delta-empty#encode error 2027-06-29 - expired\n"
        "scuttlebutt/codec/delta-empty#decode value\n"
        "scuttlebutt/codec/delta-empty#decode other - - a word\n"
        "scuttlebutt/codec/delta-empty#decode value 2027-06-31 - no day\n"
        "scuttlebutt/codec/delta-[a-e]*#decode rejected - - again\n"
    )

    texts = described(bundle, path, known)

    assert [problem.split(": ", 1) for problem in texts[""].strip().splitlines()] == [
        [f"{known}:6", "no case matches 'scuttlebutt/codec/delta-[!a-z]*': remove the entry"],
        [f"{known}:7", f"no case matches '{EMPTY}' (its cases are {EMPTY}#decode, {EMPTY}#encode): remove the entry"],
        [f"{known}:8", f"{EMPTY}#encode expired on 2027-06-29: fix the bug, or set a new date"],
        [f"{known}:9", "expected id-or-pattern failure-class expiry-or-dash link reason; missing: expiry-or-dash, link, reason"],
        [f"{known}:10", f"expected one of {', '.join(FAILURES)}, found 'other'"],
        [f"{known}:11", "expected a date such as 2027-06-30, or -, found '2027-06-31'"],
        [f"{known}:12", "scuttlebutt/codec/delta-[a-e]*#decode is already listed as rejected, in line 3"],
    ]
    for case, status, said in (
        (f"{EMPTY}#decode", "known", "  as  listed\n"),
        (f"{EMPTY}#encode", "known", "  expired\n"),
        ("scuttlebutt/codec/delta-of-two#decode", "failed", "first difference (rejected)"),
        ("scuttlebutt/codec/delta-of-cyrillic#decode", "failed", f"  listed as value in {known}:4, but it fails as rejected\n"),
        ("scuttlebutt/codec/reject-type-4#rejects", "stale", f"stale: it passes, though {known}:5 lists it: delete this line\n"),
    ):
        assert texts[case].split()[1] == f"{status}:"
        assert said in texts[case]


def test_skipped_cases_are_grouped_by_layer_and_reason_the_most_first() -> None:
    skipped = {"swim/codec/a#decode": "no codec", "swim/exchange/b": "no nodes", "swim/exchange/c": "no nodes"}
    results = [{"id": name, "status": "skipped", "reason": reason} for name, reason in skipped.items()]
    script = f"""
    import {{ groupSkipped }} from "{RUNNER.as_uri()}/runner.mjs";
    const groups = groupSkipped({json.dumps([*results, {"id": "swim/codec/d#decode", "status": "passed"}])});
    console.log(JSON.stringify(groups.map(({{ cases, ...group }}) => ({{ ...group, cases: cases.map(({{ id }}) => id) }}))));
    """

    assert json.loads(node(script)) == [
        {"layer": "swim/exchange", "reason": "no nodes", "cases": ["swim/exchange/b", "swim/exchange/c"]},
        {"layer": "swim/codec", "reason": "no codec", "cases": ["swim/codec/a#decode"]},
    ]


def test_texts_keep_their_bytes() -> None:
    """Also if they are not UTF-8, or begin with a byte order mark."""
    texts = {"c3a9": "é", "": "", "efbbbf61": "\ufeffa", "eda080": {"hex": "eda080"}, "0080ff": {"hex": "0080ff"}}
    script = f"""
    import {{ Text }} from "{RUNNER.as_uri()}/runner.mjs";
    const plain = {json.dumps(list(texts))}.map((digits) => Text.plain(Buffer.from(digits, "hex")));
    console.log(JSON.stringify([plain, plain.map((text) => Text.bytes(text).toString("hex"))]));
    """

    plain, digits = json.loads(node(script))

    assert dict(zip(digits, plain, strict=True)) == texts


#: Serves the implementation of a module.
SERVE = f'import {{ serve }} from "{RUNNER.as_uri()}/serve.mjs"; await serve((await import(process.argv[1])).implementation);'


def ask(path: Path, *lines: str) -> list[dict[str, Any]]:
    """The lines that a served implementation writes."""
    said = node(SERVE, path, lines="".join(f"{line}\n" for line in lines))
    return [json.loads(line) for line in said.splitlines()]


OPEN = {"op": "open", "protocol": "scuttlebutt", "addr": "a:1", "now_ms": 5}
RECEIVE = {"op": "recv", "handle": 1, "now_ms": 6, "from": "b:1", "bytes": "03"}


def test_a_line_that_is_no_request_is_answered(tmp_path: Path) -> None:
    lines = [
        "",
        "no JSON",
        "7",
        "null",
        "[]",
        "{}",
        '{"id": 1, "op": "constructor"}',
        '{"id": 2, "op": "hello", "protocol": [2, 3]}',
    ]

    replies = ask(plug(tmp_path), *lines, '{"id": 3, "op": "hello"}', '{"id": 4, "op": "bye"}', '{"id": 5, "op": "bye"}')

    codes = [reply.get("error", {}).get("code") for reply in replies]
    assert codes == [*["bad_request"] * 5, *["unknown_op"] * 2, "version", "panic", None]
    assert [reply["id"] for reply in replies] == [*[None] * 6, 1, 2, 3, 4]


def test_what_the_implementation_throws_or_returns_is_answered(tmp_path: Path) -> None:
    receive = 'if (now === 6) throw "a text"; if (now === 7) throw undefined; throw new Error("no");'
    decode = {"op": "decode", "protocol": "scuttlebutt", "bytes": "03"}
    requests: list[dict[str, Any]] = [
        OPEN,
        *({**RECEIVE, "now_ms": now} for now in (6, 7, 8)),
        {**RECEIVE, "bytes": "3"},
        {**RECEIVE, "now_ms": 6.5},
        {**RECEIVE, "handle": 2},
        {"op": "sent", "handle": 1, "now_ms": 6, "to": "b:1", "bytes": "03", "took_us": None},
        {"op": "stream", "handle": 1, "now_ms": 6, "conn": "one", "event": "data", "bytes": "03"},
        {"op": "stream", "handle": 1, "now_ms": 6, "conn": "one", "event": "eof"},
        decode,
        {**decode, "protocol": "swim"},
        {"op": "encode", "protocol": "scuttlebutt", "value": None},
        {"op": "serve", "protocol": "scuttlebutt"},
        {"op": "batch", "items": [{"op": "batch", "items": []}, {"op": "advance", "handle": 1, "now_ms": 9}, None]},
        {"op": "close", "handle": 1},
        {"op": "advance", "handle": 1, "now_ms": 9},
    ]

    replies = ask(plug(tmp_path, receive), *(json.dumps({"id": at, **request}) for at, request in enumerate(requests)))

    codes = [reply.get("error", {}).get("code") for reply in replies]
    assert codes[:4] == [None, "panic", "panic", "panic"]
    assert codes[4:8] == ["bad_request", "bad_request", "no_handle", "unsupported"]
    assert codes[8:14] == [None, None, "panic", "unsupported", "unsupported", "unknown_op"]
    assert codes[14:] == [None, None, "no_handle"]
    assert "a text" in replies[1]["error"]["message"]
    assert replies[8]["effects"] == [{"stream": {"conn": "one", "event": "data", "bytes": "03"}}]
    assert replies[9]["effects"] == [{"stream": {"conn": "one", "event": "close"}}]
    assert "BigInt" in replies[10]["error"]["message"]
    assert [result.get("error", {}).get("code") for result in replies[14]["results"]] == ["unknown_op", None, "bad_request"]
    assert replies[14]["results"][1] == {"ok": True, "effects": [], "next_timer_ms": 1009}


def test_a_reply_that_the_pipe_takes_in_pieces_is_written_whole(tmp_path: Path) -> None:
    """Some programs start an adapter with a pipe that does not wait until there is room."""
    data = {"op": "stream", "handle": 1, "now_ms": 6, "conn": "one", "event": "data", "bytes": "03" * 2**18}
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    command = [require("node"), "--input-type=module", "--eval", SERVE, str(plug(tmp_path))]

    with open(reading) as said, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writing, text=True) as process:
        os.close(writing)
        assert process.stdin is not None
        process.stdin.writelines(json.dumps({"id": at, **request}) + "\n" for at, request in enumerate((OPEN, data)))
        process.stdin.close()
        replies = list(map(json.loads, said))

    assert [effect["stream"]["bytes"] for effect in replies[1]["effects"]] == [data["bytes"]]


def test_messages_of_a_served_node_have_its_transport(tmp_path: Path) -> None:
    path = plug(tmp_path, "return { effects: [{ send: { to: from, bytes } }] };")
    serving = 'async serve() { return [new Node(), { udp: "127.0.0.1:1" }]; },\n  open:'
    path.write_text(path.read_text().replace("open:", serving))
    request = {"op": "serve", "protocol": "scuttlebutt", "via": ["udp"], "bind": "127.0.0.1"}

    _, reply = ask(path, json.dumps({"id": 1, **request}), json.dumps({"id": 2, **RECEIVE}))

    assert reply["effects"] == [{"send": {"via": "udp", "to": "b:1", "bytes": "03"}}]


def test_questions_have_sorted_options_each_once(tmp_path: Path) -> None:
    receive = """
    const partner = this.choose("round.partner", "one", ["b:1", { hex: "ff" }, "é", "b:1", "a:1"]);
    const order = this.choose("digest.order", "sample", [10, 9, 100], 2);
    const alone = this.choose("round.seed", "permutation", ["a:1", "a:1"]);
    return { effects: [{ event: { name: "join", partner, order, alone } }], nextTimer: 7 };"""
    batch = {"id": 2, "op": "batch", "items": [{"id": "item", **RECEIVE}]}
    answers = [{"choice": {"for": "item", "n": 1, "pick": [3]}}, {"choice": {"for": "item", "n": 2, "pick": [2, 0]}}]

    lines = ask(plug(tmp_path, receive), json.dumps({"id": 1, **OPEN}), *map(json.dumps, (batch, *answers)))

    assert lines[1]["choice"] == {
        "for": "item",
        "n": 1,
        "kind": "one",
        "site": "round.partner",
        "of": ["a:1", "b:1", "é", {"hex": "ff"}],
    }
    assert lines[2]["choice"] == {"for": "item", "n": 2, "kind": "sample", "site": "digest.order", "of": [9, 10, 100], "some": 2}
    (result,) = lines[3]["results"]
    assert result["effects"] == [
        {"event": {"name": "join", "partner": [{"hex": "ff"}], "order": [100, 9], "alone": ["a:1"]}},
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: ENOENT"),
        ("no JSON", "cannot be read: Unexpected token"),
        ("[]", "is not a bundle of vectors"),
        ('{"format": 2}', "has format 2; this runner reads 1"),
    ],
)
def test_what_is_no_bundle_is_said(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    if content is not None:
        path.write_text(content)

    loading = "try { load(process.argv[1]) } catch (error) { console.log(error.message) }"
    message = node(f'import {{ load }} from "{RUNNER.as_uri()}/runner.mjs"; {loading}', path)

    assert message.startswith(f"{path} {said}")
    assert "To do: write bundle and runner again, with `peerproof vectors export" in message
