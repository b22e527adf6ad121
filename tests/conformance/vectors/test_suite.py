"""Loading vectors: what is derived, what is an error, and the compiled form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.vector_files import CODEC, EXCHANGE

from peerproof.conformance.authoring import lint
from peerproof.conformance.suite.strict_yaml import parse
from peerproof.conformance.vectors import compiled, vector_file
from peerproof.conformance.vectors import suite as vectors
from peerproof.conformance.vectors.suite import VectorError, load

if TYPE_CHECKING:
    from tests.conformance.conftest import Written


def test_a_vector_says_where_it_stands_and_what_it_needs(written: Written) -> None:
    suite = load(written())

    assert [vector.id for vector in suite.vectors] == [
        "scuttlebutt/codec/request-of-one",
        "scuttlebutt/codec/request-cut",
        "scuttlebutt/exchange/delta-then-response",
    ]
    first, _, third = suite.vectors
    assert (first.protocol, first.layer, first.file, first.line) == ("scuttlebutt", "codec", "scuttlebutt/codec/some.yaml", 7)
    assert first.needs == ("codec",)
    assert third.needs == ("api.update_local", "events", "exchange", "observe.peers")
    assert suite.notes["edge"]["kind"] == "edge"


def test_bytes_become_digits_without_blanks_and_repetitions_and_protocols_own_data_stays(written: Written, exchange: str) -> None:
    odd = exchange.replace("args: {key: k, value: v}", 'args: {key: {hex: "FF fe"}, value: v, bytes: "A b"}')
    odd = odd.replace('"01 03613a31', '"(0A b1)x3 (20)x2 1f 03613a31')

    body = load(written(exchange=odd)).vectors[0].body

    assert body["steps"][0]["send"]["bytes"] == "0ab10ab10ab120201f03613a31000000000000000203623a310000000000000000"
    assert body["setup"][0]["call"]["args"] == {"key": {"hex": "fffe"}, "value": "v", "bytes": "A b"}


def test_restart_and_events_of_a_branch_are_needs_too(written: Written, exchange: str) -> None:
    text = exchange.replace(
        "  - expect: {quiet_until: 500}\n",
        "  - at: 20\n    crash: node\n"
        "  - expect:\n"
        "      any_of:\n"
        "      - {branch: silent, verdict: conformant, because: it may, messages: {ordered: []}}\n"
        "      - {branch: loud, verdict: tolerated, because: older text, events: {any: true}}\n",
    ).replace("      events: {contains", "      # events: {contains")

    assert load(written(exchange=text)).vectors[0].needs == ("api.update_local", "events", "exchange", "observe.peers", "restart")


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("rev: 1", "rve: 1", "6:3", "unknown field 'rve' (did you mean 'rev'?); expected one of id, rev, title"),
        ("  rev: 1\n", "", "5:3", "missing field 'rev'"),
        ("rev: 1", "rev: one", "6:8", 'expected an integer, found "one"'),
        ("level: must", "level: mus", "8:10", "expected one of must, should, may, found \"mus\" (did you mean 'must'?)"),
        ("B-13, B-14", "B-13, B14", "9:19", 'expected a clause such as B-14 or BA-05, found "B14"'),
        ("B-13, B-14", "B-13, B-13", "9:12", '"B-13" occurs twice'),
        ("delta-then-response", "Delta", "5:7", "expected PROTOCOL/LAYER/name-with-hyphens"),
        ("exchange/delta-then", "codec/delta-then", "10:3", "unknown field 'nodes'"),
        ('addr: "b:1"', "addr: 12", "11:18", "expected a string, or {hex: …} for bytes that are not UTF-8, found 12"),
        ("role: scripted", "role: script", "12:31", 'expected scripted, found "script"'),
        ("send: {from: peer", "sends: {from: peer", "18:5", "unknown field 'sends' (did you mean 'send'?)"),
        ("send: {from: peer, to: node, ", "send: {from: peer, ", "18:11", "missing field 'to' of 'send'"),
        ("  - at: 10\n    send", "  - send", "17:5", "'send' needs 'at' beside it"),
        ("  - expect:\n", "  - at: 10\n    expect:\n", "20:5", "'expect' cannot be combined with at"),
        ('"01 03613a31', '"1 03613a31', "18:41", "expected hexadecimal digits in pairs"),
        ('"01 03613a31', '"(01)x3 (2)x5 03613a31', "18:41", "expected hexadecimal digits in pairs"),
        ('"01 03613a31', '"(01)x303613a31', "18:41", "expected hexadecimal digits in pairs"),
        ('"01 03613a31', '"(01)x99999999 03613a31', "18:41", "expected hexadecimal digits in pairs"),
        ('bytes: "01', 'byte: "01', "18:34", "unknown field 'byte' (did you mean 'bytes'?)"),
        ('bytes: "01', 'message: {type: delta}, bytes: "01', "18:11", "expected exactly one of bytes, message; found bytes and"),
        ("{multiset: [", "{multiset: {", "26:66", "nothing is null"),
        ('{multiset: ["a:1", "b:1"]}', "{multiset: a}", "26:60", 'expected a list, found "a"'),
        ('{multiset: ["a:1", "b:1"]}', "{any: false}", "26:55", "expected true, found false"),
        ("- expect: {quiet_until: 500}", "- expect: {}", "25:13", "expected at least one of within, messages"),
        ("{quiet_until: 500}", "{quiet_until: 5}", "25:27", "time runs backwards: 5 after 10"),
        ("call: {node: node", "call: {node: noed", "15:18", "node 'noed' does not exist (did you mean 'node'?); expected node"),
        ("observe: {node: node", "observe: {node: peer", "26:21", "node 'peer' is scripted; expected node"),
        ('addr: "a:1"', 'addr: "b:1"', "12:18", "node already has the address 'b:1'"),
        ('b:1", config: {max_payload: 512}', 'b:1", role: scripted', "11:5", "no node is under test"),
        ("protocol: scuttlebutt", "protocol: swim", "2:11", "expected 'scuttlebutt', after the file's folder"),
        ("format: 1", "format: 2", "1:9", "expected 1, found 2"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_an_error_with_its_place(
    written: Written, exchange: str, old: str, new: str, place: str, message: str
) -> None:
    assert old in exchange
    spoilt = exchange.replace(old, new, 1)

    with pytest.raises(VectorError) as caught:
        load(written(exchange=spoilt))

    assert f"{caught.value.line}:{caught.value.column}" == place
    assert message in caught.value.message


@pytest.mark.slow
@given(data=st.data())
def test_a_spoilt_file_is_an_error_with_its_place_and_never_anything_else(data: st.DataObject) -> None:
    """Any part of a right file may be gone, renamed or anything else; reading it ends, and so does linting what is left."""
    document = json.loads(json.dumps(parse(data.draw(st.sampled_from([CODEC, EXCHANGE])).encode(), "right").data))
    layer = document["vectors"][0]["id"].split("/")[1]
    for _ in range(data.draw(st.integers(1, 3))):
        spoil(document, data)
    text = json.dumps(document, indent=1)

    try:
        spoilt = parse(text.encode(), "spoilt")
        found = vector_file.problems(spoilt, PurePosixPath(f"scuttlebutt/{layer}/some.yaml"))
    except VectorError as error:
        found = [error]
    if not found:
        lint.findings([lint.Source(Path("some.yaml"), text, spoilt)])

    assert all(error.line >= 1 and error.column >= 1 for error in found)


#: What may stand where something else should, as JSON so that each use is a fresh value.
JUNK = ("null", "true", "0", "-1", "9007199254740993", '""', '"0g"', "[]", "{}", "[[]]", '{"hex": "zz"}', '{"bind": {}}')

NAMES = ("bytes", "message", "rejects", "at", "expect", "any", "x", "on")


def spoil(document: Any, data: st.DataObject) -> None:
    """Removes, renames or replaces one part of a document."""
    parts = [(parent, key) for parent in _collections(document) for key in _keys(parent)]
    if not parts:
        return
    parent, key = data.draw(st.sampled_from(parts))
    how = data.draw(st.sampled_from(["remove", "rename", "replace"]))
    if how == "remove":
        del parent[key]
    elif how == "rename" and isinstance(parent, dict):
        parent[data.draw(st.sampled_from(NAMES))] = parent.pop(key)
    else:
        parent[key] = json.loads(data.draw(st.sampled_from(JUNK)))


def _keys(parent: Any) -> list[Any]:
    return list(parent if isinstance(parent, dict) else range(len(parent)))


def _collections(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _collections(part)


def test_a_message_is_a_codec_vectors_or_it_rejects_bytes_or_a_family(written: Written, codec: str) -> None:
    both = codec.replace("  family:", '  bytes: "01"\n  family:')
    beyond = codec.replace("truncate: {bytes", "flip: {at: [13, 14], bytes")

    with pytest.raises(VectorError, match=r"17:3: expected exactly one of bytes, family; found bytes and family"):
        load(written(codec=both))
    with pytest.raises(VectorError, match=r"22:28: there is no byte 14; expected 0 to 13"):
        load(written(codec=beyond))


def test_an_id_is_used_once_and_a_vector_stands_in_the_folder_of_its_layer(written: Written, codec: str) -> None:
    with pytest.raises(VectorError, match=r"some.yaml:17:7: id scuttlebutt/codec/request-of-one occurs twice, first at .*:7"):
        load(written(codec=codec.replace("request-cut", "request-of-one")))
    with pytest.raises(VectorError, match="belongs in a file in scuttlebutt/codec/, not scuttlebutt/exchange/"):
        load(written(exchange=codec))


def test_a_file_anywhere_else_is_an_error_and_not_ignored(written: Written, tmp_path: Path) -> None:
    root = written()
    (root / "stray.yml").write_text("a: 1\n")

    with pytest.raises(VectorError, match=r"expected a path like PROTOCOL/LAYER/TOPIC.yaml") as refused:
        load(root)
    assert f"--vectors {root / 'stray.yml'}" in str(refused.value.tip)
    with pytest.raises(VectorError, match="no such folder or file of vectors"):
        load(tmp_path / "nowhere")


def test_retired_ids_lead_on_or_say_why(written: Written) -> None:
    root = written()
    (root / "retired.yaml").write_text(
        "format: 1\n"
        "aliases: {scuttlebutt/codec/one: scuttlebutt/codec/request-of-one}\n"
        "withdrawn: {scuttlebutt/codec/gone: it was wrong}\n"
    )

    suite = load(root)

    assert suite.aliases == {"scuttlebutt/codec/one": "scuttlebutt/codec/request-of-one"}
    assert suite.withdrawn == {"scuttlebutt/codec/gone": "it was wrong"}


@pytest.mark.parametrize(
    ("retired", "message"),
    [
        ("aliases: {scuttlebutt/codec/one: scuttlebutt/codec/nowhere}", "which does not exist"),
        ("withdrawn: {scuttlebutt/codec/request-cut: wrong}", "is used again"),
        ("withdrawn: {scuttlebutt/codec/gone: 1}", "expected the reason, found 1"),
        ("alias: {}", "unknown field 'alias' (did you mean 'aliases'?)"),
    ],
)
def test_retired_ids_are_checked(written: Written, retired: str, message: str) -> None:
    root = written()
    (root / "retired.yaml").write_text(f"format: 1\n{retired}\n")

    with pytest.raises(VectorError) as caught:
        load(root)

    assert message in str(caught.value)


def test_a_change_of_the_sources_is_seen(written: Written, codec: str) -> None:
    before = load(written(codec=codec))
    after = load(written(codec=codec.replace("its type and its entries", "its type, then its entries")))

    assert before.digest != after.digest
    assert after.vectors[0].title == "a digest request is its type, then its entries"


def test_only_the_source_that_changes_is_compiled_again(written: Written, own_cache: Path, codec: str) -> None:
    def compiled_forms() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.json")}

    load(written())
    before = compiled_forms()

    assert load(written(codec=codec.replace("rev: 1", "rev: 2"))).vectors[0].rev == 2
    after = compiled_forms()
    assert (len(before), len(after)) == (3, 5)  # two sources, and an index of both; one source, and another index
    assert before.items() <= after.items()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": "other", "form": {}}', b"\xff"])
def test_a_damaged_compiled_form_is_compiled_again(written: Written, own_cache: Path, codec: str, damage: bytes) -> None:
    root = written(codec=codec)
    fresh = load(root)
    files = list(own_cache.rglob("*.json"))
    assert len(files) == 2  # the form, and the index
    for file in files:
        file.write_bytes(damage)

    assert load(root) == fresh
    for file in files:
        assert json.loads(file.read_bytes())["key"] == file.stem


def test_a_form_that_is_gone_is_compiled_again_when_a_body_is_needed(written: Written, own_cache: Path, codec: str) -> None:
    root = written(codec=codec)
    fresh = [vector.body for vector in load(root).vectors]
    (form,) = [path for path in own_cache.rglob("*.json") if "vectors" in json.loads(path.read_text())["form"]]
    again = load(root)
    for file in own_cache.rglob("*.json"):
        file.unlink()
    for path in root.rglob("*.yaml"):
        path.write_text("what has been read counts, not what stands here now")

    assert [vector.body for vector in again.vectors] == fresh
    assert form.name in {path.name for path in own_cache.rglob("*.json")}


def test_a_cache_that_cannot_be_written_costs_only_time(written: Written, own_cache: Path) -> None:
    root = written()
    own_cache.write_text("a file where the folder should be")

    assert len(load(root).vectors) == 3
    assert own_cache.read_text() == "a file where the folder should be"


def test_a_user_without_home_folder_has_no_cache(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    root = written()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/no/place")
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError))

    assert compiled.folder() is None
    assert len(load(root).vectors) == 3


def test_of_compiled_forms_those_go_that_were_not_used_for_longest(
    written: Written, own_cache: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [codec.replace("rev: 1", f"rev: {number + 1}") for number in range(4)]
    for age, source in enumerate(sources[:3]):
        load(written(codec=source))
        new = [path for path in own_cache.rglob("*.json") if path.stat().st_mtime > time.time() - 60]
        for path in new:
            os.utime(path, (0, time.time() - 90_000 + age))
    assert load(written(codec=sources[0])).vectors[0].body  # the oldest is used: its index and its form
    used = sorted(own_cache.rglob("*.json"), key=lambda path: -path.stat().st_mtime)[: len(new)]
    monkeypatch.setattr(compiled, "KEPT", 2 * sum(path.stat().st_size for path in used) + 50)  # no further file fits

    load(written(codec=sources[3]))

    assert len(list(own_cache.rglob("*.json"))) == 2 * len(new) == 4
    assert all(path.exists() for path in used)
    assert not list(own_cache.rglob("*.part"))


def test_with_a_compiled_form_the_vectors_are_the_same_and_neither_yaml_nor_jsonschema_is_imported(
    written: Written, own_cache: Path
) -> None:
    root = written()
    assert load(root) == load(root)
    assert len(list(own_cache.rglob("*.json"))) == 3
    program = (
        "import sys; from pathlib import Path; from peerproof.conformance.vectors.suite import load; "
        f"assert load(Path({str(root)!r})).vectors; print(sorted({{'yaml', 'jsonschema'}} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_the_suites_own_vectors_can_be_loaded() -> None:
    suite = vectors.load()

    assert {vector.protocol for vector in suite.vectors} >= {"scuttlebutt"}
    assert suite.version == f"{vectors.VERSION}+sha256:{suite.digest[:12]}"
