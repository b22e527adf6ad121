"""
Command-line interfaces of the TLA+ tools, with readable errors.

Exit codes: 0 success, 1 a property does not hold or a module has an error, 2 wrong command line, 3 no verdict, 130 after Ctrl-C.
No Java process is left running.
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from inspect import cleandoc
from pathlib import Path
from secrets import randbelow
from typing import Any, Final

from peerproof.tla.manifest import BadManifest, Model, models, root
from peerproof.tla.output.counterexample import Counterexample, dumps, to_itf
from peerproof.tla.output.dot import BadDump, summary
from peerproof.tla.output.outcome import BadModule, Progress, Result, RunFailed, Simulated
from peerproof.tla.output.values import text
from peerproof.tla.tools.installation import ToolsUnusable, find
from peerproof.tla.tools.sany import parse
from peerproof.tla.tools.tlc import Run, Walks, run, simulate

WELL, WRONG, USAGE, UNUSABLE, INTERRUPTED = 0, 1, 2, 3, 130

#: The folder of the scripts of a checkout, as it was typed; they set it.
BIN_VARIABLE: Final = "PEERPROOF_TLA_BIN"


def tlc(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """
    Checks a model of the manifest, or any module, with TLC, and prints its progress.

      %(prog)s scuttlebutt tiny
      %(prog)s MCScuttlebutt.tla --config my.cfg

    A deadlock is not an error.
    """
    _what_to_run(parser)
    parser.add_argument("--workers", type=_positive, default=1, metavar="N", help="threads (default: 1)")
    parser.add_argument("--coverage", action="store_true", help="print how often each action was taken")

    def do(args: Namespace) -> int:
        result = run(find(), _run_of(args, coverage=args.coverage, workers=args.workers), _show)
        _clear()
        for action, count in sorted(result.actions.items()):
            print(f"{action:20} {count.generated:12,} steps, {count.distinct:,} to new states")
        if result.violated is None and result.verdict.value == "success":
            print(f"holds: {result.distinct:,} states, {result.edges:,} steps, depth {result.depth}")
            return WELL
        return _print_violation(args, result)

    return do


def sany(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """
    Parses a module with SANY; errors have file and line.

      %(prog)s Scuttlebutt.tla
    """
    parser.add_argument("module", type=Path, metavar="MODULE.tla")
    _add_library(parser)

    def do(args: Namespace) -> int:
        read = parse(find(), args.module, _library(args))
        print(f"{args.module}: no errors; modules read with it: {', '.join(read[:-1]) or 'none'}")
        return WELL

    return do


def graph(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """
    Writes the whole state graph of a model or module as GraphViz dot, with labelled edges, and counts states and edges.

      %(prog)s scuttlebutt tiny --output tiny.dot

    `peerproof model graph` compares it with the graph of the Python specification.
    """
    _what_to_run(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="output file; the name must end in .dot")

    def do(args: Namespace) -> int:
        if args.output.suffix != ".dot":
            print(f"graph: {args.output} must end in .dot", file=sys.stderr)
            return USAGE
        result = run(find(), _run_of(args, dump=args.output), _show)
        _clear()
        if result.verdict.value != "success":
            return _print_violation(args, result)
        counted = summary(args.output)
        if (counted.states, counted.edges) != (result.distinct, result.edges):
            raise RunFailed(
                f"TLC reports {result.distinct:,} states and {result.edges:,} edges, but {args.output} has {counted.states:,} "
                f"and {counted.edges:,}; check whether the disk is full"
            )
        for action, count in sorted(counted.actions.items()):
            print(f"{action:20} {count:12,} edges")
        print(f"{args.output}: {counted.states:,} states, {counted.edges:,} edges")
        return WELL

    return do


def simulation(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """
    Explores random walks of a model or module, with TLC. The seed is printed; it repeats the same walks.

      %(prog)s scuttlebutt large --walks 1000 --length 60

    A violation that is found is real; finding none proves nothing.
    """
    _what_to_run(parser)
    parser.add_argument("--walks", type=_positive, default=1000, metavar="N", help="number of walks (default: 1000)")
    parser.add_argument("--length", type=_positive, default=100, metavar="N", help="maximum steps of a walk (default: 100)")
    parser.add_argument("--seed", type=int, metavar="N", help="random seed (default: random)")

    def do(args: Namespace) -> int:
        walks = Walks(args.walks, args.length, randbelow(2**31) if args.seed is None else args.seed)
        what = _run_of(args, walks=walks)
        print(f"seed {walks.seed}", flush=True)
        done = simulate(find(), what, lambda states: _write(f"{states:,} states on walks so far"))
        _clear()
        if done.verdict.value == "success":
            print(f"no violation on {walks.number:,} walks: {done.states:,} states, seed {walks.seed}")
            return WELL
        return _print_violation(args, done)

    return do


def configuration(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """
    Prints TLC's configuration of a model, or writes one or all to a folder, for other tools.

      %(prog)s scuttlebutt
          lists the models of a protocol; without one, all
      %(prog)s scuttlebutt tiny
          prints the configuration
      %(prog)s scuttlebutt tiny --output build/cfg
          writes build/cfg/scuttlebutt/tiny.cfg
      %(prog)s --output build/cfg
          writes one file for each model of each protocol

    Each is generated from manifest.json and constants.json of its protocol, and names its module in a comment.
    """
    parser.add_argument("protocol", nargs="?", metavar="PROTOCOL", help="protocol of the models (default: all)")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="name of the model (default: all)")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write DIR/PROTOCOL/MODEL.cfg instead of printing")

    def do(args: Namespace) -> int:
        chosen = _models_for_tlc(args.protocol) if args.model is None else [_find_model(args.protocol, args.model)]
        if args.output is None:
            for model in chosen:
                print(model.cfg().rstrip() if args.model else f"{model.protocol:12} {model.name:32} {model.question}")
            return WELL
        try:
            for model in chosen:
                path: Path = args.output / model.protocol / f"{model.name}.cfg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(model.cfg(), encoding="utf-8")
        except OSError as problem:
            raise _UsageError(f"cannot write {problem.filename}: {problem.strerror}") from problem
        print(f"{args.output}: {len(chosen):,} configurations written")
        return WELL

    return do


_MODULE: Final = "python -m peerproof.tla.programs"
_EXITS: Final = (__doc__ or "").partition("\n\n")[2]
PROGRAMS: Final = {"tlc": tlc, "sany": sany, "graph": graph, "simulate": simulation, "cfg": configuration}


def main(arguments: Sequence[str]) -> int:
    """Runs the program that the first argument names. Returns the exit code; a wrong command line exits with 2."""
    parser = ArgumentParser(prog=_MODULE, description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    choices = parser.add_subparsers(dest="program", title="programs", metavar="PROGRAM", required=True)
    for name, program in PROGRAMS.items():
        about = cleandoc(program.__doc__ or "")
        first = about.partition("\n")[0]
        one = choices.add_parser(
            name, prog=_command(name), help=first, description=about, epilog=_EXITS, formatter_class=RawDescriptionHelpFormatter
        )
        one.set_defaults(do=program(one))
    if not arguments:
        parser.print_help(sys.stderr)
        return USAGE
    args = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: int = args.do(args)
        sys.stdout.flush()
    except BadModule as problem:
        code = _report(args, str(problem), WRONG)
    except (ToolsUnusable, RunFailed, BadDump) as problem:
        code = _report(args, f"NO VERDICT: {problem}", UNUSABLE)
    except (_UsageError, BadManifest) as problem:
        code = _report(args, str(problem), USAGE)
    except KeyboardInterrupt:
        code = _report(args, "interrupted", INTERRUPTED)
    except BrokenPipeError:  # `cfg wendy | head -1`
        sys.stdout = None  # or Python would try to flush it once more
        code = WELL
    return code


def _report(args: Namespace, problem: str, code: int) -> int:
    _clear()
    print(f"{args.program}: {problem}", file=sys.stderr)
    return code


def _command(name: str) -> str:
    """Returns what a user types to run a program: the script in tla/bin if one was used, else the module."""
    folder = os.environ.get(BIN_VARIABLE)
    return f"{folder}/{name}" if folder else f"{_MODULE} {name}"


class _UsageError(Exception):
    """The command line names a file or model that does not exist or cannot be read."""


def _add_library(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--library", type=Path, action="append", default=[], metavar="DIR", help="folder with more modules (repeatable)"
    )


def _what_to_run(parser: ArgumentParser) -> None:
    parser.add_argument("module", metavar="PROTOCOL|MODULE.tla", help="a protocol, followed by MODEL, or the file of a module")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a model of that protocol")
    _add_library(parser)
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TLC configuration of a module (default: MODULE.cfg next to it)"
    )
    parser.add_argument("--heap", type=_positive, default=2048, metavar="MB", help="Java heap in megabytes (default: 2048)")
    parser.add_argument("--seconds", type=float, metavar="N", help="time limit (default: none)")
    parser.add_argument("--itf", type=Path, metavar="FILE", help="write a counterexample to FILE, as ITF JSON")


def _run_of(args: Namespace, **how: Any) -> Run:
    """Returns the run of a model, or of the file of a module."""
    is_brief = False
    if args.model is not None:
        if args.module.endswith(".tla"):
            raise _UsageError(_module_with_model(args))
        if args.config is not None:
            raise _UsageError("--config is for the file of a module; a model has its own configuration")
        model = _find_model(args.module, args.model)
        module, configuration, is_brief = model.module_path, model.cfg(), model.is_brief
        _note_module(args, module)
    else:
        module = Path(args.module)
        if not module.is_file():
            is_protocol = any(model.protocol == args.module for model in models())
            hint = f"{args.module} is a protocol: name one of its models, too; {_command('cfg')} {args.module} lists them"
            raise _UsageError(
                hint if is_protocol else f"no file {module}, and no protocol of this name; {_command('cfg')} lists all"
            )
        path: Path = args.config or module.with_suffix(".cfg")
        try:
            configuration = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
            hint = f"name a file with --config; {_command('cfg')} PROTOCOL MODEL prints that of a model"
            raise _UsageError(f"cannot read the configuration {path}: {why}; {hint}") from problem
    limits = {"library": _library(args), "heap_megabytes": args.heap, "seconds": args.seconds}
    return Run(module=module, configuration=configuration, brief=is_brief, **limits, **how)


def _module_with_model(args: Namespace) -> str:
    """Says what to type instead of the file of a module and a model."""
    protocols = dict.fromkeys(model.protocol for model in models() if model.module == Path(args.module).stem)
    protocol, typed = next(iter(protocols), "PROTOCOL"), _command(args.program)
    wrong = f"{args.module} is a module, which takes --config FILE and no model"
    return f"{wrong}: {typed} {args.module} --config FILE, or {typed} {protocol} {args.model}"


def _note_module(args: Namespace, module: Path) -> None:
    """Prints which file is checked, which may not be the one in this folder."""
    here = Path(module.name)
    is_other = here.is_file() and not here.samefile(module)
    hint = f"; for {here} in this folder: {_command(args.program)} {here} --config FILE" if is_other else ""
    print(f"{args.program}: the module is {module}{hint}", file=sys.stderr)


def _models_for_tlc(protocol: str | None) -> list[Model]:
    every = models()
    if protocol is not None and all(model.protocol != protocol for model in every):
        raise _UsageError(f"no models of {protocol!r}; protocols with models: {', '.join(sorted({m.protocol for m in every}))}")
    return [model for model in every if model.by == "tlc" and protocol in (None, model.protocol)]


def _find_model(protocol: str, name: str) -> Model:
    for model in _models_for_tlc(protocol):
        if model.name == name:
            return model
    raise _UsageError(f"no model {name!r} of {protocol} for TLC; {_command('cfg')} {protocol} lists them")


def _library(args: Namespace) -> tuple[Path, ...]:
    return (*args.library, root())


def _print_violation(args: Namespace, result: Result | Simulated) -> int:
    print(f"does not hold: {result.verdict.value} {result.violated or ''}".rstrip())
    if (counterexample := result.counterexample) is None:
        return WRONG
    try:
        for number, state in enumerate(counterexample.states, 1):
            print(f"{number:3}. {state.action or 'Init'}")
            print("\n".join(f"       {name} = {text(value)}" for name, value in state.variables.items()))
    finally:  # also if the reader of the output has gone
        if args.itf:
            _write_itf(args, counterexample, result.violated)
    return WRONG


def _write_itf(args: Namespace, counterexample: Counterexample, violated: str | None) -> None:
    """Writes a counterexample, with the model that `peerproof trace draw` replays, if it is one of a model."""
    of_model = {} if args.model is None else {"protocol": args.module, "model": args.model}
    try:
        args.itf.write_text(dumps(to_itf(counterexample, {**of_model, "violated": violated})), encoding="utf-8")
    except OSError as problem:
        raise _UsageError(f"cannot write {args.itf}: {problem.strerror}") from problem


def _show(progress: Progress) -> None:
    _write(
        f"{progress.generated:,} generated, {progress.distinct:,} distinct, {progress.queue:,} on the queue, "
        f"depth {progress.depth}, {progress.per_minute // 60:,} a second"
    )


def _clear() -> None:
    _write("")


def _write(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
