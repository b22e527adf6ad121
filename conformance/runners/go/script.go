package vectors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// script runs the steps of a vector.
type script struct {
	*trial
	host  *host
	state any // of the node, if an outcome asks for it
}

func (s *script) play() {
	s.host.open()
	for at, one := range s.vector.Setup {
		s.act(one, fmt.Sprintf("setup[%d]", at))
	}
	s.clear()
	for at, one := range s.vector.Steps {
		s.playStep(fmt.Sprintf("steps[%d]", at), func() { s.step(one) })
	}
	s.playStep(after, s.checkNothingIsLeft)
}

// playStep goes on after a failure that readings explain which the implementation declares.
func (s *script) playStep(place string, step func()) {
	s.place = place
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *failure:
			declared := s.declared(raised)
			if len(declared) == 0 {
				panic(raised)
			}
			s.readings = append(s.readings, declared...)
			s.clear()
		default:
			panic(raised)
		}
	}()
	step()
}

func (s *script) step(one step) {
	switch one.Do {
	case "expect":
		s.expect(one)
	case "observe":
		value := s.host.query(s.host.find(one.Node), one.Query, one.Args)
		s.match("observed", s.place+".observe."+one.Query, parse(one.Equals), value)
	case "told":
		s.told(one)
	default:
		s.act(one, s.place)
	}
}

// act runs an action at its time, after everything that is due earlier.
func (s *script) act(one step, where string) {
	s.choices.script = nil
	for _, answer := range one.Picks {
		s.choices.script = append(s.choices.script, pick{answer.Site, parse(answer.Pick).([]any)})
	}
	if _, happens := s.host.due(one.At); one.Do == "advance" || happens != nil {
		s.host.advance(one.At, one.Nodes)
	}
	s.host.now = max(s.host.now, one.At)
	node := s.host.find(one.Node)
	switch one.Do {
	case "receive":
		s.host.deliver(node, one.From, *one.Bytes)
	case "sent":
		s.sent(one, where)
	case "stream":
		_, hasBytes := parse(one.Stream).(object).values["bytes"]
		s.isChallenged = s.isChallenged || hasBytes
		s.host.note(node, "connection "+text(parse(one.Stream)))
		s.host.act(node, "stream", "stream", func(node Node, now int64) Reaction { return node.Stream(now, one.Stream) })
	case "call":
		s.call(one, where)
	case "crash":
		s.host.crash(node)
	case "restart":
		node.isDown = false
		s.host.note(node, strings.TrimSpace("restarted "+string(one.Config)))
		s.host.act(node, "restart", s.claim("restart", one.Config), func(node Node, now int64) Reaction { return node.Restart(now, one.Config) })
	case "cut", "heal":
		s.host.net.groups = one.Groups
		s.host.noteNetwork(one.Groups)
	}
}

// sent reports the outcome of the oldest message that is meant, or of all if no receiver is named.
func (s *script) sent(one step, where string) {
	sender, isAll := s.host.find(one.Node), one.To == nil
	var to any
	if !isAll {
		to = parse(one.To)
	}
	meant := []*message{}
	for _, sent := range s.host.openEnded {
		isMeant := isAll || (same(sent.to, to) && (one.Type == "" || s.kind(sent.digits) == one.Type))
		if sent.sender == sender && isMeant && (one.Bytes == nil || *one.Bytes == sent.digits) {
			meant = append(meant, sent)
		}
	}
	if len(meant) == 0 && one.Bytes != nil { // a loaded node sent it before the vector began
		meant = []*message{{s.host.now, sender, to, *one.Bytes}}
	}
	if len(meant) == 0 {
		fail("messages", where+".sent", newObject("node", one.Node, "to", to), nil)
	}
	if !isAll {
		meant = meant[:1]
	}
	for _, sent := range meant {
		s.host.settle(sent, one.Took)
	}
}

func (s *script) call(one step, where string) {
	node := s.host.find(one.Node)
	s.host.note(node, fmt.Sprintf("call %s %s", one.Name, text(parse(one.Args))))
	s.isChallenged = s.isChallenged || one.Refused != nil
	reaction := s.host.act(node, "call", "api."+one.Name, func(node Node, now int64) Reaction {
		return node.Call(now, one.Name, one.Args)
	})
	if reaction.Refused != nil {
		s.host.note(node, "refuses "+text(plain(reaction.Refused)))
	}
	class, isNamed := one.Refused.(string)
	isRefused, isAnnounced := reaction.Refused != nil, one.Refused != nil
	if isRefused == isAnnounced && (!isNamed || class == reaction.Refused.Class) {
		return
	}
	var expected, actual any = "the call is carried out", "the call was carried out"
	if isAnnounced {
		expected = newObject("refused", one.Refused)
	}
	if isRefused {
		actual = newObject("refused", plain(reaction.Refused))
	}
	fail("refused", where+".call", expected, actual)
}

