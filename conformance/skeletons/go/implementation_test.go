package main

import (
	"testing"

	"example.com/my-node/vectors"
)

// TestVectors runs every case of the vectors of all protocols as a subtest with its id, in this process and without Python. The cases
// in known-failing.txt must fail as they are listed there. With Strict, a case fails also where a vector says should; otherwise it is
// tolerated. With StrictDecisions, it fails also where no document but only a decision of the suite demands more, such as that a
// malformed datagram does no harm; otherwise it differs, as `go test` shows at its end.
func TestVectors(t *testing.T) {
	vectors.RunAll(t, plugs, vectors.Settings{
		Strict:          false,
		StrictDecisions: false,
		KnownFailing:    "known-failing.txt",
		Adapter:         "@BUILD@ && peerproof run @SELECTION@ --impl @START@",
	})
}
