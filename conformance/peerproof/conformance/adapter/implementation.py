"""Creates the adapter of an implementation from its name, as given to `--impl`."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable, Watch
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.adapter.line_adapter import LineAdapter
from peerproof.conformance.adapter.line_channel import Channel, Connection, Program
from peerproof.conformance.adapter.recorded import Recorded
from peerproof.conformance.suite.bounds import MAX_LINE
from peerproof.conformance.suite.locations import clauses_file
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.spec.connections import AddressError, parse_endpoint
from peerproof.spec.protocols import PROTOCOLS

#: The command of the reference's adapter, the default implementation.
REFERENCE: Final = (sys.executable, "-m", "peerproof.reference.harness.harness")

#: Prefixes of implementation names that are not shell commands.
WITHOUT_A_PROGRAM: Final = ("py:", "recorded:", "divergence:")


def create_adapter(
    implementation: str | None = None,
    suite: str = "",
    timeouts: Timeouts | None = None,
    watch: Watch | None = None,
    longest: int = MAX_LINE,
    protocols: Iterable[str] = (),
) -> Adapter:
    """
    Creates the adapter of an implementation; nothing is started before `Adapter.start`.

    `implementation` is a command with its arguments (started without a shell), `tcp://HOST:PORT`, `py:MODULE:CLASS`,
    `recorded:FILE` (a recorded dialogue), or `divergence:ID` (the reference with one fault of a real implementation); None or
    `reference` is the reference. `suite` is the version of the vectors, which is sent in `hello`. `timeouts` are in seconds.
    `watch` receives each line and its direction, `>` to the implementation and `<` from it. A reply of more than `longest`
    bytes is a flood. `protocols` are those that are needed: the reference loads no others; without names it loads all. Raises
    AdapterUnavailable if the text names nothing that can be started.

    >>> adapter = create_adapter("py:peerproof.reference.harness.harness:Harness")
    >>> sorted(adapter.start().protocols)
    ['distkv', 'peter', 'scuttlebutt', 'swim', 'wendy']
    >>> adapter.stop()
    True
    """
    patience = timeouts or Timeouts()
    if implementation in (None, "reference"):
        return program((*REFERENCE, *sorted(PROTOCOLS.keys() & set(protocols))), patience, suite, watch, longest)
    if implementation.startswith("py:"):
        return InProcess(implementation.removeprefix("py:"), patience, suite, watch, longest)
    if implementation.startswith("divergence:"):
        found = find_divergence(implementation.removeprefix("divergence:"))
        return InProcess(f"{found.__module__}:{found.__qualname__}", patience, suite, watch, longest)
    if implementation.startswith("recorded:"):
        return Recorded(Path(implementation.removeprefix("recorded:")), watch)
    if implementation.startswith("tcp://"):
        try:
            host, port = parse_endpoint(implementation.removeprefix("tcp://"))
        except AddressError:
            raise AdapterUnavailable(f"{implementation!r} is not an address: expected tcp://HOST:PORT") from None
        return LineAdapter(lambda: _connect(host, port, patience), patience, suite, watch, longest)
    try:
        argv = shlex.split(implementation)
    except ValueError:
        tip = "close the quotation mark, or put a backslash before it"
        raise AdapterUnavailable(f"--impl: a quotation mark is not closed: {implementation}", tip=tip) from None
    return program(argv, patience, suite, watch, longest)


_DIVERGENCE: Final = re.compile(r"[A-Z]D-\d\d")


def divergences(protocol: str | None = None) -> dict[str, type[Any]]:
    """The divergences of real implementations, of one protocol or all, by the ids that the protocols' pages use."""
    references = (row.divergences for name, row in PROTOCOLS.items() if protocol in (None, name))
    return {name: one for reference in references if reference for name, one in reference.load().items()}


def find_divergence(name: str, protocol: str | None = None) -> type[Any]:
    """Returns a divergence, of one protocol or any. Raises AdapterUnavailable."""
    known = divergences(protocol)
    if found := known.get(name.upper()):
        return found
    letters = dict.fromkeys(other[:2] for other in known)
    of_each = {first: [other for other in known if other.startswith(first)] for first in letters}
    own = of_each.get(name.upper()[:2], [])
    expected = ", ".join(own or (known if protocol else (f"{ids[0]} to {ids[-1]}" for ids in of_each.values())))
    pages = (clauses_file(row.protocol) for row in known.values() if _DIVERGENCE.fullmatch(name.upper()))
    is_described = any(name.upper() in page.read_text(encoding="utf-8") for page in dict.fromkeys(pages) if page.exists())
    more = f". No message shows the others on the page of a protocol: peerproof explain {name.upper()}" if is_described else ""
    which = f"node of {protocol}" if protocol else "adapter"
    raise AdapterUnavailable(f"no {which} has the divergence {name!r}", tip=f"there are {expected}{more}")


def program(argv: Sequence[str], patience: Timeouts, suite: str, watch: Watch | None = None, longest: int = MAX_LINE) -> Adapter:
    """Returns the adapter of this program."""
    if not argv:
        raise AdapterUnavailable(
            "--impl is empty: expected a command, tcp://HOST:PORT, py:MODULE:CLASS, recorded:FILE or divergence:ID"
        )
    return LineAdapter(lambda: _start_program(argv), patience, suite, watch, longest)


def _start_program(argv: Sequence[str]) -> Channel:
    try:
        return Program(argv)
    except FileNotFoundError:
        tip = "check the path"
        if argv[0].startswith("tcp:"):
            tip = f"an address is written tcp://{argv[0].removeprefix('tcp:').lstrip('/')}"
        elif os.sep not in argv[0] and os.path.isfile(argv[0]):
            tip = f"write ./{argv[0]}: without a folder, a program is looked for on the PATH only"
        elif os.sep not in argv[0]:
            tip = f"a program in this folder is ./{argv[0]}; others are looked for on the PATH"
        elif os.path.exists(argv[0]):
            tip = "install the interpreter that its first line names"
        raise AdapterUnavailable(f"cannot start {argv[0]!r}: there is no such program", tip=tip) from None
    except PermissionError:
        tip = "name a program in it" if os.path.isdir(argv[0]) else f"chmod +x {shlex.quote(argv[0])}"
        what = "it is a folder" if os.path.isdir(argv[0]) else "it is not executable"
        raise AdapterUnavailable(f"cannot start {argv[0]!r}: {what}", tip=tip) from None
    except OSError as error:
        tip = "its first line must be #! with an interpreter" if os.path.isfile(argv[0]) else "check the path"
        raise AdapterUnavailable(f"cannot start {argv[0]!r}: {error.strerror}", tip=tip) from None


def _connect(host: str, port: int, patience: Timeouts) -> Channel:
    try:
        return Connection(host, port, patience.hello or None)
    except OSError as error:
        reason = error.strerror or error
        tip = "start the adapter first; it must listen there"
        raise AdapterUnavailable(f"cannot attach to tcp://{host}:{port}: {reason}", tip=tip) from None
