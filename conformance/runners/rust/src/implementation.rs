//! What an implementation provides to be tested: `Implementation`, and `Node` if it has nodes.
//!
//! Values have the plain form of docs/reference/messages; `serde_json::json!` makes them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{json, Value};

use crate::choices::sorted_options;

/// The implementation that is tested. It lives in one thread, so it needs neither `Send` nor locks.
pub trait Implementation {
    /// What the implementation can do. Cases that need more are skipped.
    fn offer(&self) -> Offer;

    /// Returns the message of a datagram, or `Rejected` if it is malformed.
    fn decode(&mut self, datagram: &[u8]) -> Result<Value, CodecError>;

    /// Returns the datagram of a message, or `Rejected` if there is none for it.
    fn encode(&mut self, message: &Value) -> Result<Vec<u8>, CodecError>;

    /// Makes a node without any network. Only with the capability `exchange`.
    fn open(
        &mut self,
        _opening: Opening,
        _choose: Choose,
    ) -> Result<(Box<dyn Node>, Reaction), Problem> {
        Err(Problem::unsupported("there are no nodes yet"))
    }

    /// Starts a node on a clock of its own that listens at `listening.bind`, for `peerproof run --transport`; returns it with its
    /// address for each transport. Only with `Offer::sockets`. Its `advance` and `call` return the events for the application
    /// since the last of them. It ends, and leaves its address, when it is dropped.
    fn serve(&mut self, _listening: Listening) -> Result<ServedNode, Problem> {
        Err(Problem::unsupported("nodes do not run on sockets yet"))
    }
}

pub(crate) type Make = Arc<dyn Fn() -> Box<dyn Implementation> + Send + Sync>;

/// The implementation of a protocol, for the tests (`Runner::of`) and for an adapter (`serve_all`).
pub struct Plug {
    pub(crate) protocol: String,
    pub(crate) transport: String,
    pub(crate) make: Make,
}

impl Plug {
    /// `transport` is that of the protocol: `udp`, `tcp` or `serf`. `make` makes the implementation, for each thread that uses it.
    pub fn new<I: Implementation + 'static>(
        protocol: &str,
        transport: &str,
        make: impl Fn() -> I + Send + Sync + 'static,
    ) -> Plug {
        Plug {
            protocol: protocol.into(),
            transport: transport.into(),
            make: Arc::new(move || Box::new(make())),
        }
    }

    pub fn protocol(&self) -> &str {
        &self.protocol
    }
}

/// A node under test. Times are milliseconds since the case began; addresses have their plain form.
///
/// What a node does not support it need not implement.
pub trait Node {
    /// Handles a datagram from an address. A malformed one is dropped.
    fn receive(&mut self, now: i64, from: &Value, datagram: &[u8]) -> Result<Reaction, Problem>;

    /// Runs all timers that are due up to and including `now`.
    fn advance(&mut self, now: i64) -> Result<Reaction, Problem>;

    /// Carries out a call of the application, or refuses it (`Reaction::refused`).
    fn call(&mut self, _now: i64, name: &str, _args: &Value) -> Result<Reaction, Problem> {
        Err(Problem::unsupported(format!("there is no call {name}")))
    }

    /// Returns the answer to a query; `args` is null for a query without arguments.
    fn query(&mut self, name: &str, _args: &Value) -> Result<Value, Problem> {
        Err(Problem::unsupported(format!("there is no query {name}")))
    }

    /// Ends the node: all that it does not keep on a disk is lost.
    fn crash(&mut self) -> Result<(), Problem> {
        Err(Problem::unsupported("nodes do not crash yet"))
    }

    /// Starts the node again after a crash, with these changes to the configuration of `Opening`.
    fn restart(&mut self, _now: i64, _config: &Value) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("nodes do not restart yet"))
    }

    /// Handles the outcome of a message that the node sent: it arrived after `took` microseconds, or did not arrive.
    fn sent(
        &mut self,
        _now: i64,
        _to: &Value,
        _datagram: &[u8],
        _took: Option<i64>,
    ) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("datagrams have no outcome"))
    }

    /// Handles an event of a connection that a peer has opened: `conn`, `event`, and perhaps `bytes`.
    fn stream(&mut self, _now: i64, _event: &Value) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("datagrams have no connections"))
    }
}

/// What an implementation is and can do, in the words of docs/how-to/write-an-adapter.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// For reports; if empty, that of the protocol, with `-rust`.
    pub name: String,
    pub version: String,
    /// If empty, `Rust`.
    pub language: String,
    pub capabilities: Vec<String>,
    /// The kinds of events that it reports; `None`: all but the optional ones.
    pub events: Option<Vec<String>>,
    /// The largest value of members of the configuration.
    pub limits: BTreeMap<String, i64>,
    /// Whether it asks `Choose` where the protocol says "at random".
    pub oracle: bool,
    /// Clause, and the name of the other reading that it takes (docs/reference/decisions).
    pub readings: BTreeMap<String, String>,
    /// The transports on which `serve` runs nodes, `udp` or `tcp`.
    pub sockets: Vec<String>,
}

