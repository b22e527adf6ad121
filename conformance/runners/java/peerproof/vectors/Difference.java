package peerproof.vectors;

/**
 * The first place where an outcome is not as expected.
 *
 * @param isOtherForm whether both sides are the same message in other bytes
 */
public record Difference(String where, Object expected, Object actual, boolean isOtherForm) {
    Difference(String where, Object expected, Object actual) {
        this(where, expected, actual, false);
    }

    Difference at(String other) {
        return new Difference(other, expected, actual, isOtherForm);
    }
}
