//! Rows: what a node keeps of each other node, and how news of it is merged.

use crate::data::Payload;
use crate::messages::{Incarnation, Member, Place, Vector};
use crate::uuid::Uuid;

/// What is known of a node's state; in the order of their ranks but for leave [SA-13].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Joining,
    Normal,
    Suspicious,
    Dead,
    Leave,
}

impl Status {
    /// Joining, normal and suspicious nodes are live [SA-27].
    pub fn is_live(self) -> bool {
        matches!(self, Status::Joining | Status::Normal | Status::Suspicious)
    }

    /// Neither suspected nor gone.
    fn is_well(self) -> bool {
        matches!(self, Status::Joining | Status::Normal)
    }
}

/// How far this node has introduced itself to the other one [SA-57].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    First,
    Second,
    Done,
}

/// What a message says of a node.
#[derive(Clone, Debug)]
pub struct Claim {
    pub status: Status,
    pub incarnation: Incarnation,
    /// Joining and anti-entropy say where the node is.
    pub place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub place: Place,
    pub status: Status,
    pub incarnation: Incarnation,
    /// The data that its node has sent [S-34].
    pub payload: Option<Payload>,
    pub exchange: Exchange,
    /// Rounds in a row in which it did not answer, up to two [SA-02].
    pub misses: u32,
    /// Indirect pings in a row that were not answered [SA-03].
    pub indirect_misses: u32,
    /// Whether an indirect ping is under way.
    pub indirect_asked: bool,
    /// The tx of pings to it that are not answered, the oldest first [SA-52].
    pub unanswered: Vec<u64>,
}

/// How many unanswered pings are remembered of each node [SA-52].
const MAX_UNANSWERED: usize = 16;

impl Row {
    pub fn new(status: Status, incarnation: Incarnation, place: Place, exchange: Exchange) -> Row {
        Row {
            place,
            status,
            incarnation,
            payload: None,
            exchange,
            misses: 0,
            indirect_misses: 0,
            indirect_asked: false,
            unanswered: Vec::new(),
        }
    }

    pub fn is_live(&self) -> bool {
        self.status.is_live()
    }

    /// Replaces the row exactly if the key of what is claimed is greater [SA-13]. Returns whether it has.
    pub fn merge(&mut self, claim: &Claim) -> bool {
        if key(claim.status, claim.incarnation) <= key(self.status, self.incarnation) {
            return false;
        }
        if claim.incarnation.restart > self.incarnation.restart {
            self.payload = None; // [S-47, SA-34]
        }
        if claim.incarnation > self.incarnation {
            self.answer_indirectly(); // [SA-03]
        }
        if claim.status.is_well() && !self.status.is_well() {
            self.misses = 0; // [SA-02]
        }
        self.status = claim.status;
        self.incarnation = claim.incarnation;
        if let Some(place) = &claim.place {
            self.place = place.clone(); // [SA-29, SA-56]
        }
        true
    }

    /// An indirect ack, or a newer incarnation: no indirect ping is missed any more [SA-03].
    pub fn answer_indirectly(&mut self) {
        self.indirect_misses = 0;
        self.indirect_asked = false;
    }

    /// Remembers a ping.
    pub fn record_ping(&mut self, tx: u64) {
        self.unanswered.push(tx);
        if self.unanswered.len() > MAX_UNANSWERED {
            self.unanswered.remove(0);
        }
    }

    /// A matching ack forgets its ping and the older ones, and what was missed [SA-02, SA-42, SA-52].
    /// Returns whether it matches.
    pub fn match_ack(&mut self, tx: u64) -> bool {
        let Some(place) = self.unanswered.iter().position(|ping| *ping == tx) else {
            return false;
        };
        self.unanswered.drain(..=place);
        self.misses = 0;
        true
    }

    /// The event that says what has become of the row [SA-12].
    pub fn event(&self, node: Uuid, emit_incarnation: bool) -> Vector {
        let optional = emit_incarnation.then_some(self.incarnation);
        match self.status {
            Status::Joining => Vector::Joining { node, incarnation: self.incarnation, place: self.place.clone() },
            Status::Normal => Vector::Normal { node, incarnation: optional },
            Status::Suspicious => Vector::Suspicious { node, incarnation: optional },
            Status::Dead => Vector::Dead { node, incarnation: optional },
            Status::Leave => Vector::Leave { node, incarnation: self.incarnation },
        }
    }

    /// What anti-entropy tells of it.
    pub fn member(&self, uuid: Uuid) -> Member {
        Member { uuid, place: self.place.clone(), incarnation: self.incarnation }
    }
}

/// A total order, in which leave is undone by a restart only [SA-13].
fn key(status: Status, incarnation: Incarnation) -> impl Ord {
    let (left, rank) = match status {
        Status::Joining => (0, 0),
        Status::Normal => (0, 1),
        Status::Suspicious => (0, 2),
        Status::Dead => (0, 3),
        Status::Leave => (1, 0),
    };
    (incarnation.restart, left, incarnation.tx, rank)
}
