package main

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"
)

// 4. Random choices: where the protocol says "at random", the runner can choose. Let your implementation call Pick where it calls
// its random generator, for example through a function variable.

// choices is "set" if the implementation makes its own random choices, and "oracle" if it calls Pick for every one. With "oracle",
// vectors that fix a choice apply too.
var choices = "set"

// Choices asks the runner for random choices in the middle of a request.
type Choices struct {
	in      *bufio.Reader
	out     io.Writer
	request json.RawMessage
	asked   int
}

// begin starts a request: the questions that follow carry its id.
func (c *Choices) begin(request json.RawMessage) {
	c.request, c.asked = request, 0
}

// Pick returns some of the options, in the order in which to use them. The site is the protocol's name for this choice. The options
// may be in any order, like the keys of a map; a string may hold any bytes.
func Pick[T cmp.Ordered](c *Choices, site string, among []T, some int) []T {
	if choices != "oracle" {
		panic(trouble{"unsupported", `choices.go: choices is not "oracle"`})
	}
	options := slices.Clone(among)
	slices.Sort(options)
	if len(options) < 2 {
		return options
	}
	c.asked++
	question := reply{"for": c.request, "n": c.asked, "site": site, "of": plainOptions(options)}
	switch {
	case some == 1:
		question["kind"] = "one"
	case some >= len(options):
		question["kind"] = "permutation"
	default:
		question["kind"], question["some"] = "sample", some
	}
	picked := make([]T, 0, some)
	for _, index := range c.ask(question) {
		picked = append(picked, options[index])
	}
	return picked
}

// plainOptions returns options in plain form: a string whose bytes are not UTF-8 as {"hex": "fffe"}.
func plainOptions[T cmp.Ordered](options []T) []any {
	plain := make([]any, len(options))
	for index, option := range options {
		plain[index] = option
		text := reflect.ValueOf(option)
		if text.Kind() == reflect.String && !utf8.ValidString(text.String()) {
			plain[index] = reply{"hex": hex.EncodeToString([]byte(text.String()))}
		}
	}
	return plain
}

// ask sends a question, and returns the indices of the chosen options.
func (c *Choices) ask(question reply) []int {
	if err := writeLine(c.out, reply{"choice": question}); err != nil {
		panic(trouble{"internal", err.Error()})
	}
	line, err := c.in.ReadBytes('\n')
	var answer struct {
		Choice struct {
			Pick []int `json:"pick"`
		} `json:"choice"`
	}
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	if err != nil {
		panic(trouble{"internal", fmt.Sprintf("no answer to a choice: %v", err)})
	}
	return answer.Choice.Pick
}
