package peerproof.vectors;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * Prints the verdict of each case as a line of JSON, to be compared with those of {@code peerproof run --format jsonl}:
 *
 * <pre>
 * java -cp … peerproof.vectors.Verdicts BUNDLE PROGRAM [ARGUMENT…]      PROGRAM speaks adapter protocol 1
 * java -cp … peerproof.vectors.Verdicts BUNDLE < PROGRAMS              each line is a JSON list of a program and its arguments
 * </pre>
 *
 * <p>An empty line ends the verdicts of each program.
 */
public final class Verdicts {
    private static final Duration LIMIT = Duration.ofMinutes(1); // a busy machine may start a program slowly

    private Verdicts() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 0) {
            System.err.println("expected BUNDLE PROGRAM [ARGUMENT...], or BUNDLE and programs on standard input");
            System.exit(2);
        }
        Bundle bundle = Bundle.load(Path.of(arguments[0]));
        if (arguments.length > 1) {
            write(bundle, Arrays.asList(arguments).subList(1, arguments.length));
            return;
        }
        for (byte[] line = Server.readLine(System.in); line != null; line = Server.readLine(System.in)) {
            write(bundle, ((List<?>) Json.parse(line)).stream().map(String::valueOf).toList());
        }
    }

    private static void write(Bundle bundle, List<String> command) throws IOException {
        try (Adapter adapter = new Adapter(bundle, command)) {
            write(bundle, adapter, System.out);
        }
        System.out.println();
    }

    /** Writes the verdicts of an implementation. */
    public static void write(Bundle bundle, Implementation implementation, OutputStream output) throws IOException {
        Runner runner = new Runner(bundle, implementation, LIMIT);
        OutputStream lines = new BufferedOutputStream(output);
        for (Bundle.Case each : bundle.cases()) {
            lines.write(Json.line(runner.check(each).plain()));
            lines.write('\n');
        }
        lines.flush();
    }
}
