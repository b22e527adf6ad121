//! The plain JSON of messages, configurations, states and events, as `docs/reference/messages/swim.md` has it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared::plain::{Fault, Object, each, each_of, integer, member, object, string, unsigned};

use crate::data::Payload;
use crate::gossip::Queued;
use crate::messages::{Incarnation, MAX_COUNTER, MAX_HOST, Member, Message, Place, Vector};
use crate::node::{Change, Config, Event, Node, Probe, Relay, State, Timer};
use crate::table::{Exchange, Row, Status};
use crate::uuid::Uuid;

fn read_uuid(value: &Value) -> Result<Uuid, Fault> {
    value.as_str().and_then(Uuid::parse).ok_or_else(|| format!("{value} is no uuid"))
}

pub fn uuid_member(object: &Object, name: &str) -> Result<Uuid, Fault> {
    read_uuid(member(object, name)?)
}

fn uuid_json(uuid: &Uuid) -> Value {
    json!(uuid.to_string())
}

fn read_counter(value: &Value) -> Result<u64, Fault> {
    let counter = unsigned(value)?;
    if counter <= MAX_COUNTER { Ok(counter) } else { Err(format!("{counter} is above the largest counter")) }
}

fn counter_member(object: &Object, name: &str) -> Result<u64, Fault> {
    read_counter(member(object, name)?)
}

fn counter_json(counter: u64) -> Value {
    json!(counter.to_string())
}

fn read_incarnation(value: &Value) -> Result<Incarnation, Fault> {
    let incarnation = object(value)?;
    Ok(Incarnation { restart: counter_member(incarnation, "restart")?, tx: counter_member(incarnation, "tx")? })
}

fn incarnation_member(object: &Object) -> Result<Incarnation, Fault> {
    read_incarnation(member(object, "incarnation")?)
}

fn optional_incarnation(object: &Object) -> Result<Option<Incarnation>, Fault> {
    match object.get("incarnation") {
        None | Some(Value::Null) => Ok(None),
        Some(incarnation) => read_incarnation(incarnation).map(Some),
    }
}

fn incarnation_json(incarnation: Incarnation) -> Value {
    json!({"restart": counter_json(incarnation.restart), "tx": counter_json(incarnation.tx)})
}

/// The members `host` and `port`.
pub fn place_member(object: &Object) -> Result<Place, Fault> {
    let host = string(object, "host")?.to_owned();
    if !(1..=MAX_HOST).contains(&host.len()) {
        return Err(format!("a host of {} bytes; it has 1 to {MAX_HOST}", host.len())); // [SA-65]
    }
    let port = within("port", member(object, "port")?, 1, u16::MAX.into())?;
    Ok(Place { host, port: port as u16 })
}

/// The place that an address names: a host, in brackets if it has a colon, and a port [SA-51].
pub fn read_addr(addr: &str) -> Result<Place, Fault> {
    let bad = || format!("{addr:?} is no HOST:PORT");
    let (host, port) = addr.rsplit_once(':').ok_or_else(bad)?;
    let within = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).filter(|host| host.contains(':'));
    let port = port.parse().map_err(|_| bad())?;
    Ok(Place { host: within.unwrap_or(host).to_owned(), port })
}

fn flag(name: &str, value: &Value) -> Result<bool, Fault> {
    value.as_bool().ok_or_else(|| format!("{name} is neither true nor false"))
}

fn within(name: &str, value: &Value, least: u64, most: u64) -> Result<u64, Fault> {
    let number = integer(value)?;
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{name} is {number}, not an integer from {least} to {most}"))
    }
}

pub fn read_payload(value: &Value) -> Result<Payload, Fault> {
    Payload::from_json(value).map_err(|rejected| rejected.message)
}

fn optional_payload(value: &Value) -> Result<Option<Payload>, Fault> {
    match value {
        Value::Null => Ok(None),
        value => read_payload(value).map(Some),
    }
}

fn payload_json(payload: &Option<Payload>) -> Value {
    payload.as_ref().map_or(Value::Null, Payload::to_json)
}

