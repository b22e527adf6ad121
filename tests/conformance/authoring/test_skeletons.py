"""What `peerproof init` writes passes at once, in each language; and it writes all or nothing, over nothing."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from tests.conformance.conftest import Capture
from tests.support import rust
from tests.support.catching import suite
from tests.support.native_runners import require_maven_central, selected_bundle
from tests.support.tools import require

from peerproof.cli.main import main
from peerproof.conformance.authoring import skeletons
from peerproof.conformance.authoring.skeleton_languages import LANGUAGES
from peerproof.conformance.authoring.skeletons import write_files
from peerproof.conformance.runner import expected_failures
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite
from peerproof.spec.protocols import PROTOCOLS

NEEDS = {"python": (), "go": ("go", "gofmt"), "js": ("node",), "java": ("javac", "mvn"), "rust": ("rustfmt", "clippy")}

#: Maven takes as long as all others together: `make test` lets it run the tests, `make long` does the rest with it.
EACH = [pytest.param(name, marks=[pytest.mark.minute] * (name == "java")) for name in LANGUAGES]

NEEDS_LONG = ("java", "rust")  #: what takes longest to compile

#: Nothing comes from a network, and the suite is the one of these tests.
ENVIRONMENT = {
    **rust.ENVIRONMENT,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "GOFLAGS": "-mod=mod -trimpath",
    "GOPROXY": "off",
    "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:unraisableexception",
}


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What comes of a line that somebody types."""
    return subprocess.run(
        [require("bash"), "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=900
    )


def begun(language: str, protocol: str, folder: Path, *, build: bool = True) -> Path:
    """An adapter as init leaves it, built."""
    for program in NEEDS[language]:
        require(program)
    assert main(["init", "--lang", language, protocol, "--name", "my-node", str(folder)]) == 0
    if language == "rust":
        rust.require_rust()
        rust.share_target(folder)
    if build:
        built = shell(LANGUAGES[language].build, folder)
        require_maven_central(built.stdout)
        assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "protocol"),
    [
        ("python", "scuttlebutt"),
        ("go", "swim"),
        ("js", "wendy"),
        ("rust", "peter"),
        pytest.param("java", "distkv", marks=pytest.mark.minute),
    ],
)
def test_the_next_commands_come_out_right(language: str, protocol: str, here: Path, capsys: Capture) -> None:
    """
    Doctor has nothing to say against it, and everything that it fails is known: the list says of each case how it fails, and
    there is no other that does. Other tests run the first command.
    """
    begun(language, protocol, Path("mine"), build=False)
    commands = capsys.readouterr().out.split("next:\n")[1].splitlines()

    smoke, run = (shell(typed, here / "mine") for typed in commands[1:])
    known = expected_failures.load_expected_failures(here / "mine/known-failing.txt").entries
    (here / "mine/known-failing.txt").write_text("")
    emptied = shell(f"{commands[2]} --format json", here / "mine")

    assert commands[0].strip() == f"cd mine && {LANGUAGES[language].test}"
    require_maven_central(smoke.stdout)
    assert smoke.returncode == 0, smoke.stdout + smoke.stderr
    assert re.search(r"^ok +bad_requests ", smoke.stdout, re.MULTILINE)
    assert "FAIL" not in smoke.stdout
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^[\d,]+ cases, [\d,]+ vectors: [\d,]+ passed, [\d,]+ known, ", run.stdout, re.MULTILINE)
    assert emptied.returncode == 1, emptied.stderr
    results = json.loads(emptied.stdout)["cases"]
    listed = {entry.pattern: entry.failure for entry in known}
    failing = [result for result in results if result.get("failure") and result["level"] != "may"]
    assert {result["id"]: result["failure"] for result in failing} == listed
    assert {result["status"] for result in results} - {"differs", "tolerated"} == {"passed", "failed", "skipped"}
    assert {"rejected", "error"} <= set(listed.values()) <= {"rejected", "error", "class"}


