import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import peerproof.vectors.Adapter;
import peerproof.vectors.Bundle;
import peerproof.vectors.Server;

/** Serves an implementation that is itself a program behind the adapter protocol, so that everything is served. */
public final class Proxy {
    public static void main(String[] arguments) throws IOException {
        Bundle bundle = Bundle.load(Path.of(arguments[0]));
        try (Adapter adapter = new Adapter(bundle, Arrays.asList(arguments).subList(2, arguments.length))) {
            Server.serve(bundle.protocol(), arguments[1], adapter, System.in, System.out);
        }
    }
}
