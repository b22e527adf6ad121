package peerproof.vectors;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Compares plain data with patterns: a closed list of matchers. */
final class Matching {
    private static final Set<String> MATCHERS = Set.of("any", "between", "multiset", "contains", "one_of", "bind", "ref");
    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,20}");
    private static final Object NOTHING = new Object(); // stands for a member that is not there

    private Matching() {}

    /** A list of names and what they stand for. */
    record Bound(String name, Object value, Bound rest) {
        static final Bound NONE = new Bound(null, null, null);

        boolean isBoundTo(String wanted, Object actual) {
            Bound found = this;
            while (found != null && !wanted.equals(found.name)) {
                found = found.rest;
            }
            return found != null && Objects.equals(found.value, actual);
        }
    }

    /** A matcher and its argument. */
    private record Matcher(String name, Object argument) {}

    private static Matcher matcherOf(Object expected) {
        if (expected instanceof Map<?, ?> object && object.size() == 1) {
            Map.Entry<?, ?> only = object.entrySet().iterator().next();
            if (only.getKey() instanceof String name && MATCHERS.contains(name)) {
                return new Matcher(name, only.getValue());
            }
        }
        return null;
    }

    /** The names after the first way in which the value matches; nothing if it does not match. */
    static Optional<Bound> firstWay(Object expected, Object actual, Bound bound) {
        return ways(expected, actual, bound).findFirst();
    }

    private static boolean fits(Object expected, Object actual, Bound bound) {
        return firstWay(expected, actual, bound).isPresent();
    }

    /** The names after each way in which the value matches, computed when they are asked for. */
    private static Stream<Bound> ways(Object expected, Object actual, Bound bound) {
        Matcher matcher = matcherOf(expected);
        if (matcher != null) {
            return ways(matcher, actual, bound);
        }
        if (expected instanceof Map<?, ?> wanted) {
            return actual instanceof Map<?, ?> found ? members(wanted, found, bound) : Stream.empty();
        }
        if (expected instanceof List<?> wanted) {
            boolean isAsLong = actual instanceof List<?> found && found.size() == wanted.size();
            return isAsLong ? inOrder(wanted, (List<?>) actual, bound) : Stream.empty();
        }
        return onlyIf(isEqual(expected, actual), bound);
    }

    private static Stream<Bound> ways(Matcher matcher, Object actual, Bound bound) {
        Object argument = matcher.argument;
        return switch (matcher.name) {
            case "any" -> onlyIf(actual != NOTHING, bound);
            case "between" -> onlyIf(isBetween((List<?>) argument, integer(actual)), bound);
            case "one_of" -> ((List<?>) argument).stream().flatMap(one -> ways(one, actual, bound));
            case "bind" -> onlyIf(actual != NOTHING, new Bound((String) argument, actual, bound));
            case "ref" -> onlyIf(bound.isBoundTo((String) argument, actual), bound);
            case "contains" -> {
                if (argument instanceof Map<?, ?> wanted) {
                    yield actual instanceof Map<?, ?> found ? members(wanted, selected(wanted, found), bound) : Stream.empty();
                }
                List<?> wanted = (List<?>) argument;
                boolean isLongEnough = actual instanceof List<?> found && found.size() >= wanted.size();
                yield isLongEnough ? pairings(wanted, (List<?>) actual, bound) : Stream.empty();
            }
            case "multiset" -> {
                List<?> wanted = (List<?>) argument;
                boolean isAsLong = actual instanceof List<?> found && found.size() == wanted.size();
                yield isAsLong ? pairings(wanted, (List<?>) actual, bound) : Stream.empty();
            }
            default -> throw new IllegalStateException(matcher.name);
        };
    }

    private static Stream<Bound> onlyIf(boolean matches, Bound bound) {
        return matches ? Stream.of(bound) : Stream.empty();
    }

    private static Stream<Bound> members(Map<?, ?> expected, Map<?, ?> actual, Bound bound) {
        if (!expected.keySet().containsAll(actual.keySet())) {
            return Stream.empty();
        }
        List<Object> found = new ArrayList<>();
        expected.keySet().forEach(name -> found.add(member(actual, name)));
        return inOrder(new ArrayList<>(expected.values()), found, bound);
    }

    private static Stream<Bound> inOrder(List<?> expected, List<?> actual, Bound bound) {
        Stream<Bound> ways = Stream.of(bound);
        for (int at = 0; at < expected.size(); at++) {
            Object wanted = expected.get(at);
            Object found = actual.get(at);
            if (!mentions(wanted, "bind") && !mentions(wanted, "ref")) { // one way at most, so that long lists need no deep stack
                if (!fits(wanted, found, bound)) {
                    return Stream.empty();
                }
            } else {
                ways = ways.flatMap(way -> ways(wanted, found, way));
            }
        }
        return ways;
    }

    /** Every assignment of items to expected items; only one if no names are bound. */
    private static Stream<Bound> pairings(List<?> expected, List<?> actual, Bound bound) {
        if (!mentions(expected, "bind")) {
            return onlyIf(eachHasItsOwn(expected, actual, bound), bound);
        }
        return IntStream.range(0, actual.size()).boxed().flatMap(at -> {
            List<?> rest = without(actual, at);
            return ways(expected.get(0), actual.get(at), bound)
                    .flatMap(way -> pairings(expected.subList(1, expected.size()), rest, way));
        });
    }

    private static List<?> without(List<?> items, int at) {
        List<?> rest = new ArrayList<>(items);
        rest.remove(at);
        return rest;
    }

    /** Whether every expected item can have a matching item of its own (augmenting paths). */
    private static boolean eachHasItsOwn(List<?> expected, List<?> actual, Bound bound) {
        int[] owners = new int[actual.size()];
        Arrays.fill(owners, -1);
        return IntStream.range(0, expected.size())
                .allMatch(each -> settle(each, expected, actual, bound, owners, new boolean[actual.size()]));
    }

    private static boolean settle(int each, List<?> expected, List<?> actual, Bound bound, int[] owners, boolean[] tried) {
        for (int at = 0; at < owners.length; at++) {
            if (!tried[at] && fits(expected.get(each), actual.get(at), bound)) {
                tried[at] = true;
                if (owners[at] < 0 || settle(owners[at], expected, actual, bound, owners, tried)) {
                    owners[at] = each;
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean mentions(Object expected, String matcher) {
        if (expected instanceof Map<?, ?> object) {
            return object.containsKey(matcher) || object.values().stream().anyMatch(each -> mentions(each, matcher));
        }
        return expected instanceof List<?> items && items.stream().anyMatch(each -> mentions(each, matcher));
    }

    private static Object member(Map<?, ?> object, Object name) {
        return object.containsKey(name) ? object.get(name) : NOTHING;
    }

    private static Map<String, Object> selected(Map<?, ?> wanted, Map<?, ?> actual) {
        Map<String, Object> some = Json.members(actual);
        some.keySet().retainAll(wanted.keySet());
        return some;
    }

    private static boolean isBetween(List<?> limits, BigInteger number) {
        return number != null
                && new BigInteger((String) limits.get(0)).compareTo(number) <= 0
                && number.compareTo(new BigInteger((String) limits.get(1))) <= 0;
    }

    private static BigInteger integer(Object value) {
        if (value instanceof BigInteger number) {
            return number;
        }
        return value instanceof String text && DIGITS.matcher(text).matches() ? new BigInteger(text) : null;
    }

    /** Whether literals are equal; an integer also equals the text of its digits, which is how plain data holds 64 bits. */
    private static boolean isEqual(Object expected, Object actual) {
        if (expected instanceof BigInteger number && actual instanceof String text) {
            return text.equals(number.toString());
        }
        if (expected instanceof Double number && actual instanceof Double other) {
            return number.doubleValue() == other.doubleValue();
        }
        if (expected instanceof Double number && actual instanceof BigInteger other) {
            return Math.abs(number) >= 0x1p53 && number == other.doubleValue(); // JavaScript writes it without a point
        }
        return Objects.equals(expected, actual);
    }

    /** The first place where the value does not match, as deep as possible; null if it matches. */
    static Difference firstDifference(Object expected, Object actual, Bound bound, String where) {
        if (fits(expected, actual, bound)) {
            return null;
        }
        Matcher matcher = matcherOf(expected);
        if (matcher != null) {
            return matcherDifference(matcher, expected, actual, bound, where);
        }
        if (expected instanceof List<?> wanted && actual instanceof List<?> found) {
            return itemDifference(wanted, found, bound, where);
        }
        if (expected instanceof Map<?, ?> wanted && actual instanceof Map<?, ?> found) {
            return memberDifference(wanted, found, bound, where);
        }
        return new Difference(where, expected, actual == NOTHING ? null : actual);
    }

    private static Difference matcherDifference(Matcher matcher, Object expected, Object actual, Bound bound, String where) {
        boolean isPairing = matcher.name.equals("multiset") || matcher.name.equals("contains");
        if (isPairing && matcher.argument instanceof List<?> wanted && actual instanceof List<?> found) {
            return pairingDifference(matcher.name, wanted, found, bound, where);
        }
        if (isPairing && matcher.argument instanceof Map<?, ?> wanted && actual instanceof Map<?, ?> found) {
            return firstDifference(wanted, selected(wanted, found), bound, where);
        }
        return new Difference(where, expected, actual == NOTHING ? null : actual);
    }

    private static Difference itemDifference(List<?> expected, List<?> actual, Bound before, String where) {
        int both = Math.min(expected.size(), actual.size());
        String reordered = isReordered(expected, actual, before, where) ? where : null;
        Bound bound = before;
        for (int at = 0; at < both; at++) {
            Optional<Bound> way = firstWay(expected.get(at), actual.get(at), bound);
            if (way.isEmpty()) {
                String place = where + "[" + at + "]";
                return firstDifference(expected.get(at), actual.get(at), bound, place).reordered(reordered);
            }
            bound = way.get();
        }
        return new Difference(where + "[" + both + "]", itemAt(expected, both), itemAt(actual, both));
    }

    private static Object itemAt(List<?> items, int at) {
        return at < items.size() ? items.get(at) : null;
    }

    private static Difference memberDifference(Map<?, ?> expected, Map<?, ?> actual, Bound before, String where) {
        String prefix = where.isEmpty() ? "" : where + ".";
        Bound bound = before;
        for (Object name : expected.keySet()) {
            Optional<Bound> way = firstWay(expected.get(name), member(actual, name), bound);
            if (way.isEmpty()) {
                return firstDifference(expected.get(name), member(actual, name), bound, prefix + name);
            }
            bound = way.get();
        }
        Set<Object> surplus = new LinkedHashSet<>(actual.keySet());
        surplus.removeAll(expected.keySet());
        return surplus.stream().findFirst().map(name -> new Difference(prefix + name, null, actual.get(name))).orElse(null);
    }

    /** Whether each expected item has an item of its own, in another order. */
    private static boolean isReordered(List<?> expected, List<?> actual, Bound bound, String where) {
        return expected.size() == actual.size()
                && pairingDifference("multiset", expected, actual, bound, where).where().equals(where);
    }

    private static Difference pairingDifference(String name, List<?> expected, List<?> actual, Bound bound, String where) {
        List<Integer> left = new ArrayList<>(IntStream.range(0, actual.size()).boxed().toList());
        List<Object> missing = new ArrayList<>();
        for (Object wanted : expected) {
            Optional<Integer> taken = left.stream().filter(at -> fits(wanted, actual.get(at), bound)).findFirst();
            taken.ifPresentOrElse(left::remove, () -> missing.add(wanted));
        }
        Object lacking = itemAt(missing, 0);
        if (name.equals("multiset") && !left.isEmpty()) {
            return new Difference(where + "[" + left.get(0) + "]", lacking, actual.get(left.get(0)));
        }
        return new Difference(where, lacking, null);
    }
}
