//! Runs the cases of a bundle, each within a time limit, and decides their verdicts.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value};

use crate::blake2b::blake2b;
use crate::bundle::{items, Bundle, Case, LoadError, Vector};
use crate::checks::check;
use crate::choices::{unhex, Choices};
use crate::expected_failures::ExpectedFailures;
use crate::host::shortened;
use crate::implementation::{CodecError, Implementation, Make, Offer, Plug};
use crate::matching::Difference;
use crate::panics::catch;
use crate::reader::{type_of, Reader};
use crate::readings::{unconfirmed, unknown};
use crate::summary::{difference, summary, unopened, Settings};
use crate::trial::{is_compared, Checked, Ending, Event, Progress, Trial};
use crate::verdict::{decisions, Status, Verdict};

const LIMIT: Duration = Duration::from_secs(10);
const STACK: usize = 64 << 20; // messages may be nested deeply
const LAST_EVENTS: usize = 20; // that the text of a failure shows
const MOST_WHOLE: usize = 3; // cases with the same first difference that are described whole

/// Runs the cases of a bundle against an implementation. Several threads may share it.
pub struct Runner {
    bundle: Arc<Bundle>,
    make: Make,
    limit: Duration,
    expected: Option<ExpectedFailures>,
    places: HashMap<String, (usize, usize)>,
    idle: Mutex<Vec<Worker>>,
    offer: OnceLock<Offer>,
    decoding: OnceLock<Decoding>,
    ended: Mutex<HashMap<String, Verdict>>, // the cases that were run, by their ids
    alike: Mutex<HashMap<String, Vec<String>>>, // what was described: ids by the first difference
}

/// The verdicts on the cases of the decoder, which run first, and what follows from them.
struct Decoding {
    verdicts: HashMap<(usize, usize), Verdict>,
    reader: Arc<Reader>,
}

