import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.StringTokenizer;
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
 * `( … )` a tuple, `{ name … }` a record. The resource "strings" begins with the number of events and has, for each string in
 * the order of their numbers, its rank and its size. Events are read as TLC asks for them, and only the last is kept.
 */
public final class TraceData {
  private static final int[] RANKS;
  private static final int[] SIZES;
  private static final int COUNT;

  private static BufferedReader events;
  private static int read;
  private static Value last;

  static {
    try (BufferedReader strings = open("strings")) {
      COUNT = Integer.parseInt(strings.readLine().trim());
      ArrayList<int[]> rows = new ArrayList<>();
      for (String line = strings.readLine(); line != null; line = strings.readLine()) {
        StringTokenizer row = new StringTokenizer(line);
        rows.add(new int[] {Integer.parseInt(row.nextToken()), Integer.parseInt(row.nextToken())});
      }
      RANKS = new int[rows.size()];
      SIZES = new int[rows.size() + 1];
      for (int number = 0; number < RANKS.length; number++) {
        RANKS[number] = rows.get(number)[0];
        SIZES[RANKS[number]] = rows.get(number)[1];
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
    return IntValue.gen(SIZES[((IntValue) string).val]);
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
