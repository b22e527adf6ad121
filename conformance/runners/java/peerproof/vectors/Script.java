package peerproof.vectors;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import peerproof.vectors.Bundle.Outcome;
import peerproof.vectors.Bundle.Step;

/** The steps of a vector with nodes. */
final class Script {
    private static final Map<String, Object> ANY = Map.of("any", true);

    private final Trial trial;
    private final Host host;
    private Object state; // of the node, if an outcome asks for it

    Script(Trial trial, Host host) {
        this.trial = trial;
        this.host = host;
    }

    void play() {
        host.open();
        List<Step> setup = trial.vector.setup();
        for (int at = 0; at < setup.size(); at++) {
            act(setup.get(at), "setup[" + at + "]");
        }
        clear();
        List<Step> steps = trial.vector.steps();
        for (int at = 0; at < steps.size(); at++) {
            Step step = steps.get(at);
            playStep("steps[" + at + "]", () -> play(step));
        }
        playStep(Trial.AFTER, this::checkNothingIsLeft);
    }

    /** Goes on after a failure that readings explain which the implementation declares. */
    private void playStep(String place, Runnable step) {
        trial.place = place;
        try {
            step.run();
        } catch (Failure unmet) {
            List<String> readings = trial.declared(unmet);
            if (readings.isEmpty()) {
                throw unmet;
            }
            trial.readings.addAll(readings);
            clear();
        }
    }

    private void play(Step step) {
        switch (step.action()) {
            case "expect" -> expect(step);
            case "observe" -> observe(step);
            case "told" -> checkTold(step);
            default -> act(step, trial.place);
        }
    }

    /** Runs an action at its time, after everything that is due earlier. */
    private void act(Step step, String where) {
        trial.choices.follow(step.picks());
        if (step.action().equals("advance") || host.due(step.at()) != null) {
            host.advance(step.at(), step.nodes());
        }
        host.now = Math.max(host.now, step.at());
        Host.Actor actor = host.find(step.node());
        switch (step.action()) {
            case "advance" -> { }
            case "receive" -> host.deliver(actor, step.from(), step.bytes());
            case "sent" -> reportOutcome(step, actor, where);
            case "stream" -> host.stream(actor, step.stream());
            case "call" -> call(step, actor, where);
            case "crash" -> host.crash(actor);
            case "restart" -> host.restart(actor, step.config());
            case "cut", "heal" -> ((Host.Network) host).cut(step.groups());
            default -> throw new IllegalArgumentException("this runner does not know the step " + step.action());
        }
    }

    /** Reports the outcome of the oldest message that is meant, or of all if no receiver is named. */
    private void reportOutcome(Step step, Host.Actor sender, String where) {
        boolean isAll = step.to() == null;
        List<Host.Message> meant = host.openEnded.stream()
                .filter(sent -> sent.sender == sender)
                .filter(sent -> isAll || sent.to.equals(step.to()))
                .filter(sent -> isAll || step.type() == null || trial.typeOf(sent.digits).equals(step.type()))
                .filter(sent -> step.bytes() == null || sent.digits.equals(step.bytes()))
                .toList();
        if (meant.isEmpty() && step.bytes() != null) { // a loaded node sent it before the vector began
            meant = List.of(new Host.Message(host.now, sender, step.to(), step.bytes()));
        }
        if (meant.isEmpty()) {
            throw new Failure("messages", where + ".sent", Json.object("node", step.node(), "to", step.to()), null);
        }
        meant.subList(0, isAll ? meant.size() : 1).forEach(sent -> host.settle(sent, step.tookUs()));
    }

    private void call(Step step, Host.Actor actor, String where) {
        trial.isChallenged |= step.refused() != null;
        Reaction.Reason refused = host.call(actor, step.name(), step.args()).refused();
        boolean isAnnounced = step.refused() != null;
        boolean isClass = !(step.refused() instanceof String) || refused == null || refused.kind().equals(step.refused());
        if ((refused != null) == isAnnounced && isClass) {
            return;
        }
        Object expected = isAnnounced ? Json.object("refused", step.refused()) : "the call is carried out";
        Object actual = refused != null ? Json.object("refused", refused.plain()) : "the call was carried out";
        throw new Failure("refused", where + ".call", expected, actual);
    }

