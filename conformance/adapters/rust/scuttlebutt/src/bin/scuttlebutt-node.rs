//! A node on a real UDP socket. It prints a line of JSON whenever what it knows has changed.

use std::env;
use std::process::ExitCode;

use scuttlebutt::detector::Detector;
use scuttlebutt::node::{Config, Effect, Node};
use scuttlebutt::plain;
use scuttlebutt::text::Text;
use serde_json::json;
use shared::chance::Generator;
use shared::options::{Options, pair};
use shared::plain::Object;
use shared::udp::{self, Member, Outgoing, Typed};

const OPTIONS: [&str; 9] = [
    "--bind",
    "--peer",
    "--set",
    "--interval",
    "--max-payload",
    "--detector-window",
    "--detector-bootstrap",
    "--detector-critical",
    "--detector-down",
];

fn main() -> ExitCode {
    udp::start(|| {
        let options = Options::parse(&OPTIONS, env::args().skip(1))?;
        let config = config(&options)?;
        let (socket, addr) = udp::bind(options.last("--bind"))?;
        let node = Node::start(Text::from(addr.as_str()), config, 0);
        let mut member = Scuttlebutt { node, chances: Generator::from_entropy() };
        for text in options.all("--set") {
            member.set(text)?;
        }
        udp::run(socket, &addr, member).map_err(|error| error.to_string())
    })
}

fn config(options: &Options) -> Result<Config, String> {
    let (config, detector) = (Config::default(), Detector::default());
    Ok(Config {
        seeds: options.all("--peer").map(Text::from).collect(),
        interval: options.number("--interval", config.interval)?.max(1),
        max_payload: options.number("--max-payload", config.max_payload)?.max(1),
        detector: Some(Detector {
            window: options.number("--detector-window", detector.window)?.max(1),
            bootstrap: options.number("--detector-bootstrap", detector.bootstrap)?.max(1),
            critical: options.number("--detector-critical", detector.critical)?,
            down: options.number("--detector-down", detector.down)?,
        }),
    })
}

struct Scuttlebutt {
    node: Node,
    chances: Generator,
}

impl Scuttlebutt {
    /// Sets a pair of the node's own.
    fn set(&mut self, text: &str) -> Result<(), String> {
        let (key, value) = pair(text)?;
        let refused = self.node.update_local(&Text::from(key), &Text::from(value)).err();
        refused.map_or(Ok(()), |refusal| Err(format!("{text} is refused: {refusal:?}")))
    }
}

/// The datagrams among the effects. An address that is not UTF-8 is that of no socket.
fn outgoing(effects: Vec<Effect>) -> Vec<Outgoing> {
    let datagram = |effect| match effect {
        Effect::Send { to, datagram } => String::from_utf8(to.as_bytes().to_vec()).ok().map(|to| (to, datagram)),
        Effect::Event(_) => None,
    };
    effects.into_iter().filter_map(datagram).collect()
}

impl Member for Scuttlebutt {
    fn receive(&mut self, now: u64, from: &str, datagram: &[u8]) -> Vec<Outgoing> {
        outgoing(self.node.receive(now, &Text::from(from), datagram))
    }

    fn advance(&mut self, now: u64) -> Vec<Outgoing> {
        outgoing(self.node.advance(now, &mut self.chances))
    }

    fn next_timer(&self) -> Option<u64> {
        self.node.next_timer()
    }
}

impl Typed for Scuttlebutt {
    fn command(&mut self, _now: u64, line: &str) -> Result<Vec<Outgoing>, String> {
        let text = line.strip_prefix("set ").ok_or("there are set KEY=VALUE, view and quit")?;
        self.set(text).map(|()| Vec::new())
    }

    fn view(&self) -> Object {
        udp::view_of(json!({"view": plain::view_json(&self.node), "status": plain::status_json(&self.node)}))
    }
}
