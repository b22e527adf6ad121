package peerproof.vectors;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Compares plain data with patterns: a closed list of matchers. */
final class Matching {
    private static final Set<String> MATCHERS = Set.of("any", "between", "multiset", "contains", "one_of", "same");
    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,20}");
    private static final Object NOTHING = new Object(); // stands for a member that is not there

    private Matching() {}

    /** The first difference between values that have no names. */
    static Difference firstDifference(Object expected, Object actual, String where) {
        return firstDifference(expected, actual, new HashMap<>(), where);
    }

    private static boolean fits(Object expected, Object actual, Map<String, Object> names) {
        return firstDifference(expected, actual, names, "") == null;
    }

    /** The first place, as deep as possible, where a value does not match; null if it matches. Adds the names that it gets. */
    static Difference firstDifference(Object expected, Object actual, Map<String, Object> names, String where) {
        Difference here = new Difference(where, expected, actual == NOTHING ? null : actual);
        if (expected instanceof Map<?, ?> wanted) {
            Object name = wanted.size() == 1 ? wanted.keySet().iterator().next() : null;
            if (name instanceof String matcher && MATCHERS.contains(matcher)) {
                return matcherDifference(matcher, wanted.get(name), actual, names, here);
            }
            return actual instanceof Map<?, ?> found ? memberDifference(wanted, found, false, names, where) : here;
        }
        if (expected instanceof List<?> wanted) {
            return actual instanceof List<?> found ? itemDifference(wanted, found, names, where) : here;
        }
        return isEqual(expected, actual) ? null : here;
    }

    private static Difference matcherDifference(
            String matcher, Object argument, Object actual, Map<String, Object> names, Difference here) {
        if (argument instanceof Map<?, ?> wanted) { // of contains
            return actual instanceof Map<?, ?> found ? memberDifference(wanted, found, true, names, here.where()) : here;
        }
        boolean isWhole = matcher.equals("multiset");
        if (isWhole || matcher.equals("contains")) {
            return actual instanceof List<?> found ? pairingDifference((List<?>) argument, found, isWhole, names, here.where()) : here;
        }
        boolean matches = switch (matcher) {
            case "between" -> isBetween((List<?>) argument, integer(actual));
            case "one_of" -> ((List<?>) argument).stream().anyMatch(each -> fits(each, actual, names));
            case "same" -> isSame((String) argument, actual, names);
            default -> actual != NOTHING;
        };
        return matches ? null : here;
    }

    /** Whether a value is what the name stands for; one that stands for nothing yet stands for this value from now on. */
    private static boolean isSame(String name, Object actual, Map<String, Object> names) {
        if (actual != NOTHING && !names.containsKey(name)) {
            names.put(name, actual);
        }
        return actual != NOTHING && Objects.equals(names.get(name), actual);
    }

    private static Difference itemDifference(List<?> expected, List<?> actual, Map<String, Object> names, String where) {
        for (int at = 0; at < Math.max(expected.size(), actual.size()); at++) {
            String place = where + "[" + at + "]";
            if (at >= Math.min(expected.size(), actual.size())) {
                return new Difference(place, itemAt(expected, at), itemAt(actual, at));
            }
            Difference found = firstDifference(expected.get(at), actual.get(at), names, place);
            if (found != null) {
                return found.reordered(isReordered(expected, actual, names, where) ? where : null);
            }
        }
        return null;
    }

    private static Object itemAt(List<?> items, int at) {
        return at < items.size() ? items.get(at) : null;
    }

    /** The first difference of members in the order of their names; of those that are expected, if others are allowed. */
    private static Difference memberDifference(
            Map<?, ?> expected, Map<?, ?> actual, boolean areOthersAllowed, Map<String, Object> names, String where) {
        String prefix = where.isEmpty() ? "" : where + ".";
        Set<Object> members = new TreeSet<>(expected.keySet());
        members.addAll(areOthersAllowed ? Set.of() : actual.keySet());
        for (Object member : members) {
            Object found = actual.containsKey(member) ? actual.get(member) : NOTHING;
            Difference different = expected.containsKey(member)
                    ? firstDifference(expected.get(member), found, names, prefix + member)
                    : new Difference(prefix + member, null, found);
            if (different != null) {
                return different;
            }
        }
        return null;
    }

    /** Whether each expected item has an item of its own, in another order. */
    private static boolean isReordered(List<?> expected, List<?> actual, Map<String, Object> names, String where) {
        return pairingDifference(expected, actual, true, new HashMap<>(names), where) == null;
    }

    /** The first item that is left if each expected item takes the first one that matches; then the first that is missing. */
    private static Difference pairingDifference(
            List<?> expected, List<?> actual, boolean isWhole, Map<String, Object> names, String where) {
        boolean hasSize = isWhole ? expected.size() == actual.size() : expected.size() <= actual.size();
        if (hasSize && eachHasItsOwn(expected, actual, names)) {
            return null;
        }
        List<Integer> left = new ArrayList<>(IntStream.range(0, actual.size()).boxed().toList());
        List<Object> missing = new ArrayList<>();
        for (Object wanted : expected) {
            left.stream().filter(at -> fits(wanted, actual.get(at), names)).findFirst()
                    .ifPresentOrElse(left::remove, () -> missing.add(wanted));
        }
        Object lacking = itemAt(missing, 0);
        if (isWhole && !left.isEmpty()) {
            return new Difference(where + "[" + left.get(0) + "]", lacking, actual.get(left.get(0)));
        }
        return new Difference(where, lacking, null);
    }

    /** Whether every expected item can have a matching item of its own (augmenting paths). */
    private static boolean eachHasItsOwn(List<?> expected, List<?> actual, Map<String, Object> names) {
        int[] owners = new int[actual.size()];
        Arrays.fill(owners, -1);
        return IntStream.range(0, expected.size())
                .allMatch(each -> settle(each, expected, actual, names, owners, new boolean[actual.size()]));
    }

    private static boolean settle(
            int each, List<?> expected, List<?> actual, Map<String, Object> names, int[] owners, boolean[] tried) {
        for (int at = 0; at < owners.length; at++) {
            if (!tried[at] && fits(expected.get(each), actual.get(at), names)) {
                tried[at] = true;
                if (owners[at] < 0 || settle(owners[at], expected, actual, names, owners, tried)) {
                    owners[at] = each;
                    return true;
                }
            }
        }
        return false;
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
}
