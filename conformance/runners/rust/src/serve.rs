//! Adapter protocol 1 for an implementation, so that `peerproof run`, `fuzz` and `doctor` reach the same one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::rc::Rc;

use serde_json::{json, Map, Value};

use crate::bundle::parse;
use crate::choices::{hex, unhex, Choices};
use crate::implementation::{
    Choose, CodecError, Effect, Implementation, Listening, Node, Opening, Plug, Problem, Question,
    Reaction,
};
use crate::panics::catch;

const VERSION: i64 = 1;

const OPS: [&str; 15] = [
    "hello", "encode", "decode", "open", "load", "recv", "advance", "call", "sent", "stream",
    "query", "crash", "restart", "close", "batch",
];

/// Answers the requests on standard input until `bye`, or the end of the input. `transport` is that of the protocol: `udp`,
/// `tcp` or `serf`.
pub fn serve(
    protocol: &str,
    transport: &str,
    implementation: impl Implementation + 'static,
) -> io::Result<()> {
    serve_on(
        protocol,
        transport,
        implementation,
        io::stdin().lock(),
        io::stdout(),
    )
}

/// The same for the implementations of several protocols. The name and version of the adapter are those of the first.
pub fn serve_all(plugs: impl IntoIterator<Item = Plug>) -> io::Result<()> {
    let plugs = plugs.into_iter().map(Served::of);
    answer_all(plugs, io::stdin().lock(), io::stdout())
}

/// Answers the requests of a reader until `bye`, or its end.
pub fn serve_on(
    protocol: &str,
    transport: &str,
    implementation: impl Implementation + 'static,
    requests: impl BufRead + 'static,
    replies: impl Write + 'static,
) -> io::Result<()> {
    let plug = Served::new(protocol, transport, implementation);
    answer_all([plug], requests, replies)
}

/// The implementation of one protocol.
struct Served {
    protocol: String,
    transport: String,
    implementation: Box<dyn Implementation>,
}

impl Served {
    fn new(
        protocol: &str,
        transport: &str,
        implementation: impl Implementation + 'static,
    ) -> Served {
        Served {
            protocol: protocol.into(),
            transport: transport.into(),
            implementation: Box::new(implementation),
        }
    }

    fn of(plug: Plug) -> Served {
        Served {
            implementation: (plug.make)(),
            protocol: plug.protocol,
            transport: plug.transport,
        }
    }

    fn has_sockets(&self) -> bool {
        !self.implementation.offer().sockets.is_empty()
    }
}

fn answer_all(
    plugs: impl IntoIterator<Item = Served>,
    requests: impl BufRead + 'static,
    replies: impl Write + 'static,
) -> io::Result<()> {
    let lines = Lines {
        requests: Box::new(requests),
        replies: Box::new(replies),
        id: Value::Null,
        asked: 0,
    };
    let mut server = Server {
        plugs: plugs.into_iter().collect(),
        answers_choices: true, // unless hello says otherwise
        lines: Rc::new(RefCell::new(lines)),
        nodes: BTreeMap::new(),
        opened: 0,
    };
    loop {
        let line = server.lines.borrow_mut().read()?;
        let Some(line) = line else {
            return Ok(());
        };
        let request = parse(&line).unwrap_or_default();
        let reply = server.reply(&request, true);
        server.lines.borrow_mut().write(&reply)?;
        if request["op"] == "bye" {
            return Ok(());
        }
    }
}

/// The lines from and to the runner.
struct Lines {
    requests: Box<dyn BufRead>,
    replies: Box<dyn Write>,
    /// Of the request that is being answered, and the number of its questions so far.
    id: Value,
    asked: usize,
}