    private void observe(Step step) {
        Object answer = host.query(host.find(step.node()), step.query(), step.args());
        trial.match("observed", trial.place + ".observe." + step.query(), step.equals(), answer);
    }

    /** Checks the events of a kind that one node's application received since the last check. */
    private void checkTold(Step step) {
        if (!trial.tells(step.event())) {
            return;
        }
        List<Object> told = host.find(step.node()).told;
        List<Object> found = new ArrayList<>(told);
        found.removeIf(event -> !step.event().equals(Json.member(event, "name")));
        told.removeIf(event -> step.event().equals(Json.member(event, "name")));
        trial.match("events", trial.place + ".told." + step.event(), step.equals(), found);
    }

    /** Checks the output since the last check: the first allowed outcome that matches is taken. */
    private void expect(Step step) {
        List<Outcome> allowed = step.outcomes();
        if (allowed.stream().anyMatch(branch -> branch.state() != null)) {
            state = host.query(host.actors.get(0), "state", Map.of());
        }
        if (step.picked() != null && trial.offer.isOracle()) {
            allowed = allowed.stream().filter(branch -> step.picked().equals(branch.branch())).toList();
        }
        takeBranch(allowed);
        clear();
        if (step.quietUntil() != null) {
            trial.choices.follow(List.of());
            host.advance(step.quietUntil(), List.of());
            checkNothingIsLeft();
        }
    }

    private void takeBranch(List<Outcome> allowed) {
        Failure closest = null;
        for (Outcome branch : allowed) {
            Matching.Bound before = trial.bound;
            try {
                check(branch);
            } catch (Failure unmet) {
                trial.bound = before;
                closest = closest == null ? unmet : closest;
                continue;
            }
            if (allowed.size() > 1 && "tolerated".equals(branch.verdict())) {
                trial.tolerated.add(branch.branch() + ": " + branch.because());
            }
            return;
        }
        if (allowed.size() == 1) {
            throw closest;
        }
        String names = allowed.stream().map(Outcome::branch).collect(Collectors.joining(", "));
        String among = " (none of the branches " + names + " fits; shown against the first)";
        throw new Failure(closest.kind, closest.difference.at(closest.difference.where() + among));
    }

    private void check(Outcome branch) {
        checkMessages(branch);
        trial.match("streams", trial.place + ".streams", branch.streams(), host.streams);
        if (branch.events() != null && trial.offers("events")) {
            List<Object> found = host.events.stream().filter(this::isCompared).toList();
            trial.match("events", trial.place + ".events", comparedEvents(branch.events()), found);
        }
        if (branch.state() != null) {
            trial.match("observed", trial.place + ".state", branch.state(), state);
        }
    }

    private boolean isCompared(Object event) {
        return Json.member(event, "name") instanceof String kind && trial.tells(kind);
    }

    /** An expectation of events without the kinds that are not compared. */
    private Object comparedEvents(Object expected) {
        if (expected instanceof Map<?, ?> matcher) { // of a list, such as {"multiset": […]}
            Map<String, Object> compared = new LinkedHashMap<>(Json.members(matcher));
            compared.replaceAll((name, argument) -> argument instanceof List ? comparedEvents(argument) : argument);
            return compared;
        }
        List<Object> compared = new ArrayList<>((List<?>) expected);
        compared.removeIf(event -> {
            Object named = event instanceof Map<?, ?> object && object.size() == 1 && object.containsKey("contains")
                    ? object.get("contains") : event;
            return Json.member(named, "name") instanceof String kind && !trial.tells(kind);
        });
        return compared;
    }

