package wendy

import "slices"

// nextHop returns the node that a message with a key goes to, if it does not end here; one node can be left out. [W-39…W-44]
func (n *node) nextHop(key, without ID) (next Node, goesOn bool) {
	own := n.self.ID
	if key == own { // [WA-14]
		return next, false
	}
	isLeftOut := isOf(without)
	if without == own {
		isLeftOut = func(Node) bool { return false }
	}
	leftSide := slices.DeleteFunc(slices.Clone(n.left), isLeftOut)
	rightSide := slices.DeleteFunc(slices.Clone(n.right), isLeftOut)
	leaves := concat(leftSide, rightSide)
	isCloser := func(one Node) bool { return n.ring.isCloser(key, one.ID, own) }
	isWithin := len(rightSide) > 0 && n.isBetween(own, key, rightSide[len(rightSide)-1].ID) ||
		len(leftSide) > 0 && n.isBetween(leftSide[len(leftSide)-1].ID, key, own)
	if isWithin {
		return n.closest(key, leaves)
	}
	start := cell{n.ring.prefix(own, key), 0}
	if one, isOccupied := n.cells[n.cellOf(key)]; isOccupied && !isLeftOut(one) {
		return one, true
	}
	others := slices.DeleteFunc(n.inCells(start.row, Rows-1), isLeftOut)
	if at := slices.IndexFunc(others, isCloser); at >= 0 {
		return others[at], true
	}
	return n.closest(key, leaves) // [WA-08]
}

// isBetween says whether an id is on the way clockwise from one to another, ends included.
func (n *node) isBetween(from, id, to ID) bool {
	return !n.ring.clockwise(from, to).isLess(n.ring.clockwise(from, id))
}

// closest returns the closest of some nodes, if it is closer than this one.
func (n *node) closest(key ID, nodes []Node) (best Node, isCloser bool) {
	best = n.self
	for _, one := range nodes {
		if n.ring.isCloser(key, one.ID, best.ID) {
			best = one
		}
	}
	return best, best.ID != n.self.ID
}

// route delivers a message, or sends it on. [W-37, WA-58]
func (n *node) route(message Message, isConsulted bool) {
	next, goesOn := n.nextHop(message.Header.Key, n.self.ID)
	if !goesOn {
		n.output = append(n.output, func() any {
			return map[string]any{"name": "delivered", "message": n.shownMessage(message)}
		})
		return
	}
	n.output = append(n.output, func() any {
		return map[string]any{"name": "forwarding", "message": n.shownMessage(message), "next_hop": next}
	})
	if !isConsulted {
		n.pass(message, n.addressOf(next))
	}
}

// pass sends a message of an application on; one of this node has its versions.
func (n *node) pass(message Message, addr string) {
	n.output = append(n.output, func() any { return sent{addr, n.current(message)} })
}

func (n *node) current(message Message) Message {
	if message.Header.Sender.ID == n.self.ID && message.isNew {
		message.Header.Versions = n.versions
	}
	return message
}

func (n *node) shownMessage(message Message) map[string]any {
	message = n.current(message)
	return map[string]any{"header": message.Header, "purpose": message.Purpose, "value": message.Value}
}

// forward sends a message on that the application was asked about. [WA-58]
func (n *node) forward(message Message) {
	next, goesOn := n.nextHop(message.Header.Key, n.self.ID)
	if goesOn {
		n.pass(message, n.addressOf(next))
		return
	}
	n.route(message, false)
}
