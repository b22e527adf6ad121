"""
Nodes of an implementation, checked by the specification after each step.

If an implementation asks for its choices, it and the specification get the same ones. If it chooses at random itself, any choice
may explain it; its node is then a set of possible states. If there are more outcomes than can be tried, the rest is not checked:
a wrong verdict is worse than none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, Choose
from peerproof.conformance.adapter.answers import canonical_answer
from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.adapter.messages import Hello, InvalidReply, Reply, Request, check, contradicts_hello
from peerproof.conformance.fuzz.bytes.seeds import format_clauses
from peerproof.conformance.fuzz.excuses import explain_finding
from peerproof.conformance.fuzz.findings import Fed, Finding, Found, GivenUp, NotSupported, Over, Skipped, node_text
from peerproof.conformance.fuzz.inputs.inputs import Inputs
from peerproof.conformance.fuzz.players import Place, Player, Seen
from peerproof.conformance.fuzz.reaction import (
    Answer,
    Birth,
    Called,
    Came,
    Node,
    Passed,
    Question,
    Reaction,
    Settled,
    Started,
    Stimulus,
    Unasked,
    Words,
    react,
    reactions,
    single_reaction,
)
from peerproof.conformance.fuzz.restarts import Restarts
from peerproof.conformance.fuzz.search_settings import MOST_RESTARTS, CannotFuzz
from peerproof.conformance.traces.findings import Contradicted, find_contradicted
from peerproof.conformance.traces.other_readings import Outcome, Taken
from peerproof.conformance.vectors.matching import Difference, first_difference, fits
from peerproof.conformance.vectors.plain_data import expected_event, plain_config
from peerproof.spec.core import Instant, NodeId, Notify, Option, Send, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain, Text

ADDRESS: Final = Text(most=2**16)

#: Maximum number of outcomes tried for a step, and of possible states kept for a node.
MOST_OUTCOMES: Final = 3_000
MOST_STATES: Final = 64

_FINDING_OF_ERROR: Final = {"panic": "panicked", "timeout": "hung"}


class Effects(NamedTuple):
    """The effects of an implementation's step."""

    sends: tuple[tuple[NodeId, bytes, Any], ...]  #: receiver, bytes, and the decoded message
    events: tuple[Plain, ...]  #: those known to the specification, in plain form
    refused: str | None


class Shown(NamedTuple):
    """What an implementation showed at one input of a node."""

    effects: Effects
    values: list[Plain]  #: the answers to the queries
    asked: list[Question]


