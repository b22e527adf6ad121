/** The effects of one request, in order. They are recorded, and nothing is sent for real. */
export class Effects {
  #transport;

  constructor(transport) {
    this.done = [];
    this.#transport = transport;
  }

  /**
   * Sends a message. The address has the form that addresses have in requests.
   *
   * @param {string | object} to
   * @param {Uint8Array} data
   */
  send(to, data) {
    this.done.push({ send: { via: this.#transport, to, bytes: Buffer.from(data).toString("hex") } });
  }

  /**
   * Sends bytes on a connection that a peer has opened.
   *
   * @param {string} conn
   * @param {Uint8Array} data
   */
  reply(conn, data) {
    this.done.push({ stream: { conn, event: "data", bytes: Buffer.from(data).toString("hex") } });
  }

  /**
   * Closes such a connection.
   *
   * @param {string} conn
   */
  close(conn) {
    this.done.push({ stream: { conn, event: "close" } });
  }

  /**
   * Reports an event to the application. Claim "events" if you use it.
   *
   * @param {string} event
   * @param {object} members
   */
  tell(event, members = {}) {
    this.done.push({ event: { name: event, ...members } });
  }
}
