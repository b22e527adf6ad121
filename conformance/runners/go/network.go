package vectors

import "slices"

// network carries the messages of a cluster: each arrives after the same delay, unless the network is cut then.
type network struct {
	groups   [][]string // between which no message passes
	onTheWay []arrival  // the earliest first
}

type arrival struct {
	at      int64
	message *message
	to      any
}

// carry sends a message on its way; one to everybody to each node.
func (n *network) carry(s *script, sent *message) {
	receivers := []any{sent.to}
	if sent.to == s.bundle.Run.Everybody {
		receivers = nil
		for _, node := range s.nodes {
			receivers = append(receivers, node.Addr)
		}
	}
	for _, to := range receivers {
		n.onTheWay = append(n.onTheWay, arrival{s.now + s.vector.Delay, sent, to})
	}
}

// isDue returns whether a message arrives by then, and before the timer of a node.
func (n *network) isDue(until int64, first *actor) bool {
	return len(n.onTheWay) > 0 && n.onTheWay[0].at <= until && (first == nil || n.onTheWay[0].at < *first.nextTimer)
}

// arrive delivers the next message. Over connections the sender learns the outcome.
func (n *network) arrive(s *script) {
	next := n.onTheWay[0]
	n.onTheWay = n.onTheWay[1:]
	at := slices.IndexFunc(s.nodes, func(node *actor) bool { return fits(node.Addr, next.to) })
	arrives := at >= 0 && !s.nodes[at].isDown && !n.isCut(next.message.sender.Name, s.nodes[at].Name)
	if arrives {
		s.request(s.nodes[at], receive(s.trial, next.message.sender.Addr, next.message.bytes))
	}
	if s.bundle.Run.Transport == "tcp" && slices.Contains(s.unsettled, next.message) {
		took := any(nil)
		if arrives {
			took = s.vector.Delay * 1000
		}
		s.settle(next.message, took)
	}
}

// isCut returns whether two nodes are in different groups.
func (n *network) isCut(one, other string) bool {
	side := func(name string) int {
		return slices.IndexFunc(n.groups, func(group []string) bool { return slices.Contains(group, name) })
	}
	return side(one) >= 0 && side(other) >= 0 && side(one) != side(other)
}
