//! The adapter: speaks adapter protocol 1 on standard input and output for nodes of this crate.

use std::collections::BTreeMap;
use std::io;
use std::mem::take;
use std::net::SocketAddr;

use peerproof_vectors::{
    Choose, CodecError, Effect, Implementation, Listening, Node, Offer, Opening, Problem, Reaction, Rejected,
    ServedNode, serve,
};
use scuttlebutt::codec;
use scuttlebutt::node::{self, Refusal};
use scuttlebutt::plain;
use scuttlebutt::text::Text;
use serde_json::Value;
use shared::chance::{Chance, Generator, Kind};
use shared::plain::{Fault, member, object};
use shared::served::Served;
use shared::udp::{self, Member, Outgoing};

fn main() -> io::Result<()> {
    serve("scuttlebutt", "udp", Scuttlebutt)
}

struct Scuttlebutt;

const CAPABILITIES: [&str; 10] = [
    "codec",
    "exchange",
    "api.update_local",
    "observe.peers",
    "observe.view",
    "observe.status",
    "observe.state",
    "events",
    "restart",
    "state.load",
];

const EVENTS: [&str; 5] = ["join", "update", "heartbeat", "up", "down"];

impl Implementation for Scuttlebutt {
    fn offer(&self) -> Offer {
        Offer {
            name: "scuttlebutt-rust".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            events: Some(EVENTS.map(String::from).to_vec()),
            oracle: true,
            sockets: vec!["udp".into()],
            ..Offer::of(CAPABILITIES)
        }
    }

    fn decode(&mut self, datagram: &[u8]) -> Result<Value, CodecError> {
        Ok(codec::decode(datagram).map(|message| plain::message_json(&message)).map_err(rejected)?)
    }

    fn encode(&mut self, message: &Value) -> Result<Vec<u8>, CodecError> {
        let message = plain::read_message(message).map_err(Problem::bad_request)?;
        Ok(codec::encode(&message).map_err(rejected)?)
    }

    fn open(&mut self, opening: Opening, choose: Choose) -> Result<(Box<dyn Node>, Reaction), Problem> {
        let node = open(&opening).map_err(Problem::bad_request)?;
        let plug = Plug { node, chances: Chances(choose) };
        let reaction = plug.reaction(Vec::new());
        Ok((Box::new(plug), reaction))
    }

    fn serve(&mut self, listening: Listening) -> Result<ServedNode, Problem> {
        if listening.via != ["udp"] {
            return Err(Problem::unsupported(format!("scuttlebutt comes over udp, not over {:?}", listening.via)));
        }
        let config = plain::read_config(&listening.config).map_err(Problem::bad_request)?;
        let refused = |what: &dyn std::fmt::Display| Problem::bad_request(format!("bind {}: {what}", listening.bind));
        let bind: SocketAddr = listening.bind.parse().map_err(|error| refused(&error))?;
        let (socket, addr) = udp::bind(Some(&bind.to_string())).map_err(|error| refused(&error))?;
        let node = node::Node::start(Text::from(addr.as_str()), config, 0);
        let running = Running { node, chances: Generator::from_entropy(), events: Vec::new() };
        let served = Served::start(socket, running).map_err(|error| refused(&error))?;
        Ok((Box::new(OnSocket(served)), BTreeMap::from([("udp".into(), addr)])))
    }
}

fn open(opening: &Opening) -> Result<node::Node, Fault> {
    let addr = plain::read_text(&opening.addr)?;
    let config = plain::read_config(&opening.config)?;
    let Some(state) = &opening.state else {
        return Ok(node::Node::start(addr, config, millis(opening.now)));
    };
    let state = plain::read_state(&addr, state)?;
    let rounds = plain::read_timers(opening.timers.as_ref().unwrap_or(&Value::Array(Vec::new())))?;
    Ok(node::Node::load(addr, config, state, rounds))
}

fn millis(now: i64) -> u64 {
    u64::try_from(now).expect("time begins at 0")
}

fn rejected(rejected: shared::rejected::Rejected) -> Rejected {
    Rejected::new(rejected.class.name(), rejected.message)
}

/// Has the runner choose.
struct Chances(Choose);

impl Chance<Text> for Chances {
    fn pick(&mut self, site: &'static str, kind: Kind, options: &[Text]) -> Vec<usize> {
        let options: Vec<Value> = options.iter().map(plain::text_json).collect();
        match kind {
            Kind::One => vec![self.0.one(site, &options)],
            Kind::Permutation => self.0.permutation(site, &options),
            Kind::Sample(some) => self.0.sample(site, &options, some),
        }
    }
}

/// A node, as the runner sees it.
struct Plug {
    node: node::Node,
    chances: Chances,
}

