//! Plain data against an expectation: the matchers of bundles, and the first difference.

use std::rc::Rc;

use serde_json::{json, Map, Number, Value};

/// Names and what they stand for.
pub(crate) type Bound = Option<Rc<Binding>>;

pub(crate) struct Binding {
    name: String,
    value: Value,
    rest: Bound,
}

/// The first place where an outcome is not as expected.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// The path to it; JSON's null on a side on which nothing is.
    pub path: String,
    pub expected: Value,
    pub actual: Value,
    /// Whether both sides are the same message in other bytes.
    pub(crate) is_other_form: bool,
    /// Whether all that differs is parts of messages that mean nothing.
    pub(crate) has_same_meaning: bool,
    /// The path to the list around it that has the expected items in another order, if there is one.
    pub(crate) reordered: Option<String>,
}

const MATCHERS: [&str; 7] = [
    "any", "between", "multiset", "contains", "one_of", "bind", "ref",
];

/// Is called with the names after each way to match, until it returns true.
type Found<'a> = &'a mut dyn FnMut(&Bound) -> bool;

/// Calls `found` for every way in which `actual` matches, until it returns true; returns whether it did. There is no `actual`
/// for a member that is missing.
fn each_match(expected: &Value, actual: Option<&Value>, bound: &Bound, found: Found) -> bool {
    if let Some((name, argument)) = matcher_of(expected) {
        return actual.is_some_and(|actual| each_matcher(name, argument, actual, bound, found));
    }
    match (expected, actual) {
        (Value::Object(wanted), Some(Value::Object(members))) => {
            each_of_members(wanted, members, bound, found)
        }
        (Value::Array(wanted), Some(Value::Array(items))) => {
            let pairs: Vec<_> = wanted.iter().zip(items.iter().map(Some)).collect();
            wanted.len() == items.len() && each_in_order(&pairs, bound, found)
        }
        (_, Some(actual)) => is_equal(expected, actual) && found(bound),
        (_, None) => false,
    }
}

fn each_matcher(name: &str, argument: &Value, actual: &Value, bound: &Bound, found: Found) -> bool {
    match (name, argument, actual) {
        ("any", ..) => found(bound),
        ("between", Value::Array(limits), _) => is_between(limits, actual) && found(bound),
        ("multiset", Value::Array(wanted), Value::Array(items)) => {
            items.len() == wanted.len() && each_pairing(wanted, items, bound, found)
        }
        ("contains", Value::Array(wanted), Value::Array(items)) => {
            items.len() >= wanted.len() && each_pairing(wanted, items, bound, found)
        }
        ("contains", Value::Object(wanted), Value::Object(members)) => {
            each_of_members(wanted, &selected(wanted, members), bound, found)
        }
        ("one_of", Value::Array(wanted), _) => wanted
            .iter()
            .any(|one| each_match(one, Some(actual), bound, found)),
        ("bind", Value::String(name), _) => found(&Some(Rc::new(Binding {
            name: name.clone(),
            value: actual.clone(),
            rest: bound.clone(),
        }))),
        ("ref", Value::String(name), _) => lookup(bound, name) == Some(actual) && found(bound),
        _ => false,
    }
}

/// The name and the argument of the matcher that an object is, if it is one.
pub(crate) fn matcher_of(expected: &Value) -> Option<(&str, &Value)> {
    let members = expected.as_object().filter(|members| members.len() == 1)?;
    let (name, argument) = members.iter().next()?;
    MATCHERS
        .contains(&name.as_str())
        .then_some((name, argument))
}

fn lookup<'a>(mut bound: &'a Bound, name: &str) -> Option<&'a Value> {
    while let Some(binding) = bound {
        if binding.name == name {
            return Some(&binding.value);
        }
        bound = &binding.rest;
    }
    None
}

/// Returns the names after the first way in which it matches.
pub(crate) fn first_match(
    expected: &Value,
    actual: Option<&Value>,
    bound: &Bound,
) -> Option<Bound> {
    let mut first = None;
    each_match(expected, actual, bound, &mut |names| {
        first = Some(names.clone());
        true
    });
    first
}

