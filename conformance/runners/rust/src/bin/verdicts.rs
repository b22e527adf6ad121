//! Prints the verdict of each case of a bundle as a line of JSON, for an implementation behind adapter protocol 1:
//!
//!     cargo run --bin verdicts -- BUNDLE PROGRAM [ARGUMENT…]

use std::process::{exit, ExitCode};
use std::time::Duration;

use peerproof_vectors::{load, Adapter, LoadError, Runner};

const LIMIT: Duration = Duration::from_secs(60); // also on a busy machine

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, command @ ..] = &arguments[..] else {
        eprintln!("usage: verdicts BUNDLE PROGRAM [ARGUMENT…]");
        return ExitCode::from(2);
    };
    match print_verdicts(path, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print_verdicts(path: &str, command: &[String]) -> Result<(), LoadError> {
    let bundle = load(path)?;
    let (protocol, transport, command) = (
        bundle.protocol.clone(),
        bundle.transport.clone(),
        command.to_vec(),
    );
    let start = move || {
        Adapter::start(&protocol, &transport, &command, LIMIT).unwrap_or_else(|error| {
            eprintln!("error: {error}");
            exit(1)
        })
    };
    let runner = Runner::new(bundle, start).time_limit(2 * LIMIT);
    if let Some(problem) = runner.problems().into_iter().next() {
        return Err(LoadError::from(problem));
    }
    for verdict in runner.run() {
        println!("{}", verdict.json());
    }
    Ok(())
}
