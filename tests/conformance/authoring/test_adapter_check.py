"""Smoke: adapters with one mistake each, and the check that finds it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.numbered import argv, command

from peerproof.cli.main import main
from peerproof.conformance.adapter.implementation import program
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.authoring.adapter_check import CHECKS, Finding, check_adapter
from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors import suite as vectors

pytestmark = pytest.mark.slow

MISTAKEN = """\
import sys, time
from peerproof.reference.harness.harness import Harness


class Some(Harness):
    '''The reference of a protocol over datagrams and of one over connections.'''

    def __init__(self, *, oracle=True):
        super().__init__(["scuttlebutt", "wendy"], oracle=oracle)


class Forgetful(Some):
    '''Its replies to queries are those of the last node that was told something.'''

    told = None

    def handle(self, request, choose):
        if request["op"] == "recv":
            self.told = request["handle"]
        if request["op"] == "query" and self.told in self._handles:
            request = {**request, "handle": self.told}
        return super().handle(request, choose)


class WallClock(Some):
    '''Its timers run by the clock on the wall.'''

    def handle(self, request, choose):
        if request["op"] == "open":
            self.began = time.monotonic()
        if request["op"] == "advance" and time.monotonic() > self.began + 0.01:
            request = {**request, "now_ms": request["now_ms"] + 1000}
        return super().handle(request, choose)


class Picky(Some):
    '''It refuses members that it does not know.'''

    def handle(self, request, choose):
        if "a_member_from_the_future" in request:
            return {"error": {"code": "bad_request", "message": "what is that?"}}
        return super().handle(request, choose)


class Panicking(Some):
    '''It does not catch what goes wrong.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        if "error" in reply and reply["error"]["code"] != "unknown_op":
            raise RuntimeError("not caught")
        return reply


class Mixing(Some):
    '''A batch gives its results in another order.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        return {**reply, "results": reply["results"][::-1]} if "results" in reply else reply


class Wordless(Some):
    '''It calls an unknown op a panic.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        if reply.get("error", {}).get("code") == "unknown_op":
            reply["error"]["code"] = "internal"
        return reply


class Small(Some):
    '''It does not read long lines.'''

    def handle(self, request, choose):
        if len(str(request)) > 65536:
            raise MemoryError("line too long")
        return super().handle(request, choose)


class Shuffled(Some):
    '''It answers many requests with what it answered before.'''

    before = None

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        if request["op"] != "decode" or request["id"] % 50 != 40 or self.before is None:
            self.before = reply
            return reply
        return {**self.before, "id": request["id"]}


class Hopeful(Some):
    '''It cannot be told that a message did not arrive.'''

    def handle(self, request, choose):
        if request["op"] == "sent" and request["took_us"] is None:
            return {"error": {"code": "internal", "message": "it must arrive"}}
        return super().handle(request, choose)


class Hasty(Some):
    '''It takes what comes at once over a connection for the whole message.'''

    def handle(self, request, choose):
        if request["op"] == "stream" and request["event"] == "data" and len(request["bytes"]) == 2:
            return {"id": request["id"], "ok": True, "effects": [], "next_timer_ms": None}
        return super().handle(request, choose)


class Unsorted(Some):
    '''Its options come in no order, as those of a map in Go.'''

    def handle(self, request, choose):
        def shuffled(question):
            last = len(question["of"]) - 1
            return [last - index for index in choose({**question, "of": question["of"][::-1]})]

        return super().handle(request, shuffled)


class Elsewhere(Some):
    '''It asks where the protocol has no choice.'''

    def handle(self, request, choose):
        return super().handle(request, lambda question: choose({**question, "site": "dice"}))


class Silent(Some):
    '''It says that it asks, and draws for itself.'''

    def handle(self, request, choose):
        return super().handle(request, lambda question: list(range(1 if question["kind"] == "one" else len(question["of"]))))


class Own(Some):
    '''It does not say that it asks.'''

    def __init__(self):
        super().__init__(oracle=False)


class Sleepy(Some):
    '''A runner that comes late finds one timer run, however many were due.'''

    def handle(self, request, choose):
        if request["op"] == "advance":
            due = self.due.get(request["handle"])
            if due is not None and due < request["now_ms"]:
                request = {**request, "now_ms": due}
        reply = super().handle(request, choose)
        if "next_timer_ms" in reply:
            self.due = {**getattr(self, "due", {}), reply.get("handle", request.get("handle")): reply["next_timer_ms"]}
        return reply


class Yes(Some):
    '''It has an answer to everything.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        return {"id": request["id"], "ok": True} if "error" in reply else reply


class Misspelt(Some):
    '''Its protocol is called otherwise.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        if request["op"] == "hello":
            reply["protocols"] = {"scutlebutt": reply["protocols"]["scuttlebutt"]}
        return reply


class Empty(Some):
    '''It offers nothing.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        return {**reply, "protocols": {}} if request["op"] == "hello" else reply


