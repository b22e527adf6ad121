package vectors

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

const after = "after the last step"

// Result is the verdict on a case: passed, failed, crashed, flooded, differs, tolerated,
// skipped or undetermined.
type Result struct {
	ID        string
	Status    string
	Failure   string   // its class, as in docs/explanation/failing-vector.md
	Decisions []string // on which a failed expectation rests; none if the document's words require it
	Where     string   // the first difference, and both sides as JSON
	Expected  string
	Actual    string
	Reason    string
	Vector    *Vector
	happened  []happening
}

// failure is what an unmet expectation panics with.
type failure struct {
	class string
	difference
}

func fail(class, where string, expected, actual any) {
	panic(&failure{class, difference{where: where, expected: expected, actual: actual}})
}

// trial is a running case.
type trial struct {
	*Runner
	vector    *Vector
	Case      Case
	choices   *choices
	place     string // the step that is being checked
	bound     *bound
	tolerated []string // the branches taken that are only tolerated
	happened  []happening
}

// Runner runs the cases of a bundle against an implementation.
type Runner struct {
	bundle    *Bundle
	subject   Implementation
	offer     Offer
	isTrusted bool // whether the implementation's decoder may read messages for the runner
}

// NewRunner makes a runner. It runs the cases of the decoder first: a wrong one must not say what a message is.
func NewRunner(bundle *Bundle, subject Implementation) *Runner {
	made := &Runner{bundle: bundle, subject: subject, offer: subject.Offer()}
	made.isTrusted = slices.Contains(made.offer.Capabilities, "codec")
	isTrusted := made.isTrusted
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			isTrusted = isTrusted && (one.Check != "decode" || !made.Check(vector, one).IsViolation())
		}
	}
	made.isTrusted = isTrusted
	return made
}

// IsViolation returns whether the document's own words are violated.
func (result Result) IsViolation() bool {
	return result.Status == "failed" || isBroken(result.Status)
}

// isBroken returns whether this is a failure that is a status of its own.
func isBroken(failure string) bool { return failure == "crashed" || failure == "flooded" }

// undetermined is what a case panics with that depends on a decoder which is wrong.
type undetermined struct{}

// Check runs one case of a vector.
func (r *Runner) Check(vector *Vector, one Case) (result Result) {
	running := &trial{Runner: r, vector: vector, Case: one}
	running.choices = newChoices(blake2b(r.bundle.Run.Seed+"/"+one.ID, 8))
	result = Result{ID: one.ID, Status: "passed", Vector: vector}
	if lacking := running.missing(); lacking != "" {
		result.Status, result.Reason = "skipped", lacking
		return result
	}
	defer func() {
		switch raised := recover().(type) {
		case nil:
			if len(running.tolerated) > 0 {
				result.Status, result.Reason = "tolerated", strings.Join(running.tolerated, "; ")
			}
		case Unsupported:
			result.Status, result.Reason = "skipped", string(raised)
		case undetermined:
			result.Status, result.Reason = "undetermined", "it depends on the decoder, which violates cases of its own: see those first"
		case *failure:
			running.judge(raised, &result)
		default:
			panic(raised)
		}
	}()
	checks[one.Check](running)
	return result
}

func (t *trial) missing() string {
	for _, need := range t.Case.Needs {
		kind, isEvent := strings.CutPrefix(need, "events.")
		has := slices.Contains(t.offer.Capabilities, need) || (isEvent && t.tells(kind)) || (need == "choices.oracle" && t.offer.Oracle)
		if !has {
			return "the implementation does not offer " + need
		}
	}
	for _, node := range t.vector.Nodes {
		config, _ := parse(node.Config).(object)
		for member, most := range t.offer.Limits {
			if number, isNumber := config.values[member].(json.Number); isNumber {
				if value, err := number.Int64(); err == nil && value > most {
					return fmt.Sprintf("the implementation takes at most %d for %s", most, member)
				}
			}
		}
	}
	observes := func(word string) bool { return strings.HasPrefix(word, "observe.") }
	if t.Case.Check == "unchanged" && !slices.ContainsFunc(t.offer.Capabilities, observes) {
		return "the implementation offers nothing to observe"
	}
	return ""
}

