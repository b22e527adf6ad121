//! The steps of a vector with nodes.

use std::rc::Rc;

use serde_json::{json, Value};

use crate::bundle::items;
use crate::host::{Host, Message};
use crate::matching::{first_difference, first_match, json_text, matcher_of, Difference};
use crate::trial::{fail, Asked, Checked, Ending, Failure, Trial};

pub(crate) const AFTER: &str = "after the last step";

/// Steps that check something.
pub(crate) const CHECKING: [&str; 3] = ["expect", "observe", "told"];

/// The steps of a vector, as they run.
pub(crate) struct Script<'t, 'a> {
    pub trial: &'t mut Trial<'a>,
    pub host: Host,
    /// Of the node, if an outcome asks for it.
    state: Value,
}

impl<'t, 'a> Script<'t, 'a> {
    pub fn new(trial: &'t mut Trial<'a>, host: Host) -> Self {
        Script {
            trial,
            host,
            state: Value::Null,
        }
    }

    pub fn play(&mut self) -> Checked<()> {
        self.host.open(self.trial)?;
        let content = self.trial.content;
        for (at, step) in items(&content["setup"]).iter().enumerate() {
            self.act(step, &format!("setup[{at}]"))?;
        }
        self.host.clear();
        for (at, step) in items(&content["steps"]).iter().enumerate() {
            let place = format!("steps[{at}]");
            self.trial.progress().place.clone_from(&place);
            let checked = match step["do"].as_str().unwrap_or_default() {
                "expect" => self.expect(step, &place),
                "observe" => self.observe(step, &place),
                "told" => self.told(step, &place),
                _ => self.act(step, &place),
            };
            self.go_on(checked)?;
        }
        self.trial.progress().place = AFTER.into();
        let checked = self.check_nothing_is_left(AFTER);
        self.go_on(checked)
    }

    /// Goes on after a failure that readings explain which the implementation declares.
    fn go_on(&mut self, checked: Checked<()>) -> Checked<()> {
        let Err(Ending::Failed(failure)) = &checked else {
            return checked;
        };
        let readings = self.trial.declared(failure);
        if readings.is_empty() {
            return checked;
        }
        self.trial.readings.extend(readings);
        self.host.clear();
        Ok(())
    }

    /// Runs an action at its time, after everything that is due earlier.
    fn act(&mut self, step: &Value, place: &str) -> Checked<()> {
        let (trial, host) = (&mut *self.trial, &mut self.host);
        trial.choices.borrow_mut().script(step.get("picks"));
        let (action, at) = (
            step["do"].as_str().unwrap_or_default(),
            step["at"].as_i64().unwrap_or_default(),
        );
        if action == "advance" || host.is_due(at) {
            host.advance(trial, at, items(&step["nodes"]))?;
        }
        host.now = host.now.max(at);
        match action {
            "advance" => Ok(()),
            "cut" | "heal" => {
                host.cut(trial, &step["groups"]);
                Ok(())
            }
            "sent" => self.sent(step, place),
            "call" => self.call(step, place),
            "receive" => {
                let index = host.find(&step["node"]);
                host.deliver(trial, index, &step["from"], digits(&step["bytes"]))
            }
            "stream" => {
                let index = host.find(&step["node"]);
                host.note(
                    trial,
                    index,
                    format!("connection {}", json_text(&step["stream"])),
                );
                trial.progress().is_challenged |= !step["stream"]["bytes"].is_null();
                host.act(trial, index, Asked::op("stream"), |node, now| {
                    node.stream(now, &step["stream"])
                })?;
                Ok(())
            }
            "crash" => {
                let index = host.find(&step["node"]);
                host.crash(trial, index)
            }
            "restart" => {
                let index = host.find(&step["node"]);
                let changes = step
                    .get("config")
                    .map(|config| format!(" {}", json_text(config)));
                host.note(
                    trial,
                    index,
                    format!("restarted{}", changes.unwrap_or_default()),
                );
                host.restart(trial, index, &step["config"])
            }
            other => panic!("the vector has an action {other:?}, which this runner does not know"),
        }
    }

