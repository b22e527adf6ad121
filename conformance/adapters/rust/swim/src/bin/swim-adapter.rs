//! The adapter: speaks adapter protocol 1 on standard input and output for nodes of this crate.

use std::io;

use peerproof_vectors::{
    Choose, CodecError, Effect, Implementation, Node, Offer, Opening, Problem, Reaction, Rejected, serve,
};
use serde_json::Value;
use shared::chance::{Chance, Kind};
use shared::plain::{Fault, member, object};
use swim::codec;
use swim::node::{self, Refusal};
use swim::plain;
use swim::uuid::Uuid;

fn main() -> io::Result<()> {
    serve("swim", "udp", Swim)
}

struct Swim;

const CAPABILITIES: [&str; 18] = [
    "codec",
    "exchange",
    "api.add_node",
    "api.leave_node",
    "api.remove_node",
    "api.probe_node",
    "api.on_node_event",
    "api.on_cluster_event",
    "api.set_payload",
    "observe.total_size",
    "observe.active_size",
    "observe.node_info",
    "observe.nodes",
    "observe.own",
    "observe.state",
    "events",
    "restart",
    "state.load",
];

impl Implementation for Swim {
    fn offer(&self) -> Offer {
        Offer {
            name: "swim-rust".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            oracle: true,
            ..Offer::of(CAPABILITIES)
        }
    }

    fn decode(&mut self, datagram: &[u8]) -> Result<Value, CodecError> {
        Ok(codec::decode(datagram).map(|message| plain::message_json(&message)).map_err(rejected)?)
    }

    fn encode(&mut self, message: &Value) -> Result<Vec<u8>, CodecError> {
        let message = plain::read_message(message).map_err(Problem::bad_request)?;
        Ok(codec::encode(&message))
    }

    fn open(&mut self, opening: Opening, choose: Choose) -> Result<(Box<dyn Node>, Reaction), Problem> {
        let node = open(&opening).map_err(Problem::bad_request)?;
        let plug = Plug { node, config: opening.config, chances: Chances(choose) };
        let reaction = plug.reaction(Vec::new());
        Ok((Box::new(plug), reaction))
    }
}

fn open(opening: &Opening) -> Result<node::Node, Fault> {
    let place = plain::read_addr(address(&opening.addr)?)?;
    let config = plain::read_config(&opening.config)?;
    let Some(state) = &opening.state else {
        return Ok(node::Node::start(place, config, millis(opening.now)));
    };
    let timers = plain::read_timers(opening.timers.as_ref().unwrap_or(&Value::Array(Vec::new())))?;
    Ok(node::Node::load(place, config, plain::read_state(state)?, timers))
}

fn address(value: &Value) -> Result<&str, Fault> {
    value.as_str().ok_or_else(|| format!("{value} is no address"))
}

fn millis(now: i64) -> u64 {
    u64::try_from(now).expect("time begins at 0")
}

fn rejected(rejected: shared::rejected::Rejected) -> Rejected {
    Rejected::new(rejected.class.name(), rejected.message)
}

fn refused(refusal: Refusal) -> Rejected {
    match refusal {
        Refusal::OwnNode => Rejected::new("own_node", "that cannot be done with the node itself"),
        Refusal::NotOwn => Rejected::new("not_own", "that can be done with the node itself only"),
        Refusal::UnknownNode => Rejected::new("unknown_node", "there is no such node"),
        Refusal::TooLarge => Rejected::new("too_large", "the payload does not fit into a datagram"),
        Refusal::Overflow => Rejected::new("overflow", "both counters are at their end"),
    }
}

/// Has the runner choose.
struct Chances(Choose);

