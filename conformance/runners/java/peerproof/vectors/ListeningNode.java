package peerproof.vectors;

import java.util.Map;

/**
 * A node that listens on a socket: its messages and its time do not come from the runner.
 *
 * <p>Its {@code advance} and {@code call} return the events for the application since the last of them. It is closed at the end, and
 * leaves its address.
 */
public interface ListeningNode extends Node, AutoCloseable {
    @Override
    default Reaction receive(long now, Object from, byte[] datagram) {
        throw new Unsupported("the node listens on a socket");
    }

    @Override
    default void crash() {
        throw new Unsupported("a node on a socket does not crash");
    }

    @Override
    default Reaction restart(long now, Map<String, Object> config) {
        throw new Unsupported("a node on a socket does not restart");
    }

    @Override
    void close();
}
