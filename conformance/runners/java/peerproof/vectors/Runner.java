package peerproof.vectors;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import peerproof.vectors.Bundle.Case;

/**
 * Runs the cases of a bundle against an implementation in this process. The verdicts are those of {@code peerproof run};
 * docs/reference/bundle.md describes bundles, and how a verdict follows from them.
 */
public final class Runner {
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final int MOST_HAPPENINGS = 20; // that the text of a failure shows
    private static final int MOST_FRAMES = 20;
    private static final int MOST_WHOLE = 3; // cases with the same first difference that are described whole
    private static final int MOST_INPUT = 400; // characters of what the codec is asked about

    private final Bundle bundle;
    private final Implementation implementation;
    private final Implementation.Offer offer;
    private final Duration limit;
    private final Map<String, Result> decoding = new HashMap<>(); // of the decoder's cases
    private final Reader reader;
    private final Map<String, List<String>> alike = new HashMap<>(); // ids by the first difference, of what was described

    public Runner(Bundle bundle, Implementation implementation) {
        this(bundle, implementation, LIMIT);
    }

    /**
     * Runs the cases of the decoder first: a wrong one must not say what a message is.
     *
     * @param limit the time that a case may take; the runner goes on with the next case after that
     */
    public Runner(Bundle bundle, Implementation implementation, Duration limit) {
        this.bundle = bundle;
        this.implementation = implementation;
        this.offer = implementation.offer();
        this.limit = limit;
        Readings.check(bundle, offer.readings());
        Reader known = Reader.of(bundle);
        for (Case each : casesOf("decode", "rejects")) {
            decoding.put(each.id(), check(each, known));
        }
        String doubt = casesOf("decode", "rejects").stream()
                .filter(each -> isWrong(each.check(), decoding.get(each.id()).failure()))
                .map(Case::id).findFirst().orElse(null);
        this.reader = doubt == null ? known : known.with(doubt, writtenTypes(known.with(doubt, Set.of())));
    }

    private List<Case> casesOf(String... checks) {
        return bundle.cases().stream().filter(each -> List.of(checks).contains(each.check())).toList();
    }

    private static boolean isWrong(String check, String failure) {
        return check.equals("decode") ? failure != null : "accepted".equals(failure);
    }

    /** The types of messages whose cases the encoder passes all. */
    private Set<String> writtenTypes(Reader doubtful) {
        Map<String, Boolean> passed = new HashMap<>();
        for (Case each : casesOf("encode")) {
            boolean isRight = check(each, doubtful).status().equals("passed");
            passed.merge(String.valueOf(Reader.typeOf(each.vector().value())), isRight, Boolean::logicalAnd);
        }
        passed.values().removeIf(isRight -> !isRight);
        return passed.keySet();
    }

    String protocol() {
        return bundle.protocol();
    }

    /** The first case that the decoder fails; null if there is none. */
    String doubt() {
        return reader.doubt();
    }

    /** What the offer claims and these results do not confirm: declared readings, and nodes, if none opens in all cases. */
    public List<String> unconfirmed(List<Result> results) {
        List<String> problems = Readings.unconfirmed(offer.readings(), results);
        List<String> unopened = new ArrayList<>();
        for (Result result : results) {
            String why = String.valueOf(result.reason());
            String lacking = result.status().equals("skipped") ? why.replaceFirst("^" + Trial.UNSUPPORTED, "") : null;
            if (!result.of().needs().contains("exchange") || why.equals(lacking)) {
                continue;
            }
            if (lacking == null || !lacking.matches("(?s)(open|load): .*")) {
                return problems;
            }
            unopened.add(lacking.split(": ", 2)[1]);
        }
        if (!unopened.isEmpty() && results.size() == bundle.cases().size()) {
            String most = Summary.byCount(unopened.stream()).get(0).split(" ", 2)[1];
            String cases = unopened.size() + " cases: ";
            problems.add(bundle.protocol() + ": exchange is claimed, but open was unsupported in all " + cases + most);
        }
        return problems;
    }

    /** The verdict of each case, in the order of the bundle; each is run when it is asked for. */
    public static Stream<Result> run(Bundle bundle, Implementation implementation) {
        Runner runner = new Runner(bundle, implementation);
        return bundle.cases().stream().map(runner::check);
    }

    /** Runs one case. */
    public Result check(Case each) {
        Result decoded = decoding.get(each.id());
        return decoded == null ? check(each, reader) : decoded;
    }

