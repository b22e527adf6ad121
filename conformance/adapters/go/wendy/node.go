package wendy

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Config is the configuration of a node, in plain form.
type Config struct {
	ID              ID     `json:"id"`
	GlobalIP        string `json:"global_ip"`
	Region          string `json:"region"`
	NetworkTimeout  int64  `json:"network_timeout"`
	Heartbeat       int64  `json:"heartbeat"`
	Credentials     Bytes  `json:"credentials"`
	IsConsulted     bool   `json:"is_consulted"`
	Ring            Ring   `json:"ring"`
	LeafSetSide     int    `json:"leaf_set_side"`
	NeighborhoodSet int    `json:"neighborhood_set"`
	IsTwoSided      bool   `json:"is_two_sided"`
}

// The stages of a node.
const (
	alone   = "alone"
	joining = "joining"
	waiting = "waiting"
	joined  = "joined"
	left    = "left"
)

// cacheTime is when the cache is emptied, again and again. [WA-19]
const cacheTime = 3600_000

// maxMeasured and maxDeparted are how many nodes are measured and remembered. [WA-30, WA-54]
const (
	maxMeasured = 1024
	maxDeparted = 4096
)

// node is a node, without a network and a clock.
type node struct {
	config Config
	ring   Ring
	self   Node
	own    []string // the addresses at which the node is reached itself
	now    int64
	stage  string

	cells                  map[cell]Node
	left, right, neighbors []Node
	versions               Versions

	scores, cache map[ID]int64
	measured      map[ID]Node
	order         []ID // of measured nodes, as they were met
	stored        map[ID]Versions
	departed      map[ID]bool

	repairs    map[cell]*repair
	announcing []string
	isWarned   bool
	contact    string // while the own join is on its way there

	timers timers
	output []func() any // what the event leads to: messages are made when it is over [WA-42]
}

// timers are when something is due, nil if it is not.
type timers struct{ flushCache, announce, heartbeat *int64 }

func after(now, delay int64) *int64 { due := now + delay; return &due }

// sent is a message on its way to an address.
type sent struct {
	to      string
	message Message
}

func newNode(config Config, addr string, now int64) *node {
	colon := strings.LastIndexByte(addr, ':')
	host, port := addr[:colon], addr[colon+1:]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	number, err := strconv.Atoi(port)
	must(err)
	if config.GlobalIP == "" {
		config.GlobalIP = host
	}
	n := &node{
		config: config, ring: config.Ring, now: now, stage: alone,
		self:  Node{config.ID, host, config.GlobalIP, number, config.Region},
		cells: map[cell]Node{}, scores: map[ID]int64{}, cache: map[ID]int64{}, measured: map[ID]Node{},
		stored: map[ID]Versions{}, departed: map[ID]bool{}, repairs: map[cell]*repair{},
	}
	n.own = []string{addr, joinHostPort(config.GlobalIP, number)}
	n.timers.flushCache = after(now, cacheTime)
	if config.Heartbeat > 0 {
		n.timers.heartbeat = after(now, config.Heartbeat)
	}
	return n
}

// addressOf is where a node is sent to, empty if it has no address. [WA-52]
func (n *node) addressOf(one Node) string {
	host, other := one.GlobalIP, one.LocalIP
	if one.Region == n.self.Region {
		host, other = other, host
	}
	if host == "" {
		host = other
	}
	if host == "" || one.Port == 0 {
		return ""
	}
	return joinHostPort(host, one.Port)
}

