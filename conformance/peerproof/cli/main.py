"""`peerproof`: runs one command of the table, and exits with its code."""

from __future__ import annotations

import gc
import sys

from peerproof.cli.commands import GROUPS, find_command, group_usage, usage
from peerproof.cli.exits import INTERRUPTED, OWN_FAULT, USAGE, Refusal

#: Thresholds of the garbage collector: vectors and model states are many objects without cycles.
COLLECTOR = (20_000, 20, 50)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command. Returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    gc.set_threshold(*COLLECTOR)
    from peerproof.conformance.suite.printable import print_printable

    with print_printable():
        return _end(arguments)


def _end(arguments: list[str]) -> int:
    """Runs a command, and prints its error if it raises one."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except SystemExit as end:  # after --help
        return int(end.code or 0)
    except Refusal as refusal:
        from peerproof.cli.console import note, print_error

        print_error(str(refusal), refusal.tip)
        if "pip install 'peerproof[" in f"{refusal} {refusal.tip}":
            from peerproof.conformance.authoring.skeletons import installed_from

            if origin := installed_from():
                note(f"note: this peerproof came from {origin}: write that instead of peerproof if pip does not find the name")
        return refusal.code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `peerproof vectors list | head`
        sys.stdout = None  # or Python would try to flush it once more
        return 0
    except Exception:  # noqa: BLE001  # no implementation can cause this, so it must not look like a verdict
        import traceback

        from peerproof.cli.console import print_error

        traceback.print_exc()
        print_error(f"internal error of peerproof (exit {OWN_FAULT}): it says nothing about the implementation under test")
        return OWN_FAULT
    return code


def _run(arguments: list[str]) -> int:
    match arguments:
        case [] | ["-h" | "--help" | "help"]:
            print(usage(), end="")
            return 0 if arguments else USAGE
        case ["-V" | "--version", *_]:
            from importlib.metadata import version

            print(f"peerproof {version('peerproof')}")
            return 0
        case ["--print-completion", shell]:
            from peerproof.cli.completion import print_completion

            return print_completion(shell)
        case [group] if group in GROUPS:
            print(group_usage(group), end="", file=sys.stderr)
            return USAGE
        case [group, "-h" | "--help" | "help", *_] if group in GROUPS:
            print(group_usage(group), end="")
            return 0
        case [group, name, *rest] if group in GROUPS:
            command, parser = find_command(f"{group} {name}")
        case [name, *rest]:
            command, parser = find_command(name)
    from peerproof.cli import console

    args = parser.parse(rest)
    console.configure(args)
    code: int = command.run(args)
    return code


if __name__ == "__main__":
    exit_code = main()
    # `python -m` exits with SIGINT's code if any `exec` was interrupted, even if that was caught; another one clears it
    exec("")
    sys.exit(exit_code)
