"""A campaign that keeps what it finds goes on where it ended, however it ended; a corpus that is spoilt is told."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.conformance.fuzz.corpus import FINDINGS, RUNS, Corpus, CorpusError
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.kept_runs import Keeper, plain_of, run_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.conformance.fuzz.shrinking import Run
from peerproof.conformance.fuzz.simulation import Action, Datagram
from peerproof.spec.core import NodeId
from peerproof.spec.protocols import PROTOCOLS

MOST_SECONDS = 300  #: that another process may take on a slow machine
NAME = "the specification --profile quick --nodes 1 --seed 0"


def fuzzed(corpus: Path, *arguments: str) -> int:
    """The exit code of a campaign of one node."""
    return main(["fuzz", "scuttlebutt", "--nodes", "1", "--corpus", str(corpus), *arguments])


@pytest.mark.slow
def test_a_campaign_that_was_killed_goes_on_where_it_ended(tmp_path: Path) -> None:
    """With nothing lost but the runs from the seed that it had just begun with."""
    options = ["fuzz", "scuttlebutt", "--nodes", "1", "--minutes", "60", "--corpus", str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-m", "peerproof.cli.main", *options])
    corpus, until = Corpus(tmp_path, "scuttlebutt"), time.monotonic() + MOST_SECONDS
    try:
        while not corpus.position(NAME):
            assert process.poll() is None
            assert time.monotonic() < until, "it has not got anywhere"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    reached, kept = corpus.position(NAME), {path for path, _ in corpus.documents(RUNS)}

    assert fuzzed(tmp_path) == 0

    assert corpus.position(NAME) == reached + 1
    assert {path for path, _ in corpus.documents(RUNS)} >= kept > set()


@pytest.mark.slow
def test_a_finding_is_kept_as_small_as_it_is_and_found_first_the_next_time(tmp_path: Path, capsys: Capture) -> None:
    impl = ("--impl", "divergence:BD-02", "--profile", "ci")
    corpus = Corpus(tmp_path, "scuttlebutt")
    garbage = corpus.folder(FINDINGS) / ".DS_Store"
    garbage.write_bytes(b"\0")

    assert fuzzed(tmp_path, *impl) == 1

    first = capsys.readouterr().out
    ((path, _),) = corpus.documents(FINDINGS)
    assert f"kept:  {path}, which is replayed first from now on" in first
    assert fuzzed(tmp_path, *impl) == 1
    again = capsys.readouterr().out
    assert "found in run 1\n" in again
    assert again.split("found in run")[0] == first.split("found in run")[0]
    assert fuzzed(tmp_path) == 0
    assert "findings that did not occur again: 1" in capsys.readouterr().err
    assert path.exists()
    assert garbage.exists()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("progress.json", '{"format": 1, "camp', "is not JSON"),
        ("progress.json", '{"format": 1, "campaigns": {"a": -1}}', "does not hold positions"),
        ("progress.json", '{"format": 2}', 'is not of "format": 1'),
        ("findings/a.json", "[]", 'is not of "format": 1'),
        ("findings/a.json", '{"format": 1, "dice": 0, "configs": [], "script": []}', "is not a run of scuttlebutt"),
        (
            "runs/a.json",
            '{"format": 1, "dice": 0, "configs": [["a:1", {"seeds": 7}]], "script": []}',
            "is not a run of scuttlebutt",
        ),
        ("runs/a.json", "\ufffd", "is not JSON"),
    ],
)
def test_a_file_that_is_spoilt_is_named_with_what_to_do_and_left_as_it_is(
    file: str, text: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "scuttlebutt" / file
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")

    assert fuzzed(tmp_path) == 2

    said = capsys.readouterr().err
    assert str(path) in said
    assert message in said
    assert "delete it" in said
    assert path.read_text(encoding="utf-8") == text


def test_a_corpus_that_is_no_folder_ends_with_2(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "corpus"
    file.write_text("mine")

    assert fuzzed(file) == 2

    assert "cannot be created" in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_kept_is_read_as_the_same_run(protocol: str, tmp_path: Path) -> None:
    inputs = inputs_of(protocol)
    runs: list[Run] = []
    campaign = Campaign(inputs, Specified(), nodes=3)
    campaign.keeper = _Listing(Corpus(tmp_path, protocol), runs)

    campaign.search(Profile(5, 20), 1)

    assert campaign.finding is None
    assert campaign.counts["run"] == len(runs) >= 5
    assert sum(len(run.script) for run in runs) > 20
    for run in runs:
        assert run_of(inputs.spec, json.loads(json.dumps(plain_of(inputs.spec, run)))) == run


class _Listing(Keeper):
    """Keeps every run, in a list."""

    def __init__(self, corpus: Corpus, runs: list[Run]) -> None:
        super().__init__(corpus, inputs_of(corpus.root.name))
        self._runs = runs

    def ran(self, run: Run, counts: Counter[str]) -> None:
        """Whatever happens in it."""
        assert counts["run"] == 1
        self._runs.append(run)


def test_only_a_run_in_which_something_new_happens_is_kept(tmp_path: Path) -> None:
    """Or the same twice as often."""
    keeper = Keeper(Corpus(tmp_path, "scuttlebutt"), inputs_of("scuttlebutt"))

    worth = [keeper.is_new(Counter(run=1, crash=crashes)) for crashes in (1, 1, 2, 3, 4)]

    assert worth == [True, False, True, False, True]


def test_addresses_that_are_no_text_are_kept_too() -> None:
    spec = inputs_of("scuttlebutt").spec
    odd, other = NodeId("\udcff"), NodeId("b:1")
    action = Action("deliver", odd, datagram=Datagram(odd, other, b"\x01", spec.MESSAGE.decode(b"\x01"), orphaned=True))
    run = Run({odd: spec.CONFIG.value({"seeds": []})}, 3, [action, Action("cut", groups=(frozenset({odd}), frozenset({other})))])

    assert run_of(spec, json.loads(json.dumps(plain_of(spec, run)))) == run


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, "scuttlebutt")
    (tmp_path / "scuttlebutt/progress.json").mkdir()

    with pytest.raises(CorpusError, match=r"progress\.json cannot be read"):
        corpus.advance("some", 1)


@pytest.mark.slow
def test_the_commands_of_the_workflow_do_what_the_page_says(here: Path) -> None:
    """Night after night, on the reference: what the first leaves is where the second begins."""
    page = Path(__file__).parents[3] / "docs/how-to/fuzz-in-ci.md"
    workflow = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0])
    commands = [step["run"] for step in workflow["jobs"]["fuzz"]["steps"] if step.get("run", "").startswith("peerproof fuzz")]

    for command in commands * 2:
        short = re.sub(
            r"--minutes \d+", "--seconds 1", command.replace("./adapter", "py:peerproof.reference.harness.harness:Harness")
        )
        assert main(shlex.split(short)[1:]) == 0

    assert len(commands) == 2
    (restored,) = {step["with"]["path"] for step in workflow["jobs"]["fuzz"]["steps"] if "path" in step.get("with", {})}
    campaigns = json.loads((here / restored / "scuttlebutt/progress.json").read_bytes())["campaigns"]
    assert len(campaigns) == 2
    assert all(position >= 2 for position in campaigns.values())
