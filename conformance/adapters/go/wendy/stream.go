package wendy

import (
	"encoding/hex"
	"encoding/json"

	vectors "peerproof.example/vectors"
)

// confirmation is what confirms a message. [WA-64]
const confirmation = `{"status": "Received."}`

// stream is a connection that a peer has opened, and what has come on it so far.
type stream struct {
	content []byte
	seen    int // how much of it was looked at
	depth   int
	inText  bool
	escaped bool
	isOver  bool
}

// end looks for the end of the object; isWrong says that it can be none.
func (s *stream) end() (end int, isWrong bool) {
	for ; s.seen < len(s.content); s.seen++ {
		one := s.content[s.seen]
		switch {
		case s.escaped:
			s.escaped = false
		case s.inText:
			s.escaped, s.inText = one == '\\', one != '"'
		case s.depth == 0 && (one == ' ' || one == '\t' || one == '\r' || one == '\n'):
		case s.depth == 0 && one != '{':
			return 0, true
		case one == '"':
			s.inText = true
		case one == '{' || one == '[':
			s.depth++
		case one == '}' || one == ']':
			if s.depth--; s.depth == 0 {
				return s.seen + 1, false
			}
		}
	}
	return 0, len(s.content) > MaxMessage
}

func (l *life) Stream(now int64, event json.RawMessage) vectors.Reaction {
	l.now = now
	var shown struct{ Conn, Event, Bytes string }
	must(json.Unmarshal(event, &shown))
	one := l.streams[shown.Conn]
	if shown.Event == "open" {
		one = &stream{}
		l.streams[shown.Conn] = one
	}
	if one == nil || one.isOver {
		return l.react("")
	}
	var effects []vectors.Effect
	act := func(action map[string]any) {
		action["conn"] = shown.Conn
		effects = append(effects, vectors.Effect{Stream: action})
	}
	end, isWrong := 0, shown.Event == "eof" || l.stage == left
	if shown.Event == "data" && !isWrong {
		content, err := hex.DecodeString(shown.Bytes)
		must(err)
		one.content = append(one.content, content...)
		end, isWrong = one.end()
	}
	if end > 0 {
		message, err := Decode(one.content[:end])
		if err == nil && l.accepts(message) {
			act(map[string]any{"event": "data", "bytes": hex.EncodeToString([]byte(confirmation))})
		}
		act(map[string]any{"event": "close"})
		if err == nil {
			l.receive(message)
		}
	} else if isWrong {
		act(map[string]any{"event": "close"})
	}
	if end > 0 || isWrong || shown.Event == "reset" {
		one.isOver, one.content = true, nil
	}
	reaction := l.react("")
	reaction.Effects = append(effects, reaction.Effects...)
	return reaction
}
