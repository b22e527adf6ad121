//! Messages and their bytes: Transit over MessagePack [SA-44].

use shared::rejected::{Class, Rejected};

use crate::data::{LIST_TAG, Payload};
use crate::forms::{Form, escape, form_of, unescape};
use crate::messages::{Incarnation, MAX_COUNTER, MAX_HOST, Member, Message, Place, Vector};
use crate::msgpack::{Value, Writer, read};
use crate::uuid::Uuid;

/// The message that a datagram is. What is no message is rejected whole [SA-31].
pub fn decode(datagram: &[u8]) -> Result<Message, Rejected> {
    let value = read(datagram)?;
    let (header, rest) = items_of(&value)?.split_first().ok_or_else(|| bad("a message has a header"))?;
    let (name, fields) = name_and_fields(items_of(header)?)?;
    match (name, fields) {
        ("~:ping", [sender, restart, tx, target]) => Ok(Message::Ping {
            sender: uuid(sender)?,
            incarnation: incarnation(restart, tx)?,
            target: uuid(target)?,
            vectors: vectors(rest)?,
        }),
        ("~:ack", [sender, restart, tx, target, target_tx]) => Ok(Message::Ack {
            sender: uuid(sender)?,
            incarnation: incarnation(restart, tx)?,
            target: uuid(target)?,
            target_tx: counter(target_tx)?,
            vectors: vectors(rest)?,
        }),
        ("~:probe", [sender, restart, tx]) if rest.is_empty() => {
            Ok(Message::Probe { sender: uuid(sender)?, incarnation: incarnation(restart, tx)? })
        }
        ("~:probe-ack", [sender, restart, tx, probe_tx]) if rest.is_empty() => Ok(Message::ProbeAck {
            sender: uuid(sender)?,
            incarnation: incarnation(restart, tx)?,
            probe_tx: counter(probe_tx)?,
        }),
        _ => Err(bad(format!("{name} with {} fields is no header", fields.len()))),
    }
}

/// The vectors behind a header; those that are skipped are left out.
fn vectors(values: &[Value]) -> Result<Vec<Vector>, Rejected> {
    let read = values.iter().map(|value| vector(items_of(value)?));
    read.filter_map(Result::transpose).collect()
}

/// A vector, or nothing if its keyword is not known, or that of a probe or its answer [SA-31].
fn vector(items: &[Value]) -> Result<Option<Vector>, Rejected> {
    if let [] | [Value::Map(_), ..] = items {
        return Ok(Some(Vector::AntiEntropy { members: members(items)?, tagged: false })); // [SA-18]
    }
    let (name, fields) = name_and_fields(items)?;
    Ok(Some(match (name, fields) {
        ("~:joining", [node, restart, tx, host, port]) => {
            Vector::Joining { node: uuid(node)?, incarnation: incarnation(restart, tx)?, place: place(host, port)? }
        }
        ("~:normal", [node, known @ ..]) => {
            Vector::Normal { node: uuid(node)?, incarnation: optional_incarnation(known)? }
        }
        ("~:suspicious", [node, known @ ..]) => {
            Vector::Suspicious { node: uuid(node)?, incarnation: optional_incarnation(known)? }
        }
        ("~:dead", [node, known @ ..]) => Vector::Dead { node: uuid(node)?, incarnation: optional_incarnation(known)? },
        ("~:leave", [node, restart, tx]) => Vector::Leave { node: uuid(node)?, incarnation: incarnation(restart, tx)? },
        ("~:anti-entropy", maps) => Vector::AntiEntropy { members: members(maps)?, tagged: true },
        ("~:payload", [map]) => Vector::Payload(Payload::from_value(map)?),
        ("~:indirect-ping", [target, host, port]) => {
            Vector::IndirectPing { target: uuid(target)?, place: place(host, port)? }
        }
        ("~:indirect-ack", [target, restart, tx]) => {
            Vector::IndirectAck { target: uuid(target)?, incarnation: incarnation(restart, tx)? }
        }
        _ if KNOWN.contains(&name) => return Err(bad(format!("{name} with {} fields", fields.len()))),
        ("~:ping" | "~:ack", _) => return Err(bad("a header stands first")), // [SA-30]
        _ => return Ok(None),
    }))
}

