package peerproof.vectors;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/** Makes random choices, at a site of docs/reference/adapter.md. Options are texts or integers in plain form, in any order. */
@FunctionalInterface
public interface Choose {
    /**
     * Asks a question: the indices of the chosen options, in the order to use. Call one of the other methods instead, which ask
     * as the adapter protocol wants: for several different options, sorted by their bytes.
     *
     * @param kind {@code one}, {@code sample} or {@code permutation}
     */
    List<Integer> ask(String site, String kind, List<?> options, int some);

    /** One of the options. */
    default <T> T one(String site, Collection<T> options) {
        return sample(site, options, 1).get(0);
    }

    /** All options, in some order. */
    default <T> List<T> permutation(String site, Collection<T> options) {
        return sample(site, options, options.size());
    }

    /** Some of the options, in some order. */
    default <T> List<T> sample(String site, Collection<T> options, int some) {
        List<T> sorted = options.stream().distinct().sorted(Choose::compare).toList();
        if (sorted.size() < 2 || some == 0) {
            return sorted.subList(0, Math.min(some, sorted.size()));
        }
        int number = Math.min(some, sorted.size());
        String kind = number == sorted.size() ? "permutation" : number == 1 ? "one" : "sample";
        return ask(site, kind, sorted, number).stream().<T>map(sorted::get).toList();
    }

    private static int compare(Object one, Object other) {
        if (one instanceof Number number && other instanceof Number another) {
            return Long.compare(number.longValue(), another.longValue());
        }
        return Arrays.compareUnsigned(Text.bytes(one), Text.bytes(other));
    }
}
