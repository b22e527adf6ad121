package adapter;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import peerproof.vectors.Bundle;
import peerproof.vectors.KnownFailures;
import peerproof.vectors.Result;
import peerproof.vectors.Runner;
import peerproof.vectors.Server.Plug;

/**
 * Runs every case of the vectors of all protocols as a test with its id. There is nothing to fill in here.
 *
 * <p>Maven cannot select such tests, so a property does: {@code mvn test -Dpeerproof.cases=/codec} runs the cases whose id contains
 * this.
 */
class VectorsTest {
    /**
     * Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram
     * does no harm. Otherwise it is skipped, with this reason.
     */
    private static final boolean STRICT = false;

    private static final String SELECTED = System.getProperty("peerproof.cases", "");

    @TestFactory
    Stream<DynamicTest> vectors() throws IOException {
        KnownFailures known = KnownFailures.load(Path.of("known-failing.txt"));
        List<Bundle.Case> cases = new ArrayList<>();
        List<DynamicTest> tests = new ArrayList<>();
        for (Plug plug : Main.PLUGS) {
            Bundle bundle = Bundle.load(Path.of("vectors", plug.protocol() + ".json.gz"));
            Runner runner = new Runner(bundle, plug.implementation());
            List<Result> results = new ArrayList<>();
            cases.addAll(bundle.cases());
            bundle.cases().stream().filter(each -> each.id().contains(SELECTED)).forEach(each ->
                    tests.add(dynamicTest(each.id(), () -> {
                        Result result = known.apply(runner.check(each));
                        results.add(result);
                        judge(runner, result);
                    })));
            if (!plug.implementation().offer().readings().isEmpty()) {
                tests.add(dynamicTest("declared readings of " + plug.protocol(), () -> assertEmpty(runner.unconfirmed(results))));
            }
        }
        assertFalse(tests.isEmpty(), "no id contains " + SELECTED);
        List<String> problems = known.problems(cases, LocalDate.now());
        return Stream.concat(Stream.of(dynamicTest("known-failing.txt", () -> assertEmpty(problems))), tests.stream());
    }

    private static void assertEmpty(List<String> problems) {
        assertTrue(problems.isEmpty(), String.join("\n", problems));
    }

    private static void judge(Runner runner, Result result) {
        boolean differs = result.status().equals("differs");
        if (result.isFailure() || STRICT && differs) {
            fail(result.id() + "\n" + runner.text(result));
        }
        switch (result.status()) {
            case "passed" -> { }
            case "skipped", "undetermined", "known" -> abort(result.status() + ": " + result.reason());
            case "differs" -> {
                String reason = "differs: only " + String.join(", ", result.decisions()) + " asks for more";
                System.out.println(result.id() + " " + reason); // Maven does not show why a test is skipped
                abort(reason);
            }
            default -> System.out.println(result.id() + "\n" + runner.text(result));
        }
    }
}
