//! Texts in plain form: a string, or `{"hex": "fffe"}` if the bytes are not UTF-8.

use serde_json::{json, Value};

use crate::choices::{hex, unhex};
use crate::implementation::Problem;

/// Returns the plain form of a text.
pub fn plain(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({"hex": hex(bytes)}),
    }
}

/// Returns the bytes of a text in plain form. Any other value is a bad request.
pub fn bytes(plain: &Value) -> Result<Vec<u8>, Problem> {
    let text = plain.as_str().map(|text| text.as_bytes().to_vec());
    text.or_else(|| unhex(plain["hex"].as_str()?))
        .ok_or_else(|| Problem::bad_request(format!("{plain} is not a text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_bytes_come_back() {
        for text in [&b""[..], b"a:1", "ключ".as_bytes(), b"\xff\xfe"] {
            assert_eq!(bytes(&plain(text)).ok().as_deref(), Some(text));
        }
        assert_eq!(plain(b"\xff\xfe"), json!({"hex": "fffe"}));
        assert!(bytes(&json!(7)).is_err());
    }
}
