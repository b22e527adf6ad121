package distkv

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"
)

// A Value is one of nil, bool, uint64, int64 (only below zero), float64, string, []byte, List, Map and Extension. [DA-92]
type Value any

// List is a list of values.
type List []Value

// Pair is a key of a map, and what stands there.
type Pair struct{ Key, Value Value }

// Map has its pairs in the order in which they are written.
type Map []Pair

// Extension is a value of a type of which nothing is known.
type Extension struct {
	Type int8
	Data []byte
}

// MaxDepth is how deep lists and maps may nest. [DA-92]
const MaxDepth = 64

// sorted returns a map in the one order that it has, that of the encodings of its keys; no key may stand twice.
func sorted(pairs Map) Map {
	type coded struct {
		key  []byte
		pair Pair
	}
	all := make([]coded, len(pairs))
	for at, pair := range pairs {
		w := &writer{}
		w.value(pair.Key, MaxDepth)
		all[at] = coded{w.done, pair}
	}
	slices.SortFunc(all, func(one, other coded) int { return bytes.Compare(one.key, other.key) })
	for at, one := range all {
		if at > 0 && bytes.Equal(one.key, all[at-1].key) {
			fail("bad_value", "a key of a map stands twice")
		}
		pairs[at] = one.pair
	}
	return pairs
}

// reader reads MessagePack in any width.
type reader struct {
	data []byte
	at   int
}

func (r *reader) take(size uint64) []byte {
	if size > uint64(len(r.data)-r.at) {
		fail("truncated", "the bytes end too early")
	}
	r.at += int(size)
	return r.data[r.at-int(size) : r.at]
}

// unsigned reads an integer of so many bytes.
func (r *reader) unsigned(size uint64) uint64 {
	var number uint64
	for _, one := range r.take(size) {
		number = number<<8 | uint64(one)
	}
	return number
}

// signed reads an integer of so many bytes in two's complement.
func (r *reader) signed(size uint64) Value {
	unused := 64 - 8*size
	number := int64(r.unsigned(size)<<unused) >> unused
	if number < 0 {
		return number
	}
	return uint64(number)
}

// value reads a value; lists and maps may nest so deep.
func (r *reader) value(depth int) Value {
	head := r.take(1)[0]
	switch {
	case head <= 0x7f:
		return uint64(head)
	case head <= 0x8f:
		return r.pairs(uint64(head&0x0f), depth)
	case head <= 0x9f:
		return r.list(uint64(head&0x0f), depth)
	case head <= 0xbf:
		return r.text(uint64(head & 0x1f))
	case head >= 0xe0:
		return int64(int8(head))
	}
	switch head {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return head == 0xc3
	case 0xc4, 0xc5, 0xc6:
		return slices.Clone(r.take(r.unsigned(1 << (head - 0xc4))))
	case 0xc7, 0xc8, 0xc9:
		return r.extension(r.unsigned(1 << (head - 0xc7)))
	case 0xca:
		return float64(math.Float32frombits(uint32(r.unsigned(4))))
	case 0xcb:
		return math.Float64frombits(r.unsigned(8))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return r.unsigned(1 << (head - 0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return r.signed(1 << (head - 0xd0))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return r.extension(1 << (head - 0xd4))
	case 0xd9, 0xda, 0xdb:
		return r.text(r.unsigned(1 << (head - 0xd9)))
	case 0xdc, 0xdd:
		return r.list(r.unsigned(2<<(head-0xdc)), depth)
	case 0xde, 0xdf:
		return r.pairs(r.unsigned(2<<(head-0xde)), depth)
	}
	fail("bad_type", "the byte c1 begins no value")
	return nil
}

func (r *reader) text(size uint64) Value {
	content := r.take(size)
	if !utf8.Valid(content) {
		fail("bad_value", "a string is not UTF-8")
	}
	return string(content)
}

func (r *reader) extension(size uint64) Value {
	kind := int8(r.unsigned(1))
	return Extension{kind, slices.Clone(r.take(size))}
}

func (r *reader) list(size uint64, depth int) Value {
	if depth == 0 {
		fail("too_large", "lists and maps nest too deep")
	}
	items := List{}
	for ; size > 0; size-- {
		items = append(items, r.value(depth-1))
	}
	return items
}

func (r *reader) pairs(size uint64, depth int) Value {
	if depth == 0 {
		fail("too_large", "lists and maps nest too deep")
	}
	pairs := Map{}
	for ; size > 0; size-- {
		key := r.value(depth - 1)
		pairs = append(pairs, Pair{key, r.value(depth - 1)})
	}
	return pairs
}

// canonical returns a value with all its maps in their one order; no key of them may stand twice. [DA-92]
func canonical(value Value) Value {
	switch value := value.(type) {
	case List:
		for at := range value {
			value[at] = canonical(value[at])
		}
	case Map:
		for at := range value {
			value[at] = Pair{canonical(value[at].Key), canonical(value[at].Value)}
		}
		return sorted(value)
	}
	return value
}

// writer writes the canonical encoding: the shortest header, floats in eight bytes. [DA-29]
type writer struct{ done []byte }

// number appends the low bytes of a number, the most significant first.
func (w *writer) number(number uint64, size int) {
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], number)
	w.done = append(w.done, all[8-size:]...)
}

