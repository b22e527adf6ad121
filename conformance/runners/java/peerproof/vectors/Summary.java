package peerproof.vectors;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The end of the tests: how many cases have which verdict, and groups of those that are not as they should be. */
public final class Summary {
    private static final int MOST_REASONS = 3; // of skipped cases
    private static final int MOST_GROUPS = 40; // of each kind
    private static final Pattern OWN_PLACE = Pattern.compile(
            "^(steps|setup)\\[\\d+\\]\\.|^after the last step\\.|, from byte \\d+$");
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    private Summary() {}

    /**
     * Which cases fail, and what the end of the tests names.
     *
     * @param strict whether a case fails also where a vector says should, as with {@code --strict} of {@code peerproof run}
     * @param strictDecisions and where only a decision of this project demands more, as with {@code --decisions strict}
     * @param file the file in which STRICT and STRICT_DECISIONS are
     * @param one the beginning of the command that runs one case, up to its id
     * @param adapter the command that runs the vectors by peerproof; empty if there is none
     */
    public record Settings(boolean strict, boolean strictDecisions, String file, String one, String adapter) {
        /** Whether the test of a case fails. One that passes although it is listed does not: the list is what is wrong. */
        public boolean fails(Result result) {
            return result.isViolation() || strict && result.isUnmetShould() || strictDecisions && result.status().equals("differs");
        }

        private String how(String name, boolean isSet) {
            return isSet ? "they fail, since " + name + " is set" : "to make that fail, set " + name + " in " + file;
        }

        /** The command that shows a case whole. */
        private String whole(String id) {
            return one + "'" + id + "'";
        }
    }

    /** A way in which cases are not as they should be. */
    private record Kind(String title, Predicate<Result> has) {}

    /** The lines of the end; none without results. A single case that fails no test is shown whole. */
    public static List<String> lines(Runner runner, List<Result> results, Settings settings) {
        if (results.isEmpty()) {
            return List.of();
        }
        List<String> skipped = reasons("skipped", results);
        String why = String.join("; ", skipped.subList(0, Math.min(skipped.size(), MOST_REASONS)));
        String counts = String.join(", ", byCount(results.stream().map(Result::status)));
        List<String> lines = new ArrayList<>();
        lines.add(runner.protocol() + ": " + results.size() + " cases: " + counts + (why.isEmpty() ? "" : " (" + why + ")"));
        if (results.size() == 1) {
            results.stream().filter(each -> !each.status().equals("passed") && !settings.fails(each))
                    .forEach(each -> lines.add(runner.text(each)));
            return lines;
        }
        List<String> unknown = reasons("undetermined", results);
        if (!unknown.isEmpty()) {
            lines.addAll(unknown);
            if (runner.doubt() != null) {
                lines.add("  to see it, whatever its verdict: " + settings.whole(runner.doubt()));
            }
            if (!settings.adapter.isEmpty()) {
                lines.add("  peerproof reads messages without your decoder: " + settings.adapter);
            }
        }
        List<Result> all = new ArrayList<>();
        for (Kind kind : kinds(settings)) {
            List<Result> found = results.stream().filter(kind.has).toList();
            if (!found.isEmpty()) {
                lines.add(found.size() + " " + kind.title + ":");
                lines.addAll(groups(found));
                all.addAll(found);
            }
        }
        if (!all.isEmpty()) {
            lines.add("one of them whole: " + settings.whole(all.get(0).id()));
            if (!settings.adapter.isEmpty()) {
                lines.add("all groups: " + settings.adapter + " --record run.jsonl; peerproof report groups run.jsonl");
            }
        }
        return lines;
    }

    /** The ways in which cases are not as they should be, those that violate the document first. */
    private static List<Kind> kinds(Settings settings) {
        String decisions = settings.how("STRICT_DECISIONS", settings.strictDecisions);
        String should = settings.how("STRICT", settings.strict);
        return List.of(
                new Kind("violate the document", Result::isViolation),
                new Kind("differ only in what a decision of the suite demands; " + decisions, each -> each.status().equals("differs")),
                new Kind("are tolerated, where a vector says should; " + should, Result::isUnmetShould));
    }

    private static List<String> reasons(String status, List<Result> results) {
        return byCount(results.stream().filter(each -> each.status().equals(status)).map(each -> status + ": " + each.reason()));
    }

    /** Words after their number, the most frequent first. */
    static List<String> byCount(Stream<String> words) {
        return words.collect(Collectors.groupingBy(Function.identity(), Collectors.counting())).entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()))
                .map(each -> each.getValue() + " " + each.getKey())
                .toList();
    }

    /** A line for the results that are probably of one fault, with the first of them, the largest group first. */
    private static List<String> groups(List<Result> results) {
        Map<String, String> first = new HashMap<>();
        results.forEach(each -> first.putIfAbsent(difference(each), each.id()));
        List<String> groups = byCount(results.stream().map(Summary::difference));
        List<String> lines = new ArrayList<>();
        for (String group : groups.subList(0, Math.min(groups.size(), MOST_GROUPS))) {
            String[] parts = group.split(" ", 2);
            lines.add("  " + parts[0] + "  " + parts[1] + ", such as " + first.get(parts[1]));
        }
        if (groups.size() > MOST_GROUPS) {
            lines.add("  and " + (groups.size() - MOST_GROUPS) + " smaller groups");
        }
        return lines;
    }

    /** The first difference without what is not the same in all cases of one fault: numbers, and values. */
    static String difference(Result result) {
        Difference found = result.difference();
        StringBuilder place = new StringBuilder(
                NUMBER.matcher(OWN_PLACE.matcher(found.where()).replaceAll("")).replaceAll(""));
        Object error = result.crash() == null ? Json.member(Json.member(found.actual(), "error"), "message") : found.actual();
        if (error != null) {
            String line = String.valueOf(error).lines().findFirst().orElse("");
            place.append(": ").append(NUMBER.matcher(line).replaceAll("N"));
        } else if (found.actual() == null) {
            place.append(": ").append((typeOf(found.expected()) + " is missing").strip());
        } else if (found.expected() == null) {
            place.append(": ").append((typeOf(found.actual()) + " was not expected").strip());
        }
        if (!result.decisions().isEmpty()) {
            place.append(" [").append(String.join(", ", result.decisions())).append(']');
        }
        return result.failure() + ": " + place;
    }

    private static String typeOf(Object message) {
        String type = Reader.typeOf(message);
        return type == null ? "" : type;
    }
}
