package vectors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Handle answers a request of the adapter protocol (docs/reference/adapter.md), a line of JSON, with a reply. It calls choose for a
// random choice, which returns the indices of the options to take.
type Handle func(request []byte, choose func(Question) []int) []byte

// Question is a random choice among options: of one, of a permutation, or of a sample of some.
type Question struct {
	Site, Kind string
	Of         []any
	Some       int
}

// reply has the members of all replies.
type reply struct {
	Error             *struct{ Code, Message string }
	Handle, Value     json.RawMessage
	Bytes             string
	Rejected, Refused *Rejected
	Effects           []struct {
		Send *struct {
			To    any
			Bytes string
		}
		Stream, Event object
	}
	NextTimer *int64 `json:"next_timer_ms"`
}

// failure is what an unmet expectation panics with.
type failure struct {
	class string
	*difference
}

// ending is what a case panics with that ends without a verdict: skipped or undetermined.
type ending struct{ status, reason string }

// fail ends a case by an unmet expectation.
func fail(class, where string, expected, actual any) {
	panic(&failure{class, &difference{where: where, expected: expected, actual: actual}})
}

// Runner runs the cases of a bundle against an implementation.
type Runner struct {
	bundle   *Bundle
	offer    Offer
	handle   Handle
	messages map[string]json.RawMessage // those of the bundle, by their bytes
	doubt    string                     // the first case that the decoder fails; then it alone does not say what a message is
	written  map[string]bool            // types of messages whose cases the encoder passes all
}

// NewRunner makes a runner. It runs the cases of the decoder first: a wrong one must not say what a message is.
func NewRunner(bundle *Bundle, offer Offer, handle Handle) *Runner {
	r := &Runner{bundle: bundle, offer: offer, handle: handle, messages: map[string]json.RawMessage{}, written: map[string]bool{}}
	for _, message := range bundle.Messages {
		r.messages[message.Bytes] = message.Value
	}
	doubt := ""
	r.each([]string{"decode", "rejects"}, func(vector *Vector, result Result) {
		isWrong := vector.Datagrams == nil && result.Failure != "" || result.Failure == "accepted"
		if isWrong && doubt == "" {
			doubt = result.ID
		}
	})
	r.doubt = doubt
	if doubt != "" {
		r.each([]string{"encode"}, func(vector *Vector, result Result) {
			before, isKnown := r.written[typeOf(parse(vector.Value))]
			r.written[typeOf(parse(vector.Value))] = result.Status == "passed" && (before || !isKnown)
		})
	}
	return r
}

// each runs the cases of some checks.
func (r *Runner) each(checks []string, use func(*Vector, Result)) {
	for _, vector := range r.bundle.Vectors {
		for _, one := range vector.Cases {
			if slices.Contains(checks, one.Check) {
				use(vector, r.Check(vector, one))
			}
		}
	}
}

// Check runs one case of a vector.
func (r *Runner) Check(vector *Vector, one Case) (result Result) {
	t := &trial{Runner: r, vector: vector, Case: one, names: object{}, asked: map[string]int{}}
	result = Result{ID: one.ID, Status: "passed", Vector: vector}
	if lack := t.lack(); lack != "" {
		result.Status, result.Reason = "skipped", lack
		return result
	}
	defer func() {
		switch raised := recover().(type) {
		case nil:
			result.Readings = t.readings
			if len(t.tolerated) > 0 {
				result.Status, result.Reason = "tolerated", strings.Join(t.tolerated, "; ")
			}
		case *ending:
			result.Status, result.Reason = raised.status, raised.reason
		case *failure:
			t.judge(raised, &result)
		default:
			panic(raised)
		}
	}()
	checks[one.Check](t)
	return result
}

// trial is a running case.
type trial struct {
	*Runner
	vector    *Vector
	Case      Case
	place     string         // of the step that runs
	names     object         // of the matcher same
	tolerated []string       // why outcomes that occurred are only tolerated
	readings  []string       // that the implementation declares, and that explain failures
	picks     []pick         // the answers of the vector to random choices
	asked     map[string]int // the number of random choices by site
	wrong     object         // the first random choice that does not fit the vector's answer
}

// offers returns whether the implementation offers a capability.
func (t *trial) offers(capability string) bool {
	return slices.Contains(t.offer.Capabilities, capability)
}

// compares returns whether events of this kind are compared.
func (t *trial) compares(kind string) bool {
	isListed := slices.Contains(t.offer.Events, kind)
	isUsual := t.offer.Events == nil && !slices.Contains(t.bundle.Run.OptionalEvents, kind)
	return t.offers("events") && (isListed || isUsual)
}

// lack returns why the implementation cannot run the case.
func (t *trial) lack() string {
	for _, need := range t.Case.Needs {
		kind, isEvent := strings.CutPrefix(need, "events.")
		if !t.offers(need) && !(isEvent && t.compares(kind)) && !(need == "choices.oracle" && t.offer.Oracle) {
			return "the implementation does not offer " + need
		}
	}
	for _, node := range t.vector.Nodes {
		for member, most := range t.offer.Limits {
			if value := integer(node.Config[member]); value != nil && value.Int64() > most {
				return fmt.Sprintf("the implementation takes at most %d for %s", most, member)
			}
		}
	}
	observes := func(word string) bool { return strings.HasPrefix(word, "observe.") }
	if t.Case.Check == "unchanged" && !slices.ContainsFunc(t.offer.Capabilities, observes) {
		return "the implementation offers nothing to observe"
	}
	return ""
}

