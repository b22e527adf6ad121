//! Serves the adapter protocol for my-node, so that `peerproof run`, `fuzz` and `doctor` test the same implementation.
//!
//! Standard output belongs to the protocol: print logs to standard error.

fn main() -> std::io::Result<()> {
    peerproof_vectors::serve_all(implementations::plugs())
}
