package adapter;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import peerproof.vectors.Bundle;
import peerproof.vectors.KnownFailures;
import peerproof.vectors.Result;
import peerproof.vectors.Runner;
import peerproof.vectors.Server.Plug;
import peerproof.vectors.Summary;

/**
 * Runs every case of the vectors of all protocols as a test with its id. The two switches are STRICT and STRICT_DECISIONS.
 *
 * <p>Maven cannot select such tests, so a property does: {@code mvn test -Dpeerproof.cases=/codec} runs the cases whose id contains
 * this.
 */
class VectorsTest {
    /** Whether a case fails also where a vector says should, as with {@code --strict} of {@code peerproof run}. */
    private static final boolean STRICT = false;

    /**
     * Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram
     * does no harm. Otherwise it is skipped, with this reason.
     */
    private static final boolean STRICT_DECISIONS = false;

    private static final String SELECTED = System.getProperty("peerproof.cases", "");
    private static final String KNOWN_FAILING = "known-failing.txt";
    private static final String ADAPTER = "@BUILD@ && peerproof run @SELECTION@ --impl '@START@'";

    private static final Map<String, List<Result>> RESULTS = new LinkedHashMap<>();

    @TestFactory
    Stream<DynamicTest> vectors() throws IOException {
        KnownFailures known = KnownFailures.load(Path.of(KNOWN_FAILING));
        List<Bundle.Case> cases = new ArrayList<>();
        List<DynamicTest> tests = new ArrayList<>();
        for (Plug plug : Main.PLUGS) {
            Bundle bundle = Bundle.load(Path.of("vectors", plug.protocol() + ".json.gz"));
            Runner runner = new Runner(bundle, plug.implementation());
            List<Result> results = new ArrayList<>();
            RESULTS.put(plug.protocol(), results);
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
        if (tests.isEmpty()) {
            fail("no id contains " + SELECTED);
        }
        List<String> problems = known.problems(cases, LocalDate.now());
        tests.add(dynamicTest(KNOWN_FAILING, () -> assertEmpty(Stream.concat(problems.stream(), stale()).toList())));
        return tests.stream();
    }

    /** One line for all cases that pass though they are listed: the list is what is wrong. */
    private static Stream<String> stale() {
        String stale = Summary.examples("stale", RESULTS.values().stream().flatMap(Collection::stream).toList());
        String remedy = ADAPTER + " --known-failing " + KNOWN_FAILING + " --update-known-failing";
        return stale.isEmpty() ? Stream.of() : Stream.of(stale + "\n  to remove all such lines: " + remedy);
    }

    private static void assertEmpty(List<String> problems) {
        if (!problems.isEmpty()) {
            fail(String.join("\n", problems));
        }
    }

    private static void judge(Runner runner, Result result) {
        switch (result.status()) {
            case "passed" -> { }
            case "skipped", "undetermined", "known", "stale" -> abort(result.status() + ": " + result.why());
            case "differs" -> {
                if (STRICT_DECISIONS) {
                    fail(result.id() + "\n" + runner.text(result));
                }
                System.out.println(result.id() + " differs: " + result.why()); // Maven does not show why a test is skipped
                abort("differs: " + result.why() + "; to make that fail, set STRICT_DECISIONS in VectorsTest.java");
            }
            default -> {
                if (result.isFailure() || STRICT && result.isUnmetShould()) {
                    fail(result.id() + "\n" + runner.text(result));
                }
                System.out.println(result.id() + "\n" + runner.text(result));
            }
        }
    }

    @AfterAll
    static void summarize() {
        RESULTS.forEach((protocol, results) -> {
            System.out.println(protocol + ": " + Summary.counts(results));
            summarize(STRICT_DECISIONS ? "" : Summary.examples("differs", results), "STRICT_DECISIONS");
            summarize(STRICT ? "" : Summary.examples("tolerated", results), "STRICT");
        });
    }

    private static void summarize(String examples, String setting) {
        if (!examples.isEmpty()) {
            System.out.println(examples + "; to make that fail, set " + setting + " in VectorsTest.java");
        }
    }
}
