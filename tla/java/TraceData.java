import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.StringTokenizer;
import tlc2.value.impl.BoolValue;
import tlc2.value.impl.IntValue;
import tlc2.value.impl.RecordValue;
import tlc2.value.impl.StringValue;
import tlc2.value.impl.TupleValue;
import tlc2.value.impl.Value;
import util.UniqueString;

/**
 * The definitions of the module TraceData.
 *
 * <p>The resource "events" has a value on each line: `12` is a number, `$3` the third of the strings, `'word` a word,
 * `?1` true and `?0` false, `( … )` a tuple, `{ name … }` a record. The resource "strings" begins with the number of events and
 * has, for each string in the order of their numbers, its rank and its bytes in hexadecimal digits, after a dot. Events are read
 * as TLC asks for them, and only the last is kept.
 */
public final class TraceData {
  private static final int[] RANKS;
  private static final byte[][] BYTES; // by rank, from 1
  private static final Map<String, Integer> RANK_OF = new HashMap<>(); // by bytes, in hexadecimal digits
  private static final int COUNT;

  private static BufferedReader events;
  private static int read;
  private static Value last;

  static {
    try (BufferedReader strings = open("strings")) {
      COUNT = Integer.parseInt(strings.readLine().trim());
      ArrayList<String> rows = new ArrayList<>();
      for (String line = strings.readLine(); line != null; line = strings.readLine()) {
        rows.add(line);
      }
      RANKS = new int[rows.size()];
      BYTES = new byte[rows.size() + 1][];
      BYTES[0] = new byte[0]; // of the string that the traces do not have
      for (int number = 0; number < RANKS.length; number++) {
        StringTokenizer row = new StringTokenizer(rows.get(number), " .");
        RANKS[number] = Integer.parseInt(row.nextToken());
        String digits = row.hasMoreTokens() ? row.nextToken() : "";
        BYTES[RANKS[number]] = HexFormat.of().parseHex(digits);
        RANK_OF.put(digits, RANKS[number]);
      }
    } catch (IOException problem) {
      throw new IllegalStateException(problem);
    }
  }

  private TraceData() {}

  public static synchronized Value Event(Value at) throws IOException {
    int wanted = ((IntValue) at).val;
    if (events == null || wanted < read) {
      events = open("events");
      read = 0;
    }
    while (read < wanted) {
      String line = events.readLine();
      if (line == null) {
        throw new IllegalArgumentException("there is no event " + wanted);
      }
      read++;
      if (read == wanted) {
        StringTokenizer tokens = new StringTokenizer(line, " ");
        last = value(tokens, tokens.nextToken());
      }
    }
    return last;
  }

  public static Value EventCount() {
    return IntValue.gen(COUNT);
  }

  public static Value StringSize(Value string) {
    return IntValue.gen(BYTES[((IntValue) string).val].length);
  }

  public static Value StringCount() {
    return IntValue.gen(RANKS.length);
  }

  public static Value StringBytes(Value string) {
    byte[] bytes = BYTES[((IntValue) string).val];
    Value[] items = new Value[bytes.length];
    for (int at = 0; at < items.length; at++) {
      items[at] = IntValue.gen(bytes[at] & 0xff);
    }
    return new TupleValue(items);
  }

  public static Value StringOf(Value bytes) {
    Value[] items = ((TupleValue) bytes.toTuple()).elems;
    byte[] octets = new byte[items.length];
    for (int at = 0; at < items.length; at++) {
      octets[at] = (byte) ((IntValue) items[at]).val;
    }
    return IntValue.gen(RANK_OF.getOrDefault(HexFormat.of().formatHex(octets), 0));
  }

  private static Value value(StringTokenizer tokens, String token) {
    switch (token.charAt(0)) {
      case '(':
        ArrayList<Value> items = new ArrayList<>();
        for (String next = tokens.nextToken(); !next.equals(")"); next = tokens.nextToken()) {
          items.add(value(tokens, next));
        }
        return new TupleValue(items.toArray(new Value[0]));
      case '{':
        ArrayList<UniqueString> names = new ArrayList<>();
        ArrayList<Value> values = new ArrayList<>();
        for (String next = tokens.nextToken(); !next.equals("}"); next = tokens.nextToken()) {
          names.add(UniqueString.uniqueStringOf(next));
          values.add(value(tokens, tokens.nextToken()));
        }
        return new RecordValue(names.toArray(new UniqueString[0]), values.toArray(new Value[0]), false);
      case '\'':
        return new StringValue(token.substring(1));
      case '?':
        return token.equals("?1") ? BoolValue.ValTrue : BoolValue.ValFalse;
      case '$':
        return IntValue.gen(RANKS[Integer.parseInt(token.substring(1))]);
      default:
        return IntValue.gen(Integer.parseInt(token));
    }
  }

  private static BufferedReader open(String name) throws IOException {
    InputStream stream = TraceData.class.getClassLoader().getResourceAsStream(name);
    if (stream == null) {
      throw new IOException("the class path has no file " + name);
    }
    return new BufferedReader(new InputStreamReader(stream, StandardCharsets.US_ASCII), 1 << 16);
  }
}
