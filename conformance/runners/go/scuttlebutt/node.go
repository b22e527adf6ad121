package scuttlebutt

import (
	"cmp"
	"math"
	"slices"
)

// Config is the configuration of a node; times are milliseconds.
type Config struct {
	Seeds      []string
	Interval   int64
	MaxPayload int
	Detector   *DetectorConfig // nil: no peer is critical, and all are up
}

// Pick chooses some of the options at random: one of them, or an order of all.
type Pick func(site, kind string, options []string) []string

// Pair is a value and its version.
type Pair struct {
	Value   string
	Version uint64
}

// Record is what a node knows of a peer. [B-02]
type Record struct {
	Version uint64
	Pairs   map[string]Pair
}

// Node is a node without a network and without a clock: what happens comes in, what it does is collected in the outbox.
type Node struct {
	self     string
	config   Config
	pick     Pick
	store    map[string]*Record
	liveness map[string]*liveness
	roundDue *int64
	send     func(to string, message Message)
	notify   func(event Event)
}

// Event is what the application is told.
type Event struct {
	Name      string
	Peer      string
	Key       string
	Pair      Pair
	RoundTrip *int64
}

// NewNode returns a node that knows only itself; its first round comes after one interval. [B-01, B-08]
func NewNode(self string, config Config, now int64, pick Pick) *Node {
	due := now + config.Interval
	return &Node{
		self: self, config: config, pick: pick, roundDue: &due,
		store: map[string]*Record{self: {Pairs: map[string]Pair{}}}, liveness: map[string]*liveness{},
	}
}

// Update sets a pair of the node's own; it returns why it is refused, or an empty text. [B-07, BA-03, BA-19]
func (n *Node) Update(key, value string) string {
	own := n.store[n.self]
	size := typeSize + Delta.size(Entry{Addr: n.self, Key: key, Value: value})
	if len(key) > MaxText || len(value) > MaxText || size > n.config.MaxPayload {
		return "too_large"
	}
	if own.Version == math.MaxUint64 {
		return "overflow"
	}
	own.Version++
	own.Pairs[key] = Pair{value, own.Version}
	return ""
}

// Advance runs the rounds that are due, each at its time.
func (n *Node) Advance(now int64) {
	for n.roundDue != nil && *n.roundDue <= now {
		due := *n.roundDue
		next := due + n.config.Interval
		n.roundDue = &next
		n.round(due)
	}
}

// Receive handles a datagram. One that is no message changes nothing. [BA-20]
func (n *Node) Receive(now int64, from string, datagram []byte) error {
	message, err := Decode(datagram)
	if err != nil {
		return err
	}
	if message.Kind == Delta {
		n.onDelta(now, from, message.Entries)
		return nil
	}
	for _, entry := range message.Entries {
		n.learn(now, entry.Addr)
	}
	n.send(from, Message{Delta, n.delta(message.Entries)}) // even if it is empty, and before the response [B-32, B-34]
	lacking := n.lacking(message.Entries)
	if message.Kind == DigestRequest && len(lacking) > 0 { // a response is answered by no digest [B-16, BA-32]
		n.sendDigest(now, from, Message{DigestResponse, lacking})
	}
	return nil
}

// round asks a partner, one unknown seed and the critical peers, or else all seeds. [B-09, B-17, B-18, B-19, BA-24]
func (n *Node) round(now int64) {
	known := n.addresses()
	others := slices.DeleteFunc(slices.Clone(known), func(addr string) bool { return addr == n.self })
	seeds := slices.DeleteFunc(slices.Clone(n.config.Seeds), func(addr string) bool { return n.store[addr] != nil })
	slices.Sort(seeds)
	targets := slices.Compact(seeds)
	if len(others) > 0 {
		targets = append(n.chosen("round.partner", "one", others), n.chosen("round.seed", "one", targets)...)
		targets = append(targets, n.critical(now)...)
	}
	for _, to := range targets {
		order := n.chosen("digest.order", "permutation", known)
		entries := []Entry{}
		for _, addr := range order {
			entries = append(entries, Entry{Addr: addr, Version: n.store[addr].Version})
		}
		n.sendDigest(now, to, Message{DigestRequest, n.fitting(entries)})
	}
	n.judge(now)
}

