package vectors

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Bundle is what `peerproof vectors export` writes for a protocol; docs/reference/bundle.md describes it.
type Bundle struct {
	Format   int
	Package  string
	Digest   string
	Protocol string
	Run      struct {
		Transport      string
		Everybody      string
		Seed           string
		Queries        []string
		OptionalEvents []string                   `json:"optional_events"`
		Meaningless    map[string]json.RawMessage // type of a message -> items of its lists that mean nothing
		RequiredConfig []string                   `json:"required_config"`
		Limits         struct {
			Messages     int
			AtOnce       int `json:"at_once"`
			MessageBytes int `json:"message_bytes"`
			Happenings   int
		}
	}
	Clauses  map[string]clause
	Readings map[string]map[string]string // clause -> name of another reading -> what it means
	Messages []struct {
		Bytes string
		Value json.RawMessage
	}
	Vectors []*Vector
	Tables  []struct {
		States  []json.RawMessage
		Nodes   []nodeSpec
		Steps   []step
		Vectors []struct {
			Vector
			Node  int
			Steps []int
		}
	}
}

// clause is a clause of the document, or a decision about what it leaves open.
type clause struct {
	Level, Text, Read string
	Decision          bool
}

// standing returns what a clause asks, for readers: its level, or that it is a decision.
func (c clause) standing() string {
	if c.Decision {
		return "decision"
	}
	return c.Level
}

// Vector is one fact about a protocol, with one or several cases.
type Vector struct {
	ID      string
	Title   string
	Level   string
	Clauses []string
	Cases   []Case
	Basis   json.RawMessage

	Bytes     string // of a vector of the codec
	Value     json.RawMessage
	Datagrams []datagram // of one with malformed messages
	Class     string
	Receiver  struct {
		Addr, Config json.RawMessage
		Peer         string
		Legal        []string
	}
	Nodes        []nodeSpec // of one with nodes
	Delay        int64
	Setup, Steps []step
}

// Case is a separately checked part of a vector.
type Case struct {
	ID    string
	Check string
	Needs []string
}

type datagram struct{ Name, Bytes string }

type nodeSpec struct {
	Name          string
	Addr, Config  json.RawMessage
	State, Timers json.RawMessage
}

type step struct {
	Do      string
	At      int64
	Node    string
	Nodes   []string
	From    json.RawMessage
	To      json.RawMessage
	Bytes   *string
	Type    string
	Took    *int64 `json:"took_us"`
	Stream  json.RawMessage
	Name    string
	Args    json.RawMessage
	Config  json.RawMessage
	Refused any // true, or a class
	Groups  [][]string
	Picks   []struct {
		Site string
		Pick json.RawMessage
	}
	Outcomes   []outcome
	Picked     string
	QuietUntil *int64 `json:"quiet_until"`
	Query      string
	Event      string
	Equals     json.RawMessage
}

type outcome struct {
	Branch, Verdict, Because string
	Order                    string
	Messages                 []struct {
		To, Message json.RawMessage
		Bytes       *string
	}
	Streams, Events, State json.RawMessage
}

// Load reads a bundle, compressed if its name ends in .gz.
func Load(path string) (*Bundle, error) {
	text, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		text, err = decompress(text)
	}
	if err != nil {
		return nil, err
	}
	bundle := &Bundle{}
	if err := json.Unmarshal(text, bundle); err != nil {
		return nil, fmt.Errorf("%s is not a bundle: %w", path, err)
	}
	if bundle.Format != 1 {
		return nil, fmt.Errorf("%s has format %d, this runner reads 1: write both with the same peerproof vectors export", path, bundle.Format)
	}
	bundle.expand()
	return bundle, nil
}

// messages returns the messages of the bundle by their bytes.
func (bundle *Bundle) messages() map[string]any {
	found := map[string]any{}
	for _, one := range bundle.Messages {
		found[one.Bytes] = parse(one.Value)
	}
	for _, vector := range bundle.Vectors {
		if vector.Value != nil {
			found[vector.Bytes] = parse(vector.Value)
		}
	}
	return found
}

func decompress(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// expand adds the vectors of tables, with their nodes, states and steps in place of numbers.
func (bundle *Bundle) expand() {
	for at := range bundle.Tables {
		table := &bundle.Tables[at]
		loaded := func(state *json.RawMessage) {
			var number int
			if *state != nil && json.Unmarshal(*state, &number) == nil {
				*state = table.States[number]
			}
		}
		for at := range table.Nodes {
			loaded(&table.Nodes[at].State)
		}
		for _, step := range table.Steps {
			for at := range step.Outcomes {
				loaded(&step.Outcomes[at].State)
			}
		}
		for at := range table.Vectors {
			row := &table.Vectors[at]
			row.Vector.Nodes = []nodeSpec{table.Nodes[row.Node]}
			for _, number := range row.Steps {
				row.Vector.Steps = append(row.Vector.Steps, table.Steps[number])
			}
			bundle.Vectors = append(bundle.Vectors, &row.Vector)
		}
	}
}
