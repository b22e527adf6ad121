package vectors

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// actor is a node under test.
type actor struct {
	nodeSpec
	addr      any
	node      Node
	now       int64
	nextTimer *int64
	isDown    bool
	told      []any // events that no step `told` has checked
	number    int   // of messages, events and actions on connections, and their bytes
	size      int
}

// message is what a node has sent.
type message struct {
	at     int64
	sender *actor
	to     any
	digits string
}

// host has the nodes of a case under virtual time, and their output that no step has checked.
type host struct {
	trial     *trial
	actors    []*actor
	now       int64
	messages  []*message
	events    []any
	streams   []any
	openEnded []*message // messages whose outcome the sender has not learnt
	happened  int
	net       *network // nil: the vector plays the peers
}

func newHost(t *trial, nodes []nodeSpec) *host {
	t.happened = nil // of a twin before this one
	made := &host{trial: t}
	for _, node := range nodes {
		made.actors = append(made.actors, &actor{nodeSpec: node, addr: parse(node.Addr)})
	}
	return made
}

func (h *host) open() {
	for _, one := range h.actors {
		opening := Opening{h.trial.Case.ID, one.Name, h.trial.choices.seed, 0, one.Addr, one.Config, one.State, one.Timers}
		op, claim := "open", h.trial.claim("exchange", one.Config)
		if one.State != nil {
			op, claim = "load", "" // some states cannot be reached from outside
		}
		h.note(one, map[string]string{"open": "opened", "load": "opened in a given state"}[op])
		h.take(one, ask(h.trial, op, claim, func() (reaction Reaction) {
			one.node, reaction = h.trial.subject.Open(opening, h.trial.choices.choose)
			return reaction
		}))
	}
}

func (h *host) find(name string) *actor {
	at := slices.IndexFunc(h.actors, func(one *actor) bool { return one.Name == name })
	if at < 0 {
		return nil
	}
	return h.actors[at]
}

// act does something with a node at the present time, and takes what the node does then.
func (h *host) act(one *actor, op, claim string, do func(node Node, now int64) Reaction) Reaction {
	one.now = max(one.now, h.now)
	reaction := ask(h.trial, op, claim, func() Reaction { return do(one.node, one.now) })
	h.take(one, reaction)
	return reaction
}

func (h *host) deliver(one *actor, from json.RawMessage, digits string) {
	h.trial.isChallenged = true
	h.noteMessage(one, "<-", parse(from), digits)
	h.act(one, "recv", "exchange", func(node Node, now int64) Reaction { return node.Receive(now, from, unhex(digits)) })
}

func (h *host) query(one *actor, what string, args json.RawMessage) any {
	return ask(h.trial, "query", "observe."+what, func() any { return plain(one.node.Query(what, args)) })
}

func (h *host) take(one *actor, reaction Reaction) {
	if wrong := h.trial.choices.wrong; wrong != "" {
		fail("choice", one.Name+": choice", "the options that the vector answers", wrong)
	}
	atOnce := h.trial.bundle.Run.Limits.AtOnce
	for _, effect := range reaction.Effects[:min(atOnce, len(reaction.Effects))] {
		switch {
		case effect.Stream != nil:
			stream := plain(effect.Stream)
			digits, _ := stream.(object).values["bytes"].(string)
			h.count(one, len(digits)/2)
			h.streams = append(h.streams, stream)
			h.note(one, onConnection(stream.(object)))
		case effect.Event != nil:
			event := plain(effect.Event)
			h.count(one, 0)
			h.events, one.told = append(h.events, event), append(one.told, event)
			h.note(one, "reports "+text(event))
		default:
			h.count(one, len(effect.Datagram))
			h.send(&message{h.now, one, plain(effect.To), hex.EncodeToString(effect.Datagram)})
		}
	}
	if count := len(reaction.Effects); count > atOnce {
		fail("flooded", "messages in reply to one request", newObject("at most", plain(atOnce)), newObject(one.Name, plain(count)))
	}
	one.nextTimer = reaction.NextTimer
	if one.nextTimer != nil && *one.nextTimer < one.now {
		fail("clock", one.Name+": next_timer_ms", fmt.Sprintf("at least %d", one.now), plain(*one.nextTimer))
	}
}

// count counts what a node does; a case that produces more than a node reasonably can is stopped.
func (h *host) count(one *actor, size int) {
	one.number, one.size = one.number+1, one.size+size
	numbers, sizes, number, bytes := newObject(), newObject(), 0, 0
	for _, each := range h.actors {
		number, bytes = number+each.number, bytes+each.size
	}
	limits := h.trial.bundle.Run.Limits
	if number <= limits.Messages && bytes <= limits.MessageBytes {
		return
	}
	for _, each := range h.actors {
		numbers.set(each.Name, plain(each.number))
		sizes.set(each.Name, plain(each.size))
	}
	if number > limits.Messages {
		fail("flooded", "messages in this case", newObject("at most", plain(limits.Messages)), numbers)
	}
	fail("flooded", "bytes of messages in this case", newObject("at most", plain(limits.MessageBytes)), sizes)
}

