//! A node on a real UDP socket. It prints a line of JSON whenever what it knows has changed.

use std::env;
use std::process::ExitCode;

use serde_json::json;
use shared::chance::Generator;
use shared::options::{Options, pair};
use shared::plain::Object;
use shared::udp::{self, Member, Outgoing, Typed};
use swim::data::Payload;
use swim::messages::Place;
use swim::node::{Config, Effect, Node};
use swim::plain;
use swim::uuid::Uuid;

const OPTIONS: [&str; 8] =
    ["--bind", "--uuid", "--peer", "--set", "--restart-counter", "--interval", "--ae-size", "--max-datagram"];

fn main() -> ExitCode {
    udp::start(|| {
        let options = Options::parse(&OPTIONS, env::args().skip(1))?;
        let mut chances = Generator::from_entropy();
        let config = config(&options, &mut chances)?;
        let pairs = options.all("--set").map(pair).collect::<Result<Vec<_>, _>>()?;
        let (socket, addr) = udp::bind(options.last("--bind"))?;
        let mut member = Swim { node: Node::start(plain::read_addr(&addr)?, config, 0), chances };
        member.set(Payload::of_texts(pairs))?;
        udp::run(socket, &addr, member).map_err(|error| error.to_string())
    })
}

fn config(options: &Options, chances: &mut Generator) -> Result<Config, String> {
    let uuid = match options.last("--uuid") {
        Some(text) => uuid(text)?,
        None => Uuid::from_halves(chances.next_u64(), chances.next_u64()),
    };
    let config = Config::new(uuid);
    Ok(Config {
        restart_counter: options.number("--restart-counter", config.restart_counter)?,
        seeds: options.all("--peer").map(seed).collect::<Result<_, _>>()?,
        interval: options.number("--interval", config.interval)?.max(1),
        ae_size: options.number("--ae-size", config.ae_size)?,
        max_datagram: options.number("--max-datagram", config.max_datagram)?,
        ..config
    })
}

fn uuid(text: &str) -> Result<Uuid, String> {
    Uuid::parse(text).ok_or_else(|| format!("{text} is no uuid"))
}

/// A seed, as `UUID@HOST:PORT`.
fn seed(text: &str) -> Result<(Uuid, Place), String> {
    let (name, addr) = text.split_once('@').ok_or_else(|| format!("{text} is no UUID@HOST:PORT"))?;
    Ok((uuid(name)?, plain::read_addr(addr)?))
}

struct Swim {
    node: Node,
    chances: Generator,
}

impl Swim {
    fn set(&mut self, payload: Payload) -> Result<(), String> {
        let uuid = self.node.config().uuid;
        self.node.set_payload(uuid, payload).map_err(|refusal| format!("the payload is refused: {refusal:?}"))
    }
}

fn outgoing(effects: Vec<Effect>) -> Vec<Outgoing> {
    let datagram = |effect| match effect {
        Effect::Send { to, datagram } => Some((to, datagram)),
        Effect::Event(_) => None,
    };
    effects.into_iter().filter_map(datagram).collect()
}

impl Member for Swim {
    fn receive(&mut self, _now: u64, from: &str, datagram: &[u8]) -> Vec<Outgoing> {
        outgoing(self.node.receive(from, datagram, &mut self.chances))
    }

    fn advance(&mut self, now: u64) -> Vec<Outgoing> {
        outgoing(self.node.advance(now, &mut self.chances))
    }

    fn next_timer(&self) -> Option<u64> {
        self.node.next_timer()
    }
}

impl Typed for Swim {
    fn command(&mut self, _now: u64, line: &str) -> Result<Vec<Outgoing>, String> {
        match line.split_once(' ') {
            Some(("set", text)) => self.set(Payload::of_texts([pair(text)?]))?,
            Some(("leave_node", name)) => {
                let left = self.node.leave_node(uuid(name)?, &mut self.chances);
                return left.map(outgoing).map_err(|refusal| format!("{name} is refused: {refusal:?}"));
            }
            _ => return Err("there are set KEY=VALUE, leave_node UUID, view and quit".into()),
        }
        Ok(Vec::new())
    }

    fn view(&self) -> Object {
        udp::view_of(json!({"nodes": plain::nodes_json(&self.node), "own": plain::own_json(&self.node)}))
    }
}
