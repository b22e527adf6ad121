package adapter;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;
import peerproof.vectors.Server;
import peerproof.vectors.Server.Plug;

/** The adapter: answers requests on standard input, one JSON object a line. There is nothing to fill in here. */
public final class Main {
    /** The implementation of each protocol: the tests run its vectors, and the adapter offers it. */
    static final List<Plug> PLUGS = List.of(new Plug[] {
        new Plug("scuttlebutt", "udp", new ScuttlebuttImplementation()),
    });

    private Main() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream replies = System.out;
        System.setOut(System.err); // what your implementation prints must not come between the replies
        Server.serve(PLUGS, System.in, new BufferedOutputStream(replies));
    }
}
