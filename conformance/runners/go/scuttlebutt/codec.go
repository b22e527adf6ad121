// Package scuttlebutt is an implementation of Scuttlebutt, written from the pages docs/specification/scuttlebutt and
// docs/porting/scuttlebutt, and plugged into the runner of vectors in plug.go.
package scuttlebutt

import (
	"encoding/binary"
	"fmt"
)

// MaxText is the most bytes of an address, a key or a value: its size is one byte. [B-42, BA-02]
const MaxText = 255

const (
	typeSize    = 1
	versionSize = 8
)

// Kind is the type byte of a message. [B-40]
type Kind byte

// The kinds of messages.
const (
	DigestRequest Kind = 1 + iota
	DigestResponse
	Delta
)

// Message is a datagram: entries of one kind. [B-41]
type Message struct {
	Kind    Kind
	Entries []Entry
}

// Entry is a peer at a version or, in a delta, a pair of a peer. Texts are any bytes.
type Entry struct {
	Addr, Key, Value string
	Version          uint64
}

// texts returns the texts of an entry in their order. [B-43, B-45]
func (kind Kind) texts(entry *Entry) []*string {
	if kind == Delta {
		return []*string{&entry.Addr, &entry.Key, &entry.Value}
	}
	return []*string{&entry.Addr}
}

// size returns the bytes that an entry takes.
func (kind Kind) size(entry Entry) int {
	size := versionSize
	for _, text := range kind.texts(&entry) {
		size += 1 + len(*text)
	}
	return size
}

// Malformed says why a datagram is no message, and at which byte that shows.
type Malformed struct {
	Class  string
	Offset int
	What   string
}

func (m *Malformed) Error() string { return m.What }

// Encode returns the datagram of a message. Its texts must not be longer than MaxText. [BA-03]
func Encode(message Message) []byte {
	datagram := []byte{byte(message.Kind)}
	for at := range message.Entries {
		entry := &message.Entries[at]
		for _, text := range message.Kind.texts(entry) {
			datagram = append(append(datagram, byte(len(*text))), *text...)
		}
		datagram = binary.BigEndian.AppendUint64(datagram, entry.Version)
	}
	return datagram
}

// Decode returns the message of a datagram: all of it, or an error. [BA-20]
func Decode(datagram []byte) (Message, error) {
	if len(datagram) == 0 {
		return Message{}, &Malformed{"truncated", 0, "an empty datagram has no type"}
	}
	message := Message{Kind: Kind(datagram[0])}
	if message.Kind < DigestRequest || message.Kind > Delta {
		return Message{}, &Malformed{"bad_type", 0, fmt.Sprintf("there is no type %d", message.Kind)}
	}
	at := typeSize
	take := func(size int) ([]byte, error) {
		if len(datagram)-at < size {
			return nil, &Malformed{"truncated", at, fmt.Sprintf("need %d bytes, have %d", size, len(datagram)-at)}
		}
		at += size
		return datagram[at-size : at], nil
	}
	for at < len(datagram) {
		var entry Entry
		for _, text := range message.Kind.texts(&entry) {
			size, err := take(1)
			if err != nil {
				return Message{}, err
			}
			content, err := take(int(size[0]))
			if err != nil {
				return Message{}, err
			}
			*text = string(content)
		}
		version, err := take(versionSize)
		if err != nil {
			return Message{}, err
		}
		entry.Version = binary.BigEndian.Uint64(version)
		message.Entries = append(message.Entries, entry)
	}
	return message, nil
}