impl Chance<Uuid> for Chances {
    fn pick(&mut self, site: &'static str, kind: Kind, options: &[Uuid]) -> Vec<usize> {
        let options: Vec<Value> = options.iter().map(|uuid| uuid.to_string().into()).collect();
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
    /// That of its start.
    config: Value,
    chances: Chances,
}

impl Plug {
    fn reaction(&self, effects: Vec<node::Effect>) -> Reaction {
        let effect = |effect| match effect {
            node::Effect::Send { to, datagram } => Effect::Send { to: to.into(), datagram },
            node::Effect::Event(event) => Effect::Event(plain::event_json(&event)),
        };
        let next_timer = self.node.next_timer().map(|due| due as i64);
        Reaction { effects: effects.into_iter().map(effect).collect(), next_timer, refused: None }
    }

    fn carry_out(&mut self, now: u64, name: &str, args: &Value) -> Result<Result<Vec<node::Effect>, Refusal>, Problem> {
        let args = object(args).map_err(Problem::bad_request)?;
        let uuid = || plain::uuid_member(args, "uuid").map_err(Problem::bad_request);
        let place = || plain::place_member(args).map_err(Problem::bad_request);
        let argument = |name| member(args, name).map_err(Problem::bad_request);
        let change = || plain::read_change(argument("event_type")?).map_err(Problem::bad_request);
        Ok(match name {
            "add_node" => self.node.add_node(uuid()?, place()?, &mut self.chances),
            "leave_node" => self.node.leave_node(uuid()?, &mut self.chances),
            "remove_node" => self.node.remove_node(uuid()?, &mut self.chances),
            "probe_node" => self.node.probe_node(now, place()?),
            "on_node_event" => {
                self.node.on_node_event(uuid()?, change()?);
                Ok(Vec::new())
            }
            "on_cluster_event" => {
                self.node.on_cluster_event(change()?);
                Ok(Vec::new())
            }
            "set_payload" => {
                let payload = plain::read_payload(argument("data")?).map_err(Problem::bad_request)?;
                self.node.set_payload(uuid()?, payload).map(|()| Vec::new())
            }
            _ => return Err(Problem::unsupported(format!("there is no call {name}"))),
        })
    }
}

impl Node for Plug {
    fn receive(&mut self, _now: i64, from: &Value, datagram: &[u8]) -> Result<Reaction, Problem> {
        let from = address(from).map_err(Problem::bad_request)?;
        let effects = self.node.receive(from, datagram, &mut self.chances);
        Ok(self.reaction(effects))
    }

    fn advance(&mut self, now: i64) -> Result<Reaction, Problem> {
        let effects = self.node.advance(millis(now), &mut self.chances);
        Ok(self.reaction(effects))
    }

    fn call(&mut self, now: i64, name: &str, args: &Value) -> Result<Reaction, Problem> {
        let (effects, refused) = match self.carry_out(millis(now), name, args)? {
            Ok(effects) => (effects, None),
            Err(refusal) => (Vec::new(), Some(refused(refusal))),
        };
        Ok(Reaction { refused, ..self.reaction(effects) })
    }

    fn query(&mut self, name: &str, args: &Value) -> Result<Value, Problem> {
        match name {
            "total_size" => Ok(self.node.total_size().into()),
            "active_size" => Ok(self.node.active_size().into()),
            "node_info" => {
                let uuid = object(args).and_then(|args| plain::uuid_member(args, "uuid"));
                Ok(plain::node_info_json(&self.node, uuid.map_err(Problem::bad_request)?))
            }
            "nodes" => Ok(plain::nodes_json(&self.node)),
            "own" => Ok(plain::own_json(&self.node)),
            "state" => Ok(plain::state_json(&self.node)),
            _ => Err(Problem::unsupported(format!("there is no query {name}"))),
        }
    }

    fn crash(&mut self) -> Result<(), Problem> {
        Ok(())
    }

    fn restart(&mut self, now: i64, changes: &Value) -> Result<Reaction, Problem> {
        let mut config = self.config.clone();
        for (name, value) in changes.as_object().into_iter().flatten() {
            config[name] = value.clone();
        }
        let config = plain::read_config(&config).map_err(Problem::bad_request)?;
        self.node = node::Node::start(self.node.place().clone(), config, millis(now));
        Ok(self.reaction(Vec::new()))
    }
}
