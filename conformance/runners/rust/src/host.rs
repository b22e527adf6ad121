//! Nodes under virtual time, and all that they do.

use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::{json, Value};

use crate::bundle::items;
use crate::choices::{hex, unhex};
use crate::implementation::{Choose, Effect, Node, Opening, Problem, Reaction};
use crate::matching::json_text;
use crate::trial::{fail, Asked, Checked, Event, Trial};

/// A node under test.
pub(crate) struct Actor {
    pub name: String,
    pub addr: Value,
    config: Value,
    state: Option<Value>,
    timers: Option<Value>,
    node: Option<Box<dyn Node>>,
    now: i64,
    pub next_timer: Option<i64>,
    is_down: bool,
    /// Events that no step `told` has checked.
    pub told: Vec<Value>,
    /// The number of its messages, events and actions on connections, and their bytes.
    output: (usize, usize),
}

/// What a node has sent.
pub(crate) struct Message {
    pub at: i64,
    /// The index of the actor.
    pub sender: usize,
    pub to: Value,
    pub digits: String,
}

/// The nodes of a case, and their output that no step has checked.
pub(crate) struct Host {
    pub actors: Vec<Actor>,
    pub now: i64,
    pub messages: Vec<Rc<Message>>,
    pub events: Vec<Value>,
    pub streams: Vec<Value>,
    /// Messages whose outcome the sender has not learnt.
    pub open_ended: Vec<Rc<Message>>,
    happened: usize,
    /// None: the vector plays the peers.
    network: Option<Network>,
}

/// Carries messages: all arrive after the same delay, unless the network is cut then.
struct Network {
    delay: i64,
    groups: Vec<Vec<String>>,
    /// The earliest first: when, what, to which address.
    on_the_way: VecDeque<(i64, Rc<Message>, Value)>,
}

/// What is due: the timer of an actor, or the arrival of a message.
enum Due {
    Timer(usize),
    Arrival,
}

impl Host {
    pub fn new(nodes: &[Value]) -> Host {
        let actor = |node: &Value| Actor {
            name: node["name"].as_str().unwrap_or("node").to_string(),
            addr: node["addr"].clone(),
            config: node["config"].clone(),
            state: node.get("state").cloned(),
            timers: node.get("timers").cloned(),
            node: None,
            now: 0,
            next_timer: None,
            is_down: false,
            told: Vec::new(),
            output: (0, 0),
        };
        Host {
            actors: nodes.iter().map(actor).collect(),
            now: 0,
            messages: Vec::new(),
            events: Vec::new(),
            streams: Vec::new(),
            open_ended: Vec::new(),
            happened: 0,
            network: None,
        }
    }

    /// A host whose nodes reach each other.
    pub fn with_network(nodes: &[Value], delay: i64) -> Host {
        let network = Network {
            delay,
            groups: Vec::new(),
            on_the_way: VecDeque::new(),
        };
        Host {
            network: Some(network),
            ..Host::new(nodes)
        }
    }

    pub fn open(&mut self, trial: &mut Trial) -> Checked<()> {
        trial.progress().events.clear(); // those of a twin before this one
        for index in 0..self.actors.len() {
            let actor = &self.actors[index];
            let opening = Opening {
                case: trial.case.id.clone(),
                name: actor.name.clone(),
                addr: actor.addr.clone(),
                config: actor.config.clone(),
                now: 0,
                seed: trial.choices.borrow().seed.clone(),
                state: actor.state.clone(),
                timers: actor.timers.clone(),
            };
            let choices = Rc::clone(&trial.choices);
            let choose = Choose::new(move |question| choices.borrow_mut().answer(question));
            let (op, what) = match actor.state {
                None => ("open", "opened"),
                Some(_) => ("load", "opened in a given state"),
            };
            self.note(trial, index, what);
            let asked = Asked {
                op,
                name: "",
                config: Some(&self.actors[index].config),
            };
            let (node, reaction) = trial.ask(asked, |subject| subject.open(opening, choose))?;
            self.actors[index].node = Some(node);
            self.take(trial, index, reaction)?;
        }
        Ok(())
    }

    /// The index of the actor of this name.
    pub fn find(&self, name: &Value) -> usize {
        let found = self.actors.iter().position(|actor| name == &actor.name);
        found.unwrap_or_else(|| panic!("the vector names {name}, which is no node of it"))
    }

