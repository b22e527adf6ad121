package main

import (
	"testing"

	"example.com/my-node/vectors"
)

// TestVectors runs every case of the vectors as a subtest with its id, in this process and without Python. The cases in
// known-failing.txt must fail as they are listed there.
func TestVectors(t *testing.T) {
	vectors.Run(t, "vectors/scuttlebutt.json.gz", implementation{}, vectors.Settings{KnownFailing: "known-failing.txt"})
}
