//! Plain data against an expectation: the matchers of bundles, and the first difference.

use std::collections::{BTreeSet, HashMap};

use serde_json::{json, Map, Value};

/// Names, and the values for which they stand.
pub(crate) type Names = HashMap<String, Value>;

type Members = Map<String, Value>;

/// The first place where an outcome is not as expected.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// The path to it; JSON's null on a side on which nothing is.
    pub path: String,
    pub expected: Value,
    pub actual: Value,
    /// Whether both sides are the same message in other bytes.
    pub(crate) is_other_form: bool,
    /// The path to the list around it that has the expected items in another order, if there is one.
    pub(crate) reordered: Option<String>,
}

const MATCHERS: [&str; 6] = ["any", "between", "multiset", "contains", "one_of", "same"];

/// The name and the argument of the matcher that an object is, if it is one.
fn matcher_of(expected: &Value) -> Option<(&str, &Value)> {
    let members = expected.as_object().filter(|members| members.len() == 1)?;
    let (name, argument) = members.iter().next()?;
    MATCHERS
        .contains(&name.as_str())
        .then_some((name, argument))
}

/// The first difference between values without names.
pub(crate) fn plain_difference(expected: &Value, actual: &Value, path: &str) -> Option<Difference> {
    first_difference(expected, actual, &mut Names::new(), path)
}

/// The first place where `actual` does not match, as deep as possible; None if it matches. Adds the names that values get.
pub(crate) fn first_difference(
    expected: &Value,
    actual: &Value,
    names: &mut Names,
    path: &str,
) -> Option<Difference> {
    difference_at(expected, Some(actual), names, path)
}

fn fits(expected: &Value, actual: &Value, names: &mut Names) -> bool {
    first_difference(expected, actual, names, "").is_none()
}

/// The same; there is no `actual` for a member that is missing.
fn difference_at(
    expected: &Value,
    actual: Option<&Value>,
    names: &mut Names,
    path: &str,
) -> Option<Difference> {
    let here = || different(path, Some(expected), actual);
    let Some(actual) = actual else {
        return Some(here());
    };
    if let Some((name, argument)) = matcher_of(expected) {
        return matcher_difference((name, argument), actual, names, path, here);
    }
    match (expected, actual) {
        (Value::Object(wanted), Value::Object(members)) => {
            let all = wanted.keys().chain(members.keys()).collect();
            member_difference(wanted, members, all, names, path)
        }
        (Value::Array(wanted), Value::Array(items)) => item_difference(wanted, items, names, path),
        _ => (!is_equal(expected, actual)).then(here),
    }
}

/// The difference that a matcher finds: within lists and objects, or `here`.
fn matcher_difference(
    (name, argument): (&str, &Value),
    actual: &Value,
    names: &mut Names,
    path: &str,
    here: impl FnOnce() -> Difference,
) -> Option<Difference> {
    let matches = match (name, argument, actual) {
        ("multiset" | "contains", Value::Array(wanted), Value::Array(items)) => {
            return pairing_difference(name == "multiset", wanted, items, names, path);
        }
        ("contains", Value::Object(wanted), Value::Object(members)) => {
            return member_difference(wanted, members, wanted.keys().collect(), names, path);
        }
        ("any", ..) => true,
        ("between", Value::Array(limits), _) => is_between(limits, actual),
        ("one_of", Value::Array(wanted), _) => wanted.iter().any(|one| fits(one, actual, names)),
        ("same", Value::String(name), _) => {
            names.entry(name.clone()).or_insert_with(|| actual.clone()) == actual
        }
        _ => false,
    };
    (!matches).then(here)
}

fn different(path: &str, expected: Option<&Value>, actual: Option<&Value>) -> Difference {
    let shown = |side: Option<&Value>| side.cloned().unwrap_or(Value::Null);
    Difference {
        path: path.to_string(),
        expected: shown(expected),
        actual: shown(actual),
        ..Difference::default()
    }
}

