"""
The manifest of models: the question of each, its constants and its expected result.

`manifest.json` lists the models of all protocols. Most are for TLC, and many of these for the explorer of the Python
specification as well; those whose `by` is "explorer" check temporal properties of graphs that are too large for TLC.
`PROTOCOL/constants.json` has the constants, by configuration, with the size of the resulting state graph; other explorers of the
same graph read the same file. If a module has constants of its own, `defaults` of a configuration names their member in that
file. The configuration files of TLC are generated from the two whenever TLC runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peerproof.spec.protocols import PROTOCOLS

SIZES: Final = ("small", "medium", "large")

#: Coverage of the paths in a table of vectors.
EVERY_EDGE, EVERY_STEP = "every edge", "every step"
COUNTS: Final = ("initial", "distinct", "generated", "depth")

#: With fewer states, optimizing compilation in Java does not pay off.
FEW_STATES: Final = 50_000

_PACKAGE: Final = Path(__file__).parent


class BadManifest(ValueError):
    """The manifest, or a file of constants, is invalid."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Constants, and the size of the graph of the protocol's own `Init` and `Next` with them."""

    protocol: str
    name: str
    about: str
    constants: Mapping[str, Any]  #: plain data; a list is a set
    expected: Mapping[str, Any]  #: `COUNTS`, edges by action, digest; empty if that graph is not explored
    vectors: str = ""  #: coverage of its table of vectors, `EVERY_EDGE` or `EVERY_STEP`; empty if it has no table


@dataclass(frozen=True, slots=True)
class Model:
    """A question for TLC or for the explorer."""

    name: str
    protocol: str
    question: str
    size: str  #: one of `SIZES`, by running time
    configuration: Configuration
    clauses: tuple[str, ...]
    invariants: tuple[str, ...]
    properties: tuple[str, ...]
    module: str = ""  #: empty if `by` is "explorer"
    init: str = "Init"
    next: str = "Next"
    replace: Mapping[str, str] = field(default_factory=dict)  #: definition of the protocol -> its replacement
    verdict: str = "success"
    violated: str | None = None
    steps: int | None = None  #: of the shortest counterexample; None for temporal properties, where it varies
    counts: Mapping[str, int] = field(default_factory=dict)
    specification: str | None = None  #: instead of `init` and `next`, with fairness
    by: str = "tlc"  #: or "explorer"
    trap: int | None = None  #: steps to the nearest model state from which no fair run satisfies the property

    @property
    def module_path(self) -> Path:
        """The file of the root module."""
        return root(self.protocol) / self.protocol / f"{self.module}.tla"

    @property
    def counterexample_path(self) -> Path | None:
        """The file of TLC's counterexample, if one is expected."""
        if self.verdict == "success" or self.by != "tlc":
            return None
        return root(self.protocol) / self.protocol / "counterexamples" / f"{self.name}.itf.json"

    @property
    def is_reachability_check(self) -> bool:
        """Whether it asks if something can happen, so that the violation of its property is the good news."""
        return self.verdict != "success" and self.question.endswith("?")

    @property
    def expected_answer(self) -> str:
        """The expected result, as an answer to the question."""
        if self.verdict == "success":
            states = self.expected_counts.get("distinct")
            return f"yes: nothing is violated{f' in {states:,} states' if states else ''}"
        steps = "" if self.steps is None else f", after {self.steps} steps at the least"
        return f"{'yes, so ' if self.is_reachability_check else ''}{self.violated} is violated{steps}"

    @property
    def behaviour(self) -> str:
        """The name of its specification, or else of its next-state relation."""
        return self.specification or self.next

    @property
    def is_whole_graph(self) -> bool:
        """Whether TLC explores exactly the graph of its configuration."""
        return self._is_plain and self.by == "tlc"

    @property
    def is_brief(self) -> bool:
        """Whether it takes only seconds: it is small and, if it holds, has few states."""
        return self.size == "small" and self.expected_counts.get("distinct", 0) < FEW_STATES

    @property
    def _is_plain(self) -> bool:
        plain = not self.replace and self.behaviour == "Next" and self.init == "Init"
        return plain and self.verdict == "success"

    @property
    def expected_counts(self) -> Mapping[str, int]:
        """The expected size of the graph; empty for a model that ends at a violation."""
        if self.verdict != "success":
            return {}
        known = self.configuration.expected if self._is_plain else self.counts
        return {count: known[count] for count in COUNTS if count in known}

    def cfg(self, *, checks: bool = True) -> str:
        """Renders TLC's configuration; without checks for a run that only explores."""
        lines = [
            f"\\* {self.question}",
            f"\\* Model {self.name} of {self.protocol}, for {self.module}.tla; made from manifest.json and constants.json.",
            "CONSTANTS",
        ]
        lines += [f"    {name} = {tla(value)}" for name, value in self.configuration.constants.items()]
        lines += [f"    {name} <- {other}" for name, other in self.replace.items()]
        lines += [f"SPECIFICATION {self.specification}"] if self.specification else [f"INIT {self.init}", f"NEXT {self.next}"]
        if checks:
            lines += [f"INVARIANT {name}" for name in self.invariants]
            lines += [f"PROPERTY {name}" for name in self.properties]
        return "\n".join(lines) + "\n"