class Implementation(Player):
    """
    Nodes behind an adapter.

    A node whose configuration the implementation does not support runs with as much of it as the implementation does support.
    """

    def __init__(
        self,
        protocol: str,
        inputs: Inputs,
        adapter: Adapter,
        hello: Hello,
        taken: Taken = (),
        restarts: int = MOST_RESTARTS,
    ) -> None:
        self.taken = taken
        self._declared = frozenset(hello.readings)
        self._protocol = protocol
        self._inputs = inputs
        self._spec = inputs.spec
        self._adapter = adapter
        offered = hello.protocols[protocol]
        self._limits = offered.limits
        self._oracle = hello.is_oracle(protocol)
        of_itself = [name for name, query in self._spec.QUERIES.items() if len(signature(query).parameters) == 1]
        self._queries = [name for name in of_itself if f"observe.{name}" in offered.capabilities]
        self._offered = offered
        self._needed = set(self._spec.CONFIG.forms) - self._spec.CONFIG.optional
        self.unsupported: dict[str, Skipped] = {}  #: by member of a configuration
        self._broken = False
        self._restarts = Restarts(adapter, restarts)
        self._seed = ""

    def begin(self, seed: str) -> None:
        """Starts the implementation again if it has exited. Raises Over."""
        self._seed = seed
        if self._broken:
            self._restarts.start()
            self._broken = False

    def clamp_config(self, config: Any) -> Any:
        """Returns the configuration with each member limited to the maximum that the implementation gives."""
        form = self._spec.CONFIG
        plain = form.plain(config)
        low = {name: limit for name, limit in self._limits.items() if isinstance(plain.get(name), int) and plain[name] > limit}
        return form.value(plain | low) if low else config

    def feed(self, place: Place, stimulus: Stimulus, now: Instant, choices: Choices) -> Seen:
        """Sends a stimulus and queries to a node, and checks the replies."""
        try:
            return self._feed(place, stimulus, now, choices)
        except Found as wrong:
            wrong.finding.explain = partial(explain_finding, place, wrong.finding, answers_in(choices.asked), self)
            raise

    def _feed(self, place: Place, stimulus: Stimulus, now: Instant, choices: Choices) -> Seen:
        asked: list[Question] = []

        def choose(question: Mapping[str, Any]) -> list[int]:
            picked = choices.answer(question)
            asked.append(Question(question["site"], question["of"], len(picked)))
            return picked

        looks = [{"op": "query", "handle": place.handle, "what": what} for what in self._queries]
        if isinstance(stimulus, Started) and place.handle is None:
            reply = self._open(place, now, choose)
            place.handle = reply["handle"]
            looked = self._ask([{**look, "handle": place.handle} for look in looks], choose)
        else:
            reply, *looked = self._ask([self._request(place, stimulus, now), *looks], choose)
        place.next_timer = reply["next_timer_ms"]
        if place.next_timer is not None and place.next_timer < now:
            raise Found(Finding("clock", f"next_timer_ms is {place.next_timer}, before {now}"))
        effects, values = self._effects(place.addr, reply), [answer["value"] for answer in looked]
        place.shown[len(place.fed) - 1] = Shown(effects, values, asked)
        before = place.birth, place.possible, place.complete
        explained, complete = self._explain(*before, Fed(now, stimulus, choices.asked), effects, values, asked)
        return Seen(tuple(explained), tuple((to, data) for to, data, _ in effects.sends), complete)

    def _explain(
        self,
        birth: Birth,
        nodes: Sequence[Node],
        complete: bool,
        fed: Fed,
        effects: Effects,
        values: list[Plain],
        asked: list[Question],
    ) -> tuple[list[Reaction], bool]:
        """Returns the reactions with these effects and answers, and True if there can be no others. Raises Found, GivenUp."""
        assert fed.stimulus is not None, "a crash has no reaction"
        answers = answers_in(fed.asked)
        input_ = nodes, complete, fed.stimulus, fed.now, answers
        explained, complete = self._match_effects(birth, *input_, effects)
        if self._oracle:
            self._check_choices(birth, nodes, fed.stimulus, fed.now, answers, asked)
        return self._match_queries(birth.spec, explained, values, complete=complete), complete

    def follow(self, birth: Birth, nodes: Sequence[Node], fed: Fed, shown: Shown) -> list[Node]:
        """Returns the nodes after an input that explain what was shown then. Raises Found, GivenUp."""
        explained, _ = self._explain(birth, nodes, True, fed, shown.effects, shown.values, shown.asked)
        return list(dict.fromkeys(reaction.node for reaction in explained))

    def plain_shown(self, shown: Shown) -> Outcome:
        """Returns effects as `other_readings` compares them; there is no order between receivers, nor of events."""
        sends = [(to, message) for to, _, message in shown.effects.sends]
        return self._outcome(sends, shown.effects.events, shown.effects.refused)

    def plain_reaction(self, reaction: Reaction) -> Outcome:
        """Returns a reaction in the same form."""
        sends = [(part.to, part.message) for part in reaction.effects if isinstance(part, Send)]
        return self._outcome(sends, self._events(reaction), reaction.refused)

    def _outcome(self, sends: Iterable[tuple[NodeId, Any]], events: Iterable[Any], refused: str | None) -> Outcome:
        sent: list[Any] = [{"send": send} for send in self._sends(sends)]
        told = sorted(({"notify": {**event, "type": event["name"]}} for event in events), key=_canonical)
        return {"effects": [*sorted(sent, key=lambda each: _canonical(each["send"]["to"])), *told], "refused": refused}

    def crash(self, place: Place) -> None:
        """Sends `crash` for the node."""
        self._ask([{"op": "crash", "handle": place.handle}], Choices("").answer)

    def end(self, places: Collection[Place]) -> None:
        """Closes all nodes."""
        handles = [place.handle for place in places if place.handle is not None]
        if self._broken or not handles:
            return
        try:
            self._adapter.ask([{"op": "close", "handle": handle} for handle in handles], Choices("").answer)
        except AdapterError as trouble:
            self._trouble(trouble)

    def _open(self, place: Place, now: Instant, choose: Choose) -> Reply:
        """Opens a node, without the members of its configuration that are not supported."""
        try:
            return self._ask([self._request(place, Started(), now)], choose)[0]
        except NotSupported:
            self._restrict_config(place, now)
            return self._ask([self._request(place, Started(), now)], choose)[0]

    def _restrict_config(self, place: Place, now: Instant) -> None:
        """Leaves out the members of a node's configuration with which it cannot be opened. Raises Over if it never can."""
        drawn = plain_config(self._spec, place.birth.config)
        kept = {name: drawn.pop(name) for name in self._needed}
        try:
            self._try_config(place, now, kept)
        except NotSupported as why:
            message = f"the implementation answers unsupported to open, also with the defaults of {self._protocol}: {why}"
            raise Over(message, unusable=CannotFuzz(message)) from None
        for name, value in drawn.items():
            try:
                self._try_config(place, now, kept | {name: value})
            except NotSupported as why:
                self._skip(name, str(why))
            except ValueError:  # not without another member, which has been left out
                continue
            else:
                kept[name] = value
        place.birth = replace(place.birth, config=self._spec.CONFIG.value(kept))

    def _try_config(self, place: Place, now: Instant, plain: Mapping[str, Plain]) -> None:
        """Opens and closes a node with a configuration. Raises NotSupported, and ValueError if there is no such configuration."""
        place.birth = replace(place.birth, config=self._spec.CONFIG.value(plain))
        (reply,) = self._ask([self._request(place, Started(), now)], Choices("").answer)
        self._ask([{"op": "close", "handle": reply["handle"]}], Choices("").answer)

    def _skip(self, part: str, reason: str) -> None:
        skipped = self.unsupported.setdefault(part, Skipped())
        skipped.times, skipped.reason = skipped.times + 1, reason

    def _request(self, place: Place, stimulus: Stimulus, now: Instant) -> Request:
        common = {"handle": place.handle, "now_ms": now}
        match stimulus:
            case Started(kept):
                if place.handle is not None:
                    return {"op": "restart", **common, **({"config": dict(kept)} if kept else {})}
                return {
                    "op": "open",
                    "case": "fuzz",
                    "node": ADDRESS.plain(place.addr),
                    "protocol": self._protocol,
                    "addr": ADDRESS.plain(place.addr),
                    "now_ms": now,
                    "config": plain_config(self._spec, place.birth.config),
                    "seed": f"{self._seed}/{place.addr}",
                }
            case Came(sender, data):
                how = {"via": self._inputs.spec.TRANSPORT, "from": ADDRESS.plain(sender), "bytes": data.hex()}
                return {"op": "recv", **common, **how}
            case Called(command):
                plain = self._spec.COMMAND.plain(command)
                return {"op": "call", **common, "name": plain.pop("type"), "args": plain}
            case Passed():
                return {"op": "advance", **common}
            case Settled(to, data, took):
                return {"op": "sent", **common, "to": ADDRESS.plain(to), "bytes": data.hex(), "took_us": took}

    def _ask(self, requests: list[Request], choose: Choose) -> list[Reply]:
        try:
            replies = self._adapter.ask(requests, choose)
        except AdapterError as trouble:
            self._trouble(trouble)
            query = _query_of(requests[len(trouble.answered)])
            detail = f"{f'at the query {query} ' if query else ''}the implementation {trouble.detail}"
            raise Found(Finding(trouble.kind, detail, query=query, errors=_text(trouble.errors))) from None
        for request, reply in zip(requests, replies, strict=True):
            try:
                check(request, reply)
            except InvalidReply as unlike:
                raise Found(Finding("misshapen", str(unlike), query=_query_of(request))) from None
            error = reply.get("error")
            if error and error["code"] == "unsupported" and self._is_skip(request):
                why = NotSupported(error.get("message", "no reason given"))
                if request["op"] == "restart":
                    self._skip(f"restart with {', '.join(request['config'])}", str(why))
                raise why
            if error:
                kind = _FINDING_OF_ERROR.get(error["code"], "error")
                detail = f"its reply to {request['op']} is the error {error['code']}: {error.get('message', '')}"
                errors = _text(self._adapter.take_errors())
                raise Found(Finding(kind, detail, query=_query_of(request), errors=errors))
        return replies

    def _is_skip(self, request: Request) -> bool:
        """Returns True if `unsupported` is no finding. For an open with the defaults, `_restrict_config` reports it."""
        return bool(request["op"] == "open" or not contradicts_hello(request, self._offered, self._needed))

    def _trouble(self, trouble: AdapterError) -> None:
        self._broken = True
        self._restarts.count(trouble)

    def _effects(self, addr: NodeId, reply: Reply) -> Effects:
        """Returns the effects in a reply of a node. Raises Found if it has sent bytes that are no message."""
        sends, events = [], []
        for effect in reply["effects"]:
            if send := effect.get("send"):
                data = bytes.fromhex(send["bytes"])
                try:
                    sends.append((NodeId(ADDRESS.value(send["to"], "to")), data, self._spec.MESSAGE.decode(data)))
                except MalformedMessage as error:
                    said = f"node {node_text(addr)} sent {send['to']} bytes that are no message: {error}"
                    find_format = partial(format_clauses, self._protocol, data)
                    raise Found(Finding("unreadable", f"{said}: {data.hex()}", find_format=find_format)) from None
            elif self._offered.tells(effect["event"]["name"]) and effect["event"]["name"] in self._spec.NOTICE.cases:
                events.append(self._event(effect["event"]))
        return Effects(tuple(sends), tuple(events), reply.get("refused", {}).get("class"))

    def _event(self, event: dict[str, Any]) -> Plain:
        """Returns an event in its canonical form, or as it is if it is not an event of the protocol."""
        plain = {"type" if name == "name" else name: value for name, value in event.items()}
        try:
            plain = dict(self._spec.NOTICE.plain(self._spec.NOTICE.value(plain)))
        except MalformedMessage:
            return event
        return {"name": plain.pop("type"), **plain}

    def _match_effects(
        self,
        birth: Birth,
        possible: Sequence[Node],
        complete: bool,
        stimulus: Stimulus,
        now: Instant,
        answers: tuple[Answer, ...],
        effects: Effects,
    ) -> tuple[list[Reaction], bool]:
        """Returns the reactions with these effects, one for each resulting state, and True if there can be no others."""
        sent = [Words(to, tuple(_words(self._spec.MESSAGE.plain(message)))) for to, _, message in effects.sends]
        nodes: Sequence[Node | None] = (None,) if isinstance(stimulus, Started) else possible
        complete = complete or isinstance(stimulus, Started)
        kept: dict[Any, Reaction] = {}
        likeliest: Reaction | None = None
        tried = 0
        for node in nodes:
            for reaction in reactions(partial(react, birth, node, stimulus, now), answers, sent):
                likeliest = likeliest or reaction
                tried += 1
                if self._difference(reaction, effects) is None:
                    kept.setdefault(reaction.node, reaction)
                    if self._inputs.telling:
                        break
                if tried >= MOST_OUTCOMES or len(kept) >= MOST_STATES:
                    complete = False
                    break
        if kept:
            return list(kept.values()), complete
        if not complete:
            raise GivenUp
        assert likeliest is not None, "a step has an outcome"
        kind, difference = self._difference(likeliest, effects) or ("messages", None)
        found = _find_contradicted(self._spec, likeliest, effects) if kind == "messages" else ()
        broken = tuple(each for each in found if self._declared.isdisjoint(each.clauses))
        raise Found(Finding(kind, KIND_DETAIL[kind], difference=difference, expected=likeliest, broken=broken))

    def _check_choices(
        self,
        birth: Birth,
        nodes: Sequence[Node],
        stimulus: Stimulus,
        now: Instant,
        answers: tuple[Answer, ...],
        asked: list[Question],
    ) -> None:
        """Raises Found if the specification has a choice for which the implementation did not ask, or asked otherwise."""
        for node in nodes or (None,):
            try:
                single_reaction(partial(react, birth, node, stimulus, now), answers)
            except Unasked as unasked:
                raise Found(_choice_finding(unasked, asked)) from None

    def _difference(self, reaction: Reaction, effects: Effects) -> tuple[str, Difference | None] | None:
        """Returns the kind of finding and the difference between a reaction and the effects; None if they agree."""
        if (reaction.refused is None) != (effects.refused is None):
            return "refused", Difference("refused", reaction.refused, effects.refused)
        expected_sends = [(effect.to, effect.message) for effect in reaction.effects if isinstance(effect, Send)]
        sent = [(to, message) for to, _, message in effects.sends]
        if _by_receiver(expected_sends) != _by_receiver(sent):
            return "messages", first_difference(self._sends(expected_sends), self._sends(sent), {}, "messages")
        expected = ignore_order(self._events(reaction))
        if not fits(expected, list(effects.events)):
            return "events", first_difference(expected, list(effects.events), {}, "events")
        return None

    def _events(self, reaction: Reaction) -> list[Any]:
        """Returns the events of a reaction that the implementation reports."""
        config = reaction.node.state.config
        notices = [expected_event(self._spec, config, part.notice) for part in reaction.effects if isinstance(part, Notify)]
        return [notice for notice in notices if self._offered.tells(notice["name"])]

    def _sends(self, sends: Iterable[tuple[NodeId, Any]]) -> list[Plain]:
        return [{"to": ADDRESS.plain(to), "message": self._spec.MESSAGE.plain(message)} for to, message in sends]

    def _match_queries(
        self, spec: Specification, explained: list[Reaction], values: list[Plain], *, complete: bool
    ) -> list[Reaction]:
        """Returns the reactions that agree with the answers to all queries."""
        for what, value in zip(self._queries, values, strict=True):
            query = spec.QUERIES[what]
            right = [_canonical(query(reaction.node.state)) for reaction in explained]
            shown = _canonical(value)
            if shown not in right:
                shown = _canonical(canonical_answer(spec.NAME, what, value))
            fitting = [reaction for reaction, answer in zip(explained, right, strict=True) if answer == shown]
            if not fitting and not complete:
                raise GivenUp
            if not fitting:
                likeliest = explained[0]
                difference = first_difference(ignore_order(query(likeliest.node.state)), value, {}, what)
                detail = f"the answer to the query {what} differs from the specification's"
                raise Found(Finding("observed", detail, difference=difference, expected=likeliest, query=what))
            explained = fitting
        return explained


