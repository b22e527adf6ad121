package vectors

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Adapter is an Implementation behind a program that speaks adapter protocol 1 (docs/how-to/write-an-adapter.md).
type Adapter struct {
	bundle   *Bundle
	offer    Offer
	program  *exec.Cmd
	requests io.Writer
	replies  *bufio.Reader
	count    int
	choose   Choose
}

// reply has the members of all replies of adapters.
type reply struct {
	Error     *struct{ Code, Message string }
	Choice    *question
	Handle    json.RawMessage
	Bytes     string
	Value     json.RawMessage
	Rejected  *Rejected
	Refused   *Rejected
	Effects   []adapterEffect
	NextTimer *int64 `json:"next_timer_ms"`
	Choices   string
	Protocols map[string]struct {
		Capabilities, Events []string
		Limits               map[string]int64
	}
}

type question struct {
	For, N     json.RawMessage
	Kind, Site string
	Of         []any
	Some       int
}

type adapterEffect struct {
	Send *struct {
		To    json.RawMessage
		Bytes string
	}
	Event, Stream json.RawMessage
}

// NewAdapter starts an adapter for the vectors of a bundle.
func NewAdapter(bundle *Bundle, program string, arguments ...string) (*Adapter, error) {
	a := &Adapter{bundle: bundle, program: exec.Command(program, arguments...)}
	a.program.Stderr = os.Stderr
	requests, err := a.program.StdinPipe()
	if err != nil {
		return nil, err
	}
	replies, err := a.program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.requests, a.replies = requests, bufio.NewReader(replies)
	if err := a.program.Start(); err != nil {
		return nil, err
	}
	hello := a.ask("hello", map[string]any{"protocol": []int{1, 1}, "runner": "go", "vectors": "", "choices": []string{"oracle", "set"}})
	offered := hello.Protocols[bundle.Protocol]
	a.offer = Offer{offered.Capabilities, offered.Events, offered.Limits, hello.Choices == "oracle"}
	return a, nil
}

// Close ends the adapter.
func (a *Adapter) Close() error {
	a.ask("bye", map[string]any{})
	return a.program.Wait()
}

// ask sends a request, answers the adapter's questions, and returns its reply.
func (a *Adapter) ask(op string, members map[string]any) reply {
	a.count++
	members["id"], members["op"] = a.count, op
	a.write(members)
	for {
		line, err := a.replies.ReadBytes('\n')
		if err != nil {
			panic(fmt.Errorf("the adapter has ended: %w", err))
		}
		var got reply
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&got); err != nil {
			panic(fmt.Errorf("%w in %s", err, line))
		}
		if asked := got.Choice; asked != nil {
			picked := a.choose(asked.Site, asked.Kind, asked.Of, asked.Some)
			a.write(map[string]any{"choice": map[string]any{"for": asked.For, "n": asked.N, "pick": picked}})
			continue
		}
		if got.Error == nil {
			return got
		}
		switch got.Error.Code {
		case "unsupported":
			panic(Unsupported(got.Error.Message))
		case "panic":
			panic(got.Error.Message)
		}
		fail("error", "reply to "+op, "an answer", got.Error.Message)
	}
}

func (a *Adapter) write(message any) {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = a.requests.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

func (a *Adapter) Offer() Offer { return a.offer }

func (a *Adapter) Decode(datagram []byte) (any, error) {
	got := a.ask("decode", map[string]any{"protocol": a.bundle.Protocol, "bytes": hex.EncodeToString(datagram)})
	if got.Rejected != nil {
		return nil, got.Rejected
	}
	return got.Value, nil
}

func (a *Adapter) Encode(message json.RawMessage) ([]byte, error) {
	got := a.ask("encode", map[string]any{"protocol": a.bundle.Protocol, "value": message})
	if got.Rejected != nil {
		return nil, got.Rejected
	}
	return unhex(got.Bytes), nil
}

func (a *Adapter) Open(opening Opening, choose Choose) (Node, Reaction) {
	a.choose = choose
	op, request := "open", map[string]any{
		"case": opening.Case, "node": opening.Name, "protocol": a.bundle.Protocol, "addr": opening.Addr, "now_ms": 0,
		"config": opening.Config, "seed": opening.Seed,
	}
	if opening.State != nil {
		op, request["state"], request["timers"] = "load", opening.State, opening.Timers
	}
	got := a.ask(op, request)
	return &adapterNode{a, got.Handle}, got.reaction()
}

func (got reply) reaction() Reaction {
	shown := Reaction{NextTimer: got.NextTimer, Refused: got.Refused}
	for _, effect := range got.Effects {
		switch {
		case effect.Send != nil:
			shown.Effects = append(shown.Effects, Effect{To: effect.Send.To, Datagram: unhex(effect.Send.Bytes)})
		case effect.Stream != nil:
			shown.Effects = append(shown.Effects, Effect{Stream: effect.Stream})
		default:
			shown.Effects = append(shown.Effects, Effect{Event: effect.Event})
		}
	}
	return shown
}

type adapterNode struct {
	adapter *Adapter
	handle  json.RawMessage
}

func (n *adapterNode) act(op string, now int64, members map[string]any) Reaction {
	members["handle"], members["now_ms"] = n.handle, now
	return n.adapter.ask(op, members).reaction()
}

func (n *adapterNode) Receive(now int64, from json.RawMessage, datagram []byte) Reaction {
	return n.act("recv", now, map[string]any{"via": n.adapter.bundle.Run.Transport, "from": from, "bytes": hex.EncodeToString(datagram)})
}

func (n *adapterNode) Advance(now int64) Reaction {
	return n.act("advance", now, map[string]any{})
}

func (n *adapterNode) Call(now int64, name string, args json.RawMessage) Reaction {
	return n.act("call", now, map[string]any{"name": name, "args": args})
}

func (n *adapterNode) Query(name string, args json.RawMessage) any {
	request := map[string]any{"handle": n.handle, "what": name}
	if args != nil {
		request["args"] = args
	}
	return n.adapter.ask("query", request).Value
}

func (n *adapterNode) Crash() {
	n.adapter.ask("crash", map[string]any{"handle": n.handle})
}

func (n *adapterNode) Restart(now int64, config json.RawMessage) Reaction {
	return n.act("restart", now, map[string]any{"config": config})
}

func (n *adapterNode) Sent(now int64, to json.RawMessage, datagram []byte, took *int64) Reaction {
	return n.act("sent", now, map[string]any{"to": to, "bytes": hex.EncodeToString(datagram), "took_us": took})
}

func (n *adapterNode) Stream(now int64, event json.RawMessage) Reaction {
	members := map[string]any{}
	for _, name := range parse(event).(object).names {
		members[name] = parse(event).(object).values[name]
	}
	return n.act("stream", now, members)
}