    fn ask<T>(
        &mut self,
        trial: &mut Trial,
        index: usize,
        asked: Asked,
        call: impl FnOnce(&mut dyn Node, i64) -> Result<T, Problem>,
    ) -> Checked<T> {
        let Actor { node, now, .. } = &mut self.actors[index];
        let node = node.as_mut().expect("the node is open");
        trial.ask(asked, |_| call(node.as_mut(), *now))
    }

    /// Does something with a node at the present time, and takes what the node does then.
    pub fn act(
        &mut self,
        trial: &mut Trial,
        index: usize,
        asked: Asked,
        call: impl FnOnce(&mut dyn Node, i64) -> Result<Reaction, Problem>,
    ) -> Checked<Option<Value>> {
        self.actors[index].now = self.actors[index].now.max(self.now);
        let mut reaction = self.ask(trial, index, asked, call)?;
        let refused = reaction.refused.take().map(|refused| refused.plain());
        self.take(trial, index, reaction)?;
        Ok(refused)
    }

    pub fn deliver(
        &mut self,
        trial: &mut Trial,
        index: usize,
        from: &Value,
        digits: &str,
    ) -> Checked<()> {
        trial.progress().is_challenged = true;
        self.note_message(trial, index, "<-", from, digits);
        let datagram = unhex(digits).unwrap_or_default();
        self.act(trial, index, Asked::op("recv"), |node, now| {
            node.receive(now, from, &datagram)
        })?;
        Ok(())
    }

    pub fn query(
        &mut self,
        trial: &mut Trial,
        index: usize,
        name: &str,
        args: &Value,
    ) -> Checked<Value> {
        let asked = Asked {
            op: "query",
            name,
            config: None,
        };
        self.ask(trial, index, asked, |node, _| node.query(name, args))
    }

    pub fn restart(&mut self, trial: &mut Trial, index: usize, config: &Value) -> Checked<()> {
        self.actors[index].is_down = false;
        let changes = if config.is_null() { &json!({}) } else { config };
        let asked = Asked {
            op: "restart",
            name: "",
            config: Some(changes),
        };
        self.act(trial, index, asked, |node, now| node.restart(now, changes))?;
        Ok(())
    }

    pub fn crash(&mut self, trial: &mut Trial, index: usize) -> Checked<()> {
        self.note(trial, index, "crashed");
        self.ask(trial, index, Asked::op("crash"), |node, _| node.crash())?;
        self.actors[index].is_down = true;
        self.actors[index].next_timer = None;
        self.open_ended.retain(|message| message.sender != index);
        Ok(())
    }

    /// Tells a sender the outcome of its message.
    pub fn settle(
        &mut self,
        trial: &mut Trial,
        message: &Rc<Message>,
        took: Option<i64>,
    ) -> Checked<()> {
        self.open_ended.retain(|one| !Rc::ptr_eq(one, message));
        let outcome = if took.is_some() {
            "arrived"
        } else {
            "did not arrive"
        };
        self.note(
            trial,
            message.sender,
            format!("heard that the message to {} {outcome}", word(&message.to)),
        );
        let datagram = unhex(&message.digits).unwrap_or_default();
        self.act(trial, message.sender, Asked::op("sent"), |node, now| {
            node.sent(now, &message.to, &datagram, took)
        })?;
        Ok(())
    }

    // ---- output

    fn take(&mut self, trial: &mut Trial, index: usize, reaction: Reaction) -> Checked<()> {
        let name = self.actors[index].name.clone();
        if let Some(wrong) = trial.choices.borrow_mut().wrong.take() {
            return fail(
                "choice",
                format!("{name}: choice"),
                "the options that the vector answers".into(),
                wrong.into(),
            );
        }
        let (at_once, number) = (trial.bundle.limit("at_once"), reaction.effects.len());
        for effect in reaction.effects.into_iter().take(at_once) {
            self.take_effect(trial, index, effect)?;
        }
        if number > at_once {
            let path = "messages in reply to one request";
            return fail(
                "flooded",
                path,
                json!({"at most": at_once}),
                json!({name: number}),
            );
        }
        let actor = &mut self.actors[index];
        actor.next_timer = reaction.next_timer;
        match actor.next_timer {
            Some(at) if at < actor.now => fail(
                "clock",
                format!("{name}: next_timer_ms"),
                format!("at least {}", actor.now).into(),
                at.into(),
            ),
            _ => Ok(()),
        }
    }

