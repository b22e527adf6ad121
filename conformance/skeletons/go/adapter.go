package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"runtime"
	"runtime/debug"
	"strings"
)

const (
	name      = "my-node"
	version   = "0.1.0"
	protocol  = "scuttlebutt"
	transport = "udp"
)

// request has the members of all ops; an op leaves those empty that it does not use.
type request struct {
	ID       json.RawMessage `json:"id"`
	Op       string          `json:"op"`
	Protocol json.RawMessage `json:"protocol"` // a name; in hello, the least and the highest version
	Value    Message         `json:"value"`
	Bytes    octets          `json:"bytes"`
	Addr     any             `json:"addr"`
	Config   map[string]any  `json:"config"`
	Seed     string          `json:"seed"`
	Handle   int             `json:"handle"`
	Now      int64           `json:"now_ms"`
	From     any             `json:"from"`
	To       any             `json:"to"`
	TookUS   *int64          `json:"took_us"`
	Name     string          `json:"name"`
	Args     map[string]any  `json:"args"`
	What     string          `json:"what"`
	Items    []*request      `json:"items"`
	State    map[string]any  `json:"state"`
	Timers   []Timer         `json:"timers"`
	Conn     string          `json:"conn"`
	Event    string          `json:"event"`
}

// octets are written as hexadecimal digits; nil if there are none, not even an empty string.
type octets []byte

func (o *octets) UnmarshalText(digits []byte) error {
	*o = make([]byte, hex.DecodedLen(len(digits)))
	_, err := hex.Decode(*o, digits)
	return err
}

type reply map[string]any

// trouble says that the adapter cannot carry out a request; the code is one of the adapter protocol's error codes.
type trouble struct {
	code    string
	message string
}

func (t trouble) Error() string { return t.message }

func (t trouble) plain() reply { return reply{"code": t.code, "message": t.message} }

// life has the node of a handle, nil after a crash, and how it was opened.
type life struct {
	addr    any
	config  map[string]any
	seed    string
	choices *Choices
	node    *Node
}

func (l *life) birth(config map[string]any, now int64) Birth {
	return Birth{l.addr, config, l.seed, now, l.choices}
}

func (l *life) begin(config map[string]any, now int64) (reply, error) {
	effects := &Effects{}
	node, err := NewNode(l.birth(config, now), effects)
	l.node = node
	return outcome(node, effects, err)
}

// adapter answers requests. Nodes share nothing but the adapter.
type adapter struct {
	lives   map[int]*life
	opened  int
	choices *Choices
	ops     map[string]func(*request) (reply, error)
}

func newAdapter(choices *Choices) *adapter {
	a := &adapter{lives: map[int]*life{}, choices: choices}
	a.ops = map[string]func(*request) (reply, error){
		"hello":   a.hello,
		"encode":  a.encode,
		"decode":  a.decode,
		"open":    a.open,
		"load":    a.load,
		"recv":    a.recv,
		"advance": a.advance,
		"call":    a.call,
		"sent":    a.sent,
		"stream":  a.stream,
		"query":   a.query,
		"crash":   a.crash,
		"restart": a.restart,
		"close":   a.close,
		"batch":   a.batch,
		"bye":     func(*request) (reply, error) { return reply{}, nil },
	}
	return a
}

// answer returns the reply without its id. Every request gets a reply, even if the implementation panics.
func (a *adapter) answer(r *request) (answered reply) {
	defer func() {
		cause := recover()
		if found, is := cause.(trouble); is {
			answered = reply{"error": found.plain()}
		} else if cause != nil {
			log.Printf("panic: %v\n%s", cause, debug.Stack())
			answered = reply{"error": trouble{"panic", fmt.Sprint(cause)}.plain()}
		}
	}()
	if r.ID != nil { // also an item of a batch, if it may ask
		a.choices.begin(r.ID)
	}
	op, known := a.ops[r.Op]
	if !known {
		return reply{"error": trouble{"unknown_op", "there is no op " + r.Op}.plain()}
	}
	answered, err := op(r)
	var found trouble
	switch {
	case err == nil:
		answered["ok"] = true
		return answered
	case errors.As(err, &found):
		return reply{"error": found.plain()}
	case errors.Is(err, ErrNotWritten):
		return reply{"error": trouble{"unsupported", err.Error()}.plain()}
	default:
		return reply{"error": trouble{"internal", err.Error()}.plain()}
	}
}

