package peerproof.vectors;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import peerproof.vectors.Reaction.Effect;

/** Answers the requests of adapter protocol 1 for implementations, one of each protocol (docs/how-to/write-an-adapter.md). */
public final class Server {
    private static final Set<String> NEVER_IN_A_BATCH = Set.of("hello", "batch", "bye");

    private final List<Plug> plugs;
    private final InputStream requests;
    private final OutputStream replies;
    private final Map<Object, Life> lives = new HashMap<>();
    private long opened;
    private Object id; // of the request that is being answered
    private int asked; // questions in this request

    /**
     * The implementation of a protocol.
     *
     * @param transport {@code udp}, {@code tcp} or {@code serf}, as the protocol's messages travel
     */
    public record Plug(String protocol, String transport, Implementation implementation) {}

    /** The node behind a handle, and the transport of its messages. */
    private static final class Life {
        final Node node;
        final String transport;
        boolean isDown;

        Life(Node node, String transport) {
            this.node = node;
            this.transport = transport;
        }

        void close() {
            if (node instanceof ListeningNode listening) {
                listening.close();
            }
        }
    }

    /** The adapter cannot carry out a request; the code is one of the adapter protocol's. */
    private static final class Trouble extends RuntimeException {
        private static final long serialVersionUID = 1;
        final String code;

        Trouble(String code, String message) {
            super(message, null, false, false);
            this.code = code;
        }
    }

    private Server(List<Plug> plugs, InputStream requests, OutputStream replies) {
        this.plugs = plugs;
        this.requests = requests;
        this.replies = replies;
    }

    /**
     * Makes an adapter of an implementation, so that {@code peerproof run}, {@code fuzz} and {@code doctor} test the same one. It
     * ends after {@code bye}, or at the end of the requests.
     *
     * @param transport {@code udp}, {@code tcp} or {@code serf}, as the protocol's messages travel
     */
    public static void serve(
            String protocol, String transport, Implementation implementation, InputStream requests, OutputStream replies)
            throws IOException {
        serve(List.of(new Plug(protocol, transport, implementation)), requests, replies);
    }

    /** Makes one adapter of the implementations of several protocols. Its name and version are those of the first. */
    public static void serve(List<Plug> plugs, InputStream requests, OutputStream replies) throws IOException {
        new Server(plugs, requests, replies).serve();
    }

    private void serve() throws IOException {
        for (byte[] line = readLine(requests); line != null; line = readLine(requests)) {
            Request request = parse(line);
            id = request.members.get("id");
            asked = 0;
            Map<String, Object> reply = Json.object("id", id);
            reply.putAll(answer(request));
            write(reply);
            if ("bye".equals(request.members.get("op"))) {
                break;
            }
        }
        lives.values().forEach(Life::close); // or their threads would keep the program alive
    }

    /** A request; one without members, which is answered with an error, if the line is none. */
    private static Request parse(byte[] line) {
        try {
            return new Request(Json.members(Json.parse(line)));
        } catch (IOException error) {
            System.err.println("not a request: " + error.getMessage());
            return new Request(Map.of());
        }
    }

