package wendy

import (
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"peerproof.example/adapters/strictjson"
)

// The largest sizes, and how deep JSON may nest. [WA-52, WA-63, WA-66]
const (
	MaxMessage     = 1 << 20
	MaxValue       = 1 << 19
	MaxCredentials = 1 << 10
	MaxText        = 255
	MaxDepth       = 64
)

// Decode reads a message; an error is a *Malformed. [WA-63]
func Decode(datagram []byte) (message Message, err error) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *Malformed:
			message, err = Message{}, raised
		default:
			panic(raised)
		}
	}()
	if len(datagram) > MaxMessage {
		fail("too_large", "a message has at most 2^20 bytes")
	}
	return readMessage(parseObject(datagram)), nil
}

func fail(class, what string) { panic(&Malformed{Class: class, What: what}) }

func parseObject(text []byte) strictjson.Object {
	value, err := strictjson.Parse(text, MaxDepth)
	if problem := (*strictjson.Error)(nil); errors.As(err, &problem) {
		panic(&Malformed{problem.Class, problem.Offset, problem.What})
	}
	object, isObject := value.(strictjson.Object)
	if !isObject {
		fail("bad_type", "this is not an object")
	}
	return object
}

func readMessage(shown strictjson.Object) Message {
	for _, name := range []string{"Purpose", "Sender", "Key"} {
		if shown.Get(name) == nil {
			fail("bad_value", name+" is missing")
		}
	}
	message := Message{
		Purpose: Purpose(readNumber(shown, "Purpose", math.MaxUint8)),
		Header: Header{
			Sender: readNode(shown.Get("Sender")),
			Key:    readID(shown, "Key"),
			Versions: Versions{
				RoutingTable:    Version(readNumber(shown, "RTVersion", math.MaxUint64)),
				LeafSet:         Version(readNumber(shown, "LSVersion", math.MaxUint64)),
				NeighborhoodSet: Version(readNumber(shown, "NSVersion", math.MaxUint64)),
			},
			Credentials: readBytes(shown, "Credentials", MaxCredentials),
			Hop:         int(readNumber(shown, "Hop", math.MaxInt32)),
		},
	}
	value := readBytes(shown, "Value", MaxValue)
	switch {
	case message.Purpose.HasTables():
		tables := parseObject(value)
		isDestination := read[bool](tables, "eol")
		message.Tables = readTables(tables)
		message.Destination = isDestination && message.Purpose == StateData
	case message.Purpose.HasMask():
		message.Mask = readMask(parseObject(value))
	case message.Purpose >= Application:
		message.Value = value
	}
	return message
}

// read returns a member of some type; the zero value if it is missing or null.
func read[T any](object strictjson.Object, name string) (content T) {
	value := object.Get(name)
	if value == nil {
		return content
	}
	content, fits := value.(T)
	if !fits {
		fail("bad_type", name+" is of another type")
	}
	return content
}

func readNumber(object strictjson.Object, name string, most uint64) uint64 {
	if object.Get(name) == nil {
		return 0
	}
	return integer(read[strictjson.Number](object, name), name, most)
}

func integer(number strictjson.Number, name string, most uint64) uint64 {
	if !number.IsInteger() {
		fail("bad_value", name+" is not an integer")
	}
	value, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil && number != "-0" || value > most {
		fail("bad_value", name+" is out of range")
	}
	return value
}

// readBytes reads base64; nil if it is missing or null.
func readBytes(object strictjson.Object, name string, most int) Bytes {
	if object.Get(name) == nil {
		return nil
	}
	text := read[string](object, name)
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which the decoder would skip
		fail("bad_value", name+" is not base64")
	}
	if len(content) > most {
		fail("too_large", name+" is too large")
	}
	return content
}

func readID(object strictjson.Object, name string) ID {
	id, err := ParseID(read[string](object, name))
	if err != nil {
		fail("bad_value", name+": "+err.Error())
	}
	return id
}

// readNode reads a node that is there.
func readNode(value any) Node {
	shown, isObject := value.(strictjson.Object)
	if !isObject {
		fail("bad_type", "a node is not an object")
	}
	return Node{
		ID:       readID(shown, "ID"),
		LocalIP:  readText(shown, "LocalIP"),
		GlobalIP: readText(shown, "GlobalIP"),
		Port:     int(readNumber(shown, "Port", math.MaxUint16)),
		Region:   readText(shown, "Region"),
	}
}

// readText reads a host or a region. [WA-52]
func readText(object strictjson.Object, name string) string {
	text := read[string](object, name)
	if writtenSize(text) > MaxText {
		fail("too_large", name+" is too long")
	}
	return text
}

// writtenSize is the number of bytes that a string takes in a message, without its quotes.
func writtenSize(text string) int { return len(strictjson.AppendString(nil, text)) - 2 }

func readTables(shown strictjson.Object) *Tables {
	tables := &Tables{}
	if shown.Get("rt") != nil {
		tables.RoutingTable = []Cell{}
		for row, cells := range places(shown.Get("rt"), Rows) {
			for column, node := range places(cells, Columns) {
				if node != nil {
					tables.RoutingTable = append(tables.RoutingTable, Cell{row, column, readNode(node)})
				}
			}
		}
	}
	if shown.Get("ls") != nil {
		sides := append(places(shown.Get("ls"), 2), nil, nil)
		tables.LeafSet = &LeafSet{readNodes(sides[0], LeafSetSide), readNodes(sides[1], LeafSetSide)}
	}
	if shown.Get("ns") != nil {
		tables.NeighborhoodSet = readNodes(shown.Get("ns"), NeighborhoodSize)
	}
	return tables
}

// places returns the items of an array that has some places; what exceeds them is not looked at. [WA-63]
func places(value any, most int) []any {
	if value == nil {
		return nil
	}
	items, isArray := value.([]any)
	if !isArray {
		fail("bad_type", "a table is not an array")
	}
	return items[:min(len(items), most)]
}

func readNodes(value any, most int) []Node {
	nodes := []Node{}
	for _, node := range places(value, most) {
		if node != nil {
			nodes = append(nodes, readNode(node))
		}
	}
	return nodes
}

func readMask(shown strictjson.Object) *Mask {
	bits := readNumber(shown, "Mask", math.MaxUint8)
	return &Mask{
		RoutingTable:    bits&1 != 0,
		LeafSet:         bits&2 != 0,
		NeighborhoodSet: bits&4 != 0,
		Rows:            readNumbers(shown, "Rows", Rows-1),
		Columns:         readNumbers(shown, "Cols", Columns-1),
	}
}

// readNumbers reads a set of numbers, in any order and perhaps twice.
func readNumbers(object strictjson.Object, name string, most uint64) []int {
	numbers := []int{}
	for _, item := range read[[]any](object, name) {
		number, isNumber := item.(strictjson.Number)
		if !isNumber {
			fail("bad_type", name+" is not a list of numbers")
		}
		numbers = append(numbers, int(integer(number, name, most)))
	}
	return ascending(numbers)
}

// ascending returns a set of numbers in the one order that it has.
func ascending(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
