//! Why bytes are no message.

use std::fmt;

/// The classes that adapter protocol 1 has for malformed input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Truncated,
    Trailing,
    BadType,
    BadLength,
    BadValue,
    TooLarge,
    Other,
}

impl Class {
    /// Its name in the adapter protocol.
    pub fn name(self) -> &'static str {
        match self {
            Class::Truncated => "truncated",
            Class::Trailing => "trailing",
            Class::BadType => "bad_type",
            Class::BadLength => "bad_length",
            Class::BadValue => "bad_value",
            Class::TooLarge => "too_large",
            Class::Other => "other",
        }
    }
}

/// Bytes are no message, or a message has no bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    pub class: Class,
    /// The byte at which that shows, counted from 0.
    pub offset: usize,
    pub message: String,
}

impl Rejected {
    pub fn new(class: Class, offset: usize, message: impl Into<String>) -> Self {
        Rejected { class, offset, message: message.into() }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at byte {}: {}", self.class.name(), self.offset, self.message)
    }
}

impl std::error::Error for Rejected {}