// told checks the events of a kind that one node's application received since the last check.
func (s *script) told(one step) {
	if !s.tells(one.Event) {
		return
	}
	node, found, others := s.host.find(one.Node), []any{}, []any{}
	for _, event := range node.told {
		if event.(object).values["name"] == one.Event {
			found = append(found, event)
		} else {
			others = append(others, event)
		}
	}
	node.told = others
	s.match("events", s.place+".told."+one.Event, parse(one.Equals), found)
}

// expect checks the output since the last check: the first allowed outcome that matches is taken.
func (s *script) expect(one step) {
	allowed := one.Outcomes
	if slices.ContainsFunc(allowed, func(branch outcome) bool { return branch.State != nil }) {
		s.state = s.host.query(s.host.actors[0], "state", nil)
	}
	if one.Picked != "" && s.offer.Oracle {
		at := slices.IndexFunc(allowed, func(branch outcome) bool { return branch.Branch == one.Picked })
		allowed = allowed[at : at+1]
	}
	s.takeBranch(allowed)
	s.clear()
	if one.QuietUntil != nil {
		s.choices.script = nil
		s.host.advance(*one.QuietUntil, nil)
		s.checkNothingIsLeft()
	}
}

func (s *script) takeBranch(allowed []outcome) {
	var closest *failure
	names := []string{}
	for _, branch := range allowed {
		unmet := s.try(branch)
		if unmet == nil {
			if len(allowed) > 1 && branch.Verdict == "tolerated" {
				s.tolerated = append(s.tolerated, branch.Branch+": "+branch.Because)
			}
			return
		}
		if closest == nil {
			closest = unmet
		}
		names = append(names, branch.Branch)
	}
	if len(allowed) > 1 {
		closest.where += fmt.Sprintf(" (none of the branches %s fits; shown against the first)", strings.Join(names, ", "))
	}
	panic(closest)
}

// try returns the failure of a branch; names are bound only if it has none.
func (s *script) try(branch outcome) (unmet *failure) {
	before := s.bound
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *failure:
			s.bound, unmet = before, raised
		default:
			panic(raised)
		}
	}()
	s.check(branch)
	return nil
}

func (s *script) check(branch outcome) {
	s.checkMessages(branch)
	streams := any([]any{})
	if branch.Streams != nil {
		streams = parse(branch.Streams)
	}
	s.match("streams", s.place+".streams", streams, append([]any{}, s.host.streams...))
	if branch.Events != nil && s.offers("events") {
		found := []any{}
		for _, event := range s.host.events {
			if kind, _ := event.(object).values["name"].(string); s.tells(kind) {
				found = append(found, event)
			}
		}
		s.match("events", s.place+".events", s.comparedEvents(parse(branch.Events)), found)
	}
	if branch.State != nil {
		s.match("observed", s.place+".state", parse(branch.State), s.state)
	}
}

// comparedEvents returns an expectation of events without the kinds that the implementation does not report.
func (s *script) comparedEvents(expected any) any {
	if name, argument := matcherOf(expected); name != "" {
		if _, isList := argument.([]any); isList {
			return newObject(name, s.comparedEvents(argument))
		}
		return expected
	}
	return slices.DeleteFunc(expected.([]any), func(event any) bool {
		if name, argument := matcherOf(event); name == "contains" {
			event = argument
		}
		kind, isText := event.(object).values["name"].(string)
		return isText && !s.tells(kind)
	})
}

