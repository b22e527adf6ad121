package vectors

import (
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
	Where     string   // the first difference, and both sides as JSON
	Expected  string
	Actual    string
	Reason    string
	Readings  []string // declared ones that the case confirms, such as "BA-12: descending"
	Stack     string   // of a panic
	Vector    *Vector
	reordered string // the list whose order alone differs
	input     string // of the codec
	happened  []happening
}

// IsViolation returns whether the case must fail a test: the document's own words are violated, or a known failure passes.
func (result Result) IsViolation() bool {
	return result.Status == "failed" || result.Status == "stale" || isBroken(result.Status)
}

// isUnmetShould returns whether the vector says should, and that is not met.
func (result Result) isUnmetShould() bool {
	return result.Status == "tolerated" && result.Failure != "" && result.Vector.Level == "should"
}

// isBroken returns whether this failure is a status of its own: the implementation gave no proper answer at all.
func isBroken(failure string) bool { return isEnd(failure) || failure == "flooded" }

// isEnd returns whether nothing came: readings of the document cannot differ in that.
func isEnd(failure string) bool { return failure == "crashed" || failure == "hung" }

// CheckReadings returns an error if an implementation declares a reading that is not described.
func (bundle *Bundle) CheckReadings(declared map[string]string) error {
	for clause, name := range declared {
		names := []string{}
		for known := range bundle.Readings[clause] {
			names = append(names, known)
		}
		slices.Sort(names)
		switch {
		case slices.Contains(names, name) || !bundle.isOwn(clause):
		case len(names) == 0:
			return fmt.Errorf("the offer declares %s as '%s'; no other reading of it is described", clause, name)
		default:
			return fmt.Errorf("the offer declares %s as '%s'; described are %s", clause, name, strings.Join(names, ", "))
		}
	}
	return nil
}

// isOwn returns whether a clause is one of this protocol, which all begin with one letter; an adapter can have several protocols.
func (bundle *Bundle) isOwn(clause string) bool {
	for own := range bundle.Readings {
		if own[:1] == clause[:1] {
			return true
		}
	}
	return false
}

// unconfirmed returns what is wrong with declared readings: no case confirms them, though some of these results could.
func unconfirmed(declared map[string]string, results []Result) []string {
	found := []string{}
	for clause, name := range declared {
		count, isConfirmed := 0, false
		for _, result := range results {
			if result.Status != "skipped" && result.Status != "undetermined" && slices.Contains(result.Vector.Clauses, clause) {
				count++
			}
			isConfirmed = isConfirmed || slices.Contains(result.Readings, clause+": "+name)
		}
		if count > 0 && !isConfirmed {
			found = append(found, fmt.Sprintf("the offer declares %s as '%s', but none of %d cases that cite it confirms that", clause, name, count))
		}
	}
	slices.Sort(found)
	return found
}

const unsupported = "the implementation does not support this "

var unopened = regexp.MustCompile("^" + unsupported + "(?:open|load): ")

// checkOpened returns what is wrong if nodes are claimed, and all cases of the bundle have run, but none has opened a node.
func (bundle *Bundle) checkOpened(results []Result) []string {
	needNodes, cases, count, reasons := map[string]bool{}, 0, 0, map[string]int{}
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			needNodes[one.ID] = slices.Contains(one.Needs, "exchange")
			cases++
		}
	}
	for _, result := range results {
		switch {
		case !needNodes[result.ID]:
		case result.Status == "skipped" && unopened.MatchString(result.Reason):
			count++
			reasons[unopened.ReplaceAllString(result.Reason, "")]++
		case result.Status != "skipped" || strings.HasPrefix(result.Reason, unsupported):
			return nil
		}
	}
	if count == 0 || len(results) < cases {
		return nil
	}
	_, most, _ := strings.Cut(byCount(reasons)[0], " ")
	text := "%s: exchange is claimed, but open was unsupported in all %d cases: %s"
	return []string{fmt.Sprintf(text, bundle.Protocol, count, most)}
}

func (t *trial) judge(unmet *failure, result *Result) {
	result.Failure, result.Stack, result.input, result.happened = unmet.class, unmet.stack, t.input, t.happened
	owes := t.owesAnswer(unmet.class)
	if unmet.class != "error" && !owes { // no reading of the document
		result.Decisions = t.decisions(unmet)
	}
	result.Where, result.Expected, result.Actual = unmet.where, canonical(unmet.expected), canonical(unmet.actual)
	result.reordered = unmet.reordered
	switch {
	case !isBroken(unmet.class) && t.vector.Level != "must" && !owes:
		result.Status, result.Reason = "tolerated", "the vector says "+t.vector.Level
	case len(result.Decisions) > 0:
		result.Status = "differs"
	case isBroken(unmet.class):
		result.Status = unmet.class
	default:
		result.Status = "failed"
	}
}