    /// Reports the outcome of the oldest message that is meant, or of all if no receiver is named.
    fn sent(&mut self, step: &Value, place: &str) -> Checked<()> {
        let (sender, to, bytes) = (
            self.host.find(&step["node"]),
            step.get("to"),
            step["bytes"].as_str(),
        );
        let mut meant = Vec::new();
        for message in self.host.open_ended.clone() {
            let mut is_meant =
                message.sender == sender && bytes.is_none_or(|bytes| bytes == message.digits);
            if let Some(to) = to {
                is_meant = is_meant && message.to == *to;
                if let (true, Some(kind)) = (is_meant, step["type"].as_str()) {
                    is_meant = self.trial.kind(&message.digits)? == kind;
                }
            }
            if is_meant {
                meant.push(message);
            }
        }
        if let (true, Some(bytes)) = (meant.is_empty(), bytes) {
            // A loaded node sent it before the vector began.
            let to = to.cloned().unwrap_or_default();
            meant.push(Rc::new(Message {
                at: self.host.now,
                sender,
                to,
                digits: bytes.into(),
            }));
        }
        if meant.is_empty() {
            let expected = json!({"node": step["node"], "to": step["to"]});
            return fail("messages", format!("{place}.sent"), expected, Value::Null);
        }
        if to.is_some() {
            meant.truncate(1);
        }
        for message in meant {
            self.host
                .settle(self.trial, &message, step["took_us"].as_i64())?;
        }
        Ok(())
    }

    fn call(&mut self, step: &Value, place: &str) -> Checked<()> {
        let (index, name, args) = (
            self.host.find(&step["node"]),
            step["name"].as_str().unwrap_or_default(),
            &step["args"],
        );
        self.host.note(
            self.trial,
            index,
            format!("call {name} {}", json_text(args)),
        );
        let asked = Asked {
            op: "call",
            name,
            config: None,
        };
        self.trial.progress().is_challenged |= !step["refused"].is_null();
        let refused = self.host.act(self.trial, index, asked, |node, now| {
            node.call(now, name, args)
        })?;
        if let Some(refused) = &refused {
            self.host
                .note(self.trial, index, format!("refuses {}", json_text(refused)));
        }
        let announced = step.get("refused");
        let is_expected = match (announced, &refused) {
            (Some(Value::String(class)), Some(refused)) => refused["class"] == *class,
            (announced, refused) => announced.is_some() == refused.is_some(),
        };
        if is_expected {
            return Ok(());
        }
        let expected = announced.map_or(
            "the call is carried out".into(),
            |class| json!({"refused": class}),
        );
        let actual = refused.map_or(
            "the call was carried out".into(),
            |refused| json!({"refused": refused}),
        );
        fail("refused", format!("{place}.call"), expected, actual)
    }

    fn observe(&mut self, step: &Value, place: &str) -> Checked<()> {
        let (index, query) = (
            self.host.find(&step["node"]),
            step["query"].as_str().unwrap_or_default(),
        );
        let value = self.host.query(self.trial, index, query, &step["args"])?;
        self.trial.match_value(
            "observed",
            &format!("{place}.observe.{query}"),
            &step["equals"],
            &value,
        )
    }

    /// Checks the events of a kind that one node's application received since the last check.
    fn told(&mut self, step: &Value, place: &str) -> Checked<()> {
        let kind = step["event"].as_str().unwrap_or_default();
        if !self.trial.compares(kind) {
            return Ok(());
        }
        let index = self.host.find(&step["node"]);
        let told = &mut self.host.actors[index].told;
        let (found, others) = told.drain(..).partition(|event| event["name"] == kind);
        *told = others;
        self.trial.match_value(
            "events",
            &format!("{place}.told.{kind}"),
            &step["equals"],
            &Value::Array(found),
        )
    }

