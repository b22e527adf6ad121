/**
 * What a node knows: a record for itself and for each peer [B-01].
 *
 * A record is `{addr, version, pairs}`, the pairs a Map from a key to `{key, value, version}` [B-02]. The version of a record is
 * the highest of its pairs', at every moment, and 0 without pairs [B-03, B-04, B-38].
 */

import { byBytes } from "./text.mjs";

export class Store {
  #records = new Map();

  constructor(self) {
    this.self = self;
    this.learn(self);
  }

  has(addr) {
    return this.#records.has(addr);
  }

  get(addr) {
    return this.#records.get(addr);
  }

  /** All addresses, the node's own included, in ascending order. */
  addresses() {
    return [...this.#records.keys()].sort(byBytes);
  }

  /** All addresses but the node's own. */
  others() {
    return this.addresses().filter((addr) => addr !== this.self);
  }

  /**
   * Stores a peer. At version 0, whatever a digest says of it: that version would claim pairs which are not there, and nobody
   * would send them any more [B-11].
   */
  learn(addr) {
    this.#records.set(addr, { addr, version: 0n, pairs: new Map() });
  }

  /** Sets a pair of the node's own, also to the value that it has already [B-06, B-07, BA-18]. */
  update(key, value) {
    const own = this.get(this.self);
    own.version += 1n;
    own.pairs.set(key, { key, value, version: own.version });
  }

  /**
   * Takes a pair of a delta over if it is newer than what is known; returns whether it was.
   *
   * Newer than the same key, not than the peer: a late delta may bring a key that is not here yet [B-36, BA-14]. The same
   * version with another value is not newer [BA-17].
   */
  merge({ addr, key, value, version }) {
    const record = this.get(addr);
    if (addr === this.self || record === undefined) {
      return false; // nobody else writes a node's own record, and peers become known by digests only [BA-15]
    }
    if (version <= (record.pairs.get(key)?.version ?? 0n)) {
      return false;
    }
    record.pairs.set(key, { key, value, version });
    if (version > record.version) {
      record.version = version; // [B-37]
    }
    return true;
  }
}
