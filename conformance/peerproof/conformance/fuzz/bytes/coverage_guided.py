"""
Fuzzing of the specification's own decoder with bytes that are nearly messages, with a corpus.

Atheris makes the bytes, in its own process, guided by code coverage; or they are random mutations, many more in the same time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from peerproof.conformance.fuzz.bytes.byte_mutation import mutate
from peerproof.conformance.fuzz.bytes.byte_shrinking import Shrinking
from peerproof.conformance.fuzz.bytes.effort import effort
from peerproof.conformance.fuzz.bytes.flaws import Flaw, flaw_of
from peerproof.conformance.fuzz.bytes.seeds import LONGEST, Seeds
from peerproof.conformance.fuzz.corpus import BYTE_FINDINGS, BYTES, Corpus

#: Limits of one input at which libFuzzer ends it; below them, effort is measured in lines, not in seconds.
SECONDS: Final = 20
MEBIBYTES: Final = 2_048

#: Number of random inputs between checks of the clock.
AT_ONCE: Final = 5_000

#: Maximum number of smaller inputs that are tried.
MOST_TRIED: Final = 5_000

_STATUS: Final = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) .*?corp: (\d+)")
_UNMEASURED: Final = ("timeout-", "oom-", "slow-unit-")
_MOST_SEED: Final = 2**32 - 1
_LAST: Final = 20


class FuzzerError(Exception):
    """The fuzzing process failed; the message ends with its last output."""


@dataclass
class Status:
    """The progress of a search."""

    inputs: int = 0
    reached: int = 0  #: covered points in the decoder's code
    kept: int = 0


@dataclass
class Guided:
    """A search through the specification's own decoder, and its results."""

    seeds: Seeds
    corpus: Corpus
    target: str  #: the codec, as MODULE:NAME
    progress: Callable[[Status], None] = lambda _: None
    status: Status = field(default_factory=Status)
    replayed: int = 0
    gone: int = 0  #: number of findings that did not recur
    found: Path | None = None  #: file of the latest finding

    def search(self, seed: int, inputs: int, seconds: int | None, *, guided: bool = True) -> Flaw | None:
        """
        Replays the corpus, then tries `inputs` new inputs, different ones each time, or as many as the time allows.

        Raises CorpusError and, if `guided` by coverage, FuzzerError.
        """
        name = f"{self.target} --bytes {'' if guided else '--unguided '}--seed {seed}"
        position = self.corpus.position(name)
        if flaw := self._replay_corpus():
            return flaw
        self.corpus.advance(name, position + 1)
        if guided:
            return self._search_new_inputs(seed + position, inputs, seconds)
        return self._draw_inputs(Random(f"{seed} {position}"), inputs, seconds)

    def _draw_inputs(self, rng: Random, inputs: int, seconds: int | None) -> Flaw | None:
        codec, known, one_form = self.seeds.codec, self.seeds.data, self.seeds.one_form
        until = None if seconds is None else time.monotonic() + seconds
        while self.status.inputs < inputs if until is None else time.monotonic() < until:
            for _ in range(AT_ONCE if until else min(AT_ONCE, inputs - self.status.inputs)):
                self.status.inputs += 1
                data = mutate(rng, known, LONGEST)
                if flaw := flaw_of(codec, data, one_form=one_form):
                    return self._smallest(self.corpus.keep(BYTE_FINDINGS, data), flaw)
            self.progress(self.status)
            if flaw := self.check(data):  # measures one input of the batch
                return self._smallest(self.corpus.keep(BYTE_FINDINGS, data), flaw)
        return None

    def check(self, data: bytes) -> Flaw | None:
        """
        Returns the flaw of the decoder that these bytes show: a wrong result, or too much effort.

        Runs in a thread, where the stack for recursion is always the same, whatever the caller.
        """
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(self._check, data).result()

    def _check(self, data: bytes) -> Flaw | None:
        codec = self.seeds.codec
        excess = effort(lambda: codec.decode(data), len(data)).excess(len(data))
        return Flaw("slow", data, excess) if excess else flaw_of(codec, data, one_form=self.seeds.one_form)

    def _replay_corpus(self) -> Flaw | None:
        for path, data in self.corpus.inputs(BYTE_FINDINGS):
            self.replayed += 1
            if flaw := self._of_finding(path, data):
                return flaw
            self.gone += 1
        kept = list(self.corpus.inputs(BYTES))
        self.replayed += len(kept)
        return self._of_kept(kept)

    def _of_kept(self, kept: Iterable[tuple[Path, bytes]]) -> Flaw | None:
        """Returns the first flaw that shows only when effort is measured."""
        for _, data in kept:
            if flaw := self.check(data):
                return self._smallest(self.corpus.keep(BYTE_FINDINGS, data), flaw)
        return None

    def _of_finding(self, path: Path, data: bytes) -> Flaw | None:
        self.found = path
        if path.name.startswith(_UNMEASURED):
            with self._process([str(path)]) as process:
                output = process.communicate()[1]
            return Flaw("slow", data, f"libFuzzer ended it: {_last(output, 1)}") if process.returncode else None
        flaw = self.check(data)
        return self._smallest(path, flaw) if flaw else None

    def _smallest(self, path: Path, flaw: Flaw) -> Flaw:
        shrinking = Shrinking(self.seeds.codec, self.check, flaw, MOST_TRIED)
        shrinking.shrink()
        self.found = self.corpus.keep_instead(path, BYTE_FINDINGS, shrinking.flaw.data)
        return shrinking.flaw

    def _search_new_inputs(self, seed: int, runs: int, seconds: int | None) -> Flaw | None:
        findings = self.corpus.folder(BYTE_FINDINGS)
        before = {path for path, _ in self.corpus.inputs(BYTE_FINDINGS)}
        known = {path for path, _ in self.corpus.inputs(BYTES)}
        with TemporaryDirectory() as folder:
            files = [Path(folder, str(number)) for number in range(len(self.seeds.data))]
            for file, data in zip(files, self.seeds.data, strict=True):
                file.write_bytes(data)
            listed = Path(folder, "listed")  # the order of a folder's files is undefined
            listed.write_text(",".join(map(str, files)), encoding="utf-8")
            limit = f"-max_total_time={seconds}" if seconds else f"-runs={runs}"
            flags = [limit, f"-seed={seed % _MOST_SEED + 1}", f"-max_len={LONGEST}", "-use_value_profile=1", "-reload=0"]
            flags += ["-print_final_stats=0", f"-artifact_prefix={findings}{os.sep}", f"-seed_inputs=@{listed}"]
            output = self._watch([*flags, str(self.corpus.folder(BYTES))])
        for path, data in self.corpus.inputs(BYTE_FINDINGS):
            if path not in before and (flaw := self._of_finding(path, data)):
                return flaw
        if output:
            raise FuzzerError(f"the fuzzing process failed without a finding:\n{output}")
        return self._of_kept((path, data) for path, data in self.corpus.inputs(BYTES) if path not in known)

    def _watch(self, arguments: list[str]) -> str:
        """Runs the process. Returns its last output if it failed, else an empty text."""
        lines: list[str] = []
        with self._process(arguments) as process:
            assert process.stderr is not None, "it is a pipe"
            try:
                for line in process.stderr:
                    lines = [*lines[1 - _LAST :], line]
                    if seen := _STATUS.match(line):
                        self.status = Status(*map(int, seen.groups()))
                        self.progress(self.status)
            except BaseException:
                process.kill()
                raise
        return "".join(lines) if process.returncode else ""

    def _process(self, arguments: list[str]) -> subprocess.Popen[str]:
        module = f"{__package__}.atheris_target"
        flags = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEBIBYTES}"]
        argv = [sys.executable, "-m", module, self.target, str(int(self.seeds.one_form)), *flags, *arguments]
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
        return subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="backslashreplace", env=environment
        )


def _last(output: str, lines: int) -> str:
    return "\n".join(output.strip().splitlines()[-lines:])
