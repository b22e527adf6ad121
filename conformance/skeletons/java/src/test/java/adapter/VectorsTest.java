package adapter;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import peerproof.vectors.Bundle;
import peerproof.vectors.Implementation.Offer;
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
    private static final Summary.Settings SETTINGS = new Summary.Settings(
            STRICT, STRICT_DECISIONS, "VectorsTest.java", "mvn --batch-mode test -Dpeerproof.cases=",
            "@BUILD@ && peerproof run @SELECTION@ --impl '@START@'");

    private static final Map<Runner, List<Result>> RESULTS = new LinkedHashMap<>();

    @TestFactory
    Stream<DynamicTest> vectors() throws IOException {
        KnownFailures known = KnownFailures.load(Path.of(KNOWN_FAILING));
        List<Bundle.Case> cases = new ArrayList<>();
        List<DynamicTest> tests = new ArrayList<>();
        for (Plug plug : Main.PLUGS) {
            Bundle bundle = Bundle.load(Path.of("vectors", plug.protocol() + ".json.gz"));
            Runner runner = new Runner(bundle, plug.implementation());
            List<Result> results = new ArrayList<>();
            RESULTS.put(runner, results);
            cases.addAll(bundle.cases());
            List<Bundle.Case> selected = bundle.cases().stream().filter(each -> each.id().contains(SELECTED)).toList();
            selected.forEach(each -> tests.add(dynamicTest(each.id(), () -> {
                Result result = known.apply(runner.check(each));
                results.add(result);
                judge(runner, result);
            })));
            Offer offer = plug.implementation().offer();
            boolean isClaiming = !offer.readings().isEmpty() || offer.capabilities().contains("exchange");
            if (isClaiming && !selected.isEmpty()) {
                tests.add(dynamicTest("claims of " + plug.protocol(), () -> assertEmpty(runner.unconfirmed(results))));
            }
        }
        if (tests.isEmpty()) {
            fail("no id contains " + SELECTED);
        }
        List<String> problems = known.problems(cases, LocalDate.now());
        tests.add(dynamicTest(KNOWN_FAILING, () -> {
            problems.addAll(known.stale(RESULTS.values().stream().flatMap(List::stream).toList(), SETTINGS.adapter()));
            assertEmpty(problems);
        }));
        return tests.stream();
    }

    private static void assertEmpty(List<String> problems) {
        if (!problems.isEmpty()) {
            fail(String.join("\n", problems));
        }
    }

    private static void judge(Runner runner, Result result) {
        if (SETTINGS.fails(result)) {
            fail(result.id() + "\n" + runner.describe(result));
        }
        if (!Set.of("passed", "tolerated").contains(result.status())) {
            abort(result.status() + ": " + result.why());
        }
    }

    @AfterAll
    static void summarize() {
        RESULTS.forEach((runner, results) -> Summary.lines(runner, results, SETTINGS).forEach(System.out::println));
    }
}