@pytest.mark.minute
@pytest.mark.parametrize("language", LANGUAGES)
def test_several_protocols_have_one_adapter_and_one_run_of_the_tests(language: str, here: Path, capsys: Capture) -> None:
    """All commands succeed at first. The tests do not, once a case of either protocol is not as the one list says."""
    begun(language, "scuttlebutt,peter", Path("mine"), build=False)
    commands = capsys.readouterr().out.split("next:\n")[1].splitlines()

    typed = (*(line.removeprefix("  cd mine && ") for line in commands), f"{commands[2]} --strict")
    tests, smoke, run, strict = (shell(line, here / "mine") for line in typed)
    listed = (here / "mine/known-failing.txt").read_text().splitlines()
    unlisted = ["peter/codec/subscribe-with-unknown-members", "scuttlebutt/codec/delta-empty"]
    kept = [line for line in listed if not line.startswith(tuple(f"{vector}#decode " for vector in unlisted))]
    (here / "mine/known-failing.txt").write_text("".join(f"{line}\n" for line in (*kept, "peter/codec/none* value - - none")))
    wrong = shell(LANGUAGES[language].test, here / "mine")

    assert commands[2].startswith("  peerproof run -k protocol:peter,scuttlebutt --impl ")
    require_maven_central(tests.stdout)
    for done in (tests, smoke, run, strict):
        assert done.returncode == 0, done.stdout + done.stderr
    assert "ok   hello      my-node 0.1.0: peter, scuttlebutt\n" in smoke.stdout
    assert re.search(r"^[\d,]+ cases, [\d,]+ vectors: [\d,]+ passed, [\d,]+ known, ", run.stdout, re.MULTILINE)
    said = wrong.stdout + wrong.stderr
    assert len(listed) - len(kept) == len(unlisted)
    assert wrong.returncode != 0
    assert f"known-failing.txt:{len(kept) + 1}: no case matches 'peter/codec/none*'" in said
    for vector in unlisted:
        assert f"vectors show {vector}" in said or f"FAILED peerproof::{vector}#decode - " in said  # pytest shortens the rest


#: Language -> where the setting is that makes what differs fail, and the command for one case.
ENDS = {
    "go": ("StrictDecisions in the settings of the test", "go test -v -run 'TestVectors/ID$'"),
    "js": ("STRICT_DECISIONS in implementation.test.js", "node --test --test-name-pattern='^ID$'"),
    "java": ("STRICT_DECISIONS in VectorsTest.java", "mvn --batch-mode test -Dpeerproof.cases='ID'"),
    "rust": ("STRICT_DECISIONS in tests/vectors.rs", "cargo test --test vectors -- --exact 'ID'"),
}


