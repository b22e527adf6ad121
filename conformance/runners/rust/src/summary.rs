//! The end of the tests: how many cases have which verdict, and groups of those that are not as they should be.

use std::collections::HashMap;

use crate::bundle::Bundle;
use crate::reader::type_of;
use crate::verdict::{Status, Verdict};

const MOST_REASONS: usize = 3; // of skipped cases
const MOST_GROUPS: usize = 40; // of each kind

/// Which cases fail, and what the end of the tests names.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Whether a case fails also where a vector says should, as with `--strict` of `peerproof run`.
    pub strict: bool,
    /// And where only a decision of this project demands more (it differs), as with `--decisions strict`.
    pub strict_decisions: bool,
    /// The name of the test for Cargo, in whose file `STRICT` and `STRICT_DECISIONS` are.
    pub test: &'a str,
    /// The command that runs the vectors by peerproof; empty if there is none.
    pub adapter: &'a str,
}

impl Settings<'_> {
    /// Whether the test of a case fails. One that passes although it is listed does not: the list is what is wrong.
    pub fn fails(&self, verdict: &Verdict) -> bool {
        verdict.is_violation()
            || self.strict && verdict.is_unmet_should()
            || self.strict_decisions && verdict.status == Status::Differs
    }

    fn how(&self, name: &str, is_set: bool) -> String {
        if is_set {
            return format!("they fail, since {name} is set");
        }
        format!("to make that fail, set {name} in tests/{}.rs", self.test)
    }

    /// The command that shows a case whole.
    fn whole(&self, id: &str) -> String {
        format!("cargo test --test {} -- --exact '{id}'", self.test)
    }
}

/// The lines of the end. `doubt` is the first case that the decoder fails. A single case that fails no test is shown whole.
pub(crate) fn summary(
    bundle: &Bundle,
    verdicts: &[Verdict],
    doubt: Option<&str>,
    settings: &Settings,
) -> String {
    let why = |status| {
        let found = verdicts.iter().filter(move |one| one.status == status);
        by_count(found.map(move |one| format!("{status}: {}", one.why())))
    };
    let counts = by_count(verdicts.iter().map(|one| one.status.to_string()));
    let skipped = why(Status::Skipped);
    let reasons = match &skipped[..skipped.len().min(MOST_REASONS)] {
        [] => String::new(),
        most => format!(" ({})", most.join("; ")),
    };
    let count = verdicts.len();
    let counts = counts.join(", ");
    let mut lines = vec![format!(
        "{}: {count} cases: {counts}{reasons}",
        bundle.protocol
    )];
    if let [one] = verdicts {
        if one.status != Status::Passed && !settings.fails(one) {
            lines.push(one.text(bundle));
        }
        return lines.join("\n");
    }
    let unknown = why(Status::Undetermined);
    if !unknown.is_empty() {
        lines.extend(unknown);
        lines.extend(doubt.map(|id| {
            let whole = settings.whole(id);
            format!("  to see it, whatever its verdict: {whole}")
        }));
        if !settings.adapter.is_empty() {
            let adapter = settings.adapter;
            lines.push(format!(
                "  peerproof reads messages without your decoder: {adapter}"
            ));
        }
    }
    let mut example = None;
    for (title, found) in kinds(verdicts, settings) {
        if let [first, ..] = &found[..] {
            example.get_or_insert(&first.id);
            lines.push(format!("{} {title}:", found.len()));
            lines.extend(groups(&found));
        }
    }
    if let Some(id) = example {
        lines.push(format!("one of them whole: {}", settings.whole(id)));
        if !settings.adapter.is_empty() {
            let record = "--record run.jsonl; peerproof report groups run.jsonl";
            lines.push(format!("all groups: {} {record}", settings.adapter));
        }
    }
    lines.join("\n")
}