// chosen asks for a random choice where there is one.
func (n *Node) chosen(site, kind string, options []string) []string {
	if len(options) < 2 {
		return options
	}
	return n.pick(site, kind, options)
}

// addresses returns all known addresses, in the order of their bytes.
func (n *Node) addresses() []string { return sortedKeys(n.store) }

func sortedKeys[T any](items map[string]T) []string {
	keys := []string{}
	for key := range items {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// fitting returns the entries of a digest up to the first that does not fit. [B-24, BA-05, BA-06]
func (n *Node) fitting(entries []Entry) []Entry {
	size := typeSize
	for at, entry := range entries {
		if size += DigestRequest.size(entry); size > n.config.MaxPayload {
			return entries[:at]
		}
	}
	return entries
}

// lacking returns the peers of a digest of which this node is behind, with its own version of them. [B-14, BA-10, BA-11, BA-16]
func (n *Node) lacking(digest []Entry) []Entry {
	behind := []Entry{}
	for _, entry := range digest {
		if known := n.store[entry.Addr].Version; entry.Addr != n.self && known < entry.Version {
			behind = append(behind, Entry{Addr: entry.Addr, Version: known})
		}
	}
	return n.fitting(behind)
}

// delta returns the pairs that the sender of a digest lacks, furthest behind first, as many as fit. [B-27…B-31]
func (n *Node) delta(digest []Entry) []Entry {
	ahead := slices.DeleteFunc(slices.Clone(digest), func(entry Entry) bool { return n.store[entry.Addr].Version <= entry.Version })
	gap := func(entry Entry) uint64 { return n.store[entry.Addr].Version - entry.Version }
	slices.SortStableFunc(ahead, func(one, other Entry) int {
		if gap(one) == gap(other) {
			return cmp.Compare(one.Addr, other.Addr) // [BA-12]
		}
		return cmp.Compare(gap(other), gap(one))
	})
	packed, size := []Entry{}, typeSize
	for _, behind := range ahead {
		for _, entry := range n.newer(behind) {
			needs := Delta.size(entry)
			if typeSize+needs > n.config.MaxPayload {
				break // could never be sent: ends only this peer [BA-07]
			}
			if size += needs; size > n.config.MaxPayload {
				return packed
			}
			packed = append(packed, entry)
		}
	}
	return packed
}

// newer returns the pairs of a peer above a version, lowest version first. [B-29, B-30, BA-12]
func (n *Node) newer(than Entry) []Entry {
	found := []Entry{}
	for key, pair := range n.store[than.Addr].Pairs {
		if pair.Version > than.Version {
			found = append(found, Entry{than.Addr, key, pair.Value, pair.Version})
		}
	}
	slices.SortFunc(found, func(one, other Entry) int {
		if one.Version == other.Version {
			return cmp.Compare(one.Key, other.Key)
		}
		return cmp.Compare(one.Version, other.Version)
	})
	return found
}

// onDelta takes over what is newer, and is a sign of life. [B-33, B-36, B-37, BA-14, BA-15, BA-26]
func (n *Node) onDelta(now int64, from string, entries []Entry) {
	n.notify(Event{Name: "heartbeat", Peer: from, RoundTrip: n.heartbeat(now, from)})
	for _, entry := range entries {
		record := n.store[entry.Addr]
		if entry.Addr == n.self || record == nil || entry.Version <= record.Pairs[entry.Key].Version {
			continue
		}
		pair := Pair{entry.Value, entry.Version}
		record.Pairs[entry.Key] = pair
		record.Version = max(record.Version, entry.Version)
		n.notify(Event{Name: "update", Peer: entry.Addr, Key: entry.Key, Pair: pair})
	}
}

// learn stores a peer at version 0. [B-11, BA-29]
func (n *Node) learn(now int64, addr string) {
	if n.store[addr] != nil {
		return
	}
	n.store[addr] = &Record{Pairs: map[string]Pair{}}
	n.watch(now, addr)
	n.notify(Event{Name: "join", Peer: addr})
}

func (n *Node) sendDigest(now int64, to string, message Message) {
	if known := n.liveness[to]; known != nil {
		known.DigestSent = &now
	}
	n.send(to, message)
}
