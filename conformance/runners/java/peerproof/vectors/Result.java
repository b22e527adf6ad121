package peerproof.vectors;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The verdict on a case.
 *
 * @param status passed, failed, crashed, hung, flooded, differs, tolerated, skipped, undetermined, known or stale
 * @param failure its class, as in docs/explanation/failing-vector.md; null if no expectation is unmet
 * @param decisions those on which the unmet expectation rests; none if the document's words require it
 * @param difference the first difference; null if there is none
 * @param reason why it is skipped, tolerated, known …; null without a reason
 * @param readings declared ones that the case confirms, such as "BA-12: descending"
 * @param input of a failed case of the codec: the op, and what it was asked about; else null
 * @param crash what the implementation threw; null if it threw nothing
 */
public record Result(
        Bundle.Case of, String status, String failure, List<String> decisions, Difference difference, String reason,
        List<String> readings, String input, List<TraceEvent> happened, Throwable crash) {
    private static final Set<String> VIOLATING = Set.of("failed", "crashed", "hung", "flooded");

    public String id() {
        return of.id();
    }

    /** Whether the document's own words are violated. */
    public boolean isViolation() {
        return VIOLATING.contains(status);
    }

    /** Whether the vector says should, and that is not met. */
    public boolean isUnmetShould() {
        return status.equals("tolerated") && failure != null && of.vector().level().equals("should");
    }

    /** Why it has its status, in a line. */
    public String why() {
        return status.equals("differs") ? "only " + String.join(", ", decisions) + " asks for more, not the document" : reason;
    }

    /** Whether nothing is said about the implementation. */
    public boolean isSilent() {
        return status.equals("skipped") || status.equals("undetermined");
    }

    Result with(String newStatus, String newReason) {
        return new Result(of, newStatus, failure, decisions, difference, newReason, readings, input, happened, crash);
    }

    /** What reports show. */
    Map<String, Object> plain() {
        return Json.object(
                "id", id(), "status", status, "failure", failure, "decisions", decisions,
                "where", difference == null ? null : difference.where(), "reason", reason, "readings", readings);
    }
}