impl Runner {
    /// `make` makes the implementation: for each thread that runs cases, and again after it has panicked or not answered.
    pub fn new<I: Implementation + 'static>(
        bundle: Bundle,
        make: impl Fn() -> I + Send + Sync + 'static,
    ) -> Runner {
        Runner::of(bundle, &Plug::new("", "", make))
    }

    /// The same for an implementation that an adapter offers too.
    pub fn of(bundle: Bundle, plug: &Plug) -> Runner {
        let mut places = HashMap::new();
        for (at, vector) in bundle.vectors.iter().enumerate() {
            places.extend(
                vector
                    .cases
                    .iter()
                    .enumerate()
                    .map(|(case, one)| (one.id.clone(), (at, case))),
            );
        }
        Runner {
            bundle: Arc::new(bundle),
            make: Arc::clone(&plug.make),
            limit: LIMIT,
            expected: None,
            places,
            idle: Mutex::default(),
            offer: OnceLock::new(),
            decoding: OnceLock::new(),
            ended: Mutex::default(),
            alike: Mutex::default(),
        }
    }

    /// Sets how long a case may take; 10 seconds otherwise.
    pub fn time_limit(mut self, limit: Duration) -> Runner {
        self.limit = limit;
        self
    }

    /// Takes the list of expected failures from the file of `peerproof run --known-failing`.
    pub fn known_failing(mut self, path: impl AsRef<Path>) -> Result<Runner, LoadError> {
        self.expected = Some(ExpectedFailures::load(path.as_ref()).map_err(LoadError)?);
        Ok(self)
    }

    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The ids of all cases, in the order of the suite.
    pub fn ids(&self) -> impl Iterator<Item = &str> + Clone {
        self.bundle
            .vectors
            .iter()
            .flat_map(|vector| &vector.cases)
            .map(|case| case.id.as_str())
    }

    /// The faults of the list of expected failures itself, entries that have expired or match no case, and declared readings that
    /// are not described.
    pub fn problems(&self) -> Vec<String> {
        Runner::problems_of(&[self])
    }

    /// The same of the runners of several protocols, which share the list: entries that match no case of any of them.
    pub fn problems_of(runners: &[&Runner]) -> Vec<String> {
        let mut problems: Vec<String> = runners
            .iter()
            .flat_map(|runner| unknown(&runner.bundle.readings, &runner.offer().readings))
            .collect();
        let ids = runners.iter().flat_map(|runner| runner.ids());
        if let Some(expected) = runners.iter().find_map(|runner| runner.expected.as_ref()) {
            problems.extend(expected.problems(ids));
        }
        problems
    }

    /// The text of a verdict, in one line if three others with the same first difference have been described whole.
    pub fn describe(&self, verdict: &Verdict) -> String {
        if verdict.difference.is_none() {
            return verdict.text(&self.bundle);
        }
        let difference = difference(verdict);
        let mut alike = self.alike.lock().expect("no panic while it is locked");
        let ids = alike.entry(difference.clone()).or_default();
        ids.push(verdict.id.clone());
        if ids.len() <= MOST_WHOLE {
            return verdict.text(&self.bundle);
        }
        let line = format!(
            "{}: {}: {difference}, as {}",
            verdict.status, verdict.id, ids[0]
        );
        match &verdict.reason {
            Some(reason) => format!("{line}\n  {reason}"),
            None => line,
        }
    }

    /// How many of the cases that were run have which verdict, and groups of those that are not as they should be; None if none was
    /// run.
    pub fn summary(&self, settings: &Settings) -> Option<String> {
        let verdicts = self.ended();
        let doubt = || self.decoding().reader.doubt.as_deref();
        (!verdicts.is_empty()).then(|| summary(&self.bundle, &verdicts, doubt(), settings))
    }

    /// What is wrong besides single cases, once cases have run: declared readings that none confirms, nodes of which none opens,
    /// and expected failures that pass.
    pub fn problems_at_end(&self, settings: &Settings) -> Vec<String> {
        let verdicts = self.ended();
        if verdicts.is_empty() {
            return Vec::new();
        }
        let mut problems = unconfirmed(&self.offer().readings, &verdicts);
        problems.extend(unopened(&self.bundle, &verdicts));
        let expected = self.expected.as_ref();
        problems.extend(expected.and_then(|list| list.stale(&verdicts, settings.adapter)));
        problems
    }

    /// The verdicts on the cases that were run, in the order of the suite.
    fn ended(&self) -> Vec<Verdict> {
        let ended = self.ended.lock().expect("no panic while it is locked");
        self.ids().filter_map(|id| ended.get(id)).cloned().collect()
    }

    /// Runs all cases, one after the other.
    pub fn run(&self) -> impl Iterator<Item = Verdict> + '_ {
        self.ids().map(|id| self.check(id))
    }

    /// Runs the case of this id.
    ///
    /// # Panics
    ///
    /// If there is no such case, or the implementation cannot be made.
    pub fn check(&self, id: &str) -> Verdict {
        let Some(&place) = self.places.get(id) else {
            panic!("the bundle has no case {id}");
        };
        let decoding = self.decoding();
        let verdict = match decoding.verdicts.get(&place) {
            Some(verdict) => verdict.clone(),
            None => self.check_at(place, &decoding.reader),
        };
        let verdict = match &self.expected {
            Some(expected) => expected.apply(verdict),
            None => verdict,
        };
        let mut ended = self.ended.lock().expect("no panic while it is locked");
        ended.insert(verdict.id.clone(), verdict.clone());
        verdict
    }

    /// Runs the cases of the decoder first: a wrong one must not say what a message is.
    fn decoding(&self) -> &Decoding {
        self.decoding.get_or_init(|| {
            let known = Arc::new(Reader::new(&self.bundle));
            let mut verdicts = HashMap::new();
            let mut doubt = None;
            for place in self.places_of(&["decode", "rejects"]) {
                let verdict = self.check_at(place, &known);
                let is_wrong = match self.case_at(place).1.check.as_str() {
                    "decode" => verdict.failure.is_some(),
                    _ => verdict.failure == Some("accepted"),
                };
                if is_wrong {
                    doubt.get_or_insert_with(|| verdict.id.clone());
                }
                verdicts.insert(place, verdict);
            }
            let reader = match doubt {
                Some(doubt) => {
                    let doubtful = Arc::new(known.doubting(doubt.clone(), HashSet::new()));
                    Arc::new(known.doubting(doubt, self.written_types(&doubtful)))
                }
                None => known,
            };
            Decoding { verdicts, reader }
        })
    }

    /// The types of messages whose cases the encoder passes all.
    fn written_types(&self, reader: &Arc<Reader>) -> HashSet<String> {
        let (mut passed, mut failed) = (HashSet::new(), HashSet::new());
        for place in self.places_of(&["encode"]) {
            let content = self.bundle.content(self.case_at(place).0);
            let kind = type_of(&content["value"]).unwrap_or_default().to_string();
            match self.check_at(place, reader).status {
                Status::Passed => passed.insert(kind),
                _ => failed.insert(kind),
            };
        }
        passed.difference(&failed).cloned().collect()
    }

    /// The places of all cases with one of these checks, in the order of the bundle.
    fn places_of(&self, checks: &[&str]) -> Vec<(usize, usize)> {
        let places = self.ids().map(|id| self.places[id]);
        places
            .filter(|&place| checks.contains(&self.case_at(place).1.check.as_str()))
            .collect()
    }

    fn offer(&self) -> &Offer {
        self.offer.get_or_init(|| {
            let worker = self.worker();
            let offer = worker.offer.clone();
            self.idle
                .lock()
                .expect("no panic while it is locked")
                .push(worker);
            offer
        })
    }

    fn worker(&self) -> Worker {
        let idle = self.idle.lock().expect("no panic while it is locked").pop();
        idle.unwrap_or_else(|| Worker::start(Arc::clone(&self.bundle), Arc::clone(&self.make)))
    }

    fn case_at(&self, (vector, case): (usize, usize)) -> (&Vector, &Case) {
        let vector = &self.bundle.vectors[vector];
        (vector, &vector.cases[case])
    }

    fn check_at(&self, place: (usize, usize), reader: &Arc<Reader>) -> Verdict {
        let (vector, case) = self.case_at(place);
        let offer = self.offer();
        if let Some(reason) = missing(&self.bundle, vector, case, offer) {
            return Verdict::new(vector, case, Status::Skipped, Some(reason));
        }
        let worker = self.worker();
        let progress = Arc::<Mutex<Progress>>::default();
        let job = Job {
            place,
            reader: Arc::clone(reader),
            progress: Arc::clone(&progress),
        };
        worker.jobs.send(job).expect("a worker waits for jobs");
        let done = match worker.done.recv_timeout(self.limit) {
            Ok(done) => {
                if !done.is_broken {
                    self.idle
                        .lock()
                        .expect("no panic while it is locked")
                        .push(worker);
                }
                done
            }
            Err(RecvTimeoutError::Timeout) => hung(&progress, self.limit),
            Err(RecvTimeoutError::Disconnected) => {
                panic!("the runner itself failed in case {}: see above", case.id)
            }
        };
        let verdict =
            |status: Status, reason: Option<String>| Verdict::new(vector, case, status, reason);
        let with_readings = |verdict: Verdict| Verdict {
            readings: done.readings.clone(),
            ..verdict
        };
        match done.ending {
            Ok(()) if done.tolerated.is_empty() => with_readings(verdict(Status::Passed, None)),
            Ok(()) => with_readings(verdict(Status::Tolerated, Some(done.tolerated.join("; ")))),
            Err(Ending::Skipped(reason)) => verdict(Status::Skipped, Some(reason)),
            Err(Ending::Undetermined(reason)) => verdict(Status::Undetermined, Some(reason)),
            Err(Ending::Failed(failure)) => {
                let progress = progress
                    .lock()
                    .expect("no panic while it is locked")
                    .clone();
                let owes = progress.owes_answer(&failure);
                let at = (&*self.bundle, vector, case);
                let decisions = if owes {
                    Vec::new()
                } else {
                    decisions(at, offer, &progress.place, &failure)
                };
                let verdict = verdict(Status::Failed, None).with_failure(*failure, decisions, owes);
                let input = progress.input;
                Verdict {
                    input: Some(input).filter(|input| !input.is_empty()),
                    happened: done.happened,
                    ..verdict
                }
            }
        }
    }
}

