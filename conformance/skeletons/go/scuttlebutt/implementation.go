package scuttlebutt

import (
	"encoding/json"

	"example.com/my-node/vectors"
)

// This file connects my-node with the vectors of scuttlebutt: fill it in from top to bottom. Tests (`go test`) and the adapter
// (`go build -o adapter .`) both call it. What is not written yet panics with vectors.Unsupported.
//
// Values are plain data, as `peerproof vectors show` prints them. Those that come in are JSON, which you read with json.Unmarshal;
// those that go out are anything that encoding/json writes: structs with tags, or maps. An integer of 64 bits is a string of decimal
// digits (the tag `json:"version,string"` reads and writes it), bytes are hexadecimal digits, and an empty list is [], not null. A
// vectors.Text is a text whose bytes need not be UTF-8.

// capabilities lists what is written. "codec" is claimed from the start, so that there is something to check. Add "exchange" once
// nodes open, receive and advance; "api.NAME" for each call and "observe.NAME" for each query; "events" if nodes report events;
// "restart", "sent", "stream" and "state.load" for the parts at the end. Cases that need others are skipped.
var capabilities = []string{"codec"}

// Implementation is the plug.
type Implementation struct{}

// Offer says what the implementation can do.
func (Implementation) Offer() vectors.Offer {
	return vectors.Offer{
		Name:         "my-node",
		Version:      "0.1.0",
		Capabilities: capabilities,
		Oracle:       false, // true once every random choice of a node is made by choose
	}
}

// 1. The codec: bytes to messages and back. Call your implementation's codec here.

// Decode returns the message in these bytes. If they are none, it returns *vectors.Rejected; its class is truncated, trailing,
// bad_type, bad_length, bad_value, too_large or other. Any class passes, unless a vector fixes one.
func (Implementation) Decode(datagram []byte) (any, error) {
	return nil, &vectors.Rejected{Class: "other", Message: "decode is not written yet"}
}

// Encode returns the bytes of a message. It panics with vectors.Unsupported if there is no message of this type, and returns
// *vectors.Rejected if the implementation cannot send such a message. The case fails either way, since "codec" is claimed.
func (Implementation) Encode(message json.RawMessage) ([]byte, error) {
	panic(vectors.Unsupported("encode is not written yet"))
}

// 2. Nodes. A node reads no clock, starts no timer and has no socket: what happens comes in, with the time in milliseconds, and what
// the node does goes out as a vectors.Reaction. Nodes share nothing.

// node is a node under test, from its opening over its crashes. Put your implementation's node into it.
type node struct {
	opening   vectors.Opening // its address and configuration; missing members of Config have the protocol's defaults
	choose    vectors.Choose  // picks where the protocol says "at random", instead of your random generator
	nextTimer *int64          // when the next timer is due; nil if none runs
	effects   []vectors.Effect
}

// Open opens a node. Seed your random generator with opening.Seed, or call choose and set Oracle above: then vectors that fix a
// choice apply too. At a site where the protocol says "at random", with options in any order:
//
//	picked := choose("SITE", "one", []any{vectors.Text("a:1"), vectors.Text("b:1")}, 1) // indices among the options
func (Implementation) Open(opening vectors.Opening, choose vectors.Choose) (vectors.Node, vectors.Reaction) {
	opened := &node{opening: opening, choose: choose}
	if opening.State != nil {
		return opened, opened.load()
	}
	return opened, opened.start(opening.Now)
}

// start starts a node, new or after a crash.
func (n *node) start(now int64) vectors.Reaction {
	return n.reaction()
}

// reaction returns what the node has done since the last one. Collect it where your implementation sends, or calls back:
//
//	n.effects = append(n.effects, vectors.Effect{To: vectors.Text("a:1"), Datagram: datagram})
//	n.effects = append(n.effects, vectors.Effect{Event: map[string]any{"name": "NAME"}}) // claim "events"
func (n *node) reaction() vectors.Reaction {
	done := vectors.Reaction{Effects: n.effects, NextTimer: n.nextTimer}
	n.effects = nil
	return done
}

// Receive handles a datagram. One that is no message is dropped.
func (n *node) Receive(now int64, from json.RawMessage, datagram []byte) vectors.Reaction {
	return n.reaction()
}

// Advance runs all timers that are due up to now, included, each at its time, and sets the next one.
func (n *node) Advance(now int64) vectors.Reaction {
	return n.reaction()
}

// Call handles a call of the application. If the implementation refuses it, set Refused of the reaction to a *vectors.Rejected with
// one of the protocol's words as its class. Claim "api.NAME".
func (n *node) Call(now int64, name string, args json.RawMessage) vectors.Reaction {
	panic(vectors.Unsupported("call of " + name + " is not written yet"))
}

// 3. Queries: what can be seen of a node from outside.

// Query returns the answer in plain form, and changes nothing. Claim "observe.NAME".
func (n *node) Query(name string, args json.RawMessage) any {
	panic(vectors.Unsupported("query of " + name + " is not written yet"))
}

// 4. More parts: with each, more vectors apply.

// Crash ends the node: it forgets all but what a real node keeps on disk. Claim "restart" for this and the next.
func (n *node) Crash() {}

// Restart starts the node again. The configuration, nil or an object, has what differs from the one at its opening.
func (n *node) Restart(now int64, config json.RawMessage) vectors.Reaction {
	return n.start(now)
}

// load puts a new node into the state opening.State, which has the form of the query "state", with the timers opening.Timers and no
// others. It has no effects. Claim "state.load", and "observe.state" with it.
func (n *node) load() vectors.Reaction {
	panic(vectors.Unsupported("load is not written yet"))
}

// Sent tells the node that a message arrived after so many microseconds, or nil: that it did not. It exists only where the
// protocol runs over connections. Claim "sent".
func (n *node) Sent(now int64, to json.RawMessage, datagram []byte, took *int64) vectors.Reaction {
	panic(vectors.Unsupported("outcomes of messages are not written yet"))
}

// Stream handles an event of a connection that a peer has opened: {"conn": …, "event": "open", "data", "eof" or "reset"}, with the
// bytes of data, perhaps a part of a message. Answer with effects of the same form, data or close:
//
//	vectors.Effect{Stream: map[string]any{"conn": conn, "event": "data", "bytes": digits}}
//
// It exists only where the protocol runs over connections. Claim "stream".
func (n *node) Stream(now int64, event json.RawMessage) vectors.Reaction {
	panic(vectors.Unsupported("connections are not written yet"))
}

// 5. Optional: your own goroutines, timers and sockets, for `peerproof run --transport`. Write the methods of vectors.Serving, with
// "udp" in Sockets. Embed vectors.OnSockets into the node that Serve starts: it needs Call, Query, Advance and Close then.
