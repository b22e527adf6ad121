"""The registry: what each protocol of `peerproof.spec.protocols` brings for those who run its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.protocols import PROTOCOLS


class _Runtimes(Mapping[str, Runtime]):
    """Loaded one by one, when they are asked for."""

    def __getitem__(self, name: str) -> Runtime:
        runtime: Runtime = PROTOCOLS[name].runtime.load()
        return runtime

    def __iter__(self) -> Iterator[str]:
        return iter(PROTOCOLS)

    def __len__(self) -> int:
        return len(PROTOCOLS)


#: What each protocol brings, by its name.
RUNTIMES: Final[Mapping[str, Runtime]] = _Runtimes()
