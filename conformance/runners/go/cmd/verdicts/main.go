// Verdicts prints the verdict of each case of a bundle as a line of JSON, for an implementation behind an adapter:
//
//	go run ./cmd/verdicts BUNDLE PROGRAM [ARGUMENT...]
package main

import (
	"log"
	"os"
	"time"

	vectors "peerproof.example/vectors"
)

func main() {
	bundle, err := vectors.Load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	behind := &adapter{bundle: bundle, command: os.Args[2:]}
	if err := behind.start(); err != nil {
		log.Fatal(err)
	}
	if err := vectors.Verdicts(bundle, behind, os.Stdout, time.Hour); err != nil { // the adapter ends calls that take too long
		log.Fatal(err)
	}
	behind.stop()
}
