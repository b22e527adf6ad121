package wendy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	vectors "peerproof.example/vectors"
)

// names are the types of messages in plain form, by their purpose; all further purposes are of applications.
var names = []string{
	"node_join", "node_exit", "heartbeat", "state_data", "state_request", "node_race", "node_repair", "node_announcement", "application",
}

// plainMessage has the members of all types; those that a message does not have are left out.
type plainMessage struct {
	Type        string           `json:"type"`
	Header      Header           `json:"header"`
	Tables      *Tables          `json:"tables,omitempty"`
	Destination *bool            `json:"destination,omitempty"`
	Mask        *Mask            `json:"mask,omitempty"`
	Purpose     *Purpose         `json:"purpose,omitempty"`
	Value       *json.RawMessage `json:"value,omitempty"`
}

// Implementation plugs this package into the runner.
type Implementation struct{}

// Offer lists what this implementation can do.
func (Implementation) Offer() vectors.Offer {
	return vectors.Offer{
		Name:    "wendy-go",
		Version: "1.0.0",
		Capabilities: []string{
			"codec", "exchange", "sent", "stream", "events", "restart", "state.load", "config.sizes",
			"api.join", "api.leave", "api.route", "api.forward", "api.send_to",
			"observe.own", "observe.routing_table", "observe.leaf_set", "observe.neighborhood_set", "observe.state",
		},
		Events: []string{"delivered", "forwarding", "joined", "join_failed", "node_joined", "node_exited"},
	}
}

// Decode returns a message in plain form.
func (Implementation) Decode(datagram []byte) (any, error) {
	message, err := Decode(datagram)
	if err != nil {
		return nil, rejected(err)
	}
	shown := plainMessage{
		Type: names[min(message.Purpose, Application)], Header: message.Header, Tables: message.Tables, Mask: message.Mask,
	}
	if message.Purpose == StateData {
		shown.Destination = &message.Destination
	}
	if message.Purpose >= Application {
		value, err := json.Marshal(message.Value)
		if err != nil {
			return nil, err
		}
		shown.Purpose, shown.Value = &message.Purpose, (*json.RawMessage)(&value)
	}
	return shown, nil
}

// Encode returns the datagram of a message in plain form.
func (Implementation) Encode(plain json.RawMessage) ([]byte, error) {
	message, err := fromPlain(plain)
	if err != nil {
		return nil, &vectors.Rejected{Class: "bad_value", Message: err.Error()}
	}
	datagram, err := Encode(message)
	if err != nil {
		return nil, rejected(err)
	}
	return datagram, nil
}

func rejected(err error) error {
	if malformed := (*Malformed)(nil); errors.As(err, &malformed) {
		return &vectors.Rejected{Class: malformed.Class, Message: malformed.What}
	}
	return err
}

func fromPlain(plain json.RawMessage) (Message, error) {
	var shown plainMessage
	if err := json.Unmarshal(plain, &shown); err != nil {
		return Message{}, err
	}
	purpose := Purpose(slices.Index(names, shown.Type))
	if purpose < 0 {
		panic(fmt.Sprintf("there is no message of the type %q", shown.Type)) // an error of the caller
	}
	message := Message{Purpose: purpose, Header: shown.Header, Tables: shown.Tables, Mask: shown.Mask}
	if shown.Destination != nil {
		message.Destination = *shown.Destination
	}
	if purpose == Application {
		if shown.Purpose != nil {
			message.Purpose = *shown.Purpose
		}
		if shown.Value != nil { // a value that is null leaves no pointer
			if err := json.Unmarshal(*shown.Value, &message.Value); err != nil {
				return message, err
			}
		}
	}
	return message, check(message)
}

// check refuses a message that is not of the form of its type.
func check(message Message) error {
	header := message.Header
	ports := []int{header.Sender.Port}
	for _, node := range message.Tables.nodes() {
		ports = append(ports, node.Port)
	}
	switch {
	case message.Purpose < 0 || message.Purpose > math.MaxUint8:
		return errors.New("a purpose is from 0 to 255")
	case header.Hop < 0 || header.Hop > math.MaxInt32:
		return errors.New("a number of hops is from 0 to 2^31-1")
	case slices.ContainsFunc(ports, func(port int) bool { return port < 0 || port > math.MaxUint16 }):
		return errors.New("a port is from 0 to 65535")
	case message.Purpose.HasTables() != (message.Tables != nil) || message.Purpose.HasMask() != (message.Mask != nil):
		return errors.New("tables or a mask are missing, or too many")
	}
	if message.Tables != nil {
		for _, cell := range message.Tables.RoutingTable {
			if !isWithin(cell.Row, Rows) || !isWithin(cell.Column, Columns) {
				return errors.New("there is no such cell")
			}
		}
	}
	if mask := message.Mask; mask != nil {
		if !slices.ContainsFunc(mask.Rows, func(row int) bool { return !isWithin(row, Rows) }) &&
			!slices.ContainsFunc(mask.Columns, func(column int) bool { return !isWithin(column, Columns) }) {
			return nil
		}
		return errors.New("there is no such row or column")
	}
	return nil
}

func isWithin(index, size int) bool { return 0 <= index && index < size }

// nodes returns all nodes that stand in some tables.
func (t *Tables) nodes() []Node {
	if t == nil {
		return nil
	}
	nodes := slices.Clone(t.NeighborhoodSet)
	for _, cell := range t.RoutingTable {
		nodes = append(nodes, cell.Node)
	}
	if t.LeafSet != nil {
		nodes = append(append(nodes, t.LeafSet.Left...), t.LeafSet.Right...)
	}
	return nodes
}
