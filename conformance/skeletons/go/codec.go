package main

import "fmt"

// 1. The codec: bytes to messages and back. Call your implementation's codec here.

// codecCapabilities has the capabilities of this file. "codec" is claimed from the start, so that `peerproof run` has something to
// check.
var codecCapabilities = []string{"codec"}

// Message has a "type" and members, as in the suite: `peerproof vectors show` of a vector of the codec prints one above its bytes. An
// integer of 64 bits is a string of decimal digits, other numbers come as json.Number; a text whose bytes are not UTF-8 is
// {"hex": "fffe"}.
type Message map[string]any

// Decode returns the message in these bytes, or *Malformed.
func Decode(data []byte) (Message, error) {
	return nil, &Malformed{"other", fmt.Sprintf("decode is not written yet; there are %d bytes", len(data))}
}

// Encode returns the bytes of a message.
func Encode(message Message) ([]byte, error) {
	return nil, fmt.Errorf("encode of %v: %w", message["type"], ErrNotWritten)
}
