"""A finding of the fuzzer, written as a vector if it is one: who should fails it, and who should passes it."""

from __future__ import annotations

import shlex
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from peerproof.cli import options
from peerproof.cli.implementation import make_reach
from peerproof.conformance.fuzz.findings import NotPromoted
from peerproof.conformance.vectors import Suite, load


def check_place(args: Namespace, layer: str) -> None:
    """Raises SystemExit if there can be no vector at `--promote`, before anything is run."""
    path: Path = args.promote
    if path.parts[-3:-1] != (args.protocol, layer) or path.suffix != ".yaml":
        example = Path("new", args.protocol, layer, "found.yaml")
        raise options.refusal(f"peerproof: --promote {path}: expected …/{args.protocol}/{layer}/NAME.yaml, such as {example}")
    if path.exists():
        raise options.refusal(f"peerproof: --promote {path} is there already; name a new file")


def promote(args: Namespace, make: Callable[[], Mapping[str, Any]]) -> None:
    """Writes the vector that is made. Without `--impl` it is the specification that does not pass it yet."""
    from peerproof.conformance.vector_text import document

    path: Path = args.promote
    try:
        text = document(args.protocol, "What the fuzzer has found.", [make()])
        with tempfile.TemporaryDirectory() as folder:
            _try(args, Path(folder), text)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except NotPromoted as why:
        print(f"peerproof: no vector is written: {why}", file=sys.stderr)
    except OSError as error:
        print(f"peerproof: --promote {path}: {error.strerror}; the vector:\n{text}", file=sys.stderr)
    else:
        root = shlex.quote(str(path.parent.parent.parent))
        if args.impl is None:
            print(f"  kept:  {path}, which the specification does not pass yet")
            print(f"         peerproof lint --vectors {root}")
            return
        print(f"  kept:  {path}, which it fails and the reference passes")
        print(f"         peerproof run --vectors {root} --impl {shlex.quote(args.impl)}")


def _try(args: Namespace, root: Path, text: str) -> None:
    """Raises NotPromoted if it is no vector that tells right from wrong."""
    from peerproof.conformance import lint

    file = root.joinpath(*args.promote.parts[-3:])
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    if args.impl is None:
        load(root)
        return
    readable, errors = lint.read(root)
    if wrong := [str(error) for error in (*errors, *lint.findings(readable))]:
        raise NotPromoted(f"lint has something against it: {'; '.join(wrong)}\n{text}")
    _judge(args, load(root), text)


def _judge(args: Namespace, suite: Suite, text: str) -> None:
    from peerproof.conformance.adapter import Unusable
    from peerproof.conformance.behaviour import objections

    reference = Namespace(**{**vars(args), "impl": None})
    try:
        for objection in objections(suite, make_reach(reference, suite.version)).values():
            raise NotPromoted(f"the reference does not pass it: {objection}\n{text}")
        if not objections(suite, make_reach(args, suite.version), ["0"]):
            raise NotPromoted(f"the implementation passes it: what it does depends on more than the vector can say\n{text}")
    except Unusable as error:
        raise NotPromoted(f"it could not be tried: {error}") from None
