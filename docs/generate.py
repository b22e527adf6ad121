"""
The reference pages that are made from the code: commands, messages, clause matrix, adapter protocol and so on.

    python docs/generate.py [--into docs/reference]

`make docs` runs it before it builds the site. What it writes is not kept in the repository, so it cannot become stale, but for
the messages: who ports a protocol looks for those first.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from peerproof.cli.commands import command_names, group_usage, usage
from peerproof.conformance.adapter import form_tables
from peerproof.conformance.adapter.answers import query_answers
from peerproof.conformance.adapter.form_tables import words
from peerproof.conformance.adapter.messages import CAPABILITIES, ERROR_CODES, MEMBERS, VERSION
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import in_order
from peerproof.conformance.readings import readings_of, settled_by
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.suite import Suite, load, load_basis
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.errors import REASONS
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla import manifest

HELP_WIDTH = "100"

#: Name of a page below the folder, and its lines.
Page: TypeAlias = tuple[str, Iterable[str]]

#: Commands that have options of each protocol's own.
OF_PROTOCOLS = ("node start", "node simulate")


def main() -> int:
    """Writes the pages."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "reference")
    into: Path = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    for name, lines in pages():
        page = into / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def pages() -> Iterator[Page]:
    """Each page: its name below the folder, and its lines. What is long is a page for each protocol, group or package."""
    yield "tables", tables()
    yield "vectors", vectors()
    yield "constants", constants()
    for section in (commands, messages, clauses, decisions, adapter, library):
        yield from section()


def commands() -> Iterator[Page]:
    """The help of each command, a page for each group."""
    yield (
        "commands",
        ["# Commands", "", *fenced(usage()), "Shell completion: `peerproof --print-completion bash` (or zsh, tcsh).", ""],
    )
    of_groups: dict[str, list[str]] = {"": []}
    for name in command_names():
        group, _, _ = name.rpartition(" ")
        of_groups.setdefault(group, []).append(name)
    for group, names in of_groups.items():
        begin = [f"# peerproof {group}", "", *fenced(group_usage(group))] if group else ["# Commands of the top level", ""]
        yield f"commands/{group or 'top'}", [*begin, *(line for name in names for line in command_help(name))]


def command_help(name: str) -> Iterator[str]:
    """The help of one command, and of each protocol that it has options for."""
    yield from (f"## peerproof {name}", "", *fenced(output(*name.split(), "--help")))
    for protocol in RUNTIMES if name in OF_PROTOCOLS else ():
        yield from (f"### peerproof {name} {protocol}", "", *fenced(output(*name.split(), protocol, "--help")))


def tables() -> Iterator[str]:
    """What the stages of the pipeline read and write."""
    from peerproof.pipeline.storage.tables import documentation

    yield from ("# Tables of the pipeline", "")
    yield documentation()


def messages() -> Iterator[Page]:
    """The tables of messages, calls, queries, events and configuration of each protocol; these pages are in the repository."""
    links = (f"- [{protocol}](messages/{protocol}.md)" for protocol in PROTOCOLS)
    yield "messages", ["# Messages", "", *form_tables.INTRODUCTION, "", *links]
    for protocol in PROTOCOLS:
        wire = f"Their bytes are under [the wire format](../../specification/{protocol}.md#the-wire-format) of the specification."
        yield f"messages/{protocol}", [f"# Messages of {protocol}", "", wire, "", *form_tables.message_tables(protocol)]


#: How constants are given, above their tables.
ABOUT_CONSTANTS = (
    "A configuration in `PROTOCOL/constants.json` gives the constants of a model their values. These are the bounds within which",
    "TLC and our explorer look at every state. A constant that a configuration does not name has its default. A text such as",
    '`"1 leave 2"` stands for a tuple, since the configuration files of TLC have none; in `constants.json` it is a list.',
    "[Change a model](../how-to/change-a-model.md) shows how to run TLC with other constants.",
)


def constants() -> Iterator[str]:
    """The constants of the models of each protocol, and the definitions that models replace; their meaning from the modules."""
    yield from ("# Constants of the models", "", *ABOUT_CONSTANTS)
    for protocol in catalogue.protocols():
        yield from ("", f"## {protocol}", "")
        yield from constants_of(protocol)


