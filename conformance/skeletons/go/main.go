// The adapter: reads requests from standard input and writes replies to standard output, one JSON object a line.
//
// There is nothing to fill in here. It is built by `go build -o adapter .`; whatever your implementation logs belongs on standard
// error, where package log writes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers line by line, until bye or the end of the input.
func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in) // a bufio.Scanner has a limit that lines may exceed
	adapter := newAdapter(&Choices{in: lines, out: out})
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		request, err := parse(line)
		answered := reply{"error": trouble{"bad_request", "not a request"}.plain()}
		if err == nil {
			answered = adapter.answer(request)
		} else {
			log.Printf("not a request: %v", err)
		}
		answered["id"] = request.ID
		if err := writeLine(out, answered); err != nil {
			return err
		}
		if request.Op == "bye" {
			return nil
		}
	}
}

func writeLine(out io.Writer, object reply) error {
	written, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = out.Write(append(written, '\n'))
	return err
}

// parse reads a request. Numbers in values of the protocol stay as they are written.
func parse(line []byte) (*request, error) {
	parsed := &request{}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	return parsed, decoder.Decode(parsed)
}
