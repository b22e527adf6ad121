"""Mutants of the specifications: which are made, which cases kill them, and what is said of those that survive."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite

from peerproof.cli.main import main
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.mutation import trials
from peerproof.conformance.mutation.late_effects import late
from peerproof.conformance.mutation.mutant_files import Equivalent, Record, equivalents, load_detections, store_detections
from peerproof.conformance.mutation.operators import Place
from peerproof.conformance.mutation.scoring import IMPLEMENTATION, PACKAGES, Score, select_mutants
from peerproof.conformance.mutation.sites import Module, Mutant, modules, mutants
from peerproof.conformance.mutation.trials import HUNG, SURVIVED, Bench, Reach, Verdict
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.vectors.suite import load
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Send, Step
from peerproof.spec.protocols import PROTOCOLS


def module(folder: Path, source: str) -> Module:
    path = folder / "sample.py"
    path.write_text(source, encoding="utf-8")
    return Module("peerproof.spec.sample", path)


def changes(folder: Path, source: str) -> list[tuple[str, str]]:
    return [(mutant.kind, mutant.change) for mutant in mutants(module(folder, source))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", [("boundary", "a < b -> a <= b"), ("comparison", "a < b -> a >= b")]),
        ("x = a in b", [("comparison", "a in b -> a not in b")]),
        ("x = a + b", [("arithmetic", "a + b -> a - b")]),
        (
            "x = a and b",
            [("logic", "a and b -> a or b"), ("missing condition", "a and b -> b"), ("missing condition", "a and b -> a")],
        ),
        ("x = not a", [("missing sign", "not a -> a")]),
        ("x = 8", [("off by one", "8 -> 9"), ("off by one", "8 -> 7")]),
        ("x = 0", [("off by one", "0 -> 1")]),
        ("x = True", [("constant", "True -> False")]),
        ("x = n.to_bytes(k, 'big')", [("endianness", "'big' -> 'little'")]),
        ("x = Struct('>Q')", [("endianness", "'>Q' -> '<Q'")]),
        ("x = a if b else c", [("swapped branches", "a if b else c -> c if b else a")]),
        ("if a:\n    b", [("missing guard", "a -> False"), ("guard always", "a -> True"), ("missing statement", "b -> pass")]),
        ("for a in b:\n    continue", [("missing loop", "b -> ()"), ("missing statement", "continue -> pass")]),
        ("x = [a for a in b if c]", [("missing condition", "c -> True")]),
        ("a = f(a)", [("missing statement", "a = f(a) -> pass")]),
        ("a = f(b)", []),
        ("raise E('text')", [("missing statement", "raise E('text') -> pass")]),
        ("x = replace(s, a=b)", [("missing change", "a=b -> nothing")]),
        ("x = min(a)", [("function", "min(a) -> max(a)")]),
        ("x = sorted(a, key=b)", [("function", "sorted(a, key=b) -> list(a)")]),
        (
            "x = Step(s, (a, *b))",
            [("swapped order", "(a, *b) -> (*b, a)"), ("missing element", "a -> nothing"), ("missing element", "*b -> nothing")],
        ),
        ("x = a[b:c]", [("missing bound", "b -> nothing"), ("missing bound", "c -> nothing")]),
        ("match a:\n    case b.c:\n        d = b\n    case _:\n        assert_never(a)", [("missing case", None)]),
    ],
)
def test_a_place_can_be_wrong_in_these_ways(source: str, expected: list[tuple[str, str | None]], tmp_path: Path) -> None:
    found = changes(tmp_path, source)

    assert [(kind, change) for (kind, change), (_, said) in zip(found, expected, strict=True) if said is not None] == [
        row for row in expected if row[1] is not None
    ]
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]


MIXED_UP = """
class Row(NamedTuple):
    name: Name
    count: int

class State:
    own: Name
    rows: Table[Name, Row]

def grow(state: State, row: Row) -> tuple[State, int]: ...

