package vectors

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Result is the verdict on a case: passed, failed, crashed, hung, flooded, differs, tolerated, skipped or undetermined;
// with a list of known failures also known or stale.
type Result struct {
	ID        string
	Status    string
	Failure   string   // its class, as in docs/explanation/failing-vector.md
	Decisions []string // on which a failed expectation rests; none if the document's words require it
	Reason    string
	Readings  []string // declared ones that the case confirms, such as "BA-12: descending"
	Vector    *Vector
	different *difference // the first difference
}

// IsViolation returns whether the case must fail a test: the document's own words are violated, or a known failure passes.
func (result Result) IsViolation() bool {
	return result.Status == "failed" || result.Status == "stale" || isBroken(result.Status)
}

// isBroken returns whether this failure is a status of its own: the implementation gave no proper answer at all.
func isBroken(failure string) bool { return isEnd(failure) || failure == "flooded" }

// isEnd returns whether nothing came: readings of the document cannot differ in that.
func isEnd(failure string) bool { return failure == "crashed" || failure == "hung" }

// judge sets the verdict on a failure: by what the expectation rests on, the level, and the readings that the implementation declares.
func (t *trial) judge(failed *failure, result *Result) {
	if result.Readings = t.declared(failed); len(result.Readings) > 0 {
		return
	}
	result.Status, result.Failure, result.different = "failed", failed.class, failed.difference
	if failed.class != "error" {
		result.Decisions = t.decisions(failed)
	}
	switch {
	case !isBroken(failed.class) && t.vector.Level != "must":
		result.Status = "tolerated"
	case len(result.Decisions) > 0:
		result.Status = "differs"
	case isBroken(failed.class):
		result.Status = failed.class
	}
}

var index = regexp.MustCompile(`\[\d+\]$`)

// isOutcome returns whether a failure is an outcome that the basis names.
func (t *trial) isOutcome(name string, failed *failure) bool {
	outcome, isKnown := t.bundle.Outcomes[name]
	if failed.otherForm || !isKnown {
		return name == "=" && failed.otherForm
	}
	where := failed.where
	if failed.class == "events" {
		where = index.ReplaceAllString(where, "")
	}
	at, _ := outcome[2].(json.Number).Int64()
	return outcome[0] == failed.class && outcome[1] == where && fits(t.bundle.Values[at], withoutReasons(failed.actual))
}

// withoutReasons leaves out why a message was rejected, and the words in which a call was refused: no document says them.
func withoutReasons(actual any) any {
	shown, _ := actual.(object)
	if _, isRejected := shown["rejected"].(object); isRejected {
		return object{"rejected": true}
	}
	if refused, isRefused := shown["refused"].(object); isRefused {
		return object{"refused": object{"class": refused["class"]}}
	}
	return actual
}

// isOpen returns whether an outcome stands for any failure of a class: the document is silent, or allows an implementation even to end.
func isOpen(name, class string) bool {
	return name == "!" || name == "*" || name == "*events" && class == "events"
}

// declared returns the readings that the implementation declares and that explain a failure. No case confirms one that hangs.
func (t *trial) declared(failed *failure) []string {
	for _, key := range sortedKeys(t.vector.Basis[t.at()]) {
		for name, readings := range t.vector.Basis[t.at()][key] {
			if failed.class == "hung" || !isOpen(name, failed.class) && !t.isOutcome(name, failed) {
				continue
			}
			decisions, found := strings.Split(key, " "), []string{}
			for at, names := range strings.Split(readings, " ") {
				declared := t.offer.Readings[decisions[at]]
				if slices.Contains(strings.Split(names, "|"), declared) {
					found = append(found, fmt.Sprintf("%s: %s", decisions[at], declared))
				}
			}
			if len(found) == len(decisions) {
				return found
			}
		}
	}
	return nil
}

// at returns the place of the basis that is being checked: a step, or the check of a case without steps.
func (t *trial) at() string {
	if t.place == "" {
		return t.Case.Check
	}
	return t.place
}

// basis returns what the expectation rests on that is checked now or next: decisions, outcome, readings.
func (t *trial) basis() map[string]map[string]string {
	found, isKnown := t.vector.Basis[t.at()]
	isReached := false
	for at, one := range t.vector.Steps {
		place := fmt.Sprintf("steps[%d]", at)
		isReached = isReached || place == t.place
		if isReached && !isKnown && slices.Contains(checking, one.Do) {
			return t.vector.Basis[place]
		}
	}
	if !isKnown {
		return t.vector.Basis[after]
	}
	return found
}

// decisions returns those on which the failed expectation rests; none if the document's words require it.
func (t *trial) decisions(failed *failure) []string {
	named, rest, isSilent := []string{}, []string{}, !t.offer.Oracle && slices.Contains(t.Case.Needs, "choices.oracle")
	basis := t.basis()
	for _, key := range sortedKeys(basis) {
		isNamed, isForm := false, len(basis[key]) == 1
		for name := range basis[key] {
			isNamed = isNamed || isEnd(failed.class) && name == "!" || !isEnd(failed.class) && t.isOutcome(name, failed)
			isSilent = isSilent || isOpen(name, failed.class)
			isForm = isForm && name == "="
		}
		if isNamed {
			named = append(named, strings.Split(key, " ")...)
		}
		if !isForm {
			rest = append(rest, strings.Split(key, " ")...)
		}
	}
	isWords := func(clause string) bool { return !t.bundle.Clauses[clause].Decision }
	switch {
	case len(named) > 0:
		return unique(named)
	case !isEnd(failed.class) && isSilent && len(rest) > 0:
		return unique(rest)
	case slices.ContainsFunc(t.vector.Clauses, isWords):
		return nil
	}
	return t.vector.Clauses
}

// sortedKeys returns the decisions of a table in their order.
func sortedKeys(table map[string]map[string]string) []string {
	keys := []string{}
	for key := range table {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// unique returns names without repetitions.
func unique(names []string) []string {
	found := []string{}
	for _, name := range names {
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}