    /// Checks the output since the last check: the first allowed outcome that matches is taken.
    fn expect(&mut self, step: &Value, place: &str) -> Checked<()> {
        let mut allowed: Vec<&Value> = items(&step["outcomes"]).iter().collect();
        if allowed.iter().any(|outcome| outcome.get("state").is_some()) {
            self.state = self.host.query(self.trial, 0, "state", &Value::Null)?;
        }
        if let (Some(picked), true) = (step.get("picked"), self.trial.offer.oracle) {
            allowed.retain(|outcome| outcome["branch"] == *picked);
        }
        self.take_branch(&allowed, place)?;
        self.host.clear();
        if let Some(until) = step["quiet_until"].as_i64() {
            self.trial.choices.borrow_mut().script(None);
            self.host.advance(self.trial, until, &[])?;
            self.check_nothing_is_left(place)?;
        }
        Ok(())
    }

    fn take_branch(&mut self, allowed: &[&Value], place: &str) -> Checked<()> {
        let mut closest: Option<Box<Failure>> = None;
        for outcome in allowed {
            let before = self.trial.bound.clone();
            match self.check(outcome, place) {
                Ok(()) => {
                    if allowed.len() > 1 && outcome["verdict"] == "tolerated" {
                        let (branch, because) =
                            (digits(&outcome["branch"]), digits(&outcome["because"]));
                        self.trial.tolerated.push(format!("{branch}: {because}"));
                    }
                    return Ok(());
                }
                Err(Ending::Failed(failure)) => {
                    self.trial.bound = before;
                    closest.get_or_insert(failure);
                }
                Err(other) => return Err(other),
            }
        }
        let mut closest = closest.expect("a step has an outcome");
        if allowed.len() > 1 {
            let names: Vec<&str> = allowed
                .iter()
                .map(|outcome| digits(&outcome["branch"]))
                .collect();
            let others = format!(
                " (none of the branches {} fits; shown against the first)",
                names.join(", ")
            );
            closest.difference.path.push_str(&others);
        }
        Err(Ending::Failed(closest))
    }

    fn check(&mut self, outcome: &Value, place: &str) -> Checked<()> {
        self.check_messages(outcome, place)?;
        let streams = outcome.get("streams").cloned().unwrap_or_else(|| json!([]));
        let found = Value::Array(self.host.streams.clone());
        self.trial
            .match_value("streams", &format!("{place}.streams"), &streams, &found)?;
        if let (Some(events), true) = (outcome.get("events"), self.trial.offer.has("events")) {
            let compared = self
                .host
                .events
                .iter()
                .filter(|event| self.trial.compares(digits(&event["name"])));
            let found = Value::Array(compared.cloned().collect());
            let expected = self.compared_events(events);
            self.trial
                .match_value("events", &format!("{place}.events"), &expected, &found)?;
        }
        match outcome.get("state") {
            Some(state) => {
                self.trial
                    .match_value("observed", &format!("{place}.state"), state, &self.state)
            }
            None => Ok(()),
        }
    }

