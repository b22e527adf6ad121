package main

import "fmt"

// 3. Queries: what can be seen of a node from outside. A query changes nothing.

// queryCapabilities has the capabilities of this file. Add "observe.NAME" for each query that Answer knows.
var queryCapabilities = []string{}

// Answer returns the answer in plain form: values that encoding/json writes as objects, lists, strings and numbers.
func Answer(node *Node, what string, args map[string]any) (any, error) {
	return nil, fmt.Errorf("query of %s: %w", what, ErrNotWritten)
}
