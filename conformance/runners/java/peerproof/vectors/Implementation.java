package peerproof.vectors;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What is tested: the plug between the vectors and your code.
 *
 * <p>Messages, addresses, states and events are plain data in the form of docs/reference/messages.md: maps, lists, String,
 * numbers, Boolean and null. What the runner passes has BigInteger and Double for numbers; what you return may be anything that
 * Jackson writes in that form, also records.
 */
public interface Implementation {
    /** What the implementation can do; cases that need more are skipped. */
    Offer offer();

    /** The message of a datagram. */
    Object decode(byte[] datagram) throws Rejected;

    /** The datagram of a message. */
    byte[] encode(Object message) throws Rejected;

    /** Makes a node without any network. */
    default Opened open(Opening opening, Choose choose) {
        throw new Unsupported("no nodes yet");
    }

    /** The transports over which {@link #serve} runs nodes, udp or tcp. */
    default Set<String> sockets() {
        return Set.of();
    }

    /** Starts a node on a clock of its own, which listens on a socket, for {@code peerproof run --transport}. */
    default Served serve(Listening listening) throws IOException {
        throw new Unsupported("nodes do not run on sockets yet");
    }

    /** Its name and version in reports. */
    default String name() {
        return getClass().getName();
    }

    default String version() {
        return "0";
    }

    /**
     * What an implementation can do, in the words of docs/how-to/write-an-adapter.md.
     *
     * @param events the kinds that it reports; null: all but the optional ones
     * @param limits the largest value of members of the configuration
     * @param isOracle whether it asks {@link Choose} where the protocol says "at random"
     * @param readings clause to the name of the other reading that it takes (docs/reference/decisions.md)
     */
    record Offer(
            Set<String> capabilities, Set<String> events, Map<String, Long> limits, boolean isOracle,
            Map<String, String> readings) {
        public Offer(Set<String> capabilities, Set<String> events, Map<String, Long> limits, boolean isOracle) {
            this(capabilities, events, limits, isOracle, Map.of());
        }

        /** These capabilities, all events, no limits, and random choices of its own. */
        public static Offer of(String... capabilities) {
            return new Offer(Set.of(capabilities), null, Map.of(), false);
        }
    }

    /**
     * A new node.
     *
     * @param testCase the case that it is for, for logs
     * @param config the members that differ from the defaults
     * @param seed for random choices of its own
     * @param state what it begins in, with the timers and no others; null for a new node
     * @param timers each {@code {"timer": …, "due_ms": …}}
     */
    record Opening(
            String testCase, String name, Object addr, long now, Map<String, Object> config, String seed,
            Object state, List<Object> timers) {}

    /** A node, and what it did when it was opened. */
    record Opened(Node node, Reaction reaction) {}

    /**
     * A new node on a socket.
     *
     * @param via the transports that it listens on
     * @param bind a numeric HOST:PORT, where port 0 is any that is free
     * @param config the members that differ from the defaults
     * @param seed for random choices of its own
     */
    record Listening(
            String testCase, String name, List<String> via, String bind, Map<String, Object> config, String seed) {}

    /** A node that listens, and its address for each transport. */
    record Served(ListeningNode node, Map<String, String> addrs) {}
}
