// Cmd runs the vectors against the implementation in Go, or puts it behind adapter protocol 1:
//
//	go run ./scuttlebutt/cmd verdicts BUNDLE    the verdict of each case as a line of JSON
//	go run ./scuttlebutt/cmd serve BUNDLE       an adapter on standard input and output
package main

import (
	"log"
	"os"

	vectors "peerproof.example/vectors"
	"peerproof.example/vectors/scuttlebutt"
)

func main() {
	bundle, err := vectors.Load(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if os.Args[1] == "serve" {
		err = vectors.Serve(bundle, scuttlebutt.Implementation{}, os.Stdin, os.Stdout)
	} else {
		err = vectors.Verdicts(bundle, scuttlebutt.Implementation{}, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}
