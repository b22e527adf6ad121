"""
The reference pages that are made from the code: commands, messages, clause matrix, adapter protocol and so on.

    python docs/generate.py [--into docs/reference]

`make docs` runs it before it builds the site. What it writes is not kept in the repository, so it cannot become stale, but for
messages.md: whoever ports a protocol looks for that first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from typing import Any

from peerproof.cli.commands import GROUPS, command_names, group_usage, usage
from peerproof.conformance.authoring import form_tables
from peerproof.conformance.authoring.form_tables import words
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.errors import REASONS
from peerproof.spec.protocols import PROTOCOLS

HELP_WIDTH = "100"

#: Commands that have options of each protocol's own.
OF_PROTOCOLS = ("node start", "node simulate")


def main() -> int:
    """Writes the pages."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "reference")
    into: Path = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    for page in (commands, tables, clauses, decisions, vectors, adapter, library):
        (into / f"{page.__name__}.md").write_text("\n".join(page()) + "\n", encoding="utf-8")
    (into / "messages.md").write_text("\n".join(form_tables.messages_page()) + "\n", encoding="utf-8")
    return 0


def commands() -> Iterator[str]:
    """Each command's own help."""
    yield from ("# Commands", "", "The help of each command.", "")
    yield from fenced(usage())
    begun = set[str]()
    for name in command_names():
        group = name.partition(" ")[0]
        if group in GROUPS and group not in begun:
            begun.add(group)
            yield from (f"## peerproof {group}", "", *fenced(group_usage(group)))
        yield from (f"{'###' if group in GROUPS else '##'} peerproof {name}", "")
        yield from fenced(output(*name.split(), "--help"))
        for protocol in RUNTIMES if name in OF_PROTOCOLS else ():
            yield from (f"#### peerproof {name} {protocol}", "")
            yield from fenced(output(*name.split(), protocol, "--help"))


def tables() -> Iterator[str]:
    """What the stages of the pipeline read and write."""
    from peerproof.pipeline.storage.tables import documentation

    yield from ("# Tables of the pipeline", "")
    yield documentation()


def clauses() -> Iterator[str]:
    """Which code, vectors and properties hold each clause, as `peerproof vectors coverage` finds it."""
    yield from ("---", "hide: [toc]", "---", "", "# Clause matrix", "")  # the table needs the whole width
    yield "For each clause and decision: the code that cites it, the vectors and the properties"
    yield from ("that hold it. What no vector can show says why in its text.", "")
    yield output("vectors", "coverage", "--format", "markdown", allowed=(0, 1))  # a hole is shown, and fails elsewhere


def decisions() -> Iterator[str]:
    """What each document leaves open, and how it was settled; and where a known implementation does something else."""
    from peerproof.conformance.clauses import catalogue as clauses
    from peerproof.conformance.clauses.catalogue import in_order
    from peerproof.conformance.readings import readings_of, settled_by
    from peerproof.conformance.vectors.suite import load as suite
    from peerproof.conformance.vectors.suite import load_basis

    yield from ("# What the documents leave open", "", "A document has gaps, and two people fill them differently. Each gap")
    yield from ("that was found is a decision here, with its reason. What known implementations do otherwise follows.", "")
    yield from ("What follows from reading a document otherwise is tried:", "")
    yield from ("| protocol | other readings | of clauses | vectors that rest on them | of all | only *should* by them |",)
    yield f"| --- |{' ---: |' * 5}"
    everything = suite()
    for protocol in clauses.protocols():
        readings, basis = readings_of(protocol), load_basis(everything.root, protocol)
        own = sum(vector.protocol == protocol for vector in everything.vectors)
        counts = (len(readings), len({one.clause for one in readings}), len(basis.decisions), own, len(basis.weak))
        yield f"| {protocol} | {' | '.join(f'{count:,}' for count in counts)} |"
    yield ""
    for protocol in clauses.protocols():
        items = clauses.load(protocol).items
        yield from (f"## {protocol}", "")
        for kind, title in (("A", "Decisions"), ("D", "Divergences of the original")):
            found = sorted((item for item in items if re.match(rf"[A-Z]{kind}-", item)), key=in_order)
            yield from (f"### {title}", "", *(f"- **{item}** {items[item].text}" for item in found), "")
        if readings := readings_of(protocol):
            yield from ("### Other readings", "", "| clause | reading | an implementation that takes it |", "| --- | --- | --- |")
            yield from (f"| {one.clause} | `{one.name}` | {one.text} |" for one in readings)
            yield ""
        if settled := settled_by(protocol):
            yield from ("### Decisions without another reading", "", "| decision | why |", "| --- | --- |")
            yield from (f"| {decision} | {why} |" for decision, why in sorted(settled.items(), key=lambda one: in_order(one[0])))
            yield ""


