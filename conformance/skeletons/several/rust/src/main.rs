//! Serves the adapter protocol for my-node, so that `peerproof run`, `fuzz` and `doctor` test the same implementations.
//!
//! Standard output belongs to the protocol: print logs to standard error.

use implementations::scuttlebutt;
use peerproof_vectors::{serve_all, Plug};

fn main() -> std::io::Result<()> {
    serve_all([
        Plug::new("scuttlebutt", "udp", scuttlebutt::MyImplementation),
    ])
}
