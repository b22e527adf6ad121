//! A running case: what it asks the implementation, and how it ends before its end.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{json, Value};

use crate::bundle::{texts, Bundle, Case};
use crate::choices::{hex, unhex, Choices};
use crate::host::shortened;
use crate::implementation::{CodecError, Implementation, Offer, Problem, Rejected};
use crate::matching::{first_difference, first_match, Bound, Difference};
use crate::panics::{catch, Panic};
use crate::reader::Reader;
use crate::readings::explaining;
use crate::verdict::{basis_at, fingerprint};

/// How a case ends before its end.
pub(crate) enum Ending {
    /// The implementation does not support something that its offer does not claim.
    Skipped(String),
    /// It depends on a decoder that may be wrong, for this reason.
    Undetermined(String),
    Failed(Box<Failure>),
}

pub(crate) type Checked<T> = Result<T, Ending>;

/// An unmet expectation.
pub(crate) struct Failure {
    pub class: &'static str,
    pub difference: Difference,
    pub stack: Option<String>,
}

impl From<(&'static str, Difference)> for Ending {
    fn from((class, difference): (&'static str, Difference)) -> Ending {
        Ending::Failed(Box::new(Failure {
            class,
            difference,
            stack: None,
        }))
    }
}

pub(crate) fn fail<T>(
    class: &'static str,
    path: impl Into<String>,
    expected: Value,
    actual: Value,
) -> Checked<T> {
    Err((
        class,
        Difference {
            path: path.into(),
            expected,
            actual,
            ..Difference::default()
        },
    )
        .into())
}

/// What the implementation is asked for: an op of adapter protocol 1.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub op: &'static str,
    /// Of a call or query.
    pub name: &'a str,
    pub config: Option<&'a Value>,
}

impl Asked<'_> {
    pub fn op(op: &'static str) -> Asked<'static> {
        Asked {
            op,
            name: "",
            config: None,
        }
    }
}

/// How far a case has come. The runner reads it if the implementation does not answer.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    pub op: &'static str,
    /// It was given bytes of a peer, or a call that it must refuse: readings of the document may end there.
    pub is_challenged: bool,
    /// The step that is being checked.
    pub place: String,
    /// Of the codec: the op, and what it is asked about; empty in a case without it.
    pub input: String,
    pub events: Vec<Event>,
}

/// An event at a node under test, for the text of a failure.
#[derive(Clone)]
pub(crate) struct Event {
    pub at: i64,
    /// The address of the node.
    pub node: String,
    /// What happened; before the bytes of a message its direction and the peer.
    pub what: String,
    pub digits: Option<String>,
}

pub(crate) struct Trial<'a> {
    pub bundle: &'a Bundle,
    pub case: &'a Case,
    pub content: &'a Value,
    pub offer: &'a Offer,
    pub subject: &'a mut dyn Implementation,
    pub reader: &'a Reader,
    pub choices: Rc<RefCell<Choices>>,
    pub bound: Bound,
    /// The branches taken that are only tolerated.
    pub tolerated: Vec<String>,
    /// The readings that the implementation declares, and that explain failures.
    pub readings: Vec<String>,
    pub progress: Arc<Mutex<Progress>>,
    /// Whether the implementation has panicked, so that its state is unknown.
    pub has_panicked: bool,
}

impl Progress {
    /// Whether no reading of the document explains this failure: no answer, though all that was asked is legal.
    pub fn owes_answer(&self, failure: &Failure) -> bool {
        let has_ended = ["crashed", "hung", "error"].contains(&failure.class);
        has_ended && !self.is_challenged && !["decode", "encode"].contains(&self.op)
    }
}

