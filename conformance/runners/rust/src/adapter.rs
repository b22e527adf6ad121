//! An implementation behind a program that speaks adapter protocol 1.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value};

use crate::bundle::{parse, texts};
use crate::choices::{hex, unhex};
use crate::implementation::{
    Choose, CodecError, Effect, Implementation, Node, Offer, Opening, Problem, Question, Reaction,
    Rejected,
};

/// A program that speaks adapter protocol 1 (docs/how-to/write-an-adapter).
pub struct Adapter {
    protocol: String,
    transport: String,
    offer: Offer,
    program: Rc<RefCell<Program>>,
}

impl Adapter {
    /// Starts a program; `limit` is how long a reply may take.
    pub fn start(
        protocol: &str,
        transport: &str,
        command: &[String],
        limit: Duration,
    ) -> Result<Adapter, String> {
        let mut program = Program::start(command, limit)
            .map_err(|error| format!("{}: {error}", command.join(" ")))?;
        let hello = json!({"op": "hello", "protocol": [1, 1], "runner": "rust", "vectors": "", "choices": ["oracle", "set"]});
        let hello = program
            .ask(hello, None)
            .map_err(|problem| format!("hello: {}", problem.message))?;
        let offered = &hello["protocols"][protocol];
        let limits = offered["limits"].as_object().into_iter().flatten();
        let readings = hello["readings"].as_object().into_iter().flatten();
        let offer = Offer {
            name: hello["name"].as_str().unwrap_or_default().into(),
            version: hello["version"].as_str().unwrap_or_default().into(),
            language: hello["language"].as_str().unwrap_or_default().into(),
            capabilities: texts(&offered["capabilities"]),
            events: offered.get("events").map(texts),
            limits: limits
                .filter_map(|(name, most)| Some((name.clone(), most.as_i64()?)))
                .collect(),
            oracle: offered.get("choices").unwrap_or(&hello["choices"]) == "oracle",
            readings: readings
                .filter_map(|(clause, name)| Some((clause.clone(), name.as_str()?.to_string())))
                .collect(),
            sockets: Vec::new(), // of which no case of a bundle makes use
        };
        let program = Rc::new(RefCell::new(program));
        Ok(Adapter {
            protocol: protocol.into(),
            transport: transport.into(),
            offer,
            program,
        })
    }
}

impl Implementation for Adapter {
    fn offer(&self) -> Offer {
        self.offer.clone()
    }

    fn decode(&mut self, datagram: &[u8]) -> Result<Value, CodecError> {
        let request = json!({"op": "decode", "protocol": self.protocol, "bytes": hex(datagram)});
        let mut reply = self.program.borrow_mut().ask(request, None)?;
        match rejection(&reply["rejected"]) {
            Some(rejected) => Err(rejected.into()),
            None => Ok(reply["value"].take()),
        }
    }

    fn encode(&mut self, message: &Value) -> Result<Vec<u8>, CodecError> {
        let request = json!({"op": "encode", "protocol": self.protocol, "value": message});
        let reply = self.program.borrow_mut().ask(request, None)?;
        match rejection(&reply["rejected"]) {
            Some(rejected) => Err(rejected.into()),
            None => Ok(bytes(&reply)?),
        }
    }

    fn open(
        &mut self,
        opening: Opening,
        choose: Choose,
    ) -> Result<(Box<dyn Node>, Reaction), Problem> {
        let mut request = json!({
            "op": "open", "case": opening.case, "node": opening.name, "protocol": self.protocol, "addr": opening.addr,
            "now_ms": opening.now, "config": opening.config, "seed": opening.seed,
        });
        if let Some(state) = opening.state {
            request["op"] = "load".into();
            request["state"] = state;
            request["timers"] = opening.timers.unwrap_or_else(|| json!([]));
        }
        let mut reply = self.program.borrow_mut().ask(request, Some(&choose))?;
        let (program, transport) = (Rc::clone(&self.program), self.transport.clone());
        let node = AdapterNode {
            program,
            transport,
            handle: reply["handle"].take(),
            choose,
        };
        Ok((Box::new(node), reaction(&mut reply)?))
    }
}

struct AdapterNode {
    program: Rc<RefCell<Program>>,
    transport: String,
    handle: Value,
    choose: Choose,
}

impl AdapterNode {
    fn ask(&mut self, op: &str, mut request: Value) -> Result<Value, Problem> {
        request["op"] = op.into();
        request["handle"] = self.handle.clone();
        self.program.borrow_mut().ask(request, Some(&self.choose))
    }

    fn act(&mut self, op: &str, request: Value) -> Result<Reaction, Problem> {
        reaction(&mut self.ask(op, request)?)
    }
}

impl Node for AdapterNode {
    fn receive(&mut self, now: i64, from: &Value, datagram: &[u8]) -> Result<Reaction, Problem> {
        let via = self.transport.clone();
        self.act(
            "recv",
            json!({"now_ms": now, "via": via, "from": from, "bytes": hex(datagram)}),
        )
    }

    fn advance(&mut self, now: i64) -> Result<Reaction, Problem> {
        self.act("advance", json!({"now_ms": now}))
    }

    fn call(&mut self, now: i64, name: &str, args: &Value) -> Result<Reaction, Problem> {
        self.act("call", json!({"now_ms": now, "name": name, "args": args}))
    }

    fn query(&mut self, name: &str, args: &Value) -> Result<Value, Problem> {
        let mut request = json!({"what": name});
        if !args.is_null() {
            request["args"] = args.clone();
        }
        Ok(self.ask("query", request)?["value"].take())
    }

