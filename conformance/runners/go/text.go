package vectors

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	mostEvents = 20  // that the text of a failure shows, the last ones
	mostDigits = 60  // of the bytes of a message
	mostInput  = 400 // characters of what the codec is asked about
	mostLines  = 20  // of a stack trace
)

// recorder keeps what happens in a case, for the text of its failure.
type recorder struct {
	protocol string // empty if the implementation cannot say what a message is
	handle   Handle
	input    string // of the codec
	lines    []string
	digits   map[int]string    // of the message in a line
	nodes    map[string]object // about a node, by its handle
}

// forget begins a case.
func (k *recorder) forget() {
	k.input, k.lines, k.digits, k.nodes = "", nil, map[int]string{}, map[string]object{}
}

// record makes a Handle that keeps what requests and replies say.
func (k *recorder) record(handle Handle) Handle {
	k.forget()
	k.handle = handle
	return func(line []byte, choose func(Question) []int) []byte {
		asked := parse(line).(object)
		node := k.nodes[fmt.Sprint(asked["handle"])]
		if node == nil {
			node = object{"addr": asked["addr"], "now": asked["now_ms"]}
		}
		if now, isTimed := asked["now_ms"]; isTimed {
			node["now"] = now
		}
		k.noteRequest(asked, node)
		text := handle(line, choose)
		reply := parse(text).(object)
		if opened, isOpened := reply["handle"]; isOpened {
			k.nodes[fmt.Sprint(opened)] = node
		}
		node["timer"] = reply["next_timer_ms"]
		k.noteReply(reply, node)
		return text
	}
}

// note keeps what happened at a node.
func (k *recorder) note(node object, format string, parts ...any) {
	k.lines = append(k.lines, fmt.Sprintf("    %6v ms  %s", node["now"], word(node["addr"]))+fmt.Sprintf(format, parts...))
}

func (k *recorder) noteRequest(asked, node object) {
	switch asked["op"] {
	case "decode":
		k.input = fmt.Sprint("decode ", asked["bytes"])
	case "encode":
		k.input = "encode " + asText(asked["value"])
	case "open":
		k.note(node, "  opened")
	case "load":
		k.note(node, "  opened in a given state")
	case "recv":
		k.note(node, " <- %s  %s", word(asked["from"]), k.message(asked["bytes"]))
	case "advance":
		k.note(node, "  %s", map[bool]string{true: "timer", false: "advanced"}[asked["now_ms"] == node["timer"]])
	case "call":
		k.note(node, "  call %v %s", asked["name"], asText(asked["args"]))
	case "sent":
		arrived := map[bool]string{true: "did not arrive", false: "arrived"}[asked["took_us"] == nil]
		k.note(node, "  heard that the message to %s %s", word(asked["to"]), arrived)
	case "stream":
		k.note(node, "  connection %v: %v %s", asked["conn"], asked["event"], cut(asked["bytes"]))
	case "crash":
		k.note(node, "  crashed")
	case "restart":
		k.note(node, "  restarted %s", asText(asked["config"]))
	}
}

func (k *recorder) noteReply(reply, node object) {
	effects, _ := reply["effects"].([]any)
	for _, effect := range effects {
		switch effect := effect.(object); {
		case effect["send"] != nil:
			sent := effect["send"].(object)
			k.note(node, " -> %s  %s", word(sent["to"]), k.message(sent["bytes"]))
		case effect["stream"] != nil:
			stream := effect["stream"].(object)
			k.note(node, "  connection %v: it does %v %s", stream["conn"], stream["event"], cut(stream["bytes"]))
		default:
			k.note(node, "  reports %s", asText(effect["event"]))
		}
	}
	if refused := reply["refused"]; refused != nil {
		k.note(node, "  refuses %s", asText(refused))
	}
}

// message returns the beginning of a message for the next line, and keeps it all.
func (k *recorder) message(digits any) string {
	k.digits[len(k.lines)] = fmt.Sprint(digits)
	return cut(digits)
}

// kind returns the type of the message in a line, as the implementation decodes it.
func (k *recorder) kind(line int) string {
	digits, isMessage := k.digits[line]
	if !isMessage || k.protocol == "" {
		return ""
	}
	var answer reply
	unmarshal(k.handle(marshal(object{"op": "decode", "protocol": k.protocol, "bytes": digits}), nil), &answer)
	switch {
	case answer.Error != nil:
		return ""
	case answer.Rejected != nil:
		return "  (no message)"
	}
	return "  (" + typeOf(parse(answer.Value)) + ")"
}

