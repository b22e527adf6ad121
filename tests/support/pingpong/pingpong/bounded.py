"""The bounded model of ping-pong: each node has the next one as its peer."""

from collections.abc import Iterator, Mapping
from typing import Any

from peerproof.spec.core import Expired
from peerproof.spec.model import bounded
from pingpong import specification as spec


class Model(bounded.Model):
    """What the constants of a configuration mean."""

    spec = spec

    def __init__(self, constants: Mapping[str, Any]) -> None:
        super().__init__(constants)
        self.most = constants["MaxPoints"]
        ids = [self.address(name) for name in self.names]
        peers = zip(ids, (*ids[1:], ids[0]), strict=True)
        self.nodes = tuple((one, spec.initial(one, spec.Config((peer,))).state) for one, peer in peers)

    def offers(self, state: spec.State) -> Iterator[tuple[str, Any]]:
        """A round at any moment."""
        if state.points < self.most:
            yield "Round", Expired(bounded.NOW, spec.Round())

    def variables(self, state: spec.State) -> Mapping[str, Any]:
        """The points."""
        return {"points": state.points}

    def content_value(self, message: Any) -> tuple[Any, ...]:
        """`<<type, number>>`."""
        return spec.MESSAGE.form.names[type(message)], message.number
