package wendy

import (
	"math"
	"slices"
)

// cell is a place in a routing table.
type cell struct{ row, column int }

// cellOf is where a node belongs in the own routing table. [W-15, W-16]
func (n *node) cellOf(id ID) cell {
	row := n.ring.prefix(n.self.ID, id)
	return cell{row, n.ring.digit(id, row)}
}

// scoreOf is how long a request to a node takes; an unknown score is the worst. [WA-16]
func (n *node) scoreOf(id ID) int64 {
	if score, known := n.scores[id]; known {
		return score
	}
	return math.MaxInt64
}

// concat returns a new list of the nodes of all lists.
func concat(lists ...[]Node) []Node {
	nodes := []Node{}
	for _, list := range lists {
		nodes = append(nodes, list...)
	}
	return nodes
}

func isOf(id ID) func(one Node) bool { return func(one Node) bool { return one.ID == id } }

// insert tries a node in all three tables. [WA-69]
func (n *node) insert(one Node) {
	n.insertLeaf(one)
	n.insertCell(one)
	n.insertNeighbor(one)
}

func count(version *Version) {
	if *version < math.MaxUint64 {
		*version++
	}
}

// insertCell tries a node in its cell: a better score replaces the node that is there. [W-18, WA-17]
func (n *node) insertCell(one Node) {
	place := n.cellOf(one.ID)
	present, isOccupied := n.cells[place]
	if isOccupied && (present.ID == one.ID || n.scoreOf(one.ID) >= n.scoreOf(present.ID)) {
		return
	}
	n.cells[place] = one
	count(&n.versions.RoutingTable)
}

// insertLeaf tries a node in the leaf set. [W-25…W-29, WA-05]
func (n *node) insertLeaf(one Node) {
	isRight := n.ring.isRight(n.self.ID, one.ID)
	changed := false
	if isRight || n.config.IsTwoSided {
		changed = n.insertSide(&n.right, one, func(id ID) number { return n.ring.clockwise(n.self.ID, id) })
	}
	if !isRight || n.config.IsTwoSided {
		changed = n.insertSide(&n.left, one, func(id ID) number { return n.ring.clockwise(id, n.self.ID) }) || changed
	}
	if changed {
		count(&n.versions.LeafSet)
	}
}

func (n *node) insertSide(side *[]Node, one Node, distance func(id ID) number) bool {
	if slices.ContainsFunc(*side, isOf(one.ID)) {
		return false
	}
	at := slices.IndexFunc(*side, func(other Node) bool { return distance(one.ID).isLess(distance(other.ID)) })
	if at < 0 {
		at = len(*side)
	}
	if at >= n.config.LeafSetSide {
		return false
	}
	*side = slices.Insert(slices.Clone(*side), at, one)
	*side = (*side)[:min(len(*side), n.config.LeafSetSide)]
	return true
}

// insertNeighbor tries a node in the neighborhood set. [W-34]
func (n *node) insertNeighbor(one Node) {
	at := n.placeOf(one)
	if slices.ContainsFunc(n.neighbors, isOf(one.ID)) || at >= n.config.NeighborhoodSet {
		return
	}
	n.neighbors = slices.Insert(slices.Clone(n.neighbors), at, one)
	n.neighbors = n.neighbors[:min(len(n.neighbors), n.config.NeighborhoodSet)]
	count(&n.versions.NeighborhoodSet)
}

// moveNeighbor moves a node with a new score to its place, if it is in the neighborhood set. [WA-22]
func (n *node) moveNeighbor(one Node) {
	some := len(n.neighbors)
	n.neighbors = slices.DeleteFunc(slices.Clone(n.neighbors), isOf(one.ID))
	if len(n.neighbors) < some {
		n.neighbors = slices.Insert(n.neighbors, n.placeOf(one), one)
	}
}

// placeOf is where a node belongs in the neighborhood set: behind those that have the same score. [W-33, WA-22]
func (n *node) placeOf(one Node) int {
	score := n.scoreOf(one.ID)
	at := slices.IndexFunc(n.neighbors, func(other Node) bool { return n.scoreOf(other.ID) > score })
	if at < 0 {
		return len(n.neighbors)
	}
	return at
}

// known returns all nodes in the tables, each once: leaves, cells in their order, neighbors.
func (n *node) known() []Node {
	nodes := []Node{}
	for _, one := range concat(n.left, n.right, n.inCells(0, Rows-1), n.neighbors) {
		if !slices.ContainsFunc(nodes, isOf(one.ID)) {
			nodes = append(nodes, one)
		}
	}
	return nodes
}

// inCells returns the nodes in some rows of the routing table, by row and column.
func (n *node) inCells(first, last int) []Node {
	nodes := []Node{}
	for row := first; row <= last; row++ {
		for column := 0; column < Columns; column++ {
			if one, isOccupied := n.cells[cell{row, column}]; isOccupied {
				nodes = append(nodes, one)
			}
		}
	}
	return nodes
}

func (n *node) find(id ID) (Node, bool) {
	nodes := n.known()
	if at := slices.IndexFunc(nodes, isOf(id)); at >= 0 {
		return nodes[at], true
	}
	return Node{}, false
}

// replaceRecord takes over what a node says of its own address, in all tables. [WA-68]
func (n *node) replaceRecord(one Node) {
	for _, table := range [][]Node{n.left, n.right, n.neighbors} {
		for at := range table {
			if table[at].ID == one.ID {
				table[at] = one
			}
		}
	}
	for place, present := range n.cells {
		if present.ID == one.ID {
			n.cells[place] = one
		}
	}
}

// shown returns some of the own tables, as they are sent.
func (n *node) shown(routingTable, leafSet, neighborhoodSet bool) *Tables {
	tables := &Tables{}
	if routingTable {
		tables.RoutingTable = n.shownCells(func(cell) bool { return true })
	}
	if leafSet {
		tables.LeafSet = &LeafSet{concat(n.left), concat(n.right)}
	}
	if neighborhoodSet {
		tables.NeighborhoodSet = concat(n.neighbors)
	}
	return tables
}

func (n *node) shownCells(isAsked func(place cell) bool) []Cell {
	cells := []Cell{}
	for row := 0; row < Rows; row++ {
		for column := 0; column < Columns; column++ {
			if one, isOccupied := n.cells[cell{row, column}]; isOccupied && isAsked(cell{row, column}) {
				cells = append(cells, Cell{row, column, one})
			}
		}
	}
	return cells
}
