package peerproof.vectors;

import java.util.Map;

/** A node under test. Times are milliseconds of the case; addresses are plain data. */
public interface Node {
    Reaction receive(long now, Object from, byte[] datagram);

    /** Runs all timers that are due up to now, included. */
    Reaction advance(long now);

    /** A call of the application. */
    Reaction call(long now, String name, Map<String, Object> args);

    /** The answer to a query, which changes nothing. */
    Object query(String name, Map<String, Object> args);

    void crash();

    /** Starts the node again, with these changes to its configuration and nothing else kept. */
    Reaction restart(long now, Map<String, Object> config);

    /** A message arrived after some microseconds, or did not (null). */
    default Reaction sent(long now, Object to, byte[] datagram, Long took) {
        throw new Unsupported("datagrams have no outcome");
    }

    /** An event of a connection that a peer has opened: {@code conn}, {@code event}, and the {@code bytes} of {@code data}. */
    default Reaction stream(long now, Map<String, Object> event) {
        throw new Unsupported("datagrams have no connections");
    }
}
