"""The explorer's server answers to its own address below its token, and to nobody else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from peerproof.conformance.explorer.recorded_run import Run
from peerproof.conformance.explorer.serve import PAGE, POLICY, Explorer
from peerproof.conformance.explorer.trace_run import run_traces
from peerproof.conformance.explorer.walk import Walk


@pytest.fixture(scope="module")
def server() -> Iterator[Explorer]:
    """One that runs."""
    with Explorer() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def asked(server: Explorer, name: str, token: str | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one request."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", f"/{server.token if token is None else token}/{name}", headers=headers)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, dict(reply.getheaders()), body


@pytest.mark.parametrize("name", ["", *PAGE])
def test_the_page_loads_nothing_from_elsewhere(server: Explorer, name: str) -> None:
    status, headers, body = asked(server, name)

    assert (status, headers["Content-Security-Policy"], headers["X-Content-Type-Options"]) == (200, POLICY, "nosniff")
    assert b"http:" not in body.replace(b"http://www.w3.org", b"")
    assert b"https:" not in body
    assert b"innerHTML" not in body


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        ("", {}, 404),
        ("guessed", {}, 404),
        (None, {"Host": "127.0.0.1"}, 403),
        (None, {"Host": "rebound.example"}, 403),
        (None, {"Origin": "http://other.example"}, 403),
    ],
)
def test_strangers_learn_nothing(server: Explorer, token: str | None, headers: dict[str, str], status: int) -> None:
    found, _, body = asked(server, "info.json", token, **headers)

    assert found == status
    assert b"scuttlebutt" not in body


def view(server: Explorer, **query: str) -> tuple[int, Any]:
    """What the page would show."""
    status, _, body = asked(server, "view.json?" + "&".join(f"{name}={value}" for name, value in query.items()))
    return status, json.loads(body)


def test_a_view_is_that_of_the_walk(server: Explorer) -> None:
    begun = Walk("swim", "small-a").view([])
    move = begun["moves"][0]["id"]

    status, found = view(server, protocol="swim", model="small-a", path=move)

    assert status == 200
    assert {name: found[name] for name in begun} == json.loads(json.dumps(Walk("swim", "small-a").view([move])))
    assert {"name", "about", "possible", "models"} == found["reaches"][0].keys()


@pytest.mark.parametrize(
    ("name", "status", "problem"),
    [
        ("view.json?protocol=swum&model=small-a", 404, "unknown protocol 'swum'"),
        ("view.json?protocol=swim&model=huge", 404, "swim has no model or configuration 'huge'"),
        ("view.json?protocol=swim&model=small-a&path=xx", 404, "there is no move 'xx' at step 1 of the path"),
        ("vector.json?protocol=swim&model=small-a&path=xx&node=node%201", 404, "there is no move 'xx' at step 1 of the path"),
        ("vector.json?protocol=swim&model=small-a&node=node%209", 404, "there is no 'node 9': there are node 1, node 2, node 3"),
        (
            "check.json?protocol=swim&model=small-a&node=node%201",
            404,
            "no implementation: peerproof model explore --impl COMMAND",
        ),
        ("run.json?run=0", 404, "there is no run 0"),
        ("run.json?run=x", 404, "run is not a number: 'x'"),
        ("way.json?protocol=swim&model=small-a&to=Nowhere", 404, "nothing to reach is called 'Nowhere'"),
        ("../serve.py", 404, "there is no '../serve.py'"),
        (f"view.json?path={'ab.' * 7000}", 414, "this path is too long"),
    ],
)
def test_what_cannot_be_answered_says_why(server: Explorer, name: str, status: int, problem: str) -> None:
    found, _, body = asked(server, name)

    assert (found, json.loads(body)) == (status, {"error": problem})


def test_a_run_that_was_made_already_is_made_again_when_the_page_is_loaded_again() -> None:
    with Explorer(runs={"run": lambda: Run("swim", "second")}, first=[Run("swim", "first")]) as server:
        assert [server.run(0, anew=anew).title for anew in (True, False, True)] == ["first", "first", "second"]


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "trace.jsonl: No such file or directory"), ("", "not a trace: it is empty")]
)
def test_a_file_that_can_no_longer_be_read_is_named(text: str | None, problem: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    if text is not None:
        trace.write_text(text, encoding="utf-8")
    with Explorer(runs={"run": partial(run_traces, [trace])}) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        status, _, body = asked(server, "run.json?run=0")
        server.shutdown()

    assert status == 404
    assert problem in json.loads(body)["error"]
