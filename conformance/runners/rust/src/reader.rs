//! What says what a message is: the bundle, and the implementation's decoder as far as it can be relied on.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::bundle::{items, Bundle};

/// What the runner knows of messages and of the codec.
#[derive(Clone, Default)]
pub(crate) struct Reader {
    /// The messages of the bundle, by their bytes.
    known: HashMap<String, Value>,
    /// The first case that the decoder fails.
    pub doubt: Option<String>,
    /// The types of messages whose cases the encoder passes all. They matter if the decoder fails a case.
    written: HashSet<String>,
}

impl Reader {
    pub fn new(bundle: &Bundle) -> Reader {
        let vectors = bundle.vectors.iter().map(|vector| &vector.plain);
        let messages = items(&bundle.messages).iter().chain(vectors);
        let known = messages.filter_map(|one| {
            Some((
                one["bytes"].as_str()?.to_string(),
                one.get("value")?.clone(),
            ))
        });
        Reader {
            known: known.collect(),
            ..Reader::default()
        }
    }

    /// The same with what the cases of the codec say.
    pub fn doubting(&self, doubt: String, written: HashSet<String>) -> Reader {
        Reader {
            known: self.known.clone(),
            doubt: Some(doubt),
            written,
        }
    }

    pub fn known(&self, digits: &str) -> Option<&Value> {
        self.known.get(digits)
    }

    /// Whether the encoder is right for the type of this message.
    pub fn is_written_right(&self, message: &Value) -> bool {
        type_of(message).is_some_and(|kind| self.written.contains(kind))
    }
}

/// The type of a message; None if it has none.
pub(crate) fn type_of(message: &Value) -> Option<&str> {
    message.get("type").and_then(Value::as_str)
}