/// The keywords of vectors: with a wrong arity they make a datagram malformed.
const KNOWN: [&str; 9] = [
    "~:joining",
    "~:normal",
    "~:suspicious",
    "~:dead",
    "~:leave",
    "~:anti-entropy",
    "~:payload",
    "~:indirect-ping",
    "~:indirect-ack",
];

fn bad(message: impl Into<String>) -> Rejected {
    Rejected::new(Class::BadValue, 0, message)
}

/// The items of a vector, which may be written as a list [SA-63].
fn items_of(value: &Value) -> Result<&[Value], Rejected> {
    match value {
        Value::Array(items) => match &items[..] {
            [Value::String(tag), list] if tag == LIST_TAG => items_of(list),
            items => Ok(items),
        },
        Value::Map(entries) => match &entries[..] {
            [(Value::String(tag), list)] if tag == LIST_TAG => items_of(list),
            _ => Err(bad("a map is no vector")),
        },
        _ => Err(bad("a vector is an array")),
    }
}

fn name_and_fields(items: &[Value]) -> Result<(&str, &[Value]), Rejected> {
    match items {
        [Value::String(name), fields @ ..] if form_of(name) == Some(Form::Keyword) => Ok((name, fields)),
        _ => Err(bad("a vector begins with a keyword")),
    }
}

fn uuid(value: &Value) -> Result<Uuid, Rejected> {
    match value {
        Value::Uuid(uuid) => Ok(*uuid),
        Value::String(string) => match form_of(string) {
            Some(Form::Uuid(uuid)) => Ok(uuid),
            _ => Err(bad(format!("{string:?} is no uuid"))),
        },
        _ => Err(bad("a node is named by a uuid")), // [SA-19]
    }
}

fn integer(value: &Value) -> Result<i128, Rejected> {
    match value {
        Value::Integer(value) => Ok(*value),
        Value::String(string) => match form_of(string) {
            Some(Form::Integer(value)) => Ok(value),
            _ => Err(bad(format!("{string:?} is no integer"))),
        },
        _ => Err(bad("a counter or a port is an integer")),
    }
}

fn counter(value: &Value) -> Result<u64, Rejected> {
    let value = integer(value)?;
    let counter = u64::try_from(value).ok().filter(|value| *value <= MAX_COUNTER);
    counter.ok_or_else(|| bad(format!("{value} is no counter")))
}

fn incarnation(restart: &Value, tx: &Value) -> Result<Incarnation, Rejected> {
    Ok(Incarnation { restart: counter(restart)?, tx: counter(tx)? })
}

fn optional_incarnation(fields: &[Value]) -> Result<Option<Incarnation>, Rejected> {
    match fields {
        [] => Ok(None),
        [restart, tx] => incarnation(restart, tx).map(Some),
        _ => Err(bad("an event has two or four elements")), // [SA-12]
    }
}

fn place(host: &Value, port: &Value) -> Result<Place, Rejected> {
    let host = match host {
        Value::String(string) if form_of(string) == Some(Form::Text) => unescape(string).to_owned(),
        _ => return Err(bad("a host is a string")),
    };
    if !(1..=MAX_HOST).contains(&host.len()) {
        return Err(bad(format!("a host has 1 to {MAX_HOST} bytes")));
    }
    let port = integer(port)?;
    let number = u16::try_from(port).ok().filter(|number| *number > 0);
    Ok(Place { host, port: number.ok_or_else(|| bad(format!("{port} is no port")))? })
}

fn members(maps: &[Value]) -> Result<Vec<Member>, Rejected> {
    maps.iter().map(member).collect()
}

/// Keys may come in any order, with others among them [SA-63].
fn member(map: &Value) -> Result<Member, Rejected> {
    let Value::Map(entries) = map else {
        return Err(bad("anti-entropy holds maps"));
    };
    let field = |name: &str| {
        let mut found = entries.iter().rev().filter(|(key, _)| matches!(key, Value::String(key) if key == name));
        found.next().map(|(_, value)| value).ok_or_else(|| bad(format!("{name} is missing")))
    };
    let [host, port, name, restart, tx] = MEMBER_KEYS;
    Ok(Member {
        uuid: uuid(field(name)?)?,
        place: place(field(host)?, field(port)?)?,
        incarnation: incarnation(field(restart)?, field(tx)?)?,
    })
}

