package peerproof.vectors;

import java.util.Map;

/** An expectation is not met: the class of the failure, and the first difference. */
final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1;

    final String kind;
    final transient Difference difference;

    Failure(String kind, Difference difference) {
        this(kind, difference, null);
    }

    Failure(String kind, String where, Object expected, Object actual) {
        this(kind, new Difference(where, expected, actual), null);
    }

    private Failure(String kind, Difference difference, Throwable cause) {
        super(kind, cause, false, false);
        this.kind = kind;
        this.difference = difference;
    }

    /** There is no proper reply to a request. */
    static Failure ofReply(String kind, String op, Object actual, Throwable cause) {
        return new Failure(kind, new Difference("reply to " + op, Map.of("ok", true), actual), cause);
    }

    /** Whether it is a status of its own: the implementation gave no proper answer at all. */
    boolean isBroken() {
        return kind.equals("crashed") || kind.equals("hung") || kind.equals("flooded");
    }

    /** The case depends on a decoder that may be wrong: there is no verdict. */
    static final class Undetermined extends RuntimeException {
        private static final long serialVersionUID = 1;

        Undetermined(String reason) {
            super(reason, null, false, false);
        }
    }
}
