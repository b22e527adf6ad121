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
	adapter, err := vectors.NewAdapter(bundle, os.Args[2], os.Args[3:]...)
	if err != nil {
		log.Fatal(err)
	}
	if err := vectors.Verdicts(bundle, adapter, os.Stdout); err != nil {
		log.Fatal(err)
	}
	if err := adapter.Close(); err != nil {
		log.Fatal(err)
	}
}