class Renaming(Some):
    '''Its events have names of its own.'''

    def handle(self, request, choose):
        reply = super().handle(request, choose)
        for effect in reply.get("effects", ()):
            if "event" in effect:
                effect["event"]["name"] = "on_" + effect["event"]["name"]
        return reply
"""

MISTAKES = {
    "framing": "Picky",
    "ordering": "Shuffled",
    "batches": "Mixing",
    "unknown_op": "Wordless",
    "large_line": "Small",
    "panics": "Panicking",
    "isolation": "Forgetful",
    "outcomes": "Hopeful",
    "connections": "Hasty",
    "questions": "Unsorted",
    "events": "Renaming",
    "clock": "WallClock",
    "late_clock": "Sleepy",
}


def checked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    (tmp_path / "mistaken.py").write_text(MISTAKEN)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "mistaken", raising=False)
    suite = vectors.load()
    return list(check_adapter(InProcess(f"mistaken:{name}", Timeouts(op=5), suite.version), suite))


def test_the_references_adapter_passes_every_check(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--impl", "reference"]) == 0
    lines = capfd.readouterr().out.splitlines()

    over_datagrams = [name for name in protocols() if specification(name).TRANSPORT != "tcp"]
    assert len(lines) == len(CHECKS) * len(protocols()) + 2
    unasked = [line for line in lines if line.startswith("-") and " questions " in line]
    untold = [line for line in lines if line.startswith("-") and " events " in line]
    assert {line.split()[2] for line in unasked} == {"peter:", "swim:", "wendy:"}
    assert {line.split()[2] for line in untold} == {"swim:"}
    assert sum(line.startswith("-  ") for line in lines) == len({"sent", "stream"}) * len(over_datagrams) + len(unasked + untold)
    assert not [line for line in lines if not line.startswith(("ok ", "-  "))]


@pytest.mark.parametrize("check", MISTAKES)
def test_each_check_finds_the_mistake_that_it_is_for(check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(MISTAKES[check], tmp_path, monkeypatch)

    assert check in [finding.name for finding in found if finding.fine is False]
    assert all("To do: " in finding.detail for finding in found if finding.fine is False)


def test_there_is_a_mistake_for_each_check() -> None:
    assert set(MISTAKES) == {made.__name__ for made, _ in CHECKS}


def test_an_answer_to_an_op_that_does_not_exist_is_a_mistake_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked("Yes", tmp_path, monkeypatch)

    wrong = {finding.name: finding.detail for finding in found if finding.fine is False}
    assert "no_such_op_at_all" in wrong["unknown_op"]
    assert "To do: " in wrong["panics"]


@pytest.mark.parametrize(("name", "said"), [("Misspelt", "did you mean 'scuttlebutt'? To do: "), ("Empty", "no protocol")])
def test_a_hello_without_a_protocol_that_there_is_is_a_mistake(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [finding for finding in checked(name, tmp_path, monkeypatch) if finding.fine is False]

    assert [finding.name for finding in wrong] == ["protocol"]
    assert said in wrong[0].detail


def test_a_program_that_does_not_end_is_found() -> None:
    suite = vectors.load()
    found = list(check_adapter(program(argv("deaf"), Timeouts(op=5, bye=0.3), suite.version), suite))

    assert [finding.name for finding in found if finding.fine is False] == ["bye"]


@pytest.mark.parametrize(
    ("impl", "code"), [("./no-such-adapter", 3), (command("banner"), 3), (command("killed", "no_such_op_at_all"), 1)]
)
def test_the_exit_code_tells_a_mistake_from_an_adapter_that_cannot_be_used(impl: str, code: int) -> None:
    assert main(["doctor", "--impl", impl]) == code


def test_what_was_found_out_about_questions_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which sites were asked, that none was, or that none will be."""
    suite = vectors.load()
    right = list(check_adapter(InProcess("peerproof.reference.harness.harness:Harness", Timeouts(op=60), suite.version), suite))
    elsewhere, silent, own = (checked(name, tmp_path, monkeypatch) for name in ("Elsewhere", "Silent", "Own"))

    assert says(right, True, "scuttlebutt", "round.partner (10)")
    assert says(elsewhere, False, "scuttlebutt", "it asks at 'dice'")
    assert says(silent, None, "scuttlebutt", "no question was asked")
    assert says(own, None, "scuttlebutt", '"choices": "set"')
    assert says(right, None, "wendy", "has no random choices")


def says(findings: list[Finding], fine: bool | None, *words: str) -> bool:
    """Whether a finding about questions came out like this and has these words."""
    details = [finding.detail for finding in findings if (finding.name, finding.fine) == ("questions", fine)]
    return any(all(word in detail for word in words) for detail in details)
