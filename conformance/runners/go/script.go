package vectors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const after = "after the last step"

var checking = []string{"expect", "observe", "told"} // steps that check something

// actor is a node under test.
type actor struct {
	nodeSpec
	handle    json.RawMessage
	now       int64
	nextTimer *int64
	isDown    bool
}

// message is one that a node has sent.
type message struct {
	at     int64
	sender *actor
	to     any
	bytes  string
}

// report is an event that a node has reported.
type report struct {
	node   *actor
	event  object
	isTold bool // whether a step told has checked it
}

// script runs the steps of a vector with nodes, under virtual time.
type script struct {
	*trial
	network   *network // of a cluster
	nodes     []*actor
	now       int64
	happened  int        // timers and arrivals
	unsettled []*message // whose outcome the sender has not learnt
	counts    map[string]object
	messages  []*message // not checked yet, as are the next two
	events    []*report
	streams   []any
}

// newScript opens the nodes of a case.
func newScript(t *trial, nodes []nodeSpec) *script {
	s := &script{trial: t, counts: map[string]object{}}
	if t.Case.Check == "cluster" {
		s.network = &network{}
	}
	for _, spec := range nodes {
		node := &actor{nodeSpec: spec}
		s.nodes = append(s.nodes, node)
		request := object{
			"op": "open", "case": t.Case.ID, "node": spec.Name, "addr": spec.Addr, "now_ms": 0, "config": spec.Config, "seed": t.Case.Seed,
		}
		if spec.State != nil {
			request["op"], request["state"], request["timers"] = "load", spec.State, spec.Timers
		}
		answer := s.ask(spec.Name, request)
		node.handle = answer.Handle
		s.take(node, answer)
	}
	return s
}

// named returns a node by its name.
func (s *script) named(name string) *actor {
	at := slices.IndexFunc(s.nodes, func(node *actor) bool { return node.Name == name })
	if at < 0 {
		return nil
	}
	return s.nodes[at]
}

// clear forgets all output that was not checked.
func (s *script) clear() { s.messages, s.events, s.streams = nil, nil, nil }

// play runs all steps.
func (s *script) play() {
	for _, one := range s.vector.Setup {
		s.act(one)
	}
	s.clear()
	for at, one := range s.vector.Steps {
		s.playStep(fmt.Sprintf("steps[%d]", at), func() {
			switch one.Do {
			case "expect":
				s.expect(one)
			case "observe":
				s.observe(one)
			case "told":
				s.told(one)
			default:
				s.act(one)
			}
		})
	}
	s.playStep(after, s.expectNothing)
}

// playStep runs a step, and goes on after a failure that declared readings explain.
func (s *script) playStep(place string, run func()) {
	s.place = place
	ended := catch(run)
	failed, isFailure := ended.(*failure)
	if ended == nil {
		return
	}
	if !isFailure {
		panic(ended)
	}
	readings := s.declared(failed)
	if len(readings) == 0 {
		panic(failed)
	}
	s.readings = append(s.readings, readings...)
	s.clear()
}

// act runs an action at its time, after everything that is due by then.
func (s *script) act(one step) {
	s.picks = one.Picks
	s.advance(one.At)
	for _, node := range s.nodes {
		if slices.Contains(one.Nodes, node.Name) && !node.isDown && node.now < one.At {
			s.request(node, object{"op": "advance"})
		}
	}
	node := s.named(one.Node)
	switch {
	case one.Do == "sent":
		s.settleMeant(one, node)
	case one.Do == "cut" || one.Do == "heal":
		s.network.groups = one.Groups
	case one.Request != nil:
		s.carryOut(one, node)
	}
}

// carryOut sends the request of a step to a node, which may refuse a call only if the step says so.
func (s *script) carryOut(one step, node *actor) {
	request := object{}
	for name, member := range one.Request {
		request[name] = member
		if name == "op" || name == "config" || name == "name" {
			request[name] = parse(member)
		}
	}
	node.isDown = one.Do == "crash"
	refused := s.request(node, request).Refused
	if node.isDown {
		s.unsettled = slices.DeleteFunc(s.unsettled, func(sent *message) bool { return sent.sender == node })
	}
	isAnnounced := one.Refused != nil && one.Refused != false
	class, isFixed := one.Refused.(string)
	if isAnnounced == (refused != nil) && (!isFixed || class == refused.Class) {
		return
	}
	expected, actual := any("the call is carried out"), any("the call was carried out")
	if isAnnounced {
		expected = object{"refused": one.Refused}
	}
	if refused != nil {
		actual = object{"refused": refused.plain()}
	}
	fail("refused", s.place+".call", expected, actual)
}

// request sends a request to a node at the present time, and takes what it does.
func (s *script) request(node *actor, request object) reply {
	node.now = max(node.now, s.now)
	request["handle"], request["now_ms"] = node.handle, node.now
	answer := s.ask(node.Name, request)
	s.take(node, answer)
	return answer
}

