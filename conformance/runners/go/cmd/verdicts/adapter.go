package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	vectors "peerproof.example/vectors"
)

const patience = 10 * time.Second // for a reply

// adapter is an implementation behind a program that speaks adapter protocol 1 (docs/how-to/write-an-adapter.md). The program is
// started again after it has ended.
type adapter struct {
	bundle   *vectors.Bundle
	command  []string
	offer    vectors.Offer
	program  *exec.Cmd // nil if it has ended
	requests io.Writer
	replies  *bufio.Reader
	count    int
	choose   vectors.Choose
}

// reply has the members of all replies of adapters.
type reply struct {
	Error     *struct{ Code, Message string }
	Choice    *question
	Handle    json.RawMessage
	Bytes     string
	Value     json.RawMessage
	Rejected  *vectors.Rejected
	Refused   *vectors.Rejected
	Effects   []adapterEffect
	NextTimer *int64 `json:"next_timer_ms"`
	Choices   string
	Readings  map[string]string
	Protocols map[string]struct {
		Capabilities, Events []string
		Limits               map[string]int64
		Choices              string
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

func (a *adapter) start() error {
	a.program = exec.Command(a.command[0], a.command[1:]...)
	a.program.Stderr = os.Stderr
	requests, err := a.program.StdinPipe()
	if err != nil {
		return err
	}
	replies, err := a.program.StdoutPipe()
	if err != nil {
		return err
	}
	a.requests, a.replies = requests, bufio.NewReader(replies)
	if err := a.program.Start(); err != nil {
		return err
	}
	hello := a.ask("hello", map[string]any{"protocol": []int{1, 1}, "runner": "go", "vectors": "", "choices": []string{"oracle", "set"}})
	offered := hello.Protocols[a.bundle.Protocol]
	choices := offered.Choices
	if choices == "" {
		choices = hello.Choices
	}
	a.offer = vectors.Offer{
		Capabilities: offered.Capabilities, Events: offered.Events, Limits: offered.Limits, Oracle: choices == "oracle",
		Readings: hello.Readings,
	}
	return nil
}

func (a *adapter) stop() {
	if a.program != nil {
		a.ask("bye", map[string]any{})
		_ = a.program.Wait()
	}
}

// ask sends a request, answers the adapter's questions, and returns its reply.
func (a *adapter) ask(op string, members map[string]any) reply {
	if a.program == nil {
		if err := a.start(); err != nil {
			panic(err)
		}
	}
	a.count++
	members["id"], members["op"] = a.count, op
	a.write(members)
	for {
		got := a.read()
		if asked := got.Choice; asked != nil {
			picked := a.choose(asked.Site, asked.Kind, asked.Of, asked.Some)
			a.write(map[string]any{"choice": map[string]any{"for": asked.For, "n": asked.N, "pick": picked}})
			continue
		}
		if got.Error == nil {
			return got
		}
		if got.Error.Code == "unsupported" {
			panic(vectors.Unsupported(got.Error.Message))
		}
		panic(vectors.AdapterError{Code: got.Error.Code, Message: got.Error.Message})
	}
}

// read returns the next line. A program that writes none in time is killed.
func (a *adapter) read() (got reply) {
	var isLate atomic.Bool
	program := a.program
	clock := time.AfterFunc(patience, func() {
		isLate.Store(true)
		_ = program.Process.Kill()
	})
	line, err := a.replies.ReadBytes('\n')
	clock.Stop()
	if err != nil {
		a.program = nil
		_ = program.Wait()
		code := map[bool]string{true: "timeout", false: "panic"}[isLate.Load()]
		panic(vectors.AdapterError{Code: code, Message: fmt.Sprintf("the adapter has ended: %v", program.ProcessState)})
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		panic(fmt.Errorf("%w in %s", err, line))
	}
	return got
}

func (a *adapter) write(message any) {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = a.requests.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

func (a *adapter) Offer() vectors.Offer { return a.offer }

func (a *adapter) Decode(datagram []byte) (any, error) {
	got := a.ask("decode", map[string]any{"protocol": a.bundle.Protocol, "bytes": hex.EncodeToString(datagram)})
	if got.Rejected != nil {
		return nil, got.Rejected
	}
	return got.Value, nil
}

func (a *adapter) Encode(message json.RawMessage) ([]byte, error) {
	got := a.ask("encode", map[string]any{"protocol": a.bundle.Protocol, "value": message})
	if got.Rejected != nil {
		return nil, got.Rejected
	}
	return unhex(got.Bytes), nil
}

func (a *adapter) Open(opening vectors.Opening, choose vectors.Choose) (vectors.Node, vectors.Reaction) {
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

func (got reply) reaction() vectors.Reaction {
	shown := vectors.Reaction{NextTimer: got.NextTimer, Refused: got.Refused}
	for _, effect := range got.Effects {
		switch {
		case effect.Send != nil:
			shown.Effects = append(shown.Effects, vectors.Effect{To: effect.Send.To, Datagram: unhex(effect.Send.Bytes)})
		case effect.Stream != nil:
			shown.Effects = append(shown.Effects, vectors.Effect{Stream: effect.Stream})
		default:
			shown.Effects = append(shown.Effects, vectors.Effect{Event: effect.Event})
		}
	}
	return shown
}

type adapterNode struct {
	adapter *adapter
	handle  json.RawMessage
}

func (n *adapterNode) act(op string, now int64, members map[string]any) vectors.Reaction {
	members["handle"], members["now_ms"] = n.handle, now
	return n.adapter.ask(op, members).reaction()
}

func (n *adapterNode) Receive(now int64, from json.RawMessage, datagram []byte) vectors.Reaction {
	return n.act("recv", now, map[string]any{"via": n.adapter.bundle.Run.Transport, "from": from, "bytes": hex.EncodeToString(datagram)})
}

func (n *adapterNode) Advance(now int64) vectors.Reaction {
	return n.act("advance", now, map[string]any{})
}

func (n *adapterNode) Call(now int64, name string, args json.RawMessage) vectors.Reaction {
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

func (n *adapterNode) Restart(now int64, config json.RawMessage) vectors.Reaction {
	return n.act("restart", now, map[string]any{"config": config})
}

func (n *adapterNode) Sent(now int64, to json.RawMessage, datagram []byte, took *int64) vectors.Reaction {
	return n.act("sent", now, map[string]any{"to": to, "bytes": hex.EncodeToString(datagram), "took_us": took})
}

func (n *adapterNode) Stream(now int64, event json.RawMessage) vectors.Reaction {
	members := map[string]any{}
	if err := json.Unmarshal(event, &members); err != nil {
		panic(err)
	}
	return n.act("stream", now, members)
}

func unhex(digits string) []byte {
	data, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return data
}
