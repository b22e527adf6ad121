"""Decoders under bytes that are nearly messages: mistakes are found, made small, kept, and become vectors."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import cast

import pytest
from tests.conformance.conftest import Capture
from tests.conformance.mistakes.scuttlebutt import wire
from tests.support import mistaken_codecs
from tests.support.catching import path_of, suite
from tests.support.implementations import Generous, NoCodec, RaisesInBatches
from tests.support.light_install import run_without_extras

from peerproof.cli import fuzz_bytes
from peerproof.cli.fuzz_search import print_again
from peerproof.cli.main import main
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.fuzz.bytes.byte_mutation import mutate
from peerproof.conformance.fuzz.bytes.byte_promotion import vector_of
from peerproof.conformance.fuzz.bytes.byte_shrinking import Shrinking
from peerproof.conformance.fuzz.bytes.coverage_guided import Guided
from peerproof.conformance.fuzz.bytes.effort import effort
from peerproof.conformance.fuzz.bytes.flaws import Flaw, flaw_of
from peerproof.conformance.fuzz.bytes.foreign import Decoder, Search
from peerproof.conformance.fuzz.bytes.seeds import Seeds, read, seeds_of
from peerproof.conformance.fuzz.corpus import BYTE_FINDINGS, BYTES, Corpus
from peerproof.conformance.fuzz.known_findings import KnownFindings
from peerproof.conformance.fuzz.search_settings import MOST_RESTARTS
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.reference.divergences.scuttlebutt import BD04
from peerproof.reference.harness.harness import Harness
from peerproof.spec.protocols import PROTOCOLS

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def seeds() -> Seeds:
    """Of Scuttlebutt."""
    return seeds_of(suite(), "scuttlebutt")


def guided(seeds: Seeds, corpus: Corpus, name: str) -> Guided:
    """A search through one of the mistaken codecs."""
    codec = getattr(mistaken_codecs, name)
    return Guided(replace(seeds, codec=codec), corpus, f"{mistaken_codecs.__name__}:{name}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_bytes_of_every_codec_vector_show_no_flaw_of_the_specification(protocol: str, tmp_path: Path) -> None:
    """Whether they are messages or not; and what is nearly one of them shows none either."""
    seeds = seeds_of(suite(), protocol)
    search, lot = Guided(seeds, Corpus(tmp_path, protocol), ""), Random(0)

    data = (*seeds.data[::20], *(mutate(lot, seeds.data, 500) for _ in range(50)))

    assert [flaw for one in data if (flaw := search.check(one))] == []
    assert len([one for one in data if read(seeds, one) is not None]) > 2


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("PAST_THE_END", "0300", "raised"),
        ("LOSSY", "01 00 1000000000000000", "second-form"),
        ("UNREADABLE", "01", "unreadable"),
        ("QUADRATIC", "03" + "00" * 1500, "slow"),
        ("ENDLESS", "0300", "slow"),
        ("BELIEVING", "03ff", "slow"),
    ],
)
def test_what_is_wrong_with_a_decoder_is_said_of_one_input(name: str, data: str, kind: str, seeds: Seeds, tmp_path: Path) -> None:
    """In lines and bytes, not in seconds."""
    search = guided(seeds, Corpus(tmp_path, "scuttlebutt"), name)

    flaw = search.check(bytes.fromhex(data))

    assert flaw is not None
    assert flaw.kind == kind


def test_the_same_call_takes_the_same_effort(seeds: Seeds) -> None:
    data = seeds.data[-1]

    first, second = (effort(lambda: seeds.codec.decode(data), len(data)) for _ in range(2))

    assert first.lines == second.lines > 0


def search_for(guided: Guided, way: str, runs: int) -> Flaw | None:
    """What a search with or without the guide finds."""
    return guided.search(seed=0, inputs=runs, seconds=None, guided=way != "unguided")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way", "kind", "shown"),
    [
        ("PAST_THE_END", "guided", "raised", b"\x03\x00"),
        ("BEHIND_A_LETTER", "guided", "raised", b"~"),  # by the code that it reaches
        ("PAST_THE_END", "unguided", "raised", b"\x03\x00"),
        ("LOSSY", "unguided", "second-form", b""),
    ],
)
def test_a_mistake_in_a_codec_is_found_made_small_kept_and_found_again(
    name: str, way: str, kind: str, shown: bytes, seeds: Seeds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_spec("atheris"), "pip install 'peerproof[fuzz-bytes]'"
    monkeypatch.syspath_prepend(ROOT)
    corpus = Corpus(tmp_path, "scuttlebutt")

    flaw = search_for(guided(seeds, corpus, name), way, 100_000)

    assert flaw is not None
    assert flaw.kind == kind
    assert shown in flaw.data
    assert [data for _, data in corpus.inputs(BYTE_FINDINGS)] == [flaw.data]
    again = guided(seeds, corpus, name)
    found = search_for(again, way, 0)
    assert found is not None
    assert found.what == flaw.what
    assert again.replayed == 1


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_guide_nothing_is_found_in_the_specification(protocol: str, capsys: Capture) -> None:
    assert main(["fuzz", protocol, "--bytes", "--unguided", "--seed", "7"]) == 0

    assert f"{protocol}: nothing found in 20,000 inputs, from seed 7\n" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("impl", [(), ("--impl", f"{sys.executable} -m peerproof.reference.harness.harness")])
def test_decoders_are_fuzzed_with_the_base_dependencies_alone(impl: tuple[str, ...]) -> None:
    done = run_without_extras("fuzz", "swim", "--bytes", *(impl or ("--unguided",)))

    assert (done.returncode, "swim: nothing found in 2" in done.stdout) == (0, True), done.stderr


def test_what_finds_it_again_has_all_that_was_said(capsys: Capture) -> None:
    said = {
        "impl": None,
        "profile": "quick",
        "nodes": None,
        "seed": 7,
        "corpus": None,
        "known": None,
        "decisions": "report",
        "strict": False,
        "restarts": MOST_RESTARTS,
        "hello_timeout": Timeouts().hello,
        "op_timeout": 0,
        "bye_timeout": Timeouts().bye,
    }

    print_again(Namespace(protocol="swim", bytes=True, unguided=True, **said), None, "unwritable", dict)

    assert capsys.readouterr().out == "  again: peerproof fuzz swim --bytes --unguided --profile quick --seed 7 --op-timeout 0\n"


@pytest.mark.slow
def test_the_same_seed_reaches_the_same_code_on_the_same_way(seeds: Seeds, tmp_path: Path) -> None:
    searches = [Guided(seeds, Corpus(tmp_path / name, "scuttlebutt"), "peerproof.spec.scuttlebutt:MESSAGE") for name in "ab"]

    assert [search.search(seed=3, inputs=3_000, seconds=None) for search in searches] == [None, None]

    first, second = (sorted(data for _, data in search.corpus.inputs(BYTES)) for search in searches)
    assert first == second != []
    assert searches[0].status == searches[1].status


@pytest.mark.slow
def test_nothing_is_found_in_the_specification_and_what_led_somewhere_new_is_kept(tmp_path: Path, capsys: Capture) -> None:
    assert main(["fuzz", "scuttlebutt", "--bytes", "--corpus", str(tmp_path)]) == 0

    assert "scuttlebutt: nothing found in 20,000 inputs, from seed 0\n" in capsys.readouterr().out
    corpus = Corpus(tmp_path, "scuttlebutt")
    assert list(corpus.inputs(BYTES))
    assert corpus.position("peerproof.spec.scuttlebutt:MESSAGE --bytes --seed 0") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "kind"),
    [(BD04, "crashed"), (wire.VersionsAreDoubles, "value")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_wrong_decoder_of_an_implementation_is_found_and_becomes_a_vector(
    variant: type, kind: str, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "kept/scuttlebutt/codec/found.yaml"

    fuzz = ["fuzz", "scuttlebutt", "--bytes", "--decisions", "strict", "--impl", f"py:{path_of(variant)}"]
    assert main([*fuzz, "--promote", str(file)]) == 1

    text = capsys.readouterr().out
    assert text.startswith(f"FOUND {kind}: ")
    assert f"kept:  {file}, which the implementation fails and the reference passes" in text
    vectors = ("--vectors", str(tmp_path / "kept"))
    assert main(["vectors", "lint", *vectors]) == 0
    assert main(["run", *vectors, "--impl", f"py:{path_of(variant)}", "--decisions", "strict"]) == 1


def searched(seeds: Seeds, variant: type, corpus: Corpus | None, seed: int = 0, inputs: int = 20_000) -> Search:
    """A search through the decoder of a class."""
    adapter = InProcess(path_of(variant), Timeouts(op=0), "")
    adapter.start()
    search = Search(seeds, Decoder(adapter, seeds), corpus, None)
    try:
        search.search("some", seed, inputs)
    finally:
        adapter.kill()
    return search


def test_what_is_no_message_and_accepted_is_found_too(seeds: Seeds) -> None:
    search = searched(seeds, Generous, None)

    assert search.flaw is not None
    assert (search.flaw.kind, search.flaw.data) == ("accepted", b"\x02\x00")


class Exiting:
    """A decoder that exits at each input."""

    longest = 100

    def check_all(self, inputs: Sequence[bytes]) -> list[tuple[Flaw, str]]:
        """See `Decoder`: nothing is known of the inputs after a failure."""
        return [(Flaw("crashed", inputs[0], "it exited"), "trouble")]


def test_a_known_failure_hides_no_other_input(seeds: Seeds) -> None:
    search = Search(seeds, cast("Decoder", Exiting()), None, None, known=KnownFindings({"crashed/it-exited": "not mended yet"}))

    search.search("some", 0, 0)

    assert search.flaw is None
    assert search.inputs == len({data[: Exiting.longest] for data in seeds.data}) > 1


CRASH = "crashed/truncated/at-decode-the-implementation-raised-RuntimeError-IndexError"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("impl", "how", "known", "exit_code", "line"),
    [
        ("divergence:BD-04", ["--bytes"], "", 0, rf"differs, [89] times: {CRASH}: only BA-20 asks for this"),
        ("divergence:BD-04", [], "", 0, r"differs, 6 times: crashed/truncated: only BA-20 asks for this"),
        ("divergence:BD-04", ["--bytes"], CRASH, 0, rf"known, [89] times: {CRASH}: not mended yet"),
        ("divergence:BD-04", [], "crashed/truncated", 0, "known, 6 times: crashed/truncated: not mended yet"),
        (f"py:{path_of(RaisesInBatches)}", ["--bytes"], "", 3, ""),
    ],
    ids=["differs in bytes", "differs in nodes", "known in bytes", "known in nodes", "fails in batches only"],
)
def test_too_many_crashes_end_the_search_which_says_so_and_names_each_once(
    impl: str, how: list[str], known: str, exit_code: int, line: str, tmp_path: Path, capsys: Capture
) -> None:
    """An input of a decoder that crashes costs two restarts: in its batch, and alone."""
    file, most = tmp_path / "known.txt", 18 if how else 6
    file.write_text(f"{known} not mended yet\ncrashed/other not seen before the end\n" if known else "")
    fuzz = ["fuzz", "scuttlebutt", *how, "--impl", impl, "--profile", "ci", "--restarts", str(most), "--known", str(file)]

    assert main(fuzz) == exit_code

    text, said = capsys.readouterr()
    label = "error" if exit_code else "warning"
    assert f"{label}: the search ended early: the implementation was started again {most} times (a hang counts as 10)\n" in said
    assert f"answer with the error panic instead of ending; --restarts {most}0 goes on for longer\n" in said
    assert "but not found this time" not in said
    if not exit_code:
        assert re.search(rf"nothing found in .*, from seed 0, before the search ended early\n(?:.*\n)*?  {line}", text)


def test_the_same_seed_finds_the_same(seeds: Seeds) -> None:
    found = [searched(replace(seeds, data=(b"\x02",)), Generous, None, seed=7) for _ in range(2)]

    assert found[0].flaw is not None
    assert found[0].flaw == found[1].flaw
    assert found[0].inputs == found[1].inputs


def test_a_finding_is_replayed_first_until_it_is_mended(seeds: Seeds, tmp_path: Path) -> None:
    """And what was interesting stays."""
    corpus = Corpus(tmp_path, "scuttlebutt")
    found = searched(seeds, Generous, corpus)

    again, mended = searched(seeds, Generous, corpus), searched(seeds, Harness, corpus, inputs=512)

    assert again.flaw == found.flaw
    assert (again.inputs, again.replayed) == (0, 1)
    assert (mended.flaw, mended.gone) == (None, 1)
    assert [data for _, data in corpus.inputs(BYTE_FINDINGS)] == [b"\x02\x00"]


def test_a_search_goes_on_where_it_ended_and_takes_any_file_for_an_input(seeds: Seeds, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, "scuttlebutt")
    searched(seeds, Harness, corpus, inputs=512)
    garbage = corpus.folder(BYTES) / "garbage.txt"
    garbage.write_bytes(b"\x00garbage" * 10_000)

    searched(seeds, Harness, corpus, inputs=512)

    assert corpus.position("some") == 4
    assert garbage.stat().st_size == 80_000


def test_a_flaw_of_the_specification_becomes_the_vector_that_it_should_pass(seeds: Seeds) -> None:
    """No message: to be rejected. A message: to be read so."""
    spoilt = replace(seeds, codec=mistaken_codecs.PAST_THE_END)
    flaw = flaw_of(spoilt.codec, b"\x03\x00", one_form=True)
    assert flaw is not None

    vector = vector_of(spoilt, flaw)

    assert "BA-20" in vector["clauses"]
    assert (vector["bytes"], vector["rejects"]) == ("0300", {})
    assert vector_of(seeds, Flaw("value", b"\x01", ""))["message"] == {"type": "digest_request", "entries": []}


def test_bytes_get_smaller_as_long_as_they_show_the_same(seeds: Seeds) -> None:
    def judge(data: bytes) -> Flaw | None:
        return Flaw("accepted", data, "") if b"\x07" in data and len(data) > 2 else None

    shrinking = Shrinking(seeds.codec, judge, Flaw("accepted", b"abcdefg\x07hijkl", ""))
    shrinking.shrink()

    assert sorted(shrinking.flaw.data) == [0, 0, 7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--bytes", "--impl", "x"], "unknown protocol 'nowhere'"),
        (["scuttlebutt", "--bytes", "--impl", "x", "--nodes", "2"], "--nodes cannot be combined with --bytes"),
        (
            ["scuttlebutt", "--bytes", "--impl", "x", "--promote", "a/scuttlebutt/exchange/b.yaml"],
            "expected …/scuttlebutt/codec/NAME.yaml",
        ),
        (["scuttlebutt", "--bytes", "--impl", "x", "--minutes", "1", "--seconds", "1"], "not allowed with argument"),
        (["scuttlebutt", "--unguided"], "--unguided is for the specification's own decoder"),
        (["scuttlebutt", "--bytes", "--unguided", "--impl", "py:a:B"], "--unguided is for the specification's own decoder"),
    ],
    ids=["protocol", "nodes", "place of the vector", "two limits", "no bytes", "an implementation"],
)
def test_a_mistake_in_the_command_line_ends_with_2(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(["fuzz", *arguments]) == 2

    assert message in capsys.readouterr().err


def test_without_atheris_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(fuzz_bytes, "find_spec", lambda _: None)

    assert main(["fuzz", "scuttlebutt", "--bytes"]) == 2

    tip = "pip install 'peerproof[fuzz-bytes]', or add --unguided"
    first, said, *notes = capsys.readouterr().err.splitlines()
    assert (first, said) == ("error: atheris is not installed", f"tip: {tip}")
    assert all("this peerproof came from" in note for note in notes)  # in a checkout, which pip does not find by name


@pytest.mark.slow
def test_an_adapter_without_a_codec_ends_with_3(capsys: Capture) -> None:
    assert main(["fuzz", "scuttlebutt", "--bytes", "--impl", f"py:{path_of(NoCodec)}"]) == 3

    assert "cannot be fuzzed: it does not offer codec" in capsys.readouterr().err
