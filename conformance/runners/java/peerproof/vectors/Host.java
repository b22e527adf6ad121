package peerproof.vectors;

import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import peerproof.vectors.Bundle.NodeSpec;
import peerproof.vectors.Reaction.Effect;

/** The nodes of a case under virtual time, and their output that no step has checked. */
class Host {
    final Trial trial;
    final List<Actor> actors = new ArrayList<>();
    final List<Object> events = new ArrayList<>();
    final List<Object> streams = new ArrayList<>();
    final List<Message> messages = new ArrayList<>();
    final List<Message> openEnded = new ArrayList<>(); // whose outcome the sender has not learnt
    long now;
    private long happenings;

    /** A node under test. */
    static final class Actor {
        final NodeSpec spec;
        final List<Object> told = new ArrayList<>(); // events that no step `told` has checked
        Node node;
        Long nextTimer;
        boolean isDown;
        private long now;
        private long number; // of messages, events and actions on connections
        private long size; // of their bytes

        Actor(NodeSpec spec) {
            this.spec = spec;
        }
    }

    /** What a node has sent. */
    static final class Message { // not a record: two equal messages are two messages
        final long at;
        final Actor sender;
        final Object to;
        final String digits;

        Message(long at, Actor sender, Object to, String digits) {
            this.at = at;
            this.sender = sender;
            this.to = to;
            this.digits = digits;
        }
    }

    Host(Trial trial, List<NodeSpec> nodes) {
        this.trial = trial;
        trial.happened = new ArrayList<>(); // without those of a twin before this one
        nodes.forEach(node -> actors.add(new Actor(node)));
    }

    void open() {
        for (Actor actor : actors) {
            NodeSpec spec = actor.spec;
            boolean isNew = spec.state() == null;
            note(actor, isNew ? "opened" : "opened in a given state");
            Implementation.Opening opening = new Implementation.Opening(
                    trial.id(), spec.name(), spec.addr(), 0, spec.config(), trial.choices.seed, spec.state(), spec.timers());
            Implementation.Opened opened = trial.ask(isNew ? "open" : "load", isNew ? claimed("exchange", spec.config()) : null,
                    () -> trial.implementation.open(opening, trial.choices));
            actor.node = opened.node();
            take(actor, opened.reaction());
        }
    }

    /** The capability that covers a request with a configuration; null for values that an implementation need not have. */
    private String claimed(String capability, Map<String, Object> config) {
        return trial.bundle.run().requiredConfig().containsAll(config.keySet()) ? capability : null;
    }

    Actor find(String name) {
        return actors.stream().filter(actor -> actor.spec.name().equals(name)).findFirst().orElse(null);
    }

    /** Does something with a node at the present time, and takes what the node does then. */
    private Reaction act(Actor actor, String op, String claimed, Function<Long, Reaction> asked) {
        actor.now = Math.max(actor.now, now);
        Reaction reaction = trial.ask(op, claimed, () -> asked.apply(actor.now));
        take(actor, reaction);
        return reaction;
    }

    void deliver(Actor actor, Object from, String digits) {
        trial.isChallenged = true;
        noteMessage(actor, "<-", from, digits);
        act(actor, "recv", "exchange", at -> actor.node.receive(at, from, HexFormat.of().parseHex(digits)));
    }

    void advance(Actor actor, String why) {
        note(actor, why);
        act(actor, "advance", "exchange", actor.node::advance);
    }

    Reaction call(Actor actor, String name, Map<String, Object> args) {
        note(actor, "call " + name + " " + Json.text(args));
        Reaction reaction = act(actor, "call", "api." + name, at -> actor.node.call(at, name, args));
        if (reaction.refused() != null) {
            note(actor, "refuses " + Json.text(reaction.refused().plain()));
        }
        return reaction;
    }

    void stream(Actor actor, Map<String, Object> event) {
        trial.isChallenged |= event.containsKey("bytes");
        note(actor, "connection " + Json.text(event));
        act(actor, "stream", "stream", at -> actor.node.stream(at, event));
    }