// hello returns the name of the implementation, and its capabilities.
func (a *adapter) hello(r *request) (reply, error) {
	var versions [2]int
	if err := json.Unmarshal(r.Protocol, &versions); err != nil {
		return nil, trouble{"bad_request", err.Error()}
	}
	if versions[0] > 1 || versions[1] < 1 {
		return nil, trouble{"version", fmt.Sprintf("this adapter speaks version 1, not %v", versions)}
	}
	capabilities := append(append(append([]string{}, codecCapabilities...), eventCapabilities...), queryCapabilities...)
	return reply{
		"protocol":  1,
		"name":      name,
		"version":   version,
		"language":  "go " + strings.TrimPrefix(runtime.Version(), "go"),
		"protocols": reply{protocol: reply{"capabilities": capabilities}},
		"choices":   choices,
	}, nil
}

func (a *adapter) encode(r *request) (reply, error) {
	if err := ours(r); err != nil {
		return nil, err
	}
	data, err := Encode(r.Value)
	return reply{"bytes": hex.EncodeToString(data)}, err
}

// decode decodes a message. Malformed bytes are a result, not an error.
func (a *adapter) decode(r *request) (reply, error) {
	if err := ours(r); err != nil {
		return nil, err
	}
	if r.Bytes == nil {
		return nil, trouble{"bad_request", "there are no bytes"}
	}
	message, err := Decode(r.Bytes)
	if malformed := (*Malformed)(nil); errors.As(err, &malformed) {
		return reply{"rejected": reply{"class": malformed.Reason, "message": malformed.Detail}}, nil
	}
	return reply{"value": message}, err
}

func (a *adapter) open(r *request) (reply, error) {
	l, err := a.conceive(r)
	if err != nil {
		return nil, err
	}
	begun, err := l.begin(r.Config, r.Now)
	return a.keep(l, begun, err)
}

// load loads a node with a state.
func (a *adapter) load(r *request) (reply, error) {
	l, err := a.conceive(r)
	if err != nil {
		return nil, err
	}
	l.node, err = LoadNode(l.birth(r.Config, r.Now), r.State, r.Timers)
	begun, err := outcome(l.node, &Effects{}, err)
	return a.keep(l, begun, err)
}

// conceive returns the node of a request that opens one; it has not started yet.
func (a *adapter) conceive(r *request) (*life, error) {
	if err := ours(r); err != nil {
		return nil, err
	}
	if r.Addr == nil {
		return nil, trouble{"bad_request", "a node needs an address"}
	}
	return &life{addr: r.Addr, config: r.Config, seed: r.Seed, choices: a.choices}, nil
}

// keep gives a started node its handle, and returns the reply.
func (a *adapter) keep(l *life, begun reply, err error) (reply, error) {
	if err != nil {
		return nil, err
	}
	a.opened++
	a.lives[a.opened] = l
	begun["handle"] = a.opened
	return begun, nil
}

// recv handles a message; a malformed one is dropped.
func (a *adapter) recv(r *request) (reply, error) {
	node, err := a.running(r)
	if err != nil {
		return nil, err
	}
	effects := &Effects{}
	err = node.Receive(r.From, r.Bytes, r.Now, effects)
	if malformed := (*Malformed)(nil); errors.As(err, &malformed) {
		log.Printf("dropped a message: %v", err)
		err = nil
	}
	return outcome(node, effects, err)
}

