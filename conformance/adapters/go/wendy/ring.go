package wendy

import (
	"encoding/binary"
	"math/bits"
)

// number is an id, or a distance, as an integer of 128 bits.
type number struct{ high, low uint64 }

func numberOf(id ID) number {
	return number{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])}
}

func (n number) isLess(other number) bool {
	return n.high < other.high || n.high == other.high && n.low < other.low
}

func (n number) minus(other number) number {
	low, borrow := bits.Sub64(n.low, other.low, 0)
	high, _ := bits.Sub64(n.high, other.high, borrow)
	return number{high, low}
}

// mask has the lowest bits set.
func mask(size int) number {
	if size > 64 {
		return number{1<<(size-64) - 1, 1<<64 - 1}
	}
	return number{0, 1<<size - 1}
}

// Ring says how ids are read: as so many digits of so many bits. [W-02, W-14]
type Ring struct {
	Digits    int `json:"digits"`
	DigitBits int `json:"digit_bits"`
}

func (r Ring) size() int { return r.Digits * r.DigitBits }

// clockwise is the way from one id to another in the direction of greater ids. [WA-02]
func (r Ring) clockwise(from, to ID) number {
	way, all := numberOf(to).minus(numberOf(from)), mask(r.size())
	return number{way.high & all.high, way.low & all.low}
}

// distance is the shorter of both ways.
func (r Ring) distance(one, other ID) number {
	way, back := r.clockwise(one, other), r.clockwise(other, one)
	if back.isLess(way) {
		return back
	}
	return way
}

// isRight says whether an id is greater than the own: not farther than the opposite one. [WA-03, WA-04]
func (r Ring) isRight(own, id ID) bool {
	return !r.clockwise(id, own).isLess(r.clockwise(own, id))
}

// isCloser says which of two ids is closer to a key; of two that are equally far it is the one below. [WA-09]
func (r Ring) isCloser(key, one, other ID) bool {
	distance, rest := r.distance(key, one), r.distance(key, other)
	if distance != rest {
		return distance.isLess(rest)
	}
	return one != other && r.clockwise(one, key) == distance
}

// digit returns a digit of an id; digit 0 is the most significant.
func (r Ring) digit(id ID, at int) int {
	digit := 0
	for bit := r.size() - (at+1)*r.DigitBits + r.DigitBits - 1; bit >= r.size()-(at+1)*r.DigitBits; bit-- {
		digit = digit<<1 | int(id[15-bit/8]>>(bit%8)&1)
	}
	return digit
}

// prefix is how many leading digits two ids share.
func (r Ring) prefix(one, other ID) int {
	at := 0
	for at < r.Digits && r.digit(one, at) == r.digit(other, at) {
		at++
	}
	return at
}
