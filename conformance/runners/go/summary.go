package vectors

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	mostReasons = 3  // of skipped cases
	mostGroups  = 40 // of each kind
)

// kind is a way in which a case is not as it should be.
type kind struct {
	title string
	has   func(Result) bool
}

// kinds returns these ways, those that violate the document first, with what makes the others fail, unless they fail already.
func (settings Settings) kinds() []kind {
	return []kind{
		{"violate the document", func(one Result) bool { return one.IsViolation() && one.Status != "stale" }},
		{
			"differ only in what a decision of the suite demands; " + setting("StrictDecisions", settings.StrictDecisions),
			func(one Result) bool { return one.Status == "differs" },
		},
		{"are tolerated, where a vector says should; " + setting("Strict", settings.Strict), Result.isUnmetShould},
	}
}

func setting(name string, isSet bool) string {
	if isSet {
		return fmt.Sprintf("they fail, since %s is set", name)
	}
	return fmt.Sprintf("to make that fail, set %s in the settings of the test", name)
}

// summary returns how many cases have which verdict, why most of the skipped ones are, and the groups of those that are not as they
// should be. `test` is the name of the test.
func summary(runner *Runner, results []Result, test string, settings Settings) string {
	counts, skipped, unknown := map[string]int{}, map[string]int{}, map[string]int{}
	for _, result := range results {
		counts[result.Status]++
		switch result.Status {
		case "skipped":
			skipped["skipped: "+result.Reason]++
		case "undetermined":
			unknown["undetermined: "+result.Reason]++
		}
	}
	whole := func(id string) string { return fmt.Sprintf("go test -v -run '%s/%s$'", test, id) }
	lines := []string{fmt.Sprintf("%s: %d cases: %s", runner.bundle.Protocol, len(results), strings.Join(byCount(counts), ", "))}
	if why := byCount(skipped); len(why) > 0 {
		lines[0] += fmt.Sprintf(" (%s)", strings.Join(why[:min(len(why), mostReasons)], "; "))
	}
	if len(unknown) > 0 {
		lines = append(lines, byCount(unknown)...)
		if runner.doubt != "" {
			lines = append(lines, "  to see it, whatever its verdict: "+whole(runner.doubt))
		}
		lines = append(lines, "  peerproof reads messages without your decoder: "+settings.Adapter)
	}
	example := ""
	for _, kind := range settings.kinds() {
		found := slices.DeleteFunc(slices.Clone(results), func(one Result) bool { return !kind.has(one) })
		if len(found) == 0 {
			continue
		}
		if example == "" {
			example = found[0].ID
		}
		lines = append(lines, fmt.Sprintf("%d %s:", len(found), kind.title))
		lines = append(lines, groups(found)...)
	}
	if example != "" {
		lines = append(lines, "one of them whole: "+whole(example))
		lines = append(lines, "all groups: "+settings.Adapter+" --record run.jsonl; peerproof report groups run.jsonl")
	}
	return strings.Join(lines, "\n")
}

// byCount returns the names after their counts, those with the highest count first.
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
	for at, name := range names {
		names[at] = fmt.Sprintf("%d %s", counts[name], name)
	}
	return names
}

// groups returns a line for the results that are probably of one fault, with the first of them, the largest group first.
func groups(results []Result) []string {
	counts, first := map[string]int{}, map[string]string{}
	for at := len(results) - 1; at >= 0; at-- {
		name := results[at].firstDifference()
		counts[name]++
		first[name] = results[at].ID
	}
	lines := []string{}
	for _, line := range byCount(counts) {
		count, name, _ := strings.Cut(line, " ")
		lines = append(lines, fmt.Sprintf("  %s  %s, such as %s", count, name, first[name]))
	}
	if more := len(lines) - mostGroups; more > 0 {
		lines = append(lines[:mostGroups], fmt.Sprintf("  and %d smaller groups", more))
	}
	return lines
}

var (
	ownPlace = regexp.MustCompile(`^(steps|setup)\[\d+\]\.|^after the last step\.|, from byte \d+$`)
	number   = regexp.MustCompile(`\d+`)
)

// firstDifference describes the first difference without what is not the same in all cases of one fault: numbers, and values.
func (result Result) firstDifference() string {
	place := number.ReplaceAllString(ownPlace.ReplaceAllString(result.Where, ""), "")
	expected, _ := parse([]byte(result.Expected)).(object)
	actual, _ := parse([]byte(result.Actual)).(object)
	problem, _ := actual.values["error"].(object)
	switch {
	case problem.names != nil:
		message, _, _ := strings.Cut(fmt.Sprint(problem.values["message"]), "\n")
		place += ": " + number.ReplaceAllString(message, "N")
	case result.Actual == "null":
		place += ": " + strings.TrimSpace(typeOf(expected)+" is missing")
	case result.Expected == "null":
		place += ": " + strings.TrimSpace(typeOf(actual)+" was not expected")
	}
	if len(result.Decisions) > 0 {
		place += " [" + strings.Join(result.Decisions, ", ") + "]"
	}
	return result.Failure + ": " + place
}
