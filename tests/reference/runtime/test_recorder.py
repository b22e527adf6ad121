"""The trace file: whole lines only, whatever happens to the disk."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

from peerproof.reference.runtime.recorder import TraceFile


def test_lines_that_are_kept_back_are_written_at_the_end(tmp_path: Path) -> None:
    trace = TraceFile(tmp_path / "t", print, buffered=100)

    trace.write("short")

    assert (tmp_path / "t").read_bytes() == b""
    trace.close()
    assert (tmp_path / "t").read_bytes() == b"short\n"


def test_an_old_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("old\n" * 10)

    TraceFile(tmp_path / "t", print).close()

    assert (tmp_path / "t").read_bytes() == b""


def test_a_file_that_can_grow_no_more_ends_after_a_whole_line_and_says_so_once(tmp_path: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from peerproof.reference.runtime.recorder import TraceFile
        trace = TraceFile(Path(sys.argv[1]), print, buffered=35)
        for number in range(100):
            trace.write(f"line {number:04}")
        trace.close()
        assert trace.failed
    """

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (105, 105))

    command = [sys.executable, "-c", program, str(tmp_path / "t")]
    ended = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=True)

    assert (tmp_path / "t").read_text() == "".join(f"line {number:04}\n" for number in range(10))
    assert ended.stdout == f"the trace {tmp_path / 't'} ends after 10 lines: File too large\n"
