//! Payloads: values of Transit in one form each, which is also their plain JSON [SA-66].

use std::collections::HashSet;

use serde_json::{Map, Number, Value as Json, json};
use shared::rejected::{Class, Rejected};

use crate::forms::{Form, float_text, form_of};
use crate::msgpack::{MAX_DEPTH, Value, Writer};
use crate::uuid::Uuid;

/// A value; what Transit writes in several ways is one value. The equality is that of plain data.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Null,
    Bool(bool),
    Integer(i128),
    /// With a fraction, or from 2^53 on.
    Float(f64),
    Uuid(Uuid),
    /// Any other string as it is written, with its escape.
    String(String),
    Array(Vec<Data>),
    /// Its keys are scalars.
    Map(Vec<(Data, Data)>),
    /// A tag, other than those of uuids and lists, and what it stands before.
    Tagged(String, Box<Data>),
}

/// The data of a node: a map [S-23].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload(Vec<(Data, Data)>);

/// The first integer that JSON readers may round.
const TWO_TO_53: i128 = 1 << 53;

/// The tag of a list, which is an array like any other.
pub const LIST_TAG: &str = "~#list";

/// The tag of a map with arrays or maps for keys.
const COMPOSITE_TAG: &str = "~#cmap";

/// Where a payload stands: in a vector, which stands in the message.
const PAYLOAD_DEPTH: usize = 3;

impl Payload {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A payload with no more than strings under strings.
    pub fn of_texts<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Payload {
        let text = |text| Data::String(crate::forms::escape(text));
        Payload(pairs.into_iter().map(|(key, value)| (text(key), text(value))).collect())
    }

    /// From what is read of a datagram.
    pub fn from_value(value: &Value) -> Result<Payload, Rejected> {
        Payload::checked(Data::from_value(value)?)
    }

    /// From plain data.
    pub fn from_json(value: &Json) -> Result<Payload, Rejected> {
        Payload::checked(Data::from_json(value)?)
    }

    fn checked(data: Data) -> Result<Payload, Rejected> {
        data.check_depth(PAYLOAD_DEPTH)?;
        match data {
            Data::Map(entries) => Ok(Payload(entries)),
            _ => Err(bad("a payload is a map with scalars for keys")),
        }
    }

    pub fn to_json(&self) -> Json {
        map_json(&self.0)
    }

    pub fn write(&self, writer: &mut Writer) {
        write_map(&self.0, writer);
    }
}

impl Data {
    /// The value that stands in a datagram.
    pub fn from_value(value: &Value) -> Result<Data, Rejected> {
        match value {
            Value::Nil => Ok(Data::Null),
            Value::Bool(value) => Ok(Data::Bool(*value)),
            Value::Integer(value) => Ok(Data::Integer(*value)),
            Value::Float(value) => Ok(Data::from_float(*value)),
            Value::Uuid(uuid) => Ok(Data::Uuid(*uuid)),
            Value::String(string) => Data::from_string(string),
            Value::Array(items) => Data::from_items(each(items, Data::from_value)?),
            Value::Map(entries) => {
                let read = |(key, value): &(Value, Value)| Ok((Data::from_value(key)?, Data::from_value(value)?));
                Data::from_entries(each(entries, read)?)
            }
        }
    }

    /// The value that plain JSON stands for.
    pub fn from_json(value: &Json) -> Result<Data, Rejected> {
        match value {
            Json::Null => Ok(Data::Null),
            Json::Bool(value) => Ok(Data::Bool(*value)),
            Json::Number(number) => Data::from_number(number),
            Json::String(string) => Data::from_string(string),
            Json::Array(items) => Data::from_items(each(items, Data::from_json)?),
            Json::Object(members) => {
                let read = |(key, value): (&String, &Json)| Ok((Data::from_string(key)?, Data::from_json(value)?));
                Data::from_entries(each(members, read)?)
            }
        }
    }

    /// An integer has a string from 2^53 on, so a number there is a float.
    fn from_number(number: &Number) -> Result<Data, Rejected> {
        let text = number.to_string();
        let integer = text.parse::<i128>().ok().filter(|value| value.abs() < TWO_TO_53);
        match integer {
            Some(value) => Ok(Data::Integer(value)),
            None => text.parse().map(Data::from_float).map_err(|_| bad(format!("{text} is no number"))),
        }
    }

    fn from_float(value: f64) -> Data {
        if value.is_nan() {
            Data::String("~zNaN".into())
        } else if value.is_infinite() {
            Data::String(if value > 0.0 { "~zINF" } else { "~z-INF" }.into())
        } else if value.fract() == 0.0 && value.abs() < TWO_TO_53 as f64 {
            Data::Integer(value as i128)
        } else {
            Data::Float(value)
        }
    }

    fn from_string(string: &str) -> Result<Data, Rejected> {
        match form_of(string) {
            Some(Form::Null) => Ok(Data::Null),
            Some(Form::Bool(value)) => Ok(Data::Bool(value)),
            Some(Form::Integer(value)) => Ok(Data::Integer(value)),
            Some(Form::Float(value)) => Ok(Data::from_float(value)),
            Some(Form::Uuid(uuid)) => Ok(Data::Uuid(uuid)),
            Some(Form::Text | Form::Keyword | Form::Tag | Form::Opaque) => Ok(Data::String(string.to_owned())),
            None => Err(bad(format!("{string:?} is no form of Transit"))),
        }
    }

    /// An array, or a tag and what it stands before.
    fn from_items(mut items: Vec<Data>) -> Result<Data, Rejected> {
        match (&items[..], tag_of(items.first())) {
            ([_, _], Some(tag)) => Data::tagged(tag, items.pop().expect("two items")),
            _ => Ok(Data::Array(items)),
        }
    }

