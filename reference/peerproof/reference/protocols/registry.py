"""The registry of the run-time descriptions of the protocols in `peerproof.spec.protocols`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.protocols import PROTOCOLS


class _Runtimes(Mapping[str, Runtime]):
    """A mapping that loads each description on access."""

    def __getitem__(self, name: str) -> Runtime:
        runtime: Runtime = PROTOCOLS[name].runtime.load()
        return runtime

    def __iter__(self) -> Iterator[str]:
        return iter(PROTOCOLS)

    def __len__(self) -> int:
        return len(PROTOCOLS)


#: The run-time descriptions by the protocols' names.
RUNTIMES: Final[Mapping[str, Runtime]] = _Runtimes()
