package adapter;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import peerproof.vectors.Server;

/** The adapter: answers requests on standard input, one JSON object a line. There is nothing to fill in here. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream replies = System.out;
        System.setOut(System.err); // what your implementation prints must not come between the replies
        Server.serve("scuttlebutt", "udp", new Implementation(), System.in, new BufferedOutputStream(replies));
    }
}