// tells returns whether events of this kind are compared.
func (t *trial) tells(kind string) bool {
	if !slices.Contains(t.offer.Capabilities, "events") {
		return false
	}
	if t.offer.Events == nil {
		return !slices.Contains(t.bundle.Run.OptionalEvents, kind)
	}
	return slices.Contains(t.offer.Events, kind)
}

// ---- verdicts

func (t *trial) judge(unmet *failure, result *Result) {
	result.Failure, result.happened = unmet.class, t.happened
	if unmet.class != "error" { // the adapter's own
		result.Decisions = t.decisions(unmet)
	}
	result.Where, result.Expected, result.Actual = unmet.where, canonical(unmet.expected), canonical(unmet.actual)
	switch {
	case !isBroken(unmet.class) && t.vector.Level != "must":
		result.Status = "tolerated"
	case len(result.Decisions) > 0:
		result.Status = "differs"
	case isBroken(unmet.class):
		result.Status = unmet.class
	default:
		result.Status = "failed"
	}
}

var (
	lastIndex  = regexp.MustCompile(`\[\d+\]$`)
	isDecision = regexp.MustCompile(`^[A-Z]A-\d+$`)
)

// fingerprint returns the hash of an outcome, under which the basis lists the outcomes of other readings.
func fingerprint(unmet *failure) string {
	where := unmet.where
	if unmet.class == "crashed" {
		return "!"
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
		if len(others.names) == 1 && others.names[0] == "=" {
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

// basis returns the decisions behind the expectation at this place, or behind the next one in the script.
func (t *trial) basis() object {
	if t.vector.Basis == nil {
		return newObject()
	}
	basis, place, judge := parse(t.vector.Basis).(object), t.place, after
	if place == "" {
		place = t.Case.Check
	}
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

// ---- the implementation

// ask calls the implementation. A panic is a crash, unless it says that the implementation does not support this.
func ask[T any](what string, call func() T) T {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case Unsupported, undetermined, *failure:
			panic(raised)
		default:
			fail("crashed", "reply to "+what, "an answer", fmt.Sprintf("%v\n%s", raised, debug.Stack()))
		}
	}()
	return call()
}

// decode returns the message of a datagram, or why it is rejected.
func (t *trial) decode(digits string) (message any, rejected *Rejected) {
	return ask("decode", func() any {
		message, err := t.subject.Decode(unhex(digits))
		if rejected = rejection(err); rejected != nil {
			return nil
		}
		return plain(message)
	}), rejected
}

func (t *trial) encode(message json.RawMessage) (digits string, rejected *Rejected) {
	return ask("encode", func() string {
		datagram, err := t.subject.Encode(message)
		rejected = rejection(err)
		return hex.EncodeToString(datagram)
	}), rejected
}

func rejection(err error) *Rejected {
	var rejected *Rejected
	if err != nil && !errors.As(err, &rejected) {
		return &Rejected{"other", err.Error()}
	}
	return rejected
}

// read returns a message as the implementation decodes it.
func (t *trial) read(digits string) any {
	if !slices.Contains(t.offer.Capabilities, "codec") {
		panic(Unsupported("to read messages the codec is needed"))
	}
	if !t.isTrusted {
		panic(undetermined{})
	}
	message, rejected := t.decode(digits)
	if rejected != nil {
		return "no message: " + rejected.Error()
	}
	return message
}

func (t *trial) kind(digits string) string {
	if message, isObject := t.read(digits).(object); isObject {
		if kind, isText := message.values["type"].(string); isText {
			return kind
		}
	}
	return "an invalid message"
}

func (t *trial) bytesDifference(where, expected, actual string) difference {
	at := 0
	for at < len(expected) && at < len(actual) && expected[at:at+2] == actual[at:at+2] {
		at += 2
	}
	return difference{fmt.Sprintf("%s, from byte %d", where, at/2), expected, actual, t.isOtherForm(expected, actual)}
}

// isOtherForm returns whether two datagrams are the same message; false if the decoder cannot say.
func (t *trial) isOtherForm(one, other string) bool {
	return t.isTrusted && same(t.read(one), t.read(other))
}

// match fails if the value does not match, and keeps the names that it binds.
func (t *trial) match(class, where string, expected, actual any) {
	found, fits := firstBinding(expected, actual, t.bound)
	if !fits {
		panic(&failure{class, *firstDifference(expected, actual, t.bound, where)})
	}
	t.bound = found
}

func unhex(digits string) []byte {
	data, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return data
}
