"""
DistKV's models in diagrams: chains as on the page of the specification, and of a node only the changes.

Values come as the models have them, from Python or from TLC; see `bounded`. `/2` is the path 2, `/` the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

#: Members of an info in a model, in their order, after the sender's tick.
_OF_INFO = ("prev", "tock", "known", "ticks", "missing", "reason")


def chain_text(chain: Any) -> str:
    """
    Returns a chain in the notation of the specification.

    >>> chain_text((((3, 1), (2, 1)), True))
    '[n3@1 n2@1 …]'
    """
    elements, cut = chain
    return f"[{' '.join([*(f'n{node}@{tick}' for node, tick in elements), *('…' for _ in range(cut))])}]"


def pairs_text(pairs: Iterable[Any]) -> str:
    """Ticks of nodes."""
    return " ".join(f"n{node}@{tick}" for node, tick in sorted(pairs)) or "nothing"


def nodes_text(nodes: Iterable[int]) -> str:
    """Nodes by name."""
    return " ".join(f"n{node}" for node in sorted(nodes))


def entry_text(row: Any) -> str:
    """Returns an entry with its path."""
    path, chain, value, tock = row
    return f"/{path or ''} = {value or 'Null'} {chain_text(chain)} tock {tock}"


def content_text(message: Any) -> str:
    """Returns the text of a message under way, `<<from, to, what, ...>>`."""
    match message:
        case (_, _, "update", path, chain, value, tock):
            return f"update: {entry_text((path, chain, value, tock))}"
        case (_, _, "ping", chain, tock):
            return f"ping: {chain_text(chain)} tock {tock}"
        case (sender, _, "info", tick, *members):
            has = dict(zip(_OF_INFO, members, strict=True))
            said = [f"{name} {pairs_text(has[name])}" for name in ("known", "ticks", "missing") if has[name]]
            said += [f"{name} {chain_text(has[name][0])}" for name in ("reason", "prev") if has[name]]
            return f"info of n{sender}@{tick}: {', '.join(said)}, tock {has['tock']}"
        case (_, _, "loaded", entries, superseded, ticks, tock):
            said = [*map(entry_text, sorted(entries)), *([f"superseded {pairs_text(superseded)}"] if superseded else [])]
            return f"loaded: {', '.join([*said, f'ticks {pairs_text(ticks)}', f'tock {tock}'])}"
        case (_, _, what):
            return str(what)
    raise ValueError(f"no message of the model: {message!r}")


def change_texts(name: str, was: Any, now: Any) -> Iterator[str]:
    """Yields the changes of one of a node's variables."""
    match name:
        case "ticks" | "heard":
            yield f"{name} {pairs_text(now - was)}"
        case "entries":
            yield from map(entry_text, sorted(now - was))
            yield from (f"/{path or ''} is gone" for path in sorted({row[0] for row in was} - {row[0] for row in now}))
        case "superseded":
            yield from (f"superseded {pairs_text(now - was)}" for _ in range(bool(now - was)))
            yield from (f"no longer superseded {pairs_text(was - now)}" for _ in range(bool(was - now)))
        case "last":
            yield f"last {chain_text(now[0])} tock {now[1]}" if now else "no last"
        case "wanted":
            yield f"wanted {pairs_text(now)}"
        case "tried":
            yield f"tried {nodes_text(now) or 'no node'}"
        case "source":
            yield f"downloads from n{now}" if now else "no download under way"
        case "newcomer":
            yield f"newcomer {chain_text(now[0])}" if now else "no newcomer"
        case "recovery":
            yield _recovery_text(was, now)
        case "timers":
            yield f"timers {' '.join(sorted(now)) or 'none'}"
        case "up":
            yield "up" if now else "down"
        case "phase":
            yield now
        case _:
            yield f"{name} {now}"


def _recovery_text(was: Any, now: Any) -> str:
    if not now:
        return "the recovery is over"
    mine, side, lost, pinged, covered = now
    if was:
        return f"covered {pairs_text(covered)}"
    of = f"the ping {chain_text(pinged[0])}" if pinged else "a reason"
    return f"recovers because of {of}: mine {chain_text(mine)}, side {nodes_text(side)}, {'lost' if lost else 'won'}"
