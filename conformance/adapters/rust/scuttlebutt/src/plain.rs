//! The plain JSON of messages, configurations, states and events, as `docs/reference/messages/scuttlebutt.md` has it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::plain::{Fault, Object, each, each_of, integer, member, object, string, text, text_value, unsigned};

use crate::codec::{Digest, Entry, Message};
use crate::detector::{Detector, Status, Window};
use crate::node::{Config, Event, Node, State};
use crate::store::{Pair, Record, Store};
use crate::text::Text;

pub fn read_text(value: &Value) -> Result<Text, Fault> {
    text(value).map(Text::from)
}

pub fn text_json(text: &Text) -> Value {
    text_value(text.as_bytes())
}

fn text_member(object: &Object, name: &str) -> Result<Text, Fault> {
    read_text(member(object, name)?)
}

fn version_member(object: &Object) -> Result<u64, Fault> {
    unsigned(member(object, "version")?)
}

fn version_json(version: u64) -> Value {
    json!(version.to_string())
}

pub fn read_message(value: &Value) -> Result<Message, Fault> {
    let message = object(value)?;
    match string(message, "type")? {
        "digest_request" => Ok(Message::DigestRequest(each(message, "entries", read_digest)?)),
        "digest_response" => Ok(Message::DigestResponse(each(message, "entries", read_digest)?)),
        "delta" => Ok(Message::Delta(each(message, "entries", read_entry)?)),
        other => Err(format!("{other} is no type of a message")),
    }
}

fn read_digest(value: &Value) -> Result<Digest, Fault> {
    let entry = object(value)?;
    Ok(Digest { addr: text_member(entry, "addr")?, version: version_member(entry)? })
}

fn read_entry(value: &Value) -> Result<Entry, Fault> {
    let entry = object(value)?;
    Ok(Entry {
        addr: text_member(entry, "addr")?,
        key: text_member(entry, "key")?,
        value: text_member(entry, "value")?,
        version: version_member(entry)?,
    })
}

pub fn message_json(message: &Message) -> Value {
    match message {
        Message::DigestRequest(entries) => json!({"type": "digest_request", "entries": digest_json(entries)}),
        Message::DigestResponse(entries) => json!({"type": "digest_response", "entries": digest_json(entries)}),
        Message::Delta(entries) => {
            let entry = |entry: &Entry| {
                json!({
                    "addr": text_json(&entry.addr),
                    "key": text_json(&entry.key),
                    "value": text_json(&entry.value),
                    "version": version_json(entry.version),
                })
            };
            json!({"type": "delta", "entries": entries.iter().map(entry).collect::<Value>()})
        }
    }
}

fn digest_json(entries: &[Digest]) -> Value {
    let entry = |entry: &Digest| json!({"addr": text_json(&entry.addr), "version": version_json(entry.version)});
    entries.iter().map(entry).collect()
}

/// A configuration; a member that is missing has its default.
pub fn read_config(value: &Value) -> Result<Config, Fault> {
    let mut config = Config::default();
    for (name, value) in object(value)? {
        match name.as_str() {
            "seeds" => config.seeds = each_of(value, read_text)?,
            "interval" => config.interval = within(name, value, 1, u64::MAX >> 1)?,
            "max_payload" => config.max_payload = within(name, value, 1, 65507)? as usize,
            "detector" if value.is_null() => config.detector = None,
            "detector" => config.detector = Some(read_detector(value)?),
            _ => return Err(format!("there is no {name} in a configuration")),
        }
    }
    Ok(config)
}

fn read_detector(value: &Value) -> Result<Detector, Fault> {
    let mut detector = Detector::default();
    for (name, value) in object(value)? {
        match name.as_str() {
            "window" => detector.window = within(name, value, 1, u64::MAX >> 1)? as usize,
            "bootstrap" => detector.bootstrap = within(name, value, 1, u64::MAX >> 1)?,
            "critical" => detector.critical = integer(value)?,
            "down" => detector.down = integer(value)?,
            _ => return Err(format!("there is no {name} in the configuration of a detector")),
        }
    }
    Ok(detector)
}

fn within(name: &str, value: &Value, least: u64, most: u64) -> Result<u64, Fault> {
    let number = integer(value)?;
    if number < least || number > most {
        return Err(format!("{name} is {number}, not an integer from {least} to {most}"));
    }
    Ok(number)
}

