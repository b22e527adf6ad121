//! A node: each event has a method, with the time in milliseconds as an argument, and gives the effects in their order.
//! It has no socket, no clock and no RNG.

use std::collections::{BTreeMap, BTreeSet};

use shared::chance::Chance;
use shared::rejected::Rejected;

use crate::codec;
use crate::data::Payload;
use crate::gossip::Queued;
use crate::messages::{Incarnation, MAX_COUNTER, Message, Place, Vector};
use crate::table::{Claim, Exchange, Row, Status};
use crate::uuid::Uuid;

/// Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub uuid: Uuid,
    pub restart_counter: u64,
    pub seeds: Vec<(Uuid, Place)>,
    /// The quantum [SA-01].
    pub interval: u64,
    /// How many rows anti-entropy has [SA-28].
    pub ae_size: usize,
    pub max_datagram: usize,
    /// Whether all events say an incarnation [SA-12].
    pub emit_incarnation: bool,
    /// Subscriptions to events of any node.
    pub cluster_events: Vec<Change>,
}

impl Config {
    /// The defaults, for a node of this name.
    pub fn new(uuid: Uuid) -> Self {
        Config {
            uuid,
            restart_counter: 0,
            seeds: Vec::new(),
            interval: 300,
            ae_size: 2,
            max_datagram: 1432,
            emit_incarnation: false,
            cluster_events: Vec::new(),
        }
    }
}

/// What a subscriber may be told of a row [S-10].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    Status(Status),
    /// Its restart counter has changed [SA-06].
    Incarnation,
}

/// What the application is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// For a subscriber of one node [S-56].
    Node { node: Uuid, change: Change },
    /// For a subscriber of the cluster [S-57].
    Cluster { node: Uuid, change: Change },
    /// A node has answered a probe [SA-60].
    Reachable { place: Place, node: Uuid },
    /// A probe was not answered in time [SA-60].
    Unreachable { place: Place },
    /// What came in is no message [SA-31].
    Malformed(Rejected),
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Send { to: String, datagram: Vec<u8> },
    Event(Event),
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is about the node itself, and cannot be.
    OwnNode,
    /// It can only be about the node itself.
    NotOwn,
    /// It is about a node that is not known.
    UnknownNode,
    /// The payload does not fit into a datagram.
    TooLarge,
    /// Both counters are at their end [SA-47].
    Overflow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timer {
    Quantum,
    ProbeTimeout(Place),
}

/// A ping that this node has sent on behalf of another [SA-55].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    pub target: Uuid,
    pub requester: Uuid,
    pub tx: u64,
    /// Whether no round has closed since.
    pub fresh: bool,
}

/// A probe that is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub place: Place,
    pub tx: u64,
}

/// All that a node knows; its timers are beside it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct State {
    pub incarnation: Incarnation,
    pub rows: BTreeMap<Uuid, Row>,
    pub queue: Vec<Queued>,
    /// Who is still to be pinged in this round [S-43].
    pub vector: Vec<Uuid>,
    /// Who has been pinged in this round.
    pub pinged: BTreeSet<Uuid>,
    /// Who of these has answered since.
    pub answered: BTreeSet<Uuid>,
    /// Whether any ack was accepted in this round [SA-07].
    pub heard: bool,
    pub isolated: bool,
    pub relays: Vec<Relay>,
    pub payload: Payload,
    /// Whether the node has left by itself [SA-59].
    pub left: bool,
    pub probes: Vec<Probe>,
    pub node_subscriptions: BTreeSet<(Uuid, Change)>,
    pub cluster_subscriptions: BTreeSet<Change>,
}

/// Answers the node's questions of chance.
pub type Chances<'a> = &'a mut dyn Chance<Uuid>;

/// What happens at one event.
pub(crate) struct Turn<'a> {
    pub chances: Chances<'a>,
    pub effects: Vec<Effect>,
}

