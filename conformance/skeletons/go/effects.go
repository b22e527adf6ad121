package main

import "encoding/hex"

// Effects is what a node does about one request, in the order in which it does it: written down, not done.
type Effects struct {
	done []any
}

// Send is a message to an address, which looks as it did in the request.
func (e *Effects) Send(to any, data []byte) {
	e.done = append(e.done, reply{"send": reply{"via": transport, "to": to, "bytes": hex.EncodeToString(data)}})
}

// Reply is bytes on a connection that a peer has opened.
func (e *Effects) Reply(conn string, data []byte) {
	e.done = append(e.done, reply{"stream": reply{"conn": conn, "event": "data", "bytes": hex.EncodeToString(data)}})
}

// Close is that the node closes such a connection.
func (e *Effects) Close(conn string) {
	e.done = append(e.done, reply{"stream": reply{"conn": conn, "event": "close"}})
}

// Tell is something that the application is told; claim "events" then.
func (e *Effects) Tell(event string, members map[string]any) {
	told := reply{"name": event}
	for name, value := range members {
		told[name] = value
	}
	e.done = append(e.done, reply{"event": told})
}
