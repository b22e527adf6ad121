/** BLAKE2b (RFC 7693) with a short digest, which is not the beginning of the digest of 64 bytes that Node computes. */

const MASK = (1n << 64n) - 1n;
const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => [...row].map((digit) => parseInt(digit, 16)));
const MIXED = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];

const turned = (word, bits) => ((word >> bits) | (word << (64n - bits))) & MASK;

/** The digest of a text, `size` bytes as hexadecimal digits. */
export function blake2b(text, size) {
  const data = Buffer.from(text, "utf8");
  const h = [...IV];
  h[0] ^= 0x01010000n ^ BigInt(size);
  const blocks = Math.max(1, Math.ceil(data.length / 128));
  for (let block = 0; block < blocks; block += 1) {
    const words = Buffer.alloc(128);
    data.copy(words, 0, block * 128);
    const isLast = block === blocks - 1;
    const v = [...h, ...IV];
    v[12] ^= BigInt(isLast ? data.length : (block + 1) * 128);
    if (isLast) v[14] ^= MASK;
    for (let round = 0; round < 12; round += 1) {
      for (const [index, [a, b, c, d]] of MIXED.entries()) {
        for (const [half, first, second] of [[0, 32n, 24n], [1, 16n, 63n]]) {
          v[a] = (v[a] + v[b] + words.readBigUInt64LE(8 * SIGMA[round % 10][2 * index + half])) & MASK;
          v[d] = turned(v[d] ^ v[a], first);
          v[c] = (v[c] + v[d]) & MASK;
          v[b] = turned(v[b] ^ v[c], second);
        }
      }
    }
    for (let index = 0; index < 8; index += 1) h[index] ^= v[index] ^ v[index + 8];
  }
  const digest = Buffer.alloc(64);
  h.forEach((word, index) => digest.writeBigUInt64LE(word, 8 * index));
  return digest.subarray(0, size).toString("hex");
}
