"""
The list of known findings, so that a disputed or unfixed finding does not end every search.

    # finding                                    reason
    messages/ping/ack/nothing                    answers a ping of its own address only: see …/issues/12
    accepted/bad_value/0x#-is-no-form-of-transit   is agreed upon for the next version

The name of a finding depends on the fault, not on the run or the bytes that show it; each report of a finding ends with its name.
A run that shows a known finding is not checked any further.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.fuzz.findings import Finding, stimulus_text
from peerproof.conformance.fuzz.reaction import Came, Stimulus
from peerproof.conformance.suite.locations import path_text
from peerproof.spec.core import Specification
from peerproof.spec.errors import MalformedMessage

_DIGITS: Final = re.compile(r"0x[0-9a-f]+|\d+")
_INDEX: Final = re.compile(r"\[\d+\]")
_NO_WORD: Final = re.compile(r"[^\w#.-]+", re.ASCII)
_LONGEST: Final = 60  #: characters of a part of a name


class UnreadableFindings(Exception):
    """The list cannot be read; the message gives the place and what was expected."""


@dataclass
class KnownFindings:
    """A list of findings, with the number of times that each came up."""

    reasons: dict[str, str] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def has(self, name: str) -> bool:
        """Returns True if a finding of this name is listed, and counts it."""
        self.seen[name] += name in self.reasons
        return name in self.reasons


def load_known_findings(path: Path) -> KnownFindings:
    """Reads the list from a file: a finding and its reason per line. Raises UnreadableFindings."""
    file = path_text(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFindings(
            f"{file}: the list of known findings cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    reasons: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, reason = line.strip().partition(" ")
        if not reason.strip():
            raise UnreadableFindings(f"{file}:{number}: expected the name of a finding and a reason, found {line.strip()!r}")
        if name in reasons:
            raise UnreadableFindings(f"{file}:{number}: {name} is listed twice")
        reasons[name] = reason.strip()
    return KnownFindings(reasons)


def name_finding(spec: Specification, finding: Finding) -> str:
    """Names the fault in a run by its kind, the stimulus of the node, and the difference."""
    parts = [finding.kind]
    if finding.name:
        return "/".join([*parts, finding.name])
    if finding.fed and finding.fed[-1].stimulus is not None:
        parts.append(_name_stimulus(spec, finding.fed[-1].stimulus))
    if finding.query and finding.difference is None:
        parts.append(finding.query)
    if (difference := finding.difference) is not None:
        inside = difference.where if finding.kind == "observed" else difference.where.partition(".message.")[2]
        parts += [_INDEX.sub("", inside)] if inside else []
        parts += [sort_of(difference.expected), sort_of(difference.actual)]
    return "/".join(map(one_word, parts))


def _name_stimulus(spec: Specification, stimulus: Stimulus) -> str:
    if isinstance(stimulus, Came):
        try:
            return str(spec.MESSAGE.form.names[type(spec.MESSAGE.decode(stimulus.data))])
        except MalformedMessage as error:
            return error.reason
    return stimulus_text(spec, stimulus).partition("(")[0].partition(" ")[0]


def sort_of(value: Any) -> str:
    """Names the type of one side of a difference."""
    match value:
        case None:
            return "nothing"
        case {"message": {"type": kind}} | {"type": kind} | {"value": {"type": kind}} | {"name": kind}:
            return str(kind)
        case {"rejected": {"class": kind}} | {"rejected": str(kind)}:
            return str(kind)
        case bool():
            return str(value).lower()
    sorts = {str: "text", int: "number", float: "number", list: "list"}
    return sorts.get(type(value), "value")


def one_word(text: str) -> str:
    """Turns a text into one word, without parts that differ from run to run."""
    return _NO_WORD.sub("-", _DIGITS.sub("#", text))[:_LONGEST].strip("-") or "-"
