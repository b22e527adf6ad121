package peerproof.vectors;

/**
 * One line of what happened in a case, for the text of its failure.
 *
 * @param node the address of the node under test, or the word network
 * @param what what the node did, or what was done to it; before the bytes of a message, its direction and peer
 * @param digits the bytes of a message; empty if it is none
 */
public record TraceEvent(long at, String node, String what, String digits) {
    private static final int MOST_DIGITS = 60;

    static String shortened(String digits) {
        return digits.length() > MOST_DIGITS ? digits.substring(0, MOST_DIGITS) + "…" : digits;
    }

    String line() {
        String start = "    %6d ms  %s".formatted(at, node);
        return digits.isEmpty() ? start + "  " + what : start + " " + what + "  " + shortened(digits);
    }
}