    /** The next line without its end; null at the end of the input. */
    static byte[] readLine(InputStream input) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int next = input.read();
        if (next < 0) {
            return null;
        }
        for (; next >= 0 && next != '\n'; next = input.read()) {
            line.write(next);
        }
        return line.toByteArray();
    }

    private void write(Object message) throws IOException {
        replies.write(Json.line(message));
        replies.write('\n');
        replies.flush();
    }

    /** The reply without its id. Every request gets one, whatever the implementation throws. */
    private Map<String, Object> answer(Request request) {
        try {
            Map<String, Object> reply = Json.object("ok", true);
            reply.putAll(carryOut(request));
            Json.line(reply); // what cannot be written is an error of this request
            return reply;
        } catch (Trouble trouble) {
            return error(trouble.code, trouble.getMessage());
        } catch (Unsupported unsupported) {
            return error("unsupported", unsupported.getMessage());
        } catch (Throwable crash) { // also errors, such as StackOverflowError
            crash.printStackTrace();
            return error("panic", crash.toString());
        }
    }

    private static Map<String, Object> error(String code, String message) {
        return Json.object("error", Json.object("code", code, "message", message == null ? code : message));
    }

    private Map<String, Object> carryOut(Request request) {
        return switch (request.text("op")) {
            case "hello" -> hello(request);
            case "bye" -> Map.of();
            case "batch" -> batch(request);
            case "decode" -> decode(request);
            case "encode" -> encode(request);
            case "open", "load" -> open(request);
            case "serve" -> listen(request);
            case "recv" -> {
                Life life = running(request);
                yield plain(life, life.node.receive(request.now(), request.need("from"), request.bytes()));
            }
            case "advance" -> {
                Life life = running(request);
                yield plain(life, life.node.advance(request.now()));
            }
            case "call" -> {
                Life life = running(request);
                yield plain(life, life.node.call(request.now(), request.text("name"), request.object("args")));
            }
            case "sent" -> {
                Long took = request.members.get("took_us") instanceof Number number ? (Long) number.longValue() : null;
                Life life = running(request);
                yield plain(life, life.node.sent(request.now(), request.need("to"), request.bytes(), took));
            }
            case "stream" -> {
                Life life = running(request);
                yield plain(life, life.node.stream(request.now(), connection(request)));
            }
            case "query" -> Json.object("value", running(request).node.query(request.text("what"), request.object("args")));
            case "crash" -> {
                Life life = running(request);
                life.node.crash();
                life.isDown = true;
                yield Map.of();
            }
            case "restart" -> {
                Life life = behind(request);
                Reaction reaction = life.node.restart(request.now(), request.object("config"));
                life.isDown = false;
                yield plain(life, reaction);
            }
            case "close" -> {
                behind(request).close();
                lives.remove(request.members.get("handle"));
                yield Map.of();
            }
            default -> throw new Trouble("unknown_op", "there is no op " + request.text("op"));
        };
    }

    private Map<String, Object> hello(Request request) {
        if (!(request.need("protocol") instanceof List<?> range) || range.size() != 2
                || !(range.get(0) instanceof Number least) || !(range.get(1) instanceof Number most)) {
            throw new Trouble("bad_request", "protocol must have the least and the highest version");
        }
        if (least.longValue() > 1 || most.longValue() < 1) {
            throw new Trouble("version", "this adapter speaks version 1, not " + range);
        }
        Map<String, Object> protocols = Json.object();
        Map<String, String> readings = new TreeMap<>();
        Set<String> sockets = new TreeSet<>();
        boolean hasOracle = false;
        for (Plug plug : plugs) {
            Implementation.Offer offer = plug.implementation.offer();
            Map<String, Object> offered = Json.object("capabilities", offer.capabilities().stream().sorted().toList());
            if (offer.events() != null) {
                offered.put("events", offer.events());
            }
            if (!offer.limits().isEmpty()) {
                offered.put("limits", offer.limits());
            }
            if (plugs.size() > 1) {
                offered.put("choices", choices(offer.isOracle()));
            }
            protocols.put(plug.protocol, offered);
            readings.putAll(offer.readings());
            sockets.addAll(plug.implementation.sockets());
            hasOracle |= offer.isOracle();
        }
        Implementation first = plugs.get(0).implementation;
        Map<String, Object> hello = Json.object(
                "protocol", 1, "name", first.name(), "version", first.version(), "language", "Java " + Runtime.version().feature(),
                "protocols", protocols, "choices", choices(hasOracle));
        if (!readings.isEmpty()) {
            hello.put("readings", readings);
        }
        if (plugs.stream().noneMatch(plug -> plug.implementation.sockets().isEmpty())) {
            hello.put("sockets", sockets); // the list is for all protocols
        }
        return hello;
    }

    private static String choices(boolean isOracle) {
        return isOracle ? "oracle" : "set";
    }

    private Map<String, Object> batch(Request request) {
        if (!(request.need("items") instanceof List<?> items)) {
            throw new Trouble("bad_request", "items must be a list");
        }
        List<Object> results = new ArrayList<>();
        for (Object item : items) {
            Request each = new Request(Json.members(item));
            id = each.members.getOrDefault("id", id); // an item that may ask has an id of its own
            asked = 0;
            boolean mayBeOne = !NEVER_IN_A_BATCH.contains(String.valueOf(each.members.get("op")));
            results.add(mayBeOne ? answer(each) : error("bad_request", "this op cannot be an item of a batch"));
        }
        return Json.object("results", results);
    }

    private Map<String, Object> decode(Request request) {
        Implementation implementation = plug(request).implementation;
        try {
            return Json.object("value", implementation.decode(request.bytes()));
        } catch (Rejected rejected) {
            return Json.object("rejected", rejected.reason().plain());
        }
    }

    private Map<String, Object> encode(Request request) {
        Implementation implementation = plug(request).implementation;
        if (!(request.members.get("value") instanceof Map<?, ?> value)) {
            throw new Trouble("bad_request", "value must be a message");
        }
        try {
            return Json.object("bytes", HexFormat.of().formatHex(implementation.encode(value)));
        } catch (Rejected rejected) {
            return Json.object("rejected", rejected.reason().plain());
        }
    }

    /** The plug of the protocol that the request names. */
    private Plug plug(Request request) {
        String protocol = request.text("protocol");
        return plugs.stream().filter(plug -> plug.protocol.equals(protocol)).findFirst().orElseThrow(
                () -> new Trouble("unsupported", "there is no " + protocol + " here"));
    }

    private Map<String, Object> open(Request request) {
        Plug plug = plug(request);
        List<Object> timers = new ArrayList<>();
        if (request.members.get("timers") instanceof List<?> given) {
            timers.addAll(given);
        }
        Object state = request.text("op").equals("load") ? request.need("state") : null;
        Implementation.Opening opening = new Implementation.Opening(
                request.word("case"), request.word("node"), request.need("addr"), request.now(), request.object("config"),
                request.word("seed"), state, timers);
        Implementation.Opened made = plug.implementation.open(opening, this::ask);
        Life life = new Life(made.node(), plug.transport);
        Map<String, Object> reply = plain(life, made.reaction());
        reply.put("handle", keep(life));
        return reply;
    }

    /** Returns the handle of a new node. */
    private long keep(Life life) {
        opened++;
        lives.put(Json.integer(opened), life);
        return opened;
    }

    /** Starts a node on a socket. */
    private Map<String, Object> listen(Request request) {
        if (plugs.stream().allMatch(plug -> plug.implementation.sockets().isEmpty())) {
            throw new Trouble("unknown_op", "there is no op serve");
        }
        Plug plug = plug(request);
        if (!(request.need("via") instanceof List<?> via)) {
            throw new Unsupported("via must be a list of transports");
        }
        try {
            Implementation.Served made = plug.implementation.serve(new Implementation.Listening(
                    request.word("case"), request.word("node"), via.stream().map(String::valueOf).toList(),
                    request.text("bind"), request.object("config"), request.word("seed")));
            return Json.object("handle", keep(new Life(made.node(), plug.transport)), "addrs", made.addrs());
        } catch (IOException error) {
            throw new Trouble("bad_request", error.toString());
        }
    }

    private Life behind(Request request) {
        Life life = lives.get(request.members.get("handle"));
        if (life == null) {
            throw new Trouble("no_handle", "there is no handle " + request.members.get("handle"));
        }
        return life;
    }

    private Life running(Request request) {
        Life life = behind(request);
        if (life.isDown) {
            throw new Trouble("no_handle", "the node of this handle has crashed");
        }
        return life;
    }

    private static Map<String, Object> connection(Request request) {
        String event = request.text("event");
        Map<String, Object> about = Json.object("conn", request.text("conn"), "event", event);
        if (event.equals("data")) {
            about.put("bytes", request.text("bytes"));
        }
        return about;
    }

    private static Map<String, Object> plain(Life life, Reaction reaction) {
        List<Object> effects = new ArrayList<>();
        for (Effect effect : reaction.effects()) {
            if (effect instanceof Reaction.Send send) {
                String digits = HexFormat.of().formatHex(send.datagram());
                effects.add(Json.object("send", Json.object("via", life.transport, "to", send.to(), "bytes", digits)));
            } else if (effect instanceof Reaction.Event told) {
                effects.add(Json.object("event", told.event()));
            } else if (effect instanceof Reaction.Stream stream) {
                effects.add(Json.object("stream", stream.action()));
            }
        }
        Map<String, Object> reply = Json.object("effects", effects, "next_timer_ms", reaction.nextTimer());
        if (reaction.refused() != null) {
            reply.put("refused", reaction.refused().plain());
        }
        return reply;
    }

    /** Asks the runner for a random choice, in the middle of a request. */
    private List<Integer> ask(String site, String kind, List<?> options, int some) {
        asked++;
        Map<String, Object> question = Json.object("for", id, "n", asked, "kind", kind, "site", site, "of", options);
        if (kind.equals("sample")) {
            question.put("some", some);
        }
        try {
            write(Json.object("choice", question));
            byte[] line = readLine(requests);
            Object answer = line == null ? null : Json.member(Json.parse(line), "choice");
            if (Json.member(answer, "pick") instanceof List<?> picked) {
                return picked.stream().<Integer>map(index -> ((Number) index).intValue()).toList();
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        throw new Trouble("internal", "there is no answer to a choice");
    }

    /** A request, and what it must have. */
    private record Request(Map<String, Object> members) {
        Object need(String name) {
            if (members.get(name) == null) {
                throw new Trouble("bad_request", "the request has no " + name);
            }
            return members.get(name);
        }

        String text(String name) {
            if (need(name) instanceof String text) {
                return text;
            }
            throw new Trouble("bad_request", name + " must be a text");
        }

        /** A text that may be missing. */
        String word(String name) {
            return members.get(name) instanceof String text ? text : "";
        }

        Map<String, Object> object(String name) {
            return Json.members(members.get(name));
        }

        long now() {
            if (need("now_ms") instanceof Number now) {
                return now.longValue();
            }
            throw new Trouble("bad_request", "now_ms must be an integer of milliseconds");
        }

        byte[] bytes() {
            try {
                return HexFormat.of().parseHex(text("bytes"));
            } catch (IllegalArgumentException error) {
                throw new Trouble("bad_request", "bytes must be pairs of hexadecimal digits");
            }
        }
    }
}