func (s *script) checkMessages(branch outcome) {
	isRead := false
	for _, wanted := range branch.Messages {
		isRead = isRead || wanted.Message != nil
	}
	wanted, found := []any{}, []any{}
	for _, one := range branch.Messages {
		pattern := newObject("to", parse(one.To), "bytes", newObject("any", true))
		if one.Bytes != nil {
			pattern.set("bytes", *one.Bytes)
		}
		if isRead {
			pattern.set("message", newObject("any", true))
		}
		if one.Message != nil {
			pattern.set("message", parse(one.Message))
		}
		wanted = append(wanted, pattern)
	}
	for _, sent := range s.host.messages {
		shown := newObject("to", sent.to, "bytes", sent.digits)
		if isRead {
			shown.set("message", s.read(sent.digits))
		}
		found = append(found, shown)
	}
	expected, where := any(wanted), s.place+".messages"
	if branch.Order == "unordered" {
		expected = newObject("multiset", wanted)
	}
	named, fits := firstBinding(expected, found, s.bound)
	if fits {
		s.bound = named
		return
	}
	different := firstDifference(expected, found, s.bound, where)
	if meant := s.withoutMeaningless(found); !same(meant, found) {
		other := firstDifference(expected, meant, s.bound, where)
		isMeant := other == nil
		if isMeant {
			other = different
		}
		shown := s.readable(other)
		shown.sameMeaning = isMeant
		demand("messages", shown)
	}
	shown := s.readable(different)
	if shown.otherForm { // is there a message that differs in more than its form?
		if other := firstDifference(expected, s.rewritten(found), s.bound, where); other != nil {
			shown = s.readable(other)
		}
	}
	demand("messages", shown)
}

// withoutMeaningless returns messages without the items of their lists that mean nothing; as they are if they have none, or if the
// decoder cannot say.
func (s *script) withoutMeaningless(found []any) (meant []any) {
	if len(s.bundle.Run.Meaningless) == 0 {
		return found
	}
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case undetermined, Unsupported:
			meant = found
		default:
			panic(raised)
		}
	}()
	for _, one := range found {
		meant = append(meant, s.withoutItems(one.(object)))
	}
	return meant
}

func (s *script) withoutItems(sent object) object {
	read, isMessage := s.read(sent.values["bytes"].(string)).(object)
	items, known := s.bundle.Run.Meaningless[typeOf(read)]
	if !isMessage || !known {
		return sent
	}
	kept := newObject()
	for _, name := range read.names {
		value := read.values[name]
		if list, isList := value.([]any); isList {
			value = slices.DeleteFunc(slices.Clone(list), func(item any) bool {
				return slices.ContainsFunc(parse(items).([]any), func(one any) bool { return same(one, item) })
			})
		}
		kept.set(name, value)
	}
	if same(kept, read) {
		return sent
	}
	digits, _ := s.encode(json.RawMessage(text(kept)))
	shown := newObject("to", sent.values["to"], "bytes", digits)
	if _, isRead := sent.values["message"]; isRead {
		shown.set("message", kept)
	}
	return shown
}

// rewritten returns messages in the form in which the implementation would write them itself.
func (s *script) rewritten(found []any) []any {
	written := []any{}
	for _, one := range found {
		shown := newObject()
		for _, name := range one.(object).names {
			shown.set(name, one.(object).values[name])
		}
		digits, _ := s.encode(json.RawMessage(text(s.read(shown.values["bytes"].(string)))))
		shown.set("bytes", digits)
		written = append(written, shown)
	}
	return written
}

// readable returns a difference of messages without what only serves their comparison.
func (s *script) readable(different *difference) *difference {
	expected, isText := different.expected.(string)
	if actual, both := different.actual.(string); strings.HasSuffix(different.where, ".bytes") && isText && both {
		shown := s.bytesDifference(different.where, expected, actual)
		if different.reordered != "" {
			shown.reordered = different.reordered
		}
		return shown
	}
	if one, other := bytesOf(different.expected), bytesOf(different.actual); one != "" && other != "" {
		s.compareMessages(different, one, other, different.where+".message")
	}
	different.expected, different.actual = readableSide(different.expected), readableSide(different.actual)
	return different
}

func bytesOf(side any) string {
	shown, _ := side.(object)
	digits, _ := shown.values["bytes"].(string)
	return digits
}

func readableSide(side any) any {
	shown, isObject := side.(object)
	if _, isMessage := shown.values["bytes"]; !isObject || !isMessage {
		return side
	}
	if digits := bytesOf(side); digits != "" {
		return newObject("to", shown.values["to"], "bytes", digits)
	}
	return newObject("to", shown.values["to"], "message", shown.values["message"])
}

func (s *script) checkNothingIsLeft() {
	if s.host.net == nil {
		s.check(outcome{})
		s.clear()
	}
}

func (s *script) clear() {
	s.host.messages, s.host.events, s.host.streams = nil, nil, nil
	for _, one := range s.host.actors {
		one.told = nil
	}
}
