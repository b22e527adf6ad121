//! Connects my-node with the vectors of scuttlebutt: the file to fill in.
//!
//! Add a dependency on your crate to Cargo.toml, and call it here. Work in this order: the codec (`decode`, `encode`), the node
//! (`open`, `receive`, `advance`), then everything else. Claim in `CAPABILITIES` what you have written; cases that need more are
//! skipped.

use peerproof_vectors::serde_json::Value;
use peerproof_vectors::{
    Choose, CodecError, Implementation, Node, Offer, Opening, Problem, Reaction, Rejected,
};

/// What my-node can do. Add "exchange" once `open`, `receive` and `advance` are written, "api.NAME" for each name that `call`
/// knows, "observe.NAME" for each that `query` knows, "events" if `Effect::Event` is among the effects, "restart" for `crash` and
/// `restart`, "state.load" if `open` takes a state, and "sent" and "stream" for these two.
const CAPABILITIES: [&str; 1] = ["codec"];

/// The implementation.
pub struct MyImplementation;

impl Implementation for MyImplementation {
    fn offer(&self) -> Offer {
        Offer {
            name: "my-node".into(),
            version: "0.1.0".into(),
            // "true" if my-node has the runner choose (see `MyNode`) wherever the protocol says "at random".
            oracle: false,
            ..Offer::of(CAPABILITIES)
        }
    }

    /// Returns the message of a datagram in plain form, as `peerproof vectors show` prints it above its bytes; `json!` makes one. An
    /// integer of 64 bits is a text of decimal digits; `peerproof_vectors::text` translates texts whose bytes may not be UTF-8.
    ///
    /// The class of `Rejected` is truncated, trailing, bad_type, bad_length, bad_value, too_large or other. Any class passes, unless
    /// a vector fixes one.
    fn decode(&mut self, datagram: &[u8]) -> Result<Value, CodecError> {
        let why = format!(
            "decode is not written yet; there are {} bytes",
            datagram.len()
        );
        Err(Rejected::new("other", why).into())
    }

    /// Returns the datagram of a message in plain form; `Problem::unsupported` if there is no message of this type, and `Rejected` if
    /// my-node cannot send such a message. The case fails either way, since "codec" is claimed.
    fn encode(&mut self, message: &Value) -> Result<Vec<u8>, CodecError> {
        Err(
            Problem::unsupported(format!("encode of {} is not written yet", message["type"]))
                .into(),
        )
    }

    /// Makes a node, independent of all others. It has no socket, reads no clock and starts no timer. Members that are missing in
    /// `opening.config` have the protocol's defaults. If it makes its own random choices, seed the generator with `opening.seed`.
    fn open(
        &mut self,
        opening: Opening,
        choose: Choose,
    ) -> Result<(Box<dyn Node>, Reaction), Problem> {
        // Optional: a node that begins in this state, with the timers of `opening.timers` and no others. It has no effects.
        if opening.state.is_some() {
            return Err(Problem::unsupported(
                "a node in a given state is not written yet",
            ));
        }
        Ok((Box::new(MyNode { choose }), Reaction::default()))
    }

    // Optional: my-node's own threads, timers and sockets, for `peerproof run --transport`. Write "udp" into `sockets` of the offer,
    // and `serve`, which starts a node at `listening.bind`.
}

/// A node. Every event carries the time in milliseconds, and returns what the node did: its effects in order, and the time of its
/// next timer.
struct MyNode {
    /// Optional: has the runner choose. Let my-node call it where it calls its random generator, for example
    /// `choose.one("round.partner", &peers)`, which returns an index; the page "Write an adapter" names the places.
    #[allow(dead_code)]
    choose: Choose,
}

impl Node for MyNode {
    /// Handles a datagram from the address `from`. A malformed one is dropped.
    fn receive(&mut self, _now: i64, _from: &Value, _datagram: &[u8]) -> Result<Reaction, Problem> {
        Ok(Reaction::default())
    }

    /// Runs all timers that are due up to and including `now`, each at the time at which it is due.
    fn advance(&mut self, _now: i64) -> Result<Reaction, Problem> {
        Ok(Reaction::default())
    }

    /// Carries out a call of the application. If my-node refuses it, set `refused` in the reaction.
    fn call(&mut self, _now: i64, name: &str, _args: &Value) -> Result<Reaction, Problem> {
        Err(Problem::unsupported(format!(
            "the call {name} is not written yet"
        )))
    }

    /// Returns what can be seen of the node from outside, in plain form. A query changes nothing.
    fn query(&mut self, name: &str, _args: &Value) -> Result<Value, Problem> {
        Err(Problem::unsupported(format!(
            "the query {name} is not written yet"
        )))
    }

    /// Ends the node. All that it does not keep on a disk is lost.
    fn crash(&mut self) -> Result<(), Problem> {
        Err(Problem::unsupported("crash is not written yet"))
    }

    /// Starts the node again, with these changes to the configuration of `open`.
    fn restart(&mut self, _now: i64, _config: &Value) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("restart is not written yet"))
    }

    /// With connections only: a message that the node sent has arrived after `took` microseconds; None: it has not arrived.
    fn sent(
        &mut self,
        _now: i64,
        _to: &Value,
        _datagram: &[u8],
        _took: Option<i64>,
    ) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("sent is not written yet"))
    }

    /// With connections only: an event of a connection that a peer has opened. `event` has its name, `conn`; what happens, `event`: "open",
    /// "data" (perhaps a part of a message), "eof" or "reset"; and `bytes`, hexadecimal digits. Answer with `Effect::Stream`.
    fn stream(&mut self, _now: i64, _event: &Value) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("stream is not written yet"))
    }
}
