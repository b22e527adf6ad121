package scuttlebutt

import (
	"testing"

	vectors "peerproof.example/vectors"
)

func TestVectors(t *testing.T) {
	vectors.Run(t, "testdata/scuttlebutt.json", Implementation{}, vectors.Settings{})
}