pub struct Node {
    pub(crate) place: Place,
    pub(crate) config: Config,
    pub(crate) state: State,
    /// In the order in which they are due.
    timers: Vec<(u64, Timer)>,
}

impl Node {
    /// Knows its seeds, to which it has to introduce itself [SA-48, SA-57].
    pub fn start(place: Place, config: Config, now: u64) -> Node {
        let seeds = config.seeds.iter().filter(|(uuid, _)| *uuid != config.uuid);
        let state = State {
            incarnation: Incarnation { restart: config.restart_counter, tx: 0 },
            rows: seeds.map(|(uuid, place)| (*uuid, introduced_row(place.clone()))).collect(),
            cluster_subscriptions: config.cluster_events.iter().copied().collect(),
            ..State::default()
        };
        let timers = vec![(now + config.interval, Timer::Quantum)];
        Node { place, config, state, timers }
    }

    /// Begins in a state, with these timers and no others.
    pub fn load(place: Place, config: Config, state: State, mut timers: Vec<(u64, Timer)>) -> Node {
        timers.sort_by_key(|(due, _)| *due);
        Node { place, config, state, timers }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn next_timer(&self) -> Option<u64> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// The number of known nodes, this one among them [S-53, SA-39].
    pub fn total_size(&self) -> usize {
        self.state.rows.len() + 1
    }

    /// The number of active nodes, this one among them [S-54, SA-39].
    pub fn active_size(&self) -> usize {
        self.state.rows.values().filter(|row| row.is_live()).count() + 1
    }

    /// Whether the node has introduced itself to all that it knows.
    pub fn has_joined(&self) -> bool {
        self.state.rows.values().all(|row| row.exchange == Exchange::Done)
    }

    /// A datagram has come in. What is no message is dropped whole [SA-31].
    pub fn receive(&mut self, from: &str, datagram: &[u8], chances: Chances<'_>) -> Vec<Effect> {
        self.turn(chances, |node, turn| match codec::decode(datagram) {
            Ok(Message::Ping { sender, incarnation, target, vectors }) => {
                if target == node.config.uuid {
                    node.on_ping(from, sender, incarnation, &vectors, turn); // Otherwise it is ignored [SA-22].
                }
            }
            Ok(Message::Ack { sender, incarnation, target, target_tx, vectors }) => {
                if target == node.config.uuid {
                    node.on_ack(sender, incarnation, target_tx, &vectors, turn); // Otherwise it is ignored [SA-22].
                }
            }
            Ok(Message::Probe { incarnation, .. }) => node.answer_probe(from, incarnation.tx, turn),
            Ok(Message::ProbeAck { sender, probe_tx, .. }) => node.on_probe_ack(from, sender, probe_tx, turn),
            Err(rejected) => turn.effects.push(Effect::Event(Event::Malformed(rejected))),
        })
    }

    /// Time has passed: all timers due up to now, each at its time.
    pub fn advance(&mut self, now: u64, chances: Chances<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        while self.next_timer().is_some_and(|due| due <= now) {
            let (due, timer) = self.timers.remove(0);
            effects.extend(match timer {
                Timer::Quantum => self.turn(chances, |node, turn| {
                    if node.has_quanta() {
                        node.on_quantum(turn);
                        node.set_timer(due + node.config.interval, Timer::Quantum);
                    }
                }),
                Timer::ProbeTimeout(place) => {
                    self.state.probes.retain(|probe| probe.place != place);
                    vec![Effect::Event(Event::Unreachable { place })]
                }
            });
        }
        effects
    }

    fn set_timer(&mut self, due: u64, timer: Timer) {
        let place = self.timers.partition_point(|(other, _)| *other <= due);
        self.timers.insert(place, (due, timer));
    }

    /// One that has left has quanta as long as its leave is in the queue [SA-59].
    fn has_quanta(&self) -> bool {
        !self.state.left || self.state.queue.iter().any(|queued| queued.node() == self.config.uuid)
    }

    /// Carries out an event, and tells subscribers how rows are afterwards [SA-40].
    fn turn(&mut self, chances: Chances<'_>, event: impl FnOnce(&mut Node, &mut Turn<'_>)) -> Vec<Effect> {
        let before: BTreeMap<Uuid, (Status, u64)> = self.summaries().collect();
        let mut turn = Turn { chances, effects: Vec::new() };
        event(self, &mut turn);
        let mut effects = turn.effects;
        for (node, (status, restart)) in self.summaries() {
            let known = before.get(&node);
            if known.is_none_or(|(known, _)| *known != status) {
                self.notify(node, Change::Status(status), &mut effects);
            }
            if known.is_some_and(|(_, known)| *known != restart) {
                self.notify(node, Change::Incarnation, &mut effects);
            }
        }
        effects
    }

