// Package wendy has the messages of Wendy, their bytes, and a node, written from the page spec/wendy.md alone. Numbers in brackets,
// such as [WA-63], are clauses of that page.
package wendy

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
)

// The sizes of the tables. [W-13, W-23, W-32]
const (
	Rows             = 32
	Columns          = 16
	LeafSetSide      = 16
	NeighborhoodSize = 32
)

// ID is the id of a node or of a message. [W-01]
type ID [16]byte

// ParseID reads 32 hexadecimal digits, small or capital. [WA-49]
func ParseID(text string) (ID, error) {
	var id ID
	content, err := hex.DecodeString(text)
	if err != nil || len(content) != len(id) {
		return id, errors.New("an id has 32 hexadecimal digits")
	}
	return ID(content), nil
}

// String returns 32 small hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes the plain form.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the plain form.
func (id *ID) UnmarshalText(plain []byte) (err error) {
	*id, err = ParseID(string(plain))
	return err
}

// Bytes are bytes, or nil if there are none: in plain form hexadecimal digits, or null.
type Bytes []byte

// MarshalJSON writes the plain form.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	return json.Marshal(hex.EncodeToString(b))
}

// UnmarshalJSON reads the plain form.
func (b *Bytes) UnmarshalJSON(plain []byte) error {
	var digits *string
	if err := json.Unmarshal(plain, &digits); err != nil || digits == nil {
		*b = nil
		return err
	}
	content, err := hex.DecodeString(*digits)
	*b = content
	return err
}

// Version is the version of a table: in plain form a string of decimal digits. [W-62]
type Version uint64

// MarshalJSON writes the plain form.
func (v Version) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatUint(uint64(v), 10))
}

// UnmarshalJSON reads the plain form, and the other two that are accepted: a number, and {"u64": …}.
func (v *Version) UnmarshalJSON(plain []byte) error {
	var wrapped struct{ U64 json.RawMessage }
	if err := json.Unmarshal(plain, &wrapped); err == nil && wrapped.U64 != nil {
		plain = wrapped.U64
	}
	var digits string
	if err := json.Unmarshal(plain, &digits); err != nil {
		digits = string(plain)
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	*v = Version(number)
	return err
}

// Node is what is known of a node. [WA-52]
type Node struct {
	ID       ID     `json:"id"`
	LocalIP  string `json:"local_ip"`
	GlobalIP string `json:"global_ip"`
	Port     int    `json:"port"`
	Region   string `json:"region"`
}

// Versions are the versions of the three tables of a node. [W-62]
type Versions struct {
	RoutingTable    Version `json:"routing_table"`
	LeafSet         Version `json:"leaf_set"`
	NeighborhoodSet Version `json:"neighborhood_set"`
}

// Header is what all messages have.
type Header struct {
	Sender      Node     `json:"sender"`
	Key         ID       `json:"key"`
	Versions    Versions `json:"versions"`
	Credentials Bytes    `json:"credentials"`
	Hop         int      `json:"hop"`
}

// Cell is an occupied cell of a routing table. [W-13]
type Cell struct {
	Row    int  `json:"row"`
	Column int  `json:"column"`
	Node   Node `json:"node"`
}

// LeafSet has both sides of a leaf set, each in the order in which it is sent. [W-23, WA-51]
type LeafSet struct {
	Left  []Node `json:"left"`
	Right []Node `json:"right"`
}

// Tables are those of the three tables that a message has; the others are nil.
type Tables struct {
	RoutingTable    []Cell   `json:"routing_table"`
	LeafSet         *LeafSet `json:"leaf_set"`
	NeighborhoodSet []Node   `json:"neighborhood_set"`
}

// Mask says which tables, rows and columns are asked for. [WA-57]
type Mask struct {
	RoutingTable    bool  `json:"routing_table"`
	LeafSet         bool  `json:"leaf_set"`
	NeighborhoodSet bool  `json:"neighborhood_set"`
	Rows            []int `json:"rows"`
	Columns         []int `json:"columns"`
}

// Purpose is the type of a message. Those from Application on are of applications. [WA-55]
type Purpose int

// The purposes of the protocol.
const (
	NodeJoin Purpose = iota
	NodeExit
	Heartbeat
	StateData
	StateRequest
	NodeRace
	NodeRepair
	NodeAnnouncement
	Application
)

// HasTables says whether the value of a message is tables.
func (p Purpose) HasTables() bool { return p == StateData || p == NodeRace || p == NodeAnnouncement }

// HasMask says whether the value of a message is a mask.
func (p Purpose) HasMask() bool { return p == StateRequest || p == NodeRepair }

// Message is a message. Which members it has besides its header depends on its purpose.
type Message struct {
	Purpose     Purpose
	Header      Header
	Tables      *Tables // of purposes that have tables
	Destination bool    // of state data: whether its sender is the destination of the join [WA-61]
	Mask        *Mask   // of purposes that have a mask
	Value       Bytes   // of applications

	isNew bool // whether it begins at this node, and has its versions
}

// Malformed says why bytes are no message, or why a message cannot be sent; Class is one of the suite's words.
type Malformed struct {
	Class  string
	Offset int
	What   string
}

func (m *Malformed) Error() string { return m.What }
