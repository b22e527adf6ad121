package vectors

import (
	"fmt"
	"strings"
)

const (
	mostHappenings = 20  // that the text of a failure shows, the last ones
	mostDigits     = 60  // of the bytes of a message
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

// stackLines returns the trace of a panic, without the frames of the runtime that come first, and those of this runner.
func stackLines(stack string) []string {
	_, frames, isPanic := strings.Cut(stack, "\npanic(")
	if !isPanic {
		return nil
	}
	lines := []string{"  stack"}
	for _, line := range strings.Split(strings.TrimSpace(frames), "\n")[2:] {
		if strings.Contains(line, ".ask[") || len(lines) > mostHappenings {
			break
		}
		lines = append(lines, "    "+line)
	}
	return lines
}

func cut(digits string) string {
	if len(digits) > mostDigits {
		return digits[:mostDigits] + "…"
	}
	return digits
}

// shortened returns the beginning of what the codec is asked about, and its length.
func shortened(input string) string {
	if shown := []rune(input); len(shown) > mostInput {
		return fmt.Sprintf("%s… (%d characters)", string(shown[:mostInput]), len(shown))
	}
	return input
}

// whatHappened returns the last lines of what happened in a case.
func (r *Runner) whatHappened(result Result) []string {
	happened := result.happened
	if len(happened) == 0 {
		return nil
	}
	lines := []string{"  what happened"}
	if before := len(happened) - mostHappenings; before > 0 {
		lines[0] += fmt.Sprintf(" (the last %d of %d events)", mostHappenings, len(happened))
		happened = happened[before:]
	}
	for _, one := range happened {
		line := fmt.Sprintf("    %6d ms  %s  %s", one.at, one.node, one.what)
		if one.digits != "" {
			line = fmt.Sprintf("    %6d ms  %s %s  %s", one.at, one.node, one.what, cut(one.digits))
		}
		if kind := r.kindOf(one.digits, result); kind != "" {
			line += "  (" + kind + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// kindOf returns the type of a message, if the decoder can be trusted, and is not still busy with the case.
func (r *Runner) kindOf(digits string, result Result) (kind string) {
	defer func() { _ = recover() }() // a decoder that fails here has failed a case of its own
	if message, isKnown := r.messages[digits]; isKnown {
		return typeOf(message)
	}
	if digits == "" || !r.offers("codec") || r.doubt != "" || result.Failure == "hung" {
		return ""
	}
	message, err := r.subject.Decode(unhex(digits))
	if err != nil {
		return "no message"
	}
	return typeOf(plain(message))
}
