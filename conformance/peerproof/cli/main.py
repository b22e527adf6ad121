"""
`peerproof`: the table of commands.

Each command is a module beside this one with `configure(parser)`, which declares its options, and `run(args)`, which
returns the exit code. Only the module that is asked for is imported, so that `--help` and the first verdict come fast.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from peerproof.cli.exits import INTERRUPTED, OWN_FAULT, USAGE, Refusal
from peerproof.conformance.suite.printable import print_printable

#: Command, its module in `peerproof.cli`, and what it does.
COMMANDS = (
    ("run", "run", "judge an implementation by the vectors (without options: the reference)"),
    ("list", "list", "list vectors"),
    ("show", "show", "show a vector, as YAML or as a message graph"),
    ("draw", "draw", "draw a vector, a trace, a counterexample or a capture as a message graph"),
    ("explain", "explain", "show a clause: its text, code, vectors and properties"),
    ("replay", "replay", "run one vector once and show every line"),
    ("init", "init", "write the skeleton of an adapter in Python, Go or JavaScript, and a CI job"),
    ("report", "report", "make a page or a badge of reports of runs, merge them, compare two"),
    ("smoke", "smoke", "check an adapter before its implementation"),
    ("lint", "lint", "check the vectors themselves"),
    ("generate", "generate", "make vectors from the state graphs of the models, or check them"),
    ("coverage", "coverage", "the clause matrix: which clause is held by what"),
    ("model-check", "model_check", "check the TLA+ models with TLC: what must hold holds, what must fail fails"),
    ("graph", "graph", "compare the state graphs of TLA+ and Python"),
    ("mutants", "mutants", "how many small mistakes in the specifications the vectors notice"),
    ("prove", "prove", "prove statements about the specification with Z3"),
    ("fuzz", "fuzz", "run an implementation at random against the specification, and shrink what is found"),
    ("node", "node", "run a reference node on real sockets"),
    ("simulate", "simulate", "run a seeded cluster in virtual time"),
    ("check-trace", "check_trace", "replay what nodes have recorded against the specification, and ask TLC as well"),
    ("pipeline", "pipeline", "logs, captures and simulations of any size, on Spark"),
    ("harness", "harness", "speak the adapter protocol on stdin and stdout, for the reference"),
)

#: Vectors, states and worlds are many objects and no cycles, so Python's collector need not look for those as often as it would.
COLLECTOR = (20_000, 20, 50)

EXIT_CODES = """\
exit codes: 0 all as expected, 1 a vector failed or a list is stale, 2 usage or configuration, 3 adapter unusable,
4 nothing selected or everything skipped, 5 the suite's own fault, 130 interrupted (the report is marked partial)"""


def usage() -> str:
    """What `peerproof --help` prints."""
    width = max(len(name) for name, _, _ in COMMANDS)
    rows = "\n".join(f"  {name:{width}}  {about}" for name, _, about in COMMANDS)
    return f"""\
usage: peerproof COMMAND [options]        peerproof COMMAND --help

Does this implementation do what the protocol says?

{rows}

first steps:
  peerproof run                                    judge the reference by every vector
  peerproof run --impl './my-adapter --flag'       judge yours
  peerproof explain B-14                           what a clause says, and what holds it

{EXIT_CODES}
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs one command. Returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0 if arguments else USAGE
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"peerproof {version('peerproof')}")
        return 0
    gc.set_threshold(*COLLECTOR)
    module = {name: module for name, module, _ in COMMANDS}.get(arguments[0])
    if module is None:
        print(f"peerproof: no command {arguments[0]!r}{_suggestion(arguments[0])}; see peerproof --help", file=sys.stderr)
        return USAGE
    with print_printable():
        return _run(arguments[0], module, arguments[1:])


def _run(name: str, module: str, arguments: list[str]) -> int:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    command = import_module(f"peerproof.cli.{module}")
    parser = ArgumentParser(
        prog=f"peerproof {name}", description=command.__doc__, epilog=EXIT_CODES, formatter_class=RawDescriptionHelpFormatter
    )
    try:
        command.configure(parser)
        code: int = command.run(parser.parse_args(arguments))
        sys.stdout.flush()
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return refusal.code
    except KeyboardInterrupt:
        print("peerproof: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `peerproof list | head`
        sys.stdout = None  # or Python would try to flush it once more
        return 0
    except Exception:  # noqa: BLE001  # an implementation cannot cause it, so it must not look like a verdict
        import traceback

        traceback.print_exc()
        print(f"peerproof: this is the suite's own fault, not that of what it judges (exit {OWN_FAULT})", file=sys.stderr)
        return OWN_FAULT
    return code


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [known for known, _, _ in COMMANDS], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


if __name__ == "__main__":
    exit_code = main()
    # `python -m` ends with SIGINT's own code if any `exec` was interrupted, even where it was caught; the next one clears that
    exec("")
    sys.exit(exit_code)
