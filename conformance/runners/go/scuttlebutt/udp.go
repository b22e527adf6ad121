package scuttlebutt

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	vectors "peerproof.example/vectors"
)

// maxDatagram is the size of the largest datagram there can be.
const maxDatagram = 1 << 16

// Sockets lists the transports on which this implementation runs nodes.
func (Implementation) Sockets() []string { return []string{"udp"} }

// Serve starts a node on a UDP socket.
func (Implementation) Serve(listening vectors.Listening) (vectors.Node, map[string]string, error) {
	if !slices.Equal(listening.Via, []string{"udp"}) {
		panic(vectors.Unsupported(fmt.Sprintf("scuttlebutt comes over udp, not over %v", listening.Via)))
	}
	at, err := netip.ParseAddrPort(listening.Bind)
	if err != nil {
		return nil, nil, err
	}
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, nil, err
	}
	self := socket.LocalAddr().String()
	addr, err := json.Marshal(self)
	must(err)
	made := &running{socket: socket, began: time.Now()}
	made.life = &life{opening: vectors.Opening{Addr: addr, Config: listening.Config}, choose: chooseAtRandom}
	made.life.begin(0, nil)
	made.timer = time.AfterFunc(time.Hour, func() { made.step(made.life.Advance) })
	made.step(made.life.Advance) // sets the timer
	go made.read()
	return made, map[string]string{"udp": self}, nil
}

// chooseAtRandom picks one option, or an order of all.
func chooseAtRandom(_, kind string, options []any, _ int) []int {
	if kind == "one" {
		return []int{rand.Intn(len(options))}
	}
	return rand.Perm(len(options))
}

// running is a node on a UDP socket and the machine's clock. The runner, the socket and the timer each have a goroutine.
type running struct {
	vectors.OnSockets
	mutex  sync.Mutex
	life   *life
	socket *net.UDPConn
	timer  *time.Timer
	began  time.Time
	events []vectors.Effect // of which the runner has not heard yet
	isOver bool
}

// read handles datagrams until the socket is closed.
func (r *running) read() {
	buffer := make([]byte, maxDatagram)
	for {
		size, from, err := r.socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		sender, err := json.Marshal(from.String())
		must(err)
		r.step(func(now int64) vectors.Reaction { return r.life.Receive(now, sender, buffer[:size]) })
	}
}

// step lets the node handle an event after all that is due, sends what it wants to send, and sets the timer again.
func (r *running) step(event func(now int64) vectors.Reaction) vectors.Reaction {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now := time.Since(r.began).Milliseconds()
	due, done := r.life.Advance(now), event(now)
	for _, effect := range append(due.Effects, done.Effects...) {
		if effect.Event != nil {
			r.events = append(r.events, effect)
			continue
		}
		// A datagram that cannot be sent is lost like any other, also one to what is no address.
		if to, err := netip.ParseAddrPort(string(effect.To.(Text))); err == nil {
			_, _ = r.socket.WriteToUDPAddrPort(effect.Datagram, to)
		}
	}
	if !r.isOver {
		r.timer.Reset(time.Duration(*done.NextTimer-now) * time.Millisecond)
	}
	return done
}

// told returns the events since the last one, and the answer to a call.
func (r *running) told(refused *vectors.Rejected) vectors.Reaction {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	events := r.events
	r.events = nil
	return vectors.Reaction{Effects: events, Refused: refused}
}

func (r *running) Advance(int64) vectors.Reaction { return r.told(nil) }

func (r *running) Call(_ int64, name string, args json.RawMessage) vectors.Reaction {
	return r.told(r.step(func(now int64) vectors.Reaction { return r.life.Call(now, name, args) }).Refused)
}

func (r *running) Query(name string, args json.RawMessage) any {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.life.Query(name, args)
}

// Close leaves without a word; the address is free.
func (r *running) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.isOver = true
	r.timer.Stop()
	return r.socket.Close()
}
