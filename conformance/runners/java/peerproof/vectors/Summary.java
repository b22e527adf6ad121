package peerproof.vectors;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Results in a few lines, for the end of a run of tests. */
public final class Summary {
    private static final int MOST_REASONS = 3;

    private Summary() {}

    /** How many cases have which verdict, and why most of those that were skipped or are undetermined are. */
    public static String counts(List<Result> results) {
        String counts = count(results.stream().map(Result::status)).stream()
                .map(each -> each.getValue() + " " + each.getKey()).collect(Collectors.joining(", "));
        String why = count(results.stream().filter(Result::isSilent).map(each -> each.status() + ": " + each.reason())).stream()
                .limit(MOST_REASONS).map(each -> each.getValue() + " " + each.getKey()).collect(Collectors.joining("; "));
        return results.size() + " cases: " + counts + (why.isEmpty() ? "" : " (" + why + ")");
    }

    /**
     * How many cases have this status, with the first as an example, and its reason; empty if none has. Of those that are tolerated
     * only cases that say should: the others never fail.
     */
    public static String examples(String status, List<Result> results) {
        List<Result> found = results.stream().filter(each -> each.status().equals(status))
                .filter(each -> each.isUnmetShould() || !status.equals("tolerated")).toList();
        if (found.isEmpty()) {
            return "";
        }
        String cases = found.size() == 1 ? "" : found.size() + " cases, such as ";
        return status + ": " + cases + found.get(0).id() + ": " + found.get(0).why();
    }

    /** Words with their number, the most frequent first. */
    private static List<Map.Entry<String, Long>> count(Stream<String> words) {
        return words.collect(Collectors.groupingBy(Function.identity(), Collectors.counting())).entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey()))
                .toList();
    }
}