def _find_contradicted(spec: Specification, likeliest: Reaction, effects: Effects) -> tuple[Contradicted, ...]:
    """Returns the properties and rules that the messages contradict; none if they may be those of several steps."""
    if len(likeliest.taken) != 1:
        return ()
    (taken,) = likeliest.taken
    right = tuple(effect for effect in taken.effects if isinstance(effect, Send))
    sent = tuple(Send(to, message) for to, _, message in effects.sends)
    return tuple(find_contradicted(spec, taken._replace(effects=sent), right))


def _choice_finding(unasked: Unasked, asked: list[Question]) -> Finding:
    site, options, some = unasked.question
    expected = [plain_option(option) for option in options]
    at_site = [question for question in asked if question.site == site]
    if len(at_site) <= unasked.earlier:
        detail, actual = f"it did not ask at {site}", None
    else:
        actual = at_site[unasked.earlier]
        detail = f"it asked at {site} for {actual.some} of {json.dumps(actual.options, ensure_ascii=False)}"
    detail += f", where the specification takes {some} of {json.dumps(expected, ensure_ascii=False)}"
    difference = Difference(f"choice at {site}", expected, actual and actual.options)
    return Finding("choice", detail, name=site, difference=difference)


def _query_of(request: Request) -> str | None:
    """Returns the name of the query that a request asks; None if it is another request."""
    return str(request["what"]) if request["op"] == "query" else None


