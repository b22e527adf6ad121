package peerproof.vectors;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;

/** BLAKE2b (RFC 7693) with a short digest and without a key, which the JDK does not have. */
final class Blake2b {
    private static final int BLOCK = 128;
    private static final long[] INITIAL = {
        0x6a09e667f3bcc908L, 0xbb67ae8584caa73bL, 0x3c6ef372fe94f82bL, 0xa54ff53a5f1d36f1L,
        0x510e527fade682d1L, 0x9b05688c2b3e6c1fL, 0x1f83d9abfb41bd6bL, 0x5be0cd19137e2179L,
    };
    private static final String[] SCHEDULE = {
        "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
        "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
    };
    private static final int[][] MIXED = {
        {0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
        {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14},
    };

    private Blake2b() {}

    /** The digest of a text, {@code size} bytes as hexadecimal digits. */
    static String digest(String text, int size) {
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        long[] hash = INITIAL.clone();
        hash[0] ^= 0x01010000 ^ size;
        int blocks = Math.max(1, (data.length + BLOCK - 1) / BLOCK);
        for (int block = 0; block < blocks; block++) {
            boolean isLast = block == blocks - 1;
            int taken = isLast ? data.length : (block + 1) * BLOCK;
            compress(hash, Arrays.copyOf(Arrays.copyOfRange(data, block * BLOCK, taken), BLOCK), taken, isLast);
        }
        ByteBuffer digest = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
        digest.asLongBuffer().put(hash);
        return HexFormat.of().formatHex(digest.array(), 0, size);
    }

    private static void compress(long[] hash, byte[] block, int taken, boolean isLast) {
        long[] words = new long[16];
        ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(words);
        long[] v = Arrays.copyOf(hash, 16);
        System.arraycopy(INITIAL, 0, v, 8, 8);
        v[12] ^= taken;
        if (isLast) {
            v[14] = ~v[14];
        }
        for (int round = 0; round < 12; round++) {
            String order = SCHEDULE[round % 10];
            for (int index = 0; index < 8; index++) {
                int[] at = MIXED[index];
                mix(v, at, words[Character.digit(order.charAt(2 * index), 16)], 32, 24);
                mix(v, at, words[Character.digit(order.charAt(2 * index + 1), 16)], 16, 63);
            }
        }
        for (int index = 0; index < 8; index++) {
            hash[index] ^= v[index] ^ v[index + 8];
        }
    }

    private static void mix(long[] v, int[] at, long word, int first, int second) {
        v[at[0]] += v[at[1]] + word;
        v[at[3]] = Long.rotateRight(v[at[3]] ^ v[at[0]], first);
        v[at[2]] += v[at[3]];
        v[at[1]] = Long.rotateRight(v[at[1]] ^ v[at[2]], second);
    }
}
