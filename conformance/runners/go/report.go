package vectors

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Run runs every case of a bundle as a subtest, which fails if the document's words are violated.
// A case that differs, or is only tolerated, is a line in the log (go test -v).
func Run(t *testing.T, path string, implementation Implementation) {
	t.Helper()
	bundle, err := Load(path)
	if err != nil {
		t.Fatalf("%v; write it with: peerproof vectors export --output testdata", err)
	}
	runner := NewRunner(bundle, implementation)
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			t.Run(one.ID, func(t *testing.T) {
				switch result := runner.Check(vector, one); {
				case result.IsViolation():
					t.Error(runner.Text(result))
				case result.Status == "skipped" || result.Status == "undetermined":
					t.Skip(result.Reason)
				case result.Status != "passed":
					t.Log(runner.Text(result))
				}
			})
		}
	}
}

// Text describes a result: what is expected, the clauses behind it, the first difference, what happened, and where to read on.
func (r *Runner) Text(result Result) string {
	lines := []string{fmt.Sprintf("%s: %s", result.Status, result.Vector.Title)}
	rests := result.Vector.Clauses
	if len(result.Decisions) > 0 {
		rests = result.Decisions
	}
	for _, name := range rests {
		clause := r.bundle.Clauses[name]
		lines = append(lines, fmt.Sprintf("  %s %s: %s", name, clause.Level, clause.Text), "    in "+clause.Read)
	}
	if result.Reason != "" {
		lines = append(lines, "  "+result.Reason)
	}
	if result.Failure != "" {
		lines = append(lines, "  first difference ("+result.Failure+"): "+result.Where, "    expected  "+result.Expected, "    actual    "+result.Actual)
	}
	lines = append(lines, r.whatHappened(result)...)
	return strings.Join(append(lines, "  read on: peerproof explain "+rests[0]+"; peerproof vectors show "+result.Vector.ID), "\n")
}

// Verdicts writes the verdict of each case as a line of JSON, to be compared with those of `peerproof run --format jsonl`.
func Verdicts(bundle *Bundle, implementation Implementation, output io.Writer) error {
	buffered := bufio.NewWriter(output)
	lines := json.NewEncoder(buffered)
	runner := NewRunner(bundle, implementation)
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			result := runner.Check(vector, one)
			shown := map[string]any{
				"id": result.ID, "status": result.Status, "failure": result.Failure, "decisions": result.Decisions,
				"where": result.Where, "reason": result.Reason,
			}
			if err := lines.Encode(shown); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}