impl Offer {
    /// An offer of these capabilities.
    pub fn of<'a>(capabilities: impl IntoIterator<Item = &'a str>) -> Offer {
        let capabilities = capabilities.into_iter().map(String::from).collect();
        Offer {
            capabilities,
            ..Offer::default()
        }
    }

    /// Whether it has a capability.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|one| one == capability)
    }
}

/// A new node. One with a `state` begins in it, with the timers of `timers` and no others.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The id of the case and the name of the node, for logs.
    pub case: String,
    pub name: String,
    pub addr: Value,
    /// Members that differ from the protocol's defaults.
    pub config: Value,
    pub now: i64,
    /// For random choices of its own.
    pub seed: String,
    pub state: Option<Value>,
    pub timers: Option<Value>,
}

/// A node on sockets, and its address for each transport.
pub type ServedNode = (Box<dyn Node>, BTreeMap<String, String>);

/// A new node on sockets. `bind` is a numeric HOST:PORT, where port 0 is any that is free.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The id of the case and the name of the node, for logs.
    pub case: String,
    pub name: String,
    pub via: Vec<String>,
    pub bind: String,
    /// Members that differ from the protocol's defaults.
    pub config: Value,
    /// For random choices of its own.
    pub seed: String,
}

/// What a node did: its effects in order, and the time of its next timer.
#[derive(Clone, Debug, Default)]
pub struct Reaction {
    pub effects: Vec<Effect>,
    pub next_timer: Option<i64>,
    /// Why a call was refused.
    pub refused: Option<Rejected>,
}

/// A part of what a node did.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A datagram to an address in its plain form.
    Send { to: Value, datagram: Vec<u8> },
    /// An event for the application: `{"name": KIND, …}`.
    Event(Value),
    /// An action on a connection: `{"conn": …, "event": "data", "bytes": …}`, or `{"conn": …, "event": "close"}`.
    Stream(Value),
}

/// Why a message is malformed, or a call is refused. `class` is one of the suite's words, such as `truncated`.
#[derive(Clone, Debug)]
pub struct Rejected {
    pub class: String,
    pub message: String,
}

impl Rejected {
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Rejected {
        Rejected {
            class: class.into(),
            message: message.into(),
        }
    }

    pub(crate) fn plain(&self) -> Value {
        json!({"class": self.class, "message": self.message})
    }
}

/// Why something cannot be carried out: an error of adapter protocol 1, with its code.
#[derive(Clone, Debug)]
pub struct Problem {
    pub code: String,
    pub message: String,
}

impl Problem {
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            code: code.into(),
            message: message.into(),
        }
    }

    /// The implementation does not have this: the case is skipped, unless the offer has it.
    pub fn unsupported(message: impl Into<String>) -> Problem {
        Problem::new("unsupported", message)
    }

    /// The request makes no sense, such as a message of an unknown type.
    pub fn bad_request(message: impl Into<String>) -> Problem {
        Problem::new("bad_request", message)
    }

    pub(crate) fn plain(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}

/// Why there is no message, or no datagram.
#[derive(Clone, Debug)]
pub enum CodecError {
    Rejected(Rejected),
    Problem(Problem),
}

impl From<Rejected> for CodecError {
    fn from(rejected: Rejected) -> CodecError {
        CodecError::Rejected(rejected)
    }
}

impl From<Problem> for CodecError {
    fn from(problem: Problem) -> CodecError {
        CodecError::Problem(problem)
    }
}

/// A random choice, at a site that docs/reference/adapter lists.
#[derive(Clone, Debug)]
pub struct Question {
    pub site: String,
    /// `one`, `sample` or `permutation`.
    pub kind: String,
    pub options: Vec<Value>,
    pub some: usize,
}

/// Has the runner choose where the protocol says "at random".
#[derive(Clone)]
pub struct Choose(Rc<dyn Fn(Question) -> Vec<usize>>);

impl Choose {
    pub(crate) fn new(answer: impl Fn(Question) -> Vec<usize> + 'static) -> Choose {
        Choose(Rc::new(answer))
    }

    /// Returns the index of one of the options.
    pub fn one(&self, site: &str, options: &[Value]) -> usize {
        self.sample(site, options, 1)[0]
    }

    /// Returns the indices of all options, in the order to use; of equal ones, only that of the first.
    pub fn permutation(&self, site: &str, options: &[Value]) -> Vec<usize> {
        self.sample(site, options, options.len())
    }

    /// Returns the indices of some of the options, in the order to use.
    ///
    /// It asks as adapter protocol 1 wants: options are sorted and different, and a single one is no question.
    pub fn sample(&self, site: &str, options: &[Value], some: usize) -> Vec<usize> {
        let places = sorted_options(options);
        let some = some.min(places.len());
        if places.len() < 2 || some == 0 {
            return places.into_iter().take(some).collect();
        }
        let kind = if some == places.len() {
            "permutation"
        } else if some == 1 {
            "one"
        } else {
            "sample"
        };
        let options = places.iter().map(|&place| options[place].clone()).collect();
        let question = Question {
            site: site.into(),
            kind: kind.into(),
            options,
            some,
        };
        self.ask(question)
            .into_iter()
            .map(|index| places[index])
            .collect()
    }

    pub(crate) fn ask(&self, question: Question) -> Vec<usize> {
        (self.0)(question)
    }
}
