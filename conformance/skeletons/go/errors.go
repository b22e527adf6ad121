package main

import "errors"

// ErrNotWritten says that a part of the adapter is not written yet.
var ErrNotWritten = errors.New("not written yet")

// Malformed says that bytes are not a message. The reason is truncated, trailing, bad_type, bad_length, bad_value, too_large or
// other.
type Malformed struct {
	Reason string
	Detail string
}

func (m *Malformed) Error() string { return m.Detail }

// Refused says that the implementation refuses a call; the reason is one of the protocol's words.
type Refused struct {
	Reason string
	Detail string
}

func (r *Refused) Error() string { return r.Detail }
