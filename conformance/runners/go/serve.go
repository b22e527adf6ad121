package vectors

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
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
	plugs    []Plug
	requests *bufio.Reader
	replies  *json.Encoder
	nodes    map[int]*served
	opened   int
	id       json.RawMessage
	asked    int
}

// Serve makes an adapter of an implementation, so that `peerproof run`, `fuzz` and `doctor` can test the same one, until the
// request bye or the end of the requests. The transport is udp, tcp or serf, as the protocol has it.
func Serve(protocol, transport string, implementation Implementation, requests io.Reader, replies io.Writer) error {
	return ServeAll([]Plug{{Protocol: protocol, Transport: transport, Implementation: implementation}}, requests, replies)
}

// ServeAll makes one adapter of the implementations of several protocols. Its name and version are those of the first.
func ServeAll(plugs []Plug, requests io.Reader, replies io.Writer) error {
	s := &server{
		plugs: plugs, requests: bufio.NewReader(requests), replies: json.NewEncoder(replies), nodes: map[int]*served{},
	}
	for {
		line, err := s.requests.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var asked request
		reply := problem("bad_request", "this line is no request")
		if err := json.Unmarshal(line, &asked); err == nil {
			reply = s.answer(&asked)
		}
		reply["id"] = asked.ID
		if err := s.replies.Encode(reply); err != nil || asked.Op == "bye" {
			return err
		}
	}
}

// answer returns the reply to a request, without its id. There is one even if the implementation panics.
func (s *server) answer(asked *request) (reply map[string]any) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case Unsupported:
			reply = problem("unsupported", string(raised))
		case AdapterError:
			reply = problem(raised.Code, raised.Message)
		default:
			log.Printf("panic: %v\n%s", raised, strings.Join(frames(string(debug.Stack())), "\n"))
			reply = problem("panic", fmt.Sprint(raised))
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
			results = append(results, s.answer(item))
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
		event := newObject("conn", asked.Conn, "event", asked.Event)
		if asked.Bytes != nil {
			event.set("bytes", *asked.Bytes)
		}
		return one.reacted(node.Stream(asked.Now, json.RawMessage(text(event))))
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

// choose asks the runner in the middle of a request.
func (s *server) choose(site, kind string, among []any, some int) []int {
	return chooseInOrder(kind, among, some, func(options []any, some int) []int {
		s.asked++
		shown := []json.RawMessage{}
		for _, option := range options {
			shown = append(shown, json.RawMessage(text(option)))
		}
		question := map[string]any{"for": s.id, "n": s.asked, "kind": kind, "site": site, "of": shown}
		if kind == "sample" {
			question["some"] = some
		}
		if err := s.replies.Encode(map[string]any{"choice": question}); err != nil {
			panic(err)
		}
		var answer request
		line, err := s.requests.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &answer)
		}
		if err != nil {
			panic(AdapterError{"internal", fmt.Sprintf("no answer to a choice: %v", err)})
		}
		return answer.Choice.Pick
	})
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

func problem(code, what string) map[string]any {
	return map[string]any{"error": map[string]string{"code": code, "message": what}}
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