    fn summaries(&self) -> impl Iterator<Item = (Uuid, (Status, u64))> {
        self.state.rows.iter().map(|(uuid, row)| (*uuid, (row.status, row.incarnation.restart)))
    }

    fn notify(&self, node: Uuid, change: Change, effects: &mut Vec<Effect>) {
        if self.state.node_subscriptions.contains(&(node, change)) {
            effects.push(Effect::Event(Event::Node { node, change }));
        }
        if self.state.cluster_subscriptions.contains(&change) {
            effects.push(Effect::Event(Event::Cluster { node, change }));
        }
    }

    fn on_ping(&mut self, from: &str, sender: Uuid, at: Incarnation, vectors: &[Vector], turn: &mut Turn<'_>) {
        let joins = joining_of(sender, vectors).is_some();
        match self.state.rows.get(&sender).map(|row| row.incarnation) {
            Some(known) if at < known => {
                let dead = Vector::Dead { node: sender, incarnation: Some(known) };
                self.send_ack(from, sender, at.tx, vec![dead], turn); // [S-30, SA-16]
            }
            None if !joins || sender == self.config.uuid => self.send_ack(from, sender, at.tx, Vec::new(), turn), // [SA-21]
            _ => {
                self.apply(sender, at, vectors);
                self.answer(from, sender, at.tx, vectors, turn);
                for vector in vectors {
                    if let Vector::IndirectPing { target, place } = vector {
                        self.relay_ping(sender, *target, place, turn);
                    }
                }
            }
        }
    }

    /// The answer to a ping that was accepted [SA-50, SA-58].
    fn answer(&mut self, from: &str, sender: Uuid, tx: u64, vectors: &[Vector], turn: &mut Turn<'_>) {
        let row = &self.state.rows[&sender];
        let is_normal = |vector: &Vector| matches!(vector, Vector::Normal { node, .. } if *node == sender);
        if !row.is_live() {
            self.send_ack(from, sender, tx, Vec::new(), turn);
        } else if row.status == Status::Joining && joining_of(sender, vectors).is_some() {
            self.send_welcome(from, sender, tx, turn);
        } else {
            let second = row.status == Status::Normal && vectors.iter().any(is_normal);
            self.send_ordinary_ack(from, sender, tx, second, turn);
        }
    }

    fn on_ack(&mut self, sender: Uuid, at: Incarnation, tx: u64, vectors: &[Vector], turn: &mut Turn<'_>) {
        if let Some(row) = self.state.rows.get_mut(&sender) {
            if at < row.incarnation {
                return; // [SA-16]
            }
            if row.match_ack(tx) && self.state.pinged.contains(&sender) {
                self.state.answered.insert(sender);
            }
            self.state.heard = true;
            self.apply(sender, at, vectors);
            self.go_on_introducing(sender, vectors);
        }
        self.report(sender, at, tx, turn); // Also if the sender is unknown [SA-21].
    }

