package peerproof.vectors;

/**
 * An implementation cannot do what a case asks for: the case is skipped, unless the offer says that it can. Any other exception
 * is a crash.
 */
public final class Unsupported extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Unsupported(String message) {
        super(message);
    }
}
