/** BLAKE2b (RFC 7693) with a short digest, which is not the beginning of the digest of 64 bytes that Node computes. */

const IV = Uint32Array.from([
  0x6a09e667, 0xf3bcc908, 0xbb67ae85, 0x84caa73b, 0x3c6ef372, 0xfe94f82b, 0xa54ff53a, 0x5f1d36f1,
  0x510e527f, 0xade682d1, 0x9b05688c, 0x2b3e6c1f, 0x1f83d9ab, 0xfb41bd6b, 0x5be0cd19, 0x137e2179,
]); // words of 64 bits as two halves, the higher first
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => [...row].map((digit) => parseInt(digit, 16)));
const MIXED = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];

/** Adds two halves to word `at`. */
function add(words, at, high, low) {
  const sum = words[2 * at + 1] + low;
  words[2 * at + 1] = sum;
  words[2 * at] += high + (sum > 0xffffffff ? 1 : 0);
}

/** Half of the mixing of four words with the word at this place of the block. */
function mixHalf(words, places, block, at, first, second) {
  const [a, b, c, d] = places;
  add(words, a, words[2 * b], words[2 * b + 1]);
  add(words, a, block.readUInt32LE(at + 4), block.readUInt32LE(at));
  xorTurned(words, d, a, first);
  add(words, c, words[2 * d], words[2 * d + 1]);
  xorTurned(words, b, c, second);
}

/** Replaces word `at` by its exclusive or with word `other`, turned right by some bits. */
function xorTurned(words, at, other, bits) {
  const high = words[2 * at] ^ words[2 * other];
  const low = words[2 * at + 1] ^ words[2 * other + 1];
  const turn = bits % 32;
  const [first, second] = bits < 32 ? [high, low] : [low, high];
  words[2 * at] = turn === 0 ? first : (first >>> turn) | (second << (32 - turn));
  words[2 * at + 1] = turn === 0 ? second : (second >>> turn) | (first << (32 - turn));
}

/** The digest of a text, `size` bytes as hexadecimal digits. */
export function blake2b(text, size) {
  const data = Buffer.from(text, "utf8");
  const h = Uint32Array.from(IV);
  h[1] ^= 0x01010000 ^ size;
  const blocks = Math.max(1, Math.ceil(data.length / 128));
  const [block, v] = [Buffer.alloc(128), new Uint32Array(32)];
  for (let number = 0; number < blocks; number += 1) {
    block.fill(0);
    data.copy(block, 0, number * 128);
    const isLast = number === blocks - 1;
    v.set(h);
    v.set(IV, 16);
    v[25] ^= isLast ? data.length : (number + 1) * 128;
    if (isLast) {
      v[28] = ~v[28];
      v[29] = ~v[29];
    }
    for (let round = 0; round < 12; round += 1) {
      const order = SIGMA[round % 10];
      for (let index = 0; index < 8; index += 1) {
        mixHalf(v, MIXED[index], block, 8 * order[2 * index], 32, 24);
        mixHalf(v, MIXED[index], block, 8 * order[2 * index + 1], 16, 63);
      }
    }
    for (let index = 0; index < 16; index += 1) h[index] ^= v[index] ^ v[index + 16];
  }
  const digest = Buffer.alloc(64);
  for (let index = 0; index < 8; index += 1) {
    digest.writeUInt32LE(h[2 * index + 1], 8 * index);
    digest.writeUInt32LE(h[2 * index], 8 * index + 4);
  }
  return digest.subarray(0, size).toString("hex");
}
