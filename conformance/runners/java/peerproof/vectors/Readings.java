package peerproof.vectors;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The readings of clauses that an implementation declares (docs/explanation/document-or-decision.md). */
final class Readings {
    private Readings() {}

    /** Throws if an implementation declares a reading that is not described. Clauses of other protocols have another first letter. */
    static void check(Bundle bundle, Map<String, String> declared) {
        new TreeMap<>(declared).forEach((clause, name) -> {
            Map<String, String> described = bundle.readings().getOrDefault(clause, Map.of());
            boolean isOwn = bundle.readings().keySet().stream().anyMatch(own -> own.charAt(0) == clause.charAt(0));
            if (isOwn && !described.containsKey(name)) {
                String names = String.join(", ", described.keySet());
                throw new IllegalArgumentException("the offer declares " + clause + " as '" + name + "'; "
                        + (names.isEmpty() ? "no other reading of it is described" : "described are " + names));
            }
        });
    }

    /** The declared readings that explain a failure with one of these outcomes, at the place of this basis. */
    static List<String> explaining(
            Map<String, String> declared, Map<String, Map<String, String>> basis, List<String> outcomes) {
        for (Map.Entry<String, Map<String, String>> entry : basis.entrySet()) {
            String[] decisions = entry.getKey().split(" ");
            for (String outcome : outcomes) {
                String names = entry.getValue().get(outcome);
                if (names != null && areDeclared(declared, decisions, names.split(" "))) {
                    return Arrays.stream(decisions).map(decision -> decision + ": " + declared.get(decision)).toList();
                }
            }
        }
        return List.of();
    }

    /** Whether one of the readings of each decision is declared; their names have | between them. */
    private static boolean areDeclared(Map<String, String> declared, String[] decisions, String[] names) {
        for (int at = 0; at < decisions.length; at++) {
            if (!List.of(names[at].split("\\|")).contains(declared.getOrDefault(decisions[at], ""))) {
                return false;
            }
        }
        return true;
    }

    /** What is wrong with declared readings: no case confirms them, though some of these results could. */
    static List<String> unconfirmed(Map<String, String> declared, List<Result> results) {
        List<String> problems = new ArrayList<>();
        new TreeMap<>(declared).forEach((clause, name) -> {
            long count = results.stream()
                    .filter(result -> !result.isSilent() && result.of().vector().clauses().contains(clause)).count();
            boolean isConfirmed = results.stream().anyMatch(result -> result.readings().contains(clause + ": " + name));
            if (count > 0 && !isConfirmed) {
                problems.add("the offer declares " + clause + " as '" + name + "', but none of " + count
                        + " cases that cite it confirms that");
            }
        });
        return problems;
    }
}
