package peerproof.vectors;

/**
 * The first place where an outcome is not as expected.
 *
 * @param isOtherForm whether both sides are the same message in other bytes
 * @param hasSameMeaning whether all that differs is parts of messages that mean nothing
 * @param reordered the place of the list around it that has the expected items in another order; null if none has
 */
public record Difference(
        String where, Object expected, Object actual, boolean isOtherForm, boolean hasSameMeaning, String reordered) {
    Difference(String where, Object expected, Object actual) {
        this(where, expected, actual, false, false, null);
    }

    Difference at(String other) {
        return new Difference(other, expected, actual, isOtherForm, hasSameMeaning, reordered);
    }

    Difference reordered(String list) {
        return list == null ? this : new Difference(where, expected, actual, isOtherForm, hasSameMeaning, list);
    }

    Difference otherForm() {
        return new Difference(where, expected, actual, true, hasSameMeaning, reordered);
    }

    Difference sameMeaning() {
        return new Difference(where, expected, actual, isOtherForm, true, reordered);
    }
}