    private Result check(Case each, Reader messages) {
        Trial trial = new Trial(bundle, each, implementation, offer, messages);
        FutureTask<Result> running = new FutureTask<>(trial::run);
        Thread thread = new Thread(running, each.id());
        thread.setDaemon(true); // one that never ends must not keep the program
        thread.start();
        try {
            return running.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            thread.interrupt();
            String actual = "no answer within " + limit.toSeconds() + " s";
            return trial.judge(Failure.ofReply("hung", trial.op, actual, null));
        } catch (ExecutionException | InterruptedException error) {
            throw new IllegalStateException("the runner failed at " + each.id(), error);
        }
    }

    /** The same as {@link #text}, in one line if three others with the same first difference have been described whole. */
    public String describe(Result result) {
        if (result.difference() == null) {
            return text(result);
        }
        String difference = Summary.difference(result);
        List<String> ids = alike.computeIfAbsent(difference, name -> new ArrayList<>());
        ids.add(result.id());
        if (ids.size() <= MOST_WHOLE) {
            return text(result);
        }
        String line = result.status() + ": " + result.id() + ": " + difference + ", as " + ids.get(0);
        return result.reason() == null ? line : line + "\n  " + result.reason();
    }

    /** A result as text: what is expected, the clauses behind it, the first difference, what happened, and where to read on. */
    public String text(Result result) {
        if (result.status().equals("stale")) {
            return "stale: " + result.why();
        }
        Bundle.Vector vector = result.of().vector();
        List<String> rests = result.decisions().isEmpty() ? vector.clauses() : result.decisions();
        List<String> lines = new ArrayList<>(List.of(result.status() + ": " + vector.title()));
        for (String name : rests) {
            Bundle.Clause clause = bundle.clauses().get(name);
            lines.add("  %s %s: %s".formatted(name, clause.standing(), clause.text()));
            lines.add("    in " + clause.read());
        }
        if (result.reason() != null) {
            lines.add("  " + result.reason());
        }
        if (result.input() != null) {
            lines.add("  input: " + shortened(result.input()));
        }
        if (result.difference() != null) {
            lines.add("  first difference (%s): %s".formatted(result.failure(), result.difference().where()));
            lines.add("    expected  " + Json.canonical(result.difference().expected()));
            lines.add("    actual    " + Json.canonical(result.difference().actual()));
            if (result.difference().reordered() != null) {
                lines.add("    " + result.difference().reordered() + ": the same items in another order");
            }
        }
        if (result.crash() != null) {
            lines.add("  stack");
            Arrays.stream(result.crash().getStackTrace()).limit(MOST_FRAMES).forEach(frame -> lines.add("    " + frame));
        }
        lines.addAll(happened(result));
        lines.add("  read on: peerproof explain " + rests.get(0) + "; peerproof vectors show " + vector.id());
        return String.join("\n", lines);
    }

    /** The beginning of what the codec is asked about, and its length. */
    private static String shortened(String input) {
        int length = input.codePointCount(0, input.length());
        return length <= MOST_INPUT ? input
                : input.substring(0, input.offsetByCodePoints(0, MOST_INPUT)) + "… (" + length + " characters)";
    }

    private List<String> happened(Result result) {
        List<TraceEvent> all = result.happened();
        if (all.isEmpty()) {
            return List.of();
        }
        int before = Math.max(0, all.size() - MOST_HAPPENINGS);
        List<String> lines = new ArrayList<>();
        String which = before == 0 ? "" : " (the last %d of %d events)".formatted(MOST_HAPPENINGS, all.size());
        lines.add("  what happened" + which);
        all.subList(before, all.size()).forEach(each -> lines.add(each.line() + typeOf(each.digits())));
        return lines;
    }

    /** The type of a message, if the decoder can be asked and trusted. */
    private String typeOf(String digits) {
        boolean isKnown = reader.known().containsKey(digits);
        if (!isKnown && (digits.isEmpty() || reader.doubt() != null || !offer.capabilities().contains("codec"))) {
            return "";
        }
        try {
            Object message = isKnown ? reader.known().get(digits)
                    : Json.plain(implementation.decode(HexFormat.of().parseHex(digits)));
            String type = Reader.typeOf(message);
            return type == null ? "" : "  (" + type + ")";
        } catch (Rejected rejected) {
            return "  (no message)";
        } catch (RuntimeException | StackOverflowError crash) { // it has failed a case of its own
            return "";
        }
    }
}
