"""`peerproof model prove`: what is proved, what must not be, and that neither is taken for the other."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path as FilePath
from types import FunctionType
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.unchanged import Memory, digest_of, digest_of_proofs

from peerproof.cli.main import main
from peerproof.conformance.clauses import catalogue as prose
from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.proof import Defined, Evaluated, Proof, Twin, load, prove, proven_protocols
from peerproof.conformance.proofs.scuttlebutt import proofs
from peerproof.spec.core import Step, Table
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms import packing
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.scuttlebutt import reconcile, transitions
from peerproof.spec.scuttlebutt.state import Peer, Versioned

SECONDS = 60.0 * float(os.environ.get("PEERPROOF_PATIENCE", "1"))  #: by the clock, also of a busy machine

EVERY = [pytest.param(proof, id=f"{proof.item} {proof.name}") for protocol in proven_protocols() for proof in load(protocol)]


@pytest.fixture(scope="session")
def proved_before(pytestconfig: pytest.Config) -> Memory:
    """The proofs that have been shown by the same code, on this machine."""
    return Memory(getattr(pytestconfig, "cache", None), digest_of_proofs())


@pytest.mark.slow
@pytest.mark.parametrize("proof", EVERY)
def test_statement_is_proved_and_its_twin_refuted(proof: Proof, proved_before: Memory) -> None:
    """Every path comes to its end, some to a claim; what refutes the twin is said."""
    name = f"{proof.item} {proof.name}"
    if proved_before.has(name):
        pytest.skip("it was proved before, and nothing has changed that it depends on")

    found = prove(proof, SECONDS)

    assert found.outcome.verdict == "proved", found.outcome.detail
    assert found.outcome.claims > 0
    assert found.twin.verdict == "refuted", found.twin.detail
    assert found.twin.detail != "no path reaches a claim"
    proved_before.keep(name)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["scuttlebutt", "distkv"])
def test_a_counterexample_does_not_depend_on_what_was_asked_before(protocol: str) -> None:
    """Else the code would confirm it in one order of the proofs, and in another not."""
    one, other = load(protocol), [*reversed(load(protocol))]

    def refuted(proofs: Iterable[Proof]) -> dict[tuple[str, str], str]:
        twins = [(proof, partial(proof.statement, **{**proof.arguments, **proof.twin.arguments})) for proof in proofs]
        return {(proof.item, proof.name): follow(twin, SECONDS, proof.logic).detail for proof, twin in twins}

    assert refuted(one) == refuted(other)


class Kept(dict[str, Any]):
    """A cache for this test alone."""

    def set(self, key: str, value: object) -> None:
        """Keeps a value."""
        self[key] = value


def test_a_proof_is_remembered_until_a_function_changes(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file of the specifications or of the proofs counts; in continuous integration nothing is remembered."""
    for variable in ("CI", "PEERPROOF_STRICT"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "swim").mkdir()
    (tmp_path / "swim" / "table.py").write_text("def key(): return 1\n")
    cache, name = Kept(), "a proof"
    before = Memory(cache, digest_of([tmp_path]))
    assert not before.has(name)

    before.keep(name)

    assert Memory(cache, digest_of([tmp_path])).has(name)
    monkeypatch.setenv("CI", "true")
    assert not Memory(cache, digest_of([tmp_path])).has(name)
    monkeypatch.delenv("CI")
    (tmp_path / "swim" / "table.py").write_text("def key(): return 2\n")
    assert not Memory(cache, digest_of([tmp_path])).has(name)


@pytest.mark.parametrize("proof", EVERY)
def test_proof_names_code_and_clauses_that_exist(proof: Proof) -> None:
    """The functions that it says it runs are there, and the items that it says it holds; so is the test of a definition."""
    items = {item for protocol in proven_protocols() for item in prose.load(protocol).items}

    assert set(proof.clauses) <= items
    assert re.fullmatch("[A-Z]Z-[0-9]+", proof.item)
    for function in proof.by.functions:
        module, _, name = function.rpartition(".")
        assert hasattr(import_module(f"peerproof.spec.{module}"), name), function
    if isinstance(proof.by, Defined):
        file, _, name = proof.by.test.partition("::")
        assert hasattr(import_module(file.removesuffix(".py").replace("/", ".")), name)


