package vectors

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// classes has the ways in which a case can fail.
var classes = strings.Fields(`crashed hung flooded garbled misshapen error bytes value rejected accepted class messages events
	streams observed refused choice clock changed unserving`)

// known is a list of known failures, as `peerproof run --known-failing` reads it: a line for each, with the id of a case or a
// pattern, the class of the failure, the day on which the line expires or -, a link or -, and the reason.
type known struct {
	file    string
	entries []knownFailure
}

type knownFailure struct {
	line             int
	pattern, failure string
	expires          time.Time
	reason           string
	names            *regexp.Regexp // nil if the pattern is an id
}

// loadKnown reads a list; without a name it is empty.
func loadKnown(file string) (*known, error) {
	list := &known{file: file}
	if file == "" {
		return list, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for at, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 5 {
			return nil, fmt.Errorf("%s:%d: expected id-or-pattern failure-class expiry-or-dash link reason", file, at+1)
		}
		one := knownFailure{line: at + 1, pattern: words[0], failure: words[1], reason: strings.Join(words[4:], " ")}
		if !slices.Contains(classes, one.failure) {
			return nil, fmt.Errorf("%s:%d: expected one of %s, found %s", file, at+1, strings.Join(classes, ", "), one.failure)
		}
		if words[2] != "-" {
			if one.expires, err = time.Parse(time.DateOnly, words[2]); err != nil {
				return nil, fmt.Errorf("%s:%d: expected a date such as 2027-06-30, or -, found %s", file, at+1, words[2])
			}
		}
		for _, other := range list.entries {
			if other.pattern == one.pattern && other.failure == one.failure {
				return nil, fmt.Errorf("%s:%d: %s is already listed as %s, in line %d", file, at+1, one.pattern, one.failure, other.line)
			}
		}
		if wildcard.MatchString(one.pattern) {
			one.names = glob(one.pattern)
		}
		list.entries = append(list.entries, one)
	}
	return list, nil
}

var wildcard = regexp.MustCompile(`\*|\?|\[!?\]?[^\]]*\]`)

// glob returns the expression of a pattern with *, ?, [abc] and [!abc].
func glob(pattern string) *regexp.Regexp {
	expression, end := "", 0
	for _, place := range wildcard.FindAllStringIndex(pattern, -1) {
		expression += regexp.QuoteMeta(pattern[end:place[0]])
		switch found := pattern[place[0]:place[1]]; found[0] {
		case '*':
			expression += ".*"
		case '?':
			expression += "."
		default:
			set := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(found[1 : len(found)-1])
			if rest, isOther := strings.CutPrefix(set, "!"); isOther {
				set = "^" + rest
			}
			expression += "[" + set + "]"
		}
		end = place[1]
	}
	return regexp.MustCompile("^(?s:" + expression + regexp.QuoteMeta(pattern[end:]) + ")$")
}

func (one *knownFailure) fits(id string) bool {
	return one.pattern == id || one.names != nil && one.names.MatchString(id)
}

// apply changes the verdict on a case that the list names: to known if it fails as listed, even if that is tolerated, and to stale if
// it passes.
func (list *known) apply(result Result) Result {
	named := []knownFailure{}
	for at := range list.entries {
		if list.entries[at].fits(result.ID) {
			named = append(named, list.entries[at])
		}
	}
	if len(named) == 0 || result.Status == "skipped" || result.Status == "undetermined" {
		return result
	}
	place := fmt.Sprintf("%s:%d", list.file, named[0].line)
	at := slices.IndexFunc(named, func(one knownFailure) bool { return one.failure == result.Failure })
	switch {
	case result.Failure == "":
		result.Status, result.Reason = "stale", fmt.Sprintf("it passes, though %s lists it", place)
	case at >= 0:
		result.Status, result.Reason = "known", named[at].reason
	default:
		result.Reason = fmt.Sprintf("listed as %s in %s, but it fails as %s", named[0].failure, place, result.Failure)
	}
	return result
}

// problems returns the faults of the list itself: lines that have expired, or that name no case of these vectors.
func (list *known) problems(vectors []*Vector, today time.Time) []string {
	found := []string{}
	for _, one := range list.entries {
		place := fmt.Sprintf("%s:%d: ", list.file, one.line)
		if day := one.expires.Format(time.DateOnly); !one.expires.IsZero() && day < today.Format(time.DateOnly) {
			found = append(found, fmt.Sprintf("%s%s expired on %s: fix the bug, or set a new date", place, one.pattern, day))
		}
		if !slices.ContainsFunc(vectors, func(vector *Vector) bool {
			return slices.ContainsFunc(vector.Cases, func(part Case) bool { return one.fits(part.ID) })
		}) {
			found = append(found, fmt.Sprintf("%sno case matches '%s': remove the line", place, one.pattern))
		}
	}
	return found
}