def end(protocol: str, printed: str) -> list[str]:
    """What stands below the counts of a protocol, without what Node and Go put before each line."""
    found = re.search(rf"{protocol}: \d+ cases: .*\n((?:.*\n)*?.*\ball groups: .*\n)", printed)
    assert found, printed
    return [line.lstrip("#ℹ ").replace("\\#", "#") for line in found[1].splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("language", ENDS)
def test_every_case_is_a_test_of_the_language(language: str, tmp_path: Path) -> None:
    """
    None fails at first. One that is not listed, one that passes though listed, and an entry for nothing do, by their names.

    At the end stand groups of those that are not listed, the same in each language.
    """
    folder = begun(language, "peter", tmp_path / "mine", build=False)
    right = shell(LANGUAGES[language].test, folder)

    unlisted, passing = "peter/codec/subscribe-with-", "peter/codec/reject-publish-with-a-number#rejects"
    known = [line for line in (folder / "known-failing.txt").read_text().splitlines() if not line.startswith(unlisted)]
    known += [f"{passing} accepted - - none", "peter/codec/none* value - - none"]
    (folder / "known-failing.txt").write_text("".join(f"{line}\n" for line in known))
    wrong = shell(LANGUAGES[language].test, folder)

    require_maven_central(right.stdout)
    assert right.returncode == 0, right.stdout + right.stderr
    assert wrong.returncode != 0
    said = wrong.stdout + wrong.stderr
    failing = f"{unlisted}unknown-members"
    assert re.search(rf"first difference \(rejected\): .*(?:\n.*){{,3}}\n.*vectors show {failing}$", said, re.MULTILINE), said
    assert re.search(rf"it passes, though .*known-failing.txt:{len(known) - 1} lists it", said), said
    assert f"known-failing.txt:{len(known)}: no case matches 'peter/codec/none*'" in said

    violating, first, encoding, differing, second, *commands = end("peter", wrong.stdout)
    setting, one = ENDS[language]
    example = f"{unlisted}members-in-another-order#decode"
    assert (violating, first) == ("3 violate the document:", f"2  rejected: decode, such as {example}")
    assert re.fullmatch(rf"1  error: reply to encode: .*not written yet.*, such as {unlisted}credentials#encode", encoding)
    assert differing == f"4 differ only in what a decision of the suite demands; to make that fail, set {setting}:"
    assert second == f"4  rejected: decode [PA-24], such as {unlisted}null#decode"
    assert commands[0] == f"one of them whole: {one.replace('ID', example)}"
    assert re.fullmatch("all groups: .*peerproof run peter .* --record run.jsonl; peerproof report groups run.jsonl", commands[1])


#: Language -> its tests, the line of a setting there, a line of the decoder, what goes before it so that the decoder ends at
#: datagrams of one byte, and the condition under which no node opens.
SHORT = {
    "go": (
        "implementation_test.go",
        "StrictDecisions: false",
        '	return nil, &vectors.Rejected{Class: "other"',
        "	if len(datagram) == 1 {\n		panic(datagram)\n	}\n",
        ("if opening.State != nil {", "if opening.Now >= 0 {"),
    ),
    "js": (
        "implementation.test.js",
        "STRICT_DECISIONS = false",
        "  // Return { value: message }.",
        "  if (bytes.length === 1) throw new Error();\n",
        ("if (state) throw", "throw"),
    ),
    "java": (
        "src/test/java/adapter/VectorsTest.java",
        "STRICT_DECISIONS = false",
        '        throw new Rejected("other", "decode is',
        "        if (datagram.length == 1) { throw new IllegalStateException(); }\n",
        ("if (opening.state() != null) {", "if (opening.now() >= 0) {"),
    ),
    "rust": (
        "tests/vectors.rs",
        "STRICT_DECISIONS: bool = false",
        "        let why = format!(",
        "        assert!(datagram.len() != 1);\n",
        ("if opening.state.is_some() {", "if opening.now >= 0 {"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", [pytest.param(name, marks=[pytest.mark.minute] * (name in NEEDS_LONG)) for name in SHORT])
def test_the_end_says_what_only_differs_and_that_no_node_opens(language: str, tmp_path: Path) -> None:
    """
    A decoder that ends at a datagram of one byte violates a decision alone where that is no message.

    Nodes are claimed, and all vectors with nodes have another configuration than the default, so that they may be skipped.
    """
    folder = begun(language, "scuttlebutt", tmp_path / "mine", build=False)
    path = selected_bundle("scuttlebutt", tmp_path, lambda name: "/codec/" in name or "/delta-with-limit-" in name)
    small = json.loads(path.read_bytes())
    for vector in small["vectors"]:
        vector["cases"] = [case for case in vector["cases"] if case["check"] not in ("survives", "serves", "unchanged")]
    (folder / "vectors/scuttlebutt.json.gz").write_bytes(gzip.compress(json.dumps(small).encode()))
    tests, lenient, line, ends, opening = SHORT[language]
    for old, new in ((line, ends + line), CLAIMING[language], opening):
        typed(folder, LANGUAGES[language].plug, old, new)

    shown = shell(LANGUAGES[language].test, folder)
    typed(folder, tests, lenient, lenient.replace("false", "true"))
    failed = shell(LANGUAGES[language].test, folder)

    require_maven_central(shown.stdout)
    group = r"demands; {}:\n(?:.*\n)*?\d+  crashed: reply to decode.* \[BA-20\], such as "
    setting = ENDS[language][0]
    lenient_end, strict_end = ("\n".join(end("scuttlebutt", done.stdout)) for done in (shown, failed))
    assert re.search(group.format(f"to make that fail, set {setting}"), lenient_end), lenient_end
    assert re.search(group.format(f"they fail, since {setting.split()[0]} is set"), strict_end), strict_end
    for done, is_failing in ((shown, False), (failed, True)):
        unopened = "scuttlebutt: exchange is claimed, but open was unsupported in all 9 cases: .* is not written yet"
        assert done.returncode != 0
        assert re.search(unopened, done.stdout + done.stderr), done.stdout
        assert bool(re.search(r"^\W*(?:\S+: )?differs: ", done.stdout, re.MULTILINE)) == is_failing


#: Language -> the setting that makes what vectors say should be count, off and on.
STRICT = {
    "python": ("pytest.ini", "# peerproof_strict = true", "peerproof_strict = true"),
    "go": ("implementation_test.go", "Strict:          false", "Strict:          true"),
    "js": ("implementation.test.js", "STRICT = false", "STRICT = true"),
    "java": ("src/test/java/adapter/VectorsTest.java", "STRICT = false", "STRICT = true"),
    "rust": ("tests/vectors.rs", "STRICT: bool = false", "STRICT: bool = true"),
}


@pytest.mark.minute
@pytest.mark.parametrize("language", STRICT)
def test_what_a_vector_says_should_be_fails_if_the_test_is_strict(language: str, tmp_path: Path) -> None:
    """Where it is not listed, and as with the option of the same name of `peerproof run`."""
    folder, listed = begun(language, "swim", tmp_path / "mine"), tmp_path / "mine/known-failing.txt"
    should = {vector.id for vector in suite().vectors if vector.level == "should"}
    lines = listed.read_text("utf-8").splitlines(keepends=True)
    listed.write_text("".join(line for line in lines if line.partition("#")[0] not in should))

    lenient = shell(LANGUAGES[language].test, folder)
    typed(folder, *STRICT[language])
    strict = shell(LANGUAGES[language].test, folder)

    require_maven_central(lenient.stdout)
    assert (lenient.returncode, bool(strict.returncode)) == (0, True), lenient.stdout + strict.stdout
    assert "should" in strict.stdout
    if language != "python":  # pytest has a status for them
        counted = re.compile(r"^\W*\d+ are tolerated.*\bset S(?:TRICT|trict) in ", re.MULTILINE)
        assert counted.search(lenient.stdout), lenient.stdout
        assert not counted.search(strict.stdout)


@pytest.mark.slow
def test_in_javascript_the_end_says_what_to_do(tmp_path: Path) -> None:
    """
    Where listed cases pass, the command that deletes their lines. Their text is one line, and skipped cases are one test for each
    layer and reason.
    """
    folder = begun("js", "scuttlebutt", tmp_path / "mine", build=False)
    passing, list_ = "scuttlebutt/codec/reject-type-4-with-a-digest#rejects", folder / "known-failing.txt"
    list_.write_text(f"{list_.read_text()}{passing} accepted - - none\n")

    done = shell("node --test --test-reporter=spec", folder)
    last = re.search(rf"^ℹ stale: {passing}: .*\nℹ   to remove all such lines: (.*)\nℹ tests", done.stdout, re.M)
    assert last, done.stdout
    shell(last[1], folder)

    assert done.returncode == 1
    assert re.search(rf"^✖ {passing} .*\n  \[stale: it passes, though \S+ lists it: delete this line\]\n\n", done.stdout, re.M)
    skipped = re.findall(r"^﹣ (scuttlebutt/\w+): \d+ skipped .* # (.*)$", done.stdout, re.M)
    assert ("scuttlebutt/exchange", "the implementation does not offer exchange") in skipped
    assert len(skipped) == len(set(skipped)) == len(re.findall("^﹣", done.stdout, re.M))
    assert passing not in list_.read_text()


@pytest.mark.slow
def test_in_python_every_case_is_a_test_of_pytest(tmp_path: Path) -> None:
    """In the process of pytest; none fails, until the list of expected failures loses a line."""
    folder = begun("python", "peter", tmp_path / "mine")

    right = shell(LANGUAGES["python"].test, folder)
    unlisted = "peter/codec/subscribe-with-unknown-members#decode"
    lines = (folder / "known-failing.txt").read_text().splitlines(keepends=True)
    (folder / "known-failing.txt").write_text("".join(line for line in lines if not line.startswith(unlisted)))
    wrong = shell(f"{LANGUAGES['python'].test} -k codec", folder)

    assert right.returncode == 0, right.stdout + right.stderr
    assert re.search(r"^=+ \d+ passed, \d+ skipped, \d+ xfailed in ", right.stdout, re.MULTILINE)
    assert wrong.returncode == 1
    assert re.search(rf"^=+ FAILURES =+\n_+ {unlisted} _+\nrejected: ", wrong.stdout, re.MULTILINE)


#: What is typed so that the capability of nodes is claimed.
CLAIMING = {
    "go": ('[]string{"codec"}', '[]string{"codec", "exchange"}'),
    "java": ('Set.of("codec")', 'Set.of("codec", "exchange")'),
    "js": ('["codec"]', '["codec", "exchange"]'),
    "python": ('= ["codec"]', '= ["codec", "exchange"]'),
    "rust": ('[&str; 1] = ["codec"]', '[&str; 2] = ["codec", "exchange"]'),
}


def typed(folder: Path, name: str, old: str, new: str) -> None:
    """Changes a file of a skeleton."""
    text = (folder / name).read_text("utf-8")
    assert text.count(old) == 1, name
    (folder / name).write_text(text.replace(old, new))


@pytest.mark.slow
@pytest.mark.parametrize("language", EACH)
def test_a_node_that_does_nothing_is_a_right_adapter_and_a_wrong_node(language: str, tmp_path: Path) -> None:
    """As soon as exchange is claimed, nodes are judged, and the fuzzer has one."""
    folder = begun(language, "scuttlebutt", tmp_path / "mine", build=False)
    typed(folder, LANGUAGES[language].plug, *CLAIMING[language])
    start = LANGUAGES[language].start

    built = shell(LANGUAGES[language].build, folder)
    require_maven_central(built.stdout)
    smoke = shell(f"peerproof doctor --impl '{start}'", folder)
    run = shell(f"peerproof run --impl '{start}' -k 'protocol:scuttlebutt layer:exchange clause:B-14'", folder)
    fuzz = shell(f"peerproof fuzz scuttlebutt --impl '{start}'", folder)

    assert (built.returncode, smoke.returncode) == (0, 0), built.stderr + smoke.stdout
    assert re.search(r"^ok +isolation .*\n(?:-.*\n)*ok +clock", smoke.stdout, re.MULTILINE), smoke.stdout
    assert (run.returncode, fuzz.returncode) == (1, 1), run.stdout + fuzz.stdout + fuzz.stderr
    assert "FOUND" in fuzz.stdout


#: What is typed into a skeleton so that its node asks at its start: a file, what stands there and what then does.
ASKING = {
    "python": [
        ("adapter/scuttlebutt.py", '= "set"', '= "oracle"'),
        (
            "adapter/scuttlebutt.py",
            '"""Starts the node at `birth.now`."""',
            'birth.choices.pick("round.partner", {"c:1", "\\udcff", b"b:1"})',
        ),
    ],
    "go": [
        ("scuttlebutt/implementation.go", "Oracle:       false", "Oracle:       true"),
        (
            "scuttlebutt/implementation.go",
            "start(now int64) vectors.Reaction {\n",
            "start(now int64) vectors.Reaction {\n"
            '\tn.choose("round.partner", "one", []any{vectors.Text("c:1"), vectors.Text("\\xff"), "b:1", "c:1"}, 1)\n',
        ),
    ],
    "js": [
        ("scuttlebutt.js", 'choices: "set"', 'choices: "oracle"'),
        (
            "scuttlebutt.js",
            'throw new Unsupported("a node in a given state is not written yet");',
            'throw new Unsupported("no"); choose("round.partner", "one", ["c:1", { hex: "ff" }, "b:1", "c:1"]);',
        ),
    ],
    "java": [
        ("src/main/java/adapter/ScuttlebuttImplementation.java", "IS_ORACLE = false", "IS_ORACLE = true"),
        (
            "src/main/java/adapter/ScuttlebuttImplementation.java",
            "MyNode node = new MyNode();",
            'choose.one("round.partner", List.of("c:1", Map.of("hex", "ff"), "b:1", "c:1")); MyNode node = new MyNode();',
        ),
    ],
    "rust": [
        ("src/scuttlebutt.rs", "oracle: false", "oracle: true"),
        (
            "src/scuttlebutt.rs",
            "        Ok((Box::new(MyNode { choose })",
            '        let options = peerproof_vectors::serde_json::json!(["c:1", {"hex": "ff"}, "b:1", "c:1"]);\n'
            '        choose.one("round.partner", options.as_array().unwrap());\n'
            "        Ok((Box::new(MyNode { choose })",
        ),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("language", EACH)
def test_of_several_protocols_each_has_its_own_nodes_and_random_choices(language: str, tmp_path: Path) -> None:
    """
    The nodes of one ask the runner to choose, those of the other choose by themselves. Options are sorted by their bytes and in
    plain form; what is not written yet is unsupported.
    """
    folder = begun(language, "scuttlebutt,distkv", tmp_path / "mine", build=False)
    start, build = LANGUAGES[language].start, LANGUAGES[language].build
    for name, old, new in (*ASKING[language], (LANGUAGES[language].plug, *CLAIMING[language])):
        typed(folder, name, old, new)
    typed(folder, plug_of(language, "distkv"), *CLAIMING[language])

    smoke = shell(f"{build} && peerproof doctor --impl '{start}'", folder)

    require_maven_central(smoke.stdout)
    assert smoke.returncode == 0, smoke.stdout + smoke.stderr
    assert re.search(r"^ok +isolation +distkv: ", smoke.stdout, re.MULTILINE)
    assert re.search(r'^- +questions +distkv: hello has "choices": "set"', smoke.stdout, re.MULTILINE)
    assert re.search(r"^ok +questions +scuttlebutt: it asks at round.partner \(\d+\), with sorted", smoke.stdout, re.MULTILINE)

    node = {"protocol": "scuttlebutt", "addr": "a:1", "now_ms": 0}
    requests: list[dict[str, Any]] = [
        {"id": 1, "op": "open", **node},
        {"choice": {"for": 1, "n": 1, "pick": [1]}},
        {"id": 2, "op": "stream", "handle": 1, "conn": "one", "event": "open", "now_ms": 0},
        {"id": 3, "op": "load", **node, "state": {}, "timers": []},
        {"id": 4, "op": "bye"},
    ]
    (tmp_path / "requests").write_text("".join(json.dumps(request) + "\n" for request in requests))
    lines = [json.loads(line) for line in shell(f"{start} < {tmp_path}/requests", folder).stdout.splitlines()]
    options = ["b:1", "c:1", {"hex": "ff"}]
    assert lines[0] == {"choice": {"for": 1, "n": 1, "site": "round.partner", "kind": "one", "of": options}}
    assert [line.get("error", {}).get("code") for line in lines[1:]] == [None, "unsupported", "unsupported", None]


def plug_of(language: str, protocol: str) -> str:
    """The file to fill in of one of several protocols."""
    return LANGUAGES[language].plug.replace("scuttlebutt", protocol).replace("Scuttlebutt", protocol.capitalize())


@pytest.mark.slow
@pytest.mark.parametrize("language", EACH)
def test_it_is_clean_by_the_tools_of_its_language(language: str, tmp_path: Path) -> None:
    """Of all protocols and of one alone; Maven brings the libraries in Java once for both."""
    javac = "javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -Xlint:all -Werror -d lint"
    commands = {
        "python": [f"{sys.executable} -m mypy --strict adapter", f"{sys.executable} -m ruff format --isolated --check ."],
        "go": ['test -z "$(gofmt -l .)"', "go vet ./..."],
        "java": [f'{javac} -cp "{tmp_path}/all/target/lib/*" $(find src/main vectors -name "*.java")'],
        "js": ["for file in *.js; do node --check $file || exit; done"],
        "rust": ["cargo fmt --check", "cargo clippy --quiet --all-targets -- -D warnings"],
    }

    for name, protocols in (("all", ",".join(PROTOCOLS)), ("one", "wendy")):
        folder = begun(language, protocols, tmp_path / name, build=language == "java" and name == "all")
        for command in commands[language]:
            done = shell(command, folder)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_in_go_a_wrong_node_shows_what_happened(tmp_path: Path) -> None:
    """Each test has the name of its case, and the text the clause, the first difference and the events that led to it."""
    folder = begun("go", "scuttlebutt", tmp_path / "mine", build=False)
    typed(folder, "scuttlebutt/implementation.go", *CLAIMING["go"])

    done = shell("go test -run 'TestVectors/scuttlebutt/exchange/'", folder)

    assert done.returncode == 1
    lines = [line.strip() for line in done.stdout.partition("/applied-pairs-are-passed-on ")[2].splitlines()]
    assert lines[2] == "B-13 must: Where the receiver is ahead, it sends the pairs that the other node lacks, as a delta."
    assert "first difference (messages): steps[1].messages[0]" in lines
    happened = lines[lines.index("what happened") + 1 :]
    assert happened[:2] == ["0 ms  b:1  opened", "0 ms  b:1 <- a:1  0203633a310000000000000005"]
    assert happened[4].startswith("read on: peerproof explain B-13; peerproof vectors show scuttlebutt/exchange/applied-pairs")
    assert re.search(r"^ +\S+ scuttlebutt: \d+ cases: \d+ skipped, \d+ failed, ", done.stdout, re.MULTILINE)


@pytest.mark.minute
@pytest.mark.parametrize(("language", "protocols"), [("go", [*PROTOCOLS]), ("js", [*PROTOCOLS]), ("python", ["swim", "peter"])])
def test_steps_of_the_workflow_come_out_right(language: str, protocols: list[str], tmp_path: Path) -> None:
    """
    Each is typed, but for the one that installs the suite; the one that fuzzes waits for its switch. One list serves these,
    which tolerate what vectors say should be, and a run that does not; such a run writes the same.
    """
    subprocess.run([require("git"), "init", "--quiet", tmp_path], check=True)
    begun(language, ",".join(protocols), tmp_path / "the adapter", build=False)
    workflow = yaml.safe_load((tmp_path / ".github/workflows/conformance-my-node.yml").read_text("utf-8"))
    job = workflow["jobs"]["conformance"]
    folder = tmp_path / job["defaults"]["run"]["working-directory"]
    steps = {step["name"]: step for step in job["steps"] if "run" in step}

    assert list(steps)[:5] == ["Install the suite", "Run the tests", "Build the adapter", "Check the adapter", "Run the vectors"]
    for name, step in steps.items():
        if name != "Install the suite" and "if" not in step:
            done = shell(step["run"], folder)
            assert done.returncode == 0, f"{name}\n{done.stdout}{done.stderr}"
    report = ElementTree.parse(tmp_path / job["steps"][-1]["with"]["path"]).getroot()
    assert int(next(report.iter("testsuite")).get("tests", 0)) > 0
    for part, switch in (("decoder", "FUZZ_DECODER"), ("nodes", "FUZZ_NODES")):
        assert (workflow["env"][switch], steps[f"Fuzz the {part}"]["if"]) == ("", f"env.{switch} != ''")

    again = steps["Run the vectors"]["run"].partition("--known-failing")[0]
    assert shell(f"{again} --strict --known-failing known-failing.txt", folder).returncode == 0
    assert shell(f"{again} --strict --write-known-failing written.txt", folder).returncode == 0
    written, listed = (
        {(entry.pattern, entry.failure) for entry in expected_failures.load_expected_failures(folder / name).entries}
        for name in ("written.txt", "known-failing.txt")
    )
    levels = {vector.id: vector.level for vector in suite().vectors}
    assert written <= listed
    assert {levels[case.partition("#")[0]] for case, _ in written} == {"must", "should"}


def test_what_is_there_is_named_and_left(here: Path, capsys: Capture) -> None:
    (here / "scuttlebutt.js").write_text("mine")
    (here / "README.md").symlink_to("nowhere")

    assert main(["init", "--lang", "js", "--name", "my-node"]) == 2

    said = capsys.readouterr().err
    assert said == (
        "error: nothing is written: these files exist:\n  scuttlebutt.js\n  README.md\n"
        "tip: name another folder, or overwrite them with --force\n"
    )
    assert sorted(path.name for path in here.iterdir()) == ["README.md", "scuttlebutt.js"]
    assert (here / "scuttlebutt.js").read_text() == "mine"


def test_by_force_it_writes_over_files_but_not_over_folders(here: Path, capsys: Capture) -> None:
    (here / "scuttlebutt.js").write_text("mine")
    (here / "other.js").write_text("mine")

    assert main(["init", "--lang", "js", "--name", "my-node", "--force"]) == 0
    assert "export const implementation" in (here / "scuttlebutt.js").read_text()
    assert (here / "other.js").read_text() == "mine"

    (here / "scuttlebutt.js").unlink()
    (here / "scuttlebutt.js").mkdir()
    assert main(["init", "--lang", "js", "--name", "my-node", "--force"]) == 2
    assert "  scuttlebutt.js\ntip: move them\n" in capsys.readouterr().err


@pytest.mark.parametrize("fails_at", range(1, 5))
def test_a_disk_that_fails_leaves_nothing_half_written(fails_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it happens, there is what was there before."""
    (tmp_path / "old").write_text("old")
    replace, count = Path.replace, iter(range(1, 10))

    def failing(path: Path, target: Path) -> Path:
        if next(count) == fails_at:
            raise OSError(28, "No space left on device", str(target))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    contents = {tmp_path / name: b"new" for name in ("a/b/one", "old", "a/two", "three")}

    with pytest.raises(CannotWrite, match="No space left on device"):
        write_files(contents, force=True)

    assert {path.name: path.read_text() for path in tmp_path.rglob("*")} == {"old": "old"}


def test_where_nothing_can_be_written_is_said(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("")

    assert main(["init", "--lang", "python", "--name", "my-node", "swim", str(tmp_path / "file" / "folder")]) == 2

    assert "error: nothing is written: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scuttlebut"], "error: unknown protocol 'scuttlebut'\ntip: did you mean scuttlebutt?\n"),
        (["swim,scuttlebut"], "error: unknown protocol 'scuttlebut'\ntip: did you mean scuttlebutt?\n"),
        (["swim,wendy,swim"], "error: swim is listed twice\ntip: name each protocol once\n"),
        (["--name", "My Node"], "--name: expected small letters, digits and hyphens, such as my-node, found 'My Node'"),
        (["swim", "…"], "error: the folder '…' gives no name\ntip: name the implementation: --name my-node\n"),
    ],
)
def test_what_cannot_be_meant_is_a_mistake_in_the_command_line(
    arguments: list[str], said: str, here: Path, capsys: Capture
) -> None:
    assert main(["init", "--lang", "go", *arguments]) == 2

    assert said in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_installed_it_takes_its_skeletons_from_the_package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what Python compiles there when it is installed."""
    assert main(["init", "--lang", "python", "--name", "my-node", "scuttlebutt", "beside"]) == 0
    shutil.copytree(locations.skeletons_root(), here / "package/data/skeletons")
    (here / "package/data/skeletons/python/adapter/__pycache__").mkdir(exist_ok=True)
    (here / "package/data/skeletons/python/adapter/__pycache__/serve.pyc").write_bytes(b"\xff")
    for folder in ("vectors", "schemas"):
        (here / "package/data" / folder).symlink_to(locations.vectors_root().parent / folder)
    monkeypatch.setattr(locations, "_PACKAGE", here / "package")

    assert main(["init", "--lang", "python", "--name", "my-node", "scuttlebutt", "installed"]) == 0

    trees = [
        {path.relative_to(folder): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
        for folder in (here / "beside", here / "installed")
    ]
    assert locations.skeletons_root() == here / "package/data/skeletons"
    assert trees[0] == trees[1]


def test_name_and_workflow_are_those_of_the_repository(here: Path) -> None:
    """Or of the folder, if it lies in none; GitHub looks for workflows at the top of a repository only."""
    (here / "Some_Port" / ".git").mkdir(parents=True)

    assert main(["init", "--lang", "python", "swim", 'Some_Port/a/"b"']) == 0
    assert main(["init", "--lang", "python", "swim", "Lonely"]) == 0

    within = yaml.safe_load((here / "Some_Port/.github/workflows/conformance-some-port.yml").read_text("utf-8"))
    alone = yaml.safe_load((here / "Lonely/.github/workflows/conformance-lonely.yml").read_text("utf-8"))
    folders = [flow["jobs"]["conformance"]["defaults"]["run"]["working-directory"] for flow in (within, alone)]
    assert folders == ['a/"b"', "."]
    assert 'NAME: Final = "some-port"' in (here / 'Some_Port/a/"b"/adapter/swim.py').read_text("utf-8")


def test_two_adapters_of_one_repository_have_a_workflow_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "port" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "port")

    assert main(["init", "--lang", "python", "swim", "members"]) == 0
    assert main(["init", "--lang", "go", "wendy", "ring"]) == 0

    workflows = sorted((tmp_path / "port/.github/workflows").iterdir())
    folders = [yaml.safe_load(flow.read_text("utf-8"))["jobs"]["conformance"]["defaults"]["run"] for flow in workflows]
    assert [flow.name for flow in workflows] == ["conformance-port-ring.yml", "conformance-port.yml"]
    assert [folder["working-directory"] for folder in folders] == ["ring", "members"]


def test_several_protocols_of_one_adapter_have_one_workflow(here: Path, capsys: Capture) -> None:
    """It runs the vectors of all of them, with the command that is printed, and fuzzes those that the user has named."""
    (here / ".git").mkdir()

    assert main(["init", "--lang", "go", "--name", "my-node", "wendy,distkv", "mine"]) == 0

    (path,) = (here / ".github/workflows").iterdir()
    typed = capsys.readouterr().out.split("next:\n")[1].splitlines()[2].strip()
    workflow = yaml.safe_load(path.read_text("utf-8"))
    steps = {step["name"]: step for step in workflow["jobs"]["conformance"]["steps"] if "name" in step}
    assert typed.startswith("peerproof run -k protocol:distkv,wendy --impl ")
    assert steps["Run the vectors"]["run"].replace("'", "") == f"{typed} --format junit --output conformance.xml"
    for part, switch in (("decoder", "FUZZ_DECODER"), ("nodes", "FUZZ_NODES")):
        step = steps[f"Fuzz the {part}"]
        assert (workflow["env"][switch], step["if"]) == ("", f"env.{switch} != ''")
        assert shell(f"peerproof() {{ echo $2; }}; {switch}='wendy distkv'; {step['run']}", here).stdout == "wendy\ndistkv\n"


@pytest.mark.parametrize(
    ("origin", "installed"),
    [
        ("", "peerproof[fuzz,pytest]==@"),
        ('{"url": "file:///somewhere", "dir_info": {}}', "peerproof[fuzz,pytest]==@"),
        ('{"url": "https://some.where/p.whl", "archive_info": {}}', "peerproof[fuzz,pytest] @ https://some.where/p.whl"),
        (
            '{"url": "https://some.where/p", "subdirectory": "d", "vcs_info": {"vcs": "git", "commit_id": "c0"}}',
            "peerproof[fuzz,pytest] @ git+https://some.where/p@c0#subdirectory=d",
        ),
    ],
)
def test_the_workflow_installs_what_is_installed_here(
    origin: str, installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """From the same repository or archive. A folder of this machine is of no use elsewhere: init says so."""
    monkeypatch.setattr(skeletons, "distribution", lambda _: SimpleNamespace(read_text=lambda _name: origin or None))

    assert main(["init", "--lang", "python", "swim", str(tmp_path / "mine")]) == 0

    workflow = yaml.safe_load((tmp_path / "mine/.github/workflows/conformance-mine.yml").read_text("utf-8"))
    assert workflow["env"]["PEERPROOF"] == installed.replace("=@", f"={version('peerproof')}")
    lists, found, _ = capsys.readouterr().out.partition("note: this peerproof came from a folder or file")
    assert bool(found) == ("file:" in origin)
    assert "conformance-mine.yml\n" in lists


@pytest.mark.parametrize("is_in_a_repository", [False, True])
def test_a_workflow_that_github_does_not_read_is_noted(is_in_a_repository: bool, here: Path, capsys: Capture) -> None:
    if is_in_a_repository:
        (here / ".git").mkdir()

    assert main(["init", "--lang", "go", "swim", "--name", "my-node", "conformance"]) == 0

    note = re.search(r"^note: no Git repository here: GitHub reads .* dot of (.*); or ", capsys.readouterr().out, re.MULTILINE)
    assert bool(note) == (not is_in_a_repository)
    if note:
        written = (here / "conformance/.github/workflows/conformance-my-node.yml").read_text("utf-8")
        assert note[1] == "working-directory, go-version-file and path"
        (here / ".git").mkdir()
        assert main(["init", "--lang", "go", "swim", "--name", "my-node", "--force", "conformance"]) == 0
        moved = re.sub(r': "\.(?=["/])', ': "conformance', written)
        assert moved == (here / ".github/workflows/conformance-my-node.yml").read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_commands_write_is_ignored_by_git(language: str, here: Path) -> None:
    subprocess.run([require("git"), "init", "--quiet", here], check=True)
    assert main(["init", "--lang", language, "scuttlebutt", "--name", "my-node", "conformance"]) == 0
    subprocess.run([require("git"), "add", "."], check=True, cwd=here)

    (here / "conformance/fuzz-corpus").mkdir()
    (here / "conformance/fuzz-corpus/found").touch()
    for name in ("conformance.xml", "conformance.jsonl"):
        (here / "conformance" / name).touch()

    assert shell("git status --porcelain | grep -v ^A", here).stdout == ""
