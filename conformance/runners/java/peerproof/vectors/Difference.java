package peerproof.vectors;

/**
 * The first place where an outcome is not as expected.
 *
 * @param isOtherForm whether both sides are the same message in other bytes
 * @param reordered the place of the list around it that has the expected items in another order; null if none has
 */
public record Difference(String where, Object expected, Object actual, boolean isOtherForm, String reordered) {
    Difference(String where, Object expected, Object actual) {
        this(where, expected, actual, false, null);
    }

    Difference at(String other) {
        return new Difference(other, expected, actual, isOtherForm, reordered);
    }

    Difference reordered(String list) {
        return list == null ? this : new Difference(where, expected, actual, isOtherForm, list);
    }

    Difference otherForm() {
        return new Difference(where, expected, actual, true, reordered);
    }
}