    /** Tells a sender the outcome of its message. */
    void settle(Message sent, Long took) {
        openEnded.remove(sent);
        note(sent.sender, "heard that the message to " + word(sent.to) + (took == null ? " did not arrive" : " arrived"));
        byte[] datagram = HexFormat.of().parseHex(sent.digits);
        act(sent.sender, "sent", "sent", at -> sent.sender.node.sent(at, sent.to, datagram, took));
    }

    void crash(Actor actor) {
        note(actor, "crashed");
        trial.ask("crash", "restart", () -> {
            actor.node.crash();
            return null;
        });
        actor.isDown = true;
        actor.nextTimer = null;
        openEnded.removeIf(sent -> sent.sender == actor);
    }

    void restart(Actor actor, Map<String, Object> config) {
        note(actor, config.isEmpty() ? "restarted" : "restarted " + Json.text(config));
        actor.isDown = false;
        act(actor, "restart", claimed("restart", config), at -> actor.node.restart(at, config));
    }

    Object query(Actor actor, String what, Map<String, Object> args) {
        Supplier<Object> asked = () -> Json.plain(actor.node.query(what, args));
        return trial.ask("query", "observe." + what, asked);
    }

    private void take(Actor actor, Reaction reaction) {
        if (trial.choices.wrong() != null) {
            String where = actor.spec.name() + ": choice";
            throw new Failure("choice", where, "the options that the vector answers", trial.choices.wrong());
        }
        int most = trial.bundle.run().limits().atOnce();
        List<Effect> effects = reaction.effects();
        effects.stream().limit(most).forEach(effect -> take(actor, effect));
        if (effects.size() > most) {
            Object actual = Json.object(actor.spec.name(), Json.integer(effects.size()));
            throw new Failure("flooded", "messages in reply to one request", Json.object("at most", Json.integer(most)), actual);
        }
        actor.nextTimer = reaction.nextTimer();
        if (actor.nextTimer != null && actor.nextTimer < actor.now) {
            String where = actor.spec.name() + ": next_timer_ms";
            throw new Failure("clock", where, "at least " + actor.now, Json.integer(actor.nextTimer));
        }
    }

    private void take(Actor actor, Effect effect) {
        if (effect instanceof Reaction.Send send) {
            count(actor, send.datagram().length);
            send(new Message(now, actor, Json.plain(send.to()), HexFormat.of().formatHex(send.datagram())));
        } else if (effect instanceof Reaction.Event told) {
            Object event = Json.plain(told.event());
            count(actor, 0);
            events.add(event);
            actor.told.add(event);
            note(actor, "reports " + Json.text(event));
        } else if (effect instanceof Reaction.Stream stream) {
            Object action = Json.plain(stream.action());
            String digits = Json.member(action, "bytes") instanceof String bytes ? bytes : "";
            count(actor, digits.length() / 2);
            streams.add(action);
            boolean isData = "data".equals(Json.member(action, "event"));
            note(actor, (isData ? "writes on" : "closes") + " connection " + Json.member(action, "conn")
                    + (isData ? ": " + TraceEvent.shortened(digits) : ""));
        }
    }

    /** Counts what a node does; a case that produces more than nodes reasonably can is stopped. */
    private void count(Actor actor, int bytes) {
        actor.number++;
        actor.size += bytes;
        stopIfBeyond("messages in this case", trial.bundle.run().limits().messages(), each -> each.number);
        stopIfBeyond("bytes of messages in this case", trial.bundle.run().limits().messageBytes(), each -> each.size);
    }

    private void stopIfBeyond(String what, long most, ToLongFunction<Actor> amount) {
        if (actors.stream().mapToLong(amount).sum() > most) {
            Map<String, Object> amounts = Json.object();
            actors.forEach(each -> amounts.put(each.spec.name(), Json.integer(amount.applyAsLong(each))));
            throw new Failure("flooded", what, Json.object("at most", Json.integer(most)), amounts);
        }
    }

    private void send(Message sent) {
        noteMessage(sent.sender, "->", sent.to, sent.digits);
        openEnded.add(sent);
        carry(sent);
    }

    /** Keeps a message until a step checks it; a network delivers it. */
    void carry(Message sent) {
        messages.add(sent);
    }

