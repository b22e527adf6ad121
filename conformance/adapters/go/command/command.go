// Package command has what the commands of all protocols do.
package command

import (
	"log"
	"os"

	vectors "peerproof.example/vectors"
)

// Main runs the vectors against an implementation, or puts it behind adapter protocol 1:
//
//	PROGRAM verdicts BUNDLE    the verdict of each case as a line of JSON
//	PROGRAM serve BUNDLE       an adapter on standard input and output
func Main(implementation vectors.Implementation) {
	log.SetFlags(0)
	if len(os.Args) != 3 || os.Args[1] != "verdicts" && os.Args[1] != "serve" {
		log.Fatal("usage: ", os.Args[0], " {verdicts,serve} BUNDLE")
	}
	bundle, err := vectors.Load(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if os.Args[1] == "serve" {
		err = vectors.Serve(bundle, implementation, os.Stdin, os.Stdout)
	} else {
		err = vectors.Verdicts(bundle, implementation, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}
