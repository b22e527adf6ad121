package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	vectors "peerproof.example/vectors"
)

const patience = 10 * time.Second // for a reply

// adapter is a program that speaks the adapter protocol (docs/reference/adapter.md). It is started again after it has ended.
type adapter struct {
	command  []string
	program  *exec.Cmd // nil if it has ended
	requests io.Writer
	replies  *bufio.Reader
	count    int
}

// hello starts the program and returns what it offers for a protocol.
func (a *adapter) hello(protocol string) (vectors.Offer, error) {
	if err := a.start(); err != nil {
		return vectors.Offer{}, err
	}
	request := `{"op": "hello", "protocol": [1, 1], "runner": "go", "vectors": "", "choices": ["oracle", "set"]}`
	var hello struct {
		Choices   string
		Readings  map[string]string
		Protocols map[string]struct {
			Capabilities, Events []string
			Limits               map[string]int64
			Choices              string
		}
	}
	if err := json.Unmarshal(a.handle([]byte(request), nil), &hello); err != nil {
		return vectors.Offer{}, err
	}
	offered := hello.Protocols[protocol]
	if offered.Choices == "" {
		offered.Choices = hello.Choices
	}
	return vectors.Offer{
		Capabilities: offered.Capabilities, Events: offered.Events, Limits: offered.Limits, Oracle: offered.Choices == "oracle",
		Readings: hello.Readings,
	}, nil
}

func (a *adapter) start() error {
	a.program = exec.Command(a.command[0], a.command[1:]...)
	a.program.Stderr = os.Stderr
	requests, err := a.program.StdinPipe()
	if err != nil {
		return err
	}
	replies, err := a.program.StdoutPipe()
	if err != nil {
		return err
	}
	a.requests, a.replies = requests, bufio.NewReader(replies)
	if err := a.program.Start(); err != nil {
		return err
	}
	return nil
}

// stop ends the program.
func (a *adapter) stop() {
	if a.program != nil {
		a.handle([]byte(`{"op": "bye"}`), nil)
		_ = a.program.Wait()
	}
}

// handle sends a request, answers the program's questions, and returns its reply.
func (a *adapter) handle(request []byte, choose func(vectors.Question) []int) []byte {
	if a.program == nil {
		if err := a.start(); err != nil {
			panic(err)
		}
		a.handle([]byte(`{"op": "hello", "protocol": [1, 1], "runner": "go", "vectors": "", "choices": ["oracle", "set"]}`), nil)
	}
	a.count++
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(request, &members); err != nil {
		panic(err)
	}
	members["id"] = json.RawMessage(fmt.Sprint(a.count))
	a.write(members)
	for {
		line, problem := a.read()
		if problem != nil {
			return problem
		}
		var asked struct {
			Choice *struct {
				For, N json.RawMessage
				vectors.Question
			}
		}
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(fmt.Errorf("%w in %s", err, line))
		}
		if asked.Choice == nil {
			return line
		}
		picked := choose(asked.Choice.Question)
		a.write(map[string]any{"choice": map[string]any{"for": asked.Choice.For, "n": asked.Choice.N, "pick": picked}})
	}
}

// read returns the next line. A program that writes none in time is killed; the problem is the reply then.
func (a *adapter) read() (line, problem []byte) {
	var isLate atomic.Bool
	program := a.program
	clock := time.AfterFunc(patience, func() {
		isLate.Store(true)
		_ = program.Process.Kill()
	})
	line, err := a.replies.ReadBytes('\n')
	clock.Stop()
	if err == nil {
		return line, nil
	}
	a.program = nil
	_ = program.Wait()
	code := map[bool]string{true: "hung", false: "panic"}[isLate.Load()]
	return nil, []byte(fmt.Sprintf(`{"error": {"code": %q, "message": "the adapter has ended: %v"}}`, code, program.ProcessState))
}

func (a *adapter) write(message any) {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = a.requests.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}
