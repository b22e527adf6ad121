package adapter;

import java.util.List;
import java.util.Map;
import java.util.Set;
import peerproof.vectors.Choose;
import peerproof.vectors.Node;
import peerproof.vectors.Reaction;
import peerproof.vectors.Rejected;
import peerproof.vectors.Unsupported;

/**
 * The plug between the vectors and your implementation of scuttlebutt: the file to fill in. It only translates.
 *
 * <p>Values are in plain form: an object is a Map, a text is a String or {@code {"hex": "fffe"}} (the class Text of the runner
 * translates both ways), an integer of 64 bits is a String of decimal digits, bytes are hexadecimal digits. Numbers come as
 * BigInteger or Double. What you return may be anything that Jackson writes in this form.
 */
public final class ScuttlebuttImplementation implements peerproof.vectors.Implementation {
    /**
     * What your implementation can do; cases that need more are skipped. "codec" is claimed from the start, so that there is
     * something to check. Add "exchange" once a node can receive and advance, "api.NAME" for each call, "observe.NAME" for each
     * query, "events" if the node reports events, "restart" if it can crash and start again, and "sent", "stream" and
     * "state.load" for the parts at the end.
     */
    private static final Set<String> CAPABILITIES = Set.of("codec");

    /**
     * Whether your implementation asks {@code choose} for every random choice. Then vectors that fix a choice apply too. Call
     * {@code choose} where your code calls its random generator, for example through a field.
     */
    private static final boolean IS_ORACLE = false;

    @Override
    public Offer offer() {
        return new Offer(CAPABILITIES, null, Map.of(), IS_ORACLE);
    }

    @Override
    public String name() {
        return "my-node";
    }

    @Override
    public String version() {
        return "0.1.0";
    }

    // 1. The codec: bytes to messages and back. Call your implementation's codec here.

    /**
     * Decodes a message: a Map with its "type" and members, as {@code peerproof vectors show} prints them above the bytes of a
     * vector of the codec. The class of a Rejected is truncated, trailing, bad_type, bad_length, bad_value, too_large or other. Any
     * class passes, unless a vector fixes one.
     */
    @Override
    public Object decode(byte[] datagram) throws Rejected {
        throw new Rejected("other", "decode is not written yet; there are " + datagram.length + " bytes");
    }

    /**
     * Encodes a message. Throws Unsupported if there is no message of this type, and Rejected if your implementation cannot send
     * such a message. The case fails either way, since "codec" is claimed.
     */
    @Override
    public byte[] encode(Object message) throws Rejected {
        throw new Unsupported("encode is not written yet");
    }

    // 2. Nodes: what happens to one, and how it reacts. Call your implementation's node here.

    /**
     * Opens a node, independent of all others in the process. Members that {@code config} lacks have the protocol's defaults. For
     * random choices, seed the generator with {@code opening.seed()}, or ask {@code choose}.
     *
     * <p>With a state, the node begins in it, and exactly {@code opening.timers()} run. Claim "state.load" if you support it.
     */
    @Override
    public Opened open(Opening opening, Choose choose) {
        if (opening.state() != null) {
            throw new Unsupported("load is not written yet");
        }
        MyNode node = new MyNode();
        return new Opened(node, node.reaction());
    }

    // 5. Optional: your own threads, timers and sockets, for `peerproof run --transport`. Override sockets, which returns
    // Set.of("udp"), and serve, which starts a ListeningNode.

    /**
     * One node. Every event carries the time: a node reads no clock, starts no timer and has no socket. Times are whole
     * milliseconds.
     *
     * <p>A Reaction has the effects in their order: {@code Reaction.Send} for a message, {@code Reaction.Event} for an event that
     * the application is told ({@code Map.of("name", …)}), {@code Reaction.Stream} for an action on a connection; and the time of
     * the node's next timer, null if none runs.
     */
    private static final class MyNode implements Node {
        private Reaction reaction() {
            return new Reaction(List.of(), null);
        }

        /** Handles a message; one that is malformed has no effect. */
        @Override
        public Reaction receive(long now, Object from, byte[] datagram) {
            return reaction();
        }

        /** Runs all timers that are due up to now, included, each at the time at which it was due. */
        @Override
        public Reaction advance(long now) {
            return reaction();
        }

        /** A call of the application. If it is refused, the third part of the Reaction is a Reason. Claim "api.NAME". */
        @Override
        public Reaction call(long now, String name, Map<String, Object> args) {
            throw new Unsupported("call of " + name + " is not written yet");
        }

        // 3. Queries: what can be seen of a node from outside. Claim "observe.NAME".

        @Override
        public Object query(String name, Map<String, Object> args) {
            throw new Unsupported("query of " + name + " is not written yet");
        }

        // 4. More parts: with each, more vectors apply. Claim "restart" for these two.

        @Override
        public void crash() {}

        /** Starts the node again, with these changes to its configuration and nothing else kept. */
        @Override
        public Reaction restart(long now, Map<String, Object> config) {
            throw new Unsupported("restart is not written yet");
        }

        /** The outcome of a message that the node sent: its microseconds, or null if it did not arrive. Claim "sent". */
        @Override
        public Reaction sent(long now, Object to, byte[] datagram, Long took) {
            throw new Unsupported("outcomes of messages are not written yet");
        }

        /**
         * An event of a connection "conn" that a peer opened: "open", "data" with "bytes" (perhaps a part of a message), "eof" or
         * "reset". Answer with {@code Reaction.Stream}. Claim "stream".
         */
        @Override
        public Reaction stream(long now, Map<String, Object> event) {
            throw new Unsupported("connections are not written yet");
        }
    }
}
