package vectors

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const mostWhole = 3 // cases with the same first difference that are described whole

// Settings change how Run runs the cases.
type Settings struct {
	KnownFailing    string        // the file of known failures, if there is one
	Adapter         string        // the command that runs the vectors by peerproof; texts show it
	Strict          bool          // whether a case fails also where a vector says should, as with --strict of peerproof run
	StrictDecisions bool          // and where only a decision of this project demands more (differs), as with --decisions strict
	Limit           time.Duration // of each case; 10 seconds if it is 0
}

// Run runs every case of the bundle in a file as a subtest, which fails if the document's words are violated. A case that differs, or is
// only tolerated, fails if the settings say so; else it is a line in the log (go test -v). If known failures pass, the list of them
// is what is wrong: the test fails, once for all of them.
// At the end stands how many cases had which verdict, and what failed in groups. `go test` shows that in the folder of the test; with
// names of packages, such as ./..., only if it fails, or with -v.
func Run(t *testing.T, path string, implementation Implementation, settings Settings) {
	t.Helper()
	RunAll(t, []Plug{{Bundle: path, Implementation: implementation}}, settings)
}

// RunAll runs the bundles of several protocols, as Run does that of one. They share the file of known failures.
func RunAll(t *testing.T, plugs []Plug, settings Settings) {
	t.Helper()
	list, err := loadKnown(settings.KnownFailing)
	if err != nil {
		t.Fatal(err)
	}
	bundles, vectors := []*Bundle{}, []*Vector{}
	for _, plug := range plugs {
		bundle, err := Load(plug.Bundle)
		if err != nil {
			t.Fatalf("%v; write it with: peerproof vectors export --output FOLDER PROTOCOL", err)
		}
		if err := bundle.CheckReadings(plug.Implementation.Offer().Readings); err != nil {
			t.Fatal(err)
		}
		bundles, vectors = append(bundles, bundle), append(vectors, bundle.Vectors...)
	}
	for _, problem := range list.problems(vectors, time.Now()) {
		t.Error(problem)
	}
	if settings.Limit == 0 {
		settings.Limit = 10 * time.Second
	}
	if settings.Adapter == "" {
		settings.Adapter = "peerproof run --impl ADAPTER"
	}
	for at, bundle := range bundles {
		runBundle(t, bundle, plugs[at].Implementation, list, settings)
	}
}

func runBundle(t *testing.T, bundle *Bundle, implementation Implementation, list *known, settings Settings) {
	t.Helper()
	runner, results, texts := NewRunner(bundle, implementation, settings.Limit), []Result{}, texts{}
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			t.Run(one.ID, func(t *testing.T) {
				result := list.apply(runner.Check(vector, one))
				results = append(results, result)
				text := func() string { return texts.of(runner, t.Name(), result) }
				switch {
				case result.Status == "stale":
					t.Skip(text())
				case result.IsViolation() || settings.Strict && result.isUnmetShould() || settings.StrictDecisions && result.Status == "differs":
					t.Error(text())
				case result.Status == "skipped" || result.Status == "undetermined":
					t.Skip(result.Reason)
				case result.Status == "known":
					t.Skip(text())
				case result.Status == "differs":
					t.Log(text() + "\n  " + setting("StrictDecisions", false))
				case result.Status != "passed":
					t.Log(text())
				}
			})
		}
	}
	for _, problem := range append(unconfirmed(runner.offer.Readings, results), bundle.checkOpened(results)...) {
		t.Error(problem)
	}
	if stale := withStatus(results, "stale"); len(stale) > 0 {
		remedy := fmt.Sprintf("%s --known-failing %s --update-known-failing", settings.Adapter, list.file)
		t.Errorf("%s: %s\n  to remove all such lines: %s", describeCases(stale), stale[0].Reason, remedy)
	}
	if end := summary(runner, results, t.Name(), settings); t.Failed() {
		t.Log(end) // below the failures
	} else {
		fmt.Fprintln(os.Stdout, end)
	}
}

func withStatus(results []Result, status string) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(one Result) bool { return one.Status != status })
}

// describeCases counts results of one status, and names the first.
func describeCases(results []Result) string {
	if len(results) == 1 {
		return results[0].Status + ": " + results[0].ID
	}
	return fmt.Sprintf("%s: %d cases, such as %s", results[0].Status, len(results), results[0].ID)
}

// texts are the names of the tests with the same first difference, in the order in which they ran.
type texts map[string][]string

// of describes a result, in one line if three others with the same first difference have been described whole.
func (texts texts) of(runner *Runner, test string, result Result) string {
	if result.Failure == "" {
		return runner.Text(result)
	}
	difference := result.firstDifference()
	alike := append(texts[difference], test)
	if texts[difference] = alike; len(alike) <= mostWhole {
		return runner.Text(result)
	}
	line := fmt.Sprintf("%s: %s: %s, as %s", result.Status, result.ID, difference, alike[0])
	if result.Reason != "" {
		line += "\n  " + result.Reason
	}
	return line
}

// Text describes a result: what is expected, the clauses behind it, the first difference, what happened, and where to read on.
func (r *Runner) Text(result Result) string {
	if result.Status == "stale" {
		return "stale: " + result.Reason
	}
	lines := []string{fmt.Sprintf("%s: %s", result.Status, result.Vector.Title)}
	rests := result.Vector.Clauses
	if len(result.Decisions) > 0 {
		rests = result.Decisions
	}
	for _, name := range rests {
		clause := r.bundle.Clauses[name]
		lines = append(lines, fmt.Sprintf("  %s %s: %s", name, clause.standing(), clause.Text), "    in "+clause.Read)
	}
	if result.Reason != "" {
		lines = append(lines, "  "+result.Reason)
	}
	if result.input != "" {
		lines = append(lines, "  input: "+shortened(result.input, mostInput))
	}
	if result.Failure != "" {
		lines = append(lines, "  first difference ("+result.Failure+"): "+result.Where, "    expected  "+result.Expected, "    actual    "+result.Actual)
	}
	if result.reordered != "" {
		lines = append(lines, "    "+result.reordered+": the same items in another order")
	}
	happened, areRead := r.whatHappened(result)
	lines = append(append(lines, stackLines(result.Stack)...), happened...)
	lines = append(lines, "  read on: peerproof explain "+rests[0]+"; peerproof vectors show "+result.Vector.ID)
	if !areRead {
		lines[len(lines)-1] += "; with messages instead of bytes: peerproof vectors replay " + result.Vector.ID + " --impl ADAPTER"
	}
	return strings.Join(lines, "\n")
}

// Verdicts writes the verdict of each case as a line of JSON, to be compared with those of `peerproof run --format jsonl`.
func Verdicts(bundle *Bundle, implementation Implementation, output io.Writer, limit time.Duration) error {
	if err := bundle.CheckReadings(implementation.Offer().Readings); err != nil {
		return err
	}
	buffered := bufio.NewWriter(output)
	lines, runner := json.NewEncoder(buffered), NewRunner(bundle, implementation, limit)
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			result := runner.Check(vector, one)
			shown := map[string]any{
				"id": result.ID, "status": result.Status, "failure": result.Failure, "decisions": result.Decisions,
				"where": result.Where, "reason": result.Reason, "readings": result.Readings,
			}
			if err := lines.Encode(shown); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}
