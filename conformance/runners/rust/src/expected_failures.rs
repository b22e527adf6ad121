//! The list of expected failures, the file of `peerproof run --known-failing`. It is checked in both directions.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::verdict::{Status, Verdict};

const COLUMNS: [&str; 5] = [
    "id-or-pattern",
    "failure-class",
    "expiry-or-dash",
    "link",
    "reason",
];

const FAILURES: [&str; 20] = [
    "crashed",
    "hung",
    "flooded",
    "garbled",
    "misshapen",
    "error",
    "bytes",
    "value",
    "rejected",
    "accepted",
    "class",
    "messages",
    "events",
    "streams",
    "observed",
    "refused",
    "choice",
    "clock",
    "changed",
    "unserving",
];

pub(crate) struct ExpectedFailures {
    file: String,
    entries: Vec<Entry>,
}

/// One line of the list.
struct Entry {
    pattern: String,
    /// Whether the pattern can match more than the id that it spells.
    has_wildcards: bool,
    failure: String,
    expiry: Option<String>,
    reason: String,
    line: usize,
}

impl ExpectedFailures {
    /// Reads the list. The error names the line.
    pub fn load(path: &Path) -> Result<ExpectedFailures, String> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            format!("{file}: the list of expected failures cannot be read: {error}")
        })?;
        let mut entries: Vec<Entry> = Vec::new();
        for (number, line) in text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line.trim()))
        {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry =
                Entry::parse(line, number).map_err(|what| format!("{file}:{number}: {what}"))?;
            let is_same = |other: &&Entry| {
                (&other.pattern, &other.failure) == (&entry.pattern, &entry.failure)
            };
            if let Some(Entry {
                pattern,
                failure,
                line,
                ..
            }) = entries.iter().find(is_same)
            {
                return Err(format!(
                    "{file}:{number}: {pattern} is already listed as {failure}, in line {line}"
                ));
            }
            entries.push(entry);
        }
        Ok(ExpectedFailures { file, entries })
    }

    /// Returns the verdict with the list applied. A case that fails as listed is known, even if that is tolerated.
    pub fn apply(&self, mut verdict: Verdict) -> Verdict {
        let named: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.fits(&verdict.id))
            .collect();
        let Some(first) = named.first() else {
            return verdict;
        };
        let place = format!("{}:{}", self.file, first.line);
        match verdict.status {
            Status::Skipped | Status::Undetermined => {}
            _ if verdict.failure.is_none() => {
                verdict.status = Status::Stale;
                verdict.reason = Some(format!("it passes, though {place} lists it"));
            }
            _ => match named
                .iter()
                .find(|entry| Some(entry.failure.as_str()) == verdict.failure)
            {
                Some(entry) => {
                    verdict.status = Status::Known;
                    verdict.reason = Some(entry.reason.clone());
                }
                None => {
                    let failure = verdict.failure.unwrap_or_default();
                    let listed = format!(
                        "listed as {} in {place}, but it fails as {failure}",
                        first.failure
                    );
                    verdict.reason = Some(
                        verdict
                            .reason
                            .map_or(listed.clone(), |reason| format!("{reason}; {listed}")),
                    );
                }
            },
        }
        verdict
    }

    /// What is wrong if listed cases pass, once for all of them; `adapter` is the command that runs the vectors by peerproof.
    pub fn stale(&self, verdicts: &[Verdict], adapter: &str) -> Option<String> {
        let mut found = verdicts.iter().filter(|one| one.status == Status::Stale);
        let first = found.next()?;
        let cases = match found.count() {
            0 => String::new(),
            more => format!("{} cases, such as ", more + 1),
        };
        let (status, id, why) = (first.status, &first.id, first.why());
        let remedy = match adapter {
            "" => String::new(),
            _ => format!(
                "\n  to remove all such lines: {adapter} --known-failing {} --update-known-failing",
                self.file
            ),
        };
        Some(format!("{status}: {cases}{id}: {why}{remedy}"))
    }

    /// The faults of the list itself: entries that have expired, or that match none of these cases.
    pub fn problems<'a>(&self, ids: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
        let today = today();
        let mut problems = Vec::new();
        for entry in &self.entries {
            let Entry {
                pattern,
                expiry,
                line,
                ..
            } = entry;
            let place = format!("{}:{line}", self.file);
            if let Some(expiry) = expiry.as_ref().filter(|expiry| **expiry < today) {
                problems.push(format!(
                    "{place}: {pattern} expired on {expiry}: fix the bug, or set a new date"
                ));
            }
            if !ids.clone().any(|id| entry.fits(id)) {
                problems.push(format!(
                    "{place}: no case matches '{pattern}': remove the entry"
                ));
            }
        }
        problems
    }
}

