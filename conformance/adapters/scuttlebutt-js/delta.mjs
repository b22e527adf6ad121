/** Deltas: the pairs that the sender of a digest lacks, as many as fit into a datagram [B-13, B-26]. */

import { TYPE_SIZE, entrySize } from "./codec.mjs";
import { byBytes } from "./text.mjs";

/**
 * The entries of the delta that answers a digest. Only peers that it lists are answered for [BA-08], one that it lists twice is
 * answered for twice [BA-13].
 *
 * At the first entry that does not fit the delta ends, for all peers [B-31]: to skip one would leave a hole that nobody fills.
 * But an entry that no datagram of this node could ever hold ends only its own peer; it would keep all others from being told
 * anything, for ever [BA-07].
 */
export function delta(store, received, maxPayload) {
  const entries = [];
  let size = TYPE_SIZE;
  for (const { addr, version } of mostOutdatedFirst(store, received)) {
    for (const pair of newerPairs(store.get(addr), version)) {
      const entry = { addr, ...pair };
      const more = entrySize("delta", entry);
      if (TYPE_SIZE + more > maxPayload) {
        break;
      }
      if (size + more > maxPayload) {
        return entries;
      }
      entries.push(entry);
      size += more;
    }
  }
  return entries;
}

/** The entries of a digest that are behind what is known here, furthest behind first, then by address [B-27, B-28, BA-12]. */
function mostOutdatedFirst(store, received) {
  const gap = ({ addr, version }) => store.get(addr).version - version; // BigInts do not wrap around [BA-19]
  return received
    .filter((entry) => gap(entry) > 0n)
    .sort((one, other) => descending(gap(one), gap(other)) || byBytes(one.addr, other.addr));
}

/** The pairs above a version, from the lowest up, so that a delta that was cut has no hole [B-29, B-30, BA-12]. */
function newerPairs(record, version) {
  return [...record.pairs.values()]
    .filter((pair) => pair.version > version)
    .sort((one, other) => descending(other.version, one.version) || byBytes(one.key, other.key));
}

const descending = (one, other) => (one > other ? -1 : one < other ? 1 : 0); // a difference of BigInts is no result for `sort`