fn fits(expected: &Value, actual: Option<&Value>, bound: &Bound) -> bool {
    each_match(expected, actual, bound, &mut |_| true)
}

type Members = Map<String, Value>;

fn each_of_members(wanted: &Members, members: &Members, bound: &Bound, found: Found) -> bool {
    let pairs: Vec<_> = wanted
        .iter()
        .map(|(name, value)| (value, members.get(name)))
        .collect();
    members.keys().all(|name| wanted.contains_key(name)) && each_in_order(&pairs, bound, found)
}

fn selected(wanted: &Members, members: &Members) -> Members {
    let known = members
        .iter()
        .filter(|(name, _)| wanted.contains_key(*name));
    known
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn each_in_order(pairs: &[(&Value, Option<&Value>)], bound: &Bound, found: Found) -> bool {
    for (at, (expected, actual)) in pairs.iter().enumerate() {
        if binds(expected) {
            return each_match(expected, *actual, bound, &mut |names| {
                each_in_order(&pairs[at + 1..], names, found)
            });
        }
        if !fits(expected, *actual, bound) {
            return false;
        }
    }
    found(bound)
}

/// Every assignment of items to expected items; without names to bind, only one.
fn each_pairing(wanted: &[Value], items: &[Value], bound: &Bound, found: Found) -> bool {
    if !wanted.iter().any(binds) {
        return has_pairing(wanted, items, bound) && found(bound);
    }
    items.iter().enumerate().any(|(at, item)| {
        let others = [&items[..at], &items[at + 1..]].concat();
        each_match(&wanted[0], Some(item), bound, &mut |names| {
            each_pairing(&wanted[1..], &others, names, found)
        })
    })
}

fn binds(expected: &Value) -> bool {
    match expected {
        Value::Object(members) => members.contains_key("bind") || members.values().any(binds),
        Value::Array(items) => items.iter().any(binds),
        _ => false,
    }
}

/// Whether each expected item can have an item of its own (augmenting paths).
fn has_pairing(wanted: &[Value], items: &[Value], bound: &Bound) -> bool {
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
        .map(|one| {
            items
                .iter()
                .map(|item| fits(one, Some(item), bound))
                .collect()
        })
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

/// The first place where `actual` does not match, as deep as possible; None if it matches.
pub(crate) fn first_difference(
    expected: &Value,
    actual: &Value,
    bound: &Bound,
    path: &str,
) -> Option<Difference> {
    difference_at(expected, Some(actual), bound, path)
}

fn difference_at(
    expected: &Value,
    actual: Option<&Value>,
    bound: &Bound,
    path: &str,
) -> Option<Difference> {
    if fits(expected, actual, bound) {
        return None;
    }
    let here = different(path.to_string(), Some(expected), actual);
    let Some(actual) = actual else {
        return Some(here);
    };
    match (matcher_of(expected), expected, actual) {
        (
            Some((name @ ("multiset" | "contains"), Value::Array(wanted))),
            _,
            Value::Array(items),
        ) => Some(pairing_difference(name, wanted, items, bound, path)),
        (Some(("contains", Value::Object(wanted))), _, Value::Object(members)) => {
            member_difference(wanted, &selected(wanted, members), bound, path)
        }
        (None, Value::Array(wanted), Value::Array(items)) => {
            item_difference(wanted, items, bound, path)
        }
        (None, Value::Object(wanted), Value::Object(members)) => {
            member_difference(wanted, members, bound, path)
        }
        _ => Some(here),
    }
}

fn different(path: String, expected: Option<&Value>, actual: Option<&Value>) -> Difference {
    let shown = |side: Option<&Value>| side.cloned().unwrap_or(Value::Null);
    Difference {
        path,
        expected: shown(expected),
        actual: shown(actual),
        ..Difference::default()
    }
}

fn item_difference(
    wanted: &[Value],
    items: &[Value],
    bound: &Bound,
    path: &str,
) -> Option<Difference> {
    let is_reordered = wanted.len() == items.len()
        && pairing_difference("multiset", wanted, items, bound, path).path == path;
    let mut bound = bound.clone();
    for (at, (expected, actual)) in wanted.iter().zip(items).enumerate() {
        match first_match(expected, Some(actual), &bound) {
            Some(names) => bound = names,
            None => {
                let mut found =
                    first_difference(expected, actual, &bound, &format!("{path}[{at}]"));
                if let (true, Some(found)) = (is_reordered, &mut found) {
                    found.reordered = Some(path.to_string());
                }
                return found;
            }
        }
    }
    let both = wanted.len().min(items.len());
    Some(different(
        format!("{path}[{both}]"),
        wanted.get(both),
        items.get(both),
    ))
}

fn member_difference(
    wanted: &Members,
    members: &Members,
    bound: &Bound,
    path: &str,
) -> Option<Difference> {
    let place = |name: &str| {
        if path.is_empty() {
            name.to_string()
        } else {
            format!("{path}.{name}")
        }
    };
    let mut bound = bound.clone();
    for (name, expected) in wanted {
        match first_match(expected, members.get(name), &bound) {
            Some(names) => bound = names,
            None => return difference_at(expected, members.get(name), &bound, &place(name)),
        }
    }
    let (name, surplus) = members
        .iter()
        .find(|(name, _)| !wanted.contains_key(*name))?;
    Some(different(place(name), None, Some(surplus)))
}

fn pairing_difference(
    name: &str,
    wanted: &[Value],
    items: &[Value],
    bound: &Bound,
    path: &str,
) -> Difference {
    let mut left: Vec<usize> = (0..items.len()).collect();
    let mut missing = None;
    for expected in wanted {
        match left
            .iter()
            .position(|&at| fits(expected, Some(&items[at]), bound))
        {
            Some(taken) => {
                left.remove(taken);
            }
            None => missing = missing.or(Some(expected)),
        }
    }
    match left.first() {
        Some(&at) if name == "multiset" => {
            different(format!("{path}[{at}]"), missing, Some(&items[at]))
        }
        _ => different(path.to_string(), missing, None),
    }
}

/// JSON with its members in their order.
pub(crate) fn json_text(value: &Value) -> String {
    written(value, false)
}

/// JSON with sorted members: equal for equal data, and what is hashed.
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
        Value::Number(number) if !is_integer(value) => fraction(number),
        other => other.to_string(),
    }
}

