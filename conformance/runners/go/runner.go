package vectors

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

const after = "after the last step"

// failure is what an unmet expectation panics with.
type failure struct {
	class string
	difference
	stack string
}

func fail(class, where string, expected, actual any) {
	panic(&failure{class: class, difference: difference{where: where, expected: expected, actual: actual}})
}

// demand fails if there is a difference.
func demand(class string, different *difference) {
	if different != nil {
		panic(&failure{class: class, difference: *different})
	}
}

// undetermined is what a case panics with that depends on a decoder which may be wrong; it says why.
type undetermined string

// Runner runs the cases of a bundle against an implementation.
type Runner struct {
	bundle   *Bundle
	subject  Implementation
	offer    Offer
	limit    time.Duration     // of a case
	decoding map[string]Result // of the decoder's cases
	messages map[string]any    // those of the bundle, by their bytes
	doubt    string            // the first case that the decoder fails; then it alone does not say what a message is
	written  map[string]bool   // types of messages whose cases the encoder passes all; nil if that does not matter
	hung     int               // the number of cases that did not end
}

const mostHung = 20 // each of them may keep a processor busy

// NewRunner makes a runner that gives each case this much time. It runs the cases of the decoder first: a wrong one must not say
// what a message is.
func NewRunner(bundle *Bundle, subject Implementation, limit time.Duration) *Runner {
	r := &Runner{bundle: bundle, subject: subject, offer: subject.Offer(), limit: limit, messages: bundle.messages()}
	decoding, doubt := map[string]Result{}, ""
	for _, vector := range bundle.Vectors {
		for _, one := range vector.Cases {
			if one.Check != "decode" && one.Check != "rejects" {
				continue
			}
			result := r.Check(vector, one)
			decoding[one.ID] = result
			isWrong := one.Check == "decode" && result.Failure != "" || result.Failure == "accepted"
			if isWrong && doubt == "" {
				doubt = one.ID
			}
		}
	}
	r.decoding, r.doubt = decoding, doubt
	if doubt != "" {
		r.written = r.writtenTypes()
	}
	return r
}

// writtenTypes runs the cases of the encoder.
func (r *Runner) writtenTypes() map[string]bool {
	passed := map[string]bool{}
	for _, vector := range r.bundle.Vectors {
		for _, one := range vector.Cases {
			if one.Check == "encode" {
				kind, result := typeOf(parse(vector.Value)), r.Check(vector, one)
				others, isKnown := passed[kind]
				passed[kind] = result.Status == "passed" && (others || !isKnown)
			}
		}
	}
	return passed
}

func (r *Runner) offers(capability string) bool {
	return slices.Contains(r.offer.Capabilities, capability)
}

// Check runs one case of a vector. One that takes too long is left behind: it never gets on after the call that it waits for.
func (r *Runner) Check(vector *Vector, one Case) Result {
	if result, known := r.decoding[one.ID]; known {
		return result
	}
	if r.hung == mostHung {
		return Result{ID: one.ID, Status: "undetermined", Reason: fmt.Sprintf("not run: %d cases before it hung", mostHung), Vector: vector}
	}
	t := &trial{Runner: r, vector: vector, Case: one, choices: newChoices(blake2b(r.bundle.Run.Seed+"/"+one.ID, 8))}
	ended := make(chan Result, 1)
	t.running.Lock()
	go func() {
		defer t.running.Unlock()
		ended <- t.run()
	}()
	select {
	case result := <-ended:
		return result
	case <-time.After(r.limit):
	}
	t.running.Lock()
	select {
	case result := <-ended: // at the last moment
		return result
	default:
	}
	r.hung++
	result := Result{ID: one.ID, Vector: vector}
	late := difference{where: "reply to " + t.op, expected: newObject("ok", true), actual: fmt.Sprintf("no answer within %v", r.limit)}
	t.judge(&failure{class: "hung", difference: late}, &result)
	return result
}

// trial is a running case.
type trial struct {
	*Runner
	vector    *Vector
	Case      Case
	choices   *choices
	running   sync.Mutex // held by the case, but not while the implementation is called
	op        string     // of the last call
	place     string     // the step that is being checked
	bound     *bound
	tolerated []string // the branches taken that are only tolerated
	readings  []string // those that the implementation declares, and that explain failures
	input     string   // of the codec: the op, and what it is asked about
	happened  []happening
	// isChallenged: it was given bytes of a peer, or a call that it must refuse: readings of the document may end there
	isChallenged bool
}

func (t *trial) run() (result Result) {
	result = Result{ID: t.Case.ID, Status: "passed", Vector: t.vector}
	if lacking := t.missing(); lacking != "" {
		result.Status, result.Reason = "skipped", lacking
		return result
	}
	defer func() {
		switch raised := recover().(type) {
		case nil:
			result.Readings = t.readings
			if len(t.tolerated) > 0 {
				result.Status, result.Reason = "tolerated", strings.Join(t.tolerated, "; ")
			}
		case Unsupported:
			result.Status, result.Reason = "skipped", string(raised)
		case undetermined:
			result.Status, result.Reason = "undetermined", string(raised)
		case *failure:
			if result.Readings = t.declared(raised); len(result.Readings) == 0 {
				t.judge(raised, &result)
			}
		default:
			panic(raised)
		}
	}()
	checks[t.Case.Check](t)
	return result
}