    /// An ack moves the introduction by one step at most, when all else of it is applied [SA-57].
    fn go_on_introducing(&mut self, to: Uuid, vectors: &[Vector]) {
        let own = self.config.uuid;
        let is_normal = |vector: &Vector| matches!(vector, Vector::Normal { node, .. } if *node == own);
        let exchange = &mut self.state.rows.get_mut(&to).expect("a known node").exchange;
        match exchange {
            Exchange::First if joining_of(own, vectors).is_some() => *exchange = Exchange::Second,
            Exchange::Second if vectors.iter().any(is_normal) => *exchange = Exchange::Done,
            _ => {}
        }
    }

    /// Applies an accepted message: its header, then its vectors in their order, then its payload [SA-14, SA-34].
    fn apply(&mut self, sender: Uuid, at: Incarnation, vectors: &[Vector]) {
        self.state.isolated = false; // [SA-07]
        match joining_of(sender, vectors) {
            Some((incarnation, place)) => self.on_joining(sender, incarnation, place),
            None => self.on_header(sender, at),
        }
        for vector in vectors {
            self.on_vector(sender, vector);
        }
        let last = vectors.iter().rev().find_map(|vector| match vector {
            Vector::Payload(payload) => Some(payload), // Of two the last counts [SA-56].
            _ => None,
        });
        if let (Some(payload), Some(row)) = (last, self.state.rows.get_mut(&sender)) {
            row.payload = Some(payload.clone());
        }
    }

    fn on_header(&mut self, sender: Uuid, incarnation: Incarnation) {
        let row = &self.state.rows[&sender];
        let status = match row.status {
            Status::Leave | Status::Joining if row.incarnation.restart == incarnation.restart => row.status,
            _ => Status::Normal,
        };
        self.merge(sender, Claim { status, incarnation, place: None });
    }

    fn on_joining(&mut self, node: Uuid, incarnation: Incarnation, place: &Place) {
        if node == self.config.uuid {
            return; // [SA-45]
        }
        if self.state.rows.contains_key(&node) {
            self.merge(node, Claim { status: Status::Joining, incarnation, place: Some(place.clone()) });
            return;
        }
        let row = Row::new(Status::Joining, incarnation, place.clone(), Exchange::Done);
        self.state.rows.insert(node, row);
        self.enqueue_row(node); // [S-26, SA-49]
    }

    fn on_vector(&mut self, sender: Uuid, vector: &Vector) {
        match vector {
            Vector::Joining { node, incarnation, place } => self.on_joining(*node, *incarnation, place),
            Vector::Normal { node, incarnation } => self.on_event(sender, *node, Status::Normal, *incarnation),
            Vector::Suspicious { node, incarnation } => self.on_event(sender, *node, Status::Suspicious, *incarnation),
            Vector::Dead { node, incarnation } => self.on_event(sender, *node, Status::Dead, *incarnation),
            Vector::Leave { node, incarnation } => self.on_event(sender, *node, Status::Leave, Some(*incarnation)),
            Vector::AntiEntropy { members, .. } => {
                for member in members {
                    self.on_member(member.uuid, member.incarnation, &member.place);
                }
            }
            Vector::IndirectAck { target, incarnation } => {
                if let Some(row) = self.state.rows.get_mut(target) {
                    row.answer_indirectly(); // [SA-03]
                    self.merge(*target, Claim { status: Status::Normal, incarnation: *incarnation, place: None });
                }
            }
            Vector::Payload(_) | Vector::IndirectPing { .. } => {} // In their turn, when all others are applied.
        }
    }

    /// An event without an incarnation speaks of the one that is known [SA-12]; about an unknown node it is ignored [SA-45].
    fn on_event(&mut self, sender: Uuid, node: Uuid, status: Status, incarnation: Option<Incarnation>) {
        if node == self.config.uuid {
            if let (Status::Suspicious | Status::Dead, Some(incarnation)) = (status, incarnation) {
                self.refute(sender, incarnation);
            }
        } else if let Some(row) = self.state.rows.get(&node) {
            let incarnation = incarnation.unwrap_or(row.incarnation);
            self.merge(node, Claim { status, incarnation, place: None });
        }
    }

