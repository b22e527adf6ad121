"""
Checks of the adapter protocol itself, made before any vector runs.

The checks know no protocol: legal messages come from the suite's vectors, and nodes are compared with each other.
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
from peerproof.conformance.diagrams.labels import visible, window_texts
from peerproof.conformance.runner.cases import least_configuration, legal_messages, whole_configuration
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.conformance.vectors.suite import Suite
from peerproof.conformance.vectors.vector_file import needs_of_nodes
from peerproof.spec.forms.form import Plain, octets
from peerproof.spec.protocols import PROTOCOLS

_MANY: Final = 100
_LARGE: Final = 2**20  #: bytes, twice as many digits
_UNKNOWN_OP: Final = "no_such_op_at_all"
_MORE: Final = "a_member_from_the_future"
_REAL_PAUSE: Final = 0.05  #: seconds
_LATER: Final = 600_000  #: milliseconds of virtual time
_ROUNDS: Final = 10  #: timers run for a node, to collect its choices and events
#: By protocol: what a node that knows several others always chooses at random when a timer runs, before it sends. DistKV chooses
#: when a message arrives, by a rule that it only should follow [DA-39]; Wendy and Peter choose nothing.
_CHOSEN_BY_TIMERS: Final = {"scuttlebutt": "round.partner", "swim": "round.order"}
_LATE: Final = 3  #: timers due when a late runner advances
_ERROR_LINES: Final = 12  #: lines of standard error below a failure
_TRACEBACK: Final = "Traceback (most recent call last)"  #: of Python, where the frames that matter come last
_REPAIR: Final = "find the error in your implementation; the adapter did its part"
_READ_CONFIGURATION: Final = (
    "read each member of config in its form on the page Messages: an integer of 64 bits is a string of digits"
)
_DECODING: Final = "decode the same bytes to the same message each time; peerproof run shows which messages are decoded wrongly"
_SHAPING: Final = "give each reply the members that the page Adapter protocol lists, each in its form"
_REFUSING: Final = (
    'answer {"error": {"code": …, "message": …}} to what cannot be carried out: no_handle for a handle that is not open, '
    "bad_request for members that are missing or wrong"
)
_CATCHING: Final = "catch every error of a request and answer with an error such as bad_request or panic; never exit by it"
#: By kind of failure: the advice where a usual request is not answered.
_ANSWERING: Final = {
    "crashed": "find out why it ends",
    "hung": "find out why it waits; answer each request when its line is there, and flush the reply",
    "flooded": "answer a request with one line of the usual size",
    "garbled": "write each reply as one line of JSON with the request's id, and nothing else; logs are for standard error",
}
_OPEN: Final = "open a node, since exchange is claimed; unsupported is for configurations other than the defaults"


class Flaw(Exception):
    """A fault of the adapter; `to_do` is advice, if it is not that of the check."""

    def __init__(self, said: str, to_do: str = "") -> None:
        super().__init__(said)
        self.to_do = to_do


class ImplementationFailed(Flaw):
    """A legal request that the adapter answered with `panic`: the fault is in the implementation behind it."""


class Inapplicable(Exception):
    """The reason why a check does not apply."""


class Finding(NamedTuple):
    """The result of one check."""

    name: str
    fine: bool | None  #: None if there was nothing to check
    detail: str


class Bench:
    """An adapter, one protocol that it offers, and legal messages of that protocol."""

    def __init__(self, adapter: Adapter, hello: Hello, protocol: str, suite: Suite) -> None:
        self.adapter = adapter
        self.hello = hello
        self.protocol = protocol
        self.is_oracle = hello.is_oracle(protocol)
        self.messages = legal_messages(suite, protocol)
        self.config = least_configuration(suite, protocol)
        self.whole_config = whole_configuration(suite, protocol)
        self.seeds = {name: value for name, value in self.whole_config.items() if name == "seeds"}
        self.questions: list[Mapping[str, Any]] = []  #: every choice that the adapter asked for
        self.events: Counter[str] = Counter()  #: number of events by kind
        self.check = ""  #: the one that is being made
        self.asked: Sequence[Request] = ()  #: the last requests
        self.first: dict[str, str] = {}  #: failures, by the check that found them first
        self.sent_by_timers = 0  #: number of messages
        self._choices = Choices("smoke")

    def offers(self, capability: str) -> None:
        """Raises Inapplicable if the implementation does not offer this capability."""
        if capability not in self.hello.protocols[self.protocol].capabilities:
            raise Inapplicable(f"{self.protocol} is offered without {capability}")

    def send(self, *requests: Request) -> list[Reply]:
        """Returns the replies, of any shape. Raises AdapterError."""
        self.asked = requests
        return self.adapter.ask(requests, self._answer)

    def ask(self, *requests: Request) -> list[Reply]:
        """Returns the replies after checking their shape. Raises Flaw, Inapplicable if that is known, or AdapterError."""
        replies = self.send(*requests)
        for request, reply in zip(requests, replies, strict=True):
            try:
                check(request, reply)
            except InvalidReply as error:
                said = f"the reply to {request['op']} does not have the right shape"
                if (first := self.first.setdefault(said, self.check)) != self.check:
                    raise Inapplicable(f"{said}, as in the check {first}") from None
                raise Flaw(f"{said}: {error}", _SHAPING) from None
            self.events.update(effect["event"]["name"] for effect in reply.get("effects", ()) if "event" in effect)
        return replies

    def _answer(self, question: dict[str, Any]) -> list[int]:
        answer = self._choices.answer(question)
        self.questions.append(question)
        return answer

    def fine(self, *requests: Request) -> list[Reply]:
        """Returns the replies to legal requests. Raises Flaw if one of them is an error."""
        replies = self.ask(*requests)
        for request, reply in zip(requests, replies, strict=True):
            if "error" in reply:
                to_do = {"open": _OPEN if reply["error"]["code"] == "unsupported" else _READ_CONFIGURATION}.get(request["op"], "")
                raise self.failure(self.name(request), reply["error"], to_do)
        return replies

    def failure(self, asked: str, error: Plain, to_do: str = "") -> Exception:
        """Returns the failure of a legal request; if no node opens, for the reason that another check has found, that."""
        shown = json.dumps(error)
        if self.asked[0]["op"] == "open" and (first := self.first.setdefault(f"open: {shown}", self.check)) != self.check:
            return Inapplicable(f"open fails as in the check {first}")
        failed = ImplementationFailed if isinstance(error, dict) and error["code"] == "panic" else Flaw
        return failed(f"{asked} was answered with an error: {shown}", to_do)

    def find_unanswered(self, trouble: AdapterError) -> Request:
        """Returns the request that was not answered."""
        return self.asked[min(len(trouble.answered), len(self.asked) - 1)]

    def cause(self, trouble: AdapterError) -> str:
        """Returns the key of a failure to answer in `first`: the op, that of its items for a batch, and the kind of failure."""
        request = self.find_unanswered(trouble)
        return f"{request.get('items', [request])[0]['op']}: {trouble.kind}"

    def is_usual(self, request: Request) -> bool:
        """Whether this request was sent alone and is not what a check tests, so that its failure is no matter of the check."""
        is_special = request["op"] in ("batch", "stream", _UNKNOWN_OP) or len(request.get("bytes", "")) > _LARGE
        return len(self.asked) == 1 and not is_special

    def name(self, request: Request) -> str:
        """Returns the op of a request, with the type of its message if it has one."""
        message = describe_bytes(self.protocol, request["bytes"]) if request.get("bytes") in self.messages else {}
        more = " with an unknown member" if _MORE in request else ""
        return f"{request['op']} of a legal {message['type']}{more}" if "type" in message else str(request["op"])

    def decode(self, digits: str, **more: Any) -> Request:
        """Returns a decode request."""
        return {"op": "decode", "protocol": self.protocol, "bytes": digits, **more}

    def open_node(self, name: str, at: int = 0) -> Reply:
        """Opens a node and returns the reply to `open`. Every node gets the same answers to its choices."""
        self._choices = Choices("smoke")
        return self.fine(self.opening(name, at))[0]

    def opening(self, name: str, at: int = 0) -> Request:
        """The request that opens a node."""
        request = {"op": "open", "case": "smoke", "node": name, "protocol": self.protocol, "addr": f"{name}:1", "now_ms": at}
        return {**request, "config": self.config, "seed": "smoke"}

    def feed_messages(self, handle: Any) -> list[Any]:
        """Sends every legal message to a node and returns the effects."""
        request = {"op": "recv", "handle": handle, "now_ms": 0, "via": specification(self.protocol).TRANSPORT, "from": "peer:1"}
        return [self.fine({**request, "bytes": digits})[0]["effects"] for digits in self.messages]

    def run_node(self) -> None:
        """Sends every legal message to a new node, which has seeds if it opens with them, and runs some of its timers."""
        self._choices = Choices("smoke")
        (node,) = self.ask({**self.opening("one"), "config": {**self.config, **self.seeds}})
        if "error" in node:
            node = self.open_node("one")
        self.feed_messages(node["handle"])
        reply = self.fine({"op": "advance", "handle": node["handle"], "now_ms": 0})[0]
        for _ in range(_ROUNDS):
            if reply["next_timer_ms"] is None:
                break
            reply = self.fine({"op": "advance", "handle": node["handle"], "now_ms": reply["next_timer_ms"]})[0]
            self.sent_by_timers += sum("send" in effect for effect in reply["effects"])

    def query_all(self, handle: Any) -> dict[str, Any]:
        """Returns the answers to every query that takes no argument."""
        capabilities = self.hello.protocols[self.protocol].capabilities
        known = sorted(specification(self.protocol).QUERIES.items())
        queries = [what for what, query in known if f"observe.{what}" in capabilities and len(signature(query).parameters) == 1]
        return {what: self.fine({"op": "query", "handle": handle, "what": what})[0]["value"] for what in queries}


def framing(bench: Bench) -> str:
    """Checks that each request gets one line, and that unknown members are ignored."""
    bench.offers("codec")
    bench.fine(bench.decode(bench.messages[0]))
    more = bench.decode(bench.messages[0], **{_MORE: {"é": [1, None, "\u2028\n"]}})
    (reply,) = bench.ask(more)
    if "error" in reply:
        raise Flaw(f"decode with a member more was answered with an error: {json.dumps(reply['error'])}")
    return "one line for each request, with its id"


def ordering(bench: Bench) -> str:
    """Checks that many requests sent at once are answered in order, each with its own answer."""
    bench.offers("codec")
    digits = [bench.messages[number % len(bench.messages)] for number in range(_MANY)]
    alone = {each: bench.fine(bench.decode(each))[0].get("value") for each in bench.messages}
    replies = bench.fine(*map(bench.decode, digits))
    for number, (each, reply) in enumerate(zip(digits, replies, strict=True)):
        if (value := reply.get("value")) == alone[each]:
            continue
        which = f"request {number} of {_MANY} that were sent at once"
        if value in alone.values():
            raise Flaw(f"{which} has the answer of another request")
        together, usual = window_texts(json.dumps(value), json.dumps(alone[each]))
        raise Flaw(f"{which} is decoded as {together}, and alone as {usual}", _DECODING)
    return f"{_MANY} requests sent at once are answered in their order"


def batches(bench: Bench) -> str:
    """Checks that a batch gives the same results as its items one by one."""
    bench.offers("codec")
    items = [bench.decode(each) for each in (*bench.messages, "ff")]
    alone = [{name: value for name, value in bench.ask(item)[0].items() if name != "id"} for item in items]
    (reply,) = bench.ask({"op": "batch", "items": items})
    if "error" in reply:
        raise Inapplicable(f"there is no batch ({reply['error']['code']}); codec vectors are then asked one by one")
    together = [{name: value for name, value in each.items() if name != "id"} for each in reply["results"]]
    if alone != together:
        raise Flaw("a batch gives other results than its items one by one")
    return "a batch gives what its items give one by one"


def unknown_op(bench: Bench) -> str:
    """Checks that an unknown op is answered, and that the adapter goes on."""
    _expect_error(bench, {"op": _UNKNOWN_OP}, ("unknown_op",))
    return "an unknown op is answered with the error unknown_op"


def large_line(bench: Bench) -> str:
    """Checks that a line of two megabytes is answered as a short one is; a decoder that fails for both is not at fault here."""
    bench.offers("codec")
    if "error" not in bench.ask(bench.decode("00" * 4))[0]:
        bench.fine(bench.decode("00" * _LARGE))
    else:
        bench.ask(bench.decode("00" * _LARGE))
    return f"a line of {2 * _LARGE >> 20} MiB is answered"


def bad_requests(bench: Bench) -> str:
    """Checks that requests that cannot be carried out are answered with errors, and that the adapter goes on."""
    requests: list[Request] = [
        {"op": "query", "handle": 987654321, "what": "anything"},
        {"op": "recv", "handle": 987654321, "now_ms": 0, "via": "udp", "from": "peer:1", "bytes": ""},
        {"op": "encode", "protocol": bench.protocol, "value": {"type": "no_such_type"}},
        {"op": "encode", "protocol": bench.protocol, "value": None},
        {"op": "decode", "protocol": "no_such_protocol", "bytes": ""},
        {"op": "decode", "protocol": bench.protocol},
        {"op": "open", "protocol": bench.protocol},
    ]
    faults, advice, known = list[str](), set[str](), ""
    for request in requests:
        try:
            _expect_error(bench, request, ())
        except Flaw as flaw:
            faults.append(str(flaw))
            advice.add(_REFUSING)
        except AdapterError as trouble:
            bench.adapter.start()
            if first := bench.first.get(bench.cause(trouble)):
                known = f"{request['op']} fails as in the check {first}"
            else:
                faults.append(f"at {json.dumps(request)} {_render_trouble(trouble)}")
                advice.add(_CATCHING if trouble.kind == "crashed" else _ANSWERING[trouble.kind])
    if faults:
        raise Flaw("; ".join(faults), "; ".join(sorted(advice)))
    if known:
        raise Inapplicable(known)
    return f"{len(requests)} requests that cannot be carried out are answered with errors, and the adapter goes on"


def configuration(bench: Bench) -> str:
    """Checks that a node opens with a configuration of all members, in the forms that the page Messages lists."""
    bench.offers("exchange")
    offered = bench.hello.protocols[bench.protocol]
    members = bench.whole_config.items()
    limited = {name: min(value, offered.limits[name]) if name in offered.limits else value for name, value in members}
    needs = {name: needs_of_nodes(bench.protocol, [{"config": {name: value}}]) for name, value in limited.items()}
    whole = {name: value for name, value in limited.items() if needs[name] <= offered.capabilities}
    opening = {**bench.opening("one"), "config": whole}
    (reply,) = bench.ask(opening)
    shown = json.dumps(whole)
    if "error" not in reply:
        bench.fine({"op": "close", "handle": reply["handle"]})
        return f"a node opens with each member of the configuration: {', '.join(whole)}"
    if reply["error"]["code"] == "unsupported":
        raise Inapplicable(f"it does not support some of {shown}: {reply['error'].get('message', 'no reason given')}")
    raise bench.failure(f"open with the configuration {shown}", reply["error"])


def isolation(bench: Bench) -> str:
    """Checks that input to one node does not affect another node."""
    bench.offers("exchange")
    first, second = bench.open_node("one"), bench.open_node("two")
    if first["handle"] == second["handle"]:
        raise Flaw(f"two nodes have the same handle {first['handle']!r}")
    before = bench.query_all(second["handle"])
    bench.feed_messages(first["handle"])
    if bench.query_all(second["handle"]) != before:
        raise Flaw("input to one node changed the answers of another node")
    bench.fine({"op": "close", "handle": first["handle"]}, {"op": "close", "handle": second["handle"]})
    _expect_error(bench, {"op": "advance", "handle": first["handle"], "now_ms": 0}, ("no_handle",))
    again, fresh = bench.open_node("one"), bench.open_node("one")
    if bench.feed_messages(again["handle"]) != bench.feed_messages(fresh["handle"]) and bench.is_oracle:
        raise Flaw("two new nodes answer the same input differently: state of an earlier node is left")
    return "nodes do not share state, not even with closed ones"


def clock(bench: Bench) -> str:
    """Checks that time is only what the runner says."""
    bench.offers("exchange")
    node = bench.open_node("one")
    handle, timer = node["handle"], node["next_timer_ms"]
    time.sleep(_REAL_PAUSE)
    advance = {"op": "advance", "handle": handle, "now_ms": 0}
    (reply,) = bench.fine(advance)
    if reply["effects"] or reply["next_timer_ms"] != timer:
        raise Flaw(f"after {_REAL_PAUSE:g} real seconds and no virtual time the node acted: {json.dumps(reply)}")
    if timer is None:
        return "no timer runs by itself"
    if timer > 0:
        (early,) = bench.fine({**advance, "now_ms": timer - 1})
        if early["effects"] or early["next_timer_ms"] != timer:
            raise Flaw(f"the timer is due at {timer}, but the node acted at {timer - 1}: {json.dumps(early)}")
    (due,) = bench.fine({**advance, "now_ms": timer})
    if due["next_timer_ms"] is not None and due["next_timer_ms"] <= timer:
        raise Flaw(f"at {timer} the timer that is due at {timer} did not run: next_timer_ms is {due['next_timer_ms']}")
    late = bench.open_node("two", at=_LATER)["next_timer_ms"]
    if late is None or late < _LATER:
        raise Flaw(f"a node opened at {_LATER} has its next timer at {late}, a node opened at 0 at {timer}")
    return "timers run exactly when the runner advances to them"


def late_clock(bench: Bench) -> str:
    """Checks that a late `advance` runs all timers due by then, in order."""
    bench.offers("exchange")
    at, effects = _run_timers(bench)
    if at is None:
        raise Inapplicable("no timer runs by itself")
    node = bench.open_node("one")
    bench.feed_messages(node["handle"])
    (late,) = bench.fine({"op": "advance", "handle": node["handle"], "now_ms": at})
    if late["next_timer_ms"] is not None and late["next_timer_ms"] <= at:
        raise Flaw(f"advanced from 0 to {at} at once, its next timer is at {late['next_timer_ms']}: one that was due did not run")
    if late["effects"] != effects and bench.is_oracle:
        raise Flaw(f"advanced from 0 to {at} at once it does {json.dumps(late['effects'])}, timer by timer {json.dumps(effects)}")
    return "a late advance runs all due timers, in order"


def _run_timers(bench: Bench) -> tuple[int | None, list[Any]]:
    """Runs some timers of a new node one by one. Returns when the last one was due (None if there is none), and all effects."""
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
    """Checks that `sent` is accepted for every kind of message, delivered or not."""
    bench.offers("sent")
    sent = {"op": "sent", "handle": bench.open_node("one")["handle"], "now_ms": 0, "to": "peer:1"}
    for digits in bench.messages:
        for took in (1500, None):
            bench.fine({**sent, "bytes": digits, "took_us": took})
    return "sent is accepted for each kind of message"


def connections(bench: Bench) -> str:
    """Checks that a message has the same effects in one piece and byte by byte, and that connections do not share state."""
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
            raise Flaw(f"data of one connection was answered on another: {json.dumps(effects)}")
        seen.append(effects)
    if seen[0] != seen[1] and bench.is_oracle:
        raise Flaw(f"a message in one piece leads to {json.dumps(seen[0])}, byte by byte to {json.dumps(seen[1])}")
    return "a message over a connection has the same effects in one piece and byte by byte"


def questions(bench: Bench) -> str:
    """Checks that choices are asked for at the protocol's sites only, with two or more options, sorted."""
    bench.offers("exchange")
    sites = PROTOCOLS[bench.protocol].sites
    if not sites:
        raise Inapplicable(f"{bench.protocol} has no random choices")
    if not bench.is_oracle:
        raise Inapplicable('hello has "choices": "set": it chooses at random itself; vectors that fix a choice are skipped')
    bench.run_node()
    for question in bench.questions:
        site, options = question["site"], question["of"]
        if site not in sites:
            raise Flaw(f"it asks at {site!r}, but {bench.protocol} has the sites {', '.join(sites)}")
        if not _is_sorted(options):
            raise Flaw(f"it asks at {site} for {json.dumps(options)}: expected two or more different options, sorted")
    asked = Counter(question["site"] for question in bench.questions)
    must_ask = _CHOSEN_BY_TIMERS.get(bench.protocol)
    if must_ask and must_ask not in asked and bench.sent_by_timers:
        what = f"timers sent {count_text(bench.sent_by_timers, 'message')}, and no question was asked at {must_ask}"
        raise Flaw(f'hello has "choices": "oracle", but {what}: it chooses at random itself')
    if not asked:
        raise Inapplicable(f'hello has "choices": "oracle", but no question was asked; the sites are {", ".join(sites)}')
    silent = ", ".join(site for site in sites if site not in asked)
    return f"it asks at {_list_counts(asked)}, with sorted options" + (f"; not asked here: {silent}" if silent else "")


