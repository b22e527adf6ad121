"""The skeleton of an adapter, for one protocol or several, that `peerproof init` writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from peerproof.conformance.authoring.skeleton_languages import LANGUAGES, VECTORS, Language
from peerproof.conformance.authoring.skeleton_templates import WORKFLOW, fill_template, render_templates
from peerproof.conformance.bundles.bundle_file import bundle_data, bundle_name, runner_sources
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.expected_failures import render_entries, render_heading
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.output import CannotWrite, Deferred
from peerproof.conformance.vectors.suite import Suite

KNOWN_FAILING: Final = "known-failing.txt"


class AlreadyThere(Exception):
    """Some of the files exist already; they are in `paths`."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__(", ".join(map(str, paths)))
        self.paths = paths


def repository(folder: Path) -> Path | None:
    """Returns the Git repository that contains a folder, which need not exist yet."""
    resolved = folder.resolve()
    return next((place for place in (resolved, *resolved.parents) if (place / ".git").exists()), None)


def render_skeleton(language: str, protocol: str | Sequence[str], name: str, folder: Path, suite: Suite) -> dict[Path, bytes]:
    """
    Returns the path and content of every file of an adapter in this folder, for one protocol or several.

    The workflow is where GitHub looks for it.
    """
    protocols = [protocol] if isinstance(protocol, str) else sorted(protocol)
    root = repository(folder) or folder.resolve()
    words = _words(LANGUAGES[language], protocols, name, folder.resolve().relative_to(root).as_posix())
    found = {folder / path: text for path, text in render_templates(language, words).items()}
    workflow = found.pop(folder / WORKFLOW)
    failing = (case for each in protocols for case in _empty_codec_failures(each, suite))
    found[folder / KNOWN_FAILING] = render_heading(name) + render_entries(failing)
    found[workflow_path(folder, name)] = workflow
    runner = LANGUAGES[language].runner
    if runner:
        found |= {folder / VECTORS / path: text for path, text in runner_sources(runner).items()}
    written = {path: text.encode() for path, text in found.items()}
    for each in protocols if runner else ():
        written[folder / VECTORS / bundle_name(each, compress=True)] = bundle_data(suite, each, compress=True)
    return written


def selection(protocols: Sequence[str]) -> str:
    """
    Returns the arguments by which `peerproof run` runs the vectors of these protocols.

    >>> selection(["swim"]), selection(["swim", "wendy"])
    ('swim', '-k protocol:swim,wendy')
    """
    return protocols[0] if len(protocols) == 1 else f"-k protocol:{','.join(protocols)}"