func (h *host) send(sent *message) {
	h.noteMessage(sent.sender, "->", sent.to, sent.digits)
	h.openEnded = append(h.openEnded, sent)
	if h.net != nil {
		h.net.carry(sent)
		return
	}
	h.messages = append(h.messages, sent)
}

// settle tells a sender the outcome of its message.
func (h *host) settle(sent *message, took *int64) {
	if at := slices.Index(h.openEnded, sent); at >= 0 {
		h.openEnded = slices.Delete(h.openEnded, at, at+1)
	}
	came := map[bool]string{true: "arrived", false: "did not arrive"}[took != nil]
	h.note(sent.sender, fmt.Sprintf("heard that the message to %s %s", word(sent.to), came))
	to := json.RawMessage(text(sent.to))
	h.act(sent.sender, "sent", "sent", func(node Node, now int64) Reaction { return node.Sent(now, to, unhex(sent.digits), took) })
}

func (h *host) crash(one *actor) {
	h.note(one, "crashed")
	ask(h.trial, "crash", "restart", func() any {
		one.node.Crash()
		return nil
	})
	one.isDown, one.nextTimer = true, nil
	h.openEnded = slices.DeleteFunc(h.openEnded, func(sent *message) bool { return sent.sender == one })
}

// advance advances time, and runs all that is due by then; the named nodes are advanced in any case.
func (h *host) advance(until int64, names []string) {
	for at, happen := h.due(until); happen != nil; at, happen = h.due(until) {
		h.now = max(h.now, at)
		h.happened++
		if most := h.trial.bundle.Run.Limits.Happenings; h.happened > most {
			fail("clock", fmt.Sprintf("at %d ms", h.now), "an end of timers and messages", fmt.Sprintf("%d of them", most))
		}
		happen()
	}
	h.now = max(h.now, until)
	for _, name := range names {
		if one := h.find(name); !one.isDown && one.now < until {
			h.note(one, "advanced")
			h.act(one, "advance", "exchange", Node.Advance)
		}
	}
}

// due returns the first timer or arrival that is due by then, and how it happens; timers come first.
func (h *host) due(until int64) (int64, func()) {
	var first *actor
	for _, one := range h.actors {
		if one.nextTimer != nil && *one.nextTimer <= until && (first == nil || *one.nextTimer < *first.nextTimer) {
			first = one
		}
	}
	if h.net != nil && len(h.net.onTheWay) > 0 {
		if at := h.net.onTheWay[0].at; at <= until && (first == nil || *first.nextTimer > at) {
			return at, h.net.arrive
		}
	}
	if first == nil {
		return 0, nil
	}
	return *first.nextTimer, func() {
		h.note(first, "timer")
		h.act(first, "advance", "exchange", Node.Advance)
	}
}

// network carries messages: all arrive after the same delay, unless the network is cut then.
type network struct {
	host     *host
	groups   [][]string
	onTheWay []arrival // the earliest first
}

type arrival struct {
	at   int64
	sent *message
	to   any
}

func newNetwork(t *trial, nodes []nodeSpec) *host {
	made := newHost(t, nodes)
	made.net = &network{host: made}
	return made
}

func (n *network) carry(sent *message) {
	at := n.host.now + n.host.trial.vector.Delay
	if sent.to != n.host.trial.bundle.Run.Everybody {
		n.onTheWay = append(n.onTheWay, arrival{at, sent, sent.to})
		return
	}
	for _, one := range n.host.actors {
		n.onTheWay = append(n.onTheWay, arrival{at, sent, one.addr})
	}
}

func (n *network) arrive() {
	first := n.onTheWay[0]
	n.onTheWay = n.onTheWay[1:]
	sent := first.sent
	at := slices.IndexFunc(n.host.actors, func(one *actor) bool { return same(one.addr, first.to) })
	arrives := at >= 0 && !n.host.actors[at].isDown && !n.isCut(sent.sender.Name, n.host.actors[at].Name)
	if arrives {
		n.host.deliver(n.host.actors[at], sent.sender.Addr, sent.digits)
	}
	if n.host.trial.bundle.Run.Transport == "tcp" && slices.Contains(n.host.openEnded, sent) {
		var took *int64
		if arrives {
			microseconds := n.host.trial.vector.Delay * 1000
			took = &microseconds
		}
		n.host.settle(sent, took)
	}
}

func (n *network) isCut(one, other string) bool {
	side := func(name string) int {
		return slices.IndexFunc(n.groups, func(group []string) bool { return slices.Contains(group, name) })
	}
	return side(one) >= 0 && side(other) >= 0 && side(one) != side(other)
}