    private void checkMessages(Outcome branch) {
        boolean isRead = branch.messages().stream().anyMatch(wanted -> wanted.message() != null);
        List<Object> wanted = new ArrayList<>();
        for (Bundle.Message one : branch.messages()) {
            Map<String, Object> pattern = Json.object("to", one.to(), "bytes", one.bytes() == null ? ANY : one.bytes());
            if (isRead) {
                pattern.put("message", one.message() == null ? ANY : one.message());
            }
            wanted.add(pattern);
        }
        List<Map<String, Object>> found = new ArrayList<>();
        for (Host.Message sent : host.messages) {
            Map<String, Object> shown = Json.object("to", sent.to, "bytes", sent.digits);
            if (isRead) {
                shown.put("message", trial.read(sent.digits));
            }
            found.add(shown);
        }
        Object expected = "unordered".equals(branch.order()) ? Map.of("multiset", wanted) : wanted;
        String where = trial.place + ".messages";
        Matching.firstWay(expected, found, trial.bound).ifPresentOrElse(way -> trial.bound = way, () -> {
            Difference different = Matching.firstDifference(expected, found, trial.bound, where);
            List<Map<String, Object>> meant = withoutMeaningless(found);
            if (!meant.equals(found)) {
                Difference other = Matching.firstDifference(expected, meant, trial.bound, where);
                throw new Failure("messages", other == null ? readable(different).sameMeaning() : readable(other));
            }
            Difference shown = readable(different);
            if (shown.isOtherForm()) { // is there a message that differs in more than its form?
                Difference other = Matching.firstDifference(expected, rewritten(found), trial.bound, where);
                shown = other == null ? shown : readable(other);
            }
            throw new Failure("messages", shown);
        });
    }

    /** Messages without the items of their lists that mean nothing; as they are if they have none, or if the decoder cannot say. */
    private List<Map<String, Object>> withoutMeaningless(List<Map<String, Object>> found) {
        if (trial.bundle.run().meaningless().isEmpty()) {
            return found;
        }
        try {
            return found.stream().map(this::withoutMeaningless).toList();
        } catch (Failure.Undetermined | Unsupported silent) {
            return found;
        }
    }

    private Map<String, Object> withoutMeaningless(Map<String, Object> sent) {
        Object read = trial.read((String) sent.get("bytes"));
        Map<String, Object> meant = Json.members(read);
        List<Object> items = trial.bundle.run().meaningless().getOrDefault(String.valueOf(meant.get("type")), List.of());
        meant.replaceAll((name, value) ->
                value instanceof List<?> list ? list.stream().filter(item -> !items.contains(item)).toList() : value);
        if (meant.equals(read) || !(read instanceof Map)) {
            return sent;
        }
        Map<String, Object> shown = new LinkedHashMap<>(sent);
        shown.put("bytes", trial.encode(meant).value());
        shown.computeIfPresent("message", (name, message) -> meant);
        return shown;
    }

    /** Messages in the form in which the implementation would write them itself. */
    private List<Object> rewritten(List<Map<String, Object>> found) {
        List<Object> written = new ArrayList<>();
        for (Map<String, Object> one : found) {
            Map<String, Object> shown = new LinkedHashMap<>(one);
            shown.put("bytes", trial.encode(trial.read((String) one.get("bytes"))).value());
            written.add(shown);
        }
        return written;
    }

    /** A difference of messages without what only serves their comparison. */
    private Difference readable(Difference different) {
        if (different.where().endsWith(".bytes")
                && different.expected() instanceof String expected && different.actual() instanceof String actual) {
            return trial.bytesDifference(different.where(), expected, actual).reordered(different.reordered());
        }
        Difference shown = new Difference(different.where(), readable(different.expected()), readable(different.actual()))
                .reordered(different.reordered());
        if (Json.member(different.expected(), "bytes") instanceof String one
                && Json.member(different.actual(), "bytes") instanceof String other) {
            return trial.compareMessages(shown, one, other, different.where() + ".message");
        }
        return shown;
    }

    private static Object readable(Object side) {
        Map<String, Object> shown = Json.members(side);
        if (!shown.containsKey("bytes")) {
            return side;
        }
        shown.remove(shown.get("bytes") instanceof String ? "message" : "bytes");
        return shown;
    }

    private void checkNothingIsLeft() {
        if (!(host instanceof Host.Network)) {
            check(Outcome.NOTHING);
            clear();
        }
    }

    private void clear() {
        host.messages.clear();
        host.events.clear();
        host.streams.clear();
        host.actors.forEach(actor -> actor.told.clear());
    }
}
