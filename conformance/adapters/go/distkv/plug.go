package distkv

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	vectors "peerproof.example/vectors"
)

// Number is a tick or a tock in plain form: a string of decimal digits.
type Number uint64

// MarshalText writes the plain form.
func (n Number) MarshalText() ([]byte, error) { return []byte(strconv.FormatUint(uint64(n), 10)), nil }

// UnmarshalJSON reads the plain form, and the other two that are accepted: a number, and {"u64": …}.
func (n *Number) UnmarshalJSON(plain []byte) error {
	var wrapped struct{ U64 json.RawMessage }
	if err := json.Unmarshal(plain, &wrapped); err == nil && wrapped.U64 != nil {
		plain = wrapped.U64
	}
	var digits string
	if err := json.Unmarshal(plain, &digits); err != nil {
		digits = string(plain)
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	*n = Number(number)
	return err
}

type plainElement struct {
	Node string  `json:"node"`
	Tick *Number `json:"tick"`
}

type plainChain struct {
	Elements []plainElement `json:"elements"`
	Cut      bool           `json:"cut"`
}

type plainUpdate struct {
	Type   Kind          `json:"type"`
	Chain  plainChain    `json:"chain"`
	Path   any           `json:"path"`
	Value  any           `json:"value"`
	Tock   Number        `json:"tock"`
	Sender *plainElement `json:"sender"`
}

type plainInfo struct {
	Type    Kind              `json:"type"`
	Chain   plainChain        `json:"chain"`
	Tock    Number            `json:"tock"`
	Known   map[string][]any  `json:"known"`
	Ticks   map[string]Number `json:"ticks"`
	Missing map[string][]any  `json:"missing"`
	Reason  *plainChain       `json:"reason"`
}

type plainPing struct {
	Type  Kind       `json:"type"`
	Chain plainChain `json:"chain"`
	Tock  Number     `json:"tock"`
}

// received has the members of all messages, as they are read.
type received struct {
	Type           Kind
	Chain          plainChain
	Tock           Number
	Path, Value    json.RawMessage
	Sender         *plainElement
	Known, Missing map[string]json.RawMessage
	Ticks          map[string]Number
	Reason         *plainChain
}

// Implementation plugs this package into the runner.
type Implementation struct{}

// Offer lists what this implementation can do.
func (Implementation) Offer() vectors.Offer {
	return vectors.Offer{Name: "distkv-go", Version: "1.0.0", Capabilities: []string{"codec"}}
}

// Decode returns a message in plain form.
func (Implementation) Decode(datagram []byte) (any, error) {
	message, err := Decode(datagram)
	if err != nil {
		return nil, rejected(err)
	}
	chain, tock := showChain(message.Chain), Number(message.Tock)
	switch message.Kind {
	case Update:
		shown := plainUpdate{Update, chain, plainValue(message.Path), plainValue(message.Value), tock, nil}
		if message.Sender != nil {
			sender := showElement(*message.Sender)
			shown.Sender = &sender
		}
		return shown, nil
	case Info:
		shown := plainInfo{Info, chain, tock, showSets(message.Known), map[string]Number{}, showSets(message.Missing), nil}
		for node, tick := range message.Ticks {
			shown.Ticks[node] = Number(tick)
		}
		if message.Reason != nil {
			reason := showChain(*message.Reason)
			shown.Reason = &reason
		}
		return shown, nil
	}
	return plainPing{Ping, chain, tock}, nil
}

func showElement(element Element) plainElement {
	return plainElement{element.Node, (*Number)(element.Tick)}
}

func showChain(chain Chain) plainChain {
	shown := plainChain{Cut: chain.IsCut}
	for _, element := range chain.Elements {
		shown.Elements = append(shown.Elements, showElement(element))
	}
	return shown
}

func showSets(sets map[string]Ranges) map[string][]any {
	shown := map[string][]any{}
	for node, ranges := range sets {
		for _, one := range ranges {
			if one.End == one.Begin+1 {
				shown[node] = append(shown[node], Number(one.Begin))
			} else {
				shown[node] = append(shown[node], []Number{Number(one.Begin), Number(one.End)})
			}
		}
	}
	return shown
}

// Encode returns the datagram of a message in plain form.
func (Implementation) Encode(plain json.RawMessage) ([]byte, error) {
	message, err := readPlain(plain)
	if err != nil {
		return nil, rejected(err)
	}
	datagram, err := Encode(message)
	if err != nil {
		return nil, rejected(err)
	}
	return datagram, nil
}

// Open makes no node.
func (Implementation) Open(vectors.Opening, vectors.Choose) (vectors.Node, vectors.Reaction) {
	panic(vectors.Unsupported("this is a codec without nodes"))
}

func rejected(err error) error {
	if malformed := (*Malformed)(nil); errors.As(err, &malformed) {
		return &vectors.Rejected{Class: malformed.Class, Message: malformed.What}
	}
	return &vectors.Rejected{Class: "bad_value", Message: err.Error()}
}

func readPlain(plain json.RawMessage) (message Message, err error) {
	defer recovered(&err)
	var shown received
	if err := json.Unmarshal(plain, &shown); err != nil {
		return message, err
	}
	if !shown.Type.isKnown() {
		panic(fmt.Sprintf("there is no message of the type %q", shown.Type)) // an error of the caller
	}
	message = Message{Kind: shown.Type, Chain: shown.Chain.chain(), Tock: readTick(uint64(shown.Tock))}
	switch shown.Type {
	case Update:
		checkChanges(message.Chain)
		message.Path, message.Value = readPath(parseValue(shown.Path)), parseValue(shown.Value)
		if shown.Sender != nil {
			sender := shown.Sender.element()
			message.Sender = &sender
		}
	case Info:
		message.Known, message.Missing = readPlainSets(shown.Known), readPlainSets(shown.Missing)
		message.Ticks = map[string]uint64{}
		for node, tick := range shown.Ticks {
			message.Ticks[readName(node)] = readTick(uint64(tick))
		}
		if shown.Reason != nil {
			reason := shown.Reason.chain()
			message.Reason = &reason
		}
	}
	return message, nil
}

func (shown plainElement) element() Element {
	if shown.Tick != nil {
		readTick(uint64(*shown.Tick))
	}
	return Element{readName(shown.Node), (*uint64)(shown.Tick)}
}

func (shown plainChain) chain() Chain {
	chain := Chain{IsCut: shown.Cut}
	for _, element := range shown.Elements {
		chain.Elements = append(chain.Elements, element.element())
	}
	if len(chain.Elements) == 0 {
		fail("bad_value", "a chain has at least one element")
	}
	return chain
}

func readPlainSets(shown map[string]json.RawMessage) map[string]Ranges {
	sets := map[string]Ranges{}
	for node, list := range shown {
		sets[readName(node)] = readRanges(withoutQuotes(parseValue(list)))
	}
	return sets
}

// withoutQuotes returns the numbers of ranges, which are strings in plain form.
func withoutQuotes(shown Value) Value {
	switch shown := shown.(type) {
	case string:
		return parseInteger(shown)
	case List:
		for at := range shown {
			shown[at] = withoutQuotes(shown[at])
		}
	}
	return shown
}
