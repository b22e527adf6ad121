"""
The pictures of README: a report in a browser, and a message graph.

    python docs/screenshots.py     writes docs/pictures anew; needs Chromium
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from peerproof.cli.main import main as peerproof

PICTURES = Path(__file__).parent / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FAILS = "divergence:BD-09"  #: the reference with a fault of a real implementation
SIZE = "1200,880"


def main() -> int:
    """Writes the pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"no browser: install one of {', '.join(BROWSERS)}", file=sys.stderr)
        return 2
    PICTURES.mkdir(exist_ok=True)
    peerproof(["trace", "draw", "a-whole-round-seen-by-its-partner", "--output", str(PICTURES / "message-graph.svg")])
    with tempfile.TemporaryDirectory() as folder:
        record, page = Path(folder, "run.jsonl"), Path(folder, "report.html")
        peerproof(["run", "scuttlebutt", "--impl", FAILS, "--record", str(record), "--output", str(Path(folder, "run.txt"))])
        peerproof(["report", "html", str(record), "--output", str(page)])
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}"]
        shot = f"--screenshot={PICTURES / 'report.png'}"
        subprocess.run([browser, *options, shot, page.as_uri()], check=True, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