pub fn read_message(value: &Value) -> Result<Message, Fault> {
    let message = object(value)?;
    let vectors = || match message.get("vectors") {
        Some(_) => each(message, "vectors", read_vector),
        None => Ok(Vec::new()),
    };
    let kind = string(message, "type")?;
    let sender = || uuid_member(message, "sender");
    let target = || uuid_member(message, "target");
    let incarnation = || incarnation_member(message);
    match kind {
        "ping" => {
            Ok(Message::Ping { sender: sender()?, incarnation: incarnation()?, target: target()?, vectors: vectors()? })
        }
        "ack" => Ok(Message::Ack {
            sender: sender()?,
            incarnation: incarnation()?,
            target: target()?,
            target_tx: counter_member(message, "target_tx")?,
            vectors: vectors()?,
        }),
        "probe" => Ok(Message::Probe { sender: sender()?, incarnation: incarnation()? }),
        "probe_ack" => Ok(Message::ProbeAck {
            sender: sender()?,
            incarnation: incarnation()?,
            probe_tx: counter_member(message, "probe_tx")?,
        }),
        other => Err(format!("{other} is no type of a message")),
    }
}

fn read_vector(value: &Value) -> Result<Vector, Fault> {
    let vector = object(value)?;
    let node = || uuid_member(vector, "node");
    let target = || uuid_member(vector, "target");
    match string(vector, "type")? {
        "joining" => Ok(Vector::Joining {
            node: node()?,
            incarnation: incarnation_member(vector)?,
            place: place_member(vector)?,
        }),
        "normal" => Ok(Vector::Normal { node: node()?, incarnation: optional_incarnation(vector)? }),
        "suspicious" => Ok(Vector::Suspicious { node: node()?, incarnation: optional_incarnation(vector)? }),
        "dead" => Ok(Vector::Dead { node: node()?, incarnation: optional_incarnation(vector)? }),
        "leave" => Ok(Vector::Leave { node: node()?, incarnation: incarnation_member(vector)? }),
        "anti_entropy" => {
            let tagged = flag("tagged", member(vector, "tagged")?)?;
            Ok(Vector::AntiEntropy { members: each(vector, "members", read_member)?, tagged })
        }
        "payload" => Ok(Vector::Payload(read_payload(member(vector, "data")?)?)),
        "indirect_ping" => Ok(Vector::IndirectPing { target: target()?, place: place_member(vector)? }),
        "indirect_ack" => Ok(Vector::IndirectAck { target: target()?, incarnation: incarnation_member(vector)? }),
        other => Err(format!("{other} is no type of a vector")),
    }
}

fn read_member(value: &Value) -> Result<Member, Fault> {
    let entry = object(value)?;
    let restart = counter_member(entry, "restart_counter")?;
    let tx = counter_member(entry, "tx_counter")?;
    Ok(Member {
        uuid: uuid_member(entry, "uuid")?,
        place: place_member(entry)?,
        incarnation: Incarnation { restart, tx },
    })
}

pub fn message_json(message: &Message) -> Value {
    match message {
        Message::Ping { sender, incarnation, target, vectors } => json!({
            "type": "ping",
            "sender": uuid_json(sender),
            "incarnation": incarnation_json(*incarnation),
            "target": uuid_json(target),
            "vectors": vectors.iter().map(vector_json).collect::<Value>(),
        }),
        Message::Ack { sender, incarnation, target, target_tx, vectors } => json!({
            "type": "ack",
            "sender": uuid_json(sender),
            "incarnation": incarnation_json(*incarnation),
            "target": uuid_json(target),
            "target_tx": counter_json(*target_tx),
            "vectors": vectors.iter().map(vector_json).collect::<Value>(),
        }),
        Message::Probe { sender, incarnation } => {
            json!({"type": "probe", "sender": uuid_json(sender), "incarnation": incarnation_json(*incarnation)})
        }
        Message::ProbeAck { sender, incarnation, probe_tx } => json!({
            "type": "probe_ack",
            "sender": uuid_json(sender),
            "incarnation": incarnation_json(*incarnation),
            "probe_tx": counter_json(*probe_tx),
        }),
    }
}

