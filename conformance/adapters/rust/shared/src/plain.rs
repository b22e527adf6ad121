//! Plain JSON, as the adapter protocol has it: reading members, and integers and texts in the forms that it gives them.

use serde_json::{Map, Value, json};

/// An object of JSON.
pub type Object = Map<String, Value>;

/// What a request says that it must not say.
pub type Fault = String;

/// The value as an object.
pub fn object(value: &Value) -> Result<&Object, Fault> {
    value.as_object().ok_or_else(|| format!("{value} is no object"))
}

/// A member that must be there.
pub fn member<'a>(object: &'a Object, name: &str) -> Result<&'a Value, Fault> {
    object.get(name).ok_or_else(|| format!("the member {name} is missing"))
}

/// A member as a string of JSON.
pub fn string<'a>(object: &'a Object, name: &str) -> Result<&'a str, Fault> {
    let value = member(object, name)?;
    value.as_str().ok_or_else(|| format!("{name} is {value}, which is no string"))
}

/// Each element of a member that is a list.
pub fn each<T>(object: &Object, name: &str, read: impl Fn(&Value) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    each_of(member(object, name)?, read)
}

/// Each element of a list.
pub fn each_of<T>(value: &Value, read: impl Fn(&Value) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    let list = value.as_array().ok_or_else(|| format!("{value} is no list"))?;
    list.iter().map(read).collect()
}

/// An integer of JSON.
pub fn integer(value: &Value) -> Result<u64, Fault> {
    value.as_u64().ok_or_else(|| format!("{value} is no integer of 0 or more"))
}

/// An unsigned integer of 64 bits: a decimal string, a number, or `{"u64": "7"}`.
pub fn unsigned(value: &Value) -> Result<u64, Fault> {
    let digits = match value {
        Value::String(digits) => digits.clone(),
        Value::Number(number) => number.to_string(),
        Value::Object(object) => string(object, "u64")?.to_owned(),
        _ => return Err(format!("{value} is no integer")),
    };
    let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if is_decimal { digits.parse().ok() } else { None };
    parsed.ok_or_else(|| format!("{digits} is no unsigned integer of 64 bits"))
}

/// The bytes that hexadecimal digits stand for.
pub fn bytes(digits: &str) -> Result<Vec<u8>, Fault> {
    let value = |digit: u8| (digit as char).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    let read = pairs.map(|pair| match pair {
        [high, low] => Some((value(*high)? << 4 | value(*low)?) as u8),
        _ => None,
    });
    read.collect::<Option<_>>().ok_or_else(|| format!("{digits:?} is not hexadecimal"))
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a text, which is a string, or `{"hex": "fffe"}` if it is not UTF-8.
pub fn text(value: &Value) -> Result<Vec<u8>, Fault> {
    match value {
        Value::String(string) => Ok(string.clone().into_bytes()),
        Value::Object(object) => bytes(string(object, "hex")?),
        _ => Err(format!("{value} is no text")),
    }
}

/// A text in its plain form.
pub fn text_value(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(string) => json!(string),
        Err(_) => json!({"hex": hex(bytes)}),
    }
}
