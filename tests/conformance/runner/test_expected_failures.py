"""The list of known failures is strict in every direction."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.support.numbered import COUNT, command, digits, vector_id

from peerproof.cli.main import main
from peerproof.conformance.runner.expected_failures import ExpectedFailures, ListError, load_expected_failures, rewrite
from peerproof.conformance.runner.result import Result

TODAY = date(2026, 6, 1)
ID = "scuttlebutt/codec/one#decode"


def listed(tmp_path: Path, *lines: str) -> ExpectedFailures:
    file = tmp_path / "known.txt"
    file.write_text("\n".join(("# id  failure  expiry  link  reason", "", *lines, "")))
    return load_expected_failures(file)


def result(status: str, failure: str | None = None) -> Result:
    return Result(ID, status, "scuttlebutt/codec/one", 1, "must", ("B-40",), failure=failure)


ENTRY = f"{ID} value - - it fails"


@pytest.mark.parametrize("status", ["failed", "differs", "tolerated"])
@pytest.mark.parametrize("pattern", [ID, "scuttlebutt/codec/*#decode", "*"])
def test_a_case_that_fails_as_the_list_says_is_known(tmp_path: Path, pattern: str, status: str) -> None:
    """So a list that a strict run writes fits every run."""
    known = listed(tmp_path, f"{pattern} value 2026-12-31 https://example.org/7 versions are little-endian")

    judged = known.apply_to(result(status, "value"))
    assert (judged.status, judged.reason) == ("known", "versions are little-endian")
    assert judged.known == {"link": "https://example.org/7", "reason": "versions are little-endian"}


@pytest.mark.parametrize(
    ("lines", "before", "after", "said"),
    [
        ([ENTRY], result("crashed", "crashed"), "crashed", "listed as value"),
        ([ENTRY, f"{ID} crashed - - at other times"], result("crashed", "crashed"), "known", "at other times"),
        ([ENTRY], result("passed"), "stale", ""),
        ([ENTRY], result("tolerated"), "stale", "it passes"),
        ([ENTRY], result("tolerated", "class"), "tolerated", "listed as value"),
        (["other value - - x"], result("failed", "value"), "failed", ""),
    ],
)
def test_a_case_that_comes_out_otherwise_is_not_known(
    tmp_path: Path, lines: list[str], before: Result, after: str, said: str
) -> None:
    judged = listed(tmp_path, *lines).apply_to(before)

    assert judged.status == after
    assert said in str(judged.reason)


@pytest.mark.parametrize("before", [result("skipped"), result("undetermined"), result("undetermined", "value")])
def test_a_case_that_was_not_judged_is_neither_known_nor_stale(tmp_path: Path, before: Result) -> None:
    assert listed(tmp_path, ENTRY).apply_to(before) == before


def test_an_entry_that_no_case_fits_is_dead(tmp_path: Path) -> None:
    (problem,) = listed(tmp_path, "scuttlebutt/codec/one value - - it fails").problems([ID], TODAY)

    assert ":3: no case matches" in problem
    assert f"its cases are {ID}" in problem


def test_a_similar_id_is_suggested_for_an_entry_that_no_case_fits(tmp_path: Path) -> None:
    (problem,) = listed(tmp_path, "scuttlebutt/codec/on#decode value - - it fails").problems([ID, "swim/codec/on#decode"], TODAY)

    assert f"(did you mean '{ID}'?)" in problem


@pytest.mark.parametrize(("expiry", "problems"), [("2026-05-31", 1), ("2026-06-01", 0), ("-", 0)])
def test_an_entry_is_good_up_to_the_day_of_its_expiry(tmp_path: Path, expiry: str, problems: int) -> None:
    assert len(list(listed(tmp_path, f"{ID} value {expiry} - it fails").problems([ID], TODAY))) == problems


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([f"{ID} value - https://example.org"], ":3:.*missing: reason"),
        ([ID], ":3:.*missing: failure-class, expiry-or-dash, link, reason"),
        ([f"{ID} valu - - why"], ":3:.*expected one of crashed"),
        ([f"{ID} value soon - why"], ":3:.*expected a date"),
        ([f"{ID} value 2026-02-30 - why"], ":3:.*expected a date"),
        ([f"{ID} value - - why", f"{ID} value - - why not"], ":4:.*already listed as value, in line 3"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_its_place(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(ListError, match=f"known.txt{said}"):
        listed(tmp_path, *lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (f"{vector_id(3)}#decode crashed - - it dies", 0),
        ("# nothing", 1),
        (f"{vector_id(3)}#decode crashed - - it dies\n{vector_id(4)}#decode crashed - - it passes", 1),
        (f"{vector_id(3)}#decode crashed - - it dies\nno/such#case crashed - - dead", 1),
    ],
)
def test_the_exit_code_says_whether_list_and_implementation_agree(
    numbered: Path, tmp_path: Path, capfd: Capture, lines: str, code: int
) -> None:
    known = tmp_path / "known.txt"
    known.write_text(f"{lines}\n")

    assert main(["run", "--vectors", str(numbered), "--impl", command("die", digits(3)), "--known-failing", str(known)]) == code
    assert f"{COUNT} cases" in capfd.readouterr().out


@pytest.mark.slow
def test_a_quiet_run_says_nothing_of_a_case_that_fails_as_listed(numbered: Path, tmp_path: Path, capfd: Capture) -> None:
    known = tmp_path / "known.txt"
    known.write_text(f"{vector_id(3)}#decode crashed - - it dies\n")
    arguments = ["run", "--vectors", str(numbered), "--impl", command("die", digits(3)), "--known-failing", str(known)]

    assert main([*arguments, "-q"]) == 0
    quiet, _ = capfd.readouterr()
    assert main(arguments) == 0
    usual, _ = capfd.readouterr()

    assert "known: " in usual
    assert usual.endswith(quiet)
    assert len(quiet.splitlines()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [("nowhere.txt", "nowhere.txt: the list of expected failures cannot be read"), ("spoilt.txt", "spoilt.txt:1:9: expected")],
)
def test_a_list_that_cannot_be_read_ends_the_command(tmp_path: Path, capfd: Capture, name: str, said: str) -> None:
    (tmp_path / "spoilt.txt").write_text("nonsense\n")
    assert main(["run", "--known-failing", str(tmp_path / name)]) == 2
    assert said in capfd.readouterr().err


CASES = [f"scuttlebutt/codec/{name}#decode" for name in ("one", "two", "three")]


@pytest.mark.parametrize(
    ("entry", "passing", "left"),
    [
        (f"{CASES[0]}  value  2027-01-01  -  why", CASES[:1], []),
        (f"{CASES[0]}  value  2027-01-01  -  why", CASES[1:], [f"{CASES[0]}  value  2027-01-01  -  why"]),
        ("scuttlebutt/codec/t*  value  -  -  why", CASES, []),
        ("*  value  -  -  why", CASES[:1], [f"{case}  value  -  -  why" for case in CASES[1:]]),
    ],
)
def test_an_update_drops_the_cases_that_pass_and_keeps_all_else(
    tmp_path: Path, entry: str, passing: list[str], left: list[str]
) -> None:
    listed(tmp_path, entry)
    results = [replace(result("stale"), id=case) for case in passing]

    tolerated = [replace(result("tolerated", "value"), id=case) for case in CASES if case not in passing]

    text, passed, replaced = rewrite(tmp_path / "known.txt", results + tolerated, CASES)

    assert text.splitlines() == ["# id  failure  expiry  link  reason", "", *left]
    assert (bool(passed), replaced) == (entry not in left, [])


OTHERWISE = f"{ID} rejected 2027-01-01 https://x not written yet"


@pytest.mark.parametrize(
    ("entries", "failing", "left"),
    [
        ([OTHERWISE], [(ID, "value", "another text")], [f"{ID}  value     2027-01-01  https://x  another text"]),
        ([OTHERWISE], None, [OTHERWISE]),  # an update writes no new failures,
        ([OTHERWISE, ENTRY], None, [OTHERWISE, ENTRY]),  # and keeps both entries of a case that fails in one way or the other
        ([OTHERWISE, ENTRY], [], [ENTRY]),
        ([OTHERWISE, f"{ID} crashed - - x"], [(ID, "value", "y")], [f"{ID}  value     2027-01-01  https://x  y"]),
        (["*#decode rejected - - x"], [(ID, "value", "y")], ["*#decode rejected - - x"]),  # the caller appends it
    ],
)
def test_an_entry_of_a_case_that_fails_otherwise_is_replaced(
    tmp_path: Path, entries: list[str], failing: list[tuple[str, str, str]] | None, left: list[str]
) -> None:
    known = listed(tmp_path, *entries)

    text, passed, replaced = rewrite(tmp_path / "known.txt", [known.apply_to(result("failed", "value"))], CASES, failing)

    assert text.splitlines()[2:] == left
    assert (passed, replaced) == ([], [ID] if left != entries else [])


def test_an_update_lists_no_case_twice(tmp_path: Path) -> None:
    """An entry for several cases is divided into those that no other line names."""
    entries = f"{CASES[1]}  value  -  -  mine\n*  value  -  -  all\n*  crashed  -  -  ends"
    listed(tmp_path, entries)

    text, *_ = rewrite(tmp_path / "known.txt", [replace(result("stale"), id=CASES[0])], CASES)
    (tmp_path / "known.txt").write_text(text)

    kept = [(entry.pattern, entry.failure) for entry in load_expected_failures(tmp_path / "known.txt").entries]
    rest = CASES[1:]
    assert sorted(kept) == sorted([*((case, "value") for case in rest), *((case, "crashed") for case in rest)])


@pytest.mark.slow
def test_a_list_that_is_written_is_met_and_one_that_is_updated_is_met_again(
    numbered: Path, tmp_path: Path, capfd: Capture
) -> None:
    known, more = tmp_path / "known.txt", f"# mine\n{vector_id(4)}#decode  crashed  -  -  it passes\n"

    def run(*options: str) -> tuple[int, str]:
        code = main(["run", "--vectors", str(numbered), "--impl", command("die", digits(3)), *options])
        shown = capfd.readouterr()
        return code, shown.out + shown.err

    code, said = run("--write-known-failing", str(known))
    written = known.read_text()
    assert (code, f"{known}: 1 case written" in said) == (0, True)
    assert f"{vector_id(3)}#decode  crashed   -  -  the implementation ended: the implementation exited with code N\n" in written
    assert run("--write-known-failing", str(known))[0] == 2
    assert run("--known-failing", str(known))[0] == 0

    known.write_text(written + more)
    code, said = run("--known-failing", str(known))
    assert (code, f"STALE {vector_id(4)}#decode: it passes" in said) == (1, True)
    assert run("--known-failing", str(known), "--update-known-failing")[0] == 0
    assert known.read_text() == f"{written}# mine\n"

    kept, new = f"# mine\n{vector_id(3)}#decode  hung  2999-01-01  https://x  at times\n", tmp_path / "new.txt"
    known.write_text(kept + more)
    for path in (new, known):
        code, said = run("--known-failing", str(known), "--write-known-failing", str(path))
        done = "1 case removed, which passed; 1 line replaced, whose cases fail otherwise now\n"
        assert (code, f"{path}: {done}" in said) == (0, True)
        reason = "the implementation ended: the implementation exited with code N"
        assert path.read_text() == f"# mine\n{vector_id(3)}#decode  crashed   2999-01-01  https://x  {reason}\n# mine\n"
    code, said = run("--known-failing", str(known), "--write-known-failing", str(known))
    assert (code, f"{known}: it lists what fails, nothing is to change" in said) == (0, True)

    known.write_text("# mine\n")
    code, said = run("--known-failing", str(known), "--write-known-failing", str(known))
    assert (code, f"{known}: 1 case added; --known-failing {known} expects" in said) == (0, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--update-known-failing"], "add --known-failing FILE"),
        (["--known-failing", "known.txt", "--update-known-failing", "--write-known-failing", "known.txt"], "leave out --update"),
        (["--known-failing", "known.txt", "--write-known-failing", "other.txt"], "other.txt exists"),
        (["--write-known-failing", "known.txt"], "--known-failing known.txt --write-known-failing known.txt adds what newly"),
        (["--write-known-failing", "no/known.txt"], "the folder no does not exist"),
    ],
)
def test_options_about_the_list_that_would_lose_something_are_refused(
    here: Path, options: list[str], said: str, capfd: Capture
) -> None:
    (here / "known.txt").write_text("")
    (here / "other.txt").write_text("")

    assert main(["run", *options]) == 2
    assert said in capfd.readouterr().err
