package wendy

import (
	"encoding/json"
	"slices"

	vectors "peerproof.example/vectors"
)

// life is a node under test, from its opening over its restarts.
type life struct {
	*node
	opening vectors.Opening
	streams map[string]*stream
}

// Open makes a node.
func (Implementation) Open(opening vectors.Opening, _ vectors.Choose) (vectors.Node, vectors.Reaction) {
	made := &life{opening: opening}
	made.begin(opening.Now, nil)
	if opening.State != nil {
		made.load()
	}
	return made, made.react("")
}

func (l *life) begin(now int64, changes json.RawMessage) {
	config := Config{
		NetworkTimeout: 10_000, Heartbeat: 300_000, Ring: Ring{32, 4}, LeafSetSide: LeafSetSide, NeighborhoodSet: NeighborhoodSize,
	}
	must(json.Unmarshal(l.opening.Config, &config))
	if changes != nil {
		must(json.Unmarshal(changes, &config))
	}
	var addr string
	must(json.Unmarshal(l.opening.Addr, &addr))
	l.node = newNode(config, addr, now)
	l.streams = map[string]*stream{}
}

// react ends an event.
func (l *life) react(refused string) vectors.Reaction {
	reaction := vectors.Reaction{}
	for _, one := range l.finish() {
		if message, isMessage := one.(sent); isMessage {
			datagram, err := Encode(message.message)
			must(err)
			reaction.Effects = append(reaction.Effects, vectors.Effect{To: message.to, Datagram: datagram})
		} else {
			reaction.Effects = append(reaction.Effects, vectors.Effect{Event: one})
		}
	}
	reaction.NextTimer = l.nextTimer()
	if refused != "" {
		reaction.Refused = &vectors.Rejected{Class: refused}
	}
	return reaction
}

func (l *life) Receive(now int64, _ json.RawMessage, datagram []byte) vectors.Reaction {
	l.now = now
	if message, err := Decode(datagram); err == nil {
		l.receive(message)
	}
	return l.react("")
}

func (l *life) Advance(now int64) vectors.Reaction {
	l.advance(now)
	return l.react("")
}

func (l *life) Sent(now int64, to json.RawMessage, datagram []byte, took *int64) vectors.Reaction {
	l.now = now
	var addr string
	must(json.Unmarshal(to, &addr))
	message, err := Decode(datagram)
	must(err)
	l.onSent(addr, message, took)
	return l.react("")
}

func (l *life) Call(now int64, name string, args json.RawMessage) vectors.Reaction {
	l.now = now
	return l.react(l.call(name, args))
}

// call makes a call of the application; it returns the class of a refusal.
func (l *life) call(name string, args json.RawMessage) string {
	shown := struct {
		Contact string
		Key     ID
		Value   Bytes
		Purpose Purpose
		Node    Node
		Hop     int
		Message struct {
			Header  Header
			Purpose Purpose
			Value   Bytes
		}
	}{Purpose: 16}
	must(json.Unmarshal(args, &shown))
	message := Message{Purpose: shown.Purpose, Header: l.header(), Value: shown.Value, isNew: true}
	message.Header.Key, message.Header.Hop = shown.Key, shown.Hop
	if name == "forward" {
		message = Message{Purpose: shown.Message.Purpose, Header: shown.Message.Header, Value: shown.Message.Value}
	}
	switch {
	case name == "join":
		return l.join(shown.Contact)
	case l.stage == left:
		return "left"
	case name == "leave":
		l.leave()
		return ""
	case len(message.Value) > MaxValue || len(message.Header.Credentials) > MaxCredentials:
		return "too_large"
	case name == "forward":
		l.forward(message)
	case name == "route":
		l.route(message, l.config.IsConsulted)
	case l.addressOf(shown.Node) == "" || slices.Contains(l.own, l.addressOf(shown.Node)):
		return "bad_value"
	default:
		l.pass(message, l.addressOf(shown.Node)) // send_to [WA-73]
	}
	return ""
}

type plainOwn struct {
	ID       ID       `json:"id"`
	Stage    string   `json:"stage"`
	Versions Versions `json:"versions"`
}

type plainSides struct {
	Left  []ID `json:"left"`
	Right []ID `json:"right"`
}

type plainScore struct {
	Node  ID    `json:"node"`
	Score int64 `json:"score"`
}

type plainStored struct {
	Node     ID       `json:"node"`
	Versions Versions `json:"versions"`
}

type plainRepair struct {
	Row      int  `json:"row"`
	Column   int  `json:"column"`
	AskedRow int  `json:"asked_row"`
	Waiting  []ID `json:"waiting"`
}

