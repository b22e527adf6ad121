//! The checks of cases: of the codec, of a node that receives malformed datagrams, and of scripts.

use std::cmp::Ordering;

use serde_json::{json, Map, Value};

use crate::bundle::{items, texts};
use crate::choices::Choices;
use crate::host::Host;
use crate::matching::{canonical, first_difference, json_text};
use crate::script::Script;
use crate::trial::{fail, Checked, Trial};

/// Milliseconds after which timers of any protocol have run.
const LATER: i64 = 60_000;

pub(crate) fn check(trial: &mut Trial) -> Checked<()> {
    let content = trial.content;
    match trial.case.check.as_str() {
        "decode" => check_decode(trial).map(|_| ()),
        "encode" => check_encode(trial, &content["value"]),
        "reencode" => {
            let message = check_decode(trial)?;
            check_encode(trial, &message)
        }
        "rejects" => check_rejects(trial),
        "survives" => {
            let malformed = datagrams(trial);
            Receiver::new(trial)?.deliver(&malformed)
        }
        "unchanged" => check_unchanged(trial),
        "serves" => check_serves(trial),
        "exchange" => Script::new(trial, Host::new(items(&content["nodes"]))).play(),
        "cluster" => {
            let delay = content["delay"].as_i64().unwrap_or_default();
            Script::new(trial, Host::with_network(items(&content["nodes"]), delay)).play()
        }
        other => panic!("the bundle has a check {other:?}, which this runner does not know"),
    }
}

/// Returns the decoded message, if it is the right one.
fn check_decode(trial: &mut Trial) -> Checked<Value> {
    let (expected, bytes) = (
        &trial.content["value"],
        trial.content["bytes"].as_str().unwrap_or_default(),
    );
    trial.progress().input = format!("decode {bytes}");
    let message = match trial.decode(bytes)? {
        Ok(message) => message,
        Err(rejected) => {
            return fail(
                "rejected",
                "decode",
                json!({"value": expected}),
                json!({"rejected": rejected.plain()}),
            )
        }
    };
    match first_difference(expected, &message, &None, "") {
        Some(difference) => Err(("value", difference).into()),
        None => Ok(message),
    }
}

fn check_encode(trial: &mut Trial, message: &Value) -> Checked<()> {
    let bytes = trial.content["bytes"].as_str().unwrap_or_default();
    trial.progress().input = format!("encode {}", json_text(message));
    match trial.encode(message)? {
        Ok(digits) if digits == bytes => Ok(()),
        Ok(digits) => Err(("bytes", trial.bytes_difference("bytes", bytes, &digits)?).into()),
        Err(rejected) => fail(
            "rejected",
            "encode",
            json!({"bytes": bytes}),
            json!({"rejected": rejected.plain()}),
        ),
    }
}

