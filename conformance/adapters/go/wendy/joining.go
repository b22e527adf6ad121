package wendy

import "slices"

// join asks to be let in by a contact; it returns the class of a refusal. [W-45, WA-59]
func (n *node) join(contact string) string {
	switch {
	case n.stage == left:
		return "left"
	case n.stage != alone && n.stage != joining || n.contact != "":
		return "not_alone"
	case slices.Contains(n.own, contact):
		return "own_node"
	}
	n.stage, n.contact = joining, contact
	n.sendTo(contact, NodeJoin, nil)
	return ""
}

// onJoin sends tables to the joiner, and the join on. [W-48…W-50, WA-35, WA-36, WA-47]
func (n *node) onJoin(message Message) {
	joiner := message.Header.Sender
	_, goesOn := n.nextHop(joiner.ID, joiner.ID)
	isContact := message.Header.Hop == 1
	n.send(joiner, StateData, func(answer *Message) {
		answer.Tables = n.shown(true, !goesOn, isContact)
		answer.Destination = !goesOn
	})
	n.forwardJoin(message, false)
}

// forwardJoin sends a join to its next hop. If it is sent once more and there is none, this node is the destination. [WA-33]
func (n *node) forwardJoin(message Message, isAgain bool) {
	joiner := message.Header.Sender
	next, goesOn := n.nextHop(joiner.ID, joiner.ID)
	switch {
	case goesOn:
		addr := n.addressOf(next)
		n.output = append(n.output, func() any { return sent{addr, message} })
	case isAgain:
		n.send(joiner, StateData, func(answer *Message) {
			answer.Tables, answer.Destination = n.shown(false, true, false), true
		})
	}
}

// onStateData applies tables; the mark of a destination starts the wait of a joiner. [W-51…W-59, WA-37, WA-61]
func (n *node) onStateData(message Message) {
	sender := message.Header.Sender
	n.applyTables(message)
	if message.Tables.RoutingTable != nil {
		for _, one := range n.repairs { // [WA-71]
			one.answered(sender.ID)
		}
	}
	if message.Destination && n.stage == joining {
		n.stage = waiting
		n.timers.announce = after(n.now, 2*n.config.NetworkTimeout)
	}
}

func (n *node) applyTables(message Message) {
	sender := message.Header.Sender
	if sender.ID != n.self.ID && !n.departed[sender.ID] {
		n.store(sender.ID, message.Header.Versions)
	}
	n.considerTables(sender, message.Tables)
}

// onRace applies the tables of a warning, and leads to another announcement. [W-65, WA-44, WA-67]
func (n *node) onRace(message Message) {
	n.applyTables(message)
	if n.stage == joined {
		n.isWarned = true
		n.announceAgain()
	}
}

// announceAgain announces this node again, if it was warned and its last announcement is over. [WA-67]
func (n *node) announceAgain() {
	if n.isWarned && len(n.announcing) == 0 && n.stage == joined {
		n.announce()
	}
}

// announce sends the own tables to all known nodes, each with its versions. [W-60, W-61]
func (n *node) announce() {
	if n.stage != joined {
		n.stage = joined
		n.notify(map[string]any{"name": "joined"})
	}
	n.isWarned = false
	for _, one := range n.known() {
		versions := n.stored[one.ID]
		n.announcing = append(n.announcing, n.addressOf(one))
		n.send(one, NodeAnnouncement, func(message *Message) {
			message.Header.Versions, message.Tables = versions, n.shown(true, true, true)
		})
	}
}

// onAnnouncement warns an announcer that has missed something, or takes it in. [W-64, W-66, WA-41, WA-43]
func (n *node) onAnnouncement(message Message) {
	sender, said := message.Header.Sender, message.Header.Versions
	delete(n.departed, sender.ID)
	own := n.versions
	if own.RoutingTable > said.RoutingTable || own.LeafSet > said.LeafSet || own.NeighborhoodSet > said.NeighborhoodSet {
		n.send(sender, NodeRace, func(warning *Message) { warning.Tables = n.shown(true, true, true) })
		return
	}
	n.considerTables(sender, message.Tables)
	if !n.isPassedOver(sender) {
		n.notify(map[string]any{"name": "node_joined", "node": sender})
	}
}
