"""Parsing of modules with SANY, the parser of TLA+: it reports errors within a second, without a model."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from peerproof.tla.output.outcome import BadModule, Killed, RunFailed, bad_module
from peerproof.tla.tools.installation import Tools

#: Error texts of SANY; its exit code is 0 after some of them.
_COMPLAINTS = ("***Parse Error***", "Fatal errors", "Semantic errors:", "Cannot find", "File does not exist", "Abort messages")


def parse(tools: Tools, module: Path, library: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Parses a module. Returns the modules read, this one last. Raises `BadModule` for the first error, with its position."""
    if not module.is_file():
        raise BadModule(module.stem, None, None, f"no file {module}")
    folders = ":".join(str(path.resolve()) for path in (module.parent, *library))
    with tempfile.TemporaryDirectory(prefix="peerproof-sany-") as unpacked:
        java = [tools.java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={unpacked}"]
        line = [*java, f"-DTLA-Library={folders}", "-cp", str(tools.jar), "tla2sany.SANY", module.name]
        try:
            done = subprocess.run(
                line, cwd=module.parent, capture_output=True, text=True, errors="replace", timeout=300, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise RunFailed(f"SANY did not finish: {problem}") from problem
    said = done.stdout + done.stderr
    if done.returncode < 0:
        raise Killed(f"SANY was killed by signal {-done.returncode}; the module was not checked")
    if any(complaint in said for complaint in _COMPLAINTS):
        raise bad_module(said)
    read = tuple(text.split()[-1] for text in said.splitlines() if text.startswith("Semantic processing of module "))
    if done.returncode != 0 or module.stem not in read:
        raise RunFailed(f"SANY exited with {done.returncode} and did not report the module as read: {said.strip()[-500:]}")
    return read
