//! What the two protocols share: random choices, the reasons to reject a datagram, plain JSON, and real sockets.

pub mod chance;
pub mod options;
pub mod plain;
pub mod rejected;
pub mod served;
pub mod udp;
