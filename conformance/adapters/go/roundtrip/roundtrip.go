// Package roundtrip tests codecs in Go: the vectors, and what holds for any bytes.
package roundtrip

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	vectors "peerproof.example/vectors"
)

// bundle is the name of a variable of the environment that names a bundle of the protocol.
const bundle = "PEERPROOF_BUNDLE"

// Vectors runs the vectors of the bundle.
func Vectors(t *testing.T, implementation vectors.Implementation) {
	if os.Getenv(bundle) == "" {
		t.Skip(bundle + " names no bundle")
	}
	vectors.Run(t, os.Getenv(bundle), implementation, vectors.Settings{})
}

// Fuzz decodes any bytes, beginning with some messages and with those of the bundle, if there is one. What is accepted must be
// encoded, and what was encoded must be the same message and the same bytes again.
func Fuzz(f *testing.F, implementation vectors.Implementation, seeds ...string) {
	for _, seed := range append(seeds, messages(f)...) {
		datagram, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(datagram)
	}
	f.Fuzz(func(t *testing.T, datagram []byte) {
		message, err := implementation.Decode(datagram)
		if err != nil {
			return
		}
		shown := show(t, message)
		written := encode(t, implementation, shown)
		again, err := implementation.Decode(written)
		if err != nil {
			t.Fatalf("rejected what was encoded: %v\n%s\n%x", err, shown, written)
		}
		if reread := show(t, again); !bytes.Equal(reread, shown) {
			t.Fatalf("decoded another message than was encoded:\n%s\n%s", shown, reread)
		}
		if rewritten := encode(t, implementation, shown); !bytes.Equal(rewritten, written) {
			t.Fatalf("encoded a message in two ways:\n%x\n%x", written, rewritten)
		}
	})
}

func messages(f *testing.F) []string {
	if os.Getenv(bundle) == "" {
		return nil
	}
	loaded, err := vectors.Load(os.Getenv(bundle))
	if err != nil {
		f.Fatal(err)
	}
	all := []string{}
	for _, vector := range loaded.Vectors {
		if vector.Bytes != "" {
			all = append(all, vector.Bytes)
		}
		for _, datagram := range vector.Datagrams {
			all = append(all, datagram.Bytes)
		}
	}
	return all
}

func show(t *testing.T, message any) []byte {
	shown, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

func encode(t *testing.T, implementation vectors.Implementation, shown []byte) []byte {
	written, err := implementation.Encode(shown)
	if err != nil {
		t.Fatalf("cannot encode what was decoded: %v\n%s", err, shown)
	}
	return written
}
