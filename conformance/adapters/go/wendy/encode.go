package wendy

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"

	"peerproof.example/adapters/strictjson"
)

// Encode writes a message, as the original does, with the line feed that ends it; an error is a *Malformed. [WA-64, WA-65]
func Encode(message Message) (datagram []byte, err error) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *Malformed:
			datagram, err = nil, raised
		default:
			panic(raised)
		}
	}()
	header := &message.Header
	value := valueOf(message)
	if len(value) > MaxValue || len(header.Credentials) > MaxCredentials {
		fail("too_large", "a value has at most 2^19 bytes, credentials 2^10")
	}
	w := &writer{}
	w.integer(`{"Purpose":`, uint64(message.Purpose))
	w.word(`,"Sender":`)
	w.node(&header.Sender)
	w.text(`,"Key":`, header.Key.String())
	w.bytes(`,"Value":`, value)
	w.bytes(`,"Credentials":`, header.Credentials)
	w.integer(`,"LSVersion":`, uint64(header.Versions.LeafSet))
	w.integer(`,"RTVersion":`, uint64(header.Versions.RoutingTable))
	w.integer(`,"NSVersion":`, uint64(header.Versions.NeighborhoodSet))
	w.integer(`,"Hop":`, uint64(header.Hop))
	w.word("}\n")
	return w.done, nil
}

// valueOf returns the value of a message, not yet in base64.
func valueOf(message Message) Bytes {
	switch {
	case message.Purpose == NodeJoin && message.Header.Credentials != nil:
		return message.Header.Credentials
	case message.Purpose.HasTables():
		return tablesOf(message)
	case message.Purpose.HasMask():
		return maskOf(message.Mask)
	case message.Purpose >= Application:
		return message.Value
	}
	return Bytes{}
}

type writer struct{ done []byte }

func (w *writer) word(text string) { w.done = append(w.done, text...) }

func (w *writer) integer(name string, number uint64) {
	w.word(name)
	w.done = strconv.AppendUint(w.done, number, 10)
}

func (w *writer) text(name, content string) {
	if writtenSize(content) > MaxText {
		fail("too_large", "a host or region is too long")
	}
	w.word(name)
	w.done = strictjson.AppendString(w.done, content)
}

func (w *writer) bytes(name string, content Bytes) {
	w.word(name)
	if content == nil {
		w.word("null")
		return
	}
	w.word(`"` + base64.StdEncoding.EncodeToString(content) + `"`)
}

func (w *writer) node(node *Node) {
	if node == nil {
		w.word("null")
		return
	}
	w.text(`{"LocalIP":`, node.LocalIP)
	w.text(`,"GlobalIP":`, node.GlobalIP)
	w.integer(`,"Port":`, uint64(node.Port))
	w.text(`,"Region":`, node.Region)
	w.text(`,"ID":`, node.ID.String())
	w.word("}")
}

// list writes some items between brackets.
func (w *writer) list(name string, some int, item func(at int)) {
	w.word(name + "[")
	for at := 0; at < some; at++ {
		if at > 0 {
			w.word(",")
		}
		item(at)
	}
	w.word("]")
}

// nodes writes a table with all its places. [WA-65]
func (w *writer) nodes(name string, nodes []Node, some int) {
	if len(nodes) > some {
		fail("too_large", "a table has more nodes than places")
	}
	w.list(name, some, func(at int) {
		if at < len(nodes) {
			w.node(&nodes[at])
		} else {
			w.node(nil)
		}
	})
}

func tablesOf(message Message) Bytes {
	tables := message.Tables
	var members [][]byte
	member := func(write func(w *writer)) {
		w := &writer{}
		write(w)
		members = append(members, w.done)
	}
	if tables.RoutingTable != nil {
		member(func(w *writer) { w.routingTable(`"rt":`, tables.RoutingTable) })
	}
	if tables.LeafSet != nil {
		sides := [][]Node{tables.LeafSet.Left, tables.LeafSet.Right}
		member(func(w *writer) {
			w.list(`"ls":`, len(sides), func(at int) { w.nodes("", sides[at], LeafSetSide) })
		})
	}
	if tables.NeighborhoodSet != nil {
		member(func(w *writer) { w.nodes(`"ns":`, tables.NeighborhoodSet, NeighborhoodSize) })
	}
	if message.Destination {
		member(func(w *writer) { w.word(`"eol":true`) })
	}
	return []byte("{" + string(bytes.Join(members, []byte(","))) + "}")
}

func (w *writer) routingTable(name string, cells []Cell) {
	var nodes [Rows][Columns]*Node
	for at := range cells {
		nodes[cells[at].Row][cells[at].Column] = &cells[at].Node
	}
	w.list(name, Rows, func(row int) {
		w.list("", Columns, func(column int) { w.node(nodes[row][column]) })
	})
}

func maskOf(mask *Mask) Bytes {
	w, bits := &writer{}, uint64(0)
	for at, isSet := range []bool{mask.RoutingTable, mask.LeafSet, mask.NeighborhoodSet} {
		if isSet {
			bits |= 1 << at
		}
	}
	w.integer(`{"Mask":`, bits)
	w.numbers(`,"Rows":`, ascending(slices.Clone(mask.Rows)))
	w.numbers(`,"Cols":`, ascending(slices.Clone(mask.Columns)))
	w.word("}")
	return w.done
}

func (w *writer) numbers(name string, numbers []int) {
	if len(numbers) == 0 {
		w.word(name + "null")
		return
	}
	w.list(name, len(numbers), func(at int) { w.integer("", uint64(numbers[at])) })
}
