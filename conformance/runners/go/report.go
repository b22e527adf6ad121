package vectors

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const mostHung = 20 // cases; each of them may keep a processor busy

// Settings change how Run runs the cases.
type Settings struct {
	KnownFailing string        // the file of known failures, if there is one
	Strict       bool          // whether a case fails also where only a decision of this project demands more (differs)
	Limit        time.Duration // of each case; 10 seconds if it is 0
}

// Run runs every case of the bundle in a file as a subtest, which fails if the document's words are violated, or if a case passes
// that is a known failure. A case that differs fails if the settings are strict; else it is a line in the log (go test -v), as one
// that is only tolerated.
// At the end it prints how many cases had which verdict. `go test` shows that in the folder of the test; with names of packages,
// such as ./..., only if it fails, or with -v.
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
	for at, bundle := range bundles {
		runBundle(t, bundle, plugs[at], list, settings)
	}
}

func runBundle(t *testing.T, bundle *Bundle, plug Plug, list *known, settings Settings) {
	t.Helper()
	plug.Protocol, plug.Transport = bundle.Protocol, bundle.Run.Transport
	kept := &recorder{}
	handle := kept.record(limited(func() Handle { return HandlerOf(plug) }, settings.Limit))
	runner, results := NewRunner(bundle, plug.Implementation.Offer(), handle), []Result{}
	if runner.doubt == "" && slices.Contains(runner.offer.Capabilities, "codec") {
		kept.protocol = bundle.Protocol
	}
	hung := 0
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			t.Run(one.ID, func(t *testing.T) {
				kept.forget()
				result := Result{ID: one.ID, Status: "undetermined", Reason: fmt.Sprintf("not run: %d cases before it hung", hung), Vector: vector}
				if hung < mostHung {
					result = list.apply(runner.Check(vector, one))
				}
				if result.Failure == "hung" {
					hung++
				}
				results = append(results, result)
				text := func() string { return describe(bundle, result, kept) }
				switch {
				case result.IsViolation() || settings.Strict && result.Status == "differs":
					t.Error(text())
				case result.Status == "skipped" || result.Status == "undetermined":
					t.Skip(result.Reason)
				case result.Status == "known":
					t.Skip(text())
				case result.Status != "passed":
					t.Log(text())
				}
			})
		}
	}
	for _, problem := range unconfirmed(plug.Implementation.Offer().Readings, results) {
		t.Error(problem)
	}
	fmt.Fprintln(os.Stdout, summary(bundle, results))
}

// summary returns how many cases have which verdict, and why most of the skipped ones are.
func summary(bundle *Bundle, results []Result) string {
	counts, reasons := map[string]int{}, map[string]int{}
	for _, result := range results {
		counts[result.Status]++
		if result.Status == "skipped" {
			reasons[result.Reason]++
		}
	}
	shown := []string{}
	for _, status := range byCount(counts) {
		shown = append(shown, fmt.Sprintf("%d %s", counts[status], status))
	}
	line := fmt.Sprintf("%s: %d cases: %s", bundle.Protocol, len(results), strings.Join(shown, ", "))
	if common := byCount(reasons); len(common) > 0 {
		line += fmt.Sprintf(" (%d skipped: %s)", reasons[common[0]], common[0])
	}
	return line
}

// byCount returns the names with the highest count first.
func byCount(counts map[string]int) []string {
	names := []string{}
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(one, other string) int {
		if counts[one] == counts[other] {
			return cmp.Compare(one, other)
		}
		return cmp.Compare(counts[other], counts[one])
	})
	return names
}

// Verdicts writes the verdict of each case as a line of JSON, to be compared with those of `peerproof run --format jsonl`.
func Verdicts(bundle *Bundle, implementation Implementation, output io.Writer, limit time.Duration) error {
	plug := Plug{Protocol: bundle.Protocol, Transport: bundle.Run.Transport, Implementation: implementation}
	return VerdictsOf(bundle, implementation.Offer(), limited(func() Handle { return HandlerOf(plug) }, limit), output)
}

// VerdictsOf writes the same of any implementation that answers requests.
func VerdictsOf(bundle *Bundle, offer Offer, handle Handle, output io.Writer) error {
	if err := bundle.CheckReadings(offer.Readings); err != nil {
		return err
	}
	buffered := bufio.NewWriter(output)
	lines, runner := json.NewEncoder(buffered), NewRunner(bundle, offer, handle)
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			result := runner.Check(vector, one)
			shown := map[string]any{
				"id": result.ID, "status": result.Status, "failure": result.Failure, "decisions": result.Decisions,
				"reason": result.Reason, "readings": result.Readings,
			}
			if result.different != nil {
				shown["where"] = result.different.where
			}
			if err := lines.Encode(shown); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}

// limited makes a Handle that gives each request this much time. One that takes longer is left behind, and answered with the error
// hung; requests after it go to a new implementation.
func limited(open func() Handle, limit time.Duration) Handle {
	handle := open()
	return func(request []byte, choose func(Question) []int) []byte {
		answer, inner := make(chan []byte, 1), handle
		go func() { answer <- inner(request, choose) }()
		select {
		case reply := <-answer:
			return reply
		case <-time.After(limit):
			handle = open()
			return marshal(problem("hung", fmt.Sprintf("no answer within %v", limit)))
		}
	}
}
