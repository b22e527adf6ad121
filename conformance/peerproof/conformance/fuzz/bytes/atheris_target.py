"""
The program that atheris drives: `python -m peerproof.conformance.fuzz.bytes.atheris_target`.

Its arguments are MODULE:CODEC ONE_FORM FLAGS… FOLDERS…

It is a process of its own, because libFuzzer ends the one that it runs in, and because only code that is imported under its
eyes is seen. Flags and folders are libFuzzer's; it writes the input that shows a flaw to where its flags say.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

#: How often it is looked whether somebody still waits for what is found.
_EVERY = 1_000


def main() -> None:
    """Does not return."""
    atheris = import_module("atheris")  # it is not everywhere, and has no annotations
    target, one_form, *flags = sys.argv[1:]
    module, _, name = target.partition(":")
    with atheris.instrument_imports(include=["peerproof.spec", module]):
        codec = getattr(import_module(module), name)
        from peerproof.conformance.fuzz.bytes.flaws import Flawed, flaw_of
    parent, runs = os.getppid(), 0

    def judge(data: bytes) -> None:
        nonlocal runs
        runs += 1
        if runs % _EVERY == 0 and os.getppid() != parent:
            os._exit(0)
        if flaw := flaw_of(codec, data, one_form=one_form == "1"):
            raise Flawed(flaw.detail)

    atheris.Setup([sys.argv[0], *flags], judge)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