    /// A map, a map with arrays or maps for keys, or a tag for its only key.
    fn from_entries(mut entries: Vec<(Data, Data)>) -> Result<Data, Rejected> {
        if let ([_], Some(tag)) = (&entries[..], tag_of(entries.first().map(|(key, _)| key))) {
            return Data::tagged(tag, entries.pop().expect("one entry").1);
        }
        let is_composite = |(key, _): &(Data, Data)| matches!(key, Data::Array(_) | Data::Map(_) | Data::Tagged(..));
        if entries.iter().any(is_composite) {
            let items = entries.into_iter().flat_map(|(key, value)| [key, value]).collect();
            return Ok(Data::Tagged(COMPOSITE_TAG.into(), Box::new(Data::Array(items))));
        }
        let mut keys = HashSet::new();
        if entries.iter().all(|(key, _)| keys.insert(key.as_key())) {
            Ok(Data::Map(entries))
        } else {
            Err(bad("a key stands twice"))
        }
    }

    fn tagged(tag: String, data: Data) -> Result<Data, Rejected> {
        match (tag.as_str(), data) {
            (LIST_TAG, Data::Array(items)) => Ok(Data::Array(items)),
            ("~#u", Data::Array(halves)) => match halves[..] {
                [Data::Integer(high), Data::Integer(low)] => Ok(Data::Uuid(Uuid::from_halves(high as u64, low as u64))),
                _ => Err(bad("a uuid has two halves")),
            },
            ("~#u", _) => Err(bad("a uuid has two halves")),
            (_, data) => Ok(Data::Tagged(tag, Box::new(data))),
        }
    }

    /// Depth is that of the bytes as they are written [SA-65].
    fn check_depth(&self, depth: usize) -> Result<(), Rejected> {
        let check = |depth| {
            if depth <= MAX_DEPTH {
                Ok(())
            } else {
                Err(Rejected::new(Class::TooLarge, 0, format!("nested more than {MAX_DEPTH} deep")))
            }
        };
        match self {
            Data::Uuid(_) => check(depth),
            Data::Array(items) => {
                check(depth)?;
                items.iter().try_for_each(|item| item.check_depth(depth + 1))
            }
            Data::Map(entries) => {
                check(depth)?;
                entries.iter().try_for_each(|(_, value)| value.check_depth(depth + 1))
            }
            Data::Tagged(_, data) => {
                check(depth)?;
                data.check_depth(depth + 1)
            }
            _ => Ok(()),
        }
    }

    /// Plain JSON: beyond 2^53 an integer is a string.
    pub fn to_json(&self) -> Json {
        match self {
            Data::Null => Json::Null,
            Data::Bool(value) => json!(value),
            Data::Integer(value) if value.abs() < TWO_TO_53 => json!(*value as i64),
            Data::Integer(_) | Data::Uuid(_) | Data::String(_) => json!(self.as_key()),
            Data::Float(value) => json!(value),
            Data::Array(items) => items.iter().map(Data::to_json).collect(),
            Data::Map(entries) => map_json(entries),
            Data::Tagged(tag, data) => Json::Object(Map::from_iter([(tag.clone(), data.to_json())])),
        }
    }

    /// The string that a scalar is where it is a key.
    fn as_key(&self) -> String {
        match self {
            Data::Null => "~_".into(),
            Data::Bool(true) => "~?t".into(),
            Data::Bool(false) => "~?f".into(),
            Data::Integer(value) if *value > i128::from(i64::MAX) => format!("~n{value}"),
            Data::Integer(value) => format!("~i{value}"),
            Data::Float(value) => format!("~d{}", float_text(*value)),
            Data::Uuid(uuid) => format!("~u{uuid}"),
            Data::String(string) => string.clone(),
            Data::Array(_) | Data::Map(_) | Data::Tagged(..) => unreachable!("a key is a scalar"),
        }
    }

    pub fn write(&self, writer: &mut Writer) {
        match self {
            Data::Null => writer.nil(),
            Data::Bool(value) => writer.bool(*value),
            Data::Integer(value) => writer.integer(*value),
            Data::Float(value) => writer.float(*value),
            Data::Uuid(uuid) => writer.uuid(*uuid),
            Data::String(string) => writer.string(string, false),
            Data::Array(items) => {
                writer.array(items.len());
                items.iter().for_each(|item| item.write(writer));
            }
            Data::Map(entries) => write_map(entries, writer),
            Data::Tagged(tag, data) => {
                writer.array(2);
                writer.string(tag, false);
                data.write(writer);
            }
        }
    }
}

fn bad(message: impl Into<String>) -> Rejected {
    Rejected::new(Class::BadValue, 0, message)
}

fn each<T, R>(items: impl IntoIterator<Item = T>, read: impl Fn(T) -> Result<R, Rejected>) -> Result<Vec<R>, Rejected> {
    items.into_iter().map(read).collect()
}

fn tag_of(data: Option<&Data>) -> Option<String> {
    match data {
        Some(Data::String(string)) if string.starts_with("~#") => Some(string.clone()),
        _ => None,
    }
}

fn map_json(entries: &[(Data, Data)]) -> Json {
    Json::Object(entries.iter().map(|(key, value)| (key.as_key(), value.to_json())).collect())
}

fn write_map(entries: &[(Data, Data)], writer: &mut Writer) {
    writer.map(entries.len());
    for (key, value) in entries {
        writer.string(&key.as_key(), true);
        value.write(writer);
    }
}
