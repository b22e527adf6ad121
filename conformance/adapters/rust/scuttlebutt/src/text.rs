//! Addresses, keys and values.

use std::fmt;

/// Any bytes; applications give and get UTF-8 [BA-02]. The order is that of the bytes [BA-12].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Vec<u8>);

/// The size of a string is one byte [B-42].
pub const MAX_TEXT: usize = 255;

impl Text {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its size in bytes, not in letters [BA-02].
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(string: &str) -> Self {
        Text(string.into())
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Text(bytes)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), formatter)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&String::from_utf8_lossy(&self.0), formatter)
    }
}
