"""
The map of the code, made from its imports: `docs/explanation/architecture.md`, and the table of folders in `CONTRIBUTING.md`.

    python docs/architecture.py            write both anew
    python docs/architecture.py --check    exit code 1 if they are stale

What stands between the marks `<!-- map: NAME -->` and `<!-- end -->` is replaced; the text around it is written by hand.
An arrow means "imports". One that follows from others is left out.
"""

from __future__ import annotations

import ast
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (ROOT / "docs/explanation/architecture.md", ROOT / "CONTRIBUTING.md")
#: The packages, from the lowest to the highest, and where their sources are.
PACKAGES: Final = {
    "peerproof.spec": "spec",
    "peerproof.tla": "tla",
    "peerproof.reference": "reference",
    "peerproof.conformance": "conformance",
    "peerproof.pipeline": "conformance",
    "peerproof.cli": "conformance",
}

_MAP: Final = re.compile(r"(<!-- map: (?P<name>[a-z.]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Writes the pages, or says which are stale."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is stale")
    check: bool = parser.parse_args().check
    graph = grimp.build_graph(*PACKAGES)
    stale = {page: text for page in PAGES if (text := render_page(graph, page)) != page.read_text(encoding="utf-8")}
    for page, text in stale.items():
        if check:
            print(f"stale: {page.relative_to(ROOT)}; run: python docs/architecture.py", file=sys.stderr)
        else:
            page.write_text(text, encoding="utf-8")
    return 1 if stale and check else 0


def render_page(graph: grimp.ImportGraph, page: Path) -> str:
    """The text of a page with its maps as the code is now."""
    return _MAP.sub(lambda found: f"{found[1]}{render_map(graph, found['name'])}{found[3]}", page.read_text(encoding="utf-8"))


def render_map(graph: grimp.ImportGraph, name: str) -> str:
    """One map: `packages`, `folders` (a table of all), or the folders of a package such as `peerproof.spec`."""
    if name == "packages":
        return render_diagram(imports_between(graph, PACKAGES), about=None)
    if name == "folders":
        rows = (f"| `{path}` | {about} |" for package in PACKAGES for path, about in described_folders(graph, package))
        return "\n".join(["| folder | what it is |", "| --- | --- |", *rows, ""])
    return render_diagram(imports_between(graph, folders(graph, name)), about=about_folder)


def folders(graph: grimp.ImportGraph, package: str) -> list[str]:
    """The folders of a package, by name."""
    return sorted(child for child in graph.find_children(package) if graph.find_children(child))


def described_folders(graph: grimp.ImportGraph, package: str) -> Iterable[tuple[str, str]]:
    """A package and the folders in it at every depth: path, and the first line of its `__init__`."""
    for module in sorted(module for module in graph.modules if module == package or module.startswith(f"{package}.")):
        if graph.find_children(module):
            yield str(path_of(module).relative_to(ROOT)), about_folder(module)


def path_of(package: str) -> Path:
    """The folder of a package."""
    root = next(root for name, root in PACKAGES.items() if f"{package}.".startswith(f"{name}."))
    return ROOT.joinpath(root, *package.split("."))


def about_folder(package: str) -> str:
    """The first line of what its `__init__` says."""
    text = ast.get_docstring(ast.parse((path_of(package) / "__init__.py").read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def imports_between(graph: grimp.ImportGraph, packages: Iterable[str]) -> dict[str, set[str]]:
    """Which of these packages import which others, without what follows from the rest."""
    found: dict[str, set[str]] = {package: set() for package in packages}
    for one, other in product(found, found):
        if one != other and graph.direct_import_exists(importer=one, imported=other, as_packages=True):
            found[one].add(other)
    return {
        one: {other for other in others if not any(_reaches(found, third, other) for third in others - {other})}
        for one, others in found.items()
    }


def _reaches(imports: Mapping[str, set[str]], start: str, end: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for other in imports[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return end in seen


def render_diagram(imports: Mapping[str, set[str]], about: Callable[[str], str] | None) -> str:
    """A Mermaid flowchart, and under it what each folder is."""
    names = {package: package.rpartition(".")[2] for package in imports}
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {names[one]}["{names[one]}"]' for one in sorted(imports)]
    lines += [f"    {names[one]} --> {names[other]}" for one in sorted(imports) for other in sorted(imports[one])]
    lines.append("```")
    if about:
        lines += ["", *(f"- `{names[one]}`: {about(one)}" for one in sorted(imports))]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
