package peerproof.vectors;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import peerproof.vectors.Bundle.Case;
import peerproof.vectors.Bundle.Step;
import peerproof.vectors.Bundle.Vector;
import peerproof.vectors.Reaction.Reason;

/** A running case: what it asks the implementation, and how its verdict follows from a difference. */
final class Trial {
    static final String AFTER = "after the last step";
    static final String UNSUPPORTED = "the implementation does not support this ";

    final Bundle bundle;
    final Vector vector;
    final Implementation implementation;
    final Implementation.Offer offer;
    final List<String> tolerated = new ArrayList<>(); // the branches taken that are only tolerated
    Choices choices;
    Matching.Bound bound = Matching.Bound.NONE;
    volatile String place = ""; // the step that is being checked
    volatile String input; // of the codec: the op, and what it is asked about; null in a case without it
    volatile String op = ""; // the request that is being answered
    /** It was given bytes of a peer, or a call that it must refuse: readings of the document may end there. */
    volatile boolean isChallenged;
    volatile List<TraceEvent> happened = new ArrayList<>();
    private final Case running;
    final List<String> readings = new ArrayList<>(); // those that the implementation declares, and that explain failures
    private final Reader reader;

    Trial(Bundle bundle, Case running, Implementation implementation, Implementation.Offer offer, Reader reader) {
        this.bundle = bundle;
        this.vector = running.vector();
        this.running = running;
        this.implementation = implementation;
        this.offer = offer;
        this.reader = reader;
        this.choices = new Choices(Blake2b.digest(bundle.run().seed() + "/" + running.id(), 8));
    }

    String id() {
        return running.id();
    }

    Result run() {
        String lacking = missing();
        if (lacking != null) {
            return result("skipped", lacking);
        }
        try {
            Checks.run(running.check(), this);
        } catch (Unsupported error) {
            return result("skipped", error.getMessage());
        } catch (Failure.Undetermined error) {
            return result("undetermined", error.getMessage());
        } catch (Failure unmet) {
            readings.clear();
            readings.addAll(declared(unmet));
            return readings.isEmpty() ? judge(unmet) : result("passed", null);
        }
        return tolerated.isEmpty() ? result("passed", null) : result("tolerated", String.join("; ", tolerated));
    }

    private Result result(String status, String reason) {
        return new Result(running, status, null, List.of(), null, reason, List.copyOf(readings), null, List.of(), null);
    }

    /** Why the case is skipped; null if it is not. */
    private String missing() {
        for (String need : running.needs()) {
            boolean isTold = need.startsWith("events.") && tells(need.substring("events.".length()));
            if (!offers(need) && !isTold && !(need.equals("choices.oracle") && offer.isOracle())) {
                return "the implementation does not offer " + need;
            }
        }
        for (Bundle.NodeSpec node : vector.nodes()) {
            for (Map.Entry<String, Long> limit : offer.limits().entrySet()) {
                if (node.config().get(limit.getKey()) instanceof Number value && value.longValue() > limit.getValue()) {
                    return "the implementation takes at most " + limit.getValue() + " for " + limit.getKey();
                }
            }
        }
        boolean isBlind = offer.capabilities().stream().noneMatch(word -> word.startsWith("observe."));
        return isBlind && running.check().equals("unchanged") ? "the implementation offers nothing to observe" : null;
    }

    boolean offers(String capability) {
        return offer.capabilities().contains(capability);
    }

    /** Whether events of this kind are compared. */
    boolean tells(String kind) {
        Set<String> listed = offer.events();
        return offers("events") && (listed == null ? !bundle.run().optionalEvents().contains(kind) : listed.contains(kind));
    }

    // ---- verdicts

    Result judge(Failure unmet) {
        boolean owes = owesAnswer(unmet);
        List<String> decisions = owes || unmet.kind.equals("error") ? List.of() : decisions(unmet); // an error is the adapter's own
        String status = "failed";
        String reason = null;
        if (!unmet.isBroken() && !owes && !vector.level().equals("must")) {
            status = "tolerated";
            reason = "the vector says " + vector.level();
        } else if (!decisions.isEmpty()) {
            status = "differs";
        } else if (unmet.isBroken()) {
            status = unmet.kind;
        }
        List<TraceEvent> events = List.copyOf(happened);
        return new Result(running, status, unmet.kind, decisions, unmet.difference, reason, List.of(), input, events, unmet.getCause());
    }

