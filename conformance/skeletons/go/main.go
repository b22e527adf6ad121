// The adapter: puts the plugs behind the lines of JSON that `peerproof` reads and writes, built by `go build -o adapter .`
//
// There is nothing to fill in here. Whatever your implementation logs belongs on standard error, where package log writes.
package main

import (
	"log"
	"os"

	"example.com/my-node/scuttlebutt"

	"example.com/my-node/vectors"
)

// plugs has the implementation of each protocol: the tests run its vectors, and the adapter offers it.
var plugs = []vectors.Plug{
	{Protocol: "scuttlebutt", Transport: "udp", Bundle: "vectors/scuttlebutt.json.gz", Implementation: scuttlebutt.Implementation{}},
}

func main() {
	if err := vectors.ServeAll(plugs, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
