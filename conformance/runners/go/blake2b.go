package vectors

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// BLAKE2b (RFC 7693) with a short digest; the standard library has no BLAKE2.

var initial = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var schedule = [10][16]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

var mixed = [8][4]byte{
	{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
	{0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14},
}

// blake2b returns the digest of a text, size bytes as hexadecimal digits.
func blake2b(text string, size int) string {
	h := initial
	h[0] ^= 0x01010000 ^ uint64(size)
	for rest, done := []byte(text), 0; ; {
		var block [128]byte
		taken := copy(block[:], rest)
		rest, done = rest[taken:], done+taken
		var v [16]uint64
		copy(v[:8], h[:])
		copy(v[8:], initial[:])
		v[12] ^= uint64(done)
		if len(rest) == 0 {
			v[14] = ^v[14]
		}
		for round := 0; round < 12; round++ {
			for index, at := range mixed {
				a, b, c, d := &v[at[0]], &v[at[1]], &v[at[2]], &v[at[3]]
				for half, turns := range [2][2]int{{32, 24}, {16, 63}} {
					word := schedule[round%10][2*index+half]
					*a += *b + binary.LittleEndian.Uint64(block[8*word:])
					*d = bits.RotateLeft64(*d^*a, -turns[0])
					*c += *d
					*b = bits.RotateLeft64(*b^*c, -turns[1])
				}
			}
		}
		for index := range h {
			h[index] ^= v[index] ^ v[index+8]
		}
		if len(rest) == 0 {
			break
		}
	}
	var digest []byte
	for _, word := range h {
		digest = binary.LittleEndian.AppendUint64(digest, word)
	}
	return hex.EncodeToString(digest[:size])
}
