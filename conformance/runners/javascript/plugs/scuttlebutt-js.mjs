/** The port in conformance/adapters/scuttlebutt-js, plugged into the runner. `folder` is where it lies. */

import { pathToFileURL } from "node:url";

export async function plug(folder) {
  const load = (name) => import(pathToFileURL(`${folder}/${name}.mjs`));
  const [codec, { Node, Refused }, plain] = await Promise.all(["codec", "node", "plain"].map(load));
  const { MAX_TEXT, MAX_VERSION, Malformed } = codec;
  const queries = { peers: plain.peers, view: plain.view, status: plain.status, state: plain.state };

  function effect(one) {
    const shown = plain.effectToPlain(one);
    return shown.send ? { send: { to: shown.send.to, bytes: one.send.datagram } } : shown;
  }

  class Life {
    constructor({ addr, config, now, state, timers }, choose) {
      Object.assign(this, { addr, config, choose });
      this.begin(config, now);
      if (state) plain.restore(this.node, state, timers);
    }

    begin(config, now) {
      const pick = (site, kind, options) => {
        const shown = options.map(plain.textToPlain);
        return this.choose(site, kind, shown).map((chosen) => options[shown.indexOf(chosen)]);
      };
      this.node = new Node(plain.textFromPlain(this.addr), plain.configFromPlain(config), now, pick);
    }

    did(effects, more = {}) {
      return { effects: effects.map(effect), nextTimer: this.node.roundDue, ...more };
    }

    receive(now, from, bytes) {
      try {
        return this.did(this.node.receive(now, plain.textFromPlain(from), bytes));
      } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        return this.did([{ event: { name: "malformed", class: error.reason, offset: error.offset } }]);
      }
    }

    advance(now) {
      return this.did(this.node.advance(now));
    }

    call(now, name, args) {
      try {
        this.node.update(plain.textFromPlain(args.key), plain.textFromPlain(args.value));
        return this.did([]);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return this.did([], { refused: { class: error.reason, message: error.message } });
      }
    }

    query(what) {
      return queries[what](this.node);
    }

    crash() {
      this.node = null;
    }

    restart(now, config) {
      this.begin({ ...this.config, ...config }, now);
      return this.did([]);
    }
  }

  return {
    name: "scuttlebutt-js",
    capabilities: [
      ...["codec", "exchange", "api.update_local", "events", "restart", "state.load"],
      ...Object.keys(queries).map((name) => `observe.${name}`),
    ],
    events: ["join", "update", "heartbeat", "up", "down", "malformed"],
    choices: "oracle",

    decode(bytes) {
      try {
        const { type, entries } = codec.decode(bytes);
        return { value: { type, entries: entries.map(plain.entryToPlain) } };
      } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        return { rejected: { class: error.reason, message: error.message } };
      }
    },

    encode(value) {
      const message = { type: value.type, entries: value.entries.map(plain.entryFromPlain) };
      for (const { version, ...texts } of message.entries) {
        const isTooLong = Object.values(texts).some((text) => text.length > MAX_TEXT);
        if (isTooLong) return { rejected: { class: "too_large", message: `a text has at most ${MAX_TEXT} bytes` } };
        if (version > MAX_VERSION) return { rejected: { class: "bad_value", message: "a version has 64 bits" } };
      }
      return { bytes: codec.encode(message) };
    },

    open(about, choose) {
      const life = new Life(about, choose);
      return [life, life.did([])];
    },
  };
}