@pytest.mark.parametrize("protocol", proven_protocols())
def test_every_item_to_be_proved_has_a_proof(protocol: str) -> None:
    """Each BZ- or SZ- item of the prose, and no other."""
    to_prove = {item for item in prose.load(protocol).items if re.fullmatch("[A-Z]Z-[0-9]+", item)}

    assert {proof.item for proof in load(protocol)} == to_prove


# -- a mistake in the code that runs is a proof that fails ----------------------------------------------------------


def written_in(module: Any) -> Callable[[Any], Any]:
    """Gives a function the names of a module, also those that are overridden there."""
    return lambda function: FunctionType(function.__code__, vars(module), function.__name__)


@written_in(reconcile)
def greater_or_equal(peer: Peer, pairs: Iterable[Any]) -> tuple[Peer, tuple[Any, ...]]:
    """`merge` that takes over another value of the same version."""
    known, version, news = dict(peer.pairs), peer.version, []
    for pair in pairs:
        if pair.version >= (known[pair.key].version if pair.key in known else 1):
            known[pair.key] = Versioned(pair.value, pair.version)
            version = max(version, pair.version)
            news.append(pair)
    return (Peer(Table(known), version) if news else peer), tuple(news)


@written_in(reconcile)
def forgetful(peer: Peer, pairs: Iterable[Any]) -> tuple[Peer, tuple[Any, ...]]:
    """`merge` that does not raise the record's version."""
    known = dict(peer.pairs)
    for pair in pairs:
        if pair.version > (known[pair.key].version if pair.key in known else 0):
            known[pair.key] = Versioned(pair.value, pair.version)
    return Peer(Table(known), peer.version), ()


def by_key(addr: str, peer: Peer, version: int) -> list[Any]:
    """`newer_pairs` by key and not by version."""
    return sorted(reconcile_newer_pairs(addr, peer, version), key=lambda pair: str(pair.key))  # type: ignore[arg-type]


reconcile_newer_pairs = reconcile.newer_pairs


