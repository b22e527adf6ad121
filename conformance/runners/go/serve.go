package vectors

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// request has the members of all requests to adapters.
type request struct {
	ID            json.RawMessage
	Op            string
	Protocol      json.RawMessage // a name; of hello the least and the highest version
	Case, Node    string
	Addr, Config  json.RawMessage
	Seed          string
	State, Timers json.RawMessage
	Via           json.RawMessage // a transport; of serve a list of them
	Bind          string
	Handle        int
	Now           int64 `json:"now_ms"`
	From, To      json.RawMessage
	Bytes         *string
	Value         json.RawMessage
	Name, What    string
	Args          json.RawMessage
	Took          *int64 `json:"took_us"`
	Conn, Event   string
	Choice        struct{ Pick []int }
	Items         []*request
}

// served is a node behind a handle.
type served struct {
	node      Node
	transport string
	isDown    bool
}

// server answers the requests of adapter protocol 1 for implementations, one of each protocol.
type server struct {
	plugs  []Plug
	answer func(question object) []int // answers random choices
	nodes  map[int]*served
	opened int
	id     json.RawMessage
	asked  int
}

// HandlerOf makes a Handle of an implementation in this process.
func HandlerOf(plug Plug) Handle {
	s := &server{plugs: []Plug{plug}, nodes: map[int]*served{}}
	return func(line []byte, choose func(Question) []int) []byte {
		s.answer = func(question object) []int {
			var asked Question
			unmarshal(marshal(question), &asked)
			return choose(asked)
		}
		reply, _ := s.respond(line)
		return marshal(reply)
	}
}

// marshal writes JSON, which never fails for what plugs return unless it is none.
func marshal(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return text.Bytes()
}

// unmarshal reads JSON that this package has written; numbers keep all digits.
func unmarshal(text []byte, value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(value); err != nil {
		panic(err)
	}
}

// Serve makes an adapter of an implementation, so that `peerproof run`, `fuzz` and `doctor` can test the same one, until the
// request bye or the end of the requests. The transport is udp, tcp or serf, as the protocol has it.
func Serve(protocol, transport string, implementation Implementation, requests io.Reader, replies io.Writer) error {
	return ServeAll([]Plug{{Protocol: protocol, Transport: transport, Implementation: implementation}}, requests, replies)
}

// ServeAll makes one adapter of the implementations of several protocols. Its name and version are those of the first.
func ServeAll(plugs []Plug, requests io.Reader, replies io.Writer) error {
	s, lines, output := &server{plugs: plugs, nodes: map[int]*served{}}, bufio.NewReader(requests), json.NewEncoder(replies)
	s.answer = func(question object) []int {
		if err := output.Encode(object{"choice": question}); err != nil {
			panic(err)
		}
		var answer request
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &answer)
		}
		if err != nil {
			panic(AdapterError{"internal", fmt.Sprintf("no answer to a choice: %v", err)})
		}
		return answer.Choice.Pick
	}
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		reply, op := s.respond(line)
		if err := output.Encode(reply); err != nil || op == "bye" {
			return err
		}
	}
}

// respond returns the reply to a line, and its op.
func (s *server) respond(line []byte) (reply object, op string) {
	var asked request
	reply = problem("bad_request", "this line is no request")
	if err := json.Unmarshal(line, &asked); err == nil {
		reply = s.reply(&asked)
	}
	reply["id"] = asked.ID
	return reply, asked.Op
}

// reply returns the reply to a request, without its id. There is one even if the implementation panics.
func (s *server) reply(asked *request) (reply map[string]any) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case Unsupported:
			reply = problem("unsupported", string(raised))
		case AdapterError:
			reply = problem(raised.Code, raised.Message)
		default:
			reply = problem("panic", fmt.Sprintf("%v\n%s", raised, trace(string(debug.Stack()))))
		}
	}()
	if asked.ID != nil { // also of an item of a batch that may ask
		s.id, s.asked = asked.ID, 0
	}
	reply = s.carryOut(asked)
	reply["ok"] = true
	return reply
}

func (s *server) carryOut(asked *request) map[string]any {
	switch asked.Op {
	case "hello":
		return s.hello(asked)
	case "bye":
		return map[string]any{}
	case "batch":
		results := []any{}
		for _, item := range asked.Items {
			results = append(results, s.reply(item))
		}
		return map[string]any{"results": results}
	case "decode":
		message, err := s.plug(asked).Implementation.Decode(asked.datagram())
		return either("value", message, err)
	case "encode":
		subject := s.plug(asked).Implementation
		if asked.Value == nil || string(asked.Value) == "null" {
			panic(AdapterError{"bad_request", "there is no value"})
		}
		datagram, err := subject.Encode(asked.Value)
		return either("bytes", hex.EncodeToString(datagram), err)
	case "open", "load":
		return s.open(asked)
	case "serve":
		return s.serve(asked)
	case "recv", "advance", "call", "query", "crash", "restart", "sent", "stream", "close":
		return s.ofNode(asked)
	}
	panic(AdapterError{"unknown_op", "there is no op " + asked.Op})
}

