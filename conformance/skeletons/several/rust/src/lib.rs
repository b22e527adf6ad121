//! The implementation of each protocol: the tests run its vectors, and the adapter offers it.

pub mod scuttlebutt;
