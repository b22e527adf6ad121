//! Runs the conformance vectors of a protocol against an implementation in this process.
//!
//! Write an [`Implementation`], load a bundle, and check each case in a test. The verdicts are those of `peerproof run` on the
//! same implementation. docs/how-to/run-without-python shows how.

mod adapter;
mod blake2b;
mod bundle;
mod checks;
mod choices;
mod expected_failures;
mod host;
mod implementation;
mod matching;
mod panics;
mod reader;
mod readings;
mod runner;
mod script;
mod serve;
mod summary;
pub mod text;
mod trial;
mod verdict;

pub use adapter::Adapter;
pub use bundle::{load, Bundle, Case, LoadError, Vector};
pub use implementation::*;
pub use matching::Difference;
pub use runner::Runner;
pub use serde_json;
pub use serve::{serve, serve_all, serve_on};
pub use summary::Settings;
pub use verdict::{Status, Verdict};
