package peerproof.vectors;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** An implementation behind a program that speaks adapter protocol 1 (docs/how-to/write-an-adapter.md). */
public final class Adapter implements Implementation, AutoCloseable {
    private final Bundle bundle;
    private final List<String> command;
    private final Offer offer;
    private final Set<String> sockets;
    private Process program; // null until it is needed, also after it has ended
    private InputStream replies;
    private long count;
    private Choose choose;

    /** Starts an adapter for the vectors of a bundle. */
    public Adapter(Bundle bundle, List<String> command) {
        this.bundle = bundle;
        this.command = command;
        Map<String, Object> hello = start();
        Object offered = Json.member(hello.get("protocols"), bundle.protocol());
        Object own = Json.member(offered, "choices");
        Map<String, Long> limits = new HashMap<>();
        Json.members(Json.member(offered, "limits")).forEach((name, most) -> limits.put(name, ((Number) most).longValue()));
        Map<String, String> readings = new HashMap<>();
        Json.members(hello.get("readings")).forEach((clause, name) -> readings.put(clause, (String) name));
        this.offer = new Offer(
                words(Json.member(offered, "capabilities")), words(Json.member(offered, "events")), limits,
                "oracle".equals(own == null ? hello.get("choices") : own), readings);
        Set<String> listed = words(hello.get("sockets"));
        this.sockets = listed == null ? Set.of() : listed;
    }

    private static Set<String> words(Object listed) {
        if (!(listed instanceof List<?> items)) {
            return null;
        }
        Set<String> words = new LinkedHashSet<>();
        items.forEach(item -> words.add((String) item));
        return words;
    }

