package vectors

import (
	"encoding/json"
	"slices"
	"sort"
)

const later = 60_000 // milliseconds after which timers of any protocol have run

// checks runs a case by its check.
var checks map[string]func(*trial)

func init() { // not a literal, since checks call each other
	checks = map[string]func(*trial){
		"decode":    func(t *trial) { t.checkDecode() },
		"encode":    func(t *trial) { t.checkEncode(t.vector.Value) },
		"reencode":  func(t *trial) { t.checkEncode(t.checkDecode()) },
		"rejects":   (*trial).checkRejects,
		"survives":  func(t *trial) { t.deliver(t.receiver(), t.malformed()) },
		"unchanged": (*trial).checkUnchanged,
		"serves":    (*trial).checkServes,
		"exchange":  func(t *trial) { newScript(t, t.vector.Nodes).play() },
		"cluster":   func(t *trial) { newScript(t, t.vector.Nodes).play() },
	}
}

// checkDecode returns the decoded message, if it is the right one.
func (t *trial) checkDecode() json.RawMessage {
	answer := t.ask("", object{"op": "decode", "bytes": t.vector.Bytes})
	if answer.Rejected != nil {
		fail("rejected", "decode", object{"value": parse(t.vector.Value)}, object{"rejected": answer.Rejected.plain()})
	}
	t.match("value", "", parse(t.vector.Value), parse(answer.Value))
	return answer.Value
}

// checkEncode checks the bytes of a message.
func (t *trial) checkEncode(message json.RawMessage) {
	answer := t.ask("", object{"op": "encode", "value": message})
	if answer.Rejected != nil {
		fail("rejected", "encode", object{"bytes": t.vector.Bytes}, object{"rejected": answer.Rejected.plain()})
	}
	if answer.Bytes != t.vector.Bytes {
		different := &difference{where: "bytes", expected: t.vector.Bytes, actual: answer.Bytes}
		panic(&failure{"bytes", t.compareMessages(different, t.vector.Bytes, answer.Bytes, "message")})
	}
}

// checkRejects decodes all datagrams before it judges an answer.
func (t *trial) checkRejects() {
	answers := []reply{}
	for _, one := range t.vector.Datagrams {
		answers = append(answers, t.ask("", object{"op": "decode", "bytes": one.Bytes}))
	}
	for at, one := range t.vector.Datagrams {
		rejected := answers[at].Rejected
		if rejected == nil {
			fail("accepted", one.Name, object{"rejected": "no message"}, object{"bytes": one.Bytes, "value": parse(answers[at].Value)})
		}
		if t.vector.Class != "" && rejected.Class != t.vector.Class {
			fail("class", one.Name+": rejected.class", t.vector.Class, rejected.Class)
		}
	}
}

// receiver opens the node that receives malformed datagrams.
func (t *trial) receiver() *script {
	about := t.vector.Receiver
	config, _ := about.Config.(object)
	return newScript(t, []nodeSpec{{Name: "node", Addr: about.Addr, Config: config}})
}

func (t *trial) malformed() []string {
	found := []string{}
	for _, one := range t.vector.Datagrams {
		found = append(found, one.Bytes)
	}
	return found
}

// receive is the request that delivers a message.
func receive(t *trial, from any, digits string) object {
	return object{"op": "recv", "via": t.bundle.Run.Transport, "from": from, "bytes": digits}
}

// deliver delivers messages to the receiver; returns the first message that is sent after each, or nil.
func (t *trial) deliver(s *script, datagrams []string) []*message {
	answers := []*message{}
	for _, digits := range datagrams {
		before := len(s.messages)
		s.request(s.nodes[0], receive(t, t.vector.Receiver.Peer, digits))
		answers = append(answers, append(slices.Clone(s.messages[before:]), nil)[0])
	}
	return answers
}

// checkUnchanged checks that malformed datagrams are not answered, and change no answer to a query, nor the next timer.
func (t *trial) checkUnchanged() {
	s := t.receiver()
	t.deliver(s, t.vector.Receiver.Legal)
	before := s.observed()
	for at, answer := range t.deliver(s, t.malformed()) {
		if answer != nil {
			fail("changed", t.vector.Datagrams[at].Name+": messages", nil, object{"to": answer.to, "bytes": answer.bytes})
		}
	}
	t.match("changed", "", before, s.observed())
}

// observed returns the answers to all queries that are offered, and the next timer.
func (s *script) observed() object {
	found, node := object{"next_timer_ms": nil}, s.nodes[0]
	if node.nextTimer != nil {
		found["next_timer_ms"] = number(int(*node.nextTimer))
	}
	for _, what := range s.bundle.Run.Queries {
		if s.offers("observe." + what) {
			found[what] = parse(s.ask(node.Name, object{"op": "query", "what": what, "handle": node.handle}).Value)
		}
	}
	return found
}

// checkServes checks that after malformed datagrams a node sends what a twin sends without them. Both get the same answers to their
// random choices.
func (t *trial) checkServes() {
	twins := []any{}
	for _, datagrams := range [][]string{nil, t.malformed()} {
		t.asked = map[string]int{}
		s := t.receiver()
		t.deliver(s, datagrams)
		s.clear()
		t.deliver(s, t.vector.Receiver.Legal)
		if next := s.nodes[0].nextTimer; next != nil {
			s.advance(min(later, *next))
		}
		twins = append(twins, s.comparable())
	}
	t.match("unserving", "messages", twins[0], twins[1])
}

// comparable returns the messages that were sent; only time, receiver and type, in any order, if the node makes random choices of its
// own.
func (s *script) comparable() []any {
	found, lines := []any{}, []string{}
	for _, sent := range s.messages {
		shown := object{"to": sent.to, "bytes": sent.bytes}
		if !s.offer.Oracle {
			shown = object{"at": sent.at, "to": sent.to, "type": s.kind(sent.bytes)}
		}
		line, _ := json.Marshal(shown)
		lines = append(lines, string(line))
	}
	if !s.offer.Oracle {
		sort.Strings(lines)
	}
	for _, line := range lines {
		found = append(found, parse([]byte(line)))
	}
	return found
}
