"""The manifest, the configurations made from it, and the results that it promises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from peerproof.tla import checking, manifest
from peerproof.tla.manifest import BadManifest, Model, configurations, models, root
from peerproof.tla.output.counterexample import Counterexample, TraceState, from_itf
from peerproof.tla.output.outcome import ActionCount, Result, Verdict
from peerproof.tla.tools.installation import Tools
from peerproof.tla.tools.tlc import Run, Walks, simulate

pytestmark = pytest.mark.slow  # runs TLC, and so needs Java

MODELS = models()
PROTOCOLS = sorted({model.protocol for model in MODELS})
HOLDING = [model for model in MODELS if model.verdict == "success"]
FAILING = [model for model in MODELS if model.verdict != "success"]
BY_TLC = [model for model in MODELS if model.by == "tlc"]


def by_name(model: Model) -> str:
    return model.name


def named(name: str) -> Model:
    return next(model for model in MODELS if model.name == name)


CONFIGURED = [pytest.param(module, id=module.stem) for module in sorted({model.module_path for model in BY_TLC})]


def read_with(module: Path, known: dict[Path, str]) -> dict[Path, str]:
    """The texts, without comments, of a module and of our own modules that it extends or has instances of."""
    if module.is_file() and module not in known:
        text = re.sub(r"\(\*.*?\*\)|\\\*[^\n]*", "", module.read_text(encoding="utf-8"), flags=re.DOTALL)
        known[module] = text
        extended = re.findall(r"^EXTENDS ([\w, \n]+?)$", text, re.MULTILINE)
        for name in re.findall(r"\w+", " ".join([*extended, *re.findall(r"INSTANCE (\w+)", text)])):
            for folder in (module.parent, root()):
                read_with(folder / f"{name}.tla", known)
    return known


@pytest.mark.parametrize("module", CONFIGURED)
def test_configurations_of_a_module_name_what_it_defines(module: Path) -> None:
    """Its definitions are those of all modules that it reads; that these can be read, TLC reports below."""
    text = "\n".join(read_with(module, {}).values())
    defined = set(re.findall(r"^(\w+)(?:\([^)]*\))? ==", text, re.MULTILINE))
    lists = re.findall(r"^CONSTANTS?\b((?:\s*\w+,)*\s*\w+)", text, re.MULTILINE)
    declared = set(re.findall(r"\w+", " ".join(lists)))

    for model in BY_TLC:
        if model.module_path == module:
            lines = [line.split() for line in model.cfg().splitlines() if not line.startswith("\\*")]
            constants = {line[0] for line in lines if line[1:2] == ["="]}
            replaced = {name for line in lines if line[1:2] == ["<-"] for name in (line[0], line[2])}
            named = {line[1] for line in lines if line[0] in ("INIT", "NEXT", "SPECIFICATION", "INVARIANT", "PROPERTY")}
            assert constants | (replaced & declared) == declared, model.name
            assert named | replaced <= defined | declared, model.name


@pytest.mark.parametrize("module", CONFIGURED)
def test_tlc_reads_a_configuration_of_each_module(tools: Tools, module: Path) -> None:
    model = next(model for model in BY_TLC if model.module_path == module and model.verdict == "success")

    what = Run(module=module, configuration=model.cfg(), library=(root(),), walks=Walks(1, 2, seed=0), brief=True)
    assert simulate(tools, what).verdict is Verdict.SUCCESS


def test_every_counterexample_belongs_to_a_model() -> None:
    made = {model.counterexample_path for model in BY_TLC if model.counterexample_path is not None}

    assert set(root().rglob("counterexamples/*.itf.json")) == made


@pytest.mark.parametrize("model", HOLDING, ids=by_name)
def test_model_that_holds_says_how_many_states(model: Model) -> None:
    assert set(model.expected_counts) == set(manifest.COUNTS)
    assert model.violated is None


@pytest.mark.parametrize("model", [model for model in FAILING if model.by == "tlc"], ids=by_name)
def test_model_that_fails_has_its_counterexample(model: Model) -> None:
    assert model.counterexample_path is not None
    trace = json.loads(model.counterexample_path.read_bytes())

    assert from_itf(trace).steps == model.steps or model.verdict == "temporal property"
    assert trace["#meta"]["violated"] == model.violated
    assert trace["#meta"]["configuration"] == model.configuration.name


@pytest.mark.parametrize(
    "configuration",
    [configuration for protocol in PROTOCOLS for configuration in configurations(protocol).values()],
    ids=lambda configuration: f"{configuration.protocol}-{configuration.name}",
)
def test_edges_are_those_of_all_actions(configuration: manifest.Configuration) -> None:
    """Where the graph of the configuration is explored at all."""
    expected = configuration.expected
    explored = {(model.protocol, model.configuration.name) for model in MODELS if model.is_whole_graph}

    assert bool(expected) == ((configuration.protocol, configuration.name) in explored)
    if "actions" in expected:
        assert sum(expected["actions"].values()) == expected["generated"] - expected["initial"]


ACTIONS = {
    "scuttlebutt": "Update Round Receive ReceiveAgain Lose Restart",
    "swim": "Quantum Command Receive ReceiveAgain Lose Restart",
    "wendy": "Command Announce RepairTimeout HeartbeatDue FlushCache Receive Fail Restart",
    "peter": "Command Heartbeat Receive Fail",
    "distkv": "Command InitialPing Founding OldData Ping Greeting RecoverTicks RecoverMissing RecoverKnown RecoverOver Repair "
    "RepairAllowed Receive Lose Restart",
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_action_is_taken_in_some_configuration(protocol: str) -> None:
    counts = [each.expected.get("actions", {}) for each in configurations(protocol).values()]

    assert {name for actions in counts for name, count in actions.items() if count} == set(ACTIONS[protocol].split())


def items(**numbers: Iterable[int]) -> list[str]:
    """Items of the prose: `items(BX=range(1, 3))` are BX-01 and BX-02."""
    return [f"{kind}-{number:02}" for kind, some in numbers.items() for number in some]


def test_invariants_of_the_prose_are_all_there() -> None:
    claimed = {clause for model in MODELS for clause in model.clauses}

    assert set(items(BI=range(1, 11), WI=range(1, 14), PI=range(1, 10), DI=range(1, 19))) <= claimed


@pytest.mark.parametrize("item", items(BX=range(1, 7), BL=(1, 2), WX=range(1, 14), PX=range(1, 8), DX=(*range(1, 19), 20)))
def test_what_is_claimed_holds_in_one_model_and_fails_in_another(item: str) -> None:
    assert {model.verdict == "success" for model in BY_TLC if item in model.clauses} == {True, False}


@pytest.mark.parametrize("item", items(SL=range(1, 5), WL=(1, 2), PL=(1, 2), DL=range(1, 6)))
def test_what_comes_in_the_end_holds_and_fails_where_it_should(item: str) -> None:
    """A model without what it takes fails, so that the one that holds is not empty; TLC says both."""
    of = [model for model in BY_TLC if item in model.clauses and model.properties]

    assert {model.verdict == "success" for model in of} == {True, False}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cited_ids_are_in_the_clauses(protocol: str) -> None:
    prose = (root().parent / "spec" / f"{protocol}.md").read_text(encoding="utf-8")
    known = set(re.findall(r"- \*\*([A-Z]+-\d+)\*\*", prose))

    assert {clause for model in models(protocol) for clause in model.clauses} <= known


@pytest.mark.parametrize(
    ("protocol", "modules", "of_steps"),
    [
        ("scuttlebutt", ("MCScuttlebutt",), {"NeverGoesBack"}),
        ("swim", ("MCSwim",), {"NeverGoesBack", "NeverComesBack", "NeverLowers"}),
        ("wendy", ("MCWendy", "Routing"), {"NeverGoesBack"}),
        ("peter", ("MCPeter",), set()),
        ("distkv", ("MCDistKV", "MCPinging", "MCRecovering"), set()),
    ],
)
def test_what_never_happens_in_one_model_and_must_is_asked_of_each(
    protocol: str, modules: tuple[str, ...], of_steps: set[str]
) -> None:
    """Every `Never...` invariant of the modules is a model that must fail; those of steps must hold."""
    text = "".join((root() / protocol / f"{module}.tla").read_text(encoding="utf-8") for module in modules)
    defined = set(re.findall(r"^(Never\w+) ==", text, re.MULTILINE)) - of_steps

    assert defined == {m.violated for m in FAILING if m.name.startswith("sometimes-") and m.protocol == protocol}


@pytest.mark.parametrize("name", ["BX-01-round-sync", "BX-03-owner-restart", "BX-05-newest-first"])
def test_negative_model_fails_as_it_did(tools: Tools, name: str) -> None:
    """Step for step: with one worker the search is the same each time."""
    model = named(name)
    assert model.counterexample_path is not None

    checked = checking.check(tools, model, seconds=120)

    assert checked.surprises == ()
    assert checking.counterexample_text(checked) == model.counterexample_path.read_text(encoding="utf-8")


def result(**changes: object) -> Result:
    """The result of tiny, but for these changes."""
    expected = named("tiny").configuration.expected
    actions = {name: ActionCount(count, 0) for name, count in expected["actions"].items()}
    parts = {name: expected[name] for name in ("generated", "distinct", "depth")} | {"initial": 1, "queue": 0, "exit_code": 0}
    verdict = {"verdict": Verdict.SUCCESS, "violated": None, "counterexample": None}
    return Result(**(parts | verdict | {"actions": actions} | changes))


def violating(name: str, **changes: object) -> Result:
    """The result of a model whose invariant is violated."""
    return result(verdict=Verdict.INVARIANT, violated=name, **changes)


EXAMPLE = Counterexample((TraceState(None, {}), TraceState("Round", {})))
FAILS = "BX-05-newest-first"


@pytest.mark.parametrize(
    ("name", "found", "surprise"),
    [
        ("tiny", result(distinct=1124), "expected distinct = 1,125, TLC reports 1,124"),
        ("tiny", result(actions={}, depth=17), "expected depth = 18, TLC reports 17"),
        ("tiny", violating("NoGap"), "expected success, TLC reports invariant NoGap violated"),
        (FAILS, result(), "expected invariant NoGap violated, TLC reports success"),
        (FAILS, violating("TypeOK"), "TLC reports invariant TypeOK violated"),
        (FAILS, violating("NoGap", counterexample=EXAMPLE), "of 6 steps, TLC reports 1"),
    ],
    ids=["count", "depth", "fails", "holds and must not", "other property", "other depth"],
)
def test_unexpected_result_is_a_surprise(name: str, found: Result, surprise: str) -> None:
    (said,) = checking.surprises(named(name), found)

    assert surprise in said
    assert list(checking.surprises(named("tiny"), result())) == [], "what is expected is none"


def test_action_with_another_number_of_edges_is_a_surprise() -> None:
    actions = dict(result().actions)
    actions["Update"], actions["Round"] = ActionCount(454, 0), ActionCount(1445, 0)

    said = list(checking.surprises(named("tiny"), result(actions=actions)))

    assert said == ["expected 1,444 edges of Round, TLC reports 1,445", "expected 455 edges of Update, TLC reports 454"]


def test_temporal_property_that_is_violated_has_its_name_from_the_model() -> None:
    """TLC does not say which one it is."""
    found = result(verdict=Verdict.TEMPORAL_PROPERTY)

    assert list(checking.surprises(named("BL-02-answered"), found)) == [
        "expected success, TLC reports temporal property DigestsAreAnswered violated"
    ]
    assert checking.has_expected_verdict(named("BL-02-unless-empty"), found)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"configuration": "absent"}, "no configuration 'absent'", id="configuration"),
        pytest.param({"size": "huge"}, "size is 'huge'", id="size"),
        pytest.param({"expected": {}}, r"'verdict'\) is missing", id="verdict"),
        pytest.param({"by": "explorer"}, "a model by explorer has none", id="by"),
        pytest.param({"name": "other"}, "duplicate names of models: other", id="name"),
    ],
)
def test_manifest_with_a_mistake_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    entries = json.loads((root() / "manifest.json").read_bytes())["models"][:2]
    entries[1]["name"] = "other"
    (tmp_path / "scuttlebutt").mkdir()
    (tmp_path / "scuttlebutt" / "constants.json").write_bytes((root() / "scuttlebutt" / "constants.json").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps({"models": [entries[0] | change, entries[1]]}), encoding="utf-8")
    monkeypatch.setattr(manifest, "root", lambda *_: tmp_path)

    with pytest.raises(BadManifest, match=problem):
        models()


def test_constants_are_written_as_tlc_reads_them() -> None:
    assert manifest.tla([[1, "leave", 2], False, 3]) == '{"1 leave 2", FALSE, 3}'
    assert manifest.tla([]) == "{}"
    with pytest.raises(BadManifest, match=r"1\.5"):
        manifest.tla(1.5)
