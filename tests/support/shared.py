"""What takes long to make, and is made once for all processes of a run of the tests."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Final

#: The process that began this run; those that it starts inherit its name.
_RUN: Final = os.environ.setdefault("PEERPROOF_TEST_RUN", str(os.getpid()))
_FOLDER: Final = Path(gettempdir()) / f"peerproof-tests-{_RUN}"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lets one process of many at a time go on; the file stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def own_folder(name: str) -> Path:
    """A folder of this process, until the end of the run."""
    folder = _FOLDER / f"{name}-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first process that needs it fills; others wait until it is whole."""
    folder = _FOLDER / name
    with locked(_FOLDER / f"{name}.lock"):
        if not folder.exists():
            part = Path(mkdtemp(dir=_FOLDER))
            make(part)
            part.rename(folder)
    return folder


def remove_shared() -> None:
    """Removes all such folders, if this is the process that began the run."""
    if str(os.getpid()) == _RUN:
        shutil.rmtree(_FOLDER, ignore_errors=True)
