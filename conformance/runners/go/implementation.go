// Package vectors runs the conformance vectors of a protocol against an implementation in this process.
//
// Write an Implementation, and call Run in a test. The verdicts are those of `peerproof run` on the same implementation.
package vectors

import (
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// Implementation is what is tested. Values are anything that encoding/json writes in the plain form of
// docs/reference/messages: structs with tags, maps, or json.RawMessage.
type Implementation interface {
	// Offer says what the implementation can do; cases that need more are skipped.
	Offer() Offer
	// Decode returns the message of a datagram, or an error: a *Rejected if it is malformed.
	Decode(datagram []byte) (message any, err error)
	// Encode returns the datagram of a message in plain form, or a *Rejected.
	Encode(message json.RawMessage) (datagram []byte, err error)
	// Open makes a node without any network. An implementation without nodes panics with Unsupported.
	Open(opening Opening, choose Choose) (Node, Reaction)
}

// Plug is the implementation of one protocol, where there are several (RunAll, ServeAll).
type Plug struct {
	Protocol, Transport string // the transport is udp, tcp or serf, as the protocol has it
	Bundle              string // the file of its vectors
	Implementation      Implementation
}

// Serving is an Implementation whose nodes can also run on sockets, for `peerproof run --transport`.
type Serving interface {
	Implementation
	// Sockets lists the transports on which it runs nodes, udp or tcp.
	Sockets() []string
	// Serve starts a node on a clock of its own that listens at Bind, and returns its address for each transport; or an error, if
	// it cannot listen there. The node is an io.Closer, which leaves its address.
	Serve(listening Listening) (node Node, addrs map[string]string, err error)
}

// Listening describes a node on sockets; Bind is a numeric HOST:PORT, where port 0 is any that is free.
type Listening struct {
	Case, Name, Seed string
	Via              []string
	Bind             string
	Config           json.RawMessage
}

// Offer lists what an implementation can do, in the words of docs/how-to/write-an-adapter.md.
type Offer struct {
	Name, Version string // of the implementation, for reports
	Capabilities  []string
	Events        []string // the kinds that it reports; nil: all but the optional ones
	Limits        map[string]int64
	Oracle        bool              // whether it asks Choose where the protocol says "at random"
	Readings      map[string]string // clause -> name of the other reading that it takes (docs/reference/decisions.md)
}

// Opening describes a new node: one with a State begins in it, with these timers and no others.
type Opening struct {
	Case, Name, Seed string
	Now              int64
	Addr, Config     json.RawMessage
	State, Timers    json.RawMessage // nil for a new node
}

// Choose picks some of the options, at a site of docs/reference/adapter: kind is one, sample (of some) or permutation.
// The options may come in any order. The answer has their indices, in the order to use.
type Choose func(site, kind string, options []any, some int) []int

// Node is a node under test. Times are milliseconds of the runner's clock; addresses are in plain form.
type Node interface {
	Receive(now int64, from json.RawMessage, datagram []byte) Reaction
	Advance(now int64) Reaction
	Call(now int64, name string, args json.RawMessage) Reaction
	Query(name string, args json.RawMessage) any
	Crash()
	Restart(now int64, config json.RawMessage) Reaction
	// Sent reports that a message arrived after some microseconds, or nil: that it did not arrive.
	Sent(now int64, to json.RawMessage, datagram []byte, took *int64) Reaction
	// Stream reports an event of a connection that a peer has opened.
	Stream(now int64, event json.RawMessage) Reaction
}

// Datagrams is embedded in a Node of a protocol over datagrams, where a message has no outcome and there are no connections.
type Datagrams struct{}

// Sent is not supported.
func (Datagrams) Sent(int64, json.RawMessage, []byte, *int64) Reaction {
	panic(Unsupported("datagrams have no outcome"))
}

// Stream is not supported.
func (Datagrams) Stream(int64, json.RawMessage) Reaction {
	panic(Unsupported("datagrams have no connections"))
}

// OnSockets is embedded in a Node that Serving has started, whose messages and time do not come from the runner. Its Advance and
// Call return the events for the application since the last of them.
type OnSockets struct{ Datagrams }

// Receive is not supported.
func (OnSockets) Receive(int64, json.RawMessage, []byte) Reaction {
	panic(Unsupported("the node listens on a socket"))
}

// Crash is not supported.
func (OnSockets) Crash() { panic(Unsupported("a node on a socket does not crash")) }

// Restart is not supported.
func (OnSockets) Restart(int64, json.RawMessage) Reaction {
	panic(Unsupported("a node on a socket does not restart"))
}

// Reaction is what a node does: its effects in order, and the time of its next timer, nil if there is none.
type Reaction struct {
	Effects   []Effect
	NextTimer *int64
	Refused   *Rejected // why a call was refused
}

// Effect is a datagram to an address, an event for the application, or an action on a connection.
type Effect struct {
	To       any
	Datagram []byte
	Event    any
	Stream   any
}

// Rejected says why a message is malformed, or a call refused; Class is one of the suite's words, such as truncated.
type Rejected struct {
	Class   string `json:"class"`
	Message string `json:"message,omitempty"`
}

func (rejected *Rejected) Error() string { return rejected.Class + ": " + rejected.Message }

// Unsupported is what an implementation panics with if it cannot do what a case asks for. The case is skipped, unless the
// implementation offers it. Any other panic is a crash.
type Unsupported string

// AdapterError is what an implementation panics with that is reached through an adapter, if the adapter answers with an error.
type AdapterError struct{ Code, Message string }

// Text is a text of any bytes, for plugs: its plain form is a string, or {"hex": …} if the bytes are not UTF-8.
type Text string

// MarshalJSON writes the plain form.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"hex": hex.EncodeToString([]byte(t))})
}

// UnmarshalJSON reads the plain form.
func (t *Text) UnmarshalJSON(plain []byte) error {
	var shown struct{ Hex string }
	if err := json.Unmarshal(plain, (*string)(t)); err == nil {
		return nil
	}
	if err := json.Unmarshal(plain, &shown); err != nil {
		return err
	}
	content, err := hex.DecodeString(shown.Hex)
	*t = Text(content)
	return err
}
