package peerproof.vectors;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import peerproof.vectors.Bundle.Datagram;
import peerproof.vectors.Bundle.NodeSpec;
import peerproof.vectors.Bundle.Receiver;

/** The checks of cases: of the codec, of a node that receives malformed datagrams, and of scripts. */
final class Checks {
    private static final long LATER = 60_000; // milliseconds after which timers of any protocol have run

    private Checks() {}

    static void run(String check, Trial trial) {
        switch (check) {
            case "decode" -> decode(trial);
            case "encode" -> encode(trial, trial.vector.value());
            case "reencode" -> encode(trial, decode(trial));
            case "rejects" -> rejects(trial);
            case "survives" -> new Target(trial).deliver(digits(trial.vector.datagrams()));
            case "unchanged" -> unchanged(trial);
            case "serves" -> serves(trial);
            case "exchange" -> new Script(trial, new Host(trial, trial.vector.nodes())).play();
            case "cluster" -> new Script(trial, new Host.Network(trial, trial.vector.nodes())).play();
            default -> throw new IllegalArgumentException("this runner does not know the check " + check);
        }
    }

    /** The decoded message, if it is the right one. */
    private static Object decode(Trial trial) {
        Object expected = trial.vector.value();
        trial.input = "decode " + trial.vector.bytes();
        Trial.Answer answer = trial.decode(trial.vector.bytes());
        if (answer.rejected() != null) {
            Object actual = Json.object("rejected", answer.rejected().plain());
            throw new Failure("rejected", "decode", Json.object("value", expected), actual);
        }
        Trial.compare("value", "", expected, answer.value());
        return answer.value();
    }

    private static void encode(Trial trial, Object message) {
        String expected = trial.vector.bytes();
        trial.input = "encode " + Json.text(message);
        Trial.Answer answer = trial.encode(message);
        if (answer.rejected() != null) {
            Object actual = Json.object("rejected", answer.rejected().plain());
            throw new Failure("rejected", "encode", Json.object("bytes", expected), actual);
        }
        if (!expected.equals(answer.value())) {
            throw new Failure("bytes", trial.bytesDifference("bytes", expected, (String) answer.value()));
        }
    }

    /** Decodes all datagrams before it looks at an answer: a crash is worse than a datagram that is accepted. */
    private static void rejects(Trial trial) {
        List<Datagram> datagrams = trial.vector.datagrams();
        List<Trial.Answer> answers = digits(datagrams).stream().map(digits -> {
            trial.input = "decode " + digits;
            return trial.decode(digits);
        }).toList();
        String wanted = trial.vector.rejection();
        for (int at = 0; at < datagrams.size(); at++) {
            Datagram datagram = datagrams.get(at);
            Trial.Answer answer = answers.get(at);
            trial.input = "decode " + datagram.bytes();
            if (answer.rejected() == null) {
                Object actual = Json.object("bytes", datagram.bytes(), "value", answer.value());
                throw new Failure("accepted", datagram.name(), Json.object("rejected", "no message"), actual);
            }
            String found = answer.rejected().kind();
            if (wanted != null && !wanted.equals(found)) {
                throw new Failure("class", datagram.name() + ": rejected.class", wanted, found);
            }
        }
    }

    private static void unchanged(Trial trial) {
        Target target = new Target(trial);
        target.deliver(trial.vector.receiver().legal());
        target.host.messages.clear();
        Object before = target.observed();
        for (Datagram datagram : trial.vector.datagrams()) {
            target.deliver(List.of(datagram.bytes()));
            target.host.messages.stream().findFirst().ifPresent(first -> {
                Object actual = Json.object("to", first.to, "bytes", first.digits);
                throw new Failure("changed", datagram.name() + ": messages", null, actual);
            });
        }
        Trial.compare("changed", "", before, target.observed());
    }

    private static void serves(Trial trial) {
        List<List<Object>> twins = new ArrayList<>();
        for (List<String> malformed : List.of(List.<String>of(), digits(trial.vector.datagrams()))) {
            trial.choices = new Choices(trial.choices.seed); // the same answers for both
            Target target = new Target(trial);
            target.deliver(malformed);
            target.host.messages.clear();
            target.deliver(trial.vector.receiver().legal());
            if (target.actor.nextTimer != null) {
                target.host.advance(Math.min(LATER, target.actor.nextTimer), List.of());
            }
            twins.add(target.comparable());
        }
        Trial.compare("unserving", "messages", twins.get(0), twins.get(1));
    }

    private static List<String> digits(List<Datagram> datagrams) {
        return datagrams.stream().map(Datagram::bytes).toList();
    }

    /** The node that gets malformed datagrams. */
    private static final class Target {
        final Host host;
        final Host.Actor actor;
        private final Trial trial;

        Target(Trial trial) {
            Receiver receiver = trial.vector.receiver();
            this.trial = trial;
            host = new Host(trial, List.of(new NodeSpec("node", receiver.addr(), receiver.config(), null, null)));
            host.open();
            actor = host.actors.get(0);
        }

        void deliver(List<String> datagrams) {
            datagrams.forEach(digits -> host.deliver(actor, trial.vector.receiver().peer(), digits));
        }

        Object observed() {
            Map<String, Object> answers = Json.object();
            for (String what : trial.bundle.run().queries()) {
                if (trial.offers("observe." + what)) {
                    answers.put(what, host.query(actor, what, Map.of()));
                }
            }
            answers.put("next_timer_ms", actor.nextTimer == null ? null : Json.integer(actor.nextTimer));
            return answers;
        }

        /** Whole messages, or receivers and types in some order if the node makes random choices of its own. */
        List<Object> comparable() {
            List<Object> shown = new ArrayList<>();
            if (trial.offer.isOracle()) {
                host.messages.forEach(sent -> shown.add(Json.object("to", sent.to, "bytes", sent.digits)));
                return shown;
            }
            host.messages.stream()
                    .sorted(Comparator.<Host.Message>comparingLong(sent -> sent.at)
                            .thenComparing(sent -> Json.canonical(sent.to))
                            .thenComparing(sent -> trial.typeOf(sent.digits)))
                    .forEach(sent -> shown.add(
                            Json.object("at", Json.integer(sent.at), "to", sent.to, "type", trial.typeOf(sent.digits))));
            return shown;
        }
    }
}
