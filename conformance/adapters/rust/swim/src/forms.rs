//! The forms of Transit's strings, as the page's table has them.

use crate::uuid::Uuid;

/// What a string stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    Null,
    Bool(bool),
    /// An integer of at most 64 bits, signed or unsigned.
    Integer(i128),
    Float(f64),
    Uuid(Uuid),
    /// A string for an application.
    Text,
    /// `~:k`
    Keyword,
    /// `~#t`
    Tag,
    /// A symbol, or what is not looked at.
    Opaque,
}

/// More digits than 64 bits can need.
const MAX_DIGITS: usize = 20;

/// What a string stands for that is no cache code; none if it has no form [SA-64].
pub fn form_of(string: &str) -> Option<Form> {
    let mut characters = string.chars();
    match characters.next() {
        Some('~') => {}
        Some('^' | '`') => return None,
        _ => return Some(Form::Text),
    }
    let kind = characters.next()?;
    let rest = characters.as_str();
    match kind {
        '_' if rest.is_empty() => Some(Form::Null),
        '?' => match rest {
            "t" => Some(Form::Bool(true)),
            "f" => Some(Form::Bool(false)),
            _ => None,
        },
        'i' | 'n' => integer(rest),
        'd' => float(rest).map(Form::Float),
        'u' => Uuid::parse(rest).map(Form::Uuid),
        '~' | '^' | '`' => Some(Form::Text),
        ':' => Some(Form::Keyword),
        '#' => Some(Form::Tag),
        '$' | 'b' | 'c' | 'f' | 'm' | 'r' | 't' | 'z' => Some(Form::Opaque),
        _ => None,
    }
}

/// Whether an integer has 64 bits, signed or unsigned.
fn has_64_bits(value: i128) -> bool {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value)
}

/// One with more than 64 bits, or more than 20 digits, stays the string that it is.
fn integer(text: &str) -> Option<Form> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !is_digits(digits) {
        return None;
    }
    let value = Some(text).filter(|_| digits.len() <= MAX_DIGITS).and_then(|text| text.parse().ok());
    Some(value.filter(|value| has_64_bits(*value)).map_or(Form::Opaque, Form::Integer))
}

/// A minus if it has one, digits, a point with digits if it has one, an exponent if it has one.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let has_exponent = exponent.is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    if !is_digits(whole) || !fraction.is_none_or(is_digits) || !has_exponent {
        return None;
    }
    text.parse().ok()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A string for an application, as Transit writes it: with an escape if it could be taken for something else [SA-61].
pub fn escape(text: &str) -> String {
    if text.starts_with(['~', '^', '`']) { format!("~{text}") } else { text.to_owned() }
}

/// The text behind the escape, if there is one.
pub fn unescape(string: &str) -> &str {
    string.strip_prefix('~').unwrap_or(string)
}

/// The fewest digits that name a float: with an exponent from 10^16 on and below 10^-4, otherwise with a point.
pub fn float_text(value: f64) -> String {
    if (1e-4..1e16).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("an exponent");
    match exponent.strip_prefix('-') {
        Some(digits) => format!("{mantissa}e-{digits:0>2}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}
