import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import peerproof.vectors.Bundle;
import peerproof.vectors.Choose;
import peerproof.vectors.Difference;
import peerproof.vectors.Implementation;
import peerproof.vectors.KnownFailures;
import peerproof.vectors.Rejected;
import peerproof.vectors.Result;
import peerproof.vectors.Runner;
import peerproof.vectors.Unsupported;

/** What the runner says of implementations that do not keep what they offer, or do not end, and of lists of known failures. */
public final class Claims {
    public static void main(String[] arguments) throws IOException {
        Path path = Path.of(arguments[0]);
        Bundle bundle = Bundle.load(path);
        Implementation right = new RightDecoder(path);

        Implementation claiming = new Claiming("codec", "exchange", "observe.view", "observe.peers");
        show("codec and exchange are claimed, and unsupported", new Runner(bundle, claiming), bundle);
        show("nothing is claimed", new Runner(bundle, new Claiming()), bundle);
        show("decode never ends", new Runner(bundle, new Endless(), Duration.ofSeconds(1)), bundle);
        show("decode calls itself for ever", new Runner(bundle, new Deep()), bundle);

        System.out.println("known failures");
        KnownFailures known = KnownFailures.load(Path.of(arguments[1]));
        Runner runner = new Runner(bundle, right);
        bundle.cases().stream().map(each -> known.apply(runner.check(each)))
                .filter(result -> result.id().contains("/codec/"))
                .map(result -> "  " + result.id() + " " + result.status() + ": " + result.reason())
                .forEach(System.out::println);
        known.problems(bundle.cases(), LocalDate.of(2026, 1, 1)).forEach(problem -> System.out.println("  " + problem));

        for (String broken : List.of(arguments[2], arguments[1], "none.json")) {
            try {
                Bundle.load(Path.of(broken));
            } catch (IOException error) {
                System.out.println(error.getMessage());
            }
        }
    }

    private static void show(String title, Runner runner, Bundle bundle) {
        Map<String, Integer> counts = new TreeMap<>();
        for (Bundle.Case each : bundle.cases()) {
            Result result = runner.check(each);
            Difference found = result.difference();
            String why = found == null ? result.reason() : found.where() + ", " + found.actual();
            counts.merge(each.check() + ": " + result.status() + " " + result.failure() + ", " + why, 1, Integer::sum);
        }
        System.out.println(title);
        counts.forEach((what, count) -> System.out.println("  " + count + " " + what));
    }

    private static class Claiming implements Implementation {
        private final Offer offer;

        Claiming(String... capabilities) {
            offer = Offer.of(capabilities);
        }

        @Override
        public Offer offer() {
            return offer;
        }

        @Override
        public Object decode(byte[] datagram) throws Rejected {
            throw new Unsupported("no decoder");
        }

        @Override
        public byte[] encode(Object message) throws Rejected {
            throw new Unsupported("no encoder");
        }

        @Override
        public Opened open(Opening opening, Choose choose) {
            throw new Unsupported("no nodes");
        }
    }

    private static final class Endless extends Claiming {
        Endless() {
            super("codec");
        }

        @Override
        public Object decode(byte[] datagram) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException end) {
                return decode(datagram);
            }
            return null;
        }
    }

    private static final class Deep extends Claiming {
        Deep() {
            super("codec");
        }

        @Override
        public Object decode(byte[] datagram) {
            return List.of(decode(datagram));
        }
    }

    private static final class RightDecoder extends Claiming {
        private final Map<String, JsonNode> messages = new HashMap<>();

        RightDecoder(Path path) throws IOException {
            super("codec");
            for (JsonNode vector : new ObjectMapper().readTree(path.toFile()).get("vectors")) {
                if (vector.has("value")) {
                    messages.put(vector.get("bytes").asText(), vector.get("value"));
                }
            }
        }

        @Override
        public Object decode(byte[] datagram) {
            return messages.get(HexFormat.of().formatHex(datagram));
        }
    }
}