{}
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "def f(state: State, row: Row) -> State:\n    state, n = grow(state, row)\n    return state",
            [("old value", "state -> _")],
        ),
        ("def f(state: State) -> State:\n    after = replace(state, own=x)\n    return after", [("old value", "after -> state")]),
        ("def f(one: Name, other: Name) -> Name:\n    return one", [("another of several", "one -> other")]),
        ("def f(row: Row, other: State) -> Row:\n    return row", []),
        ("def f(state: State, n: Name) -> Row:\n    return state.rows[n]", [("another of several", "state.rows[n] -> …")]),
        ("def f(x: list[int]) -> int:\n    return x[0]", [("another of several", "x[0] -> x[-1]")]),
        (
            "def f(state: State, row: Row, n: Name) -> bool:\n    return state.rows[n] < row",
            [
                ("one member", "state.rows[n] < row -> state.rows[n].name < row.name"),
                ("one member", "state.rows[n] < row -> state.rows[n].count < row.count"),
                ("another of several", "state.rows[n] -> …"),
            ],
        ),
        (
            "def f(a: int, b: int) -> bool:\n    return (a, b) < (b, a)",
            [("one member", "(a, b) < (b, a) -> a < b"), ("one member", "(a, b) < (b, a) -> b < a")],
        ),
        (
            "def f(row: Row) -> Row:\n    return Row(row.name, 0)",
            [("forgotten reset", "Row(row.name, 0) -> replace(Row(row.name, 0), count=row.count)")],
        ),
    ],
)
def test_values_can_be_mixed_up_in_these_ways(source: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    kinds = {"old value", "another of several", "one member", "forgotten reset"}

    found = [change for change in changes(tmp_path, MIXED_UP.format(source)) if change[0] in kinds]

    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    assert all(change.startswith(said.removesuffix("…")) for (_, change), (_, said) in zip(found, expected, strict=True))


def test_an_effect_that_is_late_comes_with_the_next_timer_and_only_of_the_state_that_waits_for_it() -> None:
    def step(state: str, event: object, _: object) -> Step[str, Send[str]]:
        return Step(state + "'", (Send(NodeId("b"), "news"),) if isinstance(event, Asked) else ())

    changed = late("Send", "str")(step)
    asked, timer = Asked(Instant(0), None), Expired(Instant(0), None)

    waiting = changed("a", asked, None)
    assert waiting.effects == ()
    assert changed("b", timer, None).effects == ()  # another state
    assert changed(waiting.state, timer, None).effects == (Send(NodeId("b"), "news"),)
    assert changed("a", timer, None).effects == ()


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "def f(a: 'Text' = b) -> 'Text':\n    return a",
        "T: TypeAlias = A | B",
        "assert a < b",
        "x = f'{a + 1}'",
        "x = pick('round.partner', a)",
        "x = encode_string('key', a, b)",
        "if TYPE_CHECKING:\n    import a",
        "x = isinstance(a, (B, C))",
        "x = a[B, C]",
    ],
)
def test_what_nobody_could_notice_is_left_alone(source: str, tmp_path: Path) -> None:
    assert changes(tmp_path, source) == []