def events(bench: Bench) -> str:
    """Checks that events are kinds of the protocol, and compares them with the kinds in hello."""
    bench.offers("exchange")
    bench.offers("events")
    bench.run_node()
    kinds, offered = event_kinds(bench.protocol), bench.hello.protocols[bench.protocol]
    if unknown := [kind for kind in bench.events if kind not in kinds]:
        raise Flaw(f"it reports the event {unknown[0]!r}, but {bench.protocol} has {', '.join(kinds)}")
    if not bench.events:
        raise Inapplicable("a node that gets every legal message reports no event")
    compared = Counter({kind: count for kind, count in bench.events.items() if offered.tells(kind)})
    ignored = bench.events - compared
    note = f"; not compared, since hello does not list it: {_list_counts(ignored)}" if ignored else ""
    return f"it reports {_list_counts(compared) or 'no event that is compared'}{note}"


def _list_counts(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in kinds.items())


def _is_sorted(options: list[Plain]) -> bool:
    """Returns True if there are several options, all different, in the order of their bytes or numbers."""
    keys = [key for option in options if (key := _sort_key(option)) is not None]
    return len(options) > 1 and (len(keys) < len(options) or all(one < other for one, other in pairwise(keys)))


def _sort_key(option: Plain) -> tuple[int, Any] | None:
    """Returns the sort key of an option, or None if it is neither a number nor a text."""
    match option:
        case int():
            return 0, option
        case str():
            return 1, octets(option)
        case {"hex": str(digits)}:
            return 1, bytes.fromhex(digits)
    return None