// missing returns what the implementation lacks for this case.
func (t *trial) missing() string {
	for _, need := range t.Case.Needs {
		kind, isEvent := strings.CutPrefix(need, "events.")
		if !t.offers(need) && !(isEvent && t.tells(kind)) && !(need == "choices.oracle" && t.offer.Oracle) {
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
	if t.offer.Events == nil {
		return t.offers("events") && !slices.Contains(t.bundle.Run.OptionalEvents, kind)
	}
	return t.offers("events") && slices.Contains(t.offer.Events, kind)
}

// ask calls the implementation for an op of the adapter protocol. A panic is a crash, unless it says that the implementation does
// not support this; that is a failure if it offers the capability which claims the op.
func ask[T any](t *trial, op, claim string, call func() T) T {
	t.op = op
	wrong := func(class, code, message string) *failure {
		problem := newObject("error", newObject("code", code, "message", message))
		return &failure{class: class, difference: difference{where: "reply to " + op, expected: newObject("ok", true), actual: problem}}
	}
	t.running.Unlock()
	defer func() {
		raised := recover()
		t.running.Lock()
		switch raised := raised.(type) {
		case nil:
		case Unsupported:
			if t.offers(claim) {
				panic(wrong("error", "unsupported", string(raised)))
			}
			panic(Unsupported(fmt.Sprintf("%s%s: %s", unsupported, op, string(raised))))
		case AdapterError:
			class, isBroken := map[string]string{"panic": "crashed", "timeout": "hung"}[raised.Code]
			if !isBroken {
				class = "error"
			}
			panic(wrong(class, raised.Code, raised.Message))
		default:
			crash := wrong("crashed", "panic", fmt.Sprint(raised))
			crash.stack = string(debug.Stack())
			panic(crash)
		}
	}()
	return call()
}

// claim returns the capability that claims this op with this configuration: none, if it sets what has a default.
func (t *trial) claim(capability string, config json.RawMessage) string {
	members, _ := parse(config).(object)
	for _, name := range members.names {
		if !slices.Contains(t.bundle.Run.RequiredConfig, name) {
			return ""
		}
	}
	return capability
}

// decode returns the message of a datagram, or why it is rejected.
func (t *trial) decode(digits string) (message any, rejected *Rejected) {
	return ask(t, "decode", "codec", func() any {
		message, err := t.subject.Decode(unhex(digits))
		if rejected = rejection(err); rejected != nil {
			return nil
		}
		return plain(message)
	}), rejected
}

func (t *trial) encode(message json.RawMessage) (digits string, rejected *Rejected) {
	return ask(t, "encode", "codec", func() string {
		datagram, err := t.subject.Encode(message)
		rejected = rejection(err)
		return hex.EncodeToString(datagram)
	}), rejected
}

func rejection(err error) *Rejected {
	var rejected *Rejected
	if err != nil && !errors.As(err, &rejected) {
		return &Rejected{Class: "other", Message: err.Error()}
	}
	return rejected
}

// read returns a message: one of the bundle, or what the implementation decodes, if that can be relied on.
func (t *trial) read(digits string) any {
	if message, isKnown := t.messages[digits]; isKnown {
		return message
	}
	if !t.offers("codec") {
		panic(Unsupported("to read messages the codec is needed"))
	}
	message, isReliable := t.decodeReliably(digits)
	if !isReliable && t.doubt == "" {
		panic(undetermined("it depends on a message on which the decoder ends: " + cut(digits)))
	}
	if !isReliable {
		panic(undetermined("it depends on how the decoder reads a message, and the decoder fails " + t.doubt + ": see that case first"))
	}
	return message
}

// decodeReliably returns a message as the implementation decodes it. What a decoder says that fails a case of its own counts only if
// the encoder, which is right for this type, writes the same bytes.
func (t *trial) decodeReliably(digits string) (message any, isReliable bool) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *failure, Unsupported:
			isReliable = false
		default:
			panic(raised)
		}
	}()
	message, rejected := t.decode(digits)
	if t.doubt == "" && rejected != nil {
		return "no message: " + rejected.Error(), true
	}
	if t.doubt == "" {
		return message, true
	}
	if rejected != nil || !t.written[typeOf(message)] {
		return nil, false
	}
	again, _ := t.encode(json.RawMessage(text(message)))
	return message, again == digits
}

func (t *trial) kind(digits string) string {
	if kind := typeOf(t.read(digits)); kind != "" {
		return kind
	}
	return "an invalid message"
}

// typeOf returns the type of a message; empty if it has none.
func typeOf(message any) string {
	shown, _ := message.(object)
	kind, _ := shown.values["type"].(string)
	return kind
}

func (t *trial) bytesDifference(where, expected, actual string) *difference {
	at := 0
	for at < len(expected) && at < len(actual) && expected[at:at+2] == actual[at:at+2] {
		at += 2
	}
	shown := &difference{where: fmt.Sprintf("%s, from byte %d", where, at/2), expected: expected, actual: actual}
	t.compareMessages(shown, expected, actual, strings.TrimSuffix(where, "bytes")+"message")
	return shown
}

// compareMessages notes on a difference whether two datagrams are the same message, and which list's order alone differs; nothing if
// the decoder cannot say, unless another reading has other forms of a message here: then it is not known whether this is one.
func (t *trial) compareMessages(shown *difference, one, other, where string) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case undetermined, Unsupported:
			for _, outcomes := range t.basis().values {
				if _, hasForms := outcomes.(object).values["="]; hasForms {
					panic(raised)
				}
			}
		default:
			panic(raised)
		}
	}()
	wanted, found := t.read(one), t.read(other)
	shown.otherForm = same(wanted, found)
	if different := firstDifference(wanted, found, nil, where); different != nil && shown.reordered == "" {
		shown.reordered = different.reordered
	}
}

// match fails if the value does not match, and keeps the names that it binds.
func (t *trial) match(class, where string, expected, actual any) {
	found, fits := firstBinding(expected, actual, t.bound)
	if !fits {
		demand(class, firstDifference(expected, actual, t.bound, where))
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