/// Returns what a case needs that the implementation does not offer.
fn missing(bundle: &Bundle, vector: &Vector, case: &Case, offer: &Offer) -> Option<String> {
    for need in &case.needs {
        let is_compared = need
            .strip_prefix("events.")
            .is_some_and(|kind| is_compared(bundle, offer, kind));
        let is_asking = need == "choices.oracle" && offer.oracle;
        if !(offer.has(need) || is_compared || is_asking) {
            return Some(format!("the implementation does not offer {need}"));
        }
    }
    if !offer.limits.is_empty() {
        let content = bundle.content(vector);
        let members = items(&content["nodes"])
            .iter()
            .filter_map(|node| node["config"].as_object())
            .flatten();
        for (name, value) in members {
            if let Some(most) = offer
                .limits
                .get(name)
                .filter(|most| value.as_i64().is_some_and(|value| value > **most))
            {
                return Some(format!(
                    "the implementation takes at most {most} for {name}"
                ));
            }
        }
    }
    let is_blind = !offer
        .capabilities
        .iter()
        .any(|capability| capability.starts_with("observe."));
    (case.check == "unchanged" && is_blind)
        .then(|| "the implementation offers nothing to observe".into())
}

// ---- workers

/// A thread with an implementation of its own, which runs one case after the other.
struct Worker {
    offer: Offer,
    jobs: Sender<Job>,
    done: Receiver<Done>,
}

struct Job {
    place: (usize, usize),
    reader: Arc<Reader>,
    progress: Arc<Mutex<Progress>>,
}

/// How a case ended.
struct Done {
    ending: Checked<()>,
    tolerated: Vec<String>,
    readings: Vec<String>,
    happened: Vec<String>,
    /// Whether the implementation is in an unknown state.
    is_broken: bool,
}

