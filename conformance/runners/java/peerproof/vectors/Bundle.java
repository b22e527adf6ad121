package peerproof.vectors;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** What {@code peerproof vectors export} writes for a protocol; docs/reference/bundle.md describes it. */
public record Bundle(
        int format, String digest, String protocol, Run run, Map<String, Clause> clauses,
        Map<String, Map<String, String>> readings, List<Known> messages, List<Vector> vectors, List<Table> tables) {
    private static final int FORMAT = 1;

    public Bundle {
        readings = readings == null ? Map.of() : readings;
        messages = listed(messages);
    }

    /** What a runner must know of the protocol. */
    record Run(
            String transport, String everybody, String seed, List<String> queries, Set<String> optionalEvents,
            Set<String> requiredConfig, Map<String, List<Object>> meaningless, Limits limits) {
        Run {
            meaningless = meaningless == null ? Map.of() : meaningless;
        }
    }

    record Limits(long happenings, long messages, int atOnce, long messageBytes) {}

    record Clause(String level, boolean decision, String text, String read) {

        /** What it asks, for readers: its level, or that it is a decision, which the document leaves open. */
        String standing() {
            return decision ? "decision" : level;
        }
    }

    /** A message, and the bytes in which it is written. */
    record Known(String bytes, Object value) {}

    /** One fact about a protocol, with one or several cases. */
    record Vector(
            String id, String title, String level, List<String> clauses, List<Part> cases,
            Map<String, Map<String, Map<String, String>>> basis,
            Object value, String bytes, // of the codec
            List<Datagram> datagrams, @JsonProperty("class") String rejection, Receiver receiver, // with malformed messages
            List<NodeSpec> nodes, long delay, List<Step> setup, List<Step> steps) { // with nodes
        Vector {
            basis = basis == null ? Map.of() : basis;
            nodes = listed(nodes);
            setup = listed(setup);
            steps = listed(steps);
        }
    }

    /** A separately checked part of a vector. */
    record Part(String id, String check, List<String> needs) {}

    record Datagram(String name, String bytes) {}

    record Receiver(Object addr, Map<String, Object> config, Object peer, List<String> legal) {}

    record NodeSpec(String name, Object addr, Map<String, Object> config, Object state, List<Object> timers) {
        NodeSpec {
            config = config == null ? Map.of() : config;
        }
    }

    record Step(
            @JsonProperty("do") String action, long at, String node, List<String> nodes, Object from, Object to, String bytes,
            String type, Long tookUs, Map<String, Object> stream, String name, Map<String, Object> args,
            Map<String, Object> config, Object refused, List<List<String>> groups, List<Pick> picks,
            List<Outcome> outcomes, String picked, Long quietUntil, String query, String event, Object equals) {
        Step {
            nodes = listed(nodes);
            args = args == null ? Map.of() : args;
            config = config == null ? Map.of() : config;
            groups = listed(groups);
            picks = listed(picks);
        }

        /** Whether it checks something. */
        boolean isCheck() {
            return Set.of("expect", "observe", "told").contains(action);
        }

        Step withOutcomes(List<Outcome> others) {
            return new Step(
                    action, at, node, nodes, from, to, bytes, type, tookUs, stream, name, args, config, refused, groups, picks,
                    others, picked, quietUntil, query, event, equals);
        }
    }

    record Pick(String site, List<Object> pick) {}

    record Outcome(
            String branch, String verdict, String because, String order, List<Message> messages,
            Object streams, Object events, Object state) {
        static final Outcome NOTHING = new Outcome(null, null, null, null, null, null, null, null);

        Outcome {
            messages = listed(messages);
            streams = streams == null ? List.of() : streams;
        }
    }

    record Message(Object to, String bytes, Object message) {}

    /** Vectors made from a model, in which numbers stand for states, nodes and steps. */
    record Table(List<Object> states, List<NodeSpec> nodes, List<Step> steps, List<Row> vectors) {
        List<Vector> expand() {
            List<NodeSpec> loaded = nodes.stream()
                    .map(node -> new NodeSpec(node.name, node.addr, node.config, stateOf(node.state), node.timers))
                    .toList();
            List<Step> played = steps.stream().map(this::expand).toList();
            return vectors.stream().map(row -> row.vector(loaded, played)).toList();
        }

        private Step expand(Step step) {
            return step.outcomes == null ? step : step.withOutcomes(step.outcomes.stream().map(this::expand).toList());
        }

        private Outcome expand(Outcome outcome) {
            return new Outcome(
                    outcome.branch, outcome.verdict, outcome.because, outcome.order, outcome.messages, outcome.streams,
                    outcome.events, stateOf(outcome.state));
        }

        private Object stateOf(Object number) {
            return number == null ? null : states.get(((Number) number).intValue());
        }
    }

    record Row(
            String id, String title, String level, List<String> clauses, List<Part> cases,
            Map<String, Map<String, Map<String, String>>> basis, int node, List<Integer> steps) {
        Vector vector(List<NodeSpec> nodes, List<Step> played) {
            List<Step> own = steps.stream().map(played::get).toList();
            return new Vector(
                    id, title, level, clauses, cases, basis, null, null, null, null, null,
                    List.of(nodes.get(node)), 0, null, own);
        }
    }

    /** A case of a vector: what a test is named after, and what {@link Runner#check} runs. */
    public record Case(Vector vector, String id, String check, List<String> needs) {}

    /** Reads a bundle, compressed if its name ends in {@code .gz}. */
    public static Bundle load(Path path) throws IOException {
        String advice = "; write it with: peerproof vectors export --output FOLDER PROTOCOL --gzip";
        Bundle bundle;
        try (InputStream file = Files.newInputStream(path);
                InputStream text = path.toString().endsWith(".gz") ? new GZIPInputStream(file) : file) {
            bundle = Json.MAPPER.readValue(text, Bundle.class);
        } catch (NoSuchFileException error) {
            throw new IOException(path + " does not exist" + advice, error);
        } catch (JsonProcessingException | ZipException error) {
            throw new IOException(path + " is not a bundle of vectors of format " + FORMAT + advice, error);
        }
        if (bundle == null || bundle.format != FORMAT) {
            String found = bundle == null ? "no format" : "format " + bundle.format;
            throw new IOException(path + " has " + found + "; this runner reads " + FORMAT + advice);
        }
        return bundle.expand();
    }

    private Bundle expand() {
        List<Vector> all = new ArrayList<>(vectors);
        tables.forEach(table -> all.addAll(table.expand()));
        return new Bundle(format, digest, protocol, run, clauses, readings, messages, all, List.of());
    }

    /** All cases of all vectors, in their order. */
    public List<Case> cases() {
        return vectors.stream()
                .flatMap(vector -> vector.cases.stream().map(part -> new Case(vector, part.id, part.check, part.needs)))
                .toList();
    }

    private static <T> List<T> listed(List<T> items) {
        return items == null ? List.of() : items;
    }
}
