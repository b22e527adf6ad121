//! SWIM: nodes detect which nodes are up by pinging each other in rounds; the news travels inside the pings.
//!
//! Written from `spec/swim.md` and the vectors. Labels in brackets, such as [S-13], are clauses of that page.

mod cache;
pub mod codec;
pub mod data;
mod forms;
mod gossip;
pub mod messages;
mod msgpack;
pub mod node;
pub mod plain;
mod rounds;
pub mod table;
pub mod uuid;

pub use gossip::{Queued, fanout};
