//! Rounds and quanta, and the failure detector that is settled when a round closes.

use shared::chance;

use crate::gossip::fanout;
use crate::messages::Vector;
use crate::node::{Node, Turn};
use crate::table::{Claim, Row, Status};
use crate::uuid::Uuid;

/// So many misses in a row make a node suspicious, and a suspicious one dead [S-04, S-06].
const ENOUGH_MISSES: u32 = 2;

impl Node {
    /// The next few pings are due [S-44, SA-26]. The quantum that finds the vector empty closes the round, and begins the
    /// next one [S-45, SA-53].
    pub(crate) fn on_quantum(&mut self, turn: &mut Turn<'_>) {
        let rows = &self.state.rows;
        self.state.vector.retain(|uuid| rows.get(uuid).is_some_and(Row::is_live));
        if self.state.vector.is_empty() {
            self.close_round(turn);
            let live = self.uuids(Row::is_live);
            self.state.vector = chance::shuffled(turn.chances, "round.order", &live); // [S-43]
        }
        let some = fanout(self.active_size()).min(self.state.vector.len());
        let targets: Vec<Uuid> = self.state.vector.drain(..some).collect();
        for target in targets {
            let to = self.state.rows[&target].place.to_string();
            if self.send_ping(&to, target, None, turn).is_some() {
                self.state.pinged.insert(target);
            }
        }
    }

    /// The names of rows, sorted.
    fn uuids(&self, is_wanted: impl Fn(&Row) -> bool) -> Vec<Uuid> {
        self.state.rows.iter().filter(|(_, row)| is_wanted(row)).map(|(uuid, _)| *uuid).collect()
    }

    /// Settles what the round has shown, and asks others to ping who is suspicious [SA-53].
    fn close_round(&mut self, turn: &mut Turn<'_>) {
        self.state.relays.retain(|relay| relay.fresh); // Remembered over one close [SA-55].
        self.state.relays.iter_mut().for_each(|relay| relay.fresh = false);
        let pinged = std::mem::take(&mut self.state.pinged);
        let answered = std::mem::take(&mut self.state.answered);
        let heard = std::mem::take(&mut self.state.heard);
        if pinged.len() >= 2 && !heard {
            self.state.isolated = true; // Nothing is settled, and no node is asked [S-08, SA-07].
            return;
        }
        self.settle_indirect_pings();
        for silent in pinged.difference(&answered) {
            self.miss(*silent);
        }
        self.send_indirect_pings(turn);
    }

    /// A live node that was pinged has not answered [S-04, SA-02].
    fn miss(&mut self, silent: Uuid) {
        let Some(row) = self.state.rows.get_mut(&silent).filter(|row| row.is_live()) else {
            return;
        };
        row.misses = ENOUGH_MISSES.min(row.misses + 1);
        if row.misses == ENOUGH_MISSES {
            let incarnation = row.incarnation;
            self.merge(silent, Claim { status: Status::Suspicious, incarnation, place: None });
        }
    }

    /// A suspicious node has not answered an indirect ping [S-06, SA-03].
    fn settle_indirect_pings(&mut self) {
        for suspect in self.uuids(|row| row.status == Status::Suspicious && row.indirect_asked) {
            let row = self.state.rows.get_mut(&suspect).expect("a row");
            row.indirect_asked = false;
            row.indirect_misses += 1;
            if row.indirect_misses == ENOUGH_MISSES {
                let incarnation = row.incarnation;
                self.merge(suspect, Claim { status: Status::Dead, incarnation, place: None });
            }
        }
    }

    /// One for each suspicious node, by a live node that is not suspicious, if there is one [S-05, SA-03, SA-08].
    fn send_indirect_pings(&mut self, turn: &mut Turn<'_>) {
        for suspect in self.uuids(|row| row.status == Status::Suspicious) {
            let relays = self.uuids(|row| row.is_live() && row.status != Status::Suspicious);
            let Some(relay) = chance::one(turn.chances, "indirect.relay", &relays) else {
                return;
            };
            let to = self.state.rows[&relay].place.to_string();
            let place = self.state.rows[&suspect].place.clone();
            let request = Vector::IndirectPing { target: suspect, place };
            if self.send_ping(&to, relay, Some(request), turn).is_some() {
                self.state.rows.get_mut(&suspect).expect("a row").indirect_asked = true;
            }
        }
    }
}