def root(protocol: str | None = None) -> Path:
    """Returns the folder of the modules, of a protocol or of this project: in the installed package, or above the package."""
    home = PROTOCOLS[protocol].home if protocol and protocol in PROTOCOLS else None
    if home:
        return home / "tla"
    installed = _PACKAGE / "models"
    return installed if installed.exists() else _PACKAGE.parents[1]


def tla(value: Any) -> str:
    """
    Renders plain data in the syntax of TLC's configuration files; a list is a set.

    The syntax has no tuples. A list in a list is a tuple and becomes a text of its elements, which the module has to parse.

    >>> tla([1, 2]), tla(["a"]), tla([[1, "leave", 2]]), tla(True)
    ('{1, 2}', '{"a"}', '{"1 leave 2"}', 'TRUE')
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case str():
            return json.dumps(value)
        case list():
            texts = (" ".join(map(str, element)) if isinstance(element, list) else element for element in value)
            return "{" + ", ".join(tla(element) for element in texts) + "}"
    raise BadManifest(f"a constant cannot be {value!r}")


def configurations(protocol: str) -> dict[str, Configuration]:
    """Loads the configurations of a protocol, by name."""
    path = root(protocol) / protocol / "constants.json"
    data = _read(path)
    try:
        return {
            name: Configuration(
                protocol,
                name,
                entry["about"],
                {**data[entry.get("defaults", "constants")], **entry["constants"]},
                entry.get("expected", {}),
                _vectors(path, name, entry),
            )
            for name, entry in data["configurations"].items()
        }
    except (KeyError, TypeError, AttributeError) as problem:
        raise BadManifest(f"{path}: {problem!r} is missing or invalid") from problem


def _vectors(path: Path, name: str, entry: Mapping[str, Any]) -> str:
    coverage: str = entry.get("vectors", "")
    if coverage not in ("", EVERY_EDGE, EVERY_STEP):
        raise BadManifest(f"{path}: {name}: vectors is {coverage!r}, not {EVERY_EDGE!r} or {EVERY_STEP!r}")
    return coverage


def models(protocol: str | None = None) -> tuple[Model, ...]:
    """Loads the models of one protocol, or of all, in the order of the manifests."""
    folders = [root(protocol)] if protocol else dict.fromkeys(map(root, PROTOCOLS))
    return tuple(model for folder in folders for model in _models_in(folder / "manifest.json", protocol))


def _models_in(path: Path, protocol: str | None) -> tuple[Model, ...]:
    if path.parent != root() and not path.exists():
        return ()  # a protocol outside this project may have no models
    entries = _read(path).get("models", [])
    found = tuple(_models(path, [entry for entry in entries if protocol in (None, entry.get("protocol", protocol))]))
    often = Counter((model.protocol, model.name) for model in found)
    repeated = {name for (_, name), times in often.items() if times > 1}
    if repeated:
        raise BadManifest(f"{path}: duplicate names of models: {', '.join(sorted(repeated))}")
    return found


def _models(path: Path, entries: list[dict[str, Any]]) -> Iterator[Model]:
    known: dict[str, dict[str, Configuration]] = {}
    for entry in entries:
        try:
            name, protocol = entry["name"], entry["protocol"]
            if protocol not in known:
                known[protocol] = configurations(protocol)
            by_name = known[protocol]
            if entry["configuration"] not in by_name:
                raise BadManifest(f"{path}: {name}: no configuration {entry['configuration']!r} in {protocol}/constants.json")
            model = _model(entry, by_name[entry["configuration"]])
        except (KeyError, TypeError) as problem:
            raise BadManifest(f"{path}: {entry.get('name', entry)}: {problem!r} is missing or invalid") from problem
        if (model.by, bool(model.module)) not in (("tlc", True), ("explorer", False)):
            raise BadManifest(f"{path}: {name}: a model by tlc needs a module, a model by explorer has none")
        if model.size not in SIZES:
            raise BadManifest(f"{path}: {name}: size is {model.size!r}, not one of {', '.join(SIZES)}")
        yield model


def _model(entry: Mapping[str, Any], configuration: Configuration) -> Model:
    expected = entry["expected"]
    given: dict[str, Any] = {name: entry[name] for name in ("name", "protocol", "question", "size")}
    given |= {name: entry[name] for name in ("module", "init", "next", "replace", "specification", "by") if name in entry}
    given |= {name: tuple(entry.get(name, ())) for name in ("clauses", "invariants", "properties")}
    given |= {name: expected.get(name) for name in ("violated", "steps", "trap")}
    counts = {count: expected[count] for count in COUNTS if count in expected}
    return Model(configuration=configuration, verdict=expected["verdict"], counts=counts, **given)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except OSError as problem:
        raise BadManifest(f"{path}: {problem.strerror}") from problem
    except ValueError as problem:
        raise BadManifest(f"{path}: {problem}") from problem
    if not isinstance(data, dict):
        raise BadManifest(f"{path}: not an object")
    return data