fn vector_json(vector: &Vector) -> Value {
    match vector {
        Vector::Joining { node, incarnation, place } => json!({
            "type": "joining",
            "node": uuid_json(node),
            "incarnation": incarnation_json(*incarnation),
            "host": place.host,
            "port": place.port,
        }),
        Vector::Normal { node, incarnation } => event_of("normal", node, *incarnation),
        Vector::Suspicious { node, incarnation } => event_of("suspicious", node, *incarnation),
        Vector::Dead { node, incarnation } => event_of("dead", node, *incarnation),
        Vector::Leave { node, incarnation } => event_of("leave", node, Some(*incarnation)),
        Vector::AntiEntropy { members, tagged } => {
            let members: Value = members.iter().map(member_json).collect();
            json!({"type": "anti_entropy", "members": members, "tagged": tagged})
        }
        Vector::Payload(payload) => json!({"type": "payload", "data": payload.to_json()}),
        Vector::IndirectPing { target, place } => {
            json!({"type": "indirect_ping", "target": uuid_json(target), "host": place.host, "port": place.port})
        }
        Vector::IndirectAck { target, incarnation } => json!({
            "type": "indirect_ack",
            "target": uuid_json(target),
            "incarnation": incarnation_json(*incarnation),
        }),
    }
}

fn event_of(kind: &str, node: &Uuid, incarnation: Option<Incarnation>) -> Value {
    json!({"type": kind, "node": uuid_json(node), "incarnation": incarnation.map(incarnation_json)})
}

fn member_json(entry: &Member) -> Value {
    json!({
        "host": entry.place.host,
        "port": entry.place.port,
        "uuid": uuid_json(&entry.uuid),
        "restart_counter": counter_json(entry.incarnation.restart),
        "tx_counter": counter_json(entry.incarnation.tx),
    })
}

/// A configuration; a member that is missing has its default.
pub fn read_config(value: &Value) -> Result<Config, Fault> {
    let members = object(value)?;
    let mut config = Config::new(uuid_member(members, "uuid")?);
    for (name, value) in members {
        match name.as_str() {
            "uuid" => {}
            "restart_counter" => config.restart_counter = read_counter(value)?,
            "seeds" => config.seeds = each_of(value, read_seed)?,
            "interval" => config.interval = within(name, value, 1, MAX_COUNTER)?,
            "ae_size" => config.ae_size = integer(value)? as usize,
            "max_datagram" => config.max_datagram = within(name, value, 512, 65507)? as usize,
            "emit_incarnation" => config.emit_incarnation = flag(name, value)?,
            "cluster_events" => config.cluster_events = each_of(value, read_change)?,
            _ => return Err(format!("there is no {name} in a configuration")),
        }
    }
    Ok(config)
}

fn read_seed(value: &Value) -> Result<(Uuid, Place), Fault> {
    let seed = object(value)?;
    Ok((uuid_member(seed, "uuid")?, place_member(seed)?))
}

fn read_status(name: &str) -> Result<Status, Fault> {
    match name {
        "joining" => Ok(Status::Joining),
        "normal" => Ok(Status::Normal),
        "suspicious" => Ok(Status::Suspicious),
        "dead" => Ok(Status::Dead),
        "leave" => Ok(Status::Leave),
        other => Err(format!("{other} is no status")),
    }
}

pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Joining => "joining",
        Status::Normal => "normal",
        Status::Suspicious => "suspicious",
        Status::Dead => "dead",
        Status::Leave => "leave",
    }
}

pub fn read_change(value: &Value) -> Result<Change, Fault> {
    match value.as_str() {
        Some("incarnation") => Ok(Change::Incarnation),
        Some(name) => read_status(name).map(Change::Status),
        None => Err(format!("{value} is no type of an event")),
    }
}

fn change_name(change: Change) -> &'static str {
    match change {
        Change::Status(status) => status_name(status),
        Change::Incarnation => "incarnation",
    }
}