def test_a_mutant_keeps_its_name_when_lines_move_and_no_two_have_the_same(tmp_path: Path) -> None:
    function = "def f(a):\n    return a.b(1), a.b(1)\n"
    names = [mutant.id for mutant in mutants(module(tmp_path, function))]

    assert [mutant.id for mutant in mutants(module(tmp_path, "def g():\n    pass\n\n\n" + function))] == names
    assert all(name.startswith("sample.f/") for name in names)
    assert len({*names}) == len(names) > 3


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_mutant_is_a_program_that_is_another(protocol: str) -> None:
    """Of each module: what it is, what is changed in it, and back again."""
    found = [mutant for each in modules(protocol) for mutant in mutants(each)]

    for mutant in found[:: max(1, len(found) // 150)]:
        before = ast.unparse(mutant.module.tree)
        assert ast.unparse(mutant.tree()) != before
        compile(mutant.module.tree, "mutant", "exec")
        put_back(mutant)
        assert ast.unparse(mutant.module.tree) == before
        assert mutant.diff().count("\n") >= 3


def put_back(mutant: Mutant) -> None:
    place = mutant.place
    if mutant.changed is None and place.position is not None:
        getattr(place.parent, place.field).insert(place.position, mutant.original)
    else:
        place.put(mutant.original)


def test_the_modules_are_those_of_the_node() -> None:
    """What is explored, watched and drawn is no behaviour of a node."""
    names = {each.name.rpartition(".")[2] for each in modules("swim")}

    assert {"transitions", "codec", "gossip", "state"} <= names
    assert not names & {"world", "properties", "variants", "monitors", "questions", "snapshot"}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the vectors of Scuttlebutt's codec alone."""
    root = tmp_path_factory.mktemp("vectors")
    shutil.copytree(locations.vectors_root() / "scuttlebutt" / "codec", root / "scuttlebutt" / "codec")
    return root


@pytest.fixture(scope="module")
def bench(few: Path) -> Bench:
    own = load(few)
    return Bench("scuttlebutt", cases(own, own.vectors), IMPLEMENTATION, PACKAGES, own.version)


def named(protocol: str, name: str) -> Module:
    """A module of a specification."""
    return next(each for each in modules(protocol) if each.name.endswith(f".{name}"))


@pytest.fixture(scope="module")
def codec() -> Module:
    return named("scuttlebutt", "codec")


@pytest.fixture(scope="module")
def reach(bench: Bench, codec: Module) -> Reach:
    """Which cases reach which lines of the codec."""
    return bench.reach([codec])


@pytest.mark.slow
def test_vectors_notice_a_mistake_and_the_suite_goes_on_judging_by_what_is_right(
    bench: Bench, codec: Module, reach: Reach
) -> None:
    """The codec with a wrong endianness reads what it writes; only who knows better sees it."""
    made = mutants(codec)[::3]

    verdicts = dict(bench.trials(made, reach, jobs=2))

    assert len(verdicts) == len(made)
    killed = [mutant for mutant, verdict in verdicts.items() if verdict.killed]
    assert len(killed) > 4
    assert all(verdict.killer in {case.id for case in bench.cases} for verdict in verdicts.values() if verdict.killer)


@pytest.mark.slow
def test_a_matrix_has_more_than_the_first_vector_that_detects_a_mutant_but_not_all() -> None:
    files = [f"scuttlebutt/exchange/{name}.yaml" for name in ("delta-order", "digest-response")]
    chosen = [vector for vector in suite().vectors if vector.file in files]
    judged = cases(suite(), chosen), IMPLEMENTATION, PACKAGES, suite().version
    benches = [Bench("scuttlebutt", *judged, most_killers=most) for most in (0, 4)]
    reconcile = named("scuttlebutt", "reconcile")
    made = mutants(reconcile)[::5]

    first, matrix = (dict(bench.trials(made, bench.reach([reconcile]), jobs=2)) for bench in benches)

    assert [mutant for mutant in made if first[mutant].killed] == [mutant for mutant in made if matrix[mutant].killed]
    assert not any(verdict.killers for verdict in first.values())
    found = [matrix[mutant].killers for mutant in made if matrix[mutant].killed]
    assert {len(killers) for killers in found} > {4}
    assert all(len({*killers}) == len(killers) <= 4 for killers in found)
    assert {vector for killers in found for vector in killers} <= {vector.id for vector in chosen}


@pytest.mark.slow
def test_a_mutant_that_computes_for_ever_is_ended_and_counts_as_killed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "MORE", 1)
    node = named("scuttlebutt", "transitions")
    (initial,) = (each for each in node.tree.body if isinstance(each, ast.FunctionDef) and each.name == "initial")
    (endless,) = ast.parse("while True:\n    pass").body
    place = Place(initial, "body", 1)
    lines = range(initial.lineno, place.node.end_lineno + 1)
    mutant = Mutant("scuttlebutt.transitions.initial/endless", node, "initial", "endless", place, place.node, endless, lines)

    ((_, verdict),) = bench.trials([mutant], bench.reach([node]), jobs=1)

    assert (verdict.killed, verdict.how) == (True, HUNG)


@pytest.mark.slow
def test_messages_of_vectors_are_written_by_the_specification_and_not_by_the_mutant() -> None:
    """One that knows no host of 255 bytes is asked about one by vectors that give it in plain form."""
    chosen = [vector for vector in suite().vectors if vector.protocol == "swim" and "h" * 255 in str(vector.body.get("steps"))]
    assert chosen
    judge = Bench("swim", cases(suite(), chosen), IMPLEMENTATION, PACKAGES, suite().version)
    state = named("swim", "state")
    specification.cache_clear()  # as if nothing had been judged in this process
    mutant = next(one for one in mutants(state) if one.change == "255 -> 254")

    ((_, verdict),) = judge.trials([mutant], judge.reach([state]), jobs=1)

    assert verdict.killer in {case.id for case in judge.cases}


def raising(error: BaseException) -> Callable[..., NoReturn]:
    """A function that does nothing but this."""

    def raise_it(*_: object) -> NoReturn:
        raise error

    return raise_it


def test_a_mutant_that_takes_all_memory_counts_as_killed(bench: Bench, codec: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant, *_ = mutants(codec)
    monkeypatch.setattr(bench, "_results", raising(MemoryError()))

    ((_, verdict),) = bench.trials([mutant], Reach({}, frozenset(mutant.places), [0.0] * len(bench.cases)), jobs=1)

    assert verdict == Verdict(None, HUNG, len(bench.cases))


def test_what_goes_wrong_in_the_suite_is_no_verdict_on_a_mutant(
    bench: Bench, codec: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant, *_ = mutants(codec)
    monkeypatch.setattr(Bench, "_run_cases", raising(LookupError("no such case")))

    with pytest.raises(RuntimeError, match=rf"{mutant.id} could not be run: (?s:.*)LookupError: no such case"):
        list(bench.trials([mutant], Reach({}, frozenset(), []), jobs=1))


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_the_command_goes_on_where_it_was_interrupted_and_tells_programs_the_same(
    few: Path, tmp_path: Path, capfd: Capture
) -> None:
    record = tmp_path / "record.jsonl"
    some = "scuttlebutt.codec/off-by-one"
    words = ["model", "mutants", "scuttlebutt", "-k", some, "--vectors", str(few), "--record", str(record)]
    (other, *_) = select_mutants("scuttlebutt", "scuttlebutt.state")
    store_detections("scuttlebutt", {other: KILLED}, {other.id})

    assert main([*words, "--format", "json", "--least", "1"]) == 0
    found = json.loads(capfd.readouterr().out)["protocols"]["scuttlebutt"]
    assert found["mutants"] == found["killed"] + found["equivalent"] + len(found["survivors"])
    assert found["killed"] > 4
    assert sum(found["kills"].values()) <= found["killed"]
    assert load_detections("scuttlebutt")[other.id] == KILLED.killer

    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:-3]) + lines[-3][:20])
    assert main([*words, "--format", "json", "--least", "100"]) == 1
    assert json.loads(capfd.readouterr().out)["protocols"]["scuttlebutt"] == found
    assert sorted(record.read_bytes().splitlines()) == sorted(line.rstrip() for line in lines)

    record.write_bytes(b'{"some": "other file"}\n')
    assert main(words) == 2
    assert "is not a record of mutants" in capfd.readouterr().err
    assert record.read_bytes() == b'{"some": "other file"}\n'


