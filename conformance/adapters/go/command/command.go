// Package command has what the commands of all protocols do.
package command

import (
	"log"
	"os"
	"time"

	vectors "peerproof.example/vectors"
)

// Main runs the vectors against an implementation, or puts it behind adapter protocol 1:
//
//	PROGRAM verdicts BUNDLE    the verdict of each case as a line of JSON
//	PROGRAM serve              an adapter on standard input and output
func Main(protocol, transport string, implementation vectors.Implementation) {
	log.SetFlags(0)
	if err := run(protocol, transport, implementation, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(protocol, transport string, implementation vectors.Implementation, arguments []string) error {
	if len(arguments) == 1 && arguments[0] == "serve" {
		return vectors.Serve(protocol, transport, implementation, os.Stdin, os.Stdout)
	}
	if len(arguments) != 2 || arguments[0] != "verdicts" {
		log.Fatal("usage: ", os.Args[0], " serve, or verdicts BUNDLE")
	}
	bundle, err := vectors.Load(arguments[1])
	if err != nil {
		return err
	}
	return vectors.Verdicts(bundle, implementation, os.Stdout, 10*time.Second)
}
