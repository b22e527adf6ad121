"""
The table of commands.

Each command is a module with `configure(parser)`, which declares its options, and `run(args)`, which returns the exit code.
Only the module of the requested command is imported, so that `--help` and the first verdict are fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from peerproof.cli.exits import Refusal

if TYPE_CHECKING:
    from peerproof.cli.parser import Parser

#: Command, its module in `peerproof.cli`, and a description.
COMMANDS = (
    ("run", "run", "run the conformance vectors against an implementation (default: the reference)"),
    ("init", "init", "write a project that runs the vectors as tests in Go, Java, JavaScript, Python or Rust"),
    ("doctor", "doctor", "check this machine, and an adapter given with --impl"),
    ("explain", "explain", "show a clause with its text, code, vectors and properties"),
    ("fuzz", "fuzz", "run an implementation at random against the specification, and shrink what is found"),
)

#: Group of commands -> its description and its commands. A module with `KINDS` has one command for each of them.
GROUPS = {
    "vectors": (
        "conformance vectors",
        (
            ("list", "vectors.list", "list vectors"),
            ("show", "vectors.show", "show a vector as YAML or as a message graph"),
            ("explore", "vectors.explore", "show a vector in the browser, step by step, beside an implementation"),
            ("replay", "vectors.replay", "run one vector once and show every line"),
            ("export", "vectors.export", "write JSON bundles for runners that need no Python"),
            ("diff", "vectors.diff", "print what changed between two exports"),
            ("lint", "vectors.lint", "check vector files"),
            ("generate", "vectors.generate", "make vectors from the state graphs of the models, or check them"),
            ("coverage", "vectors.coverage", "print the clause matrix: code, vectors, properties and models of each clause"),
        ),
    ),
    "model": (
        "models of the protocols",
        (
            ("check", "model.check", "model-check the TLA+ modules with TLC"),
            ("explore", "model.explore", "explore a protocol in the browser, step by step"),
            ("graph", "model.graph", "compare the state graphs of TLA+ and Python"),
            ("prove", "model.prove", "prove statements about the specification with Z3"),
            ("mutants", "model.mutants", "measure how many mutants of the specifications the vectors kill"),
        ),
    ),
    "trace": (
        "recorded traces",
        (
            ("check", "trace.check", "check traces of nodes against the specification, and with TLC"),
            ("groups", "trace.groups", "show which nodes heard each other when: that a cluster was split, and when"),
            ("explore", "trace.explore", "show a trace or a capture in the browser, with what each node knew"),
            ("cut", "trace.cut", "cut nodes and a time range out of a large trace"),
            ("draw", "trace.draw", "draw a trace, a capture, a vector or a counterexample as a message graph"),
        ),
    ),
    "node": (
        "reference nodes",
        (
            ("start", "node.start", "run a reference node on real sockets"),
            ("simulate", "node.simulate", "run a seeded cluster in virtual time"),
            ("harness", "node.harness", "serve the adapter protocol for the reference"),
        ),
    ),
    "report": (
        "reports of runs",
        (
            ("html", "report", "one HTML page that needs no network, with a diagram of each failure"),
            ("convert", "report", "another format: text, json, jsonl, junit, md, github"),
            ("groups", "report", "failures grouped by first difference, the largest group first"),
            ("matrix", "report", "clauses by implementation"),
            ("merge", "report", "one record of several: shards of a run, or several implementations"),
            ("diff", "report", "what newly fails or passes between two records"),
            ("badge", "report", "a badge with the number of cases that pass"),
            ("edges", "report", "edges of the models' state graphs that the vectors take, as JSON"),
        ),
    ),
    "pipeline": (
        "logs, captures and simulations of any size, on Spark",
        (
            ("run", "pipeline.run", "all stages in order: simulate or ingest, validate, measure, report"),
            ("simulate", "pipeline.simulate", "seeded runs over a grid of parameters"),
            ("ingest", "pipeline.ingest", "logs and captures of any program"),
            ("validate", "pipeline.validate", "check what was logged, captured or simulated against the specification"),
            ("measure", "pipeline.measure", "times, hops, messages and bytes, and their percentiles"),
            ("report", "pipeline.report", "one HTML page about all that a folder holds"),
            ("matrix", "pipeline.matrix", "run the vectors against several implementations at once"),
            ("status", "pipeline.status", "list the batches of a folder, and whether they are complete"),
            ("gc", "pipeline.gc", "remove what killed processes have left behind"),
            ("warm", "pipeline.warm", "make Spark start faster on this machine, once"),
        ),
    ),
}

#: Commands, with their groups, that only maintainers of the specifications, the vectors or a pipeline need.
FOR_MAINTAINERS = {
    "vectors lint",
    "vectors generate",
    "vectors coverage",
    "model graph",
    "model mutants",
    "report edges",
    "pipeline gc",
    "pipeline warm",
}

#: Group -> what its commands for maintainers are for, where that is not the suite.
UPKEEP = {"pipeline": "for the upkeep of folders and of this machine:"}

#: Exit code -> its meaning, for commands without their own meaning of it.
EXIT_CODES = {
    0: "success",
    2: "wrong usage or unreadable input",
    5: "internal error",
    130: "interrupted",
}


def usage() -> str:
    """Returns what `peerproof --help` prints."""
    rows = [(name, about) for name, _, about in COMMANDS]
    groups = [(name, f"{about}: {', '.join(row[0] for row in commands)}") for name, (about, commands) in GROUPS.items()]
    width = max(len(name) for name, _ in (*rows, *groups))
    return "\n".join(
        (
            "usage: peerproof COMMAND [PROTOCOL] [options]        peerproof COMMAND --help",
            "",
            "Does this implementation do what the protocol says?",
            "",
            "commands:",
            *(f"  {name:{width}}  {about}" for name, about in rows),
            "",
            "groups of commands (peerproof GROUP --help):",
            *(f"  {name:{width}}  {about}" for name, about in groups),
            "",
            "clauses (B-14) and decisions (BA-07) have a letter for their protocol; peerproof explain B-14 explains one:",
            "  B scuttlebutt, S swim, W wendy, P peter, D distkv",
            "",
            "first steps:",
            "  peerproof run                                    run every vector against the reference",
            "  peerproof run swim --impl './my-adapter --flag'  run SWIM's vectors against yours",
            "  peerproof explain B-14                           show what a clause says, and what tests it",
            "",
        )
    )


def group_usage(group: str) -> str:
    """Returns what `peerproof GROUP --help` prints."""
    about, commands = GROUPS[group]
    width = max(len(name) for name, _, _ in commands)
    rows: dict[bool, list[str]] = {False: [], True: []}
    for name, _, what in commands:
        rows[f"{group} {name}" in FOR_MAINTAINERS].append(f"  {name:{width}}  {what}")
    upkeep = ["", UPKEEP.get(group, "for maintainers of the suite:"), *rows[True]] if rows[True] else []
    usage = f"usage: peerproof {group} COMMAND [options]        peerproof {group} COMMAND --help"
    return "\n".join([usage, "", about, "", *rows[False], *upkeep, ""])


def command_names() -> list[str]:
    """Returns the name of each command, with its group in front: `run`, `vectors list`."""
    return [name for name, _, _ in COMMANDS] + [
        f"{group} {name}" for group, (_, commands) in GROUPS.items() for name, _, _ in commands
    ]


def find_command(name: str) -> tuple[Any, Parser]:
    """Returns a command and its parser. Raises Refusal if there is no such command."""
    from peerproof.cli.parser import Parser, add_common, did_you_mean

    group, _, word = name.rpartition(" ")
    rows = GROUPS[group][1] if group else COMMANDS
    modules = {known: module for known, module, _ in rows}
    if word not in modules:
        moved = next((whole for whole in command_names() if whole.endswith(f" {word}")), None)
        near = None if group else did_you_mean(word, [*modules, *GROUPS])
        tip = near or (f"did you mean peerproof {moved}?" if moved else None) or did_you_mean(word, modules)
        what = "option" if word.startswith("-") else "command"
        raise Refusal(f"unknown {what} {name!r}", tip=tip or f"see peerproof{f' {group}' if group else ''} --help")
    module = modules[word]
    found: Any = import_module(f"peerproof.cli.{module}")
    command = found.KINDS[word] if hasattr(found, "KINDS") else found
    parser = Parser(
        prog=f"peerproof {name}",
        description=getattr(command, "about", command.__doc__),
        epilog=_exit_codes(getattr(command, "EXITS", {})),
    )
    command.configure(parser)
    add_common(parser)
    return command, parser


def _exit_codes(own: dict[int, str]) -> str:
    meanings = EXIT_CODES | own
    return "exit codes:\n" + "\n".join(f"  {code:<4} {meanings[code]}" for code in sorted(meanings))
