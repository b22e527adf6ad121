package scuttlebutt

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	vectors "peerproof.example/vectors"
)

// Text is a text in plain form.
type Text = vectors.Text

// Version is a version in plain form: a string of decimal digits.
type Version uint64

// MarshalJSON writes the plain form.
func (v Version) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatUint(uint64(v), 10))
}

// UnmarshalJSON reads the plain form.
func (v *Version) UnmarshalJSON(plain []byte) error {
	var digits string
	if err := json.Unmarshal(plain, &digits); err != nil {
		return err
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	*v = Version(number)
	return err
}

type plainMessage struct {
	Type    string       `json:"type"`
	Entries []plainEntry `json:"entries"`
}

type plainEntry struct {
	Addr    *Text   `json:"addr,omitempty"`
	Key     *Text   `json:"key,omitempty"`
	Value   *Text   `json:"value,omitempty"`
	Version Version `json:"version"`
}

type plainRecord struct {
	Addr    Text         `json:"addr"`
	Version Version      `json:"version"`
	Pairs   []plainEntry `json:"pairs"`
}

type plainLiveness struct {
	Addr       Text    `json:"addr"`
	Status     string  `json:"status"`
	Last       int64   `json:"last"`
	Intervals  []int64 `json:"intervals"`
	DigestSent *int64  `json:"digest_sent"`
}

type plainState struct {
	Store    []plainRecord   `json:"store"`
	Liveness []plainLiveness `json:"liveness,omitempty"`
}

var kinds = map[string]Kind{"digest_request": DigestRequest, "digest_response": DigestResponse, "delta": Delta}

// Implementation plugs this package into the runner.
type Implementation struct{}

// Offer lists what this implementation can do.
func (Implementation) Offer() vectors.Offer {
	return vectors.Offer{
		Name: "scuttlebutt-go", Version: "1.0.0",
		Capabilities: []string{
			"codec", "exchange", "api.update_local", "observe.peers", "observe.view", "observe.status", "observe.state",
			"events", "restart", "state.load",
		},
		Events: []string{"join", "update", "heartbeat", "up", "down", "malformed"},
		Oracle: true,
	}
}

// Decode returns a message in plain form.
func (Implementation) Decode(datagram []byte) (any, error) {
	message, err := Decode(datagram)
	if malformed := (*Malformed)(nil); errors.As(err, &malformed) {
		return nil, &vectors.Rejected{Class: malformed.Class, Message: malformed.What}
	}
	shown := plainMessage{Entries: []plainEntry{}}
	for name, kind := range kinds {
		if kind == message.Kind {
			shown.Type = name
		}
	}
	for _, entry := range message.Entries {
		addr, key, value := Text(entry.Addr), Text(entry.Key), Text(entry.Value)
		one := plainEntry{Addr: &addr, Version: Version(entry.Version)}
		if message.Kind == Delta {
			one.Key, one.Value = &key, &value
		}
		shown.Entries = append(shown.Entries, one)
	}
	return shown, nil
}

// Encode returns the datagram of a message in plain form.
func (Implementation) Encode(plain json.RawMessage) ([]byte, error) {
	var shown plainMessage
	if err := json.Unmarshal(plain, &shown); err != nil {
		return nil, &vectors.Rejected{Class: "bad_value", Message: err.Error()}
	}
	message := Message{Kind: kinds[shown.Type]}
	if message.Kind == 0 {
		panic(vectors.Unsupported("there is no message " + shown.Type))
	}
	for _, one := range shown.Entries {
		entry := Entry{Version: uint64(one.Version)}
		for at, text := range []*Text{one.Addr, one.Key, one.Value}[:len(message.Kind.texts(&entry))] {
			if len(*text) > MaxText {
				return nil, &vectors.Rejected{Class: "too_large", Message: "a text has at most 255 bytes"}
			}
			*message.Kind.texts(&entry)[at] = string(*text)
		}
		message.Entries = append(message.Entries, entry)
	}
	return Encode(message), nil
}

// Open makes a node.
func (Implementation) Open(opening vectors.Opening, choose vectors.Choose) (vectors.Node, vectors.Reaction) {
	made := &life{opening: opening, choose: choose}
	made.begin(opening.Now, nil)
	if opening.State != nil {
		made.load()
	}
	return made, made.reaction("")
}

// life is a node under test, from its opening over its restarts.
type life struct {
	vectors.Datagrams
	*Node
	opening vectors.Opening
	choose  vectors.Choose
	effects []vectors.Effect
}

func (l *life) begin(now int64, changes json.RawMessage) {
	detector := &DetectorConfig{100, 2000, 5000, 8000}
	shown := struct {
		Seeds      []Text
		Interval   int64
		MaxPayload int `json:"max_payload"`
		Detector   *DetectorConfig
	}{nil, 1000, 1400, detector}
	var self Text
	must(json.Unmarshal(l.opening.Addr, &self))
	must(json.Unmarshal(l.opening.Config, &shown))
	if changes != nil {
		must(json.Unmarshal(changes, &shown))
	}
	config := Config{nil, shown.Interval, shown.MaxPayload, shown.Detector}
	for _, seed := range shown.Seeds {
		config.Seeds = append(config.Seeds, string(seed))
	}
	l.Node = NewNode(string(self), config, now, l.pick)
	l.Node.send = func(to string, message Message) {
		l.effects = append(l.effects, vectors.Effect{To: Text(to), Datagram: Encode(message)})
	}
	l.Node.notify = func(event Event) { l.effects = append(l.effects, vectors.Effect{Event: plainEvent(event)}) }
}

func (l *life) pick(site, kind string, options []string) []string {
	shown, chosen := []any{}, []string{}
	for _, option := range options {
		shown = append(shown, Text(option))
	}
	for _, at := range l.choose(site, kind, shown, 0) {
		chosen = append(chosen, options[at])
	}
	return chosen
}

func plainEvent(event Event) map[string]any {
	shown := map[string]any{"name": event.Name, "peer": Text(event.Peer)}
	switch event.Name {
	case "update":
		shown["key"], shown["value"], shown["version"] = Text(event.Key), Text(event.Pair.Value), Version(event.Pair.Version)
	case "heartbeat":
		shown["round_trip"] = event.RoundTrip
	}
	return shown
}

func (l *life) reaction(refused string) vectors.Reaction {
	done := vectors.Reaction{Effects: l.effects, NextTimer: l.roundDue}
	if refused != "" {
		done.Refused = &vectors.Rejected{Class: refused}
	}
	l.effects = nil
	return done
}

func (l *life) Receive(now int64, from json.RawMessage, datagram []byte) vectors.Reaction {
	var sender Text
	must(json.Unmarshal(from, &sender))
	var malformed *Malformed
	if err := l.Node.Receive(now, string(sender), datagram); errors.As(err, &malformed) {
		event := map[string]any{"name": "malformed", "class": malformed.Class, "offset": malformed.Offset}
		l.effects = append(l.effects, vectors.Effect{Event: event})
	}
	return l.reaction("")
}

func (l *life) Advance(now int64) vectors.Reaction {
	l.Node.Advance(now)
	return l.reaction("")
}

func (l *life) Call(_ int64, _ string, args json.RawMessage) vectors.Reaction {
	var pair struct{ Key, Value Text }
	must(json.Unmarshal(args, &pair))
	return l.reaction(l.Update(string(pair.Key), string(pair.Value)))
}

func (l *life) Query(name string, _ json.RawMessage) any {
	others := slices.DeleteFunc(l.addresses(), func(addr string) bool { return addr == l.self })
	switch name {
	case "peers":
		peers := []Text{}
		for _, addr := range l.addresses() {
			peers = append(peers, Text(addr))
		}
		return peers
	case "view":
		return l.view()
	case "status":
		statuses := []any{}
		for _, addr := range others {
			known := l.liveness[addr]
			statuses = append(statuses, map[string]any{"addr": Text(addr), "status": statusText(known != nil && known.IsDown)})
		}
		return statuses
	}
	state := plainState{Store: l.view()}
	for _, addr := range l.watched() {
		known := l.liveness[addr]
		shown := plainLiveness{Text(addr), statusText(known.IsDown), known.Last, known.Intervals, known.DigestSent}
		state.Liveness = append(state.Liveness, shown)
	}
	return state
}

func statusText(isDown bool) string {
	if isDown {
		return "down"
	}
	return "up"
}

func (l *life) view() []plainRecord {
	records := []plainRecord{}
	for _, addr := range l.addresses() {
		shown := plainRecord{Text(addr), Version(l.store[addr].Version), []plainEntry{}}
		pairs := l.store[addr].Pairs
		for _, name := range sortedKeys(pairs) {
			key, value := Text(name), Text(pairs[name].Value)
			shown.Pairs = append(shown.Pairs, plainEntry{Key: &key, Value: &value, Version: Version(pairs[name].Version)})
		}
		records = append(records, shown)
	}
	return records
}

// load puts a new node into the state in which it is opened.
func (l *life) load() {
	var state plainState
	must(json.Unmarshal(l.opening.State, &state))
	for _, shown := range state.Store {
		record := &Record{uint64(shown.Version), map[string]Pair{}}
		for _, pair := range shown.Pairs {
			record.Pairs[string(*pair.Key)] = Pair{string(*pair.Value), uint64(pair.Version)}
		}
		l.store[string(shown.Addr)] = record
	}
	for _, shown := range state.Liveness {
		l.liveness[string(shown.Addr)] = &liveness{shown.Status == "down", shown.Last, shown.Intervals, shown.DigestSent}
	}
	var timers []struct {
		Due int64 `json:"due_ms"`
	}
	must(json.Unmarshal(l.opening.Timers, &timers))
	l.roundDue = nil
	if len(timers) > 0 {
		l.roundDue = &timers[0].Due
	}
}

func (l *life) Crash() { l.Node = nil }

func (l *life) Restart(now int64, config json.RawMessage) vectors.Reaction {
	l.begin(now, config)
	return l.reaction("")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
