"""
The list of findings that are known, so that one which is disputed, or not mended yet, does not end every search.

    # finding                                    reason
    messages/ping/ack/nothing                    answers a ping of its own address only: see …/issues/12
    accepted/bad_value/0x#-is-no-form-of-transit   is agreed upon for the next version

A finding is named by what is wrong, not by the run or the bytes that show it: each report of one ends with its name. A run that
shows a known one is not judged any further.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.fuzz.findings import Finding, stimulus_text
from peerproof.conformance.suite.locations import path_text
from peerproof.spec.core import Specification

_DIGITS: Final = re.compile(r"0x[0-9a-f]+|\d+")
_INDEX: Final = re.compile(r"\[\d+\]")
_NO_WORD: Final = re.compile(r"[^\w#.-]+", re.ASCII)
_LONGEST: Final = 60  #: characters of a part of a name


class UnreadableFindings(Exception):
    """The list cannot be read; the message says where and what was expected."""


@dataclass
class KnownFindings:
    """A list of findings, and how often each came up."""

    reasons: dict[str, str] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def has(self, name: str) -> bool:
        """Whether a finding of this name is listed; it is counted."""
        self.seen[name] += name in self.reasons
        return name in self.reasons


def load_known_findings(path: Path) -> KnownFindings:
    """The list in a file: a finding and the reason, one a line. Raises UnreadableFindings."""
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
    """Names what is wrong in a run: its kind, what the node was told, and what differed."""
    parts = [finding.kind]
    if finding.name:
        return "/".join([*parts, finding.name])
    if finding.fed and finding.fed[-1].stimulus is not None:
        parts.append(stimulus_text(spec, finding.fed[-1].stimulus).partition("(")[0].partition(" from ")[0].partition(" ")[0])
    if (difference := finding.difference) is not None:
        inside = difference.where if finding.kind == "observed" else difference.where.partition(".message.")[2]
        parts += [_INDEX.sub("", inside)] if inside else []
        parts += [sort_of(difference.expected), sort_of(difference.actual)]
    return "/".join(map(one_word, parts))


def sort_of(value: Any) -> str:
    """What sort of thing one side of a difference is."""
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
    """A text as one word of a line, without what is different from run to run."""
    return _NO_WORD.sub("-", _DIGITS.sub("#", text))[:_LONGEST].strip("-") or "-"
