// Cmd runs the vectors against the implementation in Go, or puts it behind adapter protocol 1:
//
//	go run ./scuttlebutt/cmd verdicts BUNDLE    the verdict of each case as a line of JSON
//	go run ./scuttlebutt/cmd serve              an adapter on standard input and output
package main

import (
	"log"
	"os"
	"time"

	vectors "peerproof.example/vectors"
	"peerproof.example/vectors/scuttlebutt"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(arguments []string) error {
	if arguments[0] == "serve" {
		return vectors.Serve("scuttlebutt", "udp", scuttlebutt.Implementation{}, os.Stdin, os.Stdout)
	}
	bundle, err := vectors.Load(arguments[1])
	if err != nil {
		return err
	}
	return vectors.Verdicts(bundle, scuttlebutt.Implementation{}, os.Stdout, 10*time.Second)
}
