// Package setup is the wizard that leads from nothing to something to search: a server that is connected, a folder that
// is read, or the sample library as it is. The wizard draws and decides; network and disk are used through Backend,
// which the owner of the wizard calls.
package setup

import (
	"context"

	"quarry/client/wire"
)

// Connection is a server as it was typed.
type Connection struct {
	URL    string // https is meant where no scheme was typed
	Prefix string // before every route; empty: the usual one, or none, whichever answers
	Token  string
}

// Mark says how a step of a test went.
type Mark int

// The marks of a step.
const (
	Passed  Mark = iota
	Failed       // nothing after it was tried
	Skipped      // not tried
)

// The steps of a test, in order.
const (
	StepServer = "server"
	StepToken  = "token"
	StepSearch = "search"
)

// Step is one thing that a test of a connection looked at.
type Step struct {
	Name   string
	Mark   Mark
	Detail string // one line: what was found, or what went wrong
}

// Tested is what a test of a connection found.
type Tested struct {
	// Connection is the one to save: with its scheme, and the prefix that answered.
	Connection Connection
	Steps      []Step
	// Problem is what went wrong in one line, empty if the connection works, and Remedy what to do about it.
	Problem, Remedy string
}

// OK reports whether searches will work.
func (t Tested) OK() bool { return t.Problem == "" }

// Backend is what the wizard does outside the screen. Its functions check their results and rights themselves.
type Backend struct {
	// Test tries a connection. What goes wrong with it is in the answer; only the end of ctx is an error.
	Test func(ctx context.Context, connection Connection) (Tested, error)
	// Save stores a tested connection as the profile that searches go to, and says in one line where it went.
	Save func(ctx context.Context, connection Connection) (where string, err error)
	// AddFolder reads a file or folder into the library of this machine and reports on the way, from this goroutine;
	// the last event is returned, with a line about where searches go from now on. The library can be searched
	// meanwhile.
	AddFolder func(ctx context.Context, path string, report func(wire.LibraryEvent)) (done wire.LibraryEvent, where string,
		err error)
	// Path turns what was typed into an absolute path that exists, ~ standing for the home folder; the error says in one
	// line why that is not possible.
	Path func(typed string) (path string, err error)
	// Complete goes on with a path as far as only one folder is meant; it returns what was typed where none is.
	Complete func(typed string) string
	// ConnectRefused and FolderRefused say why a choice cannot be taken here ("QUARRY_READONLY is set"); empty: it can.
	ConnectRefused, FolderRefused string
}