def _text(errors: bytes) -> str:
    return errors.decode("utf-8", "backslashreplace")


def lacking(protocol: str, hello: Hello) -> str | None:
    """Returns why an implementation cannot be fuzzed, or None."""
    offered = hello.protocols.get(protocol)
    if offered is None:
        return f"it does not offer {protocol}, but {', '.join(sorted(hello.protocols)) or 'nothing'}"
    if "exchange" not in offered.capabilities:
        return "it does not offer exchange: nodes that can be driven by inputs"
    if hello.clock != "virtual":
        return f"its clock is {hello.clock}, not virtual"
    return None


KIND_DETAIL: Final[Mapping[str, str]] = {
    "refused": "a call is refused that the specification carries out, or the other way round",
    "messages": "other messages are sent than the specification can send",
    "events": "other events are reported than the specification can report",
}


def ignore_order(value: Plain) -> Any:
    """Returns plain data as a matcher that ignores the order of lists."""
    match value:
        case list():
            items = [ignore_order(item) for item in value]
            return {"multiset": items} if len(items) > 1 else items
        case dict():
            return {name: ignore_order(part) for name, part in value.items()}
    return value


def answers_in(asked: Iterable[tuple[str, list[Any]]]) -> tuple[Answer, ...]:
    """Returns the choices of an implementation with the options as values; an option without a value stays text."""
    return tuple((site, tuple(map(_option, options))) for site, options in asked)


