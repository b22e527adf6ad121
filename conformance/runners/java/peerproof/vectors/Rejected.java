package peerproof.vectors;

/** A message is malformed; the class is truncated, trailing, bad_type, bad_length, bad_value, too_large or other. */
public final class Rejected extends Exception {
    private static final long serialVersionUID = 1;

    private final String kind;

    public Rejected(String kind, String message) {
        super(message);
        this.kind = kind;
    }

    public Reaction.Reason reason() {
        return new Reaction.Reason(kind, getMessage());
    }
}