type plainState struct {
	Stage           string        `json:"stage"`
	RoutingTable    []Cell        `json:"routing_table"`
	LeafSet         LeafSet       `json:"leaf_set"`
	NeighborhoodSet []Node        `json:"neighborhood_set"`
	Versions        Versions      `json:"versions"`
	Scores          []plainScore  `json:"scores"`
	Cache           []plainScore  `json:"cache"`
	Measured        []Node        `json:"measured"`
	Stored          []plainStored `json:"stored"`
	Departed        []ID          `json:"departed"`
	Repairs         []plainRepair `json:"repairs"`
	Announcing      []string      `json:"announcing"`
	IsWarned        bool          `json:"is_warned"`
	Contact         *string       `json:"contact"`
}

func idsOf(nodes []Node) []ID {
	ids := []ID{}
	for _, one := range nodes {
		ids = append(ids, one.ID)
	}
	return ids
}

func sortedIDs[T any](members map[ID]T) []ID {
	ids := []ID{}
	for id := range members {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(one, other ID) int { return slices.Compare(one[:], other[:]) })
	return ids
}

func showScores(scores map[ID]int64) []plainScore {
	shown := []plainScore{}
	for _, id := range sortedIDs(scores) {
		shown = append(shown, plainScore{id, scores[id]})
	}
	return shown
}

func (l *life) Query(name string, _ json.RawMessage) any {
	switch name {
	case "own":
		return plainOwn{l.self.ID, l.stage, l.versions}
	case "routing_table":
		shown := [][]any{}
		for _, one := range l.shown(true, false, false).RoutingTable {
			shown = append(shown, []any{one.Row, one.Column, one.Node.ID})
		}
		return shown
	case "leaf_set":
		return plainSides{idsOf(l.left), idsOf(l.right)}
	case "neighborhood_set":
		return idsOf(l.neighbors)
	}
	tables := l.shown(true, true, true)
	state := plainState{
		Stage: l.stage, RoutingTable: tables.RoutingTable, LeafSet: *tables.LeafSet, NeighborhoodSet: tables.NeighborhoodSet,
		Versions: l.versions, Scores: showScores(l.scores), Cache: showScores(l.cache), Measured: []Node{},
		Stored: []plainStored{}, Departed: sortedIDs(l.departed), Repairs: []plainRepair{},
		Announcing: append([]string{}, l.announcing...), IsWarned: l.isWarned,
	}
	slices.Sort(state.Announcing)
	for _, id := range sortedIDs(l.measured) {
		state.Measured = append(state.Measured, l.measured[id])
	}
	for _, id := range sortedIDs(l.stored) {
		state.Stored = append(state.Stored, plainStored{id, l.stored[id]})
	}
	for _, place := range l.repairedCells() {
		one := l.repairs[place]
		state.Repairs = append(state.Repairs, plainRepair{place.row, place.column, one.asked, append([]ID{}, one.waiting...)})
	}
	if l.contact != "" {
		state.Contact = &l.contact
	}
	return state
}

// load puts a new node into the state in which it is opened.
func (l *life) load() {
	var state plainState
	must(json.Unmarshal(l.opening.State, &state))
	l.stage, l.versions, l.isWarned, l.announcing = state.Stage, state.Versions, state.IsWarned, state.Announcing
	for _, one := range state.RoutingTable {
		l.cells[cell{one.Row, one.Column}] = one.Node
	}
	l.left, l.right, l.neighbors = state.LeafSet.Left, state.LeafSet.Right, state.NeighborhoodSet
	for _, one := range state.Scores {
		l.scores[one.Node] = one.Score
	}
	for _, one := range state.Cache {
		l.cache[one.Node] = one.Score
	}
	for _, one := range state.Measured {
		l.measured[one.ID] = one
		l.order = append(l.order, one.ID)
	}
	for _, one := range state.Stored {
		l.stored[one.Node] = one.Versions
	}
	for _, id := range state.Departed {
		l.departed[id] = true
	}
	for _, one := range state.Repairs {
		l.repairs[cell{one.Row, one.Column}] = &repair{asked: one.AskedRow, waiting: one.Waiting}
	}
	if state.Contact != nil {
		l.contact = *state.Contact
	}
	l.loadTimers()
}

func (l *life) loadTimers() {
	var shown []struct {
		Timer struct {
			Type        string
			Row, Column int
		}
		Due int64 `json:"due_ms"`
	}
	must(json.Unmarshal(l.opening.Timers, &shown))
	l.timers = timers{}
	for _, one := range shown {
		due := one.Due
		switch one.Timer.Type {
		case "flush_cache":
			l.timers.flushCache = &due
		case "announce":
			l.timers.announce = &due
		case "heartbeat_due":
			l.timers.heartbeat = &due
		case "repair_timeout":
			if waits := l.repairs[cell{one.Timer.Row, one.Timer.Column}]; waits != nil {
				waits.due = &due
			}
		}
	}
}

func (l *life) Crash() { l.node = nil }

func (l *life) Restart(now int64, config json.RawMessage) vectors.Reaction {
	l.begin(now, config)
	return l.react("")
}