impl Entry {
    fn parse(line: &str, number: usize) -> Result<Entry, String> {
        let mut rest = line;
        let mut words = Vec::new();
        for _ in 1..COLUMNS.len() {
            let (word, others) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            words.push(word.to_string());
            rest = others.trim_start();
        }
        words.push(rest.to_string());
        words.retain(|word| !word.is_empty());
        let [pattern, failure, expiry, _link, reason] =
            <[String; 5]>::try_from(words).map_err(|words| {
                format!(
                    "expected {}; missing: {}",
                    COLUMNS.join(" "),
                    COLUMNS[words.len()..].join(", ")
                )
            })?;
        if !FAILURES.contains(&failure.as_str()) {
            return Err(format!(
                "expected one of {}, found '{failure}'",
                FAILURES.join(", ")
            ));
        }
        if expiry != "-" && !is_date(&expiry) {
            return Err(format!(
                "expected a date such as 2027-06-30, or -, found '{expiry}'"
            ));
        }
        let expiry = Some(expiry).filter(|expiry| expiry != "-");
        Ok(Entry {
            has_wildcards: pattern.contains(['*', '?', '[']),
            pattern,
            failure,
            expiry,
            reason,
            line: number,
        })
    }

    fn fits(&self, id: &str) -> bool {
        self.pattern == id || (self.has_wildcards && fits(&self.pattern, id))
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |at: usize| parts[at].parse::<u32>().unwrap_or_default();
    let is_digits = text
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_digit());
    is_digits
        && parts.iter().map(|part| part.len()).eq([4, 2, 2])
        && (1..=12).contains(&number(1))
        && (1..=31).contains(&number(2))
}

/// The date in UTC, such as 2027-06-30.
fn today() -> String {
    let days = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() / 86_400) as i64;
    // Howard Hinnant's civil_from_days: years begin in March, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Whether an id is this text, or matches it as a pattern with `*`, `?`, `[…]` and `[!…]`.
fn fits(pattern: &str, id: &str) -> bool {
    let (pattern, id): (Vec<char>, Vec<char>) = (pattern.chars().collect(), id.chars().collect());
    pattern == id || matches(&pattern, &id)
}

fn matches(pattern: &[char], id: &[char]) -> bool {
    match (pattern.first(), id.first()) {
        (None, _) => id.is_empty(),
        (Some('*'), _) => (0..=id.len()).any(|taken| matches(&pattern[1..], &id[taken..])),
        (Some('?'), Some(_)) => matches(&pattern[1..], &id[1..]),
        (Some('['), Some(&character)) => match bracket(&pattern[1..]) {
            Some((is_negated, set, rest)) => {
                has(set, character) != is_negated && matches(rest, &id[1..])
            }
            None => character == '[' && matches(&pattern[1..], &id[1..]),
        },
        (Some(one), Some(other)) => one == other && matches(&pattern[1..], &id[1..]),
        (Some(_), None) => false,
    }
}

/// Splits what follows a bracket: whether the set is negated, the set, and the rest. None if the bracket is not closed.
fn bracket(pattern: &[char]) -> Option<(bool, &[char], &[char])> {
    let is_negated = pattern.first() == Some(&'!');
    let start = usize::from(is_negated);
    // A bracket that closes at once is part of the set.
    let end = (start + 1..pattern.len()).find(|&at| pattern[at] == ']')?;
    Some((is_negated, &pattern[start..end], &pattern[end + 1..]))
}

fn has(set: &[char], character: char) -> bool {
    match set {
        [low, '-', high, rest @ ..] => (low..=high).contains(&&character) || has(rest, character),
        [one, rest @ ..] => *one == character || has(rest, character),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_fnmatch() {
        for (pattern, id, is_fit) in [
            ("a/b#c", "a/b#c", true),
            ("a/*#c", "a/b/d#c", true),
            ("a/?#c", "a/#c", false),
            ("a[1-3]", "a2", true),
            ("a[!1-3]", "a2", false),
            ("a[]]", "a]", true),
            ("a[x", "a[x", true),
            ("[ab]*", "bcd", true),
            ("*b", "abab", true),
        ] {
            assert_eq!(fits(pattern, id), is_fit, "{pattern} {id}");
        }
    }

    #[test]
    fn lines_have_five_columns() {
        let entry = Entry::parse("a/b  bytes  2027-06-30  https://x  not yet  written", 3)
            .ok()
            .unwrap();
        assert_eq!(
            (entry.pattern.as_str(), entry.failure.as_str()),
            ("a/b", "bytes")
        );
        assert_eq!(
            (entry.expiry.as_deref(), entry.reason.as_str()),
            (Some("2027-06-30"), "not yet  written")
        );
        assert!(Entry::parse("a/b bytes -", 1)
            .err()
            .unwrap()
            .ends_with("missing: link, reason"));
        assert!(Entry::parse("a/b byte - - x", 1)
            .err()
            .unwrap()
            .starts_with("expected one of crashed, "));
        assert!(Entry::parse("a/b bytes soon - x", 1)
            .err()
            .unwrap()
            .starts_with("expected a date"));
    }

    #[test]
    fn an_entry_expires_after_its_day() {
        let line = |day: &str| {
            Entry::parse(&format!("a/b bytes {day} - x"), 1)
                .ok()
                .unwrap()
        };
        let list = ExpectedFailures {
            file: "list".into(),
            entries: vec![line(&today()), line("2024-01-01")],
        };
        let problems = list.problems(["a/b"].into_iter());
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("list:1: a/b expired on 2024-01-01: "));
    }

    #[test]
    fn today_is_a_date() {
        assert!(is_date(&today()) && today().as_str() > "2024-01-01");
    }
}
