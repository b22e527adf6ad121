// Wendy runs the vectors against the codec of Wendy in Go, or puts it behind adapter protocol 1.
package main

import (
	"peerproof.example/adapters/command"
	"peerproof.example/adapters/wendy"
)

func main() { command.Main("wendy", "tcp", wendy.Implementation{}) }