/// The state that a node begins in; its timers are beside it.
pub fn read_state(own: &Text, value: &Value) -> Result<State, Fault> {
    let state = object(value)?;
    let records = each(state, "store", read_record)?.into_iter().collect();
    let liveness = match state.get("liveness") {
        Some(_) => each(state, "liveness", read_window)?.into_iter().collect(),
        None => BTreeMap::new(),
    };
    Ok(State { store: Store::with(own.clone(), records), liveness })
}

fn read_record(value: &Value) -> Result<(Text, Record), Fault> {
    let record = object(value)?;
    let pair = |value: &Value| {
        let pair = object(value)?;
        let content = Pair { value: text_member(pair, "value")?, version: version_member(pair)? };
        Ok((text_member(pair, "key")?, content))
    };
    let pairs = each(record, "pairs", pair)?.into_iter().collect();
    Ok((text_member(record, "addr")?, Record { version: version_member(record)?, pairs }))
}

fn read_window(value: &Value) -> Result<(Text, Window), Fault> {
    let window = object(value)?;
    let status = match string(window, "status")? {
        "up" => Status::Up,
        "down" => Status::Down,
        other => return Err(format!("{other} is no status")),
    };
    let digest_sent = match member(window, "digest_sent")? {
        Value::Null => None,
        sent => Some(integer(sent)?),
    };
    let intervals = each(window, "intervals", integer)?.into();
    let last = integer(member(window, "last")?)?;
    Ok((text_member(window, "addr")?, Window { status, last, intervals, digest_sent }))
}

/// When the rounds are due that timers stand for.
pub fn read_timers(value: &Value) -> Result<Vec<u64>, Fault> {
    let timer = |value: &Value| {
        let timer = object(value)?;
        match string(object(member(timer, "timer")?)?, "type")? {
            "round" => integer(member(timer, "due_ms")?),
            other => Err(format!("there is no timer {other}")),
        }
    };
    each_of(value, timer)
}

/// The answer to the query `peers`.
pub fn peers_json(node: &Node) -> Value {
    node.state().store.records().map(|(addr, _)| text_json(addr)).collect()
}

/// The answer to the query `view`.
pub fn view_json(node: &Node) -> Value {
    let record = |(addr, record): (&Text, &Record)| {
        let pairs: Value = record.pairs.iter().map(|(key, pair)| pair_json(key, pair)).collect();
        json!({"addr": text_json(addr), "version": version_json(record.version), "pairs": pairs})
    };
    node.state().store.records().map(record).collect()
}

fn pair_json(key: &Text, pair: &Pair) -> Value {
    let Pair { value, version } = pair;
    json!({"key": text_json(key), "value": text_json(value), "version": version_json(*version)})
}

/// The answer to the query `status`.
pub fn status_json(node: &Node) -> Value {
    let statuses = node.statuses().into_iter();
    statuses.map(|(addr, status)| json!({"addr": text_json(&addr), "status": status_name(status)})).collect()
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Up => "up",
        Status::Down => "down",
    }
}

/// The answer to the query `state`; `liveness` is left out if it is empty.
pub fn state_json(node: &Node) -> Value {
    let mut state = json!({"store": view_json(node)});
    let liveness = &node.state().liveness;
    if !liveness.is_empty() {
        let window = |(addr, window): (&Text, &Window)| {
            json!({
                "addr": text_json(addr),
                "status": status_name(window.status),
                "last": window.last,
                "intervals": window.intervals,
                "digest_sent": window.digest_sent,
            })
        };
        state["liveness"] = liveness.iter().map(window).collect();
    }
    state
}

pub fn event_json(event: &Event) -> Value {
    match event {
        Event::Join { peer } => json!({"name": "join", "peer": text_json(peer)}),
        Event::Update { peer, key, value, version } => json!({
            "name": "update",
            "peer": text_json(peer),
            "key": text_json(key),
            "value": text_json(value),
            "version": version_json(*version),
        }),
        Event::Heartbeat { peer, round_trip } => {
            json!({"name": "heartbeat", "peer": text_json(peer), "round_trip": round_trip})
        }
        Event::Up { peer } => json!({"name": "up", "peer": text_json(peer)}),
        Event::Down { peer } => json!({"name": "down", "peer": text_json(peer)}),
        Event::Malformed(rejected) => {
            json!({"name": "malformed", "class": rejected.class.name(), "offset": rejected.offset})
        }
    }
}
