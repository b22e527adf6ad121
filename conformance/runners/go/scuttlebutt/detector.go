package scuttlebutt

import (
	"math/big"
	"slices"
)

// DetectorConfig configures the failure detector: intervals remembered, milliseconds, and thousandths of phi. [BA-28, BA-29]
type DetectorConfig struct {
	Window    int   `json:"window"`
	Bootstrap int64 `json:"bootstrap"`
	Critical  int64 `json:"critical"`
	Down      int64 `json:"down"`
}

// liveness is what the failure detector knows of a peer.
type liveness struct {
	IsDown     bool
	Last       int64
	Intervals  []int64 // the oldest first
	DigestSent *int64
}

// oneByLn10 is 1/ln 10 in units of 10^-13.
const oneByLn10, unit = 4_342_944_819_033, 10_000_000_000_000

// watch opens the window of a new peer. [BA-29]
func (n *Node) watch(now int64, addr string) {
	if detector := n.config.Detector; detector != nil {
		n.liveness[addr] = &liveness{Last: now, Intervals: []int64{detector.Bootstrap}}
	}
}

// heartbeat notes a sign of life, and returns the round-trip time if a digest was answered. [BA-23, BA-30]
func (n *Node) heartbeat(now int64, addr string) *int64 {
	known := n.liveness[addr]
	if known == nil {
		return nil
	}
	known.Intervals = append(known.Intervals, max(0, now-known.Last))
	known.Intervals = known.Intervals[max(0, len(known.Intervals)-n.config.Detector.Window):]
	known.Last = now
	sent := known.DigestSent
	known.DigestSent = nil
	if sent == nil {
		return nil
	}
	roundTrip := max(0, now-*sent)
	return &roundTrip
}

// exceeds returns whether phi is above a threshold; a mean below a millisecond counts as one. [BA-28]
func (known *liveness) exceeds(now, thousandths int64) bool {
	count, total := int64(len(known.Intervals)), int64(0)
	for _, interval := range known.Intervals {
		total += interval
	}
	return product(max(0, now-known.Last), count, oneByLn10, 1000).Cmp(product(thousandths, max(total, count), unit)) > 0
}

func product(factors ...int64) *big.Int {
	result := big.NewInt(1)
	for _, factor := range factors {
		result.Mul(result, big.NewInt(factor))
	}
	return result
}

// critical returns the peers whose silence is critical. [B-19]
func (n *Node) critical(now int64) []string {
	return slices.DeleteFunc(n.watched(), func(addr string) bool { return !n.liveness[addr].exceeds(now, n.config.Detector.Critical) })
}

// judge sets the status of each other peer. [B-20]
func (n *Node) judge(now int64) {
	for _, addr := range n.watched() {
		known := n.liveness[addr]
		if isDown := known.exceeds(now, n.config.Detector.Down); isDown != known.IsDown {
			known.IsDown = isDown
			n.notify(Event{Name: map[bool]string{true: "down", false: "up"}[isDown], Peer: addr})
		}
	}
}

func (n *Node) watched() []string { return sortedKeys(n.liveness) }