// take takes the effects of a reply, within the limits of a case, and the time of the next timer.
func (s *script) take(node *actor, answer reply) {
	limits := s.bundle.Run.Limits
	for _, effect := range answer.Effects[:min(len(answer.Effects), limits.AtOnce)] {
		digits, _ := effect.Stream["bytes"].(string)
		if effect.Send != nil {
			digits = effect.Send.Bytes
		}
		s.count(node, "messages in this case", 1, limits.Messages)
		s.count(node, "bytes of messages in this case", len(digits)/2, limits.MessageBytes)
		switch {
		case effect.Send != nil:
			s.send(&message{s.now, node, effect.Send.To, digits})
		case effect.Stream != nil:
			s.streams = append(s.streams, effect.Stream)
		default:
			s.events = append(s.events, &report{node: node, event: effect.Event})
		}
	}
	if len(answer.Effects) > limits.AtOnce {
		fail("flooded", "messages in reply to one request", object{"at most": limits.AtOnce}, object{node.Name: number(len(answer.Effects))})
	}
	node.nextTimer = answer.NextTimer
	if next := node.nextTimer; next != nil && *next < node.now {
		fail("clock", node.Name+": next_timer_ms", fmt.Sprintf("at least %d", node.now), number(int(*next)))
	}
}

func number(value int) json.Number { return json.Number(fmt.Sprint(value)) }

// count counts output. That of all nodes has a limit.
func (s *script) count(node *actor, what string, amount, limit int) {
	if s.counts[what] == nil {
		s.counts[what] = object{}
	}
	total := amount
	for _, counted := range s.counts[what] {
		total += int(integer(counted).Int64())
	}
	before, _ := s.counts[what][node.Name].(json.Number)
	own, _ := before.Int64()
	s.counts[what][node.Name] = number(int(own) + amount)
	if total > limit {
		fail("flooded", what, object{"at most": limit}, s.counts[what])
	}
}

// send keeps a message that a node has sent; a cluster carries it.
func (s *script) send(sent *message) {
	s.unsettled = append(s.unsettled, sent)
	if s.network != nil {
		s.network.carry(s, sent)
		return
	}
	s.messages = append(s.messages, sent)
}

// settleMeant tells a node the outcome of its oldest message that is meant, or of all if no receiver is named.
func (s *script) settleMeant(one step, node *actor) {
	meant := []*message{}
	for _, sent := range s.unsettled {
		isTo := one.To == nil || fits(one.To, sent.to) && (one.Type == "" || s.kind(sent.bytes) == one.Type)
		if sent.sender == node && isTo && (one.Bytes == nil || sent.bytes == *one.Bytes) {
			meant = append(meant, sent)
		}
	}
	if one.Bytes != nil && len(meant) == 0 { // sent before the case began
		meant = append(meant, &message{sender: node, to: one.To, bytes: *one.Bytes})
	}
	if len(meant) == 0 {
		fail("messages", s.place+".sent", object{"node": one.Node, "to": one.To, "type": one.Type}, nil)
	}
	if one.To != nil {
		meant = meant[:1]
	}
	for _, sent := range meant {
		s.settle(sent, one.Took)
	}
}

// settle tells a sender how many microseconds its message took, or nil: it did not arrive.
func (s *script) settle(sent *message, took any) {
	s.unsettled = slices.DeleteFunc(s.unsettled, func(one *message) bool { return one == sent })
	s.request(sent.sender, object{"op": "sent", "to": sent.to, "bytes": sent.bytes, "took_us": took})
}

// advance advances time, and runs all that is due by then, the earliest first.
func (s *script) advance(until int64) {
	for {
		at, run := s.due(until)
		if run == nil {
			break
		}
		s.now = max(s.now, at)
		s.happened++
		if most := s.bundle.Run.Limits.Happenings; s.happened > most {
			fail("clock", fmt.Sprintf("at %d ms", s.now), "an end of timers and messages", fmt.Sprintf("%d of them", most))
		}
		run()
	}
	s.now = max(s.now, until)
}

// due returns what is due first, and when; timers come before messages that arrive at the same instant.
func (s *script) due(until int64) (at int64, run func()) {
	var first *actor
	for _, node := range s.nodes {
		if next := node.nextTimer; next != nil && *next <= until && (first == nil || *next < *first.nextTimer) {
			first = node
		}
	}
	if s.network != nil && s.network.isDue(until, first) {
		return s.network.onTheWay[0].at, func() { s.network.arrive(s) }
	}
	if first == nil {
		return 0, nil
	}
	return *first.nextTimer, func() { s.request(first, object{"op": "advance"}) }
}

// observe checks the answer to a query.
func (s *script) observe(one step) {
	request := object{"handle": s.named(one.Node).handle}
	for name, member := range one.Request {
		request[name] = parse(member)
	}
	where := fmt.Sprintf("%s.observe.%s", s.place, request["what"])
	s.match("observed", where, one.Equals, parse(s.ask(one.Node, request).Value))
}