// joinHostPort writes an address; a host with a colon is in brackets.
func joinHostPort(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// isPassedOver says whether a node is none that can be dealt with: without an address, or this one. [WA-52, WA-69]
func (n *node) isPassedOver(one Node) bool {
	addr := n.addressOf(one)
	return one.ID == n.self.ID || addr == "" || slices.Contains(n.own, addr)
}

// send sends a message of this node, with the versions and what else there is when the event is over.
func (n *node) send(to Node, purpose Purpose, fill func(message *Message)) {
	if addr := n.addressOf(to); addr != "" && !slices.Contains(n.own, addr) { // nothing to itself [WA-52]
		n.sendTo(addr, purpose, fill)
	}
}

func (n *node) sendTo(addr string, purpose Purpose, fill func(message *Message)) {
	n.output = append(n.output, func() any {
		message := Message{Purpose: purpose, Header: n.header()}
		if fill != nil {
			fill(&message)
		}
		return sent{addr, message}
	})
}

func (n *node) header() Header {
	return Header{Sender: n.self, Key: n.self.ID, Versions: n.versions, Credentials: n.config.Credentials}
}

func (n *node) notify(event map[string]any) { n.output = append(n.output, func() any { return event }) }

// finish ends an event: repairs go on, what is not needed is forgotten, and messages are made.
func (n *node) finish() []any {
	if n.stage != left {
		n.advanceRepairs()
		n.forget()
	}
	output := []any{}
	for _, make := range n.output {
		output = append(output, make())
	}
	n.output = nil
	return output
}

// forget keeps scores of nodes in the tables, and versions of these and of those that are measured. [WA-70]
func (n *node) forget() {
	isKnown := map[ID]bool{}
	for _, one := range n.known() {
		isKnown[one.ID] = true
	}
	for id := range n.scores {
		if !isKnown[id] {
			delete(n.scores, id)
		}
	}
	for id := range n.stored {
		if _, isMeasured := n.measured[id]; !isMeasured && !isKnown[id] {
			delete(n.stored, id)
		}
	}
}

// consider meets a node. A leaf is tried in the leaf set before it has a score. [WA-20, WA-69]
func (n *node) consider(one Node, isLeaf bool) {
	if n.isPassedOver(one) || n.departed[one.ID] {
		return
	}
	if present, isKnown := n.find(one.ID); isKnown {
		one = present
	} else if present, isMeasured := n.measured[one.ID]; isMeasured {
		one = present
	}
	_, isScored := n.scores[one.ID]
	if cached, isCached := n.cache[one.ID]; !isScored && isCached {
		n.scores[one.ID], isScored = cached, true
	}
	if isScored {
		n.insert(one)
		return
	}
	_, isMeasured := n.measured[one.ID]
	if isLeaf {
		n.insertLeaf(one)
	}
	if !isMeasured && len(n.measured) < maxMeasured {
		n.measure(one)
	}
}

func (n *node) measure(one Node) {
	n.unmeasure(one.ID)
	n.measured[one.ID] = one
	n.order = append(n.order, one.ID)
	n.send(one, Heartbeat, nil)
}

func (n *node) unmeasure(id ID) {
	delete(n.measured, id)
	n.order = slices.DeleteFunc(n.order, func(other ID) bool { return other == id })
}

// considerTables meets the sender of tables, and then all nodes in them, each once: the first record of an id counts. [WA-34, WA-60]
func (n *node) considerTables(sender Node, tables *Tables) {
	type met struct {
		node   Node
		isLeaf bool
	}
	all := []met{}
	if tables.LeafSet != nil {
		for _, one := range concat(tables.LeafSet.Left, tables.LeafSet.Right) {
			all = append(all, met{one, true})
		}
	}
	for _, one := range tables.RoutingTable {
		all = append(all, met{one.Node, false})
	}
	for _, one := range tables.NeighborhoodSet {
		all = append(all, met{one, false})
	}
	n.learnAddress(sender)
	n.consider(sender, true)
	isMet := map[ID]bool{}
	for _, one := range all {
		if !isMet[one.node.ID] {
			isMet[one.node.ID] = true
			n.consider(one.node, one.isLeaf)
		}
	}
}

// store keeps the larger of the versions that a node has said of its tables. [W-63, WA-45]
func (n *node) store(id ID, versions Versions) {
	kept := n.stored[id]
	n.stored[id] = Versions{
		max(kept.RoutingTable, versions.RoutingTable),
		max(kept.LeafSet, versions.LeafSet),
		max(kept.NeighborhoodSet, versions.NeighborhoodSet),
	}
}

// accepts says whether a message has the credentials that this node wants. [WA-53]
func (n *node) accepts(message Message) bool {
	return n.config.Credentials == nil || bytes.Equal(n.config.Credentials, message.Header.Credentials) && message.Header.Credentials != nil
}

func (n *node) receive(message Message) {
	if n.stage == left || !n.accepts(message) {
		return
	}
	header := &message.Header
	if (message.Purpose == NodeJoin || message.Purpose >= Application) && header.Hop < math.MaxInt32 {
		header.Hop++
	}
	switch {
	case message.Purpose == NodeJoin:
		n.onJoin(message)
	case message.Purpose == NodeExit:
		if header.Sender.ID != n.self.ID {
			n.unmeasure(header.Sender.ID)
			n.onDeparture(header.Sender.ID)
		}
	case message.Purpose == StateData:
		n.onStateData(message)
	case message.Purpose.HasMask():
		n.answer(header.Sender, message.Mask)
	case message.Purpose == NodeRace:
		n.onRace(message)
	case message.Purpose == NodeAnnouncement:
		n.onAnnouncement(message)
	case message.Purpose >= Application:
		n.route(message, n.config.IsConsulted)
	}
}

// learnAddress takes over what a node says of its own address when it is met. [WA-68]
func (n *node) learnAddress(one Node) {
	if n.isPassedOver(one) || n.departed[one.ID] {
		return
	}
	n.replaceRecord(one)
	if present, isMeasured := n.measured[one.ID]; isMeasured {
		if n.addressOf(present) != n.addressOf(one) {
			n.measure(one)
		} else {
			n.measured[one.ID] = one
		}
	}
}

// answer sends the tables that a mask asks for. [WA-57]
func (n *node) answer(to Node, asked *Mask) {
	n.send(to, StateData, func(message *Message) {
		message.Tables = n.shown(asked.RoutingTable, asked.LeafSet, asked.NeighborhoodSet)
		if asked.RoutingTable && len(asked.Rows) > 0 {
			message.Tables.RoutingTable = n.shownCells(func(place cell) bool {
				isColumn := len(asked.Columns) == 0 || slices.Contains(asked.Columns, place.column)
				return isColumn && slices.Contains(asked.Rows, place.row)
			})
		}
	})
}

// onSent learns how long a message took, or that it did not arrive. [WA-18, WA-20, WA-24]
func (n *node) onSent(to string, message Message, took *int64) {
	if n.stage == left {
		return
	}
	isOwn := message.Header.Sender.ID == n.self.ID
	if took != nil {
		n.refreshScores(to, *took)
	} else {
		n.onFailure(to)
	}
	if message.Purpose == NodeJoin && isOwn && to == n.contact {
		n.contact = ""
		if took == nil && n.stage == joining {
			n.stage = alone
			n.notify(map[string]any{"name": "join_failed", "contact": to})
		}
	} else if took == nil && message.Purpose == NodeJoin {
		n.forwardJoin(message, true)
	} else if took == nil && message.Purpose >= Application {
		n.route(message, n.config.IsConsulted)
	}
	if message.Purpose == NodeAnnouncement {
		if at := slices.Index(n.announcing, to); at >= 0 {
			n.announcing = slices.Delete(n.announcing, at, at+1)
		}
		n.announceAgain()
	}
}

// at returns the nodes in the tables, and those that are measured, at an address.
func (n *node) at(addr string) []Node {
	nodes := n.known()
	for _, id := range n.order {
		if !slices.ContainsFunc(nodes, isOf(id)) || n.addressOf(n.measured[id]) != addr {
			nodes = append(nodes, n.measured[id])
		}
	}
	return slices.DeleteFunc(nodes, func(one Node) bool { return n.addressOf(one) != addr })
}

// refreshScores gives the nodes at an address a new score. One that was measured is tried in all tables with it. [WA-18, WA-69]
func (n *node) refreshScores(addr string, took int64) {
	for _, one := range n.at(addr) {
		_, isMeasured := n.measured[one.ID]
		former, isScored := n.scores[one.ID]
		n.scores[one.ID], n.cache[one.ID] = took, took
		n.unmeasure(one.ID)
		if !isScored || former != took {
			n.moveNeighbor(one)
		}
		if isMeasured {
			n.insert(one)
		}
	}
}

func (n *node) onFailure(addr string) {
	for _, one := range n.at(addr) {
		n.unmeasure(one.ID)
		n.onDeparture(one.ID)
	}
}

// advance does what is due.
func (n *node) advance(now int64) {
	for due := n.nextTimer(); due != nil && *due <= now; due = n.nextTimer() {
		n.runTimers(*due)
	}
	n.now = now
}

// runTimers runs the timers that are due at a time.
func (n *node) runTimers(now int64) {
	n.now = now
	isDue := func(due *int64) bool { return due != nil && *due <= now }
	if isDue(n.timers.flushCache) {
		n.cache = map[ID]int64{}
		n.timers.flushCache = after(*n.timers.flushCache, cacheTime)
	}
	if isDue(n.timers.announce) {
		n.timers.announce = nil
		n.announce()
	}
	if isDue(n.timers.heartbeat) {
		for _, one := range n.known() {
			n.send(one, Heartbeat, nil)
		}
		n.timers.heartbeat = after(*n.timers.heartbeat, n.config.Heartbeat)
	}
	for _, one := range n.repairs {
		if isDue(one.due) {
			one.due, one.waiting = nil, nil
		}
	}
}

func (n *node) nextTimer() *int64 {
	dues := []*int64{n.timers.flushCache, n.timers.announce, n.timers.heartbeat}
	for _, one := range n.repairs {
		dues = append(dues, one.due)
	}
	var next *int64
	for _, due := range dues {
		if due != nil && (next == nil || *due < *next) {
			next = due
		}
	}
	return next
}

// leave says goodbye to all known nodes. [WA-24, WA-62]
func (n *node) leave() {
	for _, one := range n.known() {
		n.send(one, NodeExit, nil)
	}
	n.stage, n.timers = left, timers{}
	for _, one := range n.repairs {
		one.due = nil
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
