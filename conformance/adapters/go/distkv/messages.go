package distkv

import (
	"math"
	"slices"
	"strings"
)

// Element is a node in a chain with its tick, nil if the node is not initialised. [D-07, D-10]
type Element struct {
	Node string
	Tick *uint64
}

// Chain has its newest element first. [D-11, D-18, D-19]
type Chain struct {
	Elements []Element
	IsCut    bool
}

// Kind is the type of a message.
type Kind string

// The types of messages.
const (
	Update Kind = "update"
	Info   Kind = "info"
	Ping   Kind = "ping"
)

func (kind Kind) isKnown() bool { return kind == Update || kind == Info || kind == Ping }

// root is the default root of the names of events. [D-04]
const root = "distkv"

// MaxName is the most bytes of the name of a node. [DA-83]
const MaxName = 64

// Message is a message. Which members it has besides its chain and its tock depends on its kind.
type Message struct {
	Kind  Kind
	Chain Chain
	Tock  uint64

	Path   List
	Value  Value
	Sender *Element // of an update in the nested form [DA-49]

	Known, Missing map[string]Ranges
	Ticks          map[string]uint64
	Reason         *Chain
}

// Decode reads the name of an event and its payload; an error is a *Malformed. [DA-90]
func Decode(datagram []byte) (message Message, err error) {
	defer recovered(&err)
	r := &reader{data: datagram}
	event, _ := r.value(0).(string)
	kind := Kind(strings.TrimPrefix(event, root+"."))
	if !strings.HasPrefix(event, root+".") || !kind.isKnown() {
		fail("bad_type", "this is no event of this protocol")
	}
	members, isMap := r.value(MaxDepth).(Map)
	if !isMap {
		fail("bad_type", "a message is not a map")
	}
	if r.at < len(datagram) {
		fail("trailing", "bytes are left over")
	}
	checkNames(members)
	message = Message{Kind: kind, Tock: readTick(members.get("tock"))}
	switch kind {
	case Update:
		message.readUpdate(members)
	case Info:
		message.readInfo(members)
	case Ping:
		message.Chain = readChain(members)
	}
	return message, nil
}

// absent is what stands where a map has no member of a name.
type absent struct{}

func (members Map) get(name string) Value {
	for _, pair := range members {
		if pair.Key == Value(name) {
			return pair.Value
		}
	}
	return absent{}
}

// checkNames refuses a map in which a string stands twice; other keys are names of no member. [DA-90]
func checkNames(members Map) {
	seen := map[string]bool{}
	for _, pair := range members {
		if name, isText := pair.Key.(string); isText {
			if seen[name] {
				fail("bad_value", "a name stands twice in a map")
			}
			seen[name] = true
		}
	}
}

func readTick(value Value) uint64 {
	tick, isNumber := value.(uint64)
	if !isNumber || tick > MaxTick {
		fail("bad_value", "a tick or tock is missing, or not from 0 to 2^63-1")
	}
	return tick
}

func readName(value Value) string {
	name, isText := value.(string)
	if !isText || len(name) < 1 || len(name) > MaxName {
		fail("bad_value", "the name of a node is missing, or does not have 1 to 64 bytes")
	}
	return name
}

// readElement reads a node and its tick; a tick that is Null is as one that is absent. [DA-16]
func readElement(members Map) Element {
	element := Element{Node: readName(members.get("node"))}
	if tick := members.get("tick"); tick != nil && tick != Value(absent{}) {
		number := readTick(tick)
		element.Tick = &number
	}
	return element
}

// readChain reads maps within each other: it ends where prev is Null, and was cut where prev is absent. [D-17…D-20]
func readChain(members Map) Chain {
	chain := Chain{}
	for {
		checkNames(members)
		chain.Elements = append(chain.Elements, readElement(members))
		switch prev := members.get("prev").(type) {
		case nil:
			return chain
		case absent:
			chain.IsCut = true
			return chain
		case Map:
			members = prev
		default:
			fail("bad_type", "a prev is neither a map nor Null")
		}
	}
}

func (message *Message) readUpdate(members Map) {
	switch chain := members.get("chain").(type) {
	case absent:
		message.Chain = readChain(members)
	case Map:
		message.Chain = readChain(chain)
		sender := readElement(members)
		if sender.Tick == nil {
			fail("bad_value", "a sender has no tick")
		}
		message.Sender = &sender
	default:
		fail("bad_type", "a chain is not a map")
	}
	checkChanges(message.Chain)
	message.Path = readPath(members.get("path"))
	message.Value = canonical(members.get("value"))
	if message.Value == Value(absent{}) {
		fail("bad_value", "an update has no value")
	}
}

// checkChanges refuses what only chains of pings may have. [D-10, D-12, DA-90]
func checkChanges(chain Chain) {
	seen := map[string]bool{}
	for _, element := range chain.Elements {
		if element.Tick == nil || *element.Tick == 0 {
			fail("bad_value", "a change has no tick, or the tick 0")
		}
		if seen[element.Node] {
			fail("bad_value", "a chain of changes names a node twice")
		}
		seen[element.Node] = true
	}
}