    /** Whether no reading of the document explains this failure: no answer, though all that was asked is legal. */
    private boolean owesAnswer(Failure unmet) {
        boolean isAnswered = !Set.of("crashed", "hung", "error").contains(unmet.kind);
        return !isAnswered && !isChallenged && !Set.of("decode", "encode").contains(op);
    }

    /** The decisions on which the unmet expectation rests; none if the document's words require it. */
    private List<String> decisions(Failure unmet) {
        Set<String> named = new LinkedHashSet<>();
        Set<String> resting = new LinkedHashSet<>();
        boolean isOpen = false;
        String came = fingerprint(unmet);
        for (Map.Entry<String, Map<String, String>> entry : basis().entrySet()) {
            List<String> together = List.of(entry.getKey().split(" "));
            Set<String> outcomes = entry.getValue().keySet();
            if (outcomes.contains(came)) {
                named.addAll(together);
            }
            if (!Set.of("=", "~").containsAll(outcomes)) {
                resting.addAll(together);
                boolean isAnyEvent = unmet.kind.equals("events") && outcomes.contains("*events");
                isOpen = isOpen || isAnyEvent || outcomes.contains("!") || outcomes.contains("*");
            }
        }
        if (!named.isEmpty()) {
            return List.copyOf(named);
        }
        boolean isAlone = offer.isOracle() || !running.needs().contains("choices.oracle");
        if (came.equals("!") || (isAlone && !isOpen) || resting.isEmpty()) {
            boolean isOnly = vector.clauses().stream().allMatch(clause -> clause.matches("[A-Z]A-\\d+"));
            return isOnly ? vector.clauses() : List.of();
        }
        return List.copyOf(resting);
    }

    /** The readings that the implementation declares and that explain a failure. */
    List<String> declared(Failure unmet) {
        if (owesAnswer(unmet)) {
            return List.of();
        }
        List<String> outcomes = new ArrayList<>(List.of(fingerprint(unmet), "*", "!"));
        if (unmet.kind.equals("events")) {
            outcomes.add("*events");
        }
        return Readings.explaining(offer.readings(), vector.basis().getOrDefault(checkedAt(), Map.of()), outcomes);
    }

    /** The step that is being checked, or the check of a case without steps. */
    private String checkedAt() {
        return place.isEmpty() ? running.check() : place;
    }

    /** The decisions behind the expectation at this place, or behind the next one in the script. */
    private Map<String, Map<String, String>> basis() {
        String at = checkedAt();
        if (vector.basis().containsKey(at)) {
            return vector.basis().get(at);
        }
        List<Step> steps = vector.steps();
        boolean isReached = false;
        for (int index = 0; index < steps.size(); index++) {
            String name = "steps[" + index + "]";
            isReached = isReached || name.equals(at);
            if (isReached && steps.get(index).isCheck()) {
                return vector.basis().getOrDefault(name, Map.of());
            }
        }
        return vector.basis().getOrDefault(AFTER, Map.of());
    }

    /** The hash of an outcome, under which the basis lists the outcomes of other readings. */
    private static String fingerprint(Failure unmet) {
        if (unmet.kind.equals("crashed") || unmet.kind.equals("hung")) {
            return "!";
        }
        Difference found = unmet.difference;
        if (found.hasSameMeaning()) {
            return "~";
        }
        if (found.isOtherForm()) {
            return "=";
        }
        String where = unmet.kind.equals("events") ? found.where().replaceFirst("\\[\\d+\\]$", "") : found.where();
        List<Object> hashed = new ArrayList<>(List.of(unmet.kind, where));
        hashed.add(withoutReasons(found.actual()));
        return Blake2b.digest(Json.canonical(hashed), 6);
    }

    /** An outcome without why a message was rejected, and without the words in which a call was refused. */
    private static Object withoutReasons(Object actual) {
        Map<String, Object> made = Json.members(actual);
        made.computeIfPresent("rejected", (name, why) -> why instanceof Map ? true : why);
        made.computeIfPresent("refused", (name, why) -> {
            Map<String, Object> kept = Json.members(why);
            kept.remove("message");
            return why instanceof Map ? kept : why;
        });
        return actual instanceof Map ? made : actual;
    }

    // ---- the implementation