fn item_difference(
    wanted: &[Value],
    items: &[Value],
    names: &mut Names,
    path: &str,
) -> Option<Difference> {
    for at in 0..wanted.len().max(items.len()) {
        let place = format!("{path}[{at}]");
        let (Some(expected), Some(actual)) = (wanted.get(at), items.get(at)) else {
            return Some(different(&place, wanted.get(at), items.get(at)));
        };
        if let Some(mut found) = first_difference(expected, actual, names, &place) {
            if pairing_difference(true, wanted, items, &mut names.clone(), path).is_none() {
                found.reordered = Some(path.to_string());
            }
            return Some(found);
        }
    }
    None
}

/// The first difference of these members, in the order of their names.
fn member_difference(
    wanted: &Members,
    members: &Members,
    compared: BTreeSet<&String>,
    names: &mut Names,
    path: &str,
) -> Option<Difference> {
    compared.into_iter().find_map(|name| {
        let place = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        match wanted.get(name) {
            Some(expected) => difference_at(expected, members.get(name), names, &place),
            None => Some(different(&place, None, members.get(name))),
        }
    })
}

/// Lists in any order: the first item that is left if each expected item takes the first one that matches; then the first that is
/// missing. Without `is_whole` others are allowed.
fn pairing_difference(
    is_whole: bool,
    wanted: &[Value],
    items: &[Value],
    names: &mut Names,
    path: &str,
) -> Option<Difference> {
    let has_size = wanted.len() == items.len() || (!is_whole && wanted.len() < items.len());
    if has_size && has_pairing(wanted, items, names) {
        return None;
    }
    let mut left: Vec<usize> = (0..items.len()).collect();
    let mut missing = None;
    for expected in wanted {
        match left
            .iter()
            .position(|&at| fits(expected, &items[at], names))
        {
            Some(taken) => {
                left.remove(taken);
            }
            None => missing = missing.or(Some(expected)),
        }
    }
    Some(match left.first() {
        Some(&at) if is_whole => different(&format!("{path}[{at}]"), missing, Some(&items[at])),
        _ => different(path, missing, None),
    })
}

/// Whether each expected item can have an item of its own (augmenting paths).
fn has_pairing(wanted: &[Value], items: &[Value], names: &mut Names) -> bool {
    fn settle(
        row: usize,
        suits: &[Vec<bool>],
        owner: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        for column in 0..owner.len() {
            if suits[row][column] && !tried[column] {
                tried[column] = true;
                if owner[column].is_none_or(|other| settle(other, suits, owner, tried)) {
                    owner[column] = Some(row);
                    return true;
                }
            }
        }
        false
    }
    let suits: Vec<Vec<bool>> = wanted
        .iter()
        .map(|one| items.iter().map(|item| fits(one, item, names)).collect())
        .collect();
    let mut owner = vec![None; items.len()];
    (0..wanted.len()).all(|row| settle(row, &suits, &mut owner, &mut vec![false; items.len()]))
}

/// The least integer that plain data holds as a text; a number from here on is a fraction, with a point or without.
const LARGE: f64 = 9007199254740992.0;

/// Whether literals are equal. An integer also equals the text of its digits, which is how plain data holds 64 bits.
fn is_equal(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(number), Value::String(digits)) => {
            is_integer(expected) && digits == number.as_str()
        }
        (Value::Number(one), Value::Number(other)) if !is_integer(expected) => {
            let is_fraction = |value: &f64| !is_integer(actual) || value.abs() >= LARGE;
            one.as_f64() == other.as_f64().filter(is_fraction)
        }
        _ => expected == actual,
    }
}

fn is_integer(value: &Value) -> bool {
    value
        .as_number()
        .is_some_and(|number| !number.as_str().contains(['.', 'e', 'E']))
}

/// Whether an integer, or a text of up to 20 digits, is within two limits, which are digits.
fn is_between(limits: &[Value], actual: &Value) -> bool {
    let integer = match actual {
        Value::Number(number) if is_integer(actual) => number.to_string(),
        Value::String(text)
            if text.len() <= 20 && text.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            text.clone()
        }
        _ => return false,
    };
    let Ok(integer) = integer.parse::<i128>() else {
        return false; // no limit has so many digits
    };
    let limit = |at: usize| {
        limits[at]
            .as_str()
            .and_then(|digits| digits.parse::<i128>().ok())
    };
    limit(0).is_some_and(|low| low <= integer) && limit(1).is_some_and(|high| integer <= high)
}