// readPath reads a path; the empty byte string is the empty string. [D-34, DA-26, DA-27]
func readPath(value Value) List {
	names, isList := value.(List)
	if !isList {
		fail("bad_type", "a path is missing, or not a list")
	}
	path := List{}
	for at, name := range names {
		switch name := name.(type) {
		case bool, uint64, int64, string:
			path = append(path, name)
		case []byte:
			if len(name) == 0 {
				path = append(path, "")
			} else {
				path = append(path, name)
			}
		case float64:
			if math.IsNaN(name) {
				fail("bad_value", "a name is not a number")
			}
			path = append(path, name)
		case nil:
			if at > 0 {
				fail("bad_value", "Null is the first name of a path only")
			}
			path = append(path, nil)
		default:
			fail("bad_type", "a name is a list, a map or an extension")
		}
	}
	return path
}

func (message *Message) readInfo(members Map) {
	message.Chain = readChain(members)
	if message.Chain.Elements[0].Tick == nil {
		fail("bad_value", "an info has no tick")
	}
	message.Known = readSets(members.get("known"))
	message.Missing = readSets(members.get("missing"))
	message.Ticks = map[string]uint64{}
	for node, tick := range readNodes(members.get("ticks")) {
		if tick != nil {
			message.Ticks[node] = readTick(tick)
		}
	}
	switch reason := members.get("reason").(type) {
	case nil, absent:
	case Map:
		chain := readChain(reason)
		message.Reason = &chain
	default:
		fail("bad_type", "a reason is neither a map nor Null")
	}
}

// readNodes reads a map of nodes, which may be absent.
func readNodes(value Value) map[string]Value {
	nodes := map[string]Value{}
	switch members := value.(type) {
	case absent:
	case Map:
		checkNames(members)
		for _, pair := range members {
			nodes[readName(pair.Key)] = pair.Value
		}
	default:
		fail("bad_type", "what is said of nodes is not a map")
	}
	return nodes
}

// readSets reads a set of ticks for each node; nodes without ticks are left out. [DA-25]
func readSets(value Value) map[string]Ranges {
	sets := map[string]Ranges{}
	for node, list := range readNodes(value) {
		if ranges := readRanges(list); len(ranges) > 0 {
			sets[node] = ranges
		}
	}
	return sets
}

// Encode writes the canonical encoding of a message; an error is a *Malformed. [DA-29]
func Encode(message Message) (datagram []byte, err error) {
	defer recovered(&err)
	w := &writer{}
	w.value(root+"."+string(message.Kind), 0)
	w.value(message.members(), MaxDepth)
	return w.done, nil
}

func (message *Message) members() Map {
	tock := Pair{"tock", message.Tock}
	switch {
	case message.Kind == Ping:
		return append(chainMembers(message.Chain), tock)
	case message.Kind == Info:
		return append(append(message.said(), tock), chainMembers(message.Chain)...)
	case message.Sender != nil:
		nested := Map{{"value", message.Value}, {"chain", chainMembers(message.Chain)}, tock, {"path", message.Path}}
		return append(nested, elementMembers(*message.Sender)...)
	}
	return append(chainMembers(message.Chain), Pair{"path", message.Path}, Pair{"value", message.Value}, tock)
}

// said returns those of the four members of an info that it has. [DA-25]
func (message *Message) said() Map {
	members := Map{}
	ticks := Map{}
	for _, node := range names(message.Ticks) {
		ticks = append(ticks, Pair{node, message.Ticks[node]})
	}
	for _, member := range []Pair{{"known", sets(message.Known)}, {"ticks", ticks}, {"missing", sets(message.Missing)}} {
		if len(member.Value.(Map)) > 0 {
			members = append(members, member)
		}
	}
	if message.Reason != nil {
		members = append(members, Pair{"reason", chainMembers(*message.Reason)})
	}
	return members
}

// names returns the names of nodes in their order, byte by byte. [DA-29, DA-35]
func names[T any](nodes map[string]T) []string {
	all := []string{}
	for node := range nodes {
		all = append(all, node)
	}
	slices.Sort(all)
	return all
}

func sets(nodes map[string]Ranges) Map {
	members := Map{}
	for _, node := range names(nodes) {
		if len(nodes[node]) > 0 {
			members = append(members, Pair{node, nodes[node].list()})
		}
	}
	return members
}

func elementMembers(element Element) Map {
	members := Map{{"node", element.Node}}
	if element.Tick != nil {
		members = append(members, Pair{"tick", *element.Tick})
	}
	return members
}

// chainMembers returns a chain as maps within each other. [D-17…D-19]
func chainMembers(chain Chain) Map {
	var inner Map
	for at := len(chain.Elements) - 1; at >= 0; at-- {
		members := elementMembers(chain.Elements[at])
		switch {
		case inner != nil:
			members = append(members, Pair{"prev", inner})
		case !chain.IsCut:
			members = append(members, Pair{"prev", nil})
		}
		inner = members
	}
	return inner
}