func (s *server) open(asked *request) map[string]any {
	plug := s.plug(asked)
	if asked.Addr == nil {
		panic(AdapterError{"bad_request", "a node needs an address"})
	}
	if asked.Config == nil {
		asked.Config = json.RawMessage("{}")
	}
	opening := Opening{asked.Case, asked.Node, asked.Seed, asked.Now, asked.Addr, asked.Config, nil, nil}
	if asked.Op == "load" {
		opening.State, opening.Timers = asked.State, asked.Timers
	}
	node, reaction := plug.Implementation.Open(opening, s.choose)
	one := &served{node: node, transport: plug.Transport}
	reply := one.reacted(reaction)
	reply["handle"] = s.keep(one)
	return reply
}

// keep returns a handle for a node.
func (s *server) keep(one *served) int {
	s.opened++
	s.nodes[s.opened] = one
	return s.opened
}

// serve starts a node on sockets.
func (s *server) serve(asked *request) map[string]any {
	if !slices.ContainsFunc(s.plugs, func(plug Plug) bool { return len(sockets(plug)) > 0 }) {
		panic(AdapterError{"unknown_op", "there is no op serve"})
	}
	plug := s.plug(asked)
	serving, _ := plug.Implementation.(Serving)
	var via []string
	if err := json.Unmarshal(asked.Via, &via); err != nil || serving == nil {
		panic(Unsupported(fmt.Sprintf("there is no op serve of %s over %s", plug.Protocol, asked.Via)))
	}
	if asked.Config == nil {
		asked.Config = json.RawMessage("{}")
	}
	node, addrs, err := serving.Serve(Listening{asked.Case, asked.Node, asked.Seed, via, asked.Bind, asked.Config})
	if err != nil {
		panic(AdapterError{"bad_request", err.Error()})
	}
	return map[string]any{"handle": s.keep(&served{node: node, transport: plug.Transport}), "addrs": addrs}
}

// sockets returns the transports on which an implementation runs nodes.
func sockets(plug Plug) []string {
	if serving, isServing := plug.Implementation.(Serving); isServing {
		return serving.Sockets()
	}
	return nil
}

func (s *server) ofNode(asked *request) map[string]any {
	one := s.nodes[asked.Handle]
	if one == nil || (one.isDown && asked.Op != "restart" && asked.Op != "close") {
		panic(AdapterError{"no_handle", fmt.Sprintf("there is no node %d, or it has crashed", asked.Handle)})
	}
	node := one.node
	switch asked.Op {
	case "recv":
		return one.reacted(node.Receive(asked.Now, asked.From, asked.datagram()))
	case "advance":
		return one.reacted(node.Advance(asked.Now))
	case "call":
		return one.reacted(node.Call(asked.Now, asked.Name, asked.Args))
	case "query":
		return map[string]any{"value": node.Query(asked.What, asked.Args)}
	case "restart":
		one.isDown = false
		return one.reacted(node.Restart(asked.Now, asked.Config))
	case "sent":
		return one.reacted(node.Sent(asked.Now, asked.To, asked.datagram(), asked.Took))
	case "stream":
		event := object{"conn": asked.Conn, "event": asked.Event}
		if asked.Bytes != nil {
			event["bytes"] = *asked.Bytes
		}
		return one.reacted(node.Stream(asked.Now, marshal(event)))
	case "crash":
		node.Crash()
		one.isDown = true
	case "close":
		if closer, isOpen := node.(io.Closer); isOpen {
			_ = closer.Close() // an error changes nothing: the node is given up
		}
		delete(s.nodes, asked.Handle)
	}
	return map[string]any{}
}

func (s *server) hello(asked *request) map[string]any {
	var versions [2]int
	if err := json.Unmarshal(asked.Protocol, &versions); err != nil {
		panic(AdapterError{"bad_request", err.Error()})
	}
	if versions[0] > 1 || versions[1] < 1 {
		panic(AdapterError{"version", fmt.Sprintf("this adapter speaks version 1, not %v", versions)})
	}
	protocols, choices := map[string]any{}, "set" // of all: oracle if one asks
	transports, isServing := []string{}, true
	readings := map[string]string{}
	for _, plug := range s.plugs {
		offer := plug.Implementation.Offer()
		offered := map[string]any{"capabilities": append([]string{}, offer.Capabilities...)}
		if offer.Events != nil {
			offered["events"] = offer.Events
		}
		if offer.Limits != nil {
			offered["limits"] = offer.Limits
		}
		own := "set"
		if offer.Oracle {
			own, choices = "oracle", "oracle"
		}
		if len(s.plugs) > 1 {
			offered["choices"] = own
		}
		maps.Copy(readings, offer.Readings)
		transports = append(transports, sockets(plug)...)
		isServing = isServing && len(sockets(plug)) > 0
		protocols[plug.Protocol] = offered
	}
	first := s.plugs[0].Implementation.Offer()
	hello := map[string]any{
		"protocol": 1, "name": first.Name, "version": first.Version, "language": "go " + strings.TrimPrefix(runtime.Version(), "go"),
		"protocols": protocols, "choices": choices,
	}
	if len(readings) > 0 {
		hello["readings"] = readings
	}
	if isServing { // the list is for all protocols
		slices.Sort(transports)
		hello["sockets"] = slices.Compact(transports)
	}
	return hello
}

