//! Messages: a header, and the vectors that travel with it [S-15].

use std::fmt;

use crate::data::Payload;
use crate::uuid::Uuid;

/// The largest counter [SA-47].
pub const MAX_COUNTER: u64 = i64::MAX as u64;

/// How many bytes a host may have [SA-65].
pub const MAX_HOST: usize = 255;

/// How often a node was restarted, and how many messages it has sent since [S-14]. Ordered by restart, then by tx [SA-10].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Incarnation {
    pub restart: u64,
    pub tx: u64,
}

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub host: String,
    pub port: u16,
}

/// The address of a datagram: the host in brackets if it has a colon [SA-51].
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(formatter, "[{}]:{}", self.host, self.port)
        } else {
            write!(formatter, "{}:{}", self.host, self.port)
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// [S-16]
    Ping { sender: Uuid, incarnation: Incarnation, target: Uuid, vectors: Vec<Vector> },
    /// [S-17]
    Ack { sender: Uuid, incarnation: Incarnation, target: Uuid, target_tx: u64, vectors: Vec<Vector> },
    /// [SA-41]
    Probe { sender: Uuid, incarnation: Incarnation },
    /// [SA-41]
    ProbeAck { sender: Uuid, incarnation: Incarnation, probe_tx: u64 },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Vector {
    /// [S-18]
    Joining {
        node: Uuid,
        incarnation: Incarnation,
        place: Place,
    },
    /// Without an incarnation they speak of the one that the receiver knows [SA-12].
    Normal {
        node: Uuid,
        incarnation: Option<Incarnation>,
    },
    Suspicious {
        node: Uuid,
        incarnation: Option<Incarnation>,
    },
    Dead {
        node: Uuid,
        incarnation: Option<Incarnation>,
    },
    /// [SA-05]
    Leave {
        node: Uuid,
        incarnation: Incarnation,
    },
    /// Without its keyword in the first answer to a joiner [SA-18].
    AntiEntropy {
        members: Vec<Member>,
        tagged: bool,
    },
    /// [S-23]
    Payload(Payload),
    /// [SA-04]
    IndirectPing {
        target: Uuid,
        place: Place,
    },
    /// [SA-04]
    IndirectAck {
        target: Uuid,
        incarnation: Incarnation,
    },
}

/// A live node that anti-entropy tells of [S-22].
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub uuid: Uuid,
    pub place: Place,
    pub incarnation: Incarnation,
}