def _expect_error(bench: Bench, request: Request, codes: Sequence[str]) -> None:
    (reply,) = bench.send(request)
    shown = json.dumps(request)
    if "error" not in reply:
        raise Flaw(f"expected an error for {shown}, found {json.dumps(reply)}")
    try:
        check(request, reply)
    except InvalidReply as error:
        raise Flaw(f"the error for {shown} does not have the right shape: {error}") from None
    if codes and reply["error"]["code"] not in codes:
        raise Flaw(f"expected the error {' or '.join(codes)} for {shown}, found {reply['error']['code']}")


#: The checks, each with the advice printed when it fails.
CHECKS: Final[tuple[tuple[Callable[[Bench], str], str], ...]] = (
    (framing, "write each reply as one line of JSON with the request's id, flush it, and ignore members you do not know"),
    (ordering, "read one request after the other, and answer each before the next"),
    (batches, "answer a batch with one line: results in the order of items, each as it would be by itself, without an id"),
    (unknown_op, 'answer any other op with {"id": …, "error": {"code": "unknown_op", "message": …}}'),
    (large_line, "read lines of up to 16 MiB; many libraries have a smaller limit that can be raised"),
    (configuration, _READ_CONFIGURATION),
    (bad_requests, _REFUSING),
    (isolation, "keep the whole state of a node in the object behind its handle; no globals"),
    (outcomes, "accept sent for every message that the node may have sent: took_us is microseconds, null if it did not arrive"),
    (connections, "buffer the bytes of each conn until the message is whole, and answer on that connection only"),
    (
        questions,
        "ask where the protocol says at random and only there, with all options sorted by their bytes, and not for a single one; "
        'or claim "choices": "set"',
    ),
    (events, "name events as the protocol does: the page Messages lists them; leave out all others"),
    (clock, "take the time from now_ms only; run timers in advance, and say in next_timer_ms when the next one is due"),
    (late_clock, "in advance, run the timer that is due first until none is due any more, each at its due time"),
)


