package main

import "fmt"

// 2. Events: what happens to a node, and what it does then. Call your implementation's node here.
//
// Time is in every event: a node reads no clock, starts no timer and has no socket. Times are integers of milliseconds.

// eventCapabilities is what of this is claimed: add "exchange" once a node takes messages and time, then "api.NAME" for each call
// that it knows, "events" if it tells its application what happens, "restart" if it may crash and begin again,
// "sent", "stream" and "state.load" for the last three functions.
var eventCapabilities = []string{}

// Node is one node. It knows nothing of others in the same process.
type Node struct {
	// NextTimer is when it wants to do something by itself; nil if never.
	NextTimer *int64
}

// Birth is what a node begins with. The protocol's defaults hold for what Config leaves out; seed what it draws by lot with Seed,
// or let it ask Choices.
type Birth struct {
	Addr    any
	Config  map[string]any
	Seed    string
	Now     int64
	Choices *Choices
}

// NewNode starts one.
func NewNode(birth Birth, effects *Effects) (*Node, error) {
	return &Node{}, nil
}

// Receive takes a message that comes in. It may return *Malformed.
func (n *Node) Receive(from any, data []byte, now int64, effects *Effects) error {
	return nil
}

// Advance says that it is now: do what is due up to and including this moment, and set NextTimer.
func (n *Node) Advance(now int64, effects *Effects) error {
	return nil
}

// Call is something that the application asks for. It may return *Refused.
func (n *Node) Call(name string, args map[string]any, now int64, effects *Effects) error {
	return fmt.Errorf("call of %s: %w", name, ErrNotWritten)
}

// Settle tells what became of a message that it has sent: how many microseconds it took, or nil if it did not arrive. Claim "sent".
func (n *Node) Settle(to any, data []byte, tookUS *int64, now int64, effects *Effects) error {
	return fmt.Errorf("outcomes of messages: %w", ErrNotWritten)
}

// OnConnection is about a connection that a peer has opened: "open", "data" (perhaps a part of a message), "eof", "reset". Answer
// with effects.Reply and effects.Close. It may return *Malformed. Claim "stream".
func (n *Node) OnConnection(conn, event string, data []byte, now int64, effects *Effects) error {
	return fmt.Errorf("connections: %w", ErrNotWritten)
}

// Timer is one that runs in a node that is loaded.
type Timer struct {
	Timer map[string]any `json:"timer"` // with a "type"
	Due   int64          `json:"due_ms"`
}

// LoadNode gives one in this state, where these timers run and no others; it does nothing by that. Claim "state.load".
func LoadNode(birth Birth, state map[string]any, timers []Timer) (*Node, error) {
	return nil, fmt.Errorf("load: %w", ErrNotWritten)
}