// told checks the events of a kind that a node has reported since the last check.
func (s *script) told(one step) {
	if !s.compares(one.Event) {
		return
	}
	found := []any{}
	for _, reported := range s.events {
		if reported.node.Name == one.Node && reported.event["name"] == one.Event && !reported.isTold {
			reported.isTold = true
			found = append(found, reported.event)
		}
	}
	s.match("events", s.place+".told."+one.Event, one.Equals, found)
}

// expect checks all output since the last check: the first allowed outcome that matches is taken.
func (s *script) expect(one step) {
	allowed, branches, state := []outcome{}, []string{}, any(nil)
	for _, each := range one.Outcomes {
		if one.Picked == "" || !s.offer.Oracle || each.Branch == one.Picked {
			allowed, branches = append(allowed, each), append(branches, each.Branch)
		}
		if each.State != nil && state == nil {
			state = parse(s.ask(s.nodes[0].Name, object{"op": "query", "what": "state", "handle": s.nodes[0].handle}).Value)
		}
	}
	var first *failure
	for at, each := range allowed {
		ended := catch(func() { s.check(each, state) })
		failed, isFailure := ended.(*failure)
		if ended != nil && !isFailure {
			panic(ended)
		}
		if !isFailure {
			if len(allowed) > 1 && each.Verdict == "tolerated" {
				s.tolerated = append(s.tolerated, each.Branch+": "+each.Because)
			}
			break
		}
		if first == nil {
			first = failed
		}
		if at == len(allowed)-1 {
			if len(allowed) > 1 {
				first.where += fmt.Sprintf(" (none of the branches %s fits; shown against the first)", strings.Join(branches, ", "))
			}
			panic(first)
		}
	}
	s.clear()
	if one.QuietUntil != nil {
		s.picks = nil
		s.advance(*one.QuietUntil)
		s.expectNothing()
	}
}

// expectNothing checks that no output is left; in a cluster only queries and events are checked.
func (s *script) expectNothing() {
	if s.network == nil {
		s.check(outcome{Sends: []any{}, Streams: []any{}}, nil)
		s.clear()
	}
}

// check compares the output with an outcome.
func (s *script) check(wanted outcome, state any) {
	s.checkMessages(wanted)
	s.match("streams", s.place+".streams", wanted.Streams, append([]any{}, s.streams...))
	if wanted.Reports != nil && s.offers("events") {
		items, events := []any{}, []any{}
		for _, item := range wanted.Reports.Items {
			if item.Kind == nil || s.compares(*item.Kind) {
				items = append(items, item.Event)
			}
		}
		for _, reported := range s.events {
			if kind, _ := reported.event["name"].(string); s.compares(kind) {
				events = append(events, reported.event)
			}
		}
		pattern := any(items)
		if wanted.Reports.Order != "ordered" {
			pattern = object{"multiset": items}
		}
		s.match("events", s.place+".events", pattern, events)
	}
	if wanted.State != nil {
		s.match("observed", s.place+".state", wanted.State, state)
	}
}

// checkMessages compares messages. One in another form is the difference only if none differs in more than its form.
func (s *script) checkMessages(wanted outcome) {
	found, written := []any{}, []any{}
	for _, sent := range s.messages {
		shown := object{"to": sent.to, "bytes": sent.bytes}
		if wanted.Reads {
			shown["message"] = parse(s.read(sent.bytes))
		}
		found = append(found, shown)
	}
	different := s.messageDifference(wanted.Sends, found)
	if different == nil {
		return
	}
	if different.otherForm {
		for at, sent := range s.messages {
			shown := found[at].(object)
			again := object{"to": sent.to, "bytes": s.ask("", object{"op": "encode", "value": s.read(sent.bytes)}).Bytes}
			if message, isRead := shown["message"]; isRead {
				again["message"] = message
			}
			written = append(written, again)
		}
		if other := s.messageDifference(wanted.Sends, written); other != nil {
			different = other
		}
	}
	panic(&failure{"messages", different})
}

// messageDifference returns the first difference of messages, and whether it is one of form only.
func (s *script) messageDifference(expected any, found []any) *difference {
	different := firstDifference(expected, found, s.names, s.place+".messages")
	if different == nil {
		return nil
	}
	if place, isBytes := strings.CutSuffix(different.where, ".bytes"); isBytes {
		wanted, isText := different.expected.(string)
		if digits, both := different.actual.(string); isText && both {
			return s.compareMessages(different, wanted, digits, place+".message")
		}
		return different
	}
	wanted, _ := different.expected.(object)
	if shown, isMessage := different.actual.(object); isMessage && shown["bytes"] != nil {
		different.actual = object{"to": shown["to"], "bytes": shown["bytes"]}
		if digits, isText := wanted["bytes"].(string); isText {
			return s.compareMessages(different, digits, shown["bytes"].(string), different.where+".message")
		}
	}
	return different
}
