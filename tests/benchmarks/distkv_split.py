"""
A split of DistKV in virtual time that heals: messages and bytes spent, beside the least that any protocol needs.

    python tests/benchmarks/distkv_split.py [--nodes 40] [--updates 500] [--keys 500] [--seed TEXT]

The nodes are cut in two halves before the first of them changes anything, and until all changes have been made: 500 at each of 40
are 10,000 on each side. Some of the keys are set by all. What any protocol needs is told in `peerproof.reference.distkv`: each
change once, and of each entry that somebody has missed one more message. Reached is: all have one store in the end, and nobody
misses anything.
"""

from __future__ import annotations

from argparse import ArgumentParser
from time import process_time

from peerproof.reference import campaign
from peerproof.reference.protocols import PROTOCOLS

ROUNDS = 80


def main() -> None:
    """Prints what was spent."""
    parser = ArgumentParser(description=__doc__)
    for name, default in (("nodes", 40), ("updates", 500), ("keys", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    plan = campaign.Campaign(
        PROTOCOLS["distkv"],
        {},
        args.nodes,
        ROUNDS,
        args.seed,
        updates=args.updates,
        keys=args.keys,
        partition=(6, ROUNDS // 2 + 2),
    )
    begun = process_time()
    result = campaign.run(plan)
    seconds = process_time() - begun
    assert result.figures
    found = result.figures.plain()
    print(f"{plan.nodes} nodes, {found['changes']} changes of {found['entries']} entries on two sides of a split")
    print(f"in the end: {found['stores']} different stores (target 1), {found['missing']} changes missing (target 0)")
    for what in ("messages", "bytes"):
        spent, least = sum(found[what].values()), found["least"][what]
        kinds = ", ".join(f"{name} {count}" for name, count in found[what].items())
        print(f"{what}: {spent}, {spent / least:.3f} times the least that any protocol needs, {least} ({kinds})")
    print(f"{result.steps} steps in {seconds:.1f} CPU seconds")


if __name__ == "__main__":
    main()
