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
	Protocol string
	Run      struct {
		Transport, Everybody string
		Queries              []string
		OptionalEvents       []string          `json:"optional_events"`
		RequiredConfig       []string          `json:"required_config"`
		CoveredBy            map[string]string `json:"covered_by"`
		Limits               struct {
			Messages, Happenings int
			AtOnce               int `json:"at_once"`
			MessageBytes         int `json:"message_bytes"`
		}
	}
	Clauses map[string]struct {
		Level, Text, Read string
		Decision          bool
	}
	Readings map[string]map[string]string // clause -> name of another reading -> what it means
	Outcomes map[string][]any             // class of a failure, place, and number of a value
	Values   []any
	Messages []struct {
		Bytes string
		Value json.RawMessage
	}
	Vectors []*Vector
	Tables  []struct {
		States  []any
		Nodes   []nodeSpec
		Steps   []step
		Vectors []struct {
			Vector
			Node  int
			Steps []int
		}
	}
}

// Vector is one fact about a protocol, with one or several cases.
type Vector struct {
	ID, Title, Level string
	Clauses          []string
	Cases            []Case
	Basis            map[string]map[string]map[string]string // place -> decisions -> outcome -> readings

	Bytes     string // of a vector of the codec
	Value     json.RawMessage
	Datagrams []struct{ Name, Bytes string } // of one with malformed messages
	Class     string
	Receiver  struct {
		Addr, Config, Peer any
		Legal              []string
	}
	Nodes        []nodeSpec // of one with nodes
	Delay        int64
	Setup, Steps []step
}

// Case is a separately checked part of a vector.
type Case struct {
	ID, Check, Seed string
	Needs           []string
}

type nodeSpec struct {
	Name          string
	Addr          any
	Config        object
	State, Timers any
}

type step struct {
	Do, Node   string
	At         int64
	Nodes      []string
	Request    map[string]json.RawMessage // without handle and time
	Refused    any                        // true, or a class
	Picks      []pick
	To         any
	Bytes      *string
	Type       string
	Took       any `json:"took_us"`
	Groups     [][]string
	Outcomes   []outcome
	Picked     string
	QuietUntil *int64 `json:"quiet_until"`
	Event      string
	Equals     any
}

type pick struct {
	Site string
	Pick []any
}

type outcome struct {
	Branch, Verdict, Because string
	Sends, Streams, State    any
	Reads                    bool
	Reports                  *struct {
		Order string
		Items []struct {
			Kind  *string
			Event any
		}
	}
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
	bundle, decoder := &Bundle{}, json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(bundle); err != nil {
		return nil, fmt.Errorf("%s is not a bundle: %w", path, err)
	}
	if bundle.Format != 2 {
		return nil, fmt.Errorf("%s has format %d, this runner reads 2: write both with the same peerproof vectors export", path, bundle.Format)
	}
	bundle.expand()
	return bundle, nil
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
	for _, table := range bundle.Tables {
		loaded := func(state any) any {
			if number, isNumber := state.(json.Number); isNumber {
				at, _ := number.Int64()
				return table.States[at]
			}
			return state
		}
		for at := range table.Nodes {
			table.Nodes[at].State = loaded(table.Nodes[at].State)
		}
		for _, step := range table.Steps {
			for at := range step.Outcomes {
				step.Outcomes[at].State = loaded(step.Outcomes[at].State)
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