/// Decodes all datagrams before it looks at an answer: a crash is worse than a datagram that is accepted.
fn check_rejects(trial: &mut Trial) -> Checked<()> {
    let content = trial.content;
    let mut answers = Vec::new();
    for digits in datagrams(trial) {
        trial.progress().input = format!("decode {digits}");
        answers.push(trial.decode(&digits)?);
    }
    for (datagram, answer) in items(&content["datagrams"]).iter().zip(answers) {
        let text = |name: &str| datagram[name].as_str().unwrap_or_default();
        let name = text("name");
        trial.progress().input = format!("decode {}", text("bytes"));
        match (answer, content["class"].as_str()) {
            (Ok(message), _) => {
                let actual = json!({"bytes": datagram["bytes"], "value": message});
                return fail("accepted", name, json!({"rejected": "no message"}), actual);
            }
            (Err(rejected), Some(wanted)) if rejected.class != wanted => {
                return fail(
                    "class",
                    format!("{name}: rejected.class"),
                    wanted.into(),
                    rejected.class.into(),
                );
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_unchanged(trial: &mut Trial) -> Checked<()> {
    let content = trial.content;
    let mut receiver = Receiver::new(trial)?;
    receiver.deliver(&texts(&content["receiver"]["legal"]))?;
    receiver.host.messages.clear();
    let before = receiver.observed()?;
    for datagram in items(&content["datagrams"]) {
        receiver.deliver(&[datagram["bytes"].as_str().unwrap_or_default().to_string()])?;
        if let Some(first) = receiver.host.messages.first() {
            let path = format!(
                "{}: messages",
                datagram["name"].as_str().unwrap_or_default()
            );
            return fail(
                "changed",
                path,
                Value::Null,
                json!({"to": first.to, "bytes": first.digits}),
            );
        }
    }
    match first_difference(&before, &receiver.observed()?, &None, "") {
        Some(difference) => Err(("changed", difference).into()),
        None => Ok(()),
    }
}

fn check_serves(trial: &mut Trial) -> Checked<()> {
    let legal = texts(&trial.content["receiver"]["legal"]);
    let mut twins = Vec::new();
    for malformed in [Vec::new(), datagrams(trial)] {
        let seed = trial.choices.borrow().seed.clone();
        trial.choices.replace(Choices::new(seed)); // the same answers for both
        let mut receiver = Receiver::new(trial)?;
        receiver.deliver(&malformed)?;
        receiver.host.messages.clear();
        receiver.deliver(&legal)?;
        if let Some(timer) = receiver.host.actors[0].next_timer {
            receiver
                .host
                .advance(receiver.trial, timer.min(LATER), &[])?;
        }
        twins.push(receiver.comparable()?);
    }
    match first_difference(&twins[0], &twins[1], &None, "messages") {
        Some(difference) => Err(("unserving", difference).into()),
        None => Ok(()),
    }
}

fn datagrams(trial: &Trial) -> Vec<String> {
    let found = items(&trial.content["datagrams"]).iter();
    found
        .filter_map(|datagram| datagram["bytes"].as_str())
        .map(String::from)
        .collect()
}

/// The node that gets malformed datagrams.
struct Receiver<'t, 'a> {
    trial: &'t mut Trial<'a>,
    host: Host,
}

impl<'t, 'a> Receiver<'t, 'a> {
    fn new(trial: &'t mut Trial<'a>) -> Checked<Self> {
        let mut host = Host::new(std::slice::from_ref(&trial.content["receiver"]));
        host.open(trial)?;
        Ok(Receiver { trial, host })
    }

    fn deliver(&mut self, datagrams: &[String]) -> Checked<()> {
        let peer = &self.trial.content["receiver"]["peer"];
        for digits in datagrams {
            self.host.deliver(self.trial, 0, peer, digits)?;
        }
        Ok(())
    }

    fn observed(&mut self) -> Checked<Value> {
        let mut answers = Map::new();
        for query in texts(&self.trial.bundle.run["queries"]) {
            if self.trial.offer.has(&format!("observe.{query}")) {
                let answer = self.host.query(self.trial, 0, &query, &Value::Null)?;
                answers.insert(query, answer);
            }
        }
        answers.insert(
            "next_timer_ms".into(),
            json!(self.host.actors[0].next_timer),
        );
        Ok(Value::Object(answers))
    }

    /// Whole messages; or time, receiver and type in any order if the node makes random choices of its own.
    fn comparable(&mut self) -> Checked<Value> {
        let is_oracle = self.trial.offer.oracle;
        let mut shown = Vec::new();
        for message in self.host.messages.clone() {
            shown.push(if is_oracle {
                json!({"to": message.to, "bytes": message.digits})
            } else {
                json!({"at": message.at, "to": message.to, "type": self.trial.kind(&message.digits)?})
            });
        }
        if !is_oracle {
            shown.sort_by(in_order);
        }
        Ok(Value::Array(shown))
    }
}

fn in_order(one: &Value, other: &Value) -> Ordering {
    let key = |message: &Value| {
        (
            message["at"].as_i64(),
            canonical(&message["to"]),
            message["type"].to_string(),
        )
    };
    key(one).cmp(&key(other))
}