// owesAnswer returns whether no reading of the document explains this failure: no answer, though all that was asked is legal.
func (t *trial) owesAnswer(class string) bool {
	isCodec := t.op == "decode" || t.op == "encode"
	return (isEnd(class) || class == "error") && !t.isChallenged && !isCodec
}

var (
	lastIndex  = regexp.MustCompile(`\[\d+\]$`)
	isDecision = regexp.MustCompile(`^[A-Z]A-\d+$`)
)

// fingerprint returns the hash of an outcome, under which the basis lists the outcomes of other readings.
func fingerprint(unmet *failure) string {
	where := unmet.where
	if isEnd(unmet.class) {
		return "!"
	}
	if unmet.sameMeaning {
		return "~"
	}
	if unmet.otherForm {
		return "="
	}
	if unmet.class == "events" {
		where = lastIndex.ReplaceAllString(where, "")
	}
	return blake2b(canonical([]any{unmet.class, where, withoutReasons(unmet.actual)}), 6)
}

// withoutReasons returns an outcome without why a message was rejected, and without the words in which a call was refused.
func withoutReasons(actual any) any {
	found, isObject := actual.(object)
	if !isObject {
		return actual
	}
	made := newObject()
	for _, name := range found.names {
		made.set(name, found.values[name])
	}
	if _, isReason := found.values["rejected"].(object); isReason {
		made.set("rejected", true)
	}
	if reason, isReason := found.values["refused"].(object); isReason {
		kept := newObject()
		for _, part := range reason.names {
			if part != "message" {
				kept.set(part, reason.values[part])
			}
		}
		made.set("refused", kept)
	}
	return made
}

// decisions returns the decisions on which the unmet expectation rests.
func (t *trial) decisions(unmet *failure) []string {
	only := t.vector.Clauses
	if slices.ContainsFunc(only, func(clause string) bool { return !isDecision.MatchString(clause) }) {
		only = nil
	}
	came, basis := fingerprint(unmet), t.basis()
	named, resting, isOpen := []string{}, []string{}, false
	for _, key := range basis.names {
		others := basis.values[key].(object)
		if _, known := others.values[came]; known {
			named = append(named, strings.Fields(key)...)
		}
		if !slices.ContainsFunc(others.names, func(name string) bool { return name != "=" && name != "~" }) {
			continue
		}
		resting = append(resting, strings.Fields(key)...)
		for _, name := range others.names {
			isOpen = isOpen || name == "!" || name == "*" || (name == "*events" && unmet.class == "events")
		}
	}
	named, resting = distinct(named), distinct(resting)
	isAlone := t.offer.Oracle || !slices.Contains(t.Case.Needs, "choices.oracle")
	switch {
	case len(named) > 0:
		return named
	case came == "!" || (isAlone && !isOpen) || len(resting) == 0:
		return only
	}
	return resting
}

// checkedAt returns the step that is being checked, or the check of a case without steps.
func (t *trial) checkedAt() string {
	if t.place == "" {
		return t.Case.Check
	}
	return t.place
}

// declared returns the readings that the implementation declares and that explain a failure.
func (t *trial) declared(unmet *failure) []string {
	if len(t.offer.Readings) == 0 || t.vector.Basis == nil || t.owesAnswer(unmet.class) {
		return nil
	}
	at, _ := parse(t.vector.Basis).(object).values[t.checkedAt()].(object)
	outcomes := []string{fingerprint(unmet), "*", "!"}
	if unmet.class == "events" {
		outcomes = append(outcomes, "*events")
	}
	for _, key := range at.names {
		for _, outcome := range outcomes {
			names, isListed := at.values[key].(object).values[outcome].(string)
			if isListed && t.areDeclared(strings.Fields(key), strings.Fields(names)) {
				found := []string{}
				for _, decision := range strings.Fields(key) {
					found = append(found, decision+": "+t.offer.Readings[decision])
				}
				return found
			}
		}
	}
	return nil
}

// areDeclared returns whether the implementation declares one of the readings of each decision; their names have | between them.
func (t *trial) areDeclared(decisions, names []string) bool {
	for at, decision := range decisions {
		if !slices.Contains(strings.Split(names[at], "|"), t.offer.Readings[decision]) {
			return false
		}
	}
	return true
}

// basis returns the decisions behind the expectation at this place, or behind the next one in the script.
func (t *trial) basis() object {
	if t.vector.Basis == nil {
		return newObject()
	}
	basis, place, judge := parse(t.vector.Basis).(object), t.checkedAt(), after
	if found, known := basis.values[place]; known {
		return found.(object)
	}
	isReached := false
	for at, step := range t.vector.Steps {
		name := fmt.Sprintf("steps[%d]", at)
		isReached = isReached || name == place
		if isReached && (step.Do == "expect" || step.Do == "observe" || step.Do == "told") {
			judge = name
			break
		}
	}
	if found, known := basis.values[judge]; known {
		return found.(object)
	}
	return newObject()
}

func distinct(names []string) []string {
	found := []string{}
	for _, name := range names {
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}
