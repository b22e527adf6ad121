//! A node: each event has a method, with the time in milliseconds as an argument, and gives the effects in their order.
//! It has no socket, no clock and no RNG.

use std::collections::BTreeMap;

use shared::chance::{self, Chance};
use shared::rejected::Rejected;

use crate::codec::{self, Digest, Entry, Message, TYPE_SIZE};
use crate::detector::{Detector, Status, Window};
use crate::reconcile::{delta, lacking, until_full};
use crate::store::Store;
use crate::text::{MAX_TEXT, Text};

/// Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub seeds: Vec<Text>,
    /// From one round to the next [B-08].
    pub interval: u64,
    /// The whole payload of a datagram, its type byte included [BA-05].
    pub max_payload: usize,
    /// Without one, no peer is critical and all peers are up.
    pub detector: Option<Detector>,
}

impl Default for Config {
    fn default() -> Self {
        Config { seeds: Vec::new(), interval: 1000, max_payload: 1400, detector: Some(Detector::default()) }
    }
}

/// What the application is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer is stored for the first time [BA-26].
    Join { peer: Text },
    /// A pair of another peer has changed [BA-26].
    Update { peer: Text, key: Text, value: Text, version: u64 },
    /// A delta came from this address [B-33].
    Heartbeat { peer: Text, round_trip: Option<u64> },
    /// A peer that was down is up again [B-20].
    Up { peer: Text },
    /// A peer that was up is down [B-20].
    Down { peer: Text },
    /// What came in is no message [BA-20].
    Malformed(Rejected),
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Send { to: Text, datagram: Vec<u8> },
    Event(Event),
}

/// Why an update is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The pair could never be sent [BA-03].
    TooLarge,
    /// The node is at the last version [BA-19].
    Overflow,
}

/// All that a node knows; its timers are beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub store: Store,
    /// What the failure detector knows of the other peers.
    pub liveness: BTreeMap<Text, Window>,
}

impl State {
    fn new(addr: &Text) -> Self {
        State { store: Store::new(addr.clone()), liveness: BTreeMap::new() }
    }
}

/// Answers the node's questions of chance.
pub type Chances<'a> = &'a mut dyn Chance<Text>;

pub struct Node {
    addr: Text,
    config: Config,
    state: State,
    /// When rounds are due, the next one first.
    rounds: Vec<u64>,
}

impl Node {
    /// The first round comes one interval after the start [B-08].
    pub fn start(addr: Text, config: Config, now: u64) -> Self {
        let state = State::new(&addr);
        let rounds = vec![now + config.interval];
        Node { addr, config, state, rounds }
    }

    /// Begins in a state, with rounds due at these times and no others.
    pub fn load(addr: Text, config: Config, state: State, mut rounds: Vec<u64>) -> Self {
        rounds.sort_unstable();
        Node { addr, config, state, rounds }
    }

    /// Starts again after a crash, with nothing kept.
    pub fn restart(&mut self, now: u64) {
        *self = Node::start(self.addr.clone(), self.config.clone(), now);
    }

