//! What goes into a datagram: the queue of events, anti-entropy, and requests and answers under their limit.

use std::collections::BTreeSet;

use shared::chance;

use crate::codec;
use crate::messages::{Incarnation, Message, Place, Vector};
use crate::node::{Effect, Node, Relay, Turn};
use crate::table::{Exchange, Row};
use crate::uuid::Uuid;

/// An event that is being passed on, and who got it [SA-25].
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    pub event: Vector,
    pub recipients: BTreeSet<Uuid>,
}

impl Queued {
    /// The node that the event is about.
    pub fn node(&self) -> Uuid {
        match &self.event {
            Vector::Joining { node, .. }
            | Vector::Normal { node, .. }
            | Vector::Suspicious { node, .. }
            | Vector::Dead { node, .. }
            | Vector::Leave { node, .. } => *node,
            other => unreachable!("{other:?} is no event"),
        }
    }
}

/// To how many nodes an event goes, and how many are pinged in a quantum: log2 N, rounded up [S-40, SA-23, SA-24].
pub fn fanout(active: usize) -> usize {
    match active {
        0 | 1 => 0,
        _ => (usize::BITS - (active - 1).leading_zeros()) as usize,
    }
}

/// Whom a datagram is for and what it is, beside its vectors.
enum Header {
    Ping,
    Ack(u64),
}

impl Node {
    /// Queues what has become of a row.
    pub(crate) fn enqueue_row(&mut self, node: Uuid) {
        self.enqueue(self.state.rows[&node].event(node, self.config.emit_incarnation));
    }

    /// Queues an event; it replaces an earlier one about its node, and goes to the end [S-35, S-39, SA-25].
    pub(crate) fn enqueue(&mut self, event: Vector) {
        let queued = Queued { event, recipients: BTreeSet::new() };
        self.state.queue.retain(|other| other.node() != queued.node());
        self.state.queue.push(queued);
    }

    /// An ack that holds just this.
    pub(crate) fn send_ack(&mut self, to: &str, target: Uuid, tx: u64, vectors: Vec<Vector>, turn: &mut Turn<'_>) {
        if let Some(incarnation) = self.next_incarnation() {
            let message = self.message(&Header::Ack(tx), target, incarnation, vectors);
            send(to, &message, turn);
        }
    }

    /// The first answer to a joiner: the ack, the joining, and anti-entropy without its keyword [S-25, SA-18].
    pub(crate) fn send_welcome(&mut self, to: &str, joiner: Uuid, tx: u64, turn: &mut Turn<'_>) {
        let Some(incarnation) = self.next_incarnation() else {
            return;
        };
        let mut datagram = Datagram::new(self, Header::Ack(tx), joiner, incarnation);
        datagram.vectors.push(self.state.rows[&joiner].event(joiner, false));
        datagram.add_anti_entropy(false, turn);
        let message = datagram.message();
        send(to, &message, turn);
    }

    /// An ack with events and anti-entropy [S-32]. The second answer to a joiner has a normal about it first [SA-58].
    pub(crate) fn send_ordinary_ack(&mut self, to: &str, target: Uuid, tx: u64, second: bool, turn: &mut Turn<'_>) {
        let Some(incarnation) = self.next_incarnation() else {
            return;
        };
        let mut datagram = Datagram::new(self, Header::Ack(tx), target, incarnation);
        let normal = second.then(|| datagram.add_normal_of_target());
        let carried = datagram.add_events(normal);
        datagram.add_anti_entropy(true, turn);
        let message = datagram.message();
        send(to, &message, turn);
        self.record_carried(target, &carried);
    }

    /// Pings a node, with a request or report to a relay straight after the header if that is what the ping is for [SA-04].
    /// A live node that knows this one gets news with it, one that does not an introduction or that vector alone [SA-57], and
    /// any other node nothing else. Returns the tx, or none if nothing can be sent [SA-47].
    pub(crate) fn send_ping(
        &mut self,
        to: &str,
        target: Uuid,
        first: Option<Vector>,
        turn: &mut Turn<'_>,
    ) -> Option<u64> {
        let incarnation = self.next_incarnation()?;
        let row = self.state.rows.get(&target);
        let exchange = row.filter(|row| row.is_live()).map(|row| row.exchange);
        let mut datagram = Datagram::new(self, Header::Ping, target, incarnation);
        let mut carried = Vec::new();
        datagram.vectors.extend(first);
        match exchange {
            Some(Exchange::First) if datagram.vectors.is_empty() => datagram.add_own_joining(),
            Some(Exchange::Second) if datagram.vectors.is_empty() => datagram.add_own_normal(),
            Some(Exchange::Done) => {
                carried = datagram.add_events(None);
                datagram.add_anti_entropy(true, turn);
                datagram.add_payload();
            }
            _ => {}
        }
        let message = datagram.message();
        send(to, &message, turn);
        self.record_carried(target, &carried);
        if let Some(row) = self.state.rows.get_mut(&target) {
            row.record_ping(incarnation.tx);
        }
        Some(incarnation.tx)
    }

    fn message(&self, header: &Header, target: Uuid, incarnation: Incarnation, vectors: Vec<Vector>) -> Message {
        let sender = self.config.uuid;
        match *header {
            Header::Ping => Message::Ping { sender, incarnation, target, vectors },
            Header::Ack(target_tx) => Message::Ack { sender, incarnation, target, target_tx, vectors },
        }
    }