def test_after_a_change_nothing_in_a_record_counts(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    record = Record(path, "once")
    record.add("killed", KILLED)
    record.add("survived", Verdict(None, SURVIVED, 5))

    record = Record(path, "then")
    assert record.found == {}
    record.add("killed twice", KILLED)

    assert Record(path, "then").found == {"killed twice": KILLED}
    assert Record(path, "now").found == Record(path, "once").found == {}


KILLED = Verdict("c1", "failed", 5)


def test_the_case_that_killed_a_mutant_is_kept_as_long_as_there_is_that_mutant(tmp_path: Path, own_cache: Path) -> None:
    one, two, *others = mutants(module(tmp_path, "def f(a):\n    return a < 1\n"))
    made = {one.id, two.id}

    for found, kept in (
        ({}, {}),
        ({one: KILLED, two: KILLED, others[0]: KILLED}, {one.id: "c1", two.id: "c1"}),
        ({two: Verdict("c2", "failed", 5)}, {one.id: "c1", two.id: "c2"}),
        ({two: Verdict(None, SURVIVED, 5)}, {one.id: "c1"}),
    ):
        store_detections("sample", found, made)
        assert load_detections("sample") == kept
    assert [path.relative_to(own_cache) for path in own_cache.rglob("*.*")] == [Path("peerproof/detections/sample.json")]


@pytest.mark.parametrize("damage", [b"", b"[]", b"null", b"\xff", b'{"mutant": ["c1"]}'])
def test_a_damaged_cache_of_detections_is_empty_and_written_anew(tmp_path: Path, own_cache: Path, damage: bytes) -> None:
    mutant, *_ = mutants(module(tmp_path, "x = 8"))
    path = own_cache / "peerproof/detections/sample.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)

    assert load_detections("sample") == {}
    store_detections("sample", {mutant: KILLED}, {mutant.id})
    assert load_detections("sample") == {mutant.id: "c1"}


def test_detections_that_cannot_be_kept_are_no_error(tmp_path: Path, own_cache: Path) -> None:
    mutant, *_ = mutants(module(tmp_path, "x = 8"))
    own_cache.write_text("a file where the folder should be")

    store_detections("sample", {mutant: KILLED}, {mutant.id})

    assert load_detections("sample") == {}


@pytest.mark.slow
def test_a_stale_detection_changes_no_verdict(bench: Bench, codec: Module, reach: Reach) -> None:
    """Neither a case that does not exist nor one that detects nothing."""
    some = mutants(codec)[:6]

    def verdicts(known: str | None) -> dict[str, bool]:
        detections = dict.fromkeys((mutant.id for mutant in some), known) if known else {}
        return {mutant.id: verdict.killed for mutant, verdict in bench.trials(some, reach, 1, detections)}

    assert verdicts("no/such#case") == verdicts(bench.cases[-1].id) == verdicts(None)


@pytest.mark.slow
def test_a_mutant_is_run_first_on_the_case_that_killed_it_before(bench: Bench, codec: Module, reach: Reach) -> None:
    """Of cases that detect it just as well."""
    mutant = next(one for one in mutants(codec) if one.change == "3 -> 4")
    killers = [case.id for case in bench.cases if case.id.startswith("scuttlebutt/codec/delta")][:2]

    found = [dict(bench.trials([mutant], reach, 1, {mutant.id: killer}))[mutant].killer for killer in killers]

    assert found == killers


@pytest.mark.slow
def test_a_mutant_can_be_judged_like_any_implementation(codec: Module, capfd: Capture) -> None:
    lines = codec.source.splitlines()
    name = next(one.id for one in mutants(codec) if one.kind == "off by one" and "(Delta," in lines[one.lines[0] - 1])

    adapter = f"{sys.executable} -m peerproof.cli.main model mutants --serve {name}"

    assert main(["run", "-k", "layer:codec", "scuttlebutt", "--impl", adapter]) == 1
    assert "failed" in capfd.readouterr().out


def test_those_that_are_listed_as_equivalent_can_be_passed_over(capsys: Capture) -> None:
    def listed(*options: str) -> set[str]:
        assert main(["model", "mutants", "peter", "--list", *options]) == 0
        return {line.partition("  ")[0] for line in capsys.readouterr().out.splitlines()}

    assert listed() - listed("--unlisted") == equivalents("peter").keys()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["scuttlebutt", "-k", "nothing-like-this"], 4, ""),
        (["--serve", "scuttlebutt.codec/no/such"], 2, "--list"),
        (["swim", "--matrix", "a", "--record", "b"], 2, "cannot be combined"),  # a matrix is a record
    ],
)
def test_a_command_that_names_no_mutants_or_two_records_is_refused(
    arguments: list[str], code: int, said: str, capsys: Capture
) -> None:
    assert main(["model", "mutants", *arguments]) == code
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_mutants_have_names_of_their_own_are_of_the_kinds_that_people_make_and_lists_of_equivalents_name_them(
    protocol: str,
) -> None:
    found = select_mutants(protocol)
    made = {mutant.id: mutant.change for mutant in found}

    assert len(made) == len(found) > 200
    assert {"old value", "another of several", "late effect"} <= {mutant.kind for mutant in found}
    for name, entry in equivalents(protocol).items():
        assert made.get(name) == entry.change, entry.where
        assert len(entry.reason) > 10, entry.where


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reason: x", "1:1: expected a list"),
        ("- reason: x", "expected reason, a text, and mutants"),
        ("- reason: x\n  mutants: {}", "expected names of mutants"),
        ("- reason: x\n  mutants:\n    a: 1", "expected the change"),
        ("- reason: x\n  mutants:\n    a: b\n- reason: z\n  mutants:\n    a: b", "6:5: a is listed twice"),
    ],
)
def test_a_list_of_equivalents_that_is_none_is_told(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations, "equivalents_file", lambda protocol: tmp_path / f"{protocol}.yaml")
    (tmp_path / "swim.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(VectorError, match=said):
        equivalents("swim")


def test_a_line_of_the_list_is_stale_if_its_mutant_is_killed_other_or_gone(tmp_path: Path) -> None:
    first, second, *_ = mutants(module(tmp_path, "def f(a):\n    return a < 1\n"))
    changes = {first.id: first.change, second.id: "something else", "gone": "a -> b"}
    listed = {name: Equivalent(change, "a reason", f"x:{line}") for line, (name, change) in enumerate(changes.items(), 1)}
    verdicts = {first: Verdict("v#decode", "bytes", 3), second: Verdict(None, SURVIVED, 2)}

    score = Score("sample", verdicts, listed, frozenset({"v", "w"}))

    assert [line.partition(":")[2][0] for line in score.stale] == ["1", "2", "3"]
    assert (score.killed, score.equivalent, score.survivors) == ([first], [second], [])
    assert score.plain()["kill nothing"] == ["w"]
    assert Score("sample", verdicts, listed, frozenset(), whole=False).stale == score.stale[:2]


def test_of_a_matrix_is_told_which_vectors_are_alone_in_detecting_a_mutant(tmp_path: Path) -> None:
    first, second, third, fourth, *_ = mutants(module(tmp_path, "def f(a):\n    return a < 1 and a > -8\n"))
    both, alone = Verdict("v#decode", "bytes", 3, ("v", "w")), Verdict("w", "messages", 3, ("w",))
    unknown = Verdict("v", "messages", 2)  # nobody has asked which others there are

    score = Score("sample", {first: both, second: alone, third: alone, fourth: unknown}, {}, frozenset({"v", "w"}))

    assert score.detects_alone() == {"w": 2}
    assert score.plain()["kill alone"] == {"w": 2}
    assert "1 vectors are the only ones to kill 2 mutants" in score.text()
