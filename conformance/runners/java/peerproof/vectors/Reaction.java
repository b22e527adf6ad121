package peerproof.vectors;

import java.util.List;
import java.util.Map;

/**
 * What a node does: its effects in order.
 *
 * @param nextTimer the time of its next timer; null if none runs
 * @param refused why a call was refused; null if it was carried out
 */
public record Reaction(List<Effect> effects, Long nextTimer, Reason refused) {
    public Reaction(List<Effect> effects, Long nextTimer) {
        this(effects, nextTimer, null);
    }

    /** One effect. */
    public sealed interface Effect permits Send, Event, Stream {}

    /** A message to an address. */
    public record Send(Object to, byte[] datagram) implements Effect {}

    /** An event for the application, with its {@code name}. */
    public record Event(Object event) implements Effect {}

    /** An action on a connection: {@code conn}, {@code event} ({@code data} or {@code close}), {@code bytes}. */
    public record Stream(Map<String, Object> action) implements Effect {}

    /** Why a message is malformed, or a call refused; {@code kind} is one of the suite's words, such as {@code truncated}. */
    public record Reason(String kind, String message) {
        Map<String, Object> plain() {
            return message == null ? Json.object("class", kind) : Json.object("class", kind, "message", message);
        }
    }
}