/// The ways in which cases are not as they should be, those that violate the document first.
fn kinds<'a>(verdicts: &'a [Verdict], settings: &Settings) -> [(String, Vec<&'a Verdict>); 3] {
    let decisions = settings.how("STRICT_DECISIONS", settings.strict_decisions);
    let should = settings.how("STRICT", settings.strict);
    let all = |has: fn(&Verdict) -> bool| verdicts.iter().filter(|one| has(one)).collect();
    [
        ("violate the document".into(), all(Verdict::is_violation)),
        (
            format!("differ only in what a decision of the suite demands; {decisions}"),
            all(|one| one.status == Status::Differs),
        ),
        (
            format!("are tolerated, where a vector says should; {should}"),
            all(Verdict::is_unmet_should),
        ),
    ]
}

/// The names after their counts, the most frequent first.
fn by_count(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let mut sorted: Vec<_> = counts
        .into_iter()
        .map(|(name, count)| (count, name))
        .collect();
    sorted.sort_by(|(count, name), (other, next)| other.cmp(count).then(name.cmp(next)));
    let lines = sorted.iter().map(|(count, name)| format!("{count} {name}"));
    lines.collect()
}

/// A line for the cases that are probably of one fault, with the first of them, the largest group first.
fn groups(found: &[&Verdict]) -> Vec<String> {
    let mut first = HashMap::new();
    for one in found {
        first.entry(difference(one)).or_insert(&one.id);
    }
    let names = by_count(found.iter().map(|one| difference(one)));
    let mut lines: Vec<String> = names
        .iter()
        .filter_map(|line| line.split_once(' '))
        .map(|(count, name)| format!("  {count}  {name}, such as {}", first[name]))
        .collect();
    if lines.len() > MOST_GROUPS {
        let more = lines.len() - MOST_GROUPS;
        lines.truncate(MOST_GROUPS);
        lines.push(format!("  and {more} smaller groups"));
    }
    lines
}

/// The first difference without what is not the same in all cases of one fault: numbers, and values.
pub(crate) fn difference(verdict: &Verdict) -> String {
    let Some(found) = &verdict.difference else {
        return String::new();
    };
    let mut place = without_numbers(own_place(&found.path), "");
    let kind = |message| type_of(message).map_or_else(String::new, |kind| format!("{kind} "));
    if let Some(message) = found.actual["error"]["message"].as_str() {
        let line = message.lines().next().unwrap_or_default();
        place += &format!(": {}", general(line));
    } else if found.actual.is_null() {
        place += &format!(": {}is missing", kind(&found.expected));
    } else if found.expected.is_null() {
        place += &format!(": {}was not expected", kind(&found.actual));
    }
    if !verdict.decisions.is_empty() {
        place += &format!(" [{}]", verdict.decisions.join(", "));
    }
    format!("{}: {place}", verdict.failure.unwrap_or_default())
}

/// A path without the step that it begins with, and without the byte at its end.
fn own_place(path: &str) -> &str {
    let path = match path.split_once("].") {
        Some((step, rest)) if is_step(step) => rest,
        _ => path.strip_prefix("after the last step.").unwrap_or(path),
    };
    match path.rsplit_once(", from byte ") {
        Some((place, byte)) if byte.bytes().all(|digit| digit.is_ascii_digit()) => place,
        _ => path,
    }
}

fn is_step(text: &str) -> bool {
    let index = text
        .strip_prefix("steps[")
        .or_else(|| text.strip_prefix("setup["));
    index.is_some_and(|index| index.bytes().all(|digit| digit.is_ascii_digit()))
}

fn without_numbers(text: &str, instead: &str) -> String {
    let mut kept = String::new();
    let mut is_in_number = false;
    for character in text.chars() {
        match character.is_ascii_digit() {
            true if !is_in_number => kept += instead,
            true => {}
            false => kept.push(character),
        }
        is_in_number = character.is_ascii_digit();
    }
    kept
}

/// The text of an error without numbers; the places of panics stay, since they tell faults apart.
fn general(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.contains(".rs:") {
        true => word.to_string(),
        false => without_numbers(word, "N"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What is wrong if nodes are claimed, and all cases of the bundle have run, but none has opened a node.
pub(crate) fn unopened(bundle: &Bundle, verdicts: &[Verdict]) -> Option<String> {
    const UNSUPPORTED: &str = "the implementation does not support this ";
    let cases = || bundle.vectors.iter().flat_map(|vector| &vector.cases);
    if cases().count() != verdicts.len() {
        return None;
    }
    let mut reasons = Vec::new();
    let with_nodes = |need: &String| need == "exchange";
    for (_, one) in cases()
        .zip(verdicts)
        .filter(|(case, _)| case.needs.iter().any(with_nodes))
    {
        let reason = one.reason.as_deref().unwrap_or_default();
        let lacking = reason.strip_prefix(UNSUPPORTED);
        let unopened =
            lacking.and_then(|op| op.strip_prefix("open: ").or(op.strip_prefix("load: ")));
        match (one.status, lacking, unopened) {
            (Status::Skipped, _, Some(why)) => reasons.push(why.to_string()),
            (Status::Skipped, None, None) => {}
            _ => return None,
        }
    }
    let count = reasons.len();
    let most = by_count(reasons.into_iter());
    let (_, most) = most.first()?.split_once(' ')?;
    Some(format!(
        "{}: exchange is claimed, but open was unsupported in all {count} cases: {most}",
        bundle.protocol
    ))
}