    /** Advances time, and runs all that is due by then; the named nodes are advanced in any case. */
    void advance(long until, List<String> names) {
        for (Due first = due(until); first != null; first = due(until)) {
            now = Math.max(now, first.at);
            happenings++;
            long most = trial.bundle.run().limits().happenings();
            if (happenings > most) {
                throw new Failure("clock", "at " + now + " ms", "an end of timers and messages", most + " of them");
            }
            first.happen.run();
        }
        now = Math.max(now, until);
        for (String name : names) {
            Actor actor = find(name);
            if (!actor.isDown && actor.now < until) {
                advance(actor, "advanced");
            }
        }
    }

    /** Something that is due, and how it happens. */
    record Due(long at, Runnable happen) {}

    /** The first timer that is due by then; null if there is none. */
    Due due(long until) {
        Actor first = null;
        for (Actor actor : actors) {
            boolean isDue = actor.nextTimer != null && actor.nextTimer <= until;
            if (isDue && (first == null || actor.nextTimer < first.nextTimer)) {
                first = actor;
            }
        }
        Actor found = first;
        return found == null ? null : new Due(found.nextTimer, () -> advance(found, "timer"));
    }

    // ---- what happened, for the text of a failure

    private static String word(Object addr) {
        return addr instanceof String text ? text : Json.text(addr);
    }

    void note(Actor actor, String what) {
        trial.happened.add(new TraceEvent(now, word(actor.spec.addr()), what, ""));
    }

    private void noteMessage(Actor actor, String direction, Object peer, String digits) {
        trial.happened.add(new TraceEvent(now, word(actor.spec.addr()), direction + " " + word(peer), digits));
    }

    /** Nodes whose messages all arrive after the same delay, unless the network is cut then. */
    static final class Network extends Host {
        private List<List<String>> groups = List.of();
        private final Deque<Arrival> onTheWay = new ArrayDeque<>(); // the earliest first

        private record Arrival(long at, Message sent, Object to) {}

        Network(Trial trial, List<NodeSpec> nodes) {
            super(trial, nodes);
        }

        void cut(List<List<String>> parts) {
            groups = parts;
            String sides = parts.stream()
                    .map(side -> side.stream().map(name -> word(find(name).spec.addr())).collect(Collectors.joining(", ")))
                    .collect(Collectors.joining(" | "));
            trial.happened.add(new TraceEvent(now, "network", parts.isEmpty() ? "healed" : "cut: " + sides, ""));
        }

        @Override
        void carry(Message sent) {
            long at = now + trial.vector.delay();
            if (sent.to.equals(trial.bundle.run().everybody())) {
                actors.forEach(actor -> onTheWay.add(new Arrival(at, sent, actor.spec.addr())));
            } else {
                onTheWay.add(new Arrival(at, sent, sent.to));
            }
        }

        @Override
        Due due(long until) {
            Due timer = super.due(until);
            Arrival first = onTheWay.peek();
            boolean isFirst = first != null && first.at <= until && (timer == null || timer.at > first.at);
            return isFirst ? new Due(first.at, this::arrive) : timer;
        }

        private void arrive() {
            Arrival first = onTheWay.remove();
            Message sent = first.sent;
            Actor receiver = actors.stream().filter(one -> Objects.equals(one.spec.addr(), first.to)).findFirst().orElse(null);
            boolean arrives = receiver != null && !receiver.isDown && !isCut(sent.sender.spec.name(), receiver.spec.name());
            if (arrives) {
                deliver(receiver, sent.sender.spec.addr(), sent.digits);
            }
            if (trial.bundle.run().transport().equals("tcp") && openEnded.contains(sent)) {
                settle(sent, arrives ? (Long) (trial.vector.delay() * 1000) : null);
            }
        }

        private boolean isCut(String one, String other) {
            List<String> side = sideOf(one);
            List<String> otherSide = sideOf(other);
            return side != null && otherSide != null && side != otherSide;
        }

        private List<String> sideOf(String name) {
            return groups.stream().filter(group -> group.contains(name)).findFirst().orElse(null);
        }
    }
}
