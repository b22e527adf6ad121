/**
 * What is tested, as types for editors and type checkers; there is no code here.
 *
 * Data has the plain form of docs/reference/messages.md: an integer of 64 bits is a string of digits, a text is a string, or
 * {hex: "fffe"} if its bytes are not UTF-8. Times are milliseconds since the case began. What is missing is not supported.
 *
 * @typedef {object} Implementation
 * @property {string} name
 * @property {string} [version]
 * @property {string} [language] the default is JavaScript and the version of Node
 * @property {string} protocol
 * @property {string} transport over which messages travel: "udp", "tcp" or "serf"
 * @property {string[]} capabilities in the words of docs/how-to/write-an-adapter.md; cases that need others are skipped
 * @property {string[]} [events] the kinds of events that it reports; the default is all but the optional ones
 * @property {Record<string, number>} [limits] the largest values that it takes in a configuration
 * @property {Record<string, string>} [readings] clause -> the name of the other reading that it takes (docs/reference/decisions.md)
 * @property {"set" | "oracle"} [choices] "oracle" if it calls `choose` for every random choice
 * @property {(text: string) => any} [parse] an exact parser of JSON, if payloads need one
 * @property {boolean} [exact] whether it is used to load the bundle too
 * @property {(bytes: Buffer) => {value: any} | {rejected: Refusal}} [decode]
 * @property {(value: any) => {bytes: Uint8Array} | {rejected: Refusal}} [encode]
 * @property {(about: About, choose: Choose) => [Node, Reaction]} [open] makes a node without any network
 * @property {string[]} [sockets] the transports of `serve`
 * @property {(about: {via: string[], bind: string, config: Record<string, any>}) => Promise<[Served, Record<string, string>]>} [serve]
 *   starts a node on a socket and a clock of its own; returns it, and its address by transport
 *
 * @typedef {object} About a node that is to be opened
 * @property {string} id of the case
 * @property {string} name of the node, for logs
 * @property {any} addr
 * @property {number} now
 * @property {Record<string, any>} config the members that differ from the defaults
 * @property {string} seed for random choices of its own
 * @property {any} [state] in which it starts, in the form of the query `state`
 * @property {{timer: {type: string}, due_ms: number}[]} [timers] that run in this state, and no others
 *
 * @typedef {(site: string, kind: "one" | "permutation" | "sample", options: any[], some?: number) => any[]} Choose
 *   returns the chosen options in the order to use: one, all, or `some`
 *
 * @typedef {object} Node
 * @property {(now: number, from: any, bytes: Buffer) => Reaction} receive
 * @property {(now: number) => Reaction} advance runs all timers that are due, each as at the time when it was due
 * @property {(now: number, name: string, args: any) => Reaction} [call] a call of the application
 * @property {(name: string, args: any) => any} [query]
 * @property {() => void} [crash]
 * @property {(now: number, config: Record<string, any>) => Reaction} [restart] with these changes to its configuration
 * @property {(now: number, to: any, bytes: Buffer, took: number | null) => Reaction} [sent] a message arrived after so many
 *   microseconds, or did not
 * @property {(now: number, event: {conn: string, event: string, bytes?: Buffer}) => Reaction} [stream] of a connection that a peer
 *   has opened: "open", "data", "eof" or "reset"
 *
 * @typedef {Pick<Node, "advance" | "call" | "query"> & {close: () => void}} Served
 *
 * @typedef {object} Reaction what a node does about an event
 * @property {Effect[]} [effects] in their order
 * @property {number | null} [nextTimer] when its next timer is due; null if none runs
 * @property {Refusal} [refused] why a call was refused
 *
 * @typedef {{send: {to: any, bytes: Uint8Array}} | {event: {name: string}} | {stream: {conn: string, event: string, bytes?: Uint8Array}}} Effect
 *
 * @typedef {object} Refusal
 * @property {string} class one of the suite's words, such as "truncated"
 * @property {string} [message]
 */

export {};