def vectors() -> Iterator[str]:
    """Each object of a vector file and its fields, from the schema that files are held to."""
    from peerproof.conformance.suite import locations

    schema = json.loads(locations.schema("vector").read_bytes())
    yield from (
        "# Fields of vectors",
        "",
        "Of the files PROTOCOL/LAYER/TOPIC.yaml in `conformance/vectors/`, as their schema has them",
    )
    yield from ("(`conformance/schemas/vector.schema.json`). [How to write one](../how-to/write-a-vector.md).", "")
    for name, part in {"a file": schema, **schema["$defs"]}.items():
        if not part.get("properties") or name.startswith("is_"):
            continue
        yield from (f"## {name.replace('_', ' ')}", "")
        if about := part.get("description") if part is not schema else None:
            yield from (f"{about[0].upper()}{about[1:]}.", "")
        yield from ("| field | | what it is |", "| --- | --- | --- |")
        for field, what in part["properties"].items():
            yield f"| `{field}` | {'needed' if field in part.get('required', ()) else ''} | {_of_schema(what, schema)} |"
        yield ""


def adapter() -> Iterator[str]:
    """What a reply must hold, and what can be claimed in each protocol, from what the runner checks and the suite asks for."""
    from peerproof.conformance.adapter.messages import ERROR_CODES, MEMBERS, VERSION
    from peerproof.conformance.runner.cases import cases
    from peerproof.conformance.vectors.suite import load

    yield from ("# Adapter protocol", "", f"Version {VERSION}, as the runner checks it.")
    yield from (
        "[How to write an adapter](../how-to/write-an-adapter.md) explains each request with an example.",
        "",
        "## Replies",
        "",
    )
    yield "Beside `id` and `ok`; `rejected` stands instead of what there must be. Any other member is a mistake of the adapter."
    yield from ("", "| op | must have | may have |", "| --- | --- | --- |")
    for op, (needed, others) in MEMBERS.items():
        yield f"| `{op}` | {words(needed)} | {words(others)} |"
    yield from (
        "",
        "To any request: `error`, with a `message` and one of these as its `code`: " + words(ERROR_CODES) + ".",
    )
    yield from ("", "`rejected` has a `message` and one of these as its `class`: " + words(REASONS) + ".")
    suite = load()
    for protocol in RUNTIMES.values():
        own = [vector for vector in suite.vectors if vector.protocol == protocol.name]
        tried = cases(suite, own)
        asked_for = Counter(need for case in tried for need in case.needs)
        events = [need for need in sorted(asked_for) if need.startswith("events.")]
        offered = [*protocol.capabilities(), *events, *(need for need in ("choices.oracle",) if asked_for[need])]
        unknown = asked_for.keys() - set(offered)
        assert not unknown, f"the reference lacks what vectors need: {unknown}"
        yield from ("", f"## {protocol.name}", "", f"What can be claimed, and how many of the {len(tried):,} cases need it.", "")
        yield from ("| capability | what it claims | cases |", "| --- | --- | ---: |")
        yield from (f"| `{need}` | {claims(protocol.name, need)} | {asked_for[need]:,} |" for need in offered)
        yield from form_tables.adapter_tables(protocol.name)


