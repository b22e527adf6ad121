//! Runs each case of the vectors as a test, by its id: `cargo test`, or `cargo test /codec/` for some of them.
//!
//! Cases that known-failing.txt lists must fail as it says. The two switches are STRICT and
//! STRICT_DECISIONS.

use std::process::exit;
use std::sync::Arc;

use implementations::plugs;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use peerproof_vectors::{load, LoadError, Runner, Status};

// Cargo runs tests in the folder of Cargo.toml.
const KNOWN_FAILING: &str = "known-failing.txt";
const ADAPTER: &str = "@BUILD@ && \
    peerproof run @SELECTION@ --impl @START@";

/// Whether a case fails also where a vector says should, as with `--strict` of `peerproof run`.
const STRICT: bool = false;

/// Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram
/// does no harm. Otherwise it is shown as ignored: it differs.
const STRICT_DECISIONS: bool = false;

fn main() -> Result<(), LoadError> {
    let mut runners = Vec::new();
    for plug in plugs() {
        let bundle = load(format!("vectors/{}.json.gz", plug.protocol()))?;
        let runner = Runner::of(bundle, &plug).known_failing(KNOWN_FAILING)?;
        runners.push(Arc::new(runner));
    }
    let all: Vec<&Runner> = runners.iter().map(|runner| runner.as_ref()).collect();
    let problems = Runner::problems_of(&all);
    let mut tests: Vec<Trial> = Vec::new();
    for runner in &runners {
        for id in runner.ids() {
            let (runner, case) = (Arc::clone(runner), id.to_string());
            tests.push(Trial::ignorable_test(id, move || check(&runner, &case)));
        }
    }
    for problem in problems {
        tests.push(Trial::test("problem", || Err(problem.into())));
    }
    let conclusion = libtest_mimic::run(&Arguments::from_args(), tests);
    for (status, setting, is_set) in [
        (Status::Differs, "STRICT_DECISIONS", STRICT_DECISIONS),
        (Status::Tolerated, "STRICT", STRICT),
    ] {
        if let Some(found) = Runner::summary_of(&all, status).filter(|_| !is_set) {
            println!("{found}; {}", to_fail(setting));
        }
    }
    let mut problems: Vec<String> = all.iter().flat_map(|runner| runner.unconfirmed()).collect();
    // Such a case passes; the list is what is wrong, once for all of them.
    problems.extend(Runner::summary_of(&all, Status::Stale).map(|stale| {
        let remedy = format!("{ADAPTER} --known-failing {KNOWN_FAILING} --update-known-failing");
        format!("{stale}\n  to remove all such lines: {remedy}")
    }));
    for problem in &problems {
        eprintln!("error: {problem}");
    }
    if !problems.is_empty() {
        exit(1);
    }
    conclusion.exit()
}

fn to_fail(setting: &str) -> String {
    format!("to make that fail, set {setting} in tests/vectors.rs")
}

fn check(runner: &Runner, case: &str) -> Result<Completion, Failed> {
    let verdict = runner.check(case);
    let (status, why) = (verdict.status, verdict.why());
    match status {
        Status::Skipped | Status::Undetermined | Status::Known | Status::Stale => {
            Ok(Completion::ignored_with(format!("{status}: {why}")))
        }
        Status::Differs if !STRICT_DECISIONS => Ok(Completion::ignored_with(format!(
            "{status}: {why}; {}",
            to_fail("STRICT_DECISIONS")
        ))),
        Status::Differs => Err(verdict.text(runner.bundle()).into()),
        _ if verdict.is_failure() || STRICT && verdict.is_unmet_should() => {
            Err(verdict.text(runner.bundle()).into())
        }
        _ => Ok(Completion::Completed),
    }
}