def plain_option(option: Option) -> Any:
    """Returns an option of a choice in plain form."""
    return ADDRESS.plain(option) if isinstance(option, str) else option


def _option(plain: Any) -> Any:
    try:
        return plain if isinstance(plain, int) else ADDRESS.value(plain)
    except MalformedMessage:
        return _canonical(plain)


def _canonical(value: Plain) -> str:
    match value:
        case list():
            return f"[{','.join(sorted(map(_canonical, value)))}]"
        case dict():
            return f"{{{','.join(f'{json.dumps(name)}:{_canonical(value[name])}' for name in sorted(value))}}}"
    return json.dumps(value)


def _by_receiver(sends: Iterable[tuple[NodeId, Any]]) -> dict[NodeId, list[Any]]:
    """Groups messages by receiver, in order; there is no order between receivers."""
    sorted_out: dict[NodeId, list[Any]] = {}
    for to, message in sends:
        sorted_out.setdefault(to, []).append(message)
    return sorted_out


def _words(plain: Plain) -> Iterator[Any]:
    """Yields the texts and numbers of a message in plain form, in order."""
    match plain:
        case {"hex": str()}:
            yield ADDRESS.value(plain)
        case dict():
            for part in plain.values():
                yield from _words(part)
        case list():
            for part in plain:
                yield from _words(part)
        case str() | int():
            yield plain
