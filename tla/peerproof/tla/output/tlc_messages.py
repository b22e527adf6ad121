"""
The output of TLC with `-tool`: messages with a code, between a start line and an end line.

Other lines stand between them: errors of the parser, and output of Java itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

#: Codes of tlc2.output.EC that are handled.
OUT_OF_MEMORY: Final = 1001
STACK_OVERFLOW: Final = 1005
VERSION: Final = 2262
INITIAL_STATES: Final = 2190
PROGRESS: Final = 2200
SIMULATION_PROGRESS: Final = 2209
SUCCESS: Final = 2193
FINISHED: Final = 2186
STATISTICS: Final = 2199
DEPTH: Final = 2194
ACTION_COVERAGE: Final = 2772
COVERAGE_BEGINS: Final = 2201
STATE: Final = 2217
STUTTERING: Final = 2218
BACK_TO_STATE: Final = 2122

#: Severities, as TLC writes them after the code.
ERROR: Final = 1

_START: Final = re.compile(r"@!@!@STARTMSG (\d+):(\d+) @!@!@$")
_END: Final = re.compile(r"@!@!@ENDMSG (\d+) @!@!@$")


@dataclass(frozen=True, slots=True)
class Message:
    """A message; a line outside of messages has code 0."""

    code: int
    severity: int
    text: str


def read(lines: Iterable[str]) -> Iterator[Message]:
    """
    Yields the messages as they arrive. An incomplete message, which remains if TLC is killed, is dropped.

    >>> list(read(["Parsing file", "@!@!@STARTMSG 2193:0 @!@!@", "Completed.", "@!@!@ENDMSG 2193 @!@!@"]))
    [Message(code=0, severity=0, text='Parsing file'), Message(code=2193, severity=0, text='Completed.')]
    """
    open_messages: list[tuple[int, int, list[str]]] = []
    for line in lines:
        text = line.rstrip("\r\n")
        start, end = _START.search(text), _END.search(text)
        if start is not None:  # not at the start of the line if one message quotes another
            if open_messages and text[: start.start()]:
                open_messages[-1][2].append(text[: start.start()])
            open_messages.append((int(start[1]), int(start[2]), []))
        elif end is not None and open_messages and open_messages[-1][0] == int(end[1]):
            code, severity, said = open_messages.pop()
            yield Message(code, severity, "\n".join(said))
        elif open_messages:
            open_messages[-1][2].append(text)
        else:
            yield Message(0, 0, text)
