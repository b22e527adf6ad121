/** What a node does about one request, in the order in which it does it: written down, not done. */
export class Effects {
  #transport;

  constructor(transport) {
    this.done = [];
    this.#transport = transport;
  }

  /**
   * A message to an address, which looks as it did in the request.
   *
   * @param {string | object} to
   * @param {Uint8Array} data
   */
  send(to, data) {
    this.done.push({ send: { via: this.#transport, to, bytes: Buffer.from(data).toString("hex") } });
  }

  /**
   * Bytes on a connection that a peer has opened.
   *
   * @param {string} conn
   * @param {Uint8Array} data
   */
  reply(conn, data) {
    this.done.push({ stream: { conn, event: "data", bytes: Buffer.from(data).toString("hex") } });
  }

  /**
   * The node closes such a connection.
   *
   * @param {string} conn
   */
  close(conn) {
    this.done.push({ stream: { conn, event: "close" } });
  }

  /**
   * Something that the application is told; claim "events" then.
   *
   * @param {string} event
   * @param {object} members
   */
  tell(event, members = {}) {
    this.done.push({ event: { name: event, ...members } });
  }
}
