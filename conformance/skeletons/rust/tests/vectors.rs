//! Runs each case of the vectors as a test, by its id: `cargo test`, or `cargo test /codec/` for some of them.
//!
//! Cases that known-failing.txt lists must fail as it says.

use std::process::exit;
use std::sync::Arc;

use implementations::plugs;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use peerproof_vectors::{load, LoadError, Runner, Status};

// Cargo runs tests in the folder of Cargo.toml.
const KNOWN_FAILING: &str = "known-failing.txt";

/// Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram
/// does no harm. Otherwise it is shown as ignored: it differs.
const STRICT: bool = false;

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
    let unconfirmed: Vec<String> = runners
        .iter()
        .flat_map(|runner| runner.unconfirmed())
        .collect();
    for problem in &unconfirmed {
        eprintln!("error: {problem}");
    }
    if !unconfirmed.is_empty() {
        exit(1);
    }
    conclusion.exit()
}

fn check(runner: &Runner, case: &str) -> Result<Completion, Failed> {
    let verdict = runner.check(case);
    match verdict.status {
        _ if verdict.is_failure() => Err(verdict.text(runner.bundle()).into()),
        Status::Differs if STRICT => Err(verdict.text(runner.bundle()).into()),
        Status::Differs => Ok(Completion::ignored_with(format!(
            "differs: only {} asks for more",
            verdict.decisions.join(", ")
        ))),
        Status::Skipped | Status::Undetermined | Status::Known => Ok(Completion::ignored_with(
            format!("{}: {}", verdict.status, verdict.reason.unwrap_or_default()),
        )),
        _ => Ok(Completion::Completed),
    }
}
