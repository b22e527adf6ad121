package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
)

// object is an object of JSON with its members in their order, which decides what the first difference is.
type object struct {
	names  []string
	values map[string]any
}

func newObject(pairs ...any) object {
	made := object{values: map[string]any{}}
	for at := 0; at < len(pairs); at += 2 {
		made.set(pairs[at].(string), pairs[at+1])
	}
	return made
}

func (o *object) set(name string, value any) {
	if _, known := o.values[name]; !known {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

// parse returns JSON as object, []any, string, json.Number, bool or nil.
func parse(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return parseNext(decoder)
}

func parseNext(decoder *json.Decoder) any {
	token, err := decoder.Token()
	if err != nil {
		panic(fmt.Errorf("this is not JSON: %w", err))
	}
	switch token {
	case json.Delim('['):
		items := []any{}
		for decoder.More() {
			items = append(items, parseNext(decoder))
		}
		_, _ = decoder.Token()
		return items
	case json.Delim('{'):
		made := newObject()
		for decoder.More() {
			name := parseNext(decoder).(string)
			made.set(name, parseNext(decoder))
		}
		_, _ = decoder.Token()
		return made
	}
	return token
}

// plain returns any value that encoding/json can write as parse would return it.
func plain(value any) any {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return parse(text.Bytes())
}

// text returns JSON with members in their order.
func text(value any) string { return written(value, false) }

// canonical returns JSON with sorted members and without other characters than ASCII: equal for equal data, and what is hashed.
func canonical(value any) string { return written(value, true) }

func written(value any, sorted bool) string {
	switch value := value.(type) {
	case object:
		names := append([]string{}, value.names...)
		if sorted {
			sort.Strings(names)
		}
		members := []string{}
		for _, name := range names {
			members = append(members, quoted(name)+": "+written(value.values[name], sorted))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		items := []string{}
		for _, item := range value {
			items = append(items, written(item, sorted))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		return quoted(value)
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func quoted(text string) string {
	var shown strings.Builder
	for _, character := range text {
		if escaped, known := escapes[character]; known {
			shown.WriteString(escaped)
		} else if character >= 0x20 && character < 0x80 {
			shown.WriteRune(character)
		} else {
			for _, unit := range utf16.Encode([]rune{character}) {
				fmt.Fprintf(&shown, `\u%04x`, unit)
			}
		}
	}
	return `"` + shown.String() + `"`
}

func same(one, other any) bool { return canonical(one) == canonical(other) }