impl Trial<'_> {
    pub fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().expect("no panic while it is locked")
    }

    /// The readings that the implementation declares and that explain a failure.
    pub fn declared(&self, failure: &Failure) -> Vec<String> {
        if self.progress().owes_answer(failure) {
            return Vec::new();
        }
        let outcome = fingerprint(failure);
        let mut outcomes = vec![outcome.as_str(), "*", "!"];
        if failure.class == "events" {
            outcomes.push("*events");
        }
        explaining(
            &self.offer.readings,
            &self.content["basis"][self.checked_at()],
            &outcomes,
        )
    }

    /// Returns the step that is being checked, or the check of a case without steps.
    fn checked_at(&self) -> String {
        let place = self.progress().place.clone();
        if place.is_empty() {
            self.case.check.clone()
        } else {
            place
        }
    }

    /// Whether events of this kind are compared.
    pub fn compares(&self, kind: &str) -> bool {
        is_compared(self.bundle, self.offer, kind)
    }

    /// Asks the implementation. A panic is a crash; what it does not support is a failure if its offer claims it.
    pub fn ask<T>(
        &mut self,
        asked: Asked,
        call: impl FnOnce(&mut dyn Implementation) -> Result<T, Problem>,
    ) -> Checked<T> {
        self.progress().op = asked.op;
        let (problem, stack) = match catch(|| call(self.subject)) {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(problem)) => (problem, None),
            Err(Panic { message, stack }) => {
                self.has_panicked = true;
                (Problem::new("panic", message), stack)
            }
        };
        if problem.code == "unsupported" && !self.is_offered(asked) {
            let reason = format!(
                "the implementation does not support this {}: {}",
                asked.op, problem.message
            );
            return Err(Ending::Skipped(reason));
        }
        let class = match problem.code.as_str() {
            "panic" => "crashed",
            "timeout" => "hung",
            "garbled" => "garbled",
            "misshapen" => "misshapen",
            _ => "error",
        };
        let path = format!("reply to {}", asked.op);
        let difference = Difference {
            path,
            expected: json!({"ok": true}),
            actual: problem.plain(),
            ..Difference::default()
        };
        Err(Ending::Failed(Box::new(Failure {
            class,
            difference,
            stack,
        })))
    }

    /// Whether the offer claims this. Given states are never claimed, and configurations only with their defaults.
    fn is_offered(&self, asked: Asked) -> bool {
        let required = texts(&self.bundle.run["required_config"]);
        let mut members = asked
            .config
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        match asked.op {
            "load" => false,
            "open" | "restart" if members.any(|(name, _)| !required.contains(name)) => false,
            "decode" | "encode" => self.offer.has("codec"),
            "call" => self.offer.has(&format!("api.{}", asked.name)),
            "query" => self.offer.has(&format!("observe.{}", asked.name)),
            "crash" | "restart" => self.offer.has("restart"),
            "sent" | "stream" => self.offer.has(asked.op),
            _ => self.offer.has("exchange"),
        }
    }

    /// Returns the message of a datagram, or why it is rejected.
    pub fn decode(&mut self, digits: &str) -> Checked<Result<Value, Rejected>> {
        let datagram = unhex(digits).unwrap_or_default();
        self.ask(Asked::op("decode"), |subject| {
            rejection(subject.decode(&datagram))
        })
    }

    /// Returns the digits of the datagram of a message, or why it is rejected.
    pub fn encode(&mut self, message: &Value) -> Checked<Result<String, Rejected>> {
        let datagram = self.ask(Asked::op("encode"), |subject| {
            rejection(subject.encode(message))
        })?;
        Ok(datagram.map(|datagram| hex(&datagram)))
    }

    /// Returns a message: one of the bundle, or what the implementation decodes, if that can be relied on.
    pub fn read(&mut self, digits: &str) -> Checked<Value> {
        let reader = self.reader;
        if let Some(message) = reader.known(digits) {
            return Ok(message.clone());
        }
        if !self.offer.has("codec") {
            return Err(Ending::Skipped(
                "to read messages the codec is needed".into(),
            ));
        }
        let answer = self.decode(digits);
        let Some(doubt) = &reader.doubt else {
            return match answer {
                Ok(Ok(message)) => Ok(message),
                Ok(Err(Rejected { class, message })) => {
                    Ok(format!("no message: {class}: {message}").into())
                }
                Err(_) => Err(Ending::Undetermined(format!(
                    "it depends on a message on which the decoder ends: {}",
                    shortened(digits)
                ))),
            };
        };
        match answer {
            Ok(Ok(message)) if self.writes(&message, digits) => Ok(message),
            _ => Err(Ending::Undetermined(format!(
                "it depends on how the decoder reads a message, and the decoder fails {doubt}: see that case first"
            ))),
        }
    }

    /// Whether an encoder that is right for this type writes these bytes for a message.
    fn writes(&mut self, message: &Value, digits: &str) -> bool {
        let is_right = self.reader.is_written_right(message);
        is_right && matches!(self.encode(message), Ok(Ok(written)) if written == digits)
    }

    pub fn kind(&mut self, digits: &str) -> Checked<String> {
        Ok(self.read(digits)?["type"]
            .as_str()
            .unwrap_or("an invalid message")
            .to_string())
    }

    pub fn bytes_difference(
        &mut self,
        path: &str,
        expected: &str,
        actual: &str,
    ) -> Checked<Difference> {
        let pairs = expected
            .as_bytes()
            .chunks(2)
            .zip(actual.as_bytes().chunks(2));
        let same = pairs.take_while(|(one, other)| one == other).count();
        let mut shown = Difference {
            path: format!("{path}, from byte {same}"),
            expected: expected.into(),
            actual: actual.into(),
            ..Difference::default()
        };
        let message = format!("{}message", path.strip_suffix("bytes").unwrap_or(path));
        self.compare_messages(&mut shown, expected, actual, &message)?;
        Ok(shown)
    }

    /// Notes on a difference whether two datagrams are the same message, and which list's order alone differs; nothing if the
    /// decoder cannot say, unless another reading has other forms of a message here: then it is not known whether this is one.
    pub fn compare_messages(
        &mut self,
        shown: &mut Difference,
        one: &str,
        other: &str,
        path: &str,
    ) -> Checked<()> {
        match (self.read(one), self.read(other)) {
            (Ok(one), Ok(other)) => {
                shown.is_other_form = one == other;
                let read = first_difference(&one, &other, &None, path);
                let reordered = read.and_then(|difference| difference.reordered);
                shown.reordered = shown.reordered.take().or(reordered);
                Ok(())
            }
            (Err(failed @ Ending::Failed(_)), _) | (_, Err(failed @ Ending::Failed(_))) => {
                Err(failed)
            }
            (Err(unknown), _) | (_, Err(unknown)) if self.has_other_forms() => Err(unknown),
            _ => Ok(()),
        }
    }

    /// Whether another reading has other forms of a message at this place.
    fn has_other_forms(&self) -> bool {
        let at = self.checked_at();
        let outcomes = basis_at(self.content, &at).as_object();
        outcomes
            .into_iter()
            .flatten()
            .any(|(_, outcomes)| outcomes.get("=").is_some())
    }

    /// Fails if the value does not match; keeps the names that it binds.
    pub fn match_value(
        &mut self,
        class: &'static str,
        path: &str,
        expected: &Value,
        actual: &Value,
    ) -> Checked<()> {
        if let Some(names) = first_match(expected, Some(actual), &self.bound) {
            self.bound = names;
            return Ok(());
        }
        let difference =
            first_difference(expected, actual, &self.bound, path).expect("it does not match");
        Err((class, difference).into())
    }
}

fn rejection<T>(answer: Result<T, CodecError>) -> Result<Result<T, Rejected>, Problem> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(CodecError::Rejected(rejected)) => Ok(Err(rejected)),
        Err(CodecError::Problem(problem)) => Err(problem),
    }
}

pub(crate) fn is_compared(bundle: &Bundle, offer: &Offer, kind: &str) -> bool {
    offer.has("events")
        && match &offer.events {
            Some(kinds) => kinds.iter().any(|one| one == kind),
            None => !texts(&bundle.run["optional_events"])
                .iter()
                .any(|one| one == kind),
        }
}