    fn crash(&mut self) -> Result<(), Problem> {
        self.ask("crash", json!({})).map(|_| ())
    }

    fn restart(&mut self, now: i64, config: &Value) -> Result<Reaction, Problem> {
        let mut request = json!({"now_ms": now});
        if config
            .as_object()
            .is_some_and(|members| !members.is_empty())
        {
            request["config"] = config.clone();
        }
        self.act("restart", request)
    }

    fn sent(
        &mut self,
        now: i64,
        to: &Value,
        datagram: &[u8],
        took: Option<i64>,
    ) -> Result<Reaction, Problem> {
        self.act(
            "sent",
            json!({"now_ms": now, "to": to, "bytes": hex(datagram), "took_us": took}),
        )
    }

    fn stream(&mut self, now: i64, event: &Value) -> Result<Reaction, Problem> {
        let mut request = event.clone();
        request["now_ms"] = now.into();
        self.act("stream", request)
    }
}

fn reaction(reply: &mut Value) -> Result<Reaction, Problem> {
    let Value::Array(listed) = reply["effects"].take() else {
        return Err(Problem::new(
            "misshapen",
            "the reply has no list of effects",
        ));
    };
    let effect = |mut effect: Value| match &mut effect {
        sent if sent["send"].is_object() => Ok(Effect::Send {
            to: sent["send"]["to"].take(),
            datagram: bytes(&sent["send"])?,
        }),
        action if action["stream"].is_object() => Ok(Effect::Stream(action["stream"].take())),
        event if event["event"].is_object() => Ok(Effect::Event(event["event"].take())),
        other => Err(Problem::new(
            "misshapen",
            format!("the reply has an effect {other}"),
        )),
    };
    let effects = listed
        .into_iter()
        .map(effect)
        .collect::<Result<_, Problem>>()?;
    Ok(Reaction {
        effects,
        next_timer: reply["next_timer_ms"].as_i64(),
        refused: rejection(&reply["refused"]),
    })
}

fn rejection(why: &Value) -> Option<Rejected> {
    let message = why["message"].as_str().unwrap_or_default();
    why.is_object()
        .then(|| Rejected::new(why["class"].as_str().unwrap_or_default(), message))
}

fn bytes(holder: &Value) -> Result<Vec<u8>, Problem> {
    let digits = holder["bytes"].as_str().and_then(unhex);
    digits.ok_or_else(|| {
        Problem::new(
            "misshapen",
            format!("the reply has bytes {}", holder["bytes"]),
        )
    })
}

/// The process, and the lines that it prints.
struct Program {
    child: Child,
    requests: ChildStdin,
    lines: Receiver<Vec<u8>>,
    limit: Duration,
    count: u64,
}

impl Program {
    fn start(command: &[String], limit: Duration) -> io::Result<Program> {
        let program = command
            .first()
            .ok_or_else(|| io::Error::other("there is no program"))?;
        let mut starting = Command::new(program);
        starting
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = starting.spawn()?;
        let requests = child.stdin.take().expect("it is piped");
        let mut replies = BufReader::new(child.stdout.take().expect("it is piped"));
        let (found, lines) = channel();
        thread::spawn(move || loop {
            let mut line = Vec::new();
            match replies.read_until(b'\n', &mut line) {
                Ok(size) if size > 0 && found.send(line).is_ok() => {}
                _ => return,
            }
        });
        Ok(Program {
            child,
            requests,
            lines,
            limit,
            count: 0,
        })
    }

    /// Sends a request, answers the questions of the program, and returns its reply. Panics if the program has ended.
    fn ask(&mut self, mut request: Value, choose: Option<&Choose>) -> Result<Value, Problem> {
        self.count += 1;
        request["id"] = self.count.into();
        self.write(&request);
        loop {
            let line = match self.lines.recv_timeout(self.limit) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => panic!("the adapter has ended"),
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill(); // it may loop for ever
                    let limit = self.limit.as_secs_f64();
                    return Err(Problem::new(
                        "timeout",
                        format!("no answer within {limit} s"),
                    ));
                }
            };
            let mut reply = parse(&line).map_err(|error| Problem::new("garbled", error))?;
            if let (Some(choose), Some(asked)) = (choose, reply.get("choice")) {
                let picked = choose.ask(question(asked));
                self.write(
                    &json!({"choice": {"for": asked["for"], "n": asked["n"], "pick": picked}}),
                );
            } else if reply["error"].is_object() {
                let text = |name: &str| {
                    reply["error"][name]
                        .as_str()
                        .unwrap_or_default()
                        .to_string()
                };
                return Err(Problem::new(text("code"), text("message")));
            } else if reply["id"] != request["id"] {
                return Err(Problem::new(
                    "garbled",
                    format!("a reply to another request: {}", reply.take()),
                ));
            } else {
                return Ok(reply);
            }
        }
    }

    fn write(&mut self, message: &Value) {
        if let Err(error) = writeln!(self.requests, "{message}") {
            panic!("the adapter has ended: {error}");
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn question(asked: &Value) -> Question {
    let options = asked["of"].as_array().cloned().unwrap_or_default();
    let kind = asked["kind"].as_str().unwrap_or_default().to_string();
    let some = match kind.as_str() {
        "one" => 1,
        "sample" => asked["some"].as_u64().unwrap_or_default() as usize,
        _ => options.len(),
    };
    Question {
        site: asked["site"].as_str().unwrap_or_default().into(),
        kind,
        options,
        some,
    }
}
