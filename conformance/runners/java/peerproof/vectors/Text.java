package peerproof.vectors;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;

/** Texts in plain form: a String, or {@code {"hex": "fffe"}} if the bytes are not UTF-8. */
public final class Text {
    private Text() {}

    /** The plain form of a text. */
    public static Object plain(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException error) {
            return Map.of("hex", HexFormat.of().formatHex(bytes));
        }
    }

    /** The bytes of a text. */
    public static byte[] bytes(Object plain) {
        if (Json.member(plain, "hex") instanceof String digits) {
            return HexFormat.of().parseHex(digits);
        }
        if (plain instanceof String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        throw new IllegalArgumentException(plain + " is not a text");
    }
}