impl Worker {
    fn start(bundle: Arc<Bundle>, make: Make) -> Worker {
        let (jobs, received) = channel();
        let (finished, done) = channel();
        let (made, offered) = channel();
        let work = move || {
            let mut subject = match catch(|| make()) {
                Ok(subject) => subject,
                Err(panic) => return made.send(Err(panic.message)).unwrap_or_default(),
            };
            let offer = subject.offer();
            made.send(Ok(offer.clone())).unwrap_or_default();
            for job in received {
                if finished
                    .send(work_on(job, &bundle, &offer, subject.as_mut()))
                    .is_err()
                {
                    return; // it took too long
                }
            }
        };
        thread::Builder::new()
            .stack_size(STACK)
            .spawn(work)
            .expect("a thread can be started");
        match offered.recv() {
            Ok(Ok(offer)) => Worker { offer, jobs, done },
            Ok(Err(message)) => panic!("the implementation cannot be made: {message}"),
            Err(_) => panic!("the implementation has no offer: see above"),
        }
    }
}

fn work_on(job: Job, bundle: &Bundle, offer: &Offer, subject: &mut dyn Implementation) -> Done {
    let vector = &bundle.vectors[job.place.0];
    let case = &vector.cases[job.place.1];
    let content = bundle.content(vector);
    let seed = blake2b(
        &format!(
            "{}/{}",
            bundle.run["seed"].as_str().unwrap_or_default(),
            case.id
        ),
        8,
    );
    let mut trial = Trial {
        bundle,
        case,
        content: &content,
        offer,
        subject,
        reader: &job.reader,
        choices: Rc::new(RefCell::new(Choices::new(seed))),
        bound: None,
        tolerated: Vec::new(),
        readings: Vec::new(),
        progress: Arc::clone(&job.progress),
        has_panicked: false,
    };
    let mut ending = check(&mut trial);
    if let Err(Ending::Failed(failure)) = &ending {
        trial.readings = trial.declared(failure);
        if !trial.readings.is_empty() {
            ending = Ok(());
            trial.tolerated.clear();
        }
    }
    let (tolerated, readings, has_panicked) = (trial.tolerated, trial.readings, trial.has_panicked);
    let mut happened = Vec::new();
    if let Err(Ending::Failed(_)) = &ending {
        let is_asked = job.reader.doubt.is_none() && offer.has("codec") && !has_panicked;
        let kind = |digits: &str| match job.reader.known(digits) {
            Some(message) => type_of(message).map(String::from),
            None if is_asked => kind_of(subject, digits),
            None => None,
        };
        happened = what_happened(
            &job.progress
                .lock()
                .expect("no panic while it is locked")
                .events,
            kind,
        );
    }
    let is_hung = matches!(&ending, Err(Ending::Failed(failure)) if failure.class == "hung");
    Done {
        ending,
        tolerated,
        readings,
        happened,
        is_broken: has_panicked || is_hung,
    }
}

fn hung(progress: &Mutex<Progress>, limit: Duration) -> Done {
    let progress = progress
        .lock()
        .expect("no panic while it is locked")
        .clone();
    let difference = Difference {
        path: format!("reply to {}", progress.op),
        expected: json!({"ok": true}),
        actual: format!("no answer within {} s", limit.as_secs_f64()).into(),
        ..Difference::default()
    };
    Done {
        ending: Err(("hung", difference).into()),
        tolerated: Vec::new(),
        readings: Vec::new(),
        happened: what_happened(&progress.events, |_| None),
        is_broken: true,
    }
}

// ---- what happened

/// The last events of a case as lines; `kind` is asked for the types of messages.
fn what_happened(events: &[Event], mut kind: impl FnMut(&str) -> Option<String>) -> Vec<String> {
    let mut lines = Vec::new();
    if !events.is_empty() {
        let count = match events.len() {
            few if few <= LAST_EVENTS => String::new(),
            many => format!(" (the last {LAST_EVENTS} of {many} events)"),
        };
        lines.push(format!("  what happened{count}"));
    }
    for Event {
        at,
        node,
        what,
        digits,
    } in &events[events.len().saturating_sub(LAST_EVENTS)..]
    {
        lines.push(match digits.as_deref() {
            None => format!("    {at:6} ms  {node}  {what}"),
            Some("") => format!("    {at:6} ms  {node} {what}"),
            Some(digits) => {
                let kind = kind(digits)
                    .map(|kind| format!("  ({kind})"))
                    .unwrap_or_default();
                format!("    {at:6} ms  {node} {what}  {}{kind}", shortened(digits))
            }
        });
    }
    lines
}

/// The type of a message; None if the decoder crashes or names none.
fn kind_of(subject: &mut dyn Implementation, digits: &str) -> Option<String> {
    let datagram = unhex(digits)?;
    match catch(|| subject.decode(&datagram)).ok()? {
        Ok(message) => message
            .get("type")
            .and_then(Value::as_str)
            .map(String::from),
        Err(CodecError::Rejected(_)) => Some("no message".into()),
        Err(CodecError::Problem(_)) => None,
    }
}
