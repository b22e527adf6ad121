"""
The templates of skeletons, in `conformance/skeletons`.

Those of a language run unchanged, for a node called `my-node`; those in `common` are the same for every language. Some words in
them are placeholders. For several protocols, the plug of the language is written once for each, and the files in `several` come
on top: in these, a line about a protocol is written once for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from peerproof.conformance.authoring.skeleton_languages import LANGUAGES, Change
from peerproof.conformance.suite import locations

WORKFLOW: Final = Path("workflow.yml")  #: the template of the workflow

_PLACEHOLDER: Final = re.compile(r'my-node|[Ss]cuttlebutt|"udp"|@[A-Z]+@')
_OPTIONAL: Final = ("@SETUP@", "@UPDATE@")  #: each has a line of its own, which is left out if the word is empty

#: A common file -> its changes for several protocols.
_CHANGES: Final[Mapping[str, Sequence[Change]]] = {
    "README.md": (
        ("The vectors of scuttlebutt for", "The vectors of @PROTOCOLS@ for"),
        (
            "One file connects your implementation with the suite: `@PLUG@`. ",
            "One file for each protocol connects your implementation with the suite: @PLUGS@.\n",
        ),
        ("run scuttlebutt --impl", "run @SELECTION@ --impl"),
        ("the same file through", "the same files through"),
        (
            'set\n  `FUZZ_DECODER` in it to `"yes"` after the first step, and `FUZZ_NODES` after the second.',
            "add a\n  protocol to `FUZZ_DECODER` in it after the first step, and to `FUZZ_NODES` after the second.",
        ),
        ("## Names in scuttlebutt\n\n@WORDS@", "@NAMES@"),
    ),
    "workflow.yml": (
        (
            '"no" # "yes" once decode is written: until then it rejects every message',
            '"" # the protocols whose decode is written, such as "scuttlebutt": until then it rejects every message',
        ),
        (
            '"no" # "yes" once the adapter claims exchange: until then it has no node',
            '"" # the protocols with a node: those in which the adapter claims exchange',
        ),
        ("run scuttlebutt --impl '@START@' --strict", "run @SELECTION@ --impl '@START@' --strict"),
        ("--annotate @PLUG@", "--annotate @TABLE@"),
        ("env.FUZZ_DECODER == 'yes'", "env.FUZZ_DECODER != ''"),
        (
            "peerproof fuzz scuttlebutt --bytes --impl '@START@' --profile quick",
            "for each in $FUZZ_DECODER; do peerproof fuzz $each --bytes --impl '@START@' --profile quick; done",
        ),
        ("env.FUZZ_NODES == 'yes'", "env.FUZZ_NODES != ''"),
        (
            "peerproof fuzz scuttlebutt --impl '@START@' --profile quick",
            "for each in $FUZZ_NODES; do peerproof fuzz $each --impl '@START@' --profile quick; done",
        ),
    ),
}


def render_templates(language: str, words: Mapping[str, Mapping[str, str]]) -> dict[Path, str]:
    """Returns the files of a project; `words` has the protocols, each with the replacements of placeholders in files about it."""
    root = locations.skeletons_root()
    templates = {**_load(root / language), **_load(root / "common")}
    first = next(iter(words.values()))
    if len(words) == 1:
        return {path: fill_template(text, first) for path, text in templates.items()}
    several = LANGUAGES[language].several
    for file, changes in {**_CHANGES, **several.changes}.items():
        templates[Path(file)] = _change(templates[Path(file)], changes)
    plug = templates.pop(Path(LANGUAGES[language].plug))
    found = {path: fill_template(text, first) for path, text in templates.items()}
    found |= {Path(fill_template(several.plug, own)): fill_template(plug, own) for own in words.values()}
    for path, text in _load(root / "several" / language).items():
        found[path] = "".join(_repeat(line, words) for line in text.splitlines(keepends=True))
    return found


def _repeat(line: str, words: Mapping[str, Mapping[str, str]]) -> str:
    """Returns a line once for each protocol, if it is about one."""
    filled = [fill_template(line, own) for own in words.values()]
    return "".join(filled) if "scuttlebutt" in line else filled[0]


def fill_template(text: str, words: Mapping[str, str]) -> str:
    """Returns a text with its placeholders replaced."""
    for optional in _OPTIONAL:
        if not words.get(optional):
            text = text.replace(f"{optional}\n", "")
    return _PLACEHOLDER.sub(lambda found: words[found[0]], text)


def _change(text: str, changes: Sequence[Change]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def _load(folder: Path) -> dict[Path, str]:
    """Returns the files below a folder, without output of compilers."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    sources = sorted(path for path in found if path.suffix or path.name.startswith("."))
    return {path.relative_to(folder): path.read_text(encoding="utf-8") for path in sources}