    pub fn addr(&self) -> &Text {
        &self.addr
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn next_timer(&self) -> Option<u64> {
        self.rounds.first().copied()
    }

    /// The other peers by address. Without a failure detector all are up.
    pub fn statuses(&self) -> Vec<(Text, Status)> {
        let status = |addr: &Text| self.state.liveness.get(addr).map_or(Status::Up, |window| window.status);
        self.state.store.others().into_iter().map(|addr| (addr.clone(), status(&addr))).collect()
    }

    /// The application sets a pair of the node's own. The node's version grows by one, also if the value stays the same,
    /// and the pair gets it [B-06, B-07, BA-18].
    pub fn update_local(&mut self, key: &Text, value: &Text) -> Result<(), Refusal> {
        let size = |version| {
            Entry { addr: self.addr.clone(), key: key.clone(), value: value.clone(), version }.size() + TYPE_SIZE
        };
        if key.len() > MAX_TEXT || value.len() > MAX_TEXT || size(0) > self.config.max_payload {
            return Err(Refusal::TooLarge);
        }
        let own = self.state.store.own_mut();
        let version = own.version.checked_add(1).ok_or(Refusal::Overflow)?;
        own.merge(key, value, version);
        Ok(())
    }

    /// A datagram has come in. What is no message is dropped whole [BA-20].
    pub fn receive(&mut self, now: u64, from: &Text, datagram: &[u8]) -> Vec<Effect> {
        let mut effects = Vec::new();
        match codec::decode(datagram) {
            Ok(Message::DigestRequest(entries)) => {
                self.answer(now, from, &entries, &mut effects);
                self.ask_back(now, from, &entries, &mut effects);
            }
            Ok(Message::DigestResponse(entries)) => self.answer(now, from, &entries, &mut effects), // [B-16, B-39]
            Ok(Message::Delta(entries)) => {
                self.heartbeat(now, from, &mut effects);
                self.apply(&entries, &mut effects);
            }
            Err(rejected) => effects.push(Effect::Event(Event::Malformed(rejected))),
        }
        effects
    }

    /// Time has passed: all rounds due up to now, each at its time.
    pub fn advance(&mut self, now: u64, chances: Chances<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(due) = self.next_timer().filter(|due| *due <= now) {
            self.rounds.remove(0);
            self.rounds.push(due + self.config.interval);
            self.rounds.sort_unstable();
            self.round(due, chances, &mut effects);
        }
        effects
    }

    /// Stores the peers of a digest that were unknown, and answers with a delta, also with an empty one, to where the digest
    /// came from [B-11, B-13, B-32, BA-21, BA-22].
    fn answer(&mut self, now: u64, from: &Text, digest: &[Digest], effects: &mut Vec<Effect>) {
        for entry in digest {
            if self.state.store.add(&entry.addr) {
                if let Some(detector) = &self.config.detector {
                    self.state.liveness.insert(entry.addr.clone(), Window::open(detector, now));
                }
                effects.push(Effect::Event(Event::Join { peer: entry.addr.clone() }));
            }
        }
        let entries = delta(&self.state.store, digest, self.config.max_payload);
        send(from, &Message::Delta(entries), effects);
    }

    /// The digest response follows the delta, unless it has no entries [B-14, B-34, BA-32].
    fn ask_back(&mut self, now: u64, from: &Text, digest: &[Digest], effects: &mut Vec<Effect>) {
        let entries = lacking(&self.state.store, &self.addr, digest, self.config.max_payload);
        if !entries.is_empty() {
            send(from, &Message::DigestResponse(entries), effects);
            self.record_digest(now, from);
        }
    }

    /// Takes over what is newer of a delta [B-15, B-36].
    fn apply(&mut self, entries: &[Entry], effects: &mut Vec<Effect>) {
        for entry in entries.iter().cloned() {
            if self.state.store.apply(&entry) {
                let Entry { addr, key, value, version } = entry;
                effects.push(Effect::Event(Event::Update { peer: addr, key, value, version }));
            }
        }
    }

    /// A delta is a sign of life of its sender, and of an address that is not known it leaves nothing [BA-23, BA-30].
    fn heartbeat(&mut self, now: u64, from: &Text, effects: &mut Vec<Effect>) {
        let window = self.state.liveness.get_mut(from).zip(self.config.detector.as_ref());
        let round_trip = window.and_then(|(window, detector)| window.heartbeat(detector, now));
        effects.push(Effect::Event(Event::Heartbeat { peer: from.clone(), round_trip }));
    }

    /// Remembers when a digest went to a known peer [BA-30].
    fn record_digest(&mut self, now: u64, to: &Text) {
        if let Some(window) = self.state.liveness.get_mut(to) {
            window.digest_sent = Some(now);
        }
    }

    fn round(&mut self, now: u64, chances: Chances<'_>, effects: &mut Vec<Effect>) {
        for target in self.targets(now, chances) {
            let order = self.digest_order(chances);
            let entries = order.into_iter().map(|addr| Digest { version: self.state.store.version_of(&addr), addr });
            send(&target, &Message::DigestRequest(until_full(entries, self.config.max_payload)), effects);
            self.record_digest(now, &target);
        }
        self.set_statuses(now, effects);
    }

    /// A digest request lists all known peers, the sender too, in shuffled order [B-22, BA-09].
    fn digest_order(&self, chances: Chances<'_>) -> Vec<Text> {
        let known: Vec<Text> = self.state.store.records().map(|(addr, _)| addr.clone()).collect();
        chance::shuffled(chances, "digest.order", &known)
    }

    /// Where the digest requests of a round go: to the partner, then to an unknown seed, then to the critical peers, even if
    /// one is among the former [B-09, B-18, B-19, BA-24, BA-31]. A node that knows no other asks all its seeds [B-17].
    fn targets(&self, now: u64, chances: Chances<'_>) -> Vec<Text> {
        let others = self.state.store.others();
        let seeds = self.unknown_seeds();
        let Some(partner) = chance::one(chances, "round.partner", &others) else {
            return seeds;
        };
        let seed = chance::one(chances, "round.seed", &sorted(seeds));
        let critical = others.into_iter().filter(|addr| self.is_critical(addr, now));
        [partner].into_iter().chain(seed).chain(critical).collect()
    }

    /// The seeds that are not known, as configured; one that is configured twice is one seed, and the node itself is
    /// known [BA-24].
    fn unknown_seeds(&self) -> Vec<Text> {
        let mut seeds: Vec<Text> = Vec::new();
        for seed in &self.config.seeds {
            if !self.state.store.contains(seed) && !seeds.contains(seed) {
                seeds.push(seed.clone());
            }
        }
        seeds
    }

    fn is_critical(&self, addr: &Text, now: u64) -> bool {
        let window = self.state.liveness.get(addr).zip(self.config.detector.as_ref());
        window.is_some_and(|(window, detector)| window.phi_exceeds(detector.critical, now))
    }

    /// The round sets the status of each other peer [B-20].
    fn set_statuses(&mut self, now: u64, effects: &mut Vec<Effect>) {
        let Some(detector) = &self.config.detector else {
            return;
        };
        for (addr, window) in &mut self.state.liveness {
            let status = if window.phi_exceeds(detector.down, now) { Status::Down } else { Status::Up };
            if status != window.status {
                window.status = status;
                let peer = addr.clone();
                effects.push(Effect::Event(match status {
                    Status::Up => Event::Up { peer },
                    Status::Down => Event::Down { peer },
                }));
            }
        }
    }
}

fn sorted(mut texts: Vec<Text>) -> Vec<Text> {
    texts.sort();
    texts
}

fn send(to: &Text, message: &Message, effects: &mut Vec<Effect>) {
    let datagram = codec::encode(message).expect("what a node stores has at most 255 bytes");
    effects.push(Effect::Send { to: to.clone(), datagram });
}
