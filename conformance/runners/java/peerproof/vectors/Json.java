package peerproof.vectors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * JSON as plain data: maps with the order of their members, lists, String, BigInteger, Double, Boolean and null. So large
 * integers are exact, and 1 is not 1.0.
 */
final class Json {
    static final JsonMapper MAPPER = JsonMapper.builder(JsonFactory.builder().streamReadConstraints(constraints()).build())
            .enable(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .build();

    private static final Comparator<String> BY_CODE_POINTS =
            (one, other) -> Arrays.compare(one.codePoints().toArray(), other.codePoints().toArray());

    private Json() {}

    private static StreamReadConstraints constraints() {
        return StreamReadConstraints.builder().maxNumberLength(1 << 24).maxStringLength(1 << 25).build();
    }

    static Object parse(byte[] text) throws IOException {
        return MAPPER.readValue(text, Object.class);
    }

    /** One line of JSON in ASCII, without the end of the line. */
    static byte[] line(Object value) {
        try {
            return MAPPER.writeValueAsBytes(value);
        } catch (JsonProcessingException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Anything that Jackson can write, as {@link #parse} would return it. */
    static Object plain(Object value) {
        try {
            return parse(line(value));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** An object with these names and values, in turn. */
    static Map<String, Object> object(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) {
            made.put((String) pairs[at], pairs[at + 1]);
        }
        return made;
    }

    static Object member(Object value, String name) {
        return value instanceof Map<?, ?> object ? object.get(name) : null;
    }

    /** The names and values of a plain object; none if it is no object. */
    static Map<String, Object> members(Object value) {
        Map<String, Object> found = new LinkedHashMap<>();
        if (value instanceof Map<?, ?> object) {
            object.forEach((name, member) -> found.put((String) name, member));
        }
        return found;
    }

    /** JSON with members in their order. */
    static String text(Object value) {
        return written(value, false);
    }

    /** JSON with sorted members: equal for equal data, and what is hashed. */
    static String canonical(Object value) {
        return written(value, true);
    }

    private static String written(Object value, boolean isSorted) {
        if (value instanceof Map<?, ?> object) {
            List<String> names = new ArrayList<>(members(object).keySet());
            if (isSorted) {
                names.sort(BY_CODE_POINTS);
            }
            return names.stream()
                    .map(name -> quoted(name) + ": " + written(object.get(name), isSorted))
                    .collect(Collectors.joining(", ", "{", "}"));
        }
        if (value instanceof List<?> items) {
            return items.stream().map(item -> written(item, isSorted)).collect(Collectors.joining(", ", "[", "]"));
        }
        if (value instanceof String text) {
            return quoted(text);
        }
        return value instanceof Double number ? decimal(number) : String.valueOf(value);
    }

    /** The shortest digits that stand for the number, with an exponent below 0.0001 and from 10^16 on. */
    private static String decimal(double number) {
        if (!Double.isFinite(number)) {
            return String.valueOf(number);
        }
        String sign = Math.copySign(1, number) < 0 ? "-" : "";
        BigDecimal exact = new BigDecimal(Math.abs(number));
        int precision = 1;
        while (exact.round(new MathContext(precision)).doubleValue() != Math.abs(number)) {
            precision++;
        }
        BigDecimal shortest = exact.round(new MathContext(precision)).stripTrailingZeros();
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (-4 <= exponent && exponent < 16) {
            String digits = shortest.toPlainString();
            return sign + digits + (digits.contains(".") ? "" : ".0");
        }
        String digits = shortest.unscaledValue().toString();
        String fraction = digits.length() > 1 ? "." + digits.substring(1) : "";
        return "%s%c%se%+03d".formatted(sign, digits.charAt(0), fraction, exponent);
    }

    private static String quoted(String text) {
        StringBuilder shown = new StringBuilder("\"");
        for (char character : text.toCharArray()) {
            switch (character) {
                case '"' -> shown.append("\\\"");
                case '\\' -> shown.append("\\\\");
                case '\b' -> shown.append("\\b");
                case '\f' -> shown.append("\\f");
                case '\n' -> shown.append("\\n");
                case '\r' -> shown.append("\\r");
                case '\t' -> shown.append("\\t");
                default -> shown.append(
                        ' ' <= character && character < 0x80 ? character : "\\u%04x".formatted((int) character));
            }
        }
        return shown.append('"').toString();
    }

    /** An integer as plain data has it. */
    static BigInteger integer(long number) {
        return BigInteger.valueOf(number);
    }
}