func (a *adapter) advance(r *request) (reply, error) {
	node, err := a.running(r)
	if err != nil {
		return nil, err
	}
	effects := &Effects{}
	return outcome(node, effects, node.Advance(r.Now, effects))
}

// call handles a call of the application, which may be refused.
func (a *adapter) call(r *request) (reply, error) {
	node, err := a.running(r)
	if err != nil {
		return nil, err
	}
	effects := &Effects{}
	err = node.Call(r.Name, r.Args, r.Now, effects)
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		answered, _ := outcome(node, effects, nil)
		answered["refused"] = reply{"class": refused.Reason, "message": refused.Detail}
		return answered, nil
	}
	return outcome(node, effects, err)
}

// sent handles the outcome of a message that the node sent.
func (a *adapter) sent(r *request) (reply, error) {
	node, err := a.running(r)
	if err != nil {
		return nil, err
	}
	effects := &Effects{}
	return outcome(node, effects, node.Settle(r.To, r.Bytes, r.TookUS, r.Now, effects))
}

// stream handles an event of a connection that a peer opened.
func (a *adapter) stream(r *request) (reply, error) {
	node, err := a.running(r)
	if err != nil {
		return nil, err
	}
	effects := &Effects{}
	err = node.OnConnection(r.Conn, r.Event, r.Bytes, r.Now, effects)
	if malformed := (*Malformed)(nil); errors.As(err, &malformed) {
		log.Printf("dropped a message: %v", err)
		err = nil
	}
	return outcome(node, effects, err)
}

func (a *adapter) query(r *request) (reply, error) {
	node, err := a.running(r)
	if err != nil {
		return nil, err
	}
	value, err := Answer(node, r.What, r.Args)
	return reply{"value": value}, err
}

// crash crashes a node; its handle stays valid.
func (a *adapter) crash(r *request) (reply, error) {
	l, err := a.behind(r)
	if err != nil {
		return nil, err
	}
	l.node = nil
	return reply{}, nil
}

// restart starts a crashed node again; the configuration has what a real node keeps on disk.
func (a *adapter) restart(r *request) (reply, error) {
	l, err := a.behind(r)
	if err != nil {
		return nil, err
	}
	config := map[string]any{}
	for _, part := range []map[string]any{l.config, r.Config} {
		for member, value := range part {
			config[member] = value
		}
	}
	return l.begin(config, r.Now)
}

func (a *adapter) close(r *request) (reply, error) {
	if _, err := a.behind(r); err != nil {
		return nil, err
	}
	delete(a.lives, r.Handle)
	return reply{}, nil
}

// batch answers several requests of one line.
func (a *adapter) batch(r *request) (reply, error) {
	results := make([]reply, len(r.Items))
	for index, item := range r.Items {
		results[index] = a.answer(item)
	}
	return reply{"results": results}, nil
}

// behind returns what the request's handle stands for.
func (a *adapter) behind(r *request) (*life, error) {
	if l, known := a.lives[r.Handle]; known {
		return l, nil
	}
	return nil, trouble{"no_handle", fmt.Sprintf("there is no handle %d", r.Handle)}
}

func (a *adapter) running(r *request) (*Node, error) {
	l, err := a.behind(r)
	if err != nil {
		return nil, err
	}
	if l.node == nil {
		return nil, trouble{"no_handle", fmt.Sprintf("the node of handle %d has crashed", r.Handle)}
	}
	return l.node, nil
}

// ours returns an error if the request is about another protocol.
func ours(r *request) error {
	var asked string
	if err := json.Unmarshal(r.Protocol, &asked); err != nil || asked != protocol {
		return trouble{"unsupported", fmt.Sprintf("there is no %s here", r.Protocol)}
	}
	return nil
}

// outcome returns the effects of a node, and the time of its next timer.
func outcome(node *Node, effects *Effects, err error) (reply, error) {
	if err != nil {
		return nil, err
	}
	done := effects.done
	if done == nil {
		done = []any{}
	}
	return reply{"effects": done, "next_timer_ms": node.NextTimer}, nil
}