// ask sends a request and returns the reply. An error ends the case; as skipped, if the offer does not cover what is not supported.
func (t *trial) ask(node string, request object) (answer reply) {
	request["protocol"] = t.bundle.Protocol
	unmarshal(t.handle(marshal(request), t.choose), &answer)
	if problem := answer.Error; problem != nil {
		class, isBroken := map[string]string{"panic": "crashed", "hung": "hung"}[problem.Code]
		switch {
		case isBroken:
			fail(class, fmt.Sprintf("reply to %s", request["op"]), object{"ok": true}, problem.Message)
		case problem.Code == "unsupported" && !t.covers(request):
			panic(&ending{"skipped", problem.Message})
		}
		fail("error", fmt.Sprintf("reply to %s", request["op"]), object{"ok": true}, object{"error": object{"code": problem.Code, "message": problem.Message}})
	}
	if t.wrong != nil {
		fail("choice", node+": choice", "the options that the vector answers", t.wrong)
	}
	return answer
}

// covers returns whether the offer covers a request. A configuration other than the default one is not covered.
func (t *trial) covers(request object) bool {
	op, _ := request["op"].(string)
	capability := t.bundle.Run.CoveredBy[op]
	switch op {
	case "call":
		capability = fmt.Sprint("api.", request["name"])
	case "query":
		capability = fmt.Sprint("observe.", request["what"])
	}
	config, _ := request["config"].(object)
	isOther := func(member string) bool { return !slices.Contains(t.bundle.Run.RequiredConfig, member) }
	return t.offers(capability) && !slices.ContainsFunc(sortedNames(config), isOther)
}

// choose returns the options to take: as the vector says, else by weights that follow from the seed, the site and the number.
func (t *trial) choose(asked Question) []int {
	some := asked.Some
	switch asked.Kind {
	case "one":
		some = 1
	case "permutation":
		some = len(asked.Of)
	}
	number := t.asked[asked.Site]
	t.asked[asked.Site]++
	if at := slices.IndexFunc(t.picks, func(one pick) bool { return one.Site == asked.Site }); at >= 0 {
		answer := t.picks[at].Pick
		t.picks = slices.Delete(slices.Clone(t.picks), at, at+1)
		picked := []int{}
		for _, wanted := range answer {
			if at := slices.IndexFunc(asked.Of, func(option any) bool { return fits(wanted, option) }); at >= 0 {
				picked = append(picked, at)
			}
		}
		if len(answer) == some && len(picked) == some {
			return picked
		}
		if t.wrong == nil {
			t.wrong = object{"site": asked.Site, "some": json.Number(fmt.Sprint(some)), "of": asked.Of, "pick": answer}
		}
	}
	indices, weights := []int{}, []string{}
	for at := range asked.Of {
		indices, weights = append(indices, at), append(weights, blake2b(fmt.Sprintf("%s/%s/%d/%d", t.Case.Seed, asked.Site, number, at), 8))
	}
	slices.SortFunc(indices, func(one, other int) int { return strings.Compare(weights[one], weights[other]) })
	return indices[:some]
}

// read returns a message: one of the bundle, or what the implementation decodes, if that can be relied on.
func (t *trial) read(digits string) json.RawMessage {
	if message, isKnown := t.messages[digits]; isKnown {
		return message
	}
	if !t.offers("codec") {
		panic(&ending{"skipped", "to read messages the codec is needed"})
	}
	var message json.RawMessage
	ended := catch(func() {
		answer := t.ask("", object{"op": "decode", "bytes": digits})
		isRejected, isWritten := answer.Rejected != nil, false
		if t.doubt == "" && isRejected {
			answer.Value = json.RawMessage(`"no message: ` + answer.Rejected.Class + `"`)
		} else if t.doubt != "" && !isRejected && t.written[typeOf(parse(answer.Value))] {
			isWritten = t.ask("", object{"op": "encode", "value": answer.Value}).Bytes == digits
		}
		if t.doubt == "" || isWritten {
			message = answer.Value
		}
	})
	if message == nil && t.doubt == "" {
		panic(&ending{"undetermined", fmt.Sprint("it depends on a message on which the decoder ends: ", digits, ended)})
	} else if message == nil {
		panic(&ending{"undetermined", "it depends on how the decoder reads a message, and the decoder fails " + t.doubt})
	}
	return message
}

// catch runs what may end the case; returns how it ended, or nil.
func catch(run func()) (ended any) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *failure, *ending:
			ended = raised
		default:
			panic(raised)
		}
	}()
	run()
	return nil
}

// kind returns the type of a message.
func (t *trial) kind(digits string) string {
	if kind := typeOf(parse(t.read(digits))); kind != "" {
		return kind
	}
	return "an invalid message"
}

// typeOf returns the type of a message; empty if it has none.
func typeOf(message any) string {
	shown, _ := message.(object)
	kind, _ := shown["type"].(string)
	return kind
}

// compareMessages notes on a difference whether two datagrams are the same message in another form, as far as the decoder can say.
func (t *trial) compareMessages(shown *difference, one, other, where string) *difference {
	ended := catch(func() {
		wanted, found := parse(t.read(one)), parse(t.read(other))
		shown.otherForm = fits(wanted, found)
		shown.whole = &difference{where: where, expected: wanted, actual: found}
	})
	if failed, isFailure := ended.(*failure); isFailure {
		panic(failed)
	}
	return shown
}

// match fails unless a value matches a pattern.
func (t *trial) match(class, where string, expected, actual any) {
	if different := firstDifference(expected, actual, t.names, where); different != nil {
		different.whole = &difference{where: where, expected: expected, actual: actual}
		panic(&failure{class, different})
	}
}
