package main

import "fmt"

// 2. Events: what happens to a node, and how it reacts. Call your implementation's node here.
//
// Every event carries the time: a node reads no clock, starts no timer and has no socket. Times are whole milliseconds.

// eventCapabilities has the capabilities of this file. Add "exchange" once Receive and Advance are written, "api.NAME" for each
// name that Call knows, "events" if the node reports events, "restart" if a node can crash and start again, and "sent", "stream"
// and "state.load" for the last three functions.
var eventCapabilities = []string{}

// Node is one node, independent of all others in the process.
type Node struct {
	// NextTimer is the time of its next timer; nil if none runs.
	NextTimer *int64
}

// Birth is what a node starts with. Missing members of Config have the protocol's defaults. For random choices, seed the generator
// with Seed, or ask Choices.
type Birth struct {
	Addr    any
	Config  map[string]any
	Seed    string
	Now     int64
	Choices *Choices
}

// NewNode starts a node.
func NewNode(birth Birth, effects *Effects) (*Node, error) {
	return &Node{}, nil
}

// Receive handles a message. It may return *Malformed.
func (n *Node) Receive(from any, data []byte, now int64, effects *Effects) error {
	return nil
}

// Advance runs all timers that are due up to now, included, and sets NextTimer.
func (n *Node) Advance(now int64, effects *Effects) error {
	return nil
}

// Call handles a call of the application. It may return *Refused.
func (n *Node) Call(name string, args map[string]any, now int64, effects *Effects) error {
	return fmt.Errorf("call of %s: %w", name, ErrNotWritten)
}

// Settle handles the outcome of a message that the node sent: its microseconds, or nil if it did not arrive. Claim "sent".
func (n *Node) Settle(to any, data []byte, tookUS *int64, now int64, effects *Effects) error {
	return fmt.Errorf("outcomes of messages: %w", ErrNotWritten)
}

// OnConnection handles an event of a connection that a peer opened: "open", "data" (perhaps a part of a message), "eof" or "reset".
// Answer with effects.Reply and effects.Close. It may return *Malformed. Claim "stream".
func (n *Node) OnConnection(conn, event string, data []byte, now int64, effects *Effects) error {
	return fmt.Errorf("connections: %w", ErrNotWritten)
}

// Timer is a timer that runs in a loaded node.
type Timer struct {
	Timer map[string]any `json:"timer"` // with a "type"
	Due   int64          `json:"due_ms"`
}

// LoadNode returns a node in this state, in which exactly these timers run. Loading has no effects. Claim "state.load".
func LoadNode(birth Birth, state map[string]any, timers []Timer) (*Node, error) {
	return nil, fmt.Errorf("load: %w", ErrNotWritten)
}
