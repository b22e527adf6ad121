package main

import "errors"

// ErrNotWritten says that the adapter is asked for what it does not have yet.
var ErrNotWritten = errors.New("not written yet")

// Malformed says that bytes are no message. The reason is truncated, trailing, bad_type, bad_length, bad_value, too_large or
// other.
type Malformed struct {
	Reason string
	Detail string
}

func (m *Malformed) Error() string { return m.Detail }

// Refused says that the implementation refuses a call; the reason is a word of the protocol's.
type Refused struct {
	Reason string
	Detail string
}

func (r *Refused) Error() string { return r.Detail }
