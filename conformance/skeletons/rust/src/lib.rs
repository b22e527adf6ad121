//! The implementation of each protocol. There is nothing to fill in here.

pub mod scuttlebutt;

use peerproof_vectors::Plug;

/// Returns what the tests run the vectors of, and the adapter offers.
pub fn plugs() -> Vec<Plug> {
    Vec::from([
        // Each thread of the tests makes its own.
        Plug::new("scuttlebutt", "udp", || scuttlebutt::MyImplementation),
    ])
}