// sized writes the first of the heads whose size, of 1, 2, 4 and 8 bytes, is enough for a number; a head of 0 is none.
func (w *writer) sized(number uint64, heads ...byte) {
	for at, head := range heads {
		size := 1 << at
		if head != 0 && (size == 8 || number < 1<<(8*size)) {
			w.done = append(w.done, head)
			w.number(number, size)
			return
		}
	}
	fail("too_large", "there is no header for such a size")
}

// header writes the size of a string, list or map: in its first byte, if it is below a limit.
func (w *writer) header(size int, small byte, limit int, heads ...byte) {
	if size < limit {
		w.done = append(w.done, small|byte(size))
		return
	}
	w.sized(uint64(size), heads...)
}

// value writes a value; lists and maps may nest so deep.
func (w *writer) value(value Value, depth int) {
	switch value := value.(type) {
	case nil:
		w.done = append(w.done, 0xc0)
	case bool:
		w.done = append(w.done, map[bool]byte{false: 0xc2, true: 0xc3}[value])
	case uint64:
		if value <= 0x7f {
			w.done = append(w.done, byte(value))
			return
		}
		w.sized(value, 0xcc, 0xcd, 0xce, 0xcf)
	case int64:
		w.negative(value)
	case float64:
		if math.IsNaN(value) {
			value = math.Float64frombits(0x7ff8 << 48) // all that are not a number are one
		}
		w.done = append(w.done, 0xcb)
		w.number(math.Float64bits(value), 8)
	case string:
		w.header(len(value), 0xa0, 32, 0xd9, 0xda, 0xdb)
		w.done = append(w.done, value...)
	case []byte:
		w.sized(uint64(len(value)), 0xc4, 0xc5, 0xc6)
		w.done = append(w.done, value...)
	case Extension:
		w.extension(value)
	case List:
		w.deeper(depth)
		w.header(len(value), 0x90, 16, 0, 0xdc, 0xdd)
		for _, item := range value {
			w.value(item, depth-1)
		}
	case Map:
		w.deeper(depth)
		w.header(len(value), 0x80, 16, 0, 0xde, 0xdf)
		for _, pair := range value {
			w.value(pair.Key, depth-1)
			w.value(pair.Value, depth-1)
		}
	}
}

func (w *writer) deeper(depth int) {
	if depth == 0 {
		fail("too_large", "lists and maps nest too deep")
	}
}

func (w *writer) negative(value int64) {
	switch {
	case value >= -32:
		w.done = append(w.done, byte(value))
	case value >= math.MinInt8:
		w.done = append(w.done, 0xd0)
		w.number(uint64(value), 1)
	case value >= math.MinInt16:
		w.done = append(w.done, 0xd1)
		w.number(uint64(value), 2)
	case value >= math.MinInt32:
		w.done = append(w.done, 0xd2)
		w.number(uint64(value), 4)
	default:
		w.done = append(w.done, 0xd3)
		w.number(uint64(value), 8)
	}
}

func (w *writer) extension(value Extension) {
	if at := slices.Index([]int{1, 2, 4, 8, 16}, len(value.Data)); at >= 0 {
		w.done = append(w.done, 0xd4+byte(at))
	} else {
		w.sized(uint64(len(value.Data)), 0xc7, 0xc8, 0xc9)
	}
	w.done = append(append(w.done, byte(value.Type)), value.Data...)
}