def list_words(words: Sequence[str]) -> str:
    """
    Returns words as in a sentence.

    >>> list_words(["peter", "swim", "wendy"])
    'peter, swim and wendy'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def requirement(extras: str = "fuzz") -> str:
    """
    Returns what `pip install` needs to install this peerproof on another machine, for a workflow.

    It names the repository and commit, or the archive, from which this one was installed (PEP 610), and the release otherwise.
    """
    origin = _origin()
    url, where = origin.get("url", ""), f"#subdirectory={origin['subdirectory']}" if "subdirectory" in origin else ""
    if source := origin.get("vcs_info"):
        return f"peerproof[{extras}] @ {source['vcs']}+{url}@{source['commit_id']}{where}"
    if url.startswith(("https://", "http://")):
        return f"peerproof[{extras}] @ {url}{where}"
    return f"peerproof[{extras}]=={version('peerproof')}"


def installed_from() -> str:
    """Returns the folder or file of this machine that this peerproof was installed from: its release may not exist yet; or ""."""
    url = urlsplit(_origin().get("url", ""))
    return unquote(url.path) if url.scheme == "file" and "vcs_info" not in _origin() else ""


def _origin() -> dict[str, Any]:
    """Returns what pip recorded of the place that this peerproof came from; nothing if it came from an index."""
    recorded: dict[str, Any] = json.loads(distribution("peerproof").read_text("direct_url.json") or "{}")
    return recorded


def workflow_path(folder: Path, name: str) -> Path:
    """Returns where GitHub looks for the workflow of an adapter in this folder: at the top of the repository that it is in."""
    root = repository(folder)
    place = folder if root is None or root == folder.resolve() else root
    return place / ".github" / "workflows" / f"conformance-{name}.yml"


def _words(language: Language, protocols: Sequence[str], name: str, folder: str) -> dict[str, dict[str, str]]:
    """Returns the replacement of each placeholder, for each protocol: in the files about this protocol."""
    inside = json.dumps(folder)[1:-1]  # between double quotes in YAML
    update = " && ".join(filter(None, map(language.update, protocols)))
    plugs = [fill_template(language.plug, _words_of(each)) for each in protocols]
    shared = {
        "my-node": name,
        "@FOLDER@": inside,
        "@SETUP@": language.setup.rstrip("\n").replace("@FOLDER@", inside),
        "@REQUIREMENT@": json.dumps(requirement(language.extras))[1:-1],
        "@UPDATE@": f"- `{update}` brings newer vectors, and a newer runner." if update else "",
        **{f"@{name.upper()}@": getattr(language, name) for name in ("build", "test", "some", "start", "dependency", "needs")},
        "@PLUGS@": list_words([f"`{plug}`" for plug in plugs]),
        "@CONNECTION@": plugs[0] if len(plugs) == 1 else language.table,
        "@PROTOCOLS@": list_words(protocols),
        "@LIST@": ",".join(protocols),
        "@SELECTION@": selection(protocols),
        "@NAMES@": "\n\n".join("\n".join([f"## Names in {each}\n", *_vocabulary(each)]) for each in protocols),
    }
    return {each: {**shared, **_words_of(each)} for each in protocols}


def _words_of(protocol: str) -> dict[str, str]:
    """Returns the words that stand for those of Scuttlebutt."""
    return {"scuttlebutt": protocol, "Scuttlebutt": protocol.capitalize(), '"udp"': f'"{specification(protocol).TRANSPORT}"'}


def _vocabulary(protocol: str) -> Iterator[str]:
    spec = specification(protocol)
    for title, forms in (("Messages", spec.MESSAGE.form.cases), ("Calls", spec.COMMAND.cases), ("Events", spec.NOTICE.cases)):
        shown = (f"`{name}` ({', '.join(record.forms)})" if record.forms else f"`{name}`" for name, record in forms.items())
        yield f"- {title}: {', '.join(shown)}"
    yield f"- Queries: {', '.join(f'`{name}`' for name in spec.QUERIES)}"
    yield f"- Configuration: {', '.join(f'`{name}`' for name in spec.CONFIG.forms)}"
    yield f"- Messages travel over {spec.TRANSPORT}"
    if spec.TRANSPORT == "tcp":
        yield (
            "- A node learns of each message that it sent whether it arrived, and how long that took: write this part, `sent`,"
            " along with the nodes. Most of their behaviour depends on it"
        )


def _empty_codec_failures(protocol: str, suite: Suite) -> Iterator[tuple[str, str, str]]:
    """Yields id, failure and reason of each case of the codec that an adapter fails which is not filled in."""
    every = cases(suite, (vector for vector in suite.vectors if vector.protocol == protocol))
    for case in every:
        if case.needs <= {"codec"} and (failure := _failure(case)) is not None:
            yield case.id, failure, "not written yet"


def _failure(case: Case) -> str | None:
    """Returns how an empty codec fails a case: it rejects everything without a class, and has no encoder. None if it passes."""
    if case.vector.level == "may":
        return None
    if how := {"decode": "rejected", "reencode": "rejected", "encode": "error"}.get(case.part):
        return how
    return "class" if case.vector.body["rejects"].get("class") not in (None, "other") else None


def write_files(contents: Mapping[Path, bytes], *, force: bool = False) -> None:
    """
    Writes files, all or none, and creates their folders.

    Raises CannotWrite, and AlreadyThere if one exists, unless `force` is set. Folders are never overwritten.
    """
    there = [path for path in contents if os.path.lexists(path) and (path.is_dir() or not force)]
    if there:
        raise AlreadyThere(there)
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in contents}  #: renamed when all are written
    try:
        with Deferred() as interruption, ExitStack() as undo:
            for path, content in contents.items():
                for folder in reversed((path.parent, *path.parent.parents)):
                    if not folder.exists():
                        folder.mkdir()
                        undo.callback(_try_to, folder.rmdir)
                undo.callback(_try_to, partial(parts[path].unlink, missing_ok=True))
                parts[path].write_bytes(content)
            for path, part in parts.items():
                before = path.read_bytes() if path.exists() else None
                undo.callback(_try_to, path.unlink if before is None else partial(path.write_bytes, before))
                part.replace(path)
            undo.pop_all()
    except OSError as error:
        raise CannotWrite(f"{error.filename}: {error.strerror}") from None
    if interruption.seen:
        raise KeyboardInterrupt


def _try_to(undo: Callable[[], object]) -> None:
    with suppress(OSError):
        undo()
