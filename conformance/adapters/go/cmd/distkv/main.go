// Distkv runs the vectors against the codec of DistKV in Go, or puts it behind adapter protocol 1.
package main

import (
	"peerproof.example/adapters/distkv"
	"peerproof.example/adapters/program"
)

func main() { program.Main(distkv.Implementation{}) }