    fn take_effect(&mut self, trial: &mut Trial, index: usize, effect: Effect) -> Checked<()> {
        match effect {
            Effect::Stream(stream) => {
                let digits = stream["bytes"].as_str().unwrap_or_default();
                let what = match stream["event"].as_str() {
                    Some("data") => format!(
                        "writes on connection {}: {}",
                        word(&stream["conn"]),
                        shortened(digits)
                    ),
                    _ => format!("closes connection {}", word(&stream["conn"])),
                };
                self.note(trial, index, what);
                self.count(trial, index, digits.len() / 2)?;
                self.streams.push(stream);
            }
            Effect::Event(event) => {
                self.note(trial, index, format!("reports {}", json_text(&event)));
                self.count(trial, index, 0)?;
                self.actors[index].told.push(event.clone());
                self.events.push(event);
            }
            Effect::Send { to, datagram } => {
                let digits = hex(&datagram);
                self.note_message(trial, index, "->", &to, &digits);
                self.count(trial, index, datagram.len())?;
                self.send(
                    trial,
                    Rc::new(Message {
                        at: self.now,
                        sender: index,
                        to,
                        digits,
                    }),
                );
            }
        }
        Ok(())
    }

    /// Counts what a node does; a case that produces more than a node reasonably can is stopped.
    fn count(&mut self, trial: &Trial, index: usize, size: usize) -> Checked<()> {
        let output = &mut self.actors[index].output;
        *output = (output.0 + 1, output.1 + size);
        let numbers = self.actors.iter().map(|actor| actor.output.0).collect();
        let sizes = self.actors.iter().map(|actor| actor.output.1).collect();
        self.limit(
            numbers,
            trial.bundle.limit("messages"),
            "messages in this case",
        )?;
        self.limit(
            sizes,
            trial.bundle.limit("message_bytes"),
            "bytes of messages in this case",
        )
    }

    fn limit(&self, counts: Vec<usize>, most: usize, path: &str) -> Checked<()> {
        if counts.iter().sum::<usize>() <= most {
            return Ok(());
        }
        let names = self.actors.iter().map(|actor| actor.name.clone());
        let counts = names.zip(counts.into_iter().map(Value::from)).collect();
        fail(
            "flooded",
            path,
            json!({"at most": most}),
            Value::Object(counts),
        )
    }

    fn send(&mut self, trial: &Trial, message: Rc<Message>) {
        self.open_ended.push(Rc::clone(&message));
        let Some(network) = &mut self.network else {
            self.messages.push(message);
            return;
        };
        let at = self.now + network.delay;
        if message.to != trial.bundle.run["everybody"] {
            network
                .on_the_way
                .push_back((at, Rc::clone(&message), message.to.clone()));
            return;
        }
        for actor in &self.actors {
            network
                .on_the_way
                .push_back((at, Rc::clone(&message), actor.addr.clone()));
        }
    }