/// The state that a node begins in; its timers are beside it. What is missing is as at a start.
pub fn read_state(value: &Value) -> Result<State, Fault> {
    let members = object(value)?;
    let names = |value| each_of(value, read_uuid).map(BTreeSet::from_iter);
    let mut state = State::default();
    for (name, value) in members {
        match name.as_str() {
            "incarnation" => state.incarnation = read_incarnation(value)?,
            "rows" => state.rows = each_of(value, read_row)?.into_iter().collect(),
            "queue" => state.queue = each_of(value, read_queued)?,
            "vector" => state.vector = each_of(value, read_uuid)?,
            "pinged" => state.pinged = names(value)?,
            "answered" => state.answered = names(value)?,
            "heard" => state.heard = flag(name, value)?,
            "isolated" => state.isolated = flag(name, value)?,
            "relays" => state.relays = each_of(value, read_relay)?,
            "payload" => state.payload = read_payload(value)?,
            "left" => state.left = flag(name, value)?,
            "probes" => state.probes = each_of(value, read_probe)?,
            "node_subscriptions" => state.node_subscriptions = each_of(value, read_subscription)?.into_iter().collect(),
            "cluster_subscriptions" => state.cluster_subscriptions = each_of(value, read_change)?.into_iter().collect(),
            _ => return Err(format!("there is no {name} in a state")),
        }
    }
    Ok(state)
}

fn read_row(value: &Value) -> Result<(Uuid, Row), Fault> {
    let members = object(value)?;
    let status = read_status(string(members, "status")?)?;
    let mut row = Row::new(status, incarnation_member(members)?, place_member(members)?, Exchange::Done);
    for (name, value) in members {
        match name.as_str() {
            "payload" => row.payload = optional_payload(value)?,
            "exchange" => row.exchange = read_exchange(value)?,
            "misses" => row.misses = integer(value)? as u32,
            "indirect_misses" => row.indirect_misses = integer(value)? as u32,
            "indirect_asked" => row.indirect_asked = flag(name, value)?,
            "unanswered" => row.unanswered = each_of(value, read_counter)?,
            _ => {}
        }
    }
    Ok((uuid_member(members, "uuid")?, row))
}

fn read_exchange(value: &Value) -> Result<Exchange, Fault> {
    match value.as_str() {
        Some("first") => Ok(Exchange::First),
        Some("second") => Ok(Exchange::Second),
        Some("done") => Ok(Exchange::Done),
        _ => Err(format!("{value} is no exchange")),
    }
}

fn read_queued(value: &Value) -> Result<Queued, Fault> {
    let queued = object(value)?;
    let event = read_vector(member(queued, "event")?)?;
    Ok(Queued { event, recipients: each(queued, "recipients", read_uuid)?.into_iter().collect() })
}

fn read_relay(value: &Value) -> Result<Relay, Fault> {
    let relay = object(value)?;
    Ok(Relay {
        target: uuid_member(relay, "target")?,
        requester: uuid_member(relay, "requester")?,
        tx: counter_member(relay, "tx")?,
        fresh: flag("fresh", member(relay, "fresh")?)?,
    })
}

fn read_probe(value: &Value) -> Result<Probe, Fault> {
    let probe = object(value)?;
    Ok(Probe { place: place_member(probe)?, tx: counter_member(probe, "tx")? })
}

fn read_subscription(value: &Value) -> Result<(Uuid, Change), Fault> {
    let subscription = object(value)?;
    Ok((uuid_member(subscription, "node")?, read_change(member(subscription, "event_type")?)?))
}

/// When timers are due, and which.
pub fn read_timers(value: &Value) -> Result<Vec<(u64, Timer)>, Fault> {
    let timer = |value: &Value| {
        let entry = object(value)?;
        let timer = object(member(entry, "timer")?)?;
        let due = integer(member(entry, "due_ms")?)?;
        match string(timer, "type")? {
            "quantum" => Ok((due, Timer::Quantum)),
            "probe_timeout" => Ok((due, Timer::ProbeTimeout(place_member(timer)?))),
            other => Err(format!("there is no timer {other}")),
        }
    };
    each_of(value, timer)
}

/// The answer to the query `node_info`.
pub fn node_info_json(node: &Node, uuid: Uuid) -> Value {
    node.state().rows.get(&uuid).map_or(Value::Null, |row| info_json(&uuid, row))
}

