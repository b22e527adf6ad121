// Package distkv has the messages of DistKV and their bytes, written from the page spec/distkv.md alone. Numbers in brackets, such as
// [DA-90], are clauses of that page.
package distkv

// Malformed says why bytes are no message, or why a message cannot be written; Class is one of the suite's words.
type Malformed struct {
	Class string
	What  string
}

func (m *Malformed) Error() string { return m.What }

func fail(class, what string) { panic(&Malformed{class, what}) }

// recovered makes an error of a Malformed that something panicked with.
func recovered(err *error) {
	switch raised := recover().(type) {
	case nil:
	case *Malformed:
		*err = raised
	default:
		panic(raised)
	}
}
