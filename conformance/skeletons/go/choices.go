package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// 4. Chance: where the protocol says "at random", the runner may choose. Let your implementation call Pick where it calls its
// generator, for example by a function variable.

// choices is "oracle" if the implementation asks for every draw, "set" if it draws for itself. With "oracle", vectors that fix a
// draw apply too.
var choices = "set"

// Choices asks the runner in the middle of a request.
type Choices struct {
	in      *bufio.Reader
	out     io.Writer
	request json.RawMessage
	asked   int
}

// begin says that questions are now about the request with this id.
func (c *Choices) begin(request json.RawMessage) {
	c.request, c.asked = request, 0
}

// Pick gives some different options in the order to use them in; the site is a name of the protocol's. The options may come in
// any order, as those of a map do: they are sorted.
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
	question := reply{"for": c.request, "n": c.asked, "site": site, "of": options}
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

// ask gives the indices of the options to take.
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
