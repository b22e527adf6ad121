// Package strictjson reads JSON without loss and without tolerance: numbers as they are written, members in their order, and
// nothing that the grammar does not allow.
package strictjson

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Number is a number as it is written.
type Number string

// IsInteger says whether it is written without a point and an exponent.
func (n Number) IsInteger() bool { return !strings.ContainsAny(string(n), ".eE") }

// Member is a member of an object.
type Member struct {
	Name  string
	Value any
}

// Object is an object with its members in their order.
type Object []Member

// Get returns the last member of a name, nil if there is none.
func (o Object) Get(name string) any {
	for at := len(o) - 1; at >= 0; at-- {
		if o[at].Name == name {
			return o[at].Value
		}
	}
	return nil
}

// Error says why a text is not JSON; Class is one of the suite's words.
type Error struct {
	Class  string
	Offset int
	What   string
}

func (e *Error) Error() string { return e.What }

// Parse returns the one value of a text: nil, bool, Number, string, []any or Object. Arrays and objects nest at most so deep.
func Parse(text []byte, depth int) (value any, err error) {
	defer func() {
		switch raised := recover().(type) {
		case nil:
		case *Error:
			value, err = nil, raised
		default:
			panic(raised)
		}
	}()
	p := &parser{text: text}
	if !utf8.Valid(text) {
		p.fail("bad_value", "the text is not UTF-8")
	}
	value = p.value(depth)
	p.blanks()
	if p.at < len(text) {
		p.fail("trailing", "something follows the value")
	}
	return value, nil
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) fail(class, what string) { panic(&Error{class, p.at, what}) }

// peek returns the next byte, 0 at the end. No token begins with the byte 0.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) next() byte {
	if p.at >= len(p.text) {
		p.fail("truncated", "the text ends too early")
	}
	p.at++
	return p.text[p.at-1]
}

func (p *parser) expect(word string) {
	for at := range word {
		if p.next() != word[at] {
			p.at--
			p.fail("bad_value", "this is not JSON: "+word+" expected")
		}
	}
}

func (p *parser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) value(depth int) any {
	p.blanks()
	switch p.peek() {
	case '{':
		return p.object(depth - 1)
	case '[':
		return p.array(depth - 1)
	case '"':
		return p.string()
	case 't':
		p.expect("true")
		return true
	case 'f':
		p.expect("false")
		return false
	case 'n':
		p.expect("null")
		return nil
	}
	return p.number()
}

// items reads what stands between two brackets, separated by commas.
func (p *parser) items(depth int, end byte, item func()) {
	if depth < 0 {
		p.fail("too_large", "arrays and objects nest too deep")
	}
	p.next()
	p.blanks()
	if p.peek() == end {
		p.at++
		return
	}
	for {
		p.blanks()
		item()
		p.blanks()
		switch p.next() {
		case end:
			return
		case ',':
		default:
			p.at--
			p.fail("bad_value", "a comma or the end of an array or object expected")
		}
	}
}

func (p *parser) array(depth int) []any {
	items := []any{}
	p.items(depth, ']', func() { items = append(items, p.value(depth)) })
	return items
}

func (p *parser) object(depth int) Object {
	members := Object{}
	p.items(depth, '}', func() {
		name := p.string()
		p.blanks()
		p.expect(":")
		members = append(members, Member{name, p.value(depth)})
	})
	return members
}

func (p *parser) number() Number {
	begin := p.at
	p.skip("-")
	if !p.skip("0") {
		p.digits()
	}
	if p.skip(".") {
		p.digits()
	}
	if p.skip("eE") {
		p.skip("+-")
		p.digits()
	}
	return Number(p.text[begin:p.at])
}

// skip reads one of these bytes, if it is next.
func (p *parser) skip(bytes string) bool {
	if p.at < len(p.text) && strings.IndexByte(bytes, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() {
	begin := p.at
	for p.skip("0123456789") {
	}
	if p.at == begin {
		p.next()
		p.at--
		p.fail("bad_value", "a digit expected")
	}
}

func (p *parser) string() string {
	p.expect(`"`)
	var content strings.Builder
	for {
		switch one := p.next(); {
		case one == '"':
			return content.String()
		case one < ' ':
			p.at--
			p.fail("bad_value", "a control character in a string")
		case one == '\\':
			content.WriteRune(p.escaped())
		default:
			content.WriteByte(one)
		}
	}
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escaped() rune {
	letter := p.next()
	if letter != 'u' {
		char, known := escapes[letter]
		if !known {
			p.fail("bad_value", "an unknown escape in a string")
		}
		return char
	}
	first := p.unit()
	if !utf16.IsSurrogate(first) {
		return first
	}
	p.expect(`\u`)
	char := utf16.DecodeRune(first, p.unit())
	if char == utf8.RuneError {
		p.fail("bad_value", "half of a character in a string")
	}
	return char
}

// unit reads the four digits of an escape.
func (p *parser) unit() rune {
	var unit rune
	for i := 0; i < 4; i++ {
		digit := strings.IndexByte("0123456789abcdef0123456789ABCDEF", p.next())
		if digit < 0 {
			p.at--
			p.fail("bad_value", "a hexadecimal digit expected")
		}
		unit = unit<<4 | rune(digit&15)
	}
	return unit
}

// replaced are the characters that AppendString writes as escapes.
var replaced = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
	'<': `\u003c`, '>': `\u003e`, '&': `\u0026`, '\u2028': `\u2028`, '\u2029': `\u2029`,
}

// AppendString writes a string as briefly as JSON allows, but for the characters that have a meaning in HTML or JavaScript.
func AppendString(to []byte, content string) []byte {
	const digits = "0123456789abcdef"
	to = append(to, '"')
	for _, char := range content {
		escape, known := replaced[char]
		switch {
		case known:
			to = append(to, escape...)
		case char < ' ':
			to = append(to, '\\', 'u', '0', '0', digits[char>>4], digits[char&15])
		default:
			to = utf8.AppendRune(to, char)
		}
	}
	return append(to, '"')
}