    /// An entry of anti-entropy [SA-28, SA-29]. A row that it makes is not queued [SA-49].
    fn on_member(&mut self, node: Uuid, incarnation: Incarnation, place: &Place) {
        if node == self.config.uuid {
            return;
        }
        match self.state.rows.get(&node) {
            None => {
                let row = Row::new(Status::Normal, incarnation, place.clone(), Exchange::Done);
                self.state.rows.insert(node, row);
            }
            Some(row) if incarnation > row.incarnation => {
                self.merge(node, Claim { status: Status::Normal, incarnation, place: Some(place.clone()) });
            }
            Some(_) => {}
        }
    }

    /// Merges what is claimed of a known node, and queues the event if status or restart counter change [SA-49].
    pub(crate) fn merge(&mut self, node: Uuid, claim: Claim) {
        let row = self.state.rows.get_mut(&node).expect("a known node");
        let before = (row.status, row.incarnation.restart);
        if row.merge(&claim) && (row.status, row.incarnation.restart) != before {
            self.enqueue_row(node);
        }
    }

    /// A node that is told that itself is dead or suspicious goes on above what it is told, and introduces itself again:
    /// to who said it if that is a live row, otherwise to all live rows [SA-17].
    fn refute(&mut self, sender: Uuid, told: Incarnation) {
        if told <= self.state.incarnation || told.restart == MAX_COUNTER {
            return;
        }
        self.begin_life(Incarnation { restart: told.restart + 1, tx: 0 });
        let is_live = |row: &Row| row.is_live();
        let only = self.state.rows.get(&sender).is_some_and(is_live);
        for (uuid, row) in &mut self.state.rows {
            if row.is_live() && (!only || *uuid == sender) {
                row.exchange = Exchange::First;
            }
        }
    }

    /// A restart of the own counter forgets all pings [SA-52].
    fn begin_life(&mut self, incarnation: Incarnation) {
        self.state.incarnation = incarnation;
        self.state.relays.clear();
        self.state.rows.values_mut().for_each(|row| row.unanswered.clear());
    }

    /// The incarnation of the next datagram; none if both counters are at their end [SA-09, SA-47].
    pub(crate) fn next_incarnation(&mut self) -> Option<Incarnation> {
        let Incarnation { restart, tx } = self.state.incarnation;
        if tx < MAX_COUNTER {
            self.state.incarnation.tx += 1;
        } else if restart < MAX_COUNTER {
            self.begin_life(Incarnation { restart: restart + 1, tx: 1 });
        } else {
            return None;
        }
        Some(self.state.incarnation)
    }

    /// Adds a node, to which this one has to introduce itself; of a known node it changes the address only [S-49, SA-38].
    pub fn add_node(&mut self, uuid: Uuid, place: Place, chances: Chances<'_>) -> Result<Vec<Effect>, Refusal> {
        if uuid == self.config.uuid {
            return Err(Refusal::OwnNode);
        }
        Ok(self.turn(chances, |node, _| match node.state.rows.get_mut(&uuid) {
            Some(row) => row.place = place,
            None => drop(node.state.rows.insert(uuid, introduced_row(place))),
        }))
    }

    /// Takes a known node, or this one, out of communication [S-50, SA-37].
    pub fn leave_node(&mut self, uuid: Uuid, chances: Chances<'_>) -> Result<Vec<Effect>, Refusal> {
        if uuid == self.config.uuid {
            if !self.state.left {
                self.state.left = true;
                self.enqueue(Vector::Leave { node: uuid, incarnation: self.state.incarnation });
            }
            return Ok(Vec::new());
        }
        if !self.state.rows.contains_key(&uuid) {
            return Err(Refusal::UnknownNode);
        }
        Ok(self.turn(chances, |node, _| node.merge_leave(uuid)))
    }

    fn merge_leave(&mut self, uuid: Uuid) {
        let incarnation = self.state.rows[&uuid].incarnation;
        self.merge(uuid, Claim { status: Status::Leave, incarnation, place: None });
    }

