//! Scuttlebutt: every node keeps a copy of what every node says about itself.
//!
//! Written from `spec/scuttlebutt.md` and the vectors. Labels in brackets, such as [B-14], are clauses of that page.

pub mod codec;
pub mod detector;
pub mod node;
pub mod plain;
pub mod reconcile;
pub mod store;
pub mod text;
