//! Bundles: what `peerproof vectors export` writes for a protocol, described in docs/reference/bundle.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

const FORMAT: i64 = 1;

/// The vectors of a protocol.
pub struct Bundle {
    pub protocol: String,
    /// `udp`, `tcp` or `serf`.
    pub transport: String,
    /// In the order of the suite, those of tables last.
    pub vectors: Vec<Vector>,
    pub(crate) run: Value,
    pub(crate) clauses: Value,
    /// Clause, name of another reading, and what such an implementation does.
    pub(crate) readings: Value,
    /// Expected messages, each with its bytes.
    pub(crate) messages: Value,
    tables: Vec<Value>,
}

/// One fact about a protocol, with one or several cases.
pub struct Vector {
    pub id: String,
    pub title: String,
    pub level: String,
    pub clauses: Vec<String>,
    pub cases: Vec<Case>,
    pub(crate) plain: Value,
    table: Option<usize>,
}

/// A separately checked part of a vector.
pub struct Case {
    pub id: String,
    pub check: String,
    pub needs: Vec<String>,
}

/// A file that cannot be used. It says why, and what to do.
pub struct LoadError(pub(crate) String);

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The same text: what a `main` that returns an error prints.
impl fmt::Debug for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl From<String> for LoadError {
    fn from(what: String) -> LoadError {
        LoadError(what)
    }
}

/// Reads a bundle, compressed if its name ends in `.gz`.
pub fn load(path: impl AsRef<Path>) -> Result<Bundle, LoadError> {
    let path = path.as_ref();
    let tip = "write it with: peerproof vectors export --output FOLDER PROTOCOL";
    let unusable = |what: String| LoadError(format!("{} {what}; {tip}", path.display()));
    let mut data =
        std::fs::read(path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut text = Vec::new();
        let read = flate2::read::GzDecoder::new(&data[..]).read_to_end(&mut text);
        read.map_err(|error| unusable(format!("cannot be read: {error}")))?;
        data = text;
    }
    let plain = parse(&data).map_err(|error| unusable(format!("is not a bundle: {error}")))?;
    if plain["format"].is_null() {
        return Err(unusable("is not a bundle: it has no format".into()));
    }
    if plain["format"] != FORMAT {
        return Err(unusable(format!(
            "has format {}, and this runner reads {FORMAT}",
            plain["format"]
        )));
    }
    Ok(Bundle::new(plain))
}

/// Parses JSON of any depth. Numbers keep their digits, objects the order of their members.
pub(crate) fn parse(data: &[u8]) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_slice(data);
    reader.disable_recursion_limit();
    let mut values = reader.into_iter();
    let first = values
        .next()
        .unwrap_or(Ok(Value::Null))
        .map_err(|error| error.to_string())?;
    match values.next() {
        None => Ok(first),
        Some(_) => Err(format!("there is more after byte {}", values.byte_offset())),
    }
}

pub(crate) fn texts(list: &Value) -> Vec<String> {
    items(list)
        .iter()
        .filter_map(Value::as_str)
        .map(String::from)
        .collect()
}

/// The items of a list; none if it is missing.
pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

impl Bundle {
    fn new(mut plain: Value) -> Bundle {
        let mut vectors: Vec<Vector> = taken(&mut plain["vectors"])
            .into_iter()
            .map(|one| Vector::new(one, None))
            .collect();
        let mut tables = taken(&mut plain["tables"]);
        for (number, table) in tables.iter_mut().enumerate() {
            vectors.extend(
                taken(&mut table["vectors"])
                    .into_iter()
                    .map(|row| Vector::new(row, Some(number))),
            );
        }
        Bundle {
            protocol: text(&plain["protocol"]),
            transport: text(&plain["run"]["transport"]),
            vectors,
            run: plain["run"].take(),
            clauses: plain["clauses"].take(),
            readings: plain["readings"].take(),
            messages: plain["messages"].take(),
            tables,
        }
    }

    pub(crate) fn limit(&self, name: &str) -> usize {
        self.run["limits"][name].as_u64().unwrap_or(u64::MAX) as usize
    }

    /// The members of a vector; for one of a table, with its node, states and steps in place of numbers.
    pub(crate) fn content<'a>(&'a self, vector: &'a Vector) -> Cow<'a, Value> {
        let Some(table) = vector.table.map(|number| &self.tables[number]) else {
            return Cow::Borrowed(&vector.plain);
        };
        let with_state = |holder: &mut Value| {
            if let Some(number) = holder["state"].as_u64() {
                holder["state"] = table["states"][number as usize].clone();
            } else if let Some(members) = holder.as_object_mut() {
                members.remove("state");
            }
        };
        let mut content = vector.plain.clone();
        let mut node = table["nodes"][number(&content["node"])].clone();
        with_state(&mut node);
        let steps = items(&content["steps"])
            .iter()
            .map(|at| table["steps"][number(at)].clone());
        let mut steps: Vec<Value> = steps.collect();
        for step in &mut steps {
            step["outcomes"]
                .as_array_mut()
                .into_iter()
                .flatten()
                .for_each(with_state);
        }
        content["nodes"] = Value::Array(vec![node]);
        content["steps"] = Value::Array(steps);
        Cow::Owned(content)
    }
}

impl Vector {
    fn new(plain: Value, table: Option<usize>) -> Vector {
        let cases = items(&plain["cases"]).iter();
        let cases = cases.map(|one| Case {
            id: text(&one["id"]),
            check: text(&one["check"]),
            needs: texts(&one["needs"]),
        });
        Vector {
            id: text(&plain["id"]),
            title: text(&plain["title"]),
            level: text(&plain["level"]),
            clauses: texts(&plain["clauses"]),
            cases: cases.collect(),
            plain,
            table,
        }
    }
}

fn taken(list: &mut Value) -> Vec<Value> {
    match list.take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or_default() as usize
}
