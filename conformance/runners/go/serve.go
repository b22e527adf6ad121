package vectors

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// request has the members of all requests to adapters.
type request struct {
	ID            json.RawMessage
	Op            string
	Case, Node    string
	Addr, Config  json.RawMessage
	Seed          string
	State, Timers json.RawMessage
	Handle        int
	Now           int64 `json:"now_ms"`
	From, To      json.RawMessage
	Bytes         string
	Value         json.RawMessage
	Name, What    string
	Args          json.RawMessage
	Took          *int64 `json:"took_us"`
	Conn, Event   string
	Choice        struct{ Pick []int }
	Protocol      json.RawMessage
}

// server answers the requests of adapter protocol 1 for an implementation.
type server struct {
	bundle   *Bundle
	subject  Implementation
	requests *bufio.Reader
	replies  *json.Encoder
	nodes    []Node
	id       json.RawMessage
	asked    int
}

// Serve makes an adapter of an implementation, so that `peerproof run`, `fuzz` and `doctor` can test the same one. Of the bundle
// it takes the names of the protocol and of its transport.
func Serve(bundle *Bundle, implementation Implementation, requests io.Reader, replies io.Writer) error {
	s := &server{bundle: bundle, subject: implementation, requests: bufio.NewReader(requests), replies: json.NewEncoder(replies)}
	for {
		asked, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.id, s.asked = asked.ID, 0
		reply := s.answer(asked)
		reply["id"] = asked.ID
		if err := s.replies.Encode(reply); err != nil || asked.Op == "bye" {
			return err
		}
	}
}

func (s *server) next() (request, error) {
	line, err := s.requests.ReadBytes('\n')
	if err != nil {
		return request{}, err
	}
	var asked request
	return asked, json.Unmarshal(line, &asked)
}

func (s *server) answer(asked request) (reply map[string]any) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case Unsupported:
			reply = problem("unsupported", string(raised))
		default:
			reply = problem("panic", fmt.Sprint(raised))
		}
	}()
	switch asked.Op {
	case "hello":
		return s.hello()
	case "bye", "close":
		return map[string]any{"ok": true}
	case "decode":
		message, err := s.subject.Decode(unhex(asked.Bytes))
		return either("value", message, err)
	case "encode":
		datagram, err := s.subject.Encode(asked.Value)
		return either("bytes", hex.EncodeToString(datagram), err)
	case "open", "load":
		opening := Opening{asked.Case, asked.Node, asked.Seed, asked.Addr, asked.Config, asked.State, asked.Timers}
		node, reaction := s.subject.Open(opening, s.choose)
		s.nodes = append(s.nodes, node)
		reply = s.reacted(reaction)
		reply["handle"] = len(s.nodes)
		return reply
	}
	if asked.Handle < 1 || asked.Handle > len(s.nodes) {
		return problem("no_handle", "there is no such node, or no such op")
	}
	return s.ofNode(asked, s.nodes[asked.Handle-1])
}

func (s *server) ofNode(asked request, node Node) map[string]any {
	switch asked.Op {
	case "recv":
		return s.reacted(node.Receive(asked.Now, asked.From, unhex(asked.Bytes)))
	case "advance":
		return s.reacted(node.Advance(asked.Now))
	case "call":
		return s.reacted(node.Call(asked.Now, asked.Name, asked.Args))
	case "query":
		return map[string]any{"ok": true, "value": node.Query(asked.What, asked.Args)}
	case "crash":
		node.Crash()
		return map[string]any{"ok": true}
	case "restart":
		return s.reacted(node.Restart(asked.Now, asked.Config))
	case "sent":
		return s.reacted(node.Sent(asked.Now, asked.To, unhex(asked.Bytes), asked.Took))
	case "stream":
		event := newObject("conn", asked.Conn, "event", asked.Event)
		if asked.Event == "data" {
			event.set("bytes", asked.Bytes)
		}
		return s.reacted(node.Stream(asked.Now, json.RawMessage(text(event))))
	}
	return problem("unknown_op", "there is no op "+asked.Op)
}

func (s *server) hello() map[string]any {
	offer, choices := s.subject.Offer(), "set"
	if offer.Oracle {
		choices = "oracle"
	}
	offered := map[string]any{"capabilities": offer.Capabilities}
	if offer.Events != nil {
		offered["events"] = offer.Events
	}
	if offer.Limits != nil {
		offered["limits"] = offer.Limits
	}
	return map[string]any{
		"ok": true, "protocol": 1, "name": s.bundle.Protocol + "-go", "version": "1.0.0", "language": "Go",
		"protocols": map[string]any{s.bundle.Protocol: offered}, "choices": choices,
	}
}

// choose asks the runner in the middle of a request.
func (s *server) choose(site, kind string, options []any, some int) []int {
	s.asked++
	question := map[string]any{"for": s.id, "n": s.asked, "kind": kind, "site": site, "of": options}
	if kind == "sample" {
		question["some"] = some
	}
	if err := s.replies.Encode(map[string]any{"choice": question}); err != nil {
		panic(err)
	}
	asked, err := s.next()
	if err != nil {
		panic(err)
	}
	return asked.Choice.Pick
}

func problem(code, what string) map[string]any {
	return map[string]any{"error": map[string]string{"code": code, "message": what}}
}

func either(name string, value any, err error) map[string]any {
	if rejected := rejection(err); rejected != nil {
		return map[string]any{"ok": true, "rejected": rejected}
	}
	return map[string]any{"ok": true, name: value}
}

func (s *server) reacted(reaction Reaction) map[string]any {
	effects := []any{}
	for _, effect := range reaction.Effects {
		switch {
		case effect.Stream != nil:
			effects = append(effects, map[string]any{"stream": effect.Stream})
		case effect.Event != nil:
			effects = append(effects, map[string]any{"event": effect.Event})
		default:
			sent := map[string]any{"via": s.bundle.Run.Transport, "to": effect.To, "bytes": hex.EncodeToString(effect.Datagram)}
			effects = append(effects, map[string]any{"send": sent})
		}
	}
	reply := map[string]any{"ok": true, "effects": effects, "next_timer_ms": reaction.NextTimer}
	if reaction.Refused != nil {
		reply["refused"] = reaction.Refused
	}
	return reply
}