    private Map<String, Object> start() {
        try {
            program = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        replies = new BufferedInputStream(program.getInputStream());
        return ask("hello", Json.object(
                "protocol", List.of(1, 1), "runner", "java", "vectors", "", "choices", List.of("oracle", "set")));
    }

    @Override
    public void close() {
        if (program != null) {
            ask("bye", Json.object());
        }
    }

    /** Sends a request, answers the program's questions, and returns its reply. */
    private Map<String, Object> ask(String op, Map<String, Object> members) {
        if (program == null) {
            start();
        }
        count++;
        Map<String, Object> request = Json.object("id", count, "op", op);
        request.putAll(members);
        try {
            write(request);
            Map<String, Object> reply = read();
            for (Object question = reply.get("choice"); question != null; question = reply.get("choice")) {
                answer(Json.members(question));
                reply = read();
            }
            if (reply.get("error") instanceof Map<?, ?> error) {
                fail(op, error);
            }
            return reply;
        } catch (IOException error) {
            program.destroy();
            program = null;
            throw new UncheckedIOException(error);
        }
    }

    private void write(Object message) throws IOException {
        OutputStream requests = program.getOutputStream();
        requests.write(Json.line(message));
        requests.write('\n');
        requests.flush();
    }

    private Map<String, Object> read() throws IOException {
        byte[] line = Server.readLine(replies);
        if (line == null) {
            throw new IOException("the program has ended");
        }
        return Json.members(Json.parse(line));
    }

    private void answer(Map<String, Object> question) throws IOException {
        int some = question.get("some") instanceof Number number ? number.intValue() : 0;
        List<Integer> picked = choose.ask(
                (String) question.get("site"), (String) question.get("kind"), (List<?>) question.get("of"), some);
        write(Json.object("choice", Json.object("for", question.get("for"), "n", question.get("n"), "pick", picked)));
    }

    private static void fail(String op, Map<?, ?> error) {
        String message = String.valueOf(error.get("message"));
        switch (String.valueOf(error.get("code"))) {
            case "unsupported" -> throw new Unsupported(message);
            case "panic" -> throw new IllegalStateException(message);
            case "timeout" -> throw Failure.ofReply("hung", op, Map.of("error", error), null);
            default -> throw Failure.ofReply("error", op, Map.of("error", error), null);
        }
    }

    @Override
    public Offer offer() {
        return offer;
    }

    @Override
    public Object decode(byte[] datagram) throws Rejected {
        String digits = HexFormat.of().formatHex(datagram);
        Map<String, Object> reply = ask("decode", Json.object("protocol", bundle.protocol(), "bytes", digits));
        throwRejected(reply);
        return reply.get("value");
    }

    @Override
    public byte[] encode(Object message) throws Rejected {
        Map<String, Object> reply = ask("encode", Json.object("protocol", bundle.protocol(), "value", message));
        throwRejected(reply);
        return HexFormat.of().parseHex((String) reply.get("bytes"));
    }

    private static void throwRejected(Map<String, Object> reply) throws Rejected {
        if (reply.get("rejected") instanceof Map<?, ?> rejected) {
            throw new Rejected((String) rejected.get("class"), (String) rejected.get("message"));
        }
    }

    @Override
    public Opened open(Opening opening, Choose chooses) {
        choose = chooses;
        Map<String, Object> about = Json.object(
                "case", opening.testCase(), "node", opening.name(), "protocol", bundle.protocol(), "addr", opening.addr(),
                "now_ms", opening.now(), "config", opening.config(), "seed", opening.seed());
        if (opening.state() != null) {
            about.put("state", opening.state());
            about.put("timers", opening.timers() == null ? List.of() : opening.timers());
        }
        Map<String, Object> reply = ask(opening.state() == null ? "open" : "load", about);
        return new Opened(new Remote(reply.get("handle")), reaction(reply));
    }

    @Override
    public Set<String> sockets() {
        return sockets;
    }

    @Override
    public Served serve(Listening listening) throws IOException {
        try {
            Map<String, Object> reply = ask("serve", Json.object(
                    "case", listening.testCase(), "node", listening.name(), "protocol", bundle.protocol(),
                    "via", listening.via(), "bind", listening.bind(), "config", listening.config(), "seed", listening.seed()));
            Map<String, String> addrs = new HashMap<>();
            Json.members(reply.get("addrs")).forEach((transport, addr) -> addrs.put(transport, (String) addr));
            return new Served(new Remote(reply.get("handle")), addrs);
        } catch (Failure refused) {
            throw new IOException(String.valueOf(refused.difference.actual()));
        }
    }

    private static Reaction reaction(Map<String, Object> reply) {
        List<Reaction.Effect> effects = new ArrayList<>();
        for (Object effect : (List<?>) reply.get("effects")) {
            if (Json.member(effect, "send") instanceof Map<?, ?> send) {
                effects.add(new Reaction.Send(send.get("to"), HexFormat.of().parseHex((String) send.get("bytes"))));
            } else if (Json.member(effect, "stream") instanceof Map<?, ?> stream) {
                effects.add(new Reaction.Stream(Json.members(stream)));
            } else {
                effects.add(new Reaction.Event(Json.member(effect, "event")));
            }
        }
        Long nextTimer = reply.get("next_timer_ms") instanceof Number number ? (Long) number.longValue() : null;
        Reaction.Reason refused = reply.get("refused") instanceof Map<?, ?> reason
                ? new Reaction.Reason((String) reason.get("class"), (String) reason.get("message")) : null;
        return new Reaction(effects, nextTimer, refused);
    }

    /** A node in the program. */
    private final class Remote implements ListeningNode {
        private final Object handle;

        Remote(Object handle) {
            this.handle = handle;
        }

        private Reaction act(String op, long now, Object... members) {
            Map<String, Object> request = Json.object("handle", handle, "now_ms", now);
            request.putAll(Json.object(members));
            return reaction(ask(op, request));
        }

        @Override
        public Reaction receive(long now, Object from, byte[] datagram) {
            String digits = HexFormat.of().formatHex(datagram);
            return act("recv", now, "via", bundle.run().transport(), "from", from, "bytes", digits);
        }

        @Override
        public Reaction advance(long now) {
            return act("advance", now);
        }

        @Override
        public Reaction call(long now, String name, Map<String, Object> args) {
            return act("call", now, "name", name, "args", args);
        }

        @Override
        public Object query(String name, Map<String, Object> args) {
            Map<String, Object> request = Json.object("handle", handle, "what", name);
            if (!args.isEmpty()) {
                request.put("args", args);
            }
            return ask("query", request).get("value");
        }

        @Override
        public void crash() {
            ask("crash", Json.object("handle", handle));
        }

        @Override
        public Reaction restart(long now, Map<String, Object> config) {
            return config.isEmpty() ? act("restart", now) : act("restart", now, "config", config);
        }

        @Override
        public Reaction sent(long now, Object to, byte[] datagram, Long took) {
            return act("sent", now, "to", to, "bytes", HexFormat.of().formatHex(datagram), "took_us", took);
        }

        @Override
        public Reaction stream(long now, Map<String, Object> event) {
            List<Object> members = new ArrayList<>();
            event.forEach((name, value) -> members.addAll(List.of(name, value)));
            return act("stream", now, members.toArray());
        }

        @Override
        public void close() {
            ask("close", Json.object("handle", handle));
        }
    }
}
