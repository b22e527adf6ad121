package main

import "encoding/hex"

// Effects has the effects of one request, in order. They are recorded, and nothing is sent for real.
type Effects struct {
	done []any
}

// Send sends a message. The address has the form that addresses have in requests.
func (e *Effects) Send(to any, data []byte) {
	e.done = append(e.done, reply{"send": reply{"via": transport, "to": to, "bytes": hex.EncodeToString(data)}})
}

// Reply sends bytes on a connection that a peer has opened.
func (e *Effects) Reply(conn string, data []byte) {
	e.done = append(e.done, reply{"stream": reply{"conn": conn, "event": "data", "bytes": hex.EncodeToString(data)}})
}

// Close closes such a connection.
func (e *Effects) Close(conn string) {
	e.done = append(e.done, reply{"stream": reply{"conn": conn, "event": "close"}})
}

// Tell reports an event to the application. Claim "events" if you use it.
func (e *Effects) Tell(event string, members map[string]any) {
	told := reply{"name": event}
	for name, value := range members {
		told[name] = value
	}
	e.done = append(e.done, reply{"event": told})
}