/// JSON with its members in their order.
pub(crate) fn json_text(value: &Value) -> String {
    written(value, false)
}

/// JSON with sorted members.
pub(crate) fn canonical(value: &Value) -> String {
    written(value, true)
}

/// JSON in ASCII, with `", "` and `": "` between its parts.
fn written(value: &Value, is_sorted: bool) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            if is_sorted {
                members.sort_by_key(|(name, _)| *name);
            }
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", quoted(name), written(value, is_sorted))
            };
            format!(
                "{{{}}}",
                members
                    .into_iter()
                    .map(member)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items
                    .iter()
                    .map(|item| written(item, is_sorted))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let quoted = json!(text).to_string();
    let escaped = |character: char| {
        if character.is_ascii() && character != '\u{7f}' {
            return character.to_string();
        }
        character
            .encode_utf16(&mut [0; 2])
            .iter()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect()
    };
    quoted.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(expected: Value, actual: Value) -> Option<(String, Value, Value)> {
        plain_difference(&expected, &actual, "")
            .map(|found| (found.path, found.expected, found.actual))
    }

    #[test]
    fn a_name_stands_for_the_first_value() {
        let wanted = json!({"a": {"contains": {"h": {"same": "x"}}}, "b": {"same": "x"}});
        assert_eq!(
            difference(wanted.clone(), json!({"a": {"h": 1}, "b": 1})),
            None
        );
        assert_eq!(
            difference(wanted, json!({"a": {"h": 1}, "b": 3}))
                .unwrap()
                .0,
            "b"
        );
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(
            difference(
                json!(18446744073709551615u64),
                json!("18446744073709551615")
            ),
            None
        );
        assert!(difference(parse("1"), parse("1.0")).is_some());
        assert_eq!(difference(parse("1.50"), parse("1.5")), None);
        let large = parse("36893488147419103232");
        assert_eq!(difference(parse("36893488147419103232.0"), large), None);
        let limits = json!({"between": ["1", "18446744073709551615"]});
        assert_eq!(
            difference(limits.clone(), json!("18446744073709551615")),
            None
        );
        assert!(difference(limits, parse("18446744073709551616")).is_some());
    }

    #[test]
    fn the_first_difference_is_as_deep_as_possible() {
        let wanted = json!([{"multiset": [1, 2]}, {"contains": {"a": [1]}}]);
        assert_eq!(
            difference(wanted.clone(), json!([[2, 3], {}])),
            Some(("[0][1]".into(), json!(1), json!(3)))
        );
        assert_eq!(
            difference(wanted, json!([[2, 1], {"a": [1, 5], "b": 0}])),
            Some(("[1].a[1]".into(), Value::Null, json!(5)))
        );
    }

    #[test]
    fn a_list_in_another_order_is_named() {
        let reordered = |expected: Value, actual: Value| {
            plain_difference(&expected, &actual, "").and_then(|found| found.reordered)
        };
        let wanted = json!({"entries": [{"key": "a", "version": 1}, {"key": "b", "version": 2}]});
        let turned =
            json!({"entries": [{"key": "b", "version": "2"}, {"key": "a", "version": "1"}]});
        assert_eq!(reordered(wanted.clone(), turned), Some("entries".into()));
        let other = json!({"entries": [{"key": "b", "version": 2}, {"key": "a", "version": 3}]});
        assert_eq!(reordered(wanted.clone(), other), None);
        assert_eq!(reordered(wanted, json!({"entries": []})), None);
    }

    #[test]
    fn the_text_is_sorted_and_ascii() {
        assert_eq!(
            canonical(&json!({"b": "é\u{1f600}\n", "a": [1, null]})),
            r#"{"a": [1, null], "b": "\u00e9\ud83d\ude00\n"}"#
        );
    }

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }
}
