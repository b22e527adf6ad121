"""
Fuzzing of an implementation's decoder through its adapter, with bytes that are nearly messages.

Bytes that the specification reads must be read as the same message and written in the same way; bytes that it rejects must be
rejected. Reasons for rejecting are not compared. An input is kept if the reaction of the specification or the implementation to
it is new.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError
from peerproof.conformance.adapter.choices import nothing_to_choose
from peerproof.conformance.adapter.messages import InvalidReply, Reply, Request, check
from peerproof.conformance.fuzz.bytes.byte_mutation import mutate
from peerproof.conformance.fuzz.bytes.byte_shrinking import Shrinking
from peerproof.conformance.fuzz.bytes.flaw_excuses import explain_flaw, flaw_rests_on
from peerproof.conformance.fuzz.bytes.flaws import Flaw, name_flaw
from peerproof.conformance.fuzz.bytes.seeds import LONGEST, Seeds
from peerproof.conformance.fuzz.corpus import BYTE_FINDINGS, BYTES, Corpus
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.known_findings import KnownFindings
from peerproof.conformance.fuzz.restarts import Restarts
from peerproof.conformance.fuzz.search_settings import MOST_RESTARTS
from peerproof.conformance.runner.codec_cases import same
from peerproof.spec.errors import MalformedMessage

#: Number of inputs per batch, drawn from one seed; a killed search repeats at most these.
AT_ONCE: Final = 256

_NUMBERS: Final = re.compile(r"0x[0-9a-f]+|\d+")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_LONGEST_SHAPE: Final = 100  #: characters


class Decoder:
    """The decoder and the encoder behind an adapter."""

    def __init__(self, adapter: Adapter, seeds: Seeds, longest: int = LONGEST, restarts: int = MOST_RESTARTS) -> None:
        self.longest = longest
        self._adapter = adapter
        self._seeds = seeds
        self._codec = seeds.codec
        self._restarts = Restarts(adapter, restarts)

    def check(self, data: bytes) -> Flaw | None:
        """Returns the flaw that these bytes alone show. Raises Over."""
        return self.check_all([data])[0][0]

    def check_all(self, inputs: Sequence[bytes]) -> list[tuple[Flaw | None, str]]:
        """Returns flaw and summary of each input, up to the first at which the implementation fails. Raises Over."""
        requests = [self._request("decode", bytes=data.hex()) for data in inputs]
        replies = self._ask_all(requests)
        verdicts = [self._check_decoding(*each) for each in zip(inputs, requests, replies, strict=False)]
        written, requests = [], []
        for index, ((flaw, _), reply) in enumerate(zip(verdicts, replies, strict=True)):
            if flaw is None and not isinstance(reply, AdapterError) and "value" in reply:
                written.append(index)
                plain = self._codec.plain(self._codec.decode(inputs[index]))  # its own value may have another order of members
                requests.append(self._request("encode", value=plain))
        for index, request, reply in zip(written, requests, self._ask_all(requests), strict=False):
            verdicts[index] = self._check_encoding(inputs[index], request, reply), verdicts[index][1]
        return verdicts

    def _request(self, op: str, **members: Any) -> Request:
        return {"op": op, "protocol": self._seeds.protocol, **members}

    def _ask_all(self, requests: Sequence[Request]) -> list[Reply | AdapterError]:
        """Returns the replies up to and including the first failure."""
        if len(requests) == 1:
            return [self._alone(requests[0])]
        replies: list[Reply | AdapterError] = []
        ask = partial(self._adapter.ask_at_once, choosing=[nothing_to_choose] * len(requests))
        while len(replies) < len(requests):
            try:
                return [*replies, *ask(requests[len(replies) :])]
            except AdapterError as trouble:
                self._start_again(trouble)
                replies += trouble.answered
            ask = partial(self._adapter.ask, choose=nothing_to_choose)  # no batches, which do not show where they fail
            reply = self._alone(requests[len(replies)])
            replies.append(reply)
            if isinstance(reply, AdapterError):
                break
        return replies

    def _alone(self, request: Request) -> Reply | AdapterError:
        """Sends one request alone; an implementation that failed in a batch may answer it."""
        try:
            return self._adapter.ask([request], nothing_to_choose)[0]
        except AdapterError as trouble:
            self._start_again(trouble)
            return trouble

    def _start_again(self, trouble: AdapterError) -> None:
        self._restarts.count(trouble)
        self._restarts.start()

    def _check_decoding(self, data: bytes, request: Request, reply: Reply | AdapterError) -> tuple[Flaw | None, str]:
        if (failed := self._find_failure(data, request, reply)) or isinstance(reply, AdapterError):
            return failed, "trouble"
        if reply.get("error"):
            return None, "unsupported"
        rejected, value = reply.get("rejected"), reply.get("value")
        said = f"{rejected['class']}: {rejected.get('message', '')}" if rejected else "read"
        try:
            message = self._codec.decode(data)
        except MalformedMessage as error:
            flaw = None if rejected else Flaw("accepted", data, str(error), "", {"rejected": error.reason}, {"value": value})
            return flaw, f"{_shape(said)} / {error.reason}: {_shape(error.detail)}"
        expected = self._codec.plain(message)
        summary = f"{_shape(said)} / {expected['type']} of {len(data).bit_length()} bits"
        if rejected:
            return Flaw("rejected", data, said, "", {"value": expected}, {"rejected": rejected}), summary
        if not same(expected, value) and self._read(value) != expected:
            return Flaw("value", data, "the messages differ", "", expected, value), summary
        return None, summary

    def _read(self, value: Any) -> Any:
        """Returns plain data as the specification writes it, to ignore the order of members; None if it is not a message."""
        try:
            return self._codec.plain(self._codec.value(value))
        except MalformedMessage:
            return None

    def _check_encoding(self, data: bytes, request: Request, reply: Reply | AdapterError) -> Flaw | None:
        """Checks that a message that was read is written as the specification writes it."""
        failed = self._find_failure(data, request, reply)
        if failed or isinstance(reply, AdapterError) or reply.get("error"):
            return failed
        expected = self._codec.encode(self._codec.decode(data)).hex()
        if rejected := reply.get("rejected"):
            return Flaw("bytes", data, "it does not write what it has read", "", expected, {"rejected": rejected})
        return None if reply["bytes"] == expected else Flaw("bytes", data, "the bytes differ", "", expected, reply["bytes"])

    def _find_failure(self, data: bytes, request: Request, reply: Reply | AdapterError) -> Flaw | None:
        """Returns the flaw of a missing, malformed or error reply."""
        op = request["op"]
        if isinstance(reply, AdapterError):
            return self._failure(reply.kind, data, f"at {op} the implementation {reply}", reply.errors)
        try:
            check(request, {"id": 0, **reply})
        except InvalidReply as unlike:
            return self._failure("misshapen", data, str(unlike))
        error = reply.get("error")
        if not error or error["code"] == "unsupported":
            return None
        kind = {"panic": "panicked", "timeout": "hung"}.get(error["code"], "error")
        detail = f"its reply to {op} is the error {error['code']}: {error.get('message', '')}"
        return self._failure(kind, data, detail, self._adapter.take_errors())

    def _failure(self, kind: str, data: bytes, detail: str, errors: bytes = b"") -> Flaw:
        try:
            about = self._codec.form.names[type(self._codec.decode(data))]
        except MalformedMessage as error:
            about = error.reason
        return Flaw(kind, data, detail, errors=errors.decode("utf-8", "backslashreplace"), about=about)


@dataclass
class Search:
    """A search through an implementation's decoder, and its results."""

    seeds: Seeds
    decoder: Decoder
    corpus: Corpus | None
    until: float | None  #: on the monotonic clock
    progress: Callable[[int, int], None] = lambda _inputs, _kept: None
    inputs: int = 0
    replayed: int = 0
    gone: int = 0  #: number of findings that did not recur
    found: Path | None = None  #: file of the latest finding
    flaw: Flaw | None = None
    known: KnownFindings = field(default_factory=KnownFindings)  #: findings that do not end the search
    excuses: Excuses = field(default_factory=lambda: Excuses("strict", strict=True))  #: what else does not end it
    _known: list[bytes] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)

    def search(self, name: str, seed: int, inputs: int) -> None:
        """Replays the corpus, tries the inputs of the vectors, then mutations of all. Raises CorpusError, Over."""
        self._replay_findings()
        position = self.corpus.position(name) if self.corpus else 0
        for batch in self._batches(inputs):
            if self._is_over():
                return
            self._try(batch or self._draw(seed, position))
            if self.flaw is None and not batch:
                position += 1
                if self.corpus:
                    self.corpus.advance(name, position)

    def _is_over(self) -> bool:
        return self.flaw is not None or (self.until is not None and time.monotonic() > self.until)

    def _batches(self, inputs: int) -> Iterator[list[bytes]]:
        """Yields batches of known inputs, then empty ones, each for a batch of random inputs."""
        kept = [data for _, data in self.corpus.inputs(BYTES)] if self.corpus else []
        self.replayed += len(kept)
        known = list(dict.fromkeys(data[: self.decoder.longest] for data in (*self.seeds.data, *kept)))
        self._known = known.copy()
        yield from (known[at : at + AT_ONCE] for at in range(0, len(known), AT_ONCE))
        drawn = 0
        while self.until is not None or drawn < inputs:
            drawn += AT_ONCE
            yield []

    def _draw(self, seed: int, position: int) -> list[bytes]:
        rng = Random(f"{seed}/{position}")
        return [mutate(rng, self._known, self.decoder.longest) for _ in range(AT_ONCE)]

    def _try(self, batch: list[bytes]) -> None:
        """Checks inputs until one shows a flaw; an input with a new reaction becomes known."""
        while batch and not self._is_over():
            checked = self.decoder.check_all(batch)
            for data, (found, said) in zip(batch, checked, strict=False):  # shorter after a failure
                flaw = self._unless_known(found)
                self.inputs += 1
                if said not in self._said and flaw is None:
                    self._said.add(said)
                    if data not in self._known:
                        self._known.append(data)
                        if self.corpus:
                            self.corpus.keep(BYTES, data)
                if flaw and self.flaw is None:
                    self._shrink(flaw, self.corpus.keep(BYTE_FINDINGS, flaw.data) if self.corpus else None)
            batch = batch[len(checked) :]
        self.progress(self.inputs, len(self._known))

    def _replay_findings(self) -> None:
        for path, data in self.corpus.inputs(BYTE_FINDINGS) if self.corpus else ():
            self.replayed += 1
            if flaw := self._check(data[: self.decoder.longest]):
                return self._shrink(flaw, path)
            self.gone += 1
        return None

    def _check(self, data: bytes) -> Flaw | None:
        return self._unless_known(self.decoder.check(data))

    def _unless_known(self, flaw: Flaw | None) -> Flaw | None:
        if flaw is None or self.known.has(name_flaw(flaw)):
            return None
        explanations = explain_flaw(self.seeds, flaw)
        based = flaw_rests_on(self.seeds, flaw, explanations)
        return None if self.excuses.has(name_flaw(flaw), self.seeds.protocol, based, explanations) else flaw

    def _shrink(self, flaw: Flaw, path: Path | None) -> None:
        if not flaw.errors and (alone := self._check(flaw.data)) and alone.what == flaw.what:
            flaw = alone  # the standard error of a batch goes to its first flaw
        self.flaw = flaw
        shrinking = Shrinking(self.seeds.codec, self._check, flaw)
        try:
            shrinking.shrink()
        finally:
            self.flaw = shrinking.flaw
            if self.corpus and path:
                self.found = self.corpus.keep_instead(path, BYTE_FINDINGS, shrinking.flaw.data)


def _shape(said: str) -> str:
    """Returns a sentence without parts that differ from input to input."""
    return _NUMBERS.sub("#", _QUOTED.sub("''", said))[:_LONGEST_SHAPE]