    /// Forgets all output so far.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.events.clear();
        self.streams.clear();
        self.actors.iter_mut().for_each(|actor| actor.told.clear());
    }

    // ---- time

    /// Advances time, and runs all that is due by then; the named nodes are advanced in any case.
    pub fn advance(&mut self, trial: &mut Trial, until: i64, names: &[Value]) -> Checked<()> {
        while let Some((at, due)) = self.due(until) {
            self.now = self.now.max(at);
            self.happened += 1;
            let most = trial.bundle.limit("happenings");
            if self.happened > most {
                let expected = "an end of timers and messages".into();
                return fail(
                    "clock",
                    format!("at {} ms", self.now),
                    expected,
                    format!("{most} of them").into(),
                );
            }
            match due {
                Due::Timer(index) => self.advance_node(trial, index, "timer")?,
                Due::Arrival => self.arrive(trial)?,
            }
        }
        self.now = self.now.max(until);
        for name in names {
            let index = self.find(name);
            if !self.actors[index].is_down && self.actors[index].now < until {
                self.advance_node(trial, index, "advanced")?;
            }
        }
        Ok(())
    }

    fn advance_node(&mut self, trial: &mut Trial, index: usize, what: &str) -> Checked<()> {
        self.note(trial, index, what);
        self.act(trial, index, Asked::op("advance"), |node, now| {
            node.advance(now)
        })?;
        Ok(())
    }

    /// Whether something is due by then.
    pub fn is_due(&self, until: i64) -> bool {
        self.due(until).is_some()
    }

    /// The first timer or arrival that is due by then; timers come first.
    fn due(&self, until: i64) -> Option<(i64, Due)> {
        let timers = self.actors.iter().enumerate();
        let timer = timers
            .filter_map(|(index, actor)| Some((actor.next_timer?, index)))
            .min();
        let timer = timer.map(|(at, index)| (at, Due::Timer(index)));
        let arrival = self
            .network
            .as_ref()
            .and_then(|network| network.on_the_way.front());
        let arrival = arrival.map(|(at, ..)| (*at, Due::Arrival));
        // Of equal ones, the first is taken.
        [timer, arrival]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
            .filter(|(at, _)| *at <= until)
    }

    // ---- the network

    /// From now on no message passes between these groups of nodes; without groups all pass.
    pub fn cut(&mut self, trial: &mut Trial, groups: &Value) {
        let groups: Vec<Vec<String>> = items(groups).iter().map(crate::bundle::texts).collect();
        let addr = |name: &String| word(&self.actors[self.find(&json!(name))].addr);
        let side = |group: &Vec<String>| group.iter().map(addr).collect::<Vec<_>>().join(", ");
        let what = match groups.iter().map(side).collect::<Vec<_>>().join(" | ") {
            sides if sides.is_empty() => "healed".to_string(),
            sides => format!("cut: {sides}"),
        };
        let event = Event {
            at: self.now,
            node: "network".into(),
            what,
            digits: None,
        };
        trial.progress().events.push(event);
        if let Some(network) = &mut self.network {
            network.groups = groups;
        }
    }

    fn arrive(&mut self, trial: &mut Trial) -> Checked<()> {
        let network = self.network.as_mut().expect("a message is on the way");
        let (_, message, to) = network
            .on_the_way
            .pop_front()
            .expect("a message is on the way");
        let delay = network.delay;
        let receiver = self.actors.iter().position(|actor| actor.addr == to);
        let receiver =
            receiver.filter(|&at| !self.actors[at].is_down && !self.is_cut(message.sender, at));
        if let Some(index) = receiver {
            let from = self.actors[message.sender].addr.clone();
            self.deliver(trial, index, &from, &message.digits)?;
        }
        if trial.bundle.run["transport"] == "tcp"
            && self.open_ended.iter().any(|one| Rc::ptr_eq(one, &message))
        {
            self.settle(trial, &message, receiver.map(|_| delay * 1000))?;
        }
        Ok(())
    }

    fn is_cut(&self, one: usize, other: usize) -> bool {
        let groups = self
            .network
            .as_ref()
            .map_or(&[][..], |network| &network.groups);
        let side = |index: usize| {
            groups
                .iter()
                .position(|group| group.contains(&self.actors[index].name))
        };
        matches!((side(one), side(other)), (Some(here), Some(there)) if here != there)
    }

    // ---- what happened, for the text of a failure

    pub fn note(&self, trial: &mut Trial, index: usize, what: impl Into<String>) {
        let node = word(&self.actors[index].addr);
        trial.progress().events.push(Event {
            at: self.now,
            node,
            what: what.into(),
            digits: None,
        });
    }

    fn note_message(
        &self,
        trial: &mut Trial,
        index: usize,
        direction: &str,
        peer: &Value,
        digits: &str,
    ) {
        let (node, what) = (
            word(&self.actors[index].addr),
            format!("{direction} {}", word(peer)),
        );
        trial.progress().events.push(Event {
            at: self.now,
            node,
            what,
            digits: Some(digits.into()),
        });
    }

    /// Whether the vector plays the peers of the nodes.
    pub fn has_no_network(&self) -> bool {
        self.network.is_none()
    }
}

/// A text without quotes, anything else as JSON.
pub(crate) fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| json_text(value), String::from)
}

/// The first 60 digits of bytes.
pub(crate) fn shortened(digits: &str) -> String {
    match digits.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &digits[..end]),
        None => digits.to_string(),
    }
}