impl Lines {
    /// Returns the next line; None at the end.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let size = self.requests.read_until(b'\n', &mut line)?;
        Ok((size > 0).then_some(line))
    }

    fn write(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.replies, "{message}")?;
        self.replies.flush()
    }

    /// Asks the runner in the middle of a request.
    fn ask(&mut self, question: Question) -> io::Result<Vec<usize>> {
        let Question {
            site,
            kind,
            options,
            some,
        } = question;
        self.asked += 1;
        let number = options.len();
        let mut shown =
            json!({"for": self.id, "n": self.asked, "kind": kind, "site": site, "of": options});
        if kind == "sample" {
            shown["some"] = some.into();
        }
        self.write(&json!({"choice": shown}))?;
        let line = self.read()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let answer = parse(&line).unwrap_or_default();
        let picked = answer["choice"]["pick"].as_array().into_iter().flatten();
        let picked: Vec<usize> = picked
            .filter_map(|index| Some(index.as_u64()? as usize))
            .collect();
        if picked.len() != some || picked.iter().any(|&index| index >= number) {
            let what =
                format!("expected an answer with {some} indices below {number}, found {answer}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(picked)
    }
}

struct Server {
    plugs: Vec<Served>,
    /// Whether the runner answers random choices.
    answers_choices: bool,
    lines: Rc<RefCell<Lines>>,
    nodes: BTreeMap<u64, Life>,
    opened: u64,
}

struct Life {
    node: Box<dyn Node>,
    transport: String,
    has_crashed: bool,
}

type Answer = Result<Map<String, Value>, Problem>;

impl Server {
    /// Returns the reply to a request, with its id; items of a batch are answered without.
    fn reply(&mut self, request: &Value, has_id: bool) -> Value {
        let id = request.get("id").cloned().unwrap_or_default();
        {
            let mut lines = self.lines.borrow_mut();
            (lines.id, lines.asked) = (id.clone(), 0);
        }
        let answer = catch(|| self.answer(request, has_id));
        let answer = answer.unwrap_or_else(|panic| Err(Problem::new("panic", panic.message)));
        let mut reply = Map::new();
        if has_id {
            reply.insert("id".into(), id);
        }
        match answer {
            Ok(members) => {
                reply.insert("ok".into(), true.into());
                reply.extend(members);
            }
            Err(Problem { code, message }) => {
                reply.insert("error".into(), json!({"code": code, "message": message}));
            }
        }
        Value::Object(reply)
    }

    fn answer(&mut self, request: &Value, is_alone: bool) -> Answer {
        if !request.is_object() {
            return Err(Problem::bad_request("expected a line with a JSON object"));
        }
        let op = text(request, "op")?;
        match op {
            "bye" if is_alone => Ok(Map::new()),
            "hello" | "batch" | "bye" if !is_alone => Err(Problem::bad_request(format!(
                "{op} is not allowed in a batch"
            ))),
            "hello" => self.hello(request),
            "batch" => {
                let items = request["items"]
                    .as_array()
                    .ok_or_else(|| Problem::bad_request("items must be a list"))?;
                let results = items.iter().map(|item| self.reply(item, false)).collect();
                Ok(one("results", results))
            }
            "decode" => {
                let implementation = &mut self.plug(request)?.implementation;
                let message = implementation.decode(&bytes(request)?);
                answer_of("value", message)
            }
            "encode" => {
                let implementation = &mut self.plug(request)?.implementation;
                let message = &request["value"];
                if !message.is_object() {
                    return Err(Problem::bad_request("value must be an object"));
                }
                let datagram = implementation.encode(message);
                answer_of("bytes", datagram.map(|datagram| hex(&datagram)))
            }
            "open" | "load" => self.open(request, op == "load"),
            "serve" if self.plugs.iter().any(Served::has_sockets) => self.serve(request),
            "close" => {
                let handle = self.handle(request)?;
                self.nodes.remove(&handle);
                Ok(Map::new())
            }
            other if OPS.contains(&other) => self.answer_of_node(op, request),
            _ => Err(Problem::new("unknown_op", format!("there is no op {op}"))),
        }
    }

    fn hello(&mut self, request: &Value) -> Answer {
        let (low, high) = (
            request["protocol"][0].as_i64(),
            request["protocol"][1].as_i64(),
        );
        let (Some(low), Some(high)) = (low, high) else {
            return Err(Problem::bad_request(
                "protocol must be the lowest and the highest version",
            ));
        };
        if !(low..=high).contains(&VERSION) {
            return Err(Problem::new(
                "version",
                format!("this adapter speaks version {VERSION}, not {low} to {high}"),
            ));
        }
        let choices = request["choices"].as_array();
        self.answers_choices =
            choices.is_none_or(|choices| choices.iter().any(|one| one == "oracle"));
        let choices = |is_oracle| if is_oracle { "oracle" } else { "set" };
        let mut protocols = Map::new();
        let mut readings = Map::new();
        let mut sockets = BTreeSet::new();
        let mut has_oracle = false;
        for plug in &self.plugs {
            let offer = plug.implementation.offer();
            let is_oracle = offer.oracle && self.answers_choices;
            let mut offered = json!({"capabilities": offer.capabilities});
            if let Some(events) = &offer.events {
                offered["events"] = json!(events);
            }
            if !offer.limits.is_empty() {
                offered["limits"] = json!(offer.limits);
            }
            if self.plugs.len() > 1 {
                offered["choices"] = choices(is_oracle).into();
            }
            let declared = offer.readings.into_iter();
            readings.extend(declared.map(|(clause, name)| (clause, name.into())));
            protocols.insert(plug.protocol.clone(), offered);
            has_oracle |= is_oracle;
            sockets.extend(offer.sockets);
        }
        let first = self
            .plugs
            .first()
            .ok_or_else(|| Problem::new("internal", "there is no implementation"))?;
        let offer = first.implementation.offer();
        let or = |text: String, usual: String| if text.is_empty() { usual } else { text };
        let mut hello = json!({
            "protocol": VERSION,
            "name": or(offer.name, format!("{}-rust", first.protocol)),
            "version": or(offer.version, "0.0.0".into()),
            "language": or(offer.language, "Rust".into()),
            "protocols": protocols,
            "choices": choices(has_oracle),
        });
        if !readings.is_empty() {
            hello["readings"] = readings.into();
        }
        if self.plugs.iter().all(Served::has_sockets) {
            hello["sockets"] = json!(sockets); // the list is for all protocols
        }
        Ok(hello.as_object().cloned().unwrap_or_default())
    }

    fn open(&mut self, request: &Value, is_loaded: bool) -> Answer {
        let is_oracle = self.answers_choices && self.plug(request)?.implementation.offer().oracle;
        let addr = request
            .get("addr")
            .ok_or_else(|| Problem::bad_request("a node needs an address, addr"))?;
        let given = |name: &str| request[name].as_str().unwrap_or_default().to_string();
        let part = |name: &str, usual: Value| {
            is_loaded.then(|| request.get(name).cloned().unwrap_or(usual))
        };
        let opening = Opening {
            case: given("case"),
            name: given("node"),
            addr: addr.clone(),
            config: request.get("config").cloned().unwrap_or_else(|| json!({})),
            now: integer(request, "now_ms")?,
            seed: given("seed"),
            state: part("state", json!({})),
            timers: part("timers", json!([])),
        };
        let choose = self.choose(is_oracle, &opening.seed);
        let plug = self.plug(request)?;
        let (node, reaction) = plug.implementation.open(opening, choose)?;
        let transport = plug.transport.clone();
        let acted = render_reaction(&transport, reaction);
        let mut reply = self.keep(node, transport);
        reply.extend(acted);
        Ok(reply)
    }

    /// Returns the handle of a new node.
    fn keep(&mut self, node: Box<dyn Node>, transport: String) -> Map<String, Value> {
        self.opened += 1;
        self.nodes.insert(
            self.opened,
            Life {
                node,
                transport,
                has_crashed: false,
            },
        );
        one("handle", self.opened.into())
    }

    /// Starts a node on sockets.
    fn serve(&mut self, request: &Value) -> Answer {
        let given = |name: &str| request[name].as_str().unwrap_or_default().to_string();
        let via = request["via"].as_array().into_iter().flatten();
        let listening = Listening {
            case: given("case"),
            name: given("node"),
            via: via
                .map(|via| via.as_str().unwrap_or_default().into())
                .collect(),
            bind: text(request, "bind")?.into(),
            config: request.get("config").cloned().unwrap_or_else(|| json!({})),
            seed: given("seed"),
        };
        let plug = self.plug(request)?;
        let (node, addrs) = plug.implementation.serve(listening)?;
        let transport = plug.transport.clone();
        let mut reply = self.keep(node, transport);
        reply.insert("addrs".into(), json!(addrs));
        Ok(reply)
    }

    /// The runner's answers; or, if it gives none, those of a stream that depends on the seed of the node.
    fn choose(&self, is_oracle: bool, seed: &str) -> Choose {
        if !is_oracle {
            let own = RefCell::new(Choices::new(seed.into()));
            return Choose::new(move |question| own.borrow_mut().answer(question));
        }
        let lines = Rc::clone(&self.lines);
        Choose::new(move |question| {
            let answer = lines.borrow_mut().ask(question);
            answer.unwrap_or_else(|error| panic!("the runner did not answer a question: {error}"))
        })
    }

    fn answer_of_node(&mut self, op: &str, request: &Value) -> Answer {
        let handle = self.handle(request)?;
        let life = self.nodes.get_mut(&handle).expect("the handle is known");
        if life.has_crashed && op != "restart" {
            return Err(Problem::new(
                "no_handle",
                format!("the node of handle {handle} has crashed"),
            ));
        }
        let node = life.node.as_mut();
        let null = Value::Null;
        let args = request.get("args").unwrap_or(&null);
        let reaction = match op {
            "query" => return Ok(one("value", node.query(text(request, "what")?, args)?)),
            "crash" => {
                node.crash()?;
                life.has_crashed = true;
                return Ok(Map::new());
            }
            "recv" => {
                let (now, from, datagram) = (
                    integer(request, "now_ms")?,
                    member(request, "from")?,
                    bytes(request)?,
                );
                if request.get("via").is_some_and(|via| *via != life.transport) {
                    return Err(Problem::unsupported(format!(
                        "messages travel over {}",
                        life.transport
                    )));
                }
                node.receive(now, from, &datagram)?
            }
            "advance" => node.advance(integer(request, "now_ms")?)?,
            "call" => node.call(integer(request, "now_ms")?, text(request, "name")?, args)?,
            "restart" => {
                let (now, config) = (integer(request, "now_ms")?, request.get("config").cloned());
                let reaction = node.restart(now, &config.unwrap_or_else(|| json!({})))?;
                life.has_crashed = false;
                reaction
            }
            "sent" => {
                let (now, to, datagram) = (
                    integer(request, "now_ms")?,
                    member(request, "to")?,
                    bytes(request)?,
                );
                node.sent(now, to, &datagram, request["took_us"].as_i64())?
            }
            _ => {
                let now = integer(request, "now_ms")?;
                let mut event =
                    json!({"conn": member(request, "conn")?, "event": member(request, "event")?});
                if event["event"] == "data" {
                    bytes(request)?;
                    event["bytes"] = request["bytes"].clone();
                }
                node.stream(now, &event)?
            }
        };
        Ok(render_reaction(&life.transport, reaction))
    }

    /// Returns the plug of the protocol that the request names.
    fn plug(&mut self, request: &Value) -> Result<&mut Served, Problem> {
        let name = text(request, "protocol")?;
        let found = self.plugs.iter_mut().find(|plug| plug.protocol == name);
        found.ok_or_else(|| Problem::unsupported(format!("there is no {name} here")))
    }

    /// Returns the handle of a request, which is known.
    fn handle(&self, request: &Value) -> Result<u64, Problem> {
        let handle = &request["handle"];
        let known = handle
            .as_u64()
            .filter(|handle| self.nodes.contains_key(handle));
        known.ok_or_else(|| Problem::new("no_handle", format!("there is no handle {handle}")))
    }
}

fn render_reaction(transport: &str, reaction: Reaction) -> Map<String, Value> {
    let effect = |effect: Effect| match effect {
        Effect::Send { to, datagram } => {
            json!({"send": {"via": transport, "to": to, "bytes": hex(&datagram)}})
        }
        Effect::Event(event) => json!({"event": event}),
        Effect::Stream(stream) => json!({"stream": stream}),
    };
    let mut reply = one(
        "effects",
        reaction.effects.into_iter().map(effect).collect(),
    );
    reply.insert("next_timer_ms".into(), json!(reaction.next_timer));
    if let Some(refused) = reaction.refused {
        reply.insert("refused".into(), refused.plain());
    }
    reply
}

fn answer_of(name: &str, answer: Result<impl Into<Value>, CodecError>) -> Answer {
    match answer {
        Ok(value) => Ok(one(name, value.into())),
        Err(CodecError::Rejected(rejected)) => Ok(one("rejected", rejected.plain())),
        Err(CodecError::Problem(problem)) => Err(problem),
    }
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_string(), value)])
}

fn member<'a>(request: &'a Value, name: &str) -> Result<&'a Value, Problem> {
    request
        .get(name)
        .ok_or_else(|| Problem::bad_request(format!("there is no {name}")))
}

fn text<'a>(request: &'a Value, name: &str) -> Result<&'a str, Problem> {
    member(request, name)?
        .as_str()
        .ok_or_else(|| Problem::bad_request(format!("{name} must be a text")))
}

fn integer(request: &Value, name: &str) -> Result<i64, Problem> {
    member(request, name)?
        .as_i64()
        .ok_or_else(|| Problem::bad_request(format!("{name} must be an integer")))
}

fn bytes(request: &Value) -> Result<Vec<u8>, Problem> {
    unhex(text(request, "bytes")?)
        .ok_or_else(|| Problem::bad_request("bytes must be pairs of lower-case hexadecimal digits"))
}
