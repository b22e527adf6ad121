package wendy

import (
	"testing"

	"peerproof.example/adapters/roundtrip"
)

func TestVectors(t *testing.T) { roundtrip.Vectors(t, Implementation{}) }

func FuzzDecode(f *testing.F) { roundtrip.Fuzz(f, Implementation{}) }
