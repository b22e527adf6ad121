"""
The program that atheris drives: `python -m peerproof.conformance.fuzz.bytes.atheris_target`.

Its arguments are MODULE:CODEC ONE_FORM FLAGS… FOLDERS…

It runs in its own process, because libFuzzer exits the process that it runs in, and because atheris measures only code that is
imported under its control. Flags and folders are libFuzzer's; it writes an input that shows a flaw to the place given by the
flags.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

#: Number of runs between checks that the parent process still exists.
_EVERY = 1_000


def main() -> None:
    """Runs the fuzzer; does not return."""
    atheris = import_module("atheris")  # an optional package without annotations
    target, one_form, *flags = sys.argv[1:]
    module, _, name = target.partition(":")
    with atheris.instrument_imports(include=["peerproof.spec", module]):
        codec = getattr(import_module(module), name).careful  # shortcuts would hide what the declared codec does
        from peerproof.conformance.fuzz.bytes.flaws import Flawed, flaw_of
    parent, runs = os.getppid(), 0

    def check(data: bytes) -> None:
        nonlocal runs
        runs += 1
        if runs % _EVERY == 0 and os.getppid() != parent:
            os._exit(0)
        if flaw := flaw_of(codec, data, one_form=one_form == "1"):
            raise Flawed(flaw.detail)

    atheris.Setup([sys.argv[0], *flags], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