def claims(protocol: str, capability: str) -> str:
    """What a capability claims, in words. Raises KeyError for one that nobody has described."""
    from peerproof.conformance.adapter.messages import CAPABILITIES

    word, _, name = capability.partition(".")
    spec = PROTOCOLS[protocol].specification.load()
    if word == "api":
        return form_tables.about(spec.COMMAND.cases[name].kind)
    if word == "observe":
        return str(form_tables.query_answers(protocol)[name].about)
    if word == "events" and name:
        return f"the event `{name}`"
    return CAPABILITIES[word]


def library() -> Iterator[str]:
    """The public names of each package, from its `__all__`, with signatures, docstrings and examples."""
    yield from ("---", "hide: [navigation]", "---", "", "# Library", "", "What each package offers to programs.")
    yield from ("[Use it as a library](../how-to/use-as-a-library.md) shows how things go together.", "")
    for name in packages():
        package = import_module(name)
        about = (package.__doc__ or "").strip().splitlines()[0]
        yield from (f"## {name}", "", about, "")
        for public in package.__all__:
            found = getattr(package, public)
            if isclass(found) or isfunction(found):
                alone = isfunction(found) or issubclass(found, BaseException)
                members = "      members: false" if alone else "      members: null"
                yield from (f"::: {found.__module__}.{found.__qualname__}", *OPTIONS, members, "")
            else:
                shown = words(map(str, found)) if isinstance(found, Collection) else repr(found)
                yield from (f"### {public}", "", f"A constant: {shown}.", "")


#: How the site shows an object of the library: its signature and its docstring, not its source.
OPTIONS = (
    "    options:",
    "      heading_level: 3",
    "      show_source: false",
    "      show_signature: true",
    "      show_signature_annotations: true",
    "      separate_signature: true",
    "      show_docstring_description: true",
    "      show_docstring_attributes: true",
    "      filters: ['!^_']",
)


def packages() -> list[str]:
    """The packages that list their public names: in a stub, `__init__.pyi`, or, as `peerproof.tla`, in `__init__.py` itself."""
    roots = (Path(__file__).parents[1] / part for part in ("reference", "conformance"))
    stubs = (".".join(stub.relative_to(root).parts[:-1]) for root in roots for stub in (root / "peerproof").rglob("__init__.pyi"))
    return sorted([*stubs, "peerproof.tla"])


def picks(part: Any) -> Iterator[Mapping[str, Any]]:
    """All draws that a vector fixes, wherever they stand in it."""
    if isinstance(part, dict):
        yield from part.get("picks", ())
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from picks(inner)


def _of_schema(what: Any, schema: Mapping[str, Any]) -> str:
    """A part of a schema in words, for a cell of a table."""
    if not isinstance(what, dict):
        return "see above"
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        target = schema["$defs"][name]
        known = f"[{name.replace('_', ' ')}](#{name.replace('_', '-')})" if target.get("properties") else ""
        return what.get("description") or known or target.get("description") or _of_schema(target, schema)
    if "const" in what or "enum" in what:
        return "one of " + ", ".join(f"`{json.dumps(value)}`" for value in what.get("enum", [what.get("const")]))
    kind = what.get("type", "anything")
    said = what.get("description") or (kind if isinstance(kind, str) else " or ".join(kind))
    if kind != "array" or not isinstance(what.get("items"), dict):
        return said
    each = f"list of {_of_schema(what['items'], schema)}"
    return f"{said}: {each}" if "description" in what else each


def fenced(text: str) -> Iterable[str]:
    """Text as it stands."""
    return ("```text", text.rstrip(), "```", "")


def output(*arguments: str, allowed: Collection[int] = (0,)) -> str:
    """What a command prints. A command that fails ends this program with its message."""
    environment: dict[str, Any] = {**os.environ, "COLUMNS": HELP_WIDTH, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "peerproof.cli.main", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"docs/generate.py: peerproof {' '.join(arguments)} exits with {done.returncode}:\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
