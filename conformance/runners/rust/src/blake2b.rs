//! BLAKE2b (RFC 7693) with a short digest, without a key.

const INITIAL: [u64; 8] = [
    0x6a09e667f3bcc908,
    0xbb67ae8584caa73b,
    0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1,
    0x510e527fade682d1,
    0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b,
    0x5be0cd19137e2179,
];

const SCHEDULE: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

const MIXED: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Returns the digest of a text, `size` bytes as hexadecimal digits.
pub(crate) fn blake2b(text: &str, size: usize) -> String {
    let mut h = INITIAL;
    h[0] ^= 0x01010000 ^ size as u64;
    let blocks = text.len().div_ceil(128).max(1);
    for block in 0..blocks {
        let rest = &text.as_bytes()[block * 128..];
        let is_last = block == blocks - 1;
        let mut data = [0; 128];
        data[..rest.len().min(128)].copy_from_slice(&rest[..rest.len().min(128)]);
        compress(&mut h, &data, block * 128 + rest.len().min(128), is_last);
    }
    let digest: Vec<u8> = h
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .take(size)
        .collect();
    crate::choices::hex(&digest)
}

fn compress(h: &mut [u64; 8], data: &[u8; 128], done: usize, is_last: bool) {
    let words: Vec<u64> = data
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let mut v = [0; 16];
    v[..8].copy_from_slice(h);
    v[8..].copy_from_slice(&INITIAL);
    v[12] ^= done as u64;
    if is_last {
        v[14] = !v[14];
    }
    for round in 0..12 {
        for (index, &[a, b, c, d]) in MIXED.iter().enumerate() {
            for (half, first, second) in [(0, 32, 24), (1, 16, 63)] {
                let word = words[SCHEDULE[round % 10][2 * index + half]];
                v[a] = v[a].wrapping_add(v[b]).wrapping_add(word);
                v[d] = (v[d] ^ v[a]).rotate_right(first);
                v[c] = v[c].wrapping_add(v[d]);
                v[b] = (v[b] ^ v[c]).rotate_right(second);
            }
        }
    }
    for index in 0..8 {
        h[index] ^= v[index] ^ v[index + 8];
    }
}

#[cfg(test)]
mod tests {
    use super::blake2b;

    #[test]
    fn digests_are_those_of_other_implementations() {
        assert_eq!(blake2b("", 8), "e4a6a0577479b2b4");
        assert_eq!(blake2b("abc", 6), "13c9497c2425");
        assert_eq!(blake2b(&"a".repeat(128), 8), "f06643fe9c7e18da");
        assert_eq!(blake2b(&"a".repeat(129), 8), "e462535bb0c5a299");
    }
}