// describe describes a result: what is expected, the clauses behind it, the first difference, what happened, and where to read on.
func describe(bundle *Bundle, result Result, kept *recorder) string {
	lines := []string{fmt.Sprintf("%s: %s", result.Status, result.Vector.Title)}
	rests := result.Vector.Clauses
	if len(result.Decisions) > 0 {
		rests = result.Decisions
	}
	for _, name := range rests {
		clause := bundle.Clauses[name]
		lines = append(lines, fmt.Sprintf("  %s %s: %s", name, clause.Level, clause.Text), "    in "+clause.Read)
	}
	if result.Reason != "" {
		lines = append(lines, "  "+result.Reason)
	}
	if different := result.different; different != nil {
		if kept.input != "" && len(kept.lines) == 0 {
			lines = append(lines, "  input: "+shortened(kept.input))
		}
		lines = append(lines, "  first difference ("+result.Failure+"): "+different.where+offset(different))
		lines = append(append(lines, sides(different)...), kept.shown()...)
	}
	return strings.Join(append(lines, "  read on: peerproof explain "+rests[0]+"; peerproof vectors show "+result.Vector.ID), "\n")
}

// sides returns both sides of a difference, the stack of a crash, and the list whose order alone differs.
func sides(different *difference) []string {
	actual, stack := different.actual, []string{}
	if text, isText := actual.(string); isText && strings.HasPrefix(different.where, "reply to ") {
		first, rest, _ := strings.Cut(text, "\n")
		actual, stack = first, strings.Split(rest, "\n")
	}
	lines := []string{"    expected  " + asText(different.expected), "    actual    " + asText(actual)}
	if whole := different.whole; whole != nil {
		if place := reordered(whole.expected, whole.actual, whole.where); place != "" {
			lines = append(lines, "    "+place+": the same items in another order")
		}
	}
	if len(stack) > 1 {
		lines = append(lines, "  stack")
		for _, line := range stack[:min(len(stack), mostLines)] {
			lines = append(lines, "    "+strings.TrimSpace(line))
		}
	}
	return lines
}

// offset returns the first byte that differs.
func offset(different *difference) string {
	expected, isText := different.expected.(string)
	actual, both := different.actual.(string)
	if !isText || !both || !strings.HasSuffix("."+different.where, ".bytes") {
		return ""
	}
	at := 0
	for at < len(expected) && at < len(actual) && expected[at:at+2] == actual[at:at+2] {
		at += 2
	}
	return fmt.Sprintf(", from byte %d", at/2)
}

// reordered returns the place of the first list that has the expected items in another order.
func reordered(expected, actual any, where string) string {
	if wanted, isList := expected.([]any); isList {
		found, both := actual.([]any)
		if !fits(expected, actual) && fits(object{"multiset": wanted}, actual) {
			return where
		}
		for at := 0; both && at < min(len(wanted), len(found)); at++ {
			if place := reordered(wanted[at], found[at], fmt.Sprintf("%s[%d]", where, at)); place != "" {
				return place
			}
		}
	}
	wanted, _ := expected.(object)
	found, _ := actual.(object)
	for _, name := range sortedNames(wanted) {
		if place := reordered(wanted[name], found[name], strings.TrimPrefix(where+"."+name, ".")); place != "" {
			return place
		}
	}
	return ""
}

// shown returns the lines about the last events.
func (k *recorder) shown() []string {
	if len(k.lines) == 0 {
		return nil
	}
	title := "  what happened"
	if len(k.lines) > mostEvents {
		title += fmt.Sprintf(" (the last %d of %d events)", mostEvents, len(k.lines))
	}
	shown := []string{title}
	for at := max(0, len(k.lines)-mostEvents); at < len(k.lines); at++ {
		shown = append(shown, k.lines[at]+k.kind(at))
	}
	return shown
}

// word returns an address without quotes.
func word(addr any) string {
	if name, isText := addr.(string); isText {
		return name
	}
	return asText(addr)
}

// asText returns a value as JSON in one line.
func asText(value any) string {
	if raw, isRaw := value.(json.RawMessage); isRaw {
		value = parse(raw)
	}
	return strings.TrimSpace(string(marshal(value)))
}

// cut returns the beginning of long digits.
func cut(digits any) string {
	text, _ := digits.(string)
	if len(text) > mostDigits {
		return text[:mostDigits] + "…"
	}
	return text
}

// shortened returns the beginning of what the codec is asked about, and its length.
func shortened(input string) string {
	characters := []rune(input)
	if len(characters) <= mostInput {
		return input
	}
	return fmt.Sprintf("%s… (%d characters)", string(characters[:mostInput]), len(characters))
}