    /// Deletes the row of a node, which leaves first [S-51, SA-36].
    pub fn remove_node(&mut self, uuid: Uuid, chances: Chances<'_>) -> Result<Vec<Effect>, Refusal> {
        if uuid == self.config.uuid {
            return Err(Refusal::OwnNode);
        }
        let effects = self.leave_node(uuid, chances)?;
        self.state.rows.remove(&uuid);
        Ok(effects)
    }

    /// Checks whether a node can be reached. Asked for again, it starts over [S-52, SA-60].
    pub fn probe_node(&mut self, now: u64, place: Place) -> Result<Vec<Effect>, Refusal> {
        let incarnation = self.next_incarnation().ok_or(Refusal::Overflow)?;
        let message = Message::Probe { sender: self.config.uuid, incarnation };
        let to = place.to_string();
        self.forget_probe(&place);
        self.state.probes.push(Probe { place: place.clone(), tx: incarnation.tx });
        self.set_timer(now + 2 * self.config.interval, Timer::ProbeTimeout(place));
        Ok(vec![Effect::Send { to, datagram: codec::encode(&message) }])
    }

    fn forget_probe(&mut self, place: &Place) {
        self.state.probes.retain(|probe| probe.place != *place);
        self.timers.retain(|(_, timer)| !matches!(timer, Timer::ProbeTimeout(other) if other == place));
    }

    fn answer_probe(&mut self, from: &str, probe_tx: u64, turn: &mut Turn<'_>) {
        if let Some(incarnation) = self.next_incarnation() {
            let message = Message::ProbeAck { sender: self.config.uuid, incarnation, probe_tx };
            turn.effects.push(Effect::Send { to: from.to_owned(), datagram: codec::encode(&message) });
        }
    }

    fn on_probe_ack(&mut self, from: &str, sender: Uuid, tx: u64, turn: &mut Turn<'_>) {
        let mut probes = self.state.probes.iter();
        let Some(probe) = probes.find(|probe| probe.tx == tx && probe.place.to_string() == from) else {
            return;
        };
        let place = probe.place.clone();
        self.forget_probe(&place);
        turn.effects.push(Effect::Event(Event::Reachable { place, node: sender }));
    }

    /// Subscribes to events of one node [S-56].
    pub fn on_node_event(&mut self, node: Uuid, change: Change) {
        self.state.node_subscriptions.insert((node, change));
    }

    /// Subscribes to events of any node [S-57].
    pub fn on_cluster_event(&mut self, change: Change) {
        self.state.cluster_subscriptions.insert(change);
    }

    /// Sets the data of this node, if it fits into a ping, however large the names and counters of that [S-58, SA-35].
    pub fn set_payload(&mut self, uuid: Uuid, payload: Payload) -> Result<(), Refusal> {
        if uuid != self.config.uuid {
            return Err(Refusal::NotOwn);
        }
        let name = Uuid::from_halves(MAX_COUNTER, MAX_COUNTER); // The largest halves take the most bytes.
        let largest = Message::Ping {
            sender: name,
            incarnation: Incarnation { restart: MAX_COUNTER, tx: MAX_COUNTER },
            target: name,
            vectors: vec![Vector::Payload(payload.clone())],
        };
        if codec::encode(&largest).len() > self.config.max_datagram {
            return Err(Refusal::TooLarge);
        }
        self.state.payload = payload;
        Ok(())
    }
}

/// The row of a node that this one has to introduce itself to [SA-38, SA-57].
fn introduced_row(place: Place) -> Row {
    Row::new(Status::Joining, Incarnation::default(), place, Exchange::First)
}

/// The joining about a node among the vectors.
fn joining_of(node: Uuid, vectors: &[Vector]) -> Option<(Incarnation, &Place)> {
    vectors.iter().find_map(|vector| match vector {
        Vector::Joining { node: named, incarnation, place } if *named == node => Some((*incarnation, place)),
        _ => None,
    })
}