/// A fraction with the fewest digits that name it, and an exponent below 0.0001 and from 10^16 on.
fn fraction(number: &Number) -> String {
    let Some(value) = number.as_f64() else {
        return number.to_string();
    };
    let (plain, scientific) = (value.to_string(), format!("{value:e}"));
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&plain, "0"));
    match exponent.parse::<i32>() {
        Ok(-4..16) if plain.contains('.') => plain,
        Ok(-4..16) => format!("{plain}.0"),
        Ok(exponent) => format!("{digits}e{exponent:+03}"),
        Err(_) => scientific,
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
        first_difference(&expected, &actual, &None, "")
            .map(|found| (found.path, found.expected, found.actual))
    }

    #[test]
    fn names_are_bound_in_any_order_of_the_items() {
        let wanted = json!({"a": {"multiset": [{"bind": "x"}, 2]}, "b": {"ref": "x"}});
        assert_eq!(
            difference(wanted.clone(), json!({"a": [2, 1], "b": 1})),
            None
        );
        assert_eq!(
            difference(wanted, json!({"a": [2, 1], "b": 3})).unwrap().0,
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
            first_difference(&expected, &actual, &None, "").and_then(|found| found.reordered)
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
    fn what_is_hashed_is_ascii() {
        assert_eq!(
            canonical(&json!({"b": "é\u{1f600}\n", "a": [1, null]})),
            r#"{"a": [1, null], "b": "\u00e9\ud83d\ude00\n"}"#
        );
    }

    #[test]
    fn fractions_have_one_form() {
        for (text, shown) in [
            ("1.50", "1.5"),
            ("1E2", "100.0"),
            ("-0.0", "-0.0"),
            ("0.00001", "1e-05"),
            ("0.0001", "0.0001"),
            ("123456789012345680.0", "1.2345678901234568e+17"),
            ("1e300", "1e+300"),
            ("5e-324", "5e-324"),
        ] {
            assert_eq!(canonical(&parse(text)), shown);
        }
    }

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }
}
