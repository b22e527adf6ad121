"""
The templates of skeletons, in `conformance/skeletons`.

Those of a language are for a node called `my-node` of Scuttlebutt; those in `common` are the same for every language. Some words
in them are placeholders. A file named after Scuttlebutt is written once for each protocol; in another, a line about it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from peerproof.conformance.suite import locations

WORKFLOW: Final = Path("workflow.yml")  #: the template of the workflow

_PROTOCOL: Final = re.compile("[Ss]cuttlebutt")
_PLACEHOLDER: Final = re.compile(rf'my-node|{_PROTOCOL.pattern}|"udp"|@[A-Z]+@')
_OPTIONAL: Final = ("@SETUP@", "@UPDATE@")  #: each has a line of its own, which is left out if the word is empty

Words = Mapping[str, str]  #: placeholder -> what stands there instead


def render_templates(language: str, words: Mapping[str, Words]) -> dict[Path, str]:
    """Returns the files of a project; `words` has the protocols, each with the replacements of placeholders in texts about it."""
    root = locations.skeletons_root()
    found: dict[Path, str] = {}
    for path, text in {**_load(root / language), **_load(root / "common")}.items():
        if _PROTOCOL.search(str(path)):
            found |= {Path(fill_template(str(path), own)): fill_template(text, own) for own in words.values()}
        else:
            found[path] = "".join(_repeat(line, words) for line in text.splitlines(keepends=True))
    return found


def _repeat(line: str, words: Mapping[str, Words]) -> str:
    """Returns a line once for each protocol, if it is about one."""
    filled = [fill_template(line, own) for own in words.values()]
    return "".join(filled) if _PROTOCOL.search(line) else filled[0]


def fill_template(text: str, words: Words) -> str:
    """Returns a text with its placeholders replaced."""
    for optional in _OPTIONAL:
        if not words.get(optional):
            text = text.replace(f"{optional}\n", "")
    return _PLACEHOLDER.sub(lambda found: words[found[0]], text)


def _load(folder: Path) -> dict[Path, str]:
    """Returns the files below a folder, without output of compilers."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    sources = sorted(path for path in found if path.suffix or path.name.startswith("."))
    return {path.relative_to(folder): path.read_text(encoding="utf-8") for path in sources}
