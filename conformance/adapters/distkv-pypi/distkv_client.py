"""
A client of a server of the original, with the original's own client.

    .venv/bin/python distkv_client.py 127.0.0.1:27586 set '["weather","london"]' '{"rain":true}'
    .venv/bin/python distkv_client.py 127.0.0.1:27586 get '["weather","london"]'        (also: delete PATH)
    .venv/bin/python distkv_client.py 127.0.0.1:27586 dump
    .venv/bin/python distkv_client.py 127.0.0.1:27586 state                             ticks, what is known, what is missing

It prints the answer as JSON, and ends with 1 if the server refuses.
"""

# What is imported is in another environment than the checker's.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import json
import sys
from typing import Any

import trio
from distkv.client import open_client
from distkv.exceptions import ServerError
from distkv.util import PathLongener
from plain import read, shown

#: Elements of chains that are shown; -1: all.
ALL = -1


async def answer(client: Any, command: str, *words: Any) -> Any:
    """What the server says."""
    match command, words:
        case "set", (path, value):
            return await client._request("set_value", path=path, value=value, nchain=ALL)  # noqa: SLF001  # as its own commands do
        case "get" | "delete", (path,):
            return await client._request(f"{command}_value", path=path, nchain=ALL)  # noqa: SLF001
        case "state", ():
            wanted = dict.fromkeys(("nodes", "known", "missing", "remote_missing"), True)
            return await client._request("get_state", **wanted)  # noqa: SLF001
        case "dump", ():
            longer, entries = PathLongener(()), []
            async for entry in await client._request("get_tree", iter=True, path=(), nchain=ALL):  # noqa: SLF001
                longer(entry)
                entries.append(entry)
            return entries
    raise SystemExit(__doc__)


async def run(place: str, command: str, *words: str) -> int:
    """The exit code."""
    host, _, port = place.rpartition(":")
    async with open_client(host, int(port)) as client:
        try:
            found = await answer(client, command, *[read(json.loads(word)) for word in words])
        except ServerError as error:
            print(f"refused: {error}", file=sys.stderr)
            return 1
    print(json.dumps(shown(found)))
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case [place, command, *words]:
            sys.exit(trio.run(run, place, command, *words))
        case _:
            raise SystemExit(__doc__)
