//! Runs each case of the vectors as a test, by its id: `cargo test`, or `cargo test /codec/` for some of them.
//!
//! Cases that known-failing.txt lists must fail as it says. The two switches are STRICT and
//! STRICT_DECISIONS.

use std::process::exit;
use std::sync::Arc;

use implementations::plugs;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use peerproof_vectors::{load, LoadError, Runner, Settings, Status};

/// Whether a case fails also where a vector says should, as with `--strict` of `peerproof run`.
const STRICT: bool = false;

/// Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram
/// does no harm. Otherwise it is shown as ignored: it differs.
const STRICT_DECISIONS: bool = false;

const SETTINGS: Settings = Settings {
    strict: STRICT,
    strict_decisions: STRICT_DECISIONS,
    test: "vectors",
    adapter: "@BUILD@ && \
        peerproof run @SELECTION@ --impl @START@",
};

fn main() -> Result<(), LoadError> {
    let mut runners = Vec::new();
    for plug in plugs() {
        let bundle = load(format!("vectors/{}.json.gz", plug.protocol()))?;
        // Cargo runs tests in the folder of Cargo.toml.
        let runner = Runner::of(bundle, &plug).known_failing("known-failing.txt")?;
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
    let mut problems = Vec::new();
    for runner in all {
        if let Some(summary) = runner.summary(&SETTINGS) {
            println!("{summary}");
        }
        problems.extend(runner.problems_at_end(&SETTINGS));
    }
    for problem in &problems {
        eprintln!("error: {problem}");
    }
    if !problems.is_empty() {
        exit(1);
    }
    conclusion.exit()
}

fn check(runner: &Runner, case: &str) -> Result<Completion, Failed> {
    let verdict = runner.check(case);
    match verdict.status {
        _ if SETTINGS.fails(&verdict) => Err(runner.describe(&verdict).into()),
        Status::Passed | Status::Tolerated => Ok(Completion::Completed),
        status => Ok(Completion::ignored_with(format!(
            "{status}: {}",
            verdict.why()
        ))),
    }
}
