package wendy

import (
	"cmp"
	"slices"
)

// repair is the search for a node for an empty cell. [W-19…W-22, WA-26]
type repair struct {
	asked   int // the row that was asked last
	waiting []ID
	due     *int64
}

func (r *repair) answered(id ID) {
	r.waiting = slices.DeleteFunc(r.waiting, func(other ID) bool { return other == id })
}

// onDeparture takes a node out of all tables, and begins to repair them. [WA-25, WA-28, WA-30]
func (n *node) onDeparture(id ID) {
	gone, isKnown := n.find(id)
	if !isKnown {
		return
	}
	isGone := isOf(id)
	n.remember(id)
	for _, one := range n.repairs {
		one.answered(id)
	}
	n.notify(map[string]any{"name": "node_exited", "node": gone})

	place := n.cellOf(id)
	if present, isOccupied := n.cells[place]; isOccupied && present.ID == id {
		delete(n.cells, place)
		count(&n.versions.RoutingTable)
		n.repairs[place] = &repair{asked: place.row - 1}
		n.advanceRepairs()
	}
	isLeaf := false
	for _, side := range []*[]Node{&n.left, &n.right} {
		if !slices.ContainsFunc(*side, isGone) {
			continue
		}
		isLeaf = true
		*side = slices.DeleteFunc(slices.Clone(*side), isGone)
		if some := len(*side); some > 0 {
			n.ask((*side)[some-1], &Mask{LeafSet: true}, id)
		}
	}
	if isLeaf {
		count(&n.versions.LeafSet)
	}
	if slices.ContainsFunc(n.neighbors, isGone) {
		n.neighbors = slices.DeleteFunc(slices.Clone(n.neighbors), isGone)
		count(&n.versions.NeighborhoodSet)
		for _, one := range n.neighbors {
			n.ask(one, &Mask{NeighborhoodSet: true}, n.self.ID)
		}
	}
}

// remember keeps a node as departed; of too many the farthest is forgotten.
func (n *node) remember(id ID) {
	n.departed[id] = true
	if len(n.departed) <= maxDeparted {
		return
	}
	farthest := id
	for other := range n.departed {
		if n.ring.isCloser(n.self.ID, farthest, other) {
			farthest = other
		}
	}
	delete(n.departed, farthest)
}

func (n *node) ask(helper Node, mask *Mask, key ID) {
	n.send(helper, NodeRepair, func(message *Message) { message.Mask, message.Header.Key = mask, key })
}

// advanceRepairs goes on with all repairs, in the order of their cells. [WA-71]
func (n *node) advanceRepairs() {
	for _, place := range n.repairedCells() {
		n.advanceRepair(place, n.repairs[place])
	}
}

func (n *node) repairedCells() []cell {
	places := []cell{}
	for place := range n.repairs {
		places = append(places, place)
	}
	slices.SortFunc(places, func(one, other cell) int {
		return cmp.Compare(one.row*Columns+one.column, other.row*Columns+other.column)
	})
	return places
}

func (n *node) advanceRepair(place cell, one *repair) {
	if _, isOccupied := n.cells[place]; isOccupied {
		delete(n.repairs, place)
		return
	}
	if len(one.waiting) > 0 {
		return
	}
	one.due = nil
	for id := range n.measured {
		if n.cellOf(id) == place {
			return
		}
	}
	for one.asked++; one.asked < n.ring.Digits; one.asked++ {
		helpers := n.inCells(one.asked, one.asked)
		if len(helpers) == 0 {
			continue
		}
		for _, helper := range helpers {
			one.waiting = append(one.waiting, helper.ID)
			n.ask(helper, &Mask{RoutingTable: true, Rows: []int{place.row}, Columns: []int{place.column}}, n.self.ID)
		}
		one.due = after(n.now, n.config.NetworkTimeout)
		return
	}
	delete(n.repairs, place)
}