def constants_of(protocol: str) -> Iterator[str]:
    """The constants of one protocol's models, and the definitions that its models replace."""
    given = json.loads((manifest.root(protocol) / protocol / "constants.json").read_bytes())
    defaults = [members for name, members in given.items() if name != "configurations"]
    modules = {path.stem: path.read_text("utf-8") for path in sorted((manifest.root(protocol) / protocol).glob("*.tla"))}
    extended = [name for name in ("Network",) if any(re.search(rf"EXTENDS .*\b{name}\b", text) for text in modules.values())]
    modules |= {name: (manifest.root(protocol) / f"{name}.tla").read_text("utf-8") for name in extended}
    yield from ("| constant | module | what it is | default |", "| --- | --- | --- | --- |")
    for module, text in modules.items():
        for name, about in declared_constants(text):
            default = next((manifest.tla(members[name]) for members in _nearest(module, given, defaults) if name in members), "")
            yield f"| `{name}` | {module} | {about} | {f'`{default}`' if default else ''} |"
    replaced = {pair: model.name for model in manifest.models(protocol) for pair in model.replace.items()}
    if replaced:
        yield from ("", "Definitions that some models replace by others (`Definition <- Other` in a configuration of TLC):", "")
        yield from ("| definition | other | what the other one does | such as in |", "| --- | --- | --- | --- |")
        comments = {name: about for text in modules.values() for name, about in commented_definitions(text)}
        yield from (f"| `{old}` | `{new}` | {comments.get(new, '')} | `{model}` |" for (old, new), model in replaced.items())


def _nearest(module: str, given: Mapping[str, Any], defaults: list[Any]) -> list[Any]:
    """The members of `constants.json` with default values, those of a module's own name first."""
    own = given.get(module.lower())
    return [own, *defaults] if own else defaults


def declared_constants(module: str) -> Iterator[tuple[str, str]]:
    """Each constant that a TLA+ module declares, with its comment."""
    for block in re.findall(r"^CONSTANTS?\b(.*?)\n\n", module, re.DOTALL | re.MULTILINE):
        yield from re.findall(r"^\s*(\w+),?\s*\\\* (.+)$", block, re.MULTILINE)


def commented_definitions(module: str) -> Iterator[tuple[str, str]]:
    """Each definition of a TLA+ module that has a comment above it, with the comment."""
    above = re.findall(r"((?:^\\\* .*\n)+)(?:RECURSIVE .*\n)?^(\w+)(?:\(.*?\))? ==", module, re.MULTILINE)
    yield from ((name, re.sub(r"\s*^\\\* ", " ", comment, flags=re.MULTILINE).strip()) for comment, name in above)


def clauses() -> Iterator[Page]:
    """The code, vectors and properties of each clause, as `peerproof vectors coverage` finds them."""
    yield "clauses", ["# Clause matrix", "", *(f"- [{protocol}](clauses/{protocol}.md)" for protocol in catalogue.protocols())]
    for protocol in catalogue.protocols():
        matrix = output(
            "vectors", "coverage", protocol, "--format", "markdown", allowed=(0, 1)
        )  # a gap is shown, and fails elsewhere
        about = (
            "Each clause and decision, with the code that cites it, its "
            "vectors and its properties. What no vector can test says why."
        )
        head = ("---", "hide: [toc]", "---", "")  # the table needs the whole width
        yield f"clauses/{protocol}", [*head, f"# Clause matrix of {protocol}", "", about, "", matrix.partition("\n\n")[2]]


def decisions() -> Iterator[Page]:
    """What each document leaves open, and how it was settled; and where a known implementation does something else."""
    everything = load()
    links = (f"- [{protocol}](decisions/{protocol}.md)" for protocol in catalogue.protocols())
    yield "decisions", ["# What the documents leave open", "", *links]
    for protocol in catalogue.protocols():
        yield f"decisions/{protocol}", decisions_of(protocol, everything)


def decisions_of(protocol: str, everything: Suite) -> Iterator[str]:
    """The decisions of one protocol, the other readings that were tried, and the divergences of the original."""
    readings, basis = readings_of(protocol), load_basis(everything.root, protocol)
    own = sum(vector.protocol == protocol for vector in everything.vectors)
    clauses_read = len({one.clause for one in readings})
    yield from (f"# What the document of {protocol} leaves open", "")
    yield from ("A document has gaps, and two people fill them differently. Each gap is a decision here, with its reason.", "")
    yield (
        f"{len(readings):,} other readings of {clauses_read:,} clauses "
        f"were tried; {len(basis.decisions):,} of {own:,} vectors depend"
    )
    yield from (f"on decisions, and {len(basis.weak):,} are a *should* for that alone.", "")
    items = catalogue.load(protocol).items
    for kind, title in (("A", "Decisions"), ("D", "Divergences of the original")):
        found = sorted((item for item in items if re.match(rf"[A-Z]{kind}-", item)), key=in_order)
        yield from (f"## {title}", "", *(f"- **{item}** {items[item].text}" for item in found), "")
    if readings:
        yield from ("## Other readings", "", "| clause | reading | an implementation that takes it |", "| --- | --- | --- |")
        yield from (f"| {one.clause} | `{one.name}` | {one.text} |" for one in readings)
        yield ""
    if settled := settled_by(protocol):
        yield from ("## Decisions without another reading", "", "| decision | why |", "| --- | --- |")
        yield from (f"| {decision} | {why} |" for decision, why in sorted(settled.items(), key=lambda one: in_order(one[0])))
        yield ""


