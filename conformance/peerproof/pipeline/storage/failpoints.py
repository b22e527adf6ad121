"""
Where tests let a process die, as SIGKILL does it: between any two steps of the commit protocol.

`PEERPROOF_FAILPOINT=unit-written:3:FOLDER` kills at the third time that any process passes the point of that name; the
folder remembers how often that was, so that it happens once. If it holds a file `victim`, the process with the number
in it dies (the driver, say, for a point that its workers pass), else the process that passes.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

Point: TypeAlias = Literal["unit-written", "unit-before-rename", "unit-renamed", "before-commit", "after-commit"]

VARIABLE: Final = "PEERPROOF_FAILPOINT"


def failpoint(name: Point) -> None:
    """Dies here if that is what the environment says; else nothing."""
    wanted = os.environ.get(VARIABLE)
    if not wanted or not wanted.startswith(f"{name}:"):
        return
    _, nth, folder = wanted.split(":", 2)
    passed = 0
    while True:
        passed += 1
        with suppress(FileExistsError):
            Path(folder, f"{name}.{passed}").open("x").close()
            break
    if passed == int(nth):
        victim = Path(folder, "victim")
        os.kill(int(victim.read_text(encoding="ascii")) if victim.exists() else os.getpid(), signal.SIGKILL)