impl Plug {
    fn reaction(&self, effects: Vec<node::Effect>) -> Reaction {
        let effect = |effect| match effect {
            node::Effect::Send { to, datagram } => Effect::Send { to: plain::text_json(&to), datagram },
            node::Effect::Event(event) => Effect::Event(plain::event_json(&event)),
        };
        let next_timer = self.node.next_timer().map(|due| due as i64);
        Reaction { effects: effects.into_iter().map(effect).collect(), next_timer, refused: None }
    }
}

impl Node for Plug {
    fn receive(&mut self, now: i64, from: &Value, datagram: &[u8]) -> Result<Reaction, Problem> {
        let from = plain::read_text(from).map_err(Problem::bad_request)?;
        let effects = self.node.receive(millis(now), &from, datagram);
        Ok(self.reaction(effects))
    }

    fn advance(&mut self, now: i64) -> Result<Reaction, Problem> {
        let effects = self.node.advance(millis(now), &mut self.chances);
        Ok(self.reaction(effects))
    }

    fn call(&mut self, _now: i64, name: &str, args: &Value) -> Result<Reaction, Problem> {
        let refused = call(&mut self.node, name, args)?;
        Ok(Reaction { refused, ..self.reaction(Vec::new()) })
    }

    fn query(&mut self, name: &str, _args: &Value) -> Result<Value, Problem> {
        query(&self.node, name)
    }

    fn crash(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    fn restart(&mut self, now: i64, _config: &Value) -> Result<Reaction, Problem> {
        self.node.restart(millis(now));
        Ok(self.reaction(Vec::new()))
    }
}

/// Carries out a call, or says why it is refused.
fn call(node: &mut node::Node, name: &str, args: &Value) -> Result<Option<Rejected>, Problem> {
    if name != "update_local" {
        return Err(Problem::unsupported(format!("there is no call {name}")));
    }
    let (key, value) = pair(args).map_err(Problem::bad_request)?;
    Ok(node.update_local(&key, &value).err().map(|refusal| match refusal {
        Refusal::TooLarge => Rejected::new("too_large", "the pair could never be sent"),
        Refusal::Overflow => Rejected::new("overflow", "there is no version above the last"),
    }))
}

fn query(node: &node::Node, name: &str) -> Result<Value, Problem> {
    match name {
        "peers" => Ok(plain::peers_json(node)),
        "view" => Ok(plain::view_json(node)),
        "status" => Ok(plain::status_json(node)),
        "state" => Ok(plain::state_json(node)),
        _ => Err(Problem::unsupported(format!("there is no query {name}"))),
    }
}

fn pair(args: &Value) -> Result<(Text, Text), Fault> {
    let args = object(args)?;
    Ok((plain::read_text(member(args, "key")?)?, plain::read_text(member(args, "value")?)?))
}

/// A node on a socket and the machine's clock, with the events that the runner has not heard of.
struct Running {
    node: node::Node,
    chances: Generator,
    events: Vec<Effect>,
}

impl Running {
    /// Keeps the events, and returns the datagrams. An address that is not UTF-8 is that of no socket.
    fn outgoing(&mut self, effects: Vec<node::Effect>) -> Vec<Outgoing> {
        let mut outgoing = Vec::new();
        for effect in effects {
            match effect {
                node::Effect::Event(event) => self.events.push(Effect::Event(plain::event_json(&event))),
                node::Effect::Send { to, datagram } => {
                    outgoing.extend(String::from_utf8(to.as_bytes().to_vec()).map(|to| (to, datagram)));
                }
            }
        }
        outgoing
    }
}

impl Member for Running {
    fn receive(&mut self, now: u64, from: &str, datagram: &[u8]) -> Vec<Outgoing> {
        let effects = self.node.receive(now, &Text::from(from), datagram);
        self.outgoing(effects)
    }

    fn advance(&mut self, now: u64) -> Vec<Outgoing> {
        let effects = self.node.advance(now, &mut self.chances);
        self.outgoing(effects)
    }

    fn next_timer(&self) -> Option<u64> {
        self.node.next_timer()
    }
}

/// Such a node, as the runner sees it: its messages and its time are its own.
struct OnSocket(Served<Running>);

impl OnSocket {
    /// Returns the events since the last time.
    fn reaction(&self, refused: Option<Rejected>) -> Reaction {
        let effects = self.0.with(|running, _| take(&mut running.events));
        Reaction { effects, next_timer: None, refused }
    }
}

impl Node for OnSocket {
    fn receive(&mut self, _now: i64, _from: &Value, _datagram: &[u8]) -> Result<Reaction, Problem> {
        Err(Problem::unsupported("the node listens on a socket"))
    }

    fn advance(&mut self, _now: i64) -> Result<Reaction, Problem> {
        Ok(self.reaction(None))
    }

    fn call(&mut self, _now: i64, name: &str, args: &Value) -> Result<Reaction, Problem> {
        let refused = self.0.with(|running, _| call(&mut running.node, name, args))?;
        Ok(self.reaction(refused))
    }

    fn query(&mut self, name: &str, _args: &Value) -> Result<Value, Problem> {
        self.0.with(|running, _| query(&running.node, name))
    }
}