def vectors() -> Iterator[str]:
    """Each object of a vector file and its fields, from the schema of vector files."""
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


def adapter() -> Iterator[Page]:
    """What a reply must hold; and for each protocol what can be claimed, from what the runner checks and the suite asks for."""
    lines = ["# Adapter protocol", "", f"Version {VERSION}, as the runner checks it."]
    lines += [
        "[How to write an adapter](../how-to/write-an-adapter.md) explains each request with an example.",
        "",
        "## Replies",
        "",
    ]
    lines += [
        "Beside `id` and `ok`; `rejected` stands instead of what there must be. Any other member is a fault of the adapter."
    ]
    lines += ["", "| op | must have | may have |", "| --- | --- | --- |"]
    lines += [f"| `{op}` | {words(needed)} | {words(others)} |" for op, (needed, others) in MEMBERS.items()]
    lines += ["", "To any request: `error`, with a `message` and one of these as its `code`: " + words(ERROR_CODES) + "."]
    lines += ["", "`rejected` has a `message` and one of these as its `class`: " + words(REASONS) + "."]
    yield "adapter", lines
    suite = load()
    for protocol in RUNTIMES.values():
        yield f"adapter/{protocol.name}", adapter_of(protocol, suite)


def adapter_of(protocol: Runtime, suite: Suite) -> Iterator[str]:
    """What an adapter of one protocol can claim."""
    tried = cases(suite, [vector for vector in suite.vectors if vector.protocol == protocol.name])
    asked_for = Counter(need for case in tried for need in case.needs)
    events = [need for need in sorted(asked_for) if need.startswith("events.")]
    offered = [*protocol.capabilities(), *events, *(need for need in ("choices.oracle",) if asked_for[need])]
    unknown = asked_for.keys() - set(offered)
    assert not unknown, f"the reference lacks what vectors need: {unknown}"
    yield from (
        f"# Adapters of {protocol.name}",
        "",
        f"What can be claimed, and how many of the {len(tried):,} cases need it.",
        "",
    )
    yield from ("| capability | what it claims | cases |", "| --- | --- | ---: |")
    yield from (f"| `{need}` | {claims(protocol.name, need)} | {asked_for[need]:,} |" for need in offered)
    yield from form_tables.adapter_tables(protocol.name)


def claims(protocol: str, capability: str) -> str:
    """What a capability claims, in words. Raises KeyError for one without a description."""
    word, _, name = capability.partition(".")
    spec = PROTOCOLS[protocol].specification.load()
    if word == "api":
        return form_tables.about(spec.COMMAND.cases[name].kind)
    if word == "observe":
        return str(query_answers(protocol)[name].about)
    if word == "events" and name:
        return f"the event `{name}`"
    return CAPABILITIES[word]


def library() -> Iterator[Page]:
    """The public names of each package, from its `__all__`, with signatures, docstrings and examples."""
    about = {name: (import_module(name).__doc__ or "").strip().splitlines()[0] for name in packages()}
    rows = (f"| [`{name}`](library/{name}.md) | {line} |" for name, line in about.items())
    yield "library", ["# Library", "", "[Use it as a library](../how-to/use-as-a-library.md) shows how things go together.", "",
                      "| package | what it offers |", "| --- | --- |", *rows]  # fmt: skip
    for name, line in about.items():
        yield f"library/{name}", [f"# {name}", "", line, "", *package_objects(name)]


def package_objects(name: str) -> Iterator[str]:
    """The public objects of one package. Nothing of it is imported but constants, so that no heavy library is needed."""
    package = import_module(name)
    for public, module in defining_modules(name, Path(str(package.__file__))).items():
        if public.isupper():
            found = getattr(package, public)
            shown = words(map(str, found)) if isinstance(found, Collection) else repr(found)
            yield from (f"### {public}", "", f"A constant: {shown}.", "")
        else:
            yield from (f"::: {name}.{module}.{public}", *OPTIONS, "")


def defining_modules(package: str, init: Path) -> dict[str, str]:
    """The public names of a package, sorted, each with the module that defines it: from its stub if there is one."""
    stub = init.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else init).read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return dict(sorted((alias.name, str(node.module).removeprefix(f"{package}.")) for node in imports for alias in node.names))


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
    "      members: null",
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