def unmeasured(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    """`fitting` that forgets the type byte."""
    used = 0
    for entry in entries:
        used += size(entry)
        if used > limit:
            return
        yield entry


@written_in(packing)
def one_byte_less(data: bytes, at: int) -> tuple[Any, int]:
    """`_unpack_text` that goes on within the string."""
    end = at + 1 + data[at]
    if end > len(data):
        raise MalformedMessage("truncated", at, "short")
    return str(data[at + 1 : end], "utf-8", "surrogateescape"), end - (data[at] > 7)


def without_type_byte(state: Any, entries: Any) -> tuple[Any, ...]:
    """`delta` that has room for one byte more than there is."""
    return reconcile_delta(replace_limit(state), entries)


reconcile_delta = reconcile.delta


def replace_limit(state: Any) -> Any:
    """The node with a payload limit of one more byte."""
    return replace(state, config=replace(state.config, max_payload=state.config.max_payload + 1))


def same_version(state: Any, key: str, value: str) -> Any:
    """`on_update_local` that leaves the version as it is."""
    own = state.store[state.self_id]
    updated = Peer(own.pairs.put({key: Versioned(value, own.version)}), own.version)
    return transitions.Step(replace(state, store=state.store.put({state.self_id: updated})))  # type: ignore[attr-defined]


def claiming(state: Any, now: Any, entries: Any) -> tuple[Any, tuple[Any, ...]]:
    """`add_peers` that stores unknown peers at the digest's version, without their pairs."""
    unknown = {entry.addr: Peer(version=entry.version) for entry in entries if entry.addr not in state.store}
    return replace(state, store=state.store.put(unknown)), ()


def newest_first(addr: str, peer: Peer, version: int) -> list[Any]:
    """`newer_pairs` from the last version on (BX-05)."""
    return reconcile_newer_pairs(addr, peer, version)[::-1]  # type: ignore[arg-type]


def versions_alone(peer: Peer, pairs: Iterable[Any]) -> tuple[Peer, tuple[Any, ...]]:
    """`merge` that raises the record's version and forgets the pairs."""
    found = tuple(pairs)
    return Peer(peer.pairs, max(peer.version, *(pair.version for pair in found))), found


def believing(state: Any, now: Any, sender: Any, entries: Any) -> Any:
    """`on_delta` that takes pairs about the node itself, without a look at their versions."""
    store = {pair.addr: Peer(Table({pair.key: Versioned(pair.value, pair.version)}), pair.version) for pair in entries}
    return Step(replace(state, store=state.store.put(store)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "broken", "words"),
    [
        (reconcile, "merge", greater_or_equal, "BZ-01"),
        (reconcile, "merge", greater_or_equal, "BZ-02 record"),
        (reconcile, "merge", forgetful, "BZ-03 receiving"),
        (reconcile, "merge", forgetful, "BZ-02"),
        (reconcile, "newer_pairs", by_key, "BZ-03 answering"),
        (reconcile, "fitting", unmeasured, "BZ-07 delta"),
        (reconcile, "delta", without_type_byte, "BZ-07 delta"),
        (transitions, "on_update_local", same_version, "BZ-03 owner"),
        (transitions, "add_peers", claiming, "BZ-09"),
        (reconcile, "newer_pairs", newest_first, "BZ-09"),
        (transitions, "merge", versions_alone, "BZ-09"),
        (transitions, "on_update_local", same_version, "BZ-08"),
        (transitions, "on_delta", believing, "BZ-08"),
        (packing, "_unpack_text", one_byte_less, "BZ-04"),
        (packing, "_unpack_text", one_byte_less, "BZ-06"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_mistake_in_the_running_code_is_refuted(module: Any, name: str, broken: Any, words: str, capsys: Capture) -> None:
    """The proofs are about the functions as they are in their modules; another function, another verdict."""
    with overriding(names_in(module, **{name: broken})):
        code = main(["model", "prove", "scuttlebutt", "-k", words, "--format", "json", "--seconds", str(SECONDS)])

    verdicts = [(row["verdict"], row["detail"]) for row in json.loads(capsys.readouterr().out)]
    assert code == 1
    assert [detail for verdict, detail in verdicts if verdict == "refuted"], verdicts


# -- what is no success -----------------------------------------------------------------------------------------------


def fermat(path: Path, *, false: bool = False) -> None:
    """No three cubes."""
    a, b, c = (path.integer(name, 1) for name in "abc")
    path.claim("no cube is the sum of two", a > 1 if false else a * a * a + b * b * b != c * c * c)


def nothing(path: Path, *, false: bool = False) -> None:
    """Claims nothing."""
    path.assume(path.integer("a") < 0)
    path.claim("anything", path.integer("a") > 1)


def trivial(path: Path, *, false: bool = False) -> None:
    """A statement that the twin does not break."""
    path.claim("itself", path.integer("a") >= 0)


def unsupported(path: Path, *, false: bool = False) -> None:
    """Code that cannot be run on terms."""
    path.claim("never asked", range(path.integer("a"))[0] == 0)


def lying(statement: Callable[..., None]) -> tuple[Proof, ...]:
    """A table of this one."""
    return (Proof(("BZ-01",), statement, Evaluated(("packing.size",)), Twin("false", {"false": True})),)


@pytest.mark.parametrize(
    ("statement", "verdict", "detail", "twin"),
    [
        (fermat, "unknown", "out of time", "refuted"),
        (nothing, "refuted", "no path reaches a claim", "refuted"),
        (trivial, "proved", "", "proved"),
        (unsupported, "unknown", "the code cannot be evaluated on terms: TypeError", "unknown"),
    ],
    ids=["out-of-time", "vacuous", "twin-is-true", "cannot-be-evaluated"],
)
def test_what_proves_nothing_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, statement: Callable[..., None], verdict: str, detail: str, twin: str
) -> None:
    """A solver that gives up, an assumption that nothing fits, a twin that holds, code that terms cannot go through: exit 1."""
    monkeypatch.setattr(proofs, "PROOFS", lying(statement))

    code = main(["model", "prove", "scuttlebutt", "--format", "json", "--seconds", "0.2"])

    (row,) = json.loads(capsys.readouterr().out)
    assert (code, row["verdict"], row["twin"]["verdict"], row["as_expected"]) == (1, verdict, twin, False)
    assert row["detail"].startswith(detail)


def test_text_says_why_a_proof_fails(capsys: Capture) -> None:
    """The verdict in capitals, the counterexample below it, and the sum."""
    with overriding(names_in(reconcile, merge=greater_or_equal)):
        code = main(["model", "prove", "scuttlebutt", "-k", "BZ-01 associative"])

    first, why, total = capsys.readouterr().out.splitlines()
    assert code == 1
    assert "REFUTED" in first
    assert why.startswith("    false: a + b is the greater; a.value = ")
    assert total.startswith("1 proof: 0 proved, 1 refuted, 0 unknown; 1 twin refuted; ")


# -- the command ------------------------------------------------------------------------------------------------------


def test_one_line_for_each_proof_and_one_for_all(capsys: Capture) -> None:
    """In the order of items; `-k` takes all of its words, in any case."""
    code = main(["model", "prove", "scuttlebutt", "-k", "bz-05 number"])

    line, total = capsys.readouterr().out.splitlines()
    assert code == 0
    assert line.split()[:5] == ["BZ-05", "a-number-has-one-list-of-digits", "proved", "twin", "refuted"]
    assert total.startswith("1 proof: 1 proved, 0 refuted, 0 unknown; 1 twin refuted; ")


def test_list_says_what_each_proof_is_about(capsys: Capture) -> None:
    """Whether the running code is evaluated or a definition stands for it; the twin; sorted by item."""
    assert main(["model", "prove", "--list"]) == 0

    listed = capsys.readouterr().out
    items = [line[:5] for line in listed.splitlines() if line.startswith("BZ-")]
    assert items == sorted(items)
    assert [item for item, _ in groupby(items)] == [f"BZ-{number:02}" for number in range(1, 13)]
    assert "    evaluates scuttlebutt.reconcile.merge, with dict, Table on terms\n" in listed
    assert "    defines forms.packing._u64, compared by tests/conformance/proofs/test_terms.py::" in listed
    assert "    twin: newest pairs first (BX-05)\n" in listed


def test_list_for_programs_is_json(capsys: Capture) -> None:
    """The same facts."""
    assert main(["model", "prove", "scuttlebutt", "--list", "--format", "json", "-k", "prefix"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert {row["item"] for row in rows} == {"BZ-07"}
    assert set(rows[0]) == {"protocol", "item", "name", "about", "clauses", "by", "scope", "twin"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["swum"], 2, "error: unknown protocol 'swum'\ntip: did you mean swim?\n"),
        (
            ["swim", "--save", "/no/such/folder/x"],
            2,
            "error: the file cannot be written: the folder /no/such/folder does not exist\n",
        ),
        (
            ["swim", "-k", "BZ-08"],
            4,
            "error: no proof has 'BZ-08' in its name\n"
            "tip: scuttlebutt has such proofs: peerproof model prove scuttlebutt -k BZ-08\n",
        ),
        (
            ["swim", "--any", "-k", "SZ-01"],
            4,
            "error: no proof is about clusters of any number of nodes and has 'SZ-01' in its name\n"
            "tip: those of this name are about other clusters: leave out --any\n",
        ),
        (["-k", "BZ-99"], 4, "error: no proof has 'BZ-99' in its name\ntip: peerproof model prove --list shows them\n"),
    ],
)
def test_proofs_that_do_not_exist_are_refused(capsys: Capture, arguments: list[str], code: int, message: str) -> None:
    """With what there is instead."""
    assert main(["model", "prove", *arguments]) == code
    assert capsys.readouterr().err == message


def test_a_protocol_without_proofs_for_any_cluster_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("peerproof.conformance.proofs.proof.load", lambda _: lying(fermat))

    assert main(["model", "prove", "swim", "--any"]) == 4
    assert capsys.readouterr().err == (
        "error: no proof is about clusters of any number of nodes\ntip: peerproof model prove --list shows them\n"
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_seconds_are_a_number_above_zero(capsys: Capture, seconds: str) -> None:
    assert main(["model", "prove", "--seconds", seconds]) == 2
    assert f"expected seconds above 0, found '{seconds}'" in capsys.readouterr().err


def test_without_z3_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Nothing is proved, and nothing looks as if it were."""
    monkeypatch.setitem(sys.modules, "z3", None)

    assert main(["model", "prove"]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert "pip install 'peerproof[prove]'" in said.err
