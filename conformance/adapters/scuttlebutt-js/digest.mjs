/** Digests: peers and their versions, no pairs [B-10, B-23]. */

import { TYPE_SIZE, entrySize } from "./codec.mjs";

/** The peers at these addresses, as far as they fit. For a request they come in shuffled order [B-22]. */
export function digest(store, addresses, maxPayload) {
  return fitting("digest_request", addresses.map((addr) => entryOf(store, addr)), maxPayload);
}

/**
 * The peers of a digest of which this node lacks something, at the version that *it* knows, in the order of the digest, as far
 * as they fit [B-14, BA-10, BA-11].
 *
 * Never the node itself: it could not take the answer over [BA-16].
 */
export function lackingHere(store, received, maxPayload) {
  const behind = received.filter(({ addr, version }) => addr !== store.self && version > store.get(addr).version);
  return fitting("digest_response", behind.map(({ addr }) => entryOf(store, addr)), maxPayload);
}

/**
 * The entries before the first one that would take the datagram over the limit [B-24]. The limit counts the type byte, and may
 * be reached exactly [BA-05]; later, smaller entries are not tried [BA-06].
 */
function fitting(type, entries, maxPayload) {
  const fit = [];
  let size = TYPE_SIZE;
  for (const entry of entries) {
    size += entrySize(type, entry);
    if (size > maxPayload) break;
    fit.push(entry);
  }
  return fit;
}

const entryOf = (store, addr) => ({ addr, version: store.get(addr).version });
