package vectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

const later = 60_000 // milliseconds after which timers of any protocol have run

var checks map[string]func(*trial)

func init() { // not a literal, since checks call each other
	checks = map[string]func(*trial){
		"decode":    func(t *trial) { t.checkDecode() },
		"encode":    func(t *trial) { t.checkEncode(t.vector.Value) },
		"reencode":  func(t *trial) { t.checkEncode(t.checkDecode()) },
		"rejects":   (*trial).checkRejects,
		"survives":  func(t *trial) { newReceiver(t).deliver(t.datagrams(), nil) },
		"unchanged": (*trial).checkUnchanged,
		"serves":    (*trial).checkServes,
		"exchange":  func(t *trial) { (&script{trial: t, host: newHost(t, t.vector.Nodes)}).play() },
		"cluster":   func(t *trial) { (&script{trial: t, host: newNetwork(t, t.vector.Nodes)}).play() },
	}
}

// checkDecode returns the decoded message as JSON, if it is the right one.
func (t *trial) checkDecode() json.RawMessage {
	expected := parse(t.vector.Value)
	t.input = "decode " + t.vector.Bytes
	message, rejected := t.decode(t.vector.Bytes)
	if rejected != nil {
		fail("rejected", "decode", newObject("value", expected), newObject("rejected", plain(rejected)))
	}
	demand("value", firstDifference(expected, message, nil, ""))
	return json.RawMessage(text(message))
}

func (t *trial) checkEncode(message json.RawMessage) {
	t.input = "encode " + text(parse(message))
	digits, rejected := t.encode(message)
	if rejected != nil {
		fail("rejected", "encode", newObject("bytes", t.vector.Bytes), newObject("rejected", plain(rejected)))
	}
	if digits != t.vector.Bytes {
		demand("bytes", t.bytesDifference("bytes", t.vector.Bytes, digits))
	}
}

// checkRejects decodes all datagrams before it looks at an answer: a crash is worse than a datagram that is accepted.
func (t *trial) checkRejects() {
	messages, rejections := []any{}, []*Rejected{}
	for _, one := range t.vector.Datagrams {
		t.input = "decode " + one.Bytes
		message, rejected := t.decode(one.Bytes)
		messages, rejections = append(messages, message), append(rejections, rejected)
	}
	for at, one := range t.vector.Datagrams {
		t.input = "decode " + one.Bytes
		rejected := rejections[at]
		if rejected == nil {
			fail("accepted", one.Name, newObject("rejected", "no message"), newObject("bytes", one.Bytes, "value", messages[at]))
		}
		if wanted := t.vector.Class; wanted != "" && wanted != rejected.Class {
			fail("class", one.Name+": rejected.class", wanted, rejected.Class)
		}
	}
}

func (t *trial) checkUnchanged() {
	node := newReceiver(t)
	node.deliver(t.vector.Receiver.Legal, nil)
	node.host.messages = nil
	before := node.observed()
	node.deliver(t.datagrams(), func(at int) {
		if len(node.host.messages) > 0 {
			first := node.host.messages[0]
			fail("changed", t.vector.Datagrams[at].Name+": messages", nil, newObject("to", first.to, "bytes", first.digits))
		}
	})
	demand("changed", firstDifference(before, node.observed(), nil, ""))
}

func (t *trial) checkServes() {
	twins := [2][]any{}
	for at, datagrams := range [][]string{nil, t.datagrams()} {
		t.choices = newChoices(t.choices.seed) // the same answers for both
		node := newReceiver(t)
		node.deliver(datagrams, nil)
		node.host.messages = nil
		node.deliver(t.vector.Receiver.Legal, nil)
		if node.actor.nextTimer != nil {
			node.host.advance(min(later, *node.actor.nextTimer), nil)
		}
		twins[at] = node.comparable()
	}
	demand("unserving", firstDifference(twins[0], twins[1], nil, "messages"))
}

func (t *trial) datagrams() []string {
	found := []string{}
	for _, one := range t.vector.Datagrams {
		found = append(found, one.Bytes)
	}
	return found
}

// receiver is the node that gets malformed datagrams.
type receiver struct {
	*trial
	host  *host
	actor *actor
}

func newReceiver(t *trial) *receiver {
	made := newHost(t, []nodeSpec{{Name: "node", Addr: t.vector.Receiver.Addr, Config: t.vector.Receiver.Config}})
	made.open()
	return &receiver{t, made, made.actors[0]}
}

// deliver delivers messages; judge, if there is one, is called after each.
func (r *receiver) deliver(datagrams []string, judge func(at int)) {
	for at, digits := range datagrams {
		r.host.deliver(r.actor, json.RawMessage(text(r.vector.Receiver.Peer)), digits)
		if judge != nil {
			judge(at)
		}
	}
}

func (r *receiver) observed() object {
	answers := newObject()
	for _, what := range r.bundle.Run.Queries {
		if r.offers("observe." + what) {
			answers.set(what, r.host.query(r.actor, what, nil))
		}
	}
	answers.set("next_timer_ms", nil)
	if r.actor.nextTimer != nil {
		answers.set("next_timer_ms", plain(*r.actor.nextTimer))
	}
	return answers
}

// comparable returns whole messages, or receivers and types if the node makes random choices of its own.
func (r *receiver) comparable() []any {
	shown := []any{}
	if r.offer.Oracle {
		for _, one := range r.host.messages {
			shown = append(shown, newObject("to", one.to, "bytes", one.digits))
		}
		return shown
	}
	for _, one := range r.host.messages {
		shown = append(shown, newObject("at", plain(one.at), "to", one.to, "type", r.kind(one.digits)))
	}
	key := func(one any) string {
		about := one.(object).values
		return fmt.Sprintf("%20v %s %s", about["at"], canonical(about["to"]), about["type"])
	}
	slices.SortFunc(shown, func(one, other any) int { return cmp.Compare(key(one), key(other)) })
	return shown
}
