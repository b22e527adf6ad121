//! The verdict on a case: how it follows from the first unmet expectation, and its text.

use std::fmt;

use serde_json::{json, Value};

use crate::blake2b::blake2b;
use crate::bundle::{items, Bundle, Case, Vector};
use crate::implementation::Offer;
use crate::matching::{canonical, Difference};
use crate::script::{AFTER, CHECKING};
use crate::trial::Failure;

const MOST_INPUT: usize = 400; // characters of what the codec is asked about

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Passed,
    Failed,
    Crashed,
    /// The time limit was exceeded.
    Hung,
    Flooded,
    /// It fails as the list of expected failures says.
    Known,
    /// It passes although the list of expected failures has it.
    Stale,
    /// Only decisions of the suite require what is not met.
    Differs,
    Skipped,
    /// It depends on a decoder that may be wrong.
    Undetermined,
    Tolerated,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}", format!("{self:?}").to_lowercase())
    }
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub id: String,
    pub status: Status,
    /// The class of the failure, as in docs/explanation/failing-vector.
    pub failure: Option<&'static str>,
    /// The decisions on which a failed expectation rests; none if the document's words require it.
    pub decisions: Vec<String>,
    /// The first difference.
    pub difference: Option<Difference>,
    pub reason: Option<String>,
    /// Declared readings that the case confirms, such as `BA-12: descending`.
    pub readings: Vec<String>,
    /// Of a panic, if `RUST_BACKTRACE` is set.
    pub stack: Option<String>,
    /// Of a failed case of the codec: the op, and what it was asked about.
    pub input: Option<String>,
    /// The last events of a failed case, a line for each.
    pub happened: Vec<String>,
    pub vector: String,
    pub title: String,
    /// must, should or may.
    pub level: String,
    pub clauses: Vec<String>,
}

impl Verdict {
    pub(crate) fn new(
        vector: &Vector,
        case: &Case,
        status: Status,
        reason: Option<String>,
    ) -> Verdict {
        Verdict {
            id: case.id.clone(),
            status,
            failure: None,
            decisions: Vec::new(),
            difference: None,
            reason,
            readings: Vec::new(),
            stack: None,
            input: None,
            happened: Vec::new(),
            vector: vector.id.clone(),
            title: vector.title.clone(),
            level: vector.level.clone(),
            clauses: vector.clauses.clone(),
        }
    }

    /// `owes`: no answer to a legal request, which no level tolerates.
    pub(crate) fn with_failure(
        mut self,
        failure: Failure,
        decisions: Vec<String>,
        owes: bool,
    ) -> Verdict {
        let broken = match failure.class {
            "crashed" => Some(Status::Crashed),
            "hung" => Some(Status::Hung),
            "flooded" => Some(Status::Flooded),
            _ => None,
        };
        self.status = match broken {
            None if self.level != "must" && !owes => {
                self.reason = Some(format!("the vector says {}", self.level));
                Status::Tolerated
            }
            _ if !decisions.is_empty() => Status::Differs,
            broken => broken.unwrap_or(Status::Failed),
        };
        self.failure = Some(failure.class);
        self.difference = Some(failure.difference);
        self.stack = failure.stack;
        self.decisions = decisions;
        self
    }

    /// Whether the document's own words are violated.
    pub fn is_violation(&self) -> bool {
        matches!(
            self.status,
            Status::Failed | Status::Crashed | Status::Hung | Status::Flooded
        )
    }

    /// Whether a test of this case fails: it is a violation, or passes although it is listed as an expected failure.
    pub fn is_failure(&self) -> bool {
        self.is_violation() || self.status == Status::Stale
    }

    /// Whether the vector says should, and that is not met.
    pub fn is_unmet_should(&self) -> bool {
        self.status == Status::Tolerated && self.failure.is_some() && self.level == "should"
    }

    /// Why the case has its status, in a line.
    pub fn why(&self) -> String {
        match self.status {
            Status::Differs => {
                let decisions = self.decisions.join(", ");
                format!("only {decisions} asks for more, not the document")
            }
            _ => self.reason.clone().unwrap_or_default(),
        }
    }

    /// The result as text: the clauses behind it, the first difference, what happened, and where to read on.
    pub fn text(&self, bundle: &Bundle) -> String {
        if self.status == Status::Stale {
            return format!("{}: {}", self.status, self.why());
        }
        let mut lines = vec![format!("{}: {}", self.status, self.title)];
        let rests = if self.decisions.is_empty() {
            &self.clauses
        } else {
            &self.decisions
        };
        let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
        for name in rests {
            let clause = &bundle.clauses[name];
            let standing = match clause["decision"].as_bool() {
                Some(true) => "decision".to_string(),
                _ => word(&clause["level"]),
            };
            let text = word(&clause["text"]);
            lines.push(format!("  {name} {standing}: {text}"));
            lines.push(format!("    in {}", word(&clause["read"])));
        }
        lines.extend(self.reason.iter().map(|reason| format!("  {reason}")));
        lines.extend(
            self.input
                .iter()
                .map(|input| format!("  input: {}", shortened(input))),
        );
        if let (Some(failure), Some(difference)) = (self.failure, &self.difference) {
            lines.push(format!(
                "  first difference ({failure}): {}",
                difference.path
            ));
            lines.push(format!("    expected  {}", canonical(&difference.expected)));
            lines.push(format!("    actual    {}", canonical(&difference.actual)));
            lines.extend(
                difference
                    .reordered
                    .iter()
                    .map(|list| format!("    {list}: the same items in another order")),
            );
        }
        if let Some(stack) = &self.stack {
            lines.push("  stack".into());
            lines.extend(stack.lines().take(20).map(|line| format!("    {line}")));
        }
        lines.extend(self.happened.iter().cloned());
        let first = rests.first().map_or("", String::as_str);
        lines.push(format!(
            "  read on: peerproof explain {first}; peerproof vectors show {}",
            self.vector
        ));
        lines.join("\n")
    }

