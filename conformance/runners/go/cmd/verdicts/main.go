// Verdicts prints the verdict of each case of a bundle as a line of JSON, for an implementation behind an adapter:
//
//	go run ./cmd/verdicts BUNDLE PROGRAM [ARGUMENT...]
package main

import (
	"log"
	"os"

	vectors "peerproof.example/vectors"
)

func main() {
	bundle, err := vectors.Load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	behind := &adapter{command: os.Args[2:]}
	offer, err := behind.hello(bundle.Protocol)
	if err != nil {
		log.Fatal(err)
	}
	if err := vectors.VerdictsOf(bundle, offer, behind.handle, os.Stdout); err != nil {
		log.Fatal(err)
	}
	behind.stop()
}
