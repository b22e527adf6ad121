"""The stage matrix: the verdicts of `peerproof run`, however the cases are divided, and whoever dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.clusters import rows

from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import Choose
from peerproof.conformance.adapter.implementation import REFERENCE
from peerproof.conformance.adapter.messages import Reply, Request
from peerproof.conformance.mutation.sites import modules, mutants
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.vectors.selection import select
from peerproof.conformance.vectors.suite import load
from peerproof.pipeline.stages import matrix as stage
from peerproof.pipeline.stages.matrix import TRIALS, TRIALS_DDL, Matrix, keep, trying
from peerproof.pipeline.storage.tables import VECTOR_RESULTS
from peerproof.reference.harness.harness import Harness

WRONG = "divergence:BD-02"
SELECTION = "protocol:scuttlebutt layer:exchange delta"


def matrix(place: Path, *implementations: str, select: str = SELECTION) -> int:
    """`peerproof pipeline matrix …` in this process, without Spark."""
    named = [part for implementation in implementations for part in ("--impl", implementation)]
    return main(["pipeline", "matrix", *named, "-k", select, "--output", str(place), "--master", "none", "--quiet"])


def verdicts(place: Path) -> dict[tuple[str, str], str]:
    """Implementation and case -> verdict."""
    results = rows(place, VECTOR_RESULTS)
    found = {(row["impl"], row["vector_id"]): row["verdict"] for row in results}
    assert len(found) == len(results)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference and a wrong variant, judged."""
    out = tmp_path_factory.mktemp("matrix") / "out"
    assert matrix(out, "reference", WRONG) == 1
    return out


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["reference", WRONG])
def test_verdicts_are_those_of_run(place: Path, tmp_path: Path, implementation: str) -> None:
    report = tmp_path / "report.json"
    impl = [] if implementation == "reference" else ["--impl", implementation]
    main(["run", *impl, "-k", SELECTION, "--format", "json", "--output", str(report)])
    judged = {row["id"]: row["status"] for row in json.loads(report.read_text(encoding="utf-8"))["cases"]}

    assert {case: verdict for (name, case), verdict in verdicts(place).items() if name == implementation} == judged
    assert len(judged) > 50
    assert ("failed" in judged.values()) == (implementation == WRONG)


def test_a_failure_says_what_was_expected_and_found(place: Path) -> None:
    for row in rows(place, VECTOR_RESULTS):
        if row["verdict"] in ("failed", "differs"):
            assert json.loads(row["expected"])["where"] == json.loads(row["actual"])["where"]
        elif row["verdict"] != "tolerated":
            assert row["expected"] is row["actual"] is None


@pytest.mark.slow
def test_how_cases_are_divided_changes_no_verdict(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "CASES", 25)

    assert matrix(tmp_path, "reference", WRONG) == 1
    assert verdicts(tmp_path) == verdicts(place)


def test_nothing_is_left_of_what_only_the_stage_needs(place: Path) -> None:
    assert list(place.glob("matrix-*/*.pickle")) == []


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["py:nowhere:Nothing", "./no-such-program"])
def test_an_implementation_that_cannot_be_used_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], implementation: str
) -> None:
    assert matrix(tmp_path, "reference", implementation) == 3
    assert f"error: {implementation}: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "verdict"),
    [("codec/off-by-one/4", "failed"), ("codec/swapped-order/a90", "crashed")],
    ids=["wrong tags", "no program"],
)
def test_mutants_are_implementations_too(tmp_path: Path, words: str, verdict: str) -> None:
    """One that cannot be loaded has crashed in every case."""
    names = [mutant.id for each in modules("scuttlebutt") for mutant in mutants(each) if words in mutant.id]
    command = ["pipeline", "matrix", "--mutants", words, "-k", "scuttlebutt/codec/delta", "--output", str(tmp_path)]
    assert main([*command, "--master", "none", "--quiet"]) == 1

    of: dict[str, set[str]] = {}
    for (name, _), found in verdicts(tmp_path).items():
        of.setdefault(name, set()).add(found)
    assert set(of) == {"reference", *(f"mutant:{name}" for name in names)}
    assert of.pop("reference") == {"passed"}
    assert verdict in set.union(*of.values())
    assert verdict != "crashed" or list(of.values()) == [{"crashed"}]


@pytest.mark.slow
def test_mutants_that_there_are_not_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["pipeline", "matrix", "--mutants", "no such", "swim", "--output", str(tmp_path), "--master", "none"]
    assert main(command) == 4
    assert "no mutant of swim has 'no such' in its name" in capsys.readouterr().err


class Crashing(Harness):
    """Ends whenever it is to decode."""

    def handle(self, request: Request, choose: Choose) -> Reply:
        """The reference's answer, or none."""
        if request["op"] == "decode":
            raise SystemExit("no memory")
        return super().handle(request, choose)


@pytest.mark.slow
def test_an_implementation_that_always_crashes_has_a_verdict_for_every_case(tmp_path: Path) -> None:
    """Many more crashes than `peerproof run` would put up with."""
    crashing = f"py:tests.pipeline.stages.test_matrix:{Crashing.__name__}"
    assert matrix(tmp_path / "out", crashing, select="protocol:scuttlebutt layer:codec digest") == 1

    found = list(verdicts(tmp_path / "out").values())
    assert found.count("crashed") > 10


@pytest.mark.slow
@pytest.mark.spark
def test_a_dataframe_of_trials_gives_the_same_verdicts(spark: Any, tmp_path: Path) -> None:
    """A few cases of the codec on two implementations."""
    suite = load()
    chosen = cases(suite, select(suite.vectors, "protocol:scuttlebutt layer:codec"))[:12]
    ids = json.dumps([case.id for case in chosen])
    trials = [{"impl": implementation, "cases": ids} for implementation in ("reference", WRONG)]
    todo = Matrix(suite, chosen, ("reference", WRONG), REFERENCE)
    keep(tmp_path / "cases", todo.cases)
    alone = trying(tmp_path / "cases", todo.options())([pa.RecordBatch.from_pylist(trials, TRIALS)])
    expected = pa.Table.from_batches(alone)

    frame = spark.createDataFrame([tuple(row.values()) for row in trials], TRIALS_DDL)
    found = stage.matrix(frame, tmp_path / "cases", todo.options()).collect()

    def shown(rows: Any) -> list[tuple[str, ...]]:
        return sorted(tuple(str(row[name]) for name in VECTOR_RESULTS.digest_columns) for row in rows)

    assert expected.num_rows == 24
    assert shown(found) == shown(expected.to_pylist())