    /// The result as a line of JSON, to compare runners.
    pub fn json(&self) -> String {
        let path = self.difference.as_ref().map(|difference| &difference.path);
        let (id, status, failure, decisions) = (
            &self.id,
            self.status.to_string(),
            self.failure,
            &self.decisions,
        );
        let (place, reason) = (path, &self.reason);
        json!({"id": id, "status": status, "failure": failure, "decisions": decisions, "where": place, "reason": reason, "readings": self.readings})
            .to_string()
    }
}

/// The beginning of what the codec is asked about, and its length.
fn shortened(input: &str) -> String {
    match input.char_indices().nth(MOST_INPUT) {
        None => input.to_string(),
        Some((end, _)) => format!("{}… ({} characters)", &input[..end], input.chars().count()),
    }
}

/// Returns the decisions on which an unmet expectation rests: those of the basis of the place, or none.
pub(crate) fn decisions(
    (bundle, vector, case): (&Bundle, &Vector, &Case),
    offer: &Offer,
    place: &str,
    failure: &Failure,
) -> Vec<String> {
    let outcome = match failure.class {
        "error" | "garbled" | "misshapen" => return Vec::new(), // faults of the adapter
        "crashed" | "hung" => "!".to_string(),
        _ => fingerprint(failure),
    };
    let content = bundle.content(vector);
    let basis = basis_at(&content, if place.is_empty() { &case.check } else { place });
    let mut named = Vec::new();
    let mut resting = Vec::new();
    let mut is_open = false;
    for (key, outcomes) in basis.as_object().into_iter().flatten() {
        let outcomes: Vec<&str> = outcomes
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        if outcomes.contains(&outcome.as_str()) {
            add_words(&mut named, key);
        }
        if outcomes.iter().all(|&one| one == "=" || one == "~") {
            continue;
        }
        add_words(&mut resting, key);
        is_open |= outcomes.iter().any(|&one| {
            one == "!" || one == "*" || (one == "*events" && failure.class == "events")
        });
    }
    if !named.is_empty() {
        return named;
    }
    let makes_own_choices = !offer.oracle && case.needs.iter().any(|need| need == "choices.oracle");
    if outcome != "!" && (is_open || makes_own_choices) && !resting.is_empty() {
        return resting;
    }
    let has_only_decisions = vector.clauses.iter().all(|clause| is_decision(clause));
    if has_only_decisions {
        vector.clauses.clone()
    } else {
        Vec::new()
    }
}

fn add_words(list: &mut Vec<String>, key: &str) {
    for word in key.split_whitespace() {
        if !list.iter().any(|one| one == word) {
            list.push(word.to_string());
        }
    }
}

/// Whether this is the id of a decision, such as BA-12.
fn is_decision(clause: &str) -> bool {
    let number = clause
        .split_once("A-")
        .filter(|(protocol, _)| protocol.len() == 1)
        .map(|(_, number)| number);
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// The decisions behind the expectation at this place, or behind the next one in the script, with the outcomes of each.
pub(crate) fn basis_at<'a>(content: &'a Value, place: &str) -> &'a Value {
    let basis = &content["basis"];
    if let Some(found) = basis.get(place) {
        return found;
    }
    let steps = items(&content["steps"])
        .iter()
        .enumerate()
        .map(|(at, step)| (format!("steps[{at}]"), step));
    let mut later = steps.skip_while(|(name, _)| name != place);
    let next = later.find(|(_, step)| CHECKING.iter().any(|&checking| step["do"] == checking));
    &basis[next.map_or(AFTER.to_string(), |(name, _)| name)]
}

/// The hash of an outcome, under which the basis lists the outcomes of other readings.
pub(crate) fn fingerprint(failure: &Failure) -> String {
    let Difference {
        path,
        actual,
        is_other_form,
        has_same_meaning,
        ..
    } = &failure.difference;
    if *has_same_meaning {
        return "~".into();
    }
    if *is_other_form {
        return "=".into();
    }
    let path = if failure.class == "events" {
        without_index(path)
    } else {
        path
    };
    blake2b(
        &canonical(&json!([failure.class, path, without_reasons(actual)])),
        6,
    )
}

/// A path without an index at its end.
fn without_index(path: &str) -> &str {
    let start = path
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['));
    match start {
        Some((start, index))
            if !index.is_empty() && index.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            start
        }
        _ => path,
    }
}

/// An outcome without why a message was rejected, and without the words in which a call was refused.
fn without_reasons(actual: &Value) -> Value {
    let mut outcome = actual.clone();
    if outcome["rejected"].is_object() {
        outcome["rejected"] = true.into();
    }
    if let Some(reason) = outcome.get_mut("refused").and_then(Value::as_object_mut) {
        reason.remove("message");
    }
    outcome
}
