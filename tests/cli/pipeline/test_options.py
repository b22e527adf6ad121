"""What ends a stage: errors of the disk, with their path and what to do, and a package that is missing."""

from __future__ import annotations

import errno
from argparse import Namespace
from pathlib import Path

import pytest
from tests.support.light_install import run_without_extras

from peerproof.cli.exits import UNUSABLE, Refusal
from peerproof.cli.main import main
from peerproof.cli.pipeline.options import stage

ACCESS = "give this user access"
OTHER = "name another folder with --output"
STAGE = Namespace(place=Path("in"), out=Path("out"))
READER = Namespace(place=Path("in"))


@pytest.mark.parametrize(
    ("args", "number", "name", "message", "tip"),
    [
        (STAGE, errno.ENOSPC, None, "out: No space left on device", "make room, then run the same command again"),
        (STAGE, errno.EROFS, "out/x", "out/x: Read-only file system", OTHER),
        (STAGE, errno.EACCES, "out/x", "out/x: Permission denied", f"{ACCESS}, or {OTHER}"),
        (READER, errno.EACCES, "in", "in: Permission denied", ACCESS),
        (READER, errno.EROFS, "in/x", "in/x: Read-only file system", None),
        (READER, errno.EIO, None, "in: Input/output error", None),
    ],
)
def test_an_error_of_the_disk_has_its_path_and_a_tip(
    args: Namespace, number: int, name: str | None, message: str, tip: str | None
) -> None:
    """Arrow gives no path, and its own text."""

    def run(args: Namespace) -> int:
        raise OSError(number, "Error writing bytes to file", name)

    with pytest.raises(Refusal) as refused:
        stage(run)(args)

    assert (str(refused.value), refused.value.code) == (message, UNUSABLE)
    assert tip is None or (refused.value.tip or "").startswith(tip)
    assert (tip is None) == (refused.value.tip is None)


@pytest.mark.parametrize("command", ["status", "gc"])
def test_a_folder_that_cannot_be_read_is_not_called_empty(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def iterdir(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", iterdir)

    assert main(["pipeline", command, "--in", "private"]) == UNUSABLE

    assert f"private: Permission denied\ntip: {ACCESS}\n" in capsys.readouterr().err


@pytest.mark.parametrize("packages", [["numpy"], ["pyarrow"], ["numpy", "pandas", "scapy"]])
def test_packages_of_the_extra_that_are_missing_are_named_at_once(packages: list[str], tmp_path: Path) -> None:
    """Others may be there, such as pyarrow without numpy."""
    log = tmp_path / "a.jsonl"
    log.touch()

    done = run_without_extras("pipeline", "ingest", str(log), "--master", "none", "--output", "out", without=packages)

    assert done.returncode == UNUSABLE
    assert done.stderr.startswith(f"error: not installed: {', '.join(packages)}\ntip: pip install 'peerproof[pipeline]'")