def check_adapter(adapter: Adapter, suite: Suite) -> Iterator[Finding]:
    """Starts the adapter and runs every check. Raises AdapterUnavailable if it cannot be started at all."""
    hello = adapter.start()
    yield Finding("hello", True, f"{hello.name} {hello.version}: {', '.join(sorted(hello.protocols)) or 'no protocol'}")
    if not hello.protocols:
        yield Finding("protocol", False, "hello offers no protocol, so nothing can be checked. To do: list it under protocols")
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
        yield Finding("bye", True, f"it exits on bye, in {time.monotonic() - begin:.1f} s")
    else:
        yield Finding("bye", False, "it did not exit by itself. To do: answer bye, then exit")


def _run_check(bench: Bench, made: Callable[[Bench], str], to_do: str) -> Finding:
    name = bench.check = made.__name__
    bench.adapter.take_errors()  # of checks before it
    try:
        return Finding(name, True, made(bench))
    except Inapplicable as reason:
        return Finding(name, None, str(reason))
    except ImplementationFailed as failure:
        if (first := bench.first.setdefault(str(failure), name)) != name:
            return Finding(name, None, f"{failure}, as in the check {first}")
        return Finding(name, False, _advise(str(failure), _REPAIR, _error_lines(bench.adapter.take_errors())))
    except Flaw as flaw:
        return Finding(name, False, _advise(str(flaw), flaw.to_do or to_do))
    except AdapterError as trouble:
        bench.adapter.start()
        request, cause = bench.find_unanswered(trouble), bench.cause(trouble)
        if cause in bench.first:
            return Finding(name, None, f"{request['op']} fails as in the check {bench.first[cause]}")
        if bench.is_usual(request):
            bench.first[cause], to_do = name, _ANSWERING[trouble.kind]
        said = f"at {bench.name(request)} {_render_trouble(trouble)}"
        return Finding(name, False, _advise(said, to_do, _error_lines(trouble.errors, has_ended=True)))


def _render_trouble(trouble: AdapterError) -> str:
    return "the adapter " + trouble.detail.replace("\n", ". ")


def _advise(said: str, to_do: str, errors: Sequence[str] = ()) -> str:
    """Returns what a failed check says: the fault, the advice, and lines of standard error."""
    return "\n".join([f"{said.rstrip('.')}. To do: {to_do}", *(f"       | {line}" for line in errors)])


def _error_lines(written: bytes, *, has_ended: bool = False) -> list[str]:
    """The lines of standard error that say where an implementation failed: the last ones if the adapter has ended."""
    lines = [visible(line.expandtabs(4)) for line in written.decode(errors="replace").splitlines()]
    has_ended = has_ended or any(line.startswith(_TRACEBACK) for line in lines)
    return lines[-_ERROR_LINES:] if has_ended else lines[:_ERROR_LINES]