    /// An expectation of events without the kinds that are not compared.
    fn compared_events(&self, expected: &Value) -> Value {
        match (matcher_of(expected), expected) {
            (Some((name, list @ Value::Array(_))), _) => json!({name: self.compared_events(list)}),
            (None, Value::Array(events)) => {
                let kind = |event: &'_ Value| match matcher_of(event) {
                    Some(("contains", members)) => members["name"].as_str().map(String::from),
                    _ => event["name"].as_str().map(String::from),
                };
                let compared =
                    |event: &&Value| kind(event).is_none_or(|kind| self.trial.compares(&kind));
                Value::Array(events.iter().filter(compared).cloned().collect())
            }
            _ => expected.clone(),
        }
    }

    fn check_messages(&mut self, outcome: &Value, place: &str) -> Checked<()> {
        let wanted = items(&outcome["messages"]);
        let is_read = wanted.iter().any(|one| one.get("message").is_some());
        let mut patterns = Vec::new();
        for one in wanted {
            let any = || json!({"any": true});
            let mut pattern =
                json!({"to": one["to"], "bytes": one.get("bytes").cloned().unwrap_or_else(any)});
            if is_read {
                pattern["message"] = one.get("message").cloned().unwrap_or_else(any);
            }
            patterns.push(pattern);
        }
        let mut found = Vec::new();
        for message in self.host.messages.clone() {
            let mut shown = json!({"to": message.to, "bytes": message.digits});
            if is_read {
                shown["message"] = self.trial.read(&message.digits)?;
            }
            found.push(shown);
        }
        let mut expected = Value::Array(patterns);
        if outcome["order"] == "unordered" {
            expected = json!({"multiset": expected});
        }
        let found = Value::Array(found);
        if let Some(names) = first_match(&expected, Some(&found), &self.trial.bound) {
            self.trial.bound = names;
            return Ok(());
        }
        let path = format!("{place}.messages");
        let difference = first_difference(&expected, &found, &self.trial.bound, &path)
            .expect("it does not match");
        let meant = self.without_meaningless(&found)?;
        if meant != found {
            let other = first_difference(&expected, &meant, &self.trial.bound, &path);
            let has_same_meaning = other.is_none();
            let mut shown = self.readable(other.unwrap_or(difference))?;
            shown.has_same_meaning = has_same_meaning;
            return Err(("messages", shown).into());
        }
        let mut shown = self.readable(difference)?;
        if shown.is_other_form {
            // Is there a message that differs in more than its form?
            let rewritten = self.rewritten(&found)?;
            if let Some(other) = first_difference(&expected, &rewritten, &self.trial.bound, &path) {
                shown = self.readable(other)?;
            }
        }
        Err(("messages", shown).into())
    }

    /// Messages without the items of their lists that mean nothing; as they are if they have none, or if the decoder cannot say.
    fn without_meaningless(&mut self, found: &Value) -> Checked<Value> {
        let meaningless = self.trial.bundle.run["meaningless"].clone();
        let mut meant = found.clone();
        if meaningless.as_object().is_none_or(|types| types.is_empty()) {
            return Ok(meant);
        }
        for message in meant.as_array_mut().into_iter().flatten() {
            let read = match self.trial.read(digits(&message["bytes"])) {
                Err(failed @ Ending::Failed(_)) => return Err(failed),
                Err(_) => return Ok(found.clone()),
                Ok(read) => read,
            };
            let nothing = items(&meaningless[digits(&read["type"])]);
            let mut kept = read.clone();
            for list in kept.as_object_mut().into_iter().flatten() {
                if let Some(list) = list.1.as_array_mut() {
                    list.retain(|item| !nothing.contains(item));
                }
            }
            if kept != read {
                message["bytes"] = self.trial.encode(&kept)?.unwrap_or_default().into();
                if message.get("message").is_some() {
                    message["message"] = kept;
                }
            }
        }
        Ok(meant)
    }

    /// Messages in the form in which the implementation would write them itself.
    fn rewritten(&mut self, found: &Value) -> Checked<Value> {
        let mut written = found.clone();
        for message in written.as_array_mut().into_iter().flatten() {
            let read = self.trial.read(digits(&message["bytes"]))?;
            message["bytes"] = self.trial.encode(&read)?.unwrap_or_default().into();
        }
        Ok(written)
    }

    /// A difference of messages without what only serves their comparison.
    fn readable(&mut self, mut difference: Difference) -> Checked<Difference> {
        if let (true, Value::String(expected), Value::String(actual)) = (
            difference.path.ends_with(".bytes"),
            &difference.expected,
            &difference.actual,
        ) {
            let mut shown = self
                .trial
                .bytes_difference(&difference.path, expected, actual)?;
            shown.reordered = difference.reordered.or(shown.reordered);
            return Ok(shown);
        }
        let (one, other) = (
            difference.expected["bytes"].as_str().map(String::from),
            difference.actual["bytes"].as_str().map(String::from),
        );
        if let (Some(one), Some(other)) = (one, other) {
            let message = format!("{}.message", difference.path);
            self.trial
                .compare_messages(&mut difference, &one, &other, &message)?;
        }
        for side in [&mut difference.expected, &mut difference.actual] {
            let kept = if side["bytes"].is_string() {
                "bytes"
            } else {
                "message"
            };
            if side.get("bytes").is_some() {
                *side = json!({"to": side["to"], kept: side[kept]});
            }
        }
        Ok(difference)
    }

    fn check_nothing_is_left(&mut self, place: &str) -> Checked<()> {
        if self.host.has_no_network() {
            self.check(&json!({}), place)?;
            self.host.clear();
        }
        Ok(())
    }
}

fn digits(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
