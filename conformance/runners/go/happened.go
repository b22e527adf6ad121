package vectors

import (
	"fmt"
	"slices"
	"strings"
)

const (
	mostHappenings = 20  // that the text of a failure shows, the last ones
	mostDigits     = 60  // of the bytes of a message
	mostMessage    = 400 // characters of a message
	mostInput      = 400 // characters of what the codec is asked about
)

// happening is something that happened in a case, at a node.
type happening struct {
	at     int64
	node   string // its address
	what   string // what the node did or what was done to it; before the bytes of a message: its direction and peer
	digits string
}

// note keeps what happened at a node, for the text of a failure.
func (h *host) note(one *actor, what string) {
	h.trial.happened = append(h.trial.happened, happening{at: h.now, node: word(one.addr), what: what})
}

// noteMessage keeps that a node sent a message ("->"), or got one ("<-").
func (h *host) noteMessage(one *actor, direction string, peer any, digits string) {
	h.trial.happened = append(h.trial.happened, happening{h.now, word(one.addr), direction + " " + word(peer), digits})
}

// noteNetwork keeps that no message passes between these groups of nodes any more, or that all pass again.
func (h *host) noteNetwork(groups [][]string) {
	sides := []string{}
	for _, group := range groups {
		side := []string{}
		for _, name := range group {
			side = append(side, word(h.find(name).addr))
		}
		sides = append(sides, strings.Join(side, ", "))
	}
	what := "healed"
	if len(sides) > 0 {
		what = "cut: " + strings.Join(sides, " | ")
	}
	h.trial.happened = append(h.trial.happened, happening{at: h.now, node: "network", what: what})
}

// word returns an address without quotes.
func word(addr any) string {
	if name, isText := addr.(string); isText {
		return name
	}
	return text(addr)
}

// onConnection describes an action of a node on a connection.
func onConnection(stream object) string {
	if stream.values["event"] == "data" {
		return fmt.Sprintf("writes on connection %v: %s", stream.values["conn"], cut(fmt.Sprint(stream.values["bytes"])))
	}
	return fmt.Sprintf("closes connection %v", stream.values["conn"])
}

// stackLines returns the trace of a panic for the text of a failure.
func stackLines(stack string) []string {
	lines := []string{}
	for _, line := range frames(stack) {
		lines = append(lines, "    "+line)
	}
	if len(lines) > 0 {
		lines = append([]string{"  stack"}, lines...)
	}
	return lines
}

// frames returns the trace of a panic, two lines each, without those of the runtime that come first, and those of this runner.
func frames(stack string) []string {
	_, trace, isPanic := strings.Cut(stack, "\npanic(")
	if !isPanic {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(trace), "\n")[2:]
	for len(lines) > 2 && (strings.HasPrefix(lines[0], "runtime.") || strings.HasPrefix(lines[0], "internal/runtime/")) {
		lines = lines[2:]
	}
	end := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(line, ".ask[") || strings.Contains(line, ".(*server).")
	})
	if end < 0 {
		end = len(lines)
	}
	return lines[:min(end, mostHappenings)]
}

func cut(digits string) string {
	if len(digits) > mostDigits {
		return digits[:mostDigits] + "…"
	}
	return digits
}

// shortened returns the beginning of a text, and its length.
func shortened(text string, most int) string {
	if shown := []rune(text); len(shown) > most {
		return fmt.Sprintf("%s… (%d characters)", string(shown[:most]), len(shown))
	}
	return text
}

// whatHappened returns the last lines of what happened in a case, and whether they show all messages and not their bytes.
func (r *Runner) whatHappened(result Result) (lines []string, areRead bool) {
	happened, areRead := result.happened, true
	if len(happened) == 0 {
		return nil, true
	}
	lines = []string{"  what happened"}
	if before := len(happened) - mostHappenings; before > 0 {
		lines[0] += fmt.Sprintf(" (the last %d of %d events)", mostHappenings, len(happened))
		happened = happened[before:]
	}
	for _, one := range happened {
		line := fmt.Sprintf("    %6d ms  %s  %s", one.at, one.node, one.what)
		if one.digits != "" {
			message := r.messageOf(one.digits, result)
			if message == "" {
				message, areRead = cut(one.digits), false
			}
			line = fmt.Sprintf("    %6d ms  %s %s  %s", one.at, one.node, one.what, message)
		}
		lines = append(lines, line)
	}
	return lines, areRead
}

// messageOf returns a message as text, if it is one of the bundle, or the decoder can be trusted and is not still busy with the case.
func (r *Runner) messageOf(digits string, result Result) (message string) {
	defer func() { _ = recover() }() // a decoder that fails here has failed a case of its own
	if message, isKnown := r.messages[digits]; isKnown {
		return shortened(text(message), mostMessage)
	}
	if !r.offers("codec") || r.doubt != "" || result.Failure == "hung" {
		return ""
	}
	decoded, err := r.subject.Decode(unhex(digits))
	if err != nil {
		return cut(digits) + "  (no message)"
	}
	return shortened(text(plain(decoded)), mostMessage)
}