// choose asks for a random choice among the different options in their order; returns the indices among those that were given. A
// single option is no question.
func (s *server) choose(site, kind string, among []any, some int) []int {
	var plain []any
	unmarshal(marshal(among), &plain)
	options, places := inOrder(plain)
	if len(options) < 2 {
		return places
	}
	s.asked++
	question := object{"for": s.id, "n": s.asked, "kind": kind, "site": site, "of": options}
	if kind == "sample" {
		question["some"] = some
	}
	picked := []int{}
	for _, at := range s.answer(question) {
		picked = append(picked, places[at])
	}
	return picked
}

// inOrder returns the different options in the order of their numbers, or of the bytes of their texts, and where each one stood.
// Other options stay in their order.
func inOrder(among []any) (options []any, places []int) {
	seen := map[string]bool{}
	for at, option := range among {
		if shown := string(marshal(option)); !seen[shown] {
			seen[shown] = true
			places = append(places, at)
		}
	}
	slices.SortStableFunc(places, func(one, other int) int { return compareOptions(among[one], among[other]) })
	for _, at := range places {
		options = append(options, among[at])
	}
	return options, places
}

func compareOptions(one, other any) int {
	_, isNumber := one.(json.Number)
	_, both := other.(json.Number)
	if isNumber && both {
		return integer(one).Cmp(integer(other))
	}
	return strings.Compare(contentOf(one), contentOf(other))
}

// contentOf returns the bytes of a text in plain form; none of anything else.
func contentOf(option any) string {
	if shown, isObject := option.(object); isObject && len(shown) == 1 {
		digits, _ := shown["hex"].(string)
		content, _ := hex.DecodeString(digits)
		return string(content)
	}
	content, _ := option.(string)
	return content
}

// plug returns the plug of the protocol that the request names.
func (s *server) plug(asked *request) Plug {
	var name string
	err := json.Unmarshal(asked.Protocol, &name)
	at := slices.IndexFunc(s.plugs, func(plug Plug) bool { return plug.Protocol == name })
	if err != nil || at < 0 {
		panic(Unsupported(fmt.Sprintf("there is no protocol %s here", asked.Protocol)))
	}
	return s.plugs[at]
}

func (asked *request) datagram() []byte {
	if asked.Bytes == nil {
		panic(AdapterError{"bad_request", "there are no bytes"})
	}
	data, err := hex.DecodeString(*asked.Bytes)
	if err != nil {
		panic(AdapterError{"bad_request", err.Error()})
	}
	return data
}

// trace returns the stack of a panic, without the frames of the runtime that come first, and those of this package.
func trace(stack string) string {
	_, frames, _ := strings.Cut(stack, "\npanic(")
	lines := strings.Split(strings.TrimSpace(frames), "\n")
	end := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, ".(*server).") })
	if end < 0 {
		end = len(lines)
	}
	return strings.Join(lines[min(2, end):end], "\n")
}

func problem(code, what string) map[string]any {
	return map[string]any{"error": map[string]string{"code": code, "message": what}}
}

// rejection returns why a message is rejected; nil if it is not.
func rejection(err error) *Rejected {
	var rejected *Rejected
	if err != nil && !errors.As(err, &rejected) {
		return &Rejected{Class: "other", Message: err.Error()}
	}
	return rejected
}

func either(name string, value any, err error) map[string]any {
	if rejected := rejection(err); rejected != nil {
		return map[string]any{"rejected": rejected}
	}
	return map[string]any{name: value}
}

func (one *served) reacted(reaction Reaction) map[string]any {
	effects := []any{}
	for _, effect := range reaction.Effects {
		switch {
		case effect.Stream != nil:
			effects = append(effects, map[string]any{"stream": effect.Stream})
		case effect.Event != nil:
			effects = append(effects, map[string]any{"event": effect.Event})
		default:
			sent := map[string]any{"via": one.transport, "to": effect.To, "bytes": hex.EncodeToString(effect.Datagram)}
			effects = append(effects, map[string]any{"send": sent})
		}
	}
	reply := map[string]any{"effects": effects, "next_timer_ms": reaction.NextTimer}
	if reaction.Refused != nil {
		reply["refused"] = reaction.Refused
	}
	return reply
}