    /**
     * What the implementation answers; whatever it throws is a crash, unless it says that it does not support this and the offer
     * does not say otherwise.
     *
     * @param claimed the capability that covers the request; null if none does
     */
    <T> T ask(String request, String claimed, Supplier<T> asked) {
        op = request;
        try {
            return asked.get();
        } catch (Failure | Failure.Undetermined error) {
            throw error;
        } catch (Unsupported error) {
            if (claimed == null || !offers(claimed)) {
                throw new Unsupported(UNSUPPORTED + request + ": " + error.getMessage());
            }
            Map<String, Object> answer = Json.object("code", "unsupported", "message", error.getMessage());
            throw Failure.ofReply("error", request, Json.object("error", answer), null);
        } catch (Throwable crash) { // also errors, such as StackOverflowError
            throw Failure.ofReply("crashed", request, crash.toString(), crash);
        }
    }

    /** A message, or why it is rejected. */
    record Answer(Object value, Reason rejected) {}

    Answer decode(String digits) {
        return ask("decode", "codec", () -> {
            try {
                return new Answer(Json.plain(implementation.decode(HexFormat.of().parseHex(digits))), null);
            } catch (Rejected rejected) {
                return new Answer(null, rejected.reason());
            }
        });
    }

    /** The digits of a message's bytes, or why it is rejected. */
    Answer encode(Object message) {
        return ask("encode", "codec", () -> {
            try {
                return new Answer(HexFormat.of().formatHex(implementation.encode(message)), null);
            } catch (Rejected rejected) {
                return new Answer(null, rejected.reason());
            }
        });
    }

    /** A message: one of the bundle, or what the implementation decodes, if that can be relied on. */
    Object read(String digits) {
        if (reader.known().containsKey(digits)) {
            return reader.known().get(digits);
        }
        if (!offers("codec")) {
            throw new Unsupported("to read messages the codec is needed");
        }
        boolean isDoubtful = reader.doubt() != null;
        try {
            Answer answer = decode(digits);
            if (!isDoubtful) {
                return answer.rejected == null ? answer.value : "no message: " + answer.rejected.kind();
            }
            if (answer.rejected == null && writes(answer.value, digits)) {
                return answer.value;
            }
        } catch (Failure | Unsupported ended) {
            if (!isDoubtful) {
                throw new Failure.Undetermined("it depends on a message on which the decoder ends: " + TraceEvent.shortened(digits));
            }
        }
        throw new Failure.Undetermined("it depends on how the decoder reads a message, and the decoder fails " + reader.doubt()
                + ": see that case first");
    }

    /** Whether an encoder that is right for this type writes these bytes for a message. */
    private boolean writes(Object message, String digits) {
        String type = Reader.typeOf(message);
        return type != null && reader.written().contains(type) && digits.equals(encode(message).value);
    }

    String typeOf(String digits) {
        return Json.member(read(digits), "type") instanceof String type ? type : "an invalid message";
    }

    Difference bytesDifference(String where, String expected, String actual) {
        int at = 0;
        while (at < expected.length() && at < actual.length() && expected.startsWith(actual.substring(at, at + 2), at)) {
            at += 2;
        }
        Difference shown = new Difference(where + ", from byte " + at / 2, expected, actual);
        return compareMessages(shown, expected, actual, where.replaceFirst("bytes$", "message"));
    }

    /**
     * A difference with what two datagrams have to do with each other: whether they are the same message, and which list's order
     * alone differs. The same difference if the decoder cannot say, unless another reading has other forms of a message here: then
     * it is not known whether this is one.
     */
    Difference compareMessages(Difference shown, String one, String other, String where) {
        try {
            Object wanted = read(one);
            Object found = read(other);
            if (Objects.equals(wanted, found)) {
                return shown.otherForm();
            }
            Difference read = Matching.firstDifference(wanted, found, Matching.Bound.NONE, where);
            return read == null || shown.reordered() != null ? shown : shown.reordered(read.reordered());
        } catch (Failure.Undetermined | Unsupported silent) {
            if (basis().values().stream().anyMatch(outcomes -> outcomes.containsKey("="))) {
                throw silent;
            }
            return shown;
        }
    }

    /** Fails if the value does not match, and keeps the names that it binds. */
    void match(String kind, String where, Object expected, Object actual) {
        bound = Matching.firstWay(expected, actual, bound)
                .orElseThrow(() -> new Failure(kind, Matching.firstDifference(expected, actual, bound, where)));
    }

    /** Fails if the value is not as expected. */
    static void compare(String kind, String where, Object expected, Object actual) {
        Difference different = Matching.firstDifference(expected, actual, Matching.Bound.NONE, where);
        if (different != null) {
            throw new Failure(kind, different);
        }
    }
}
