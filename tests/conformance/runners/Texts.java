import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import peerproof.vectors.Adapter;
import peerproof.vectors.Bundle;
import peerproof.vectors.Result;
import peerproof.vectors.Runner;

/** Prints the text of each case of a bundle that a program behind the adapter protocol does not pass. */
public final class Texts {
    public static void main(String[] arguments) throws IOException {
        Bundle bundle = Bundle.load(Path.of(arguments[0]));
        try (Adapter adapter = new Adapter(bundle, Arrays.asList(arguments).subList(1, arguments.length))) {
            Runner runner = new Runner(bundle, adapter);
            for (Bundle.Case each : bundle.cases()) {
                Result result = runner.check(each);
                if (!result.status().equals("passed")) {
                    System.out.println(result.id() + "\n" + runner.text(result));
                }
            }
        }
    }
}
