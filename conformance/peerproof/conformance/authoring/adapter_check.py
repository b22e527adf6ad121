"""
Is the adapter right? Checks of the adapter protocol itself, before anything is judged by vectors.

Nothing here knows a protocol: legal messages come from the suite's vectors, and nodes are compared with each other.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from itertools import pairwise
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable
from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.adapter.messages import Hello, InvalidReply, Reply, Request, check, event_kinds
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.cases import least_configuration, legal_messages
from peerproof.conformance.vectors.suite import Suite
from peerproof.spec.forms.form import Plain, octets
from peerproof.spec.protocols import PROTOCOLS

_MANY: Final = 100
_LARGE: Final = 2**20  #: bytes, twice as many digits
_REAL_PAUSE: Final = 0.05  #: seconds
_LATER: Final = 600_000  #: milliseconds of virtual time
_ROUNDS: Final = 10  #: timers that a node runs, to show what it asks and tells
_LATE: Final = 3  #: timers that are due when a late runner comes


class Flaw(Exception):
    """What the adapter does wrong."""


class Inapplicable(Exception):
    """Why there is nothing to check."""


class Finding(NamedTuple):
    """How a check came out."""

    name: str
    fine: bool | None  #: None if there was nothing to check
    detail: str


class Bench:
    """An adapter, one protocol that it offers, and legal messages of that."""

    def __init__(self, adapter: Adapter, hello: Hello, protocol: str, suite: Suite) -> None:
        self.adapter = adapter
        self.hello = hello
        self.protocol = protocol
        self.messages = legal_messages(suite, protocol)
        self.config = least_configuration(suite, protocol)
        self.questions: list[Mapping[str, Any]] = []  #: all that were asked
        self.told: Counter[str] = Counter()  #: kinds of events
        self._choices = Choices("smoke")

    def offers(self, capability: str) -> None:
        """Raises Inapplicable if the implementation does not have it."""
        if capability not in self.hello.protocols[self.protocol].capabilities:
            raise Inapplicable(f"{self.protocol} is offered without {capability}")

    def ask(self, *requests: Request) -> list[Reply]:
        """The replies, of the right shape. Raises Flaw or AdapterError."""
        replies = self.adapter.ask(requests, self._answer)
        for request, reply in zip(requests, replies, strict=True):
            try:
                check(request, reply)
            except InvalidReply as error:
                raise Flaw(f"the reply to {request['op']} has not the right shape: {error}") from None
            self.told.update(effect["event"]["name"] for effect in reply.get("effects", ()) if "event" in effect)
        return replies

    def _answer(self, question: dict[str, Any]) -> list[int]:
        self.questions.append(question)
        return self._choices.answer(question)

    def fine(self, *requests: Request) -> list[Reply]:
        """The replies, none of which is an error."""
        replies = self.ask(*requests)
        for request, reply in zip(requests, replies, strict=True):
            if "error" in reply:
                raise Flaw(f"{request['op']} was answered with an error: {json.dumps(reply['error'])}")
        return replies

    def decode(self, digits: str, **more: Any) -> Request:
        """A request."""
        return {"op": "decode", "protocol": self.protocol, "bytes": digits, **more}

    def open_node(self, name: str, at: int = 0) -> Reply:
        """The reply to `open` of a node; with the same answers to choices for each."""
        self._choices = Choices("smoke")
        request = {"op": "open", "case": "smoke", "node": name, "protocol": self.protocol, "addr": f"{name}:1", "now_ms": at}
        return self.fine({**request, "config": self.config, "seed": "smoke"})[0]

    def feed_messages(self, handle: Any) -> list[Any]:
        """What a node does that is sent every legal message."""
        request = {"op": "recv", "handle": handle, "now_ms": 0, "via": specification(self.protocol).TRANSPORT, "from": "peer:1"}
        return [self.fine({**request, "bytes": digits})[0]["effects"] for digits in self.messages]

    def run_node(self) -> None:
        """Sends a new node every legal message, and runs some of its timers."""
        node = self.open_node("one")
        self.feed_messages(node["handle"])
        reply = self.fine({"op": "advance", "handle": node["handle"], "now_ms": 0})[0]
        for _ in range(_ROUNDS):
            if reply["next_timer_ms"] is None:
                break
            reply = self.fine({"op": "advance", "handle": node["handle"], "now_ms": reply["next_timer_ms"]})[0]

    def query_all(self, handle: Any) -> dict[str, Any]:
        """The answers to every query."""
        capabilities = self.hello.protocols[self.protocol].capabilities
        known = sorted(specification(self.protocol).QUERIES.items())
        queries = [what for what, query in known if f"observe.{what}" in capabilities and len(signature(query).parameters) == 1]
        return {what: self.fine({"op": "query", "handle": handle, "what": what})[0]["value"] for what in queries}


def framing(bench: Bench) -> str:
    """One line for each request; members that nobody knows are ignored."""
    bench.offers("codec")
    bench.fine(bench.decode(bench.messages[0], a_member_from_the_future={"é": [1, None, "\u2028\n"]}))
    return "one line for each request, with its id"


def ordering(bench: Bench) -> str:
    """Many requests at once are answered in their order, each by its own answer."""
    bench.offers("codec")
    digits = [bench.messages[number % len(bench.messages)] for number in range(_MANY)]
    alone = {each: bench.fine(bench.decode(each))[0].get("value") for each in bench.messages}
    replies = bench.fine(*map(bench.decode, digits))
    for number, (each, reply) in enumerate(zip(digits, replies, strict=True)):
        if reply.get("value") != alone[each]:
            raise Flaw(f"request {number} of {_MANY} that were sent at once has the answer of another")
    return f"{_MANY} requests sent at once are answered in their order"


def batches(bench: Bench) -> str:
    """A batch gives what its items give one by one."""
    bench.offers("codec")
    items = [bench.decode(each) for each in (*bench.messages, "ff")]
    (reply,) = bench.ask({"op": "batch", "items": items})
    if "error" in reply:
        raise Inapplicable(f"there is no batch ({reply['error']['code']}); codec vectors are then asked one by one")
    alone = [{name: value for name, value in each.items() if name != "id"} for each in bench.ask(*items)]
    together = [{name: value for name, value in each.items() if name != "id"} for each in reply["results"]]
    if alone != together:
        raise Flaw("a batch gives other results than its items one by one")
    return "a batch gives what its items give one by one"


def unknown_op(bench: Bench) -> str:
    """An op that nobody knows is answered, and the adapter goes on."""
    _expect_error(bench, {"op": "no_such_op_at_all"}, ("unknown_op",))
    return "an op that is not known is answered with the error unknown_op"


def large_line(bench: Bench) -> str:
    """A line of two megabytes is read and answered."""
    bench.offers("codec")
    bench.fine(bench.decode("00" * _LARGE))
    return f"a line of {2 * _LARGE >> 20} MiB is answered"


def panics(bench: Bench) -> str:
    """What cannot be done is answered with an error, and the adapter goes on."""
    requests: list[Request] = [
        {"op": "query", "handle": 987654321, "what": "anything"},
        {"op": "recv", "handle": 987654321, "now_ms": 0, "via": "udp", "from": "peer:1", "bytes": ""},
        {"op": "encode", "protocol": bench.protocol, "value": {"type": "no_such_type"}},
        {"op": "encode", "protocol": bench.protocol, "value": None},
        {"op": "decode", "protocol": "no_such_protocol", "bytes": ""},
        {"op": "decode", "protocol": bench.protocol},
        {"op": "open", "protocol": bench.protocol},
    ]
    for request in requests:
        _expect_error(bench, request, ())
    return f"{len(requests)} impossible requests are answered with errors, and it goes on"


def isolation(bench: Bench) -> str:
    """What one node is told no other one knows."""
    bench.offers("exchange")
    first, second = bench.open_node("one"), bench.open_node("two")
    if first["handle"] == second["handle"]:
        raise Flaw(f"two nodes have the same handle {first['handle']!r}")
    before = bench.query_all(second["handle"])
    bench.feed_messages(first["handle"])
    if bench.query_all(second["handle"]) != before:
        raise Flaw("what one node was told changed what another node answers")
    bench.fine({"op": "close", "handle": first["handle"]}, {"op": "close", "handle": second["handle"]})
    _expect_error(bench, {"op": "advance", "handle": first["handle"], "now_ms": 0}, ("no_handle",))
    again, fresh = bench.open_node("one"), bench.open_node("one")
    if bench.feed_messages(again["handle"]) != bench.feed_messages(fresh["handle"]) and bench.hello.oracle:
        raise Flaw("two new nodes that are told the same answer differently: something is left of an earlier one")
    return "nodes know nothing of each other, and nothing of closed ones"


def clock(bench: Bench) -> str:
    """Time is what the runner says it is."""
    bench.offers("exchange")
    node = bench.open_node("one")
    handle, timer = node["handle"], node["next_timer_ms"]
    time.sleep(_REAL_PAUSE)
    told = {"op": "advance", "handle": handle, "now_ms": 0}
    (reply,) = bench.fine(told)
    if reply["effects"] or reply["next_timer_ms"] != timer:
        raise Flaw(f"after {_REAL_PAUSE:g} real seconds and no virtual ones something has happened: {json.dumps(reply)}")
    if timer is None:
        return "no timer runs by itself"
    if timer > 0:
        (early,) = bench.fine({**told, "now_ms": timer - 1})
        if early["effects"] or early["next_timer_ms"] != timer:
            raise Flaw(f"the timer is due at {timer}, but something happened at {timer - 1}: {json.dumps(early)}")
    (due,) = bench.fine({**told, "now_ms": timer})
    if due["next_timer_ms"] is not None and due["next_timer_ms"] <= timer:
        raise Flaw(f"at {timer} the timer that is due at {timer} did not run: next_timer_ms is {due['next_timer_ms']}")
    late = bench.open_node("two", at=_LATER)["next_timer_ms"]
    if late is None or late < _LATER:
        raise Flaw(f"a node opened at {_LATER} has its next timer at {late}, a node opened at 0 at {timer}")
    return "timers run when the runner says so, neither before nor by themselves"


def late_clock(bench: Bench) -> str:
    """A runner that comes late finds all timers run that are due by then, in their order."""
    bench.offers("exchange")
    at, effects = _run_timers(bench)
    if at is None:
        raise Inapplicable("no timer runs by itself")
    node = bench.open_node("one")
    bench.feed_messages(node["handle"])
    (late,) = bench.fine({"op": "advance", "handle": node["handle"], "now_ms": at})
    if late["next_timer_ms"] is not None and late["next_timer_ms"] <= at:
        raise Flaw(f"advanced from 0 to {at} at once, its next timer is at {late['next_timer_ms']}: one that was due did not run")
    if late["effects"] != effects and bench.hello.oracle:
        raise Flaw(f"advanced from 0 to {at} at once it does {json.dumps(late['effects'])}, timer by timer {json.dumps(effects)}")
    return "a late runner finds all timers run, in their order"


def _run_timers(bench: Bench) -> tuple[int | None, list[Any]]:
    """Runs some timers of a new node one by one: when the last one was due, and what it did."""
    handle = bench.open_node("one")["handle"]
    bench.feed_messages(handle)
    (reply,) = bench.fine({"op": "advance", "handle": handle, "now_ms": 0})
    at, effects = None, list(reply["effects"])
    for _ in range(_LATE):
        if reply["next_timer_ms"] is None:
            break
        at = reply["next_timer_ms"]
        (reply,) = bench.fine({"op": "advance", "handle": handle, "now_ms": at})
        effects += reply["effects"]
    return at, effects


def outcomes(bench: Bench) -> str:
    """What became of a message can be told for any, and whatever became of it."""
    bench.offers("sent")
    told = {"op": "sent", "handle": bench.open_node("one")["handle"], "now_ms": 0, "to": "peer:1"}
    for digits in bench.messages:
        for took in (1500, None):
            bench.fine({**told, "bytes": digits, "took_us": took})
    return "it takes what became of each kind of message"


def connections(bench: Bench) -> str:
    """What comes over a connection is the same in one piece and in many; connections know nothing of each other."""
    bench.offers("stream")
    seen = []
    for size in (2**20, 1):
        handle = bench.open_node("one")["handle"]
        event = {"op": "stream", "handle": handle, "now_ms": 0}
        bench.fine({**event, "conn": "other", "event": "open"}, {**event, "conn": "one", "event": "open"})
        digits, effects = bench.messages[0], []
        for at in range(0, len(digits), 2 * size):
            piece = {**event, "conn": "one", "event": "data", "bytes": digits[at : at + 2 * size]}
            effects += bench.fine(piece)[0]["effects"]
        bench.fine({**event, "conn": "one", "event": "eof"}, {**event, "conn": "other", "event": "reset"})
        if any(effect["stream"]["conn"] != "one" for effect in effects if "stream" in effect):
            raise Flaw(f"what came over one connection was answered on another: {json.dumps(effects)}")
        seen.append(effects)
    if seen[0] != seen[1] and bench.hello.oracle:
        raise Flaw(f"a message in one piece leads to {json.dumps(seen[0])}, byte by byte to {json.dumps(seen[1])}")
    return "a message over a connection is the same in one piece and byte by byte"


def questions(bench: Bench) -> str:
    """Questions of chance are asked where the protocol has a choice, with the options that are there, sorted."""
    bench.offers("exchange")
    sites = PROTOCOLS[bench.protocol].sites
    if not sites:
        raise Inapplicable(f"{bench.protocol} leaves nothing to chance")
    if not bench.hello.oracle:
        raise Inapplicable('hello has "choices": "set": it draws for itself, and vectors that fix a draw are skipped')
    bench.run_node()
    for question in bench.questions:
        site, options = question["site"], question["of"]
        if site not in sites:
            raise Flaw(f"it asks at {site!r}, but {bench.protocol} has the sites {', '.join(sites)}")
        if not _is_sorted(options):
            raise Flaw(f"it asks at {site} for {json.dumps(options)}: expected two or more different options, sorted")
    asked = Counter(question["site"] for question in bench.questions)
    if not asked:
        raise Inapplicable(f'hello has "choices": "oracle", but no question was asked; the sites are {", ".join(sites)}')
    silent = ", ".join(site for site in sites if site not in asked)
    return f"it asks at {_list_counts(asked)}, with sorted options" + (f"; not asked here: {silent}" if silent else "")


def events(bench: Bench) -> str:
    """Events are those of the protocol, and the kinds that hello lists."""
    bench.offers("exchange")
    bench.offers("events")
    bench.run_node()
    kinds, offered = event_kinds(bench.protocol), bench.hello.protocols[bench.protocol]
    if unknown := [kind for kind in bench.told if kind not in kinds]:
        raise Flaw(f"it tells the event {unknown[0]!r}, but {bench.protocol} has {', '.join(kinds)}")
    if not bench.told:
        raise Inapplicable("a node that gets every legal message tells no event")
    compared = Counter({kind: count for kind, count in bench.told.items() if offered.tells(kind)})
    ignored = bench.told - compared
    note = f"; not compared, since hello does not list it: {_list_counts(ignored)}" if ignored else ""
    return f"it tells {_list_counts(compared) or 'nothing that is compared'}{note}"


def _list_counts(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in kinds.items())


def _is_sorted(options: list[Plain]) -> bool:
    """Whether there are several options, all different, in the order of their bytes or numbers."""
    keys = [key for option in options if (key := _sort_key(option)) is not None]
    return len(options) > 1 and (len(keys) < len(options) or all(one < other for one, other in pairwise(keys)))


def _sort_key(option: Plain) -> tuple[int, Any] | None:
    """By which an option is sorted; None for what is neither a number nor a text."""
    match option:
        case int():
            return 0, option
        case str():
            return 1, octets(option)
        case {"hex": str(digits)}:
            return 1, bytes.fromhex(digits)
    return None


def _expect_error(bench: Bench, request: Request, codes: Sequence[str]) -> None:
    (reply,) = bench.ask(request)
    shown = json.dumps(request)
    if "error" not in reply:
        raise Flaw(f"expected an error for {shown}, found {json.dumps(reply)}")
    if codes and reply["error"]["code"] not in codes:
        raise Flaw(f"expected the error {' or '.join(codes)} for {shown}, found {reply['error']['code']}")


#: The checks, and what to do if one fails.
CHECKS: Final[tuple[tuple[Callable[[Bench], str], str], ...]] = (
    (framing, "write each reply as one line of JSON with the request's id, flush it, and ignore members you do not know"),
    (ordering, "read one request after the other, and answer each before the next"),
    (batches, "answer a batch with one line: results in the order of items, each as it would be by itself, without an id"),
    (unknown_op, 'answer any other op with {"id": …, "error": {"code": "unknown_op", "message": …}}'),
    (large_line, "read lines of up to 16 MiB; many libraries have a smaller limit that can be raised"),
    (panics, 'catch what goes wrong in a request and answer {"error": {"code": "bad_request" or "panic", …}}; never end by it'),
    (isolation, "keep everything that a node knows in the object behind its handle; no globals"),
    (outcomes, "take sent for every message that the node may have sent: took_us is microseconds, or null if it did not arrive"),
    (connections, "keep what came over a connection by its conn until the message is whole, and answer on that connection only"),
    (questions, "ask only where the protocol says at random, with all options sorted by their bytes, and not for a single one"),
    (events, "name events as the protocol does: the page Messages lists them; leave out what is none of them"),
    (clock, "take the time from now_ms only; run timers in advance, and say in next_timer_ms when the next one is due"),
    (late_clock, "in advance, run the timer that is due first until none is due any more, each at the time it was due"),
)


def check_adapter(adapter: Adapter, suite: Suite) -> Iterator[Finding]:
    """Starts the adapter and makes every check with it. Raises AdapterUnavailable if it cannot be started at all."""
    hello = adapter.start()
    yield Finding("hello", True, f"{hello.name} {hello.version}: {', '.join(sorted(hello.protocols)) or 'no protocol'}")
    if not hello.protocols:
        yield Finding("protocol", False, "hello offers no protocol, so nothing can be judged. To do: list it under protocols")
    known = {vector.protocol for vector in suite.vectors}
    offered = known & set(hello.protocols)
    for protocol in sorted(hello.protocols):
        if protocol not in known:
            close = get_close_matches(protocol, known - offered, n=1)
            meant = f"; did you mean {close[0]!r}? To do: name it so in hello" if close else ""
            because = f"the suite has no vectors of {protocol!r}, but of {', '.join(sorted(known))}{meant}"
            yield Finding("protocol", None if offered and not close else False, because)
            continue
        bench = Bench(adapter, hello, protocol, suite)
        for made, to_do in CHECKS:
            try:
                finding = _run_check(bench, made, to_do)
            except AdapterUnavailable as error:
                yield Finding(made.__name__, False, f"it cannot be started again: {error}")
                return
            yield finding if len(hello.protocols) == 1 else finding._replace(detail=f"{protocol}: {finding.detail}")
    begin = time.monotonic()
    if adapter.stop():
        yield Finding("bye", True, f"it ends when it is told to, in {time.monotonic() - begin:.1f} s")
    else:
        yield Finding("bye", False, "it did not end by itself. To do: answer bye, then exit")


def _run_check(bench: Bench, made: Callable[[Bench], str], to_do: str) -> Finding:
    name = made.__name__
    try:
        return Finding(name, True, made(bench))
    except Inapplicable as reason:
        return Finding(name, None, str(reason))
    except Flaw as flaw:
        return Finding(name, False, f"{flaw}. To do: {to_do}")
    except AdapterError as trouble:
        bench.adapter.start()
        return Finding(name, False, f"the adapter {trouble.detail}. To do: {to_do}")