/// In the document's order [S-22].
const MEMBER_KEYS: [&str; 5] = ["~:host", "~:port", "~:uuid", "~:restart-counter", "~:tx-counter"];

/// The canonical bytes of a message [SA-61].
pub fn encode(message: &Message) -> Vec<u8> {
    let mut writer = Writer::default();
    match message {
        Message::Ping { sender, incarnation, target, vectors } => {
            writer.array(1 + vectors.len());
            let header = writer.vector("~:ping", 4);
            header.uuid(*sender);
            header.incarnation(*incarnation);
            header.uuid(*target);
            vectors.iter().for_each(|vector| write_vector(vector, &mut writer));
        }
        Message::Ack { sender, incarnation, target, target_tx, vectors } => {
            writer.array(1 + vectors.len());
            let header = writer.vector("~:ack", 5);
            header.uuid(*sender);
            header.incarnation(*incarnation);
            header.uuid(*target);
            header.counter(*target_tx);
            vectors.iter().for_each(|vector| write_vector(vector, &mut writer));
        }
        Message::Probe { sender, incarnation } => {
            writer.array(1);
            let header = writer.vector("~:probe", 3);
            header.uuid(*sender);
            header.incarnation(*incarnation);
        }
        Message::ProbeAck { sender, incarnation, probe_tx } => {
            writer.array(1);
            let header = writer.vector("~:probe-ack", 4);
            header.uuid(*sender);
            header.incarnation(*incarnation);
            header.counter(*probe_tx);
        }
    }
    writer.bytes
}

fn write_vector(vector: &Vector, writer: &mut Writer) {
    match vector {
        Vector::Joining { node, incarnation, place } => {
            let fields = writer.vector("~:joining", 5);
            fields.uuid(*node);
            fields.incarnation(*incarnation);
            fields.place(place);
        }
        Vector::Normal { node, incarnation } => write_event("~:normal", *node, *incarnation, writer),
        Vector::Suspicious { node, incarnation } => write_event("~:suspicious", *node, *incarnation, writer),
        Vector::Dead { node, incarnation } => write_event("~:dead", *node, *incarnation, writer),
        Vector::Leave { node, incarnation } => write_event("~:leave", *node, Some(*incarnation), writer),
        Vector::AntiEntropy { members, tagged } => {
            if *tagged {
                writer.vector("~:anti-entropy", members.len());
            } else {
                writer.array(members.len());
            }
            members.iter().for_each(|member| write_member(member, writer));
        }
        Vector::Payload(payload) => payload.write(writer.vector("~:payload", 1)),
        Vector::IndirectPing { target, place } => {
            let fields = writer.vector("~:indirect-ping", 3);
            fields.uuid(*target);
            fields.place(place);
        }
        Vector::IndirectAck { target, incarnation } => {
            write_event("~:indirect-ack", *target, Some(*incarnation), writer);
        }
    }
}

fn write_event(name: &str, node: Uuid, incarnation: Option<Incarnation>, writer: &mut Writer) {
    let fields = writer.vector(name, if incarnation.is_some() { 3 } else { 1 });
    fields.uuid(node);
    if let Some(incarnation) = incarnation {
        fields.incarnation(incarnation);
    }
}

fn write_member(member: &Member, writer: &mut Writer) {
    let [host, port, uuid, restart, tx] = MEMBER_KEYS;
    writer.map(MEMBER_KEYS.len());
    writer.string(host, true);
    writer.string(&escape(&member.place.host), false);
    writer.string(port, true);
    writer.integer(member.place.port.into());
    writer.string(uuid, true);
    writer.uuid(member.uuid);
    writer.string(restart, true);
    writer.counter(member.incarnation.restart);
    writer.string(tx, true);
    writer.counter(member.incarnation.tx);
}

impl Writer {
    /// The head of a vector and its keyword; so many fields follow.
    fn vector(&mut self, keyword: &str, fields: usize) -> &mut Self {
        self.array(1 + fields);
        self.string(keyword, false);
        self
    }

    fn counter(&mut self, value: u64) {
        self.integer(value.into());
    }

    fn incarnation(&mut self, incarnation: Incarnation) {
        self.counter(incarnation.restart);
        self.counter(incarnation.tx);
    }

    fn place(&mut self, place: &Place) {
        self.string(&escape(&place.host), false);
        self.integer(place.port.into());
    }
}
