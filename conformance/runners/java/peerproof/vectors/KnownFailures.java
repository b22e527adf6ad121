package peerproof.vectors;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The list of known failures, as {@code peerproof run --known-failing} reads it. It is checked in both directions, so that it
 * stays current: a listed case must fail, and in the listed way.
 *
 * <pre>
 * # id-or-pattern                        failure   expiry      link                   reason
 * scuttlebutt/codec/*-cut-*#survives     crashed   2027-06-30  https://…/issues/12    the decoder panics on short input
 * </pre>
 */
public final class KnownFailures {
    private static final List<String> COLUMNS = List.of("id-or-pattern", "failure-class", "expiry-or-dash", "link", "reason");
    private static final Set<String> FAILURES = Set.of(
            "crashed", "hung", "flooded", "garbled", "misshapen", "error", "bytes", "value", "rejected", "accepted", "class",
            "messages", "events", "streams", "observed", "refused", "choice", "clock", "changed", "unserving");

    private final Path file;
    private final List<Entry> entries = new ArrayList<>();
    private final List<String> unreadable = new ArrayList<>();

    private record Entry(String pattern, Pattern expression, String failure, LocalDate expiry, String reason, int line) {
        boolean fits(String id) {
            return pattern.equals(id) || (expression != null && expression.matcher(id).matches());
        }
    }

    private KnownFailures(Path file) {
        this.file = file;
    }

    /** Reads a list. */
    public static KnownFailures load(Path file) throws IOException {
        KnownFailures list = new KnownFailures(file);
        List<String> lines = Files.readAllLines(file, StandardCharsets.UTF_8);
        for (int at = 0; at < lines.size(); at++) {
            String line = lines.get(at).strip();
            if (!line.isEmpty() && !line.startsWith("#")) {
                list.add(line, at + 1);
            }
        }
        return list;
    }

    private void add(String line, int number) {
        String[] words = line.split("\\s+", COLUMNS.size());
        String place = file + ":" + number + ": ";
        if (words.length < COLUMNS.size()) {
            List<String> missing = COLUMNS.subList(words.length, COLUMNS.size());
            unreadable.add(place + "expected " + String.join(" ", COLUMNS) + "; missing: " + String.join(", ", missing));
            return;
        }
        if (!FAILURES.contains(words[1])) {
            String expected = String.join(", ", FAILURES.stream().sorted().toList());
            unreadable.add(place + "expected one of " + expected + ", found " + words[1]);
            return;
        }
        entries.stream().filter(each -> each.pattern.equals(words[0]) && each.failure.equals(words[1])).findFirst().ifPresent(
                other -> unreadable.add(place + words[0] + " is already listed as " + words[1] + ", in line " + other.line));
        try {
            LocalDate expiry = words[2].equals("-") ? null : LocalDate.parse(words[2]);
            entries.add(new Entry(words[0], expression(words[0]), words[1], expiry, words[4], number));
        } catch (DateTimeParseException error) {
            unreadable.add(place + "expected a date such as 2027-06-30, or -, found " + words[2]);
        }
    }

    /** The faults of the list itself: lines that cannot be read, have expired, or match no case. */
    public List<String> problems(Collection<Bundle.Case> cases, LocalDate today) {
        List<String> problems = new ArrayList<>(unreadable);
        for (Entry entry : entries) {
            String place = file + ":" + entry.line + ": ";
            if (entry.expiry != null && entry.expiry.isBefore(today)) {
                problems.add(place + entry.pattern + " expired on " + entry.expiry + ": fix the bug, or set a new date");
            }
            if (cases.stream().noneMatch(each -> entry.fits(each.id()))) {
                problems.add(place + "no case matches '" + entry.pattern + "': remove the entry");
            }
        }
        return problems;
    }

    /**
     * What is wrong if listed cases pass, once for all of them; empty if none does.
     *
     * @param adapter the command that runs the vectors by peerproof; empty if there is none
     */
    public List<String> stale(Collection<Result> results, String adapter) {
        List<Result> found = results.stream().filter(each -> each.status().equals("stale")).toList();
        if (found.isEmpty()) {
            return List.of();
        }
        String cases = found.size() == 1 ? "" : found.size() + " cases, such as ";
        String remedy = "\n  to remove all such lines: " + adapter + " --known-failing " + file + " --update-known-failing";
        return List.of("stale: " + cases + found.get(0).id() + ": " + found.get(0).why() + (adapter.isEmpty() ? "" : remedy));
    }

    /** Returns the result with the list applied. A case that fails as listed is known, even if that is tolerated. */
    public Result apply(Result result) {
        List<Entry> named = entries.stream().filter(entry -> entry.fits(result.id())).toList();
        if (named.isEmpty() || result.isSilent()) {
            return result;
        }
        String place = file + ":" + named.get(0).line;
        if (result.failure() == null) {
            return result.with("stale", "it passes, though " + place + " lists it");
        }
        Optional<Entry> known = named.stream().filter(entry -> entry.failure.equals(result.failure())).findFirst();
        if (known.isPresent()) {
            return result.with("known", known.get().reason);
        }
        String listed = "listed as " + named.get(0).failure + " in " + place + ", but it fails as " + result.failure();
        return result.with(result.status(), result.reason() == null ? listed : result.reason() + "; " + listed);
    }

    /** A pattern with {@code *}, {@code ?}, {@code [abc]}, {@code [!abc]} as a regular expression; null for an id. */
    private static Pattern expression(String pattern) {
        if (pattern.chars().noneMatch(sign -> "*?[".indexOf(sign) >= 0)) {
            return null;
        }
        StringBuilder expression = new StringBuilder();
        for (int at = 0; at < pattern.length(); at++) {
            char character = pattern.charAt(at);
            int end = pattern.indexOf(']', at + 2); // the first character of a set may be a bracket
            if (character == '*') {
                expression.append(".*");
            } else if (character == '?') {
                expression.append('.');
            } else if (character == '[' && end > 0) {
                boolean isNegated = pattern.charAt(at + 1) == '!';
                String set = pattern.substring(at + (isNegated ? 2 : 1), end).replaceAll("[\\\\\\[\\]^&]", "\\\\$0");
                expression.append(isNegated ? "[^" : "[").append(set).append(']');
                at = end;
            } else {
                expression.append(Pattern.quote(String.valueOf(character)));
            }
        }
        return Pattern.compile(expression.toString(), Pattern.DOTALL);
    }
}