fn info_json(uuid: &Uuid, row: &Row) -> Value {
    json!({
        "uuid": uuid_json(uuid),
        "host": row.place.host,
        "port": row.place.port,
        "status": status_name(row.status),
        "restart": counter_json(row.incarnation.restart),
        "tx": counter_json(row.incarnation.tx),
        "payload": payload_json(&row.payload),
    })
}

/// The answer to the query `nodes`.
pub fn nodes_json(node: &Node) -> Value {
    node.state().rows.iter().map(|(uuid, row)| info_json(uuid, row)).collect()
}

/// The answer to the query `own`.
pub fn own_json(node: &Node) -> Value {
    let state = node.state();
    json!({
        "uuid": uuid_json(&node.config().uuid),
        "restart": counter_json(state.incarnation.restart),
        "tx": counter_json(state.incarnation.tx),
        "joined": node.has_joined(),
        "isolated": state.isolated,
        "left": state.left,
    })
}

/// The answer to the query `state`.
pub fn state_json(node: &Node) -> Value {
    let state = node.state();
    let names = |names: &BTreeSet<Uuid>| names.iter().map(uuid_json).collect::<Value>();
    let row = |(uuid, row): (&Uuid, &Row)| {
        json!({
            "uuid": uuid_json(uuid),
            "host": row.place.host,
            "port": row.place.port,
            "status": status_name(row.status),
            "incarnation": incarnation_json(row.incarnation),
            "payload": payload_json(&row.payload),
            "exchange": match row.exchange {
                Exchange::First => "first",
                Exchange::Second => "second",
                Exchange::Done => "done",
            },
            "misses": row.misses,
            "indirect_misses": row.indirect_misses,
            "indirect_asked": row.indirect_asked,
            "unanswered": row.unanswered.iter().map(|tx| counter_json(*tx)).collect::<Value>(),
        })
    };
    let queued =
        |queued: &Queued| json!({"event": vector_json(&queued.event), "recipients": names(&queued.recipients)});
    let relay = |relay: &Relay| {
        json!({
            "target": uuid_json(&relay.target),
            "requester": uuid_json(&relay.requester),
            "tx": counter_json(relay.tx),
            "fresh": relay.fresh,
        })
    };
    let probe =
        |probe: &Probe| json!({"host": probe.place.host, "port": probe.place.port, "tx": counter_json(probe.tx)});
    let subscription =
        |(node, change): &(Uuid, Change)| json!({"node": uuid_json(node), "event_type": change_name(*change)});
    json!({
        "incarnation": incarnation_json(state.incarnation),
        "rows": state.rows.iter().map(row).collect::<Value>(),
        "queue": state.queue.iter().map(queued).collect::<Value>(),
        "vector": state.vector.iter().map(uuid_json).collect::<Value>(),
        "pinged": names(&state.pinged),
        "answered": names(&state.answered),
        "heard": state.heard,
        "isolated": state.isolated,
        "relays": state.relays.iter().map(relay).collect::<Value>(),
        "payload": state.payload.to_json(),
        "left": state.left,
        "probes": state.probes.iter().map(probe).collect::<Value>(),
        "node_subscriptions": state.node_subscriptions.iter().map(subscription).collect::<Value>(),
        "cluster_subscriptions": state.cluster_subscriptions.iter().map(|one| change_name(*one)).collect::<Value>(),
    })
}

pub fn event_json(event: &Event) -> Value {
    match event {
        Event::Node { node, change } => {
            json!({"name": "node_event", "node": uuid_json(node), "event_type": change_name(*change)})
        }
        Event::Cluster { node, change } => {
            json!({"name": "cluster_event", "node": uuid_json(node), "event_type": change_name(*change)})
        }
        Event::Reachable { place, node } => {
            json!({"name": "reachable", "host": place.host, "port": place.port, "node": uuid_json(node)})
        }
        Event::Unreachable { place } => json!({"name": "unreachable", "host": place.host, "port": place.port}),
        Event::Malformed(rejected) => {
            json!({"name": "malformed", "class": rejected.class.name(), "offset": rejected.offset})
        }
    }
}