    /// A datagram to a node carries these events. An event leaves the queue as soon as enough different nodes got it; the
    /// one that it is about is not counted [SA-25].
    fn record_carried(&mut self, target: Uuid, events: &[Uuid]) {
        let enough = fanout(self.active_size());
        for queued in &mut self.state.queue {
            if events.contains(&queued.node()) {
                queued.recipients.insert(target);
            }
        }
        self.state.queue.retain(|queued| {
            let node = queued.node();
            let counted = queued.recipients.iter().filter(|recipient| **recipient != node).count();
            !events.contains(&node) || counted < enough
        });
    }

    /// Pings a node for another one, at the address in the request [SA-55].
    pub(crate) fn relay_ping(&mut self, requester: Uuid, target: Uuid, place: &Place, turn: &mut Turn<'_>) {
        if target == self.config.uuid || target == requester {
            return;
        }
        if let Some(tx) = self.send_ping(&place.to_string(), target, None, turn) {
            self.state.relays.retain(|relay| (relay.requester, relay.target) != (requester, target));
            self.state.relays.push(Relay { target, requester, tx, fresh: true });
        }
    }

    /// Tells those for whom a node was pinged that it has answered [SA-55].
    pub(crate) fn report(&mut self, target: Uuid, at: Incarnation, tx: u64, turn: &mut Turn<'_>) {
        let is_answered = |relay: &Relay| relay.target == target && relay.tx == tx;
        let answered: Vec<Relay> = self.state.relays.iter().filter(|relay| is_answered(relay)).cloned().collect();
        self.state.relays.retain(|relay| !is_answered(relay));
        for relay in answered {
            if let Some(row) = self.state.rows.get(&relay.requester) {
                let to = row.place.to_string();
                let ack = Vector::IndirectAck { target, incarnation: at };
                self.send_ping(&to, relay.requester, Some(ack), turn);
            }
        }
    }
}

fn send(to: &str, message: &Message, turn: &mut Turn<'_>) {
    turn.effects.push(Effect::Send { to: to.to_owned(), datagram: codec::encode(message) });
}

/// A datagram that is being filled up to its limit [SA-32].
struct Datagram<'a> {
    node: &'a Node,
    header: Header,
    target: Uuid,
    incarnation: Incarnation,
    vectors: Vec<Vector>,
}

impl<'a> Datagram<'a> {
    fn new(node: &'a Node, header: Header, target: Uuid, incarnation: Incarnation) -> Self {
        Datagram { node, header, target, incarnation, vectors: Vec::new() }
    }

    fn message(self) -> Message {
        self.node.message(&self.header, self.target, self.incarnation, self.vectors)
    }

    fn fits(&self) -> bool {
        let message = self.node.message(&self.header, self.target, self.incarnation, self.vectors.clone());
        codec::encode(&message).len() <= self.node.config.max_datagram
    }

    /// Adds a vector if it fits.
    fn add(&mut self, vector: Vector) -> bool {
        self.vectors.push(vector);
        let fits = self.fits();
        if !fits {
            self.vectors.pop();
        }
        fits
    }

    /// The first request of a joiner [S-24].
    fn add_own_joining(&mut self) {
        let place = self.node.place.clone();
        self.vectors.push(Vector::Joining { node: self.node.config.uuid, incarnation: self.incarnation, place });
    }

    /// The second request of a joiner [S-27].
    fn add_own_normal(&mut self) {
        let incarnation = self.node.config.emit_incarnation.then_some(self.incarnation);
        self.vectors.push(Vector::Normal { node: self.node.config.uuid, incarnation });
    }

    /// A normal about the one who gets the datagram, whom it returns [S-28].
    fn add_normal_of_target(&mut self) -> Uuid {
        let row = &self.node.state.rows[&self.target];
        self.vectors.push(row.event(self.target, self.node.config.emit_incarnation));
        self.target
    }

    /// The events that the target has not got, in the order of the queue, up to the first that does not fit [SA-25]. Returns
    /// whom the events are about that it carries, with the one about whom it holds an event already.
    fn add_events(&mut self, held: Option<Uuid>) -> Vec<Uuid> {
        let mut carried = Vec::from_iter(held);
        for queued in &self.node.state.queue {
            if queued.recipients.contains(&self.target) || held == Some(queued.node()) {
                continue;
            }
            if !self.add(queued.event.clone()) {
                break;
            }
            carried.push(queued.node());
        }
        carried
    }

    /// As many as are configured of the live rows without the target's, as far as they fit [S-33, SA-28].
    fn add_anti_entropy(&mut self, tagged: bool, turn: &mut Turn<'_>) {
        let is_told = |(uuid, row): &(&Uuid, &Row)| row.is_live() && **uuid != self.target;
        let live: Vec<Uuid> = self.node.state.rows.iter().filter(is_told).map(|(uuid, _)| *uuid).collect();
        let picked = chance::sample(turn.chances, "anti-entropy", self.node.config.ae_size, &live);
        let mut members = Vec::new();
        for uuid in picked {
            members.push(self.node.state.rows[&uuid].member(uuid));
            if !self.add(Vector::AntiEntropy { members: members.clone(), tagged }) {
                members.pop();
                break;
            }
            self.vectors.pop();
        }
        if !members.is_empty() {
            self.vectors.push(Vector::AntiEntropy { members, tagged });
        }
    }

    /// The payload, as long as it is not empty and the node has not left [SA-33, SA-59].
    fn add_payload(&mut self) {
        let payload = &self.node.state.payload;
        if !payload.is_empty() && !self.node.state.left {
            self.add(Vector::Payload(payload.clone()));
        }
    }
}
