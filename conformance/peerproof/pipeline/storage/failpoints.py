"""
Failpoints: steps of the commit protocol at which tests kill a process with SIGKILL.

`PEERPROOF_FAILPOINT=unit-written:3:FOLDER` kills when any process passes the point of that name for the third time; the folder
keeps the count, so that it happens once. If the folder has a file `victim`, the process with the id in it is killed (such as the
driver, at a point that its workers pass), else the process that passes.
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
    """Kills a process if the environment requests it at this point."""
    setting = os.environ.get(VARIABLE)
    if not setting or not setting.startswith(f"{name}:"):
        return
    _, nth, folder = setting.split(":", 2)
    passed = 0
    while True:
        passed += 1
        with suppress(FileExistsError):
            Path(folder, f"{name}.{passed}").open("x").close()
            break
    if passed == int(nth):
        victim = Path(folder, "victim")
        os.kill(int(victim.read_text(encoding="ascii")) if victim.exists() else os.getpid(), signal.SIGKILL)
