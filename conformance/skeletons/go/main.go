// The adapter: puts implementation.go behind the lines of JSON that `peerproof` reads and writes, built by `go build -o adapter .`
//
// There is nothing to fill in here. Whatever your implementation logs belongs on standard error, where package log writes.
package main

import (
	"log"
	"os"

	"example.com/my-node/vectors"
)

func main() {
	if err := vectors.Serve("scuttlebutt", "udp", implementation{}, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
