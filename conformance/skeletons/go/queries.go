package main

import "fmt"

// 3. Queries: what can be seen of a node, from outside. Looking changes nothing.

// queryCapabilities is what of this is claimed: add "observe.NAME" for each query that is answered.
var queryCapabilities = []string{}

// Answer gives the answer in plain form: what encoding/json makes objects, lists, strings and numbers of.
func Answer(node *Node, what string, args map[string]any) (any, error) {
	return nil, fmt.Errorf("query of %s: %w", what, ErrNotWritten)
}
