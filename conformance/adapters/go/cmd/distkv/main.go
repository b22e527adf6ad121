// Distkv runs the vectors against the codec of DistKV in Go, or puts it behind adapter protocol 1.
package main

import (
	"peerproof.example/adapters/command"
	"peerproof.example/adapters/distkv"
)

func main() { command.Main("distkv", "serf", distkv.Implementation{}) }
