package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/pattern"
	"quarry/internal/text"
)

// Exit codes.
const (
	ExitSuccess       = 0
	ExitGeneral       = 1
	ExitUsage         = 2
	ExitNotConfigured = 3
	ExitAuth          = 4
	ExitUnreachable   = 5
	ExitRateLimited   = 6
	ExitTimeout       = 7
	ExitServer        = 8
	ExitNotAvailable  = 9
	ExitInterrupted   = 130
)

// Failure is an error with all that a person needs: what failed, what to do, and the exit code.
type Failure struct {
	Code int
	What string // one line; empty: nothing is printed
	Do   string // one line
	Err  error  // the cause; may be nil
}

// Error returns what failed.
func (f *Failure) Error() string { return f.What }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// guidedError is an error of another package that knows its exit code and remedy.
type guidedError interface {
	error
	ExitCode() int
	Remedy() string
}

// errOutputClosed says that nobody reads the output any more, which is no error.
var errOutputClosed = errors.New("the output was closed")

// fail makes a failure, whose cause is what %w formats.
func fail(code int, do, format string, arguments ...any) *Failure {
	err := fmt.Errorf(format, arguments...)
	return &Failure{Code: code, What: err.Error(), Do: do, Err: errors.Unwrap(err)}
}

// usage makes a failure of something that the caller wrote.
func usage(do, format string, arguments ...any) *Failure {
	return fail(ExitUsage, do, format, arguments...)
}

// refuse aborts because of something that the caller wrote.
func refuse(do, format string, arguments ...any) { guard.Abort(usage(do, format, arguments...)) }

// explain is the one place where errors become exit codes and words.
func (a *app) explain(err error) *Failure {
	var failure *Failure
	var reply *client.Error
	var guided guidedError
	switch {
	case err == nil || errors.Is(err, errOutputClosed):
		return nil
	case errors.Is(err, errInterrupted):
		return interruption()
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &reply):
		return a.explainReply(err, reply)
	case errors.As(err, &guided):
		return &Failure{Code: guided.ExitCode(), What: text.OneLine(err.Error()), Do: guided.Remedy(), Err: err}
	case errors.Is(err, context.Canceled):
		return interruption()
	case errors.Is(err, context.DeadlineExceeded):
		return a.timedOut(err)
	}
	failure = &Failure{Code: ExitGeneral, What: err.Error(), Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		failure.Do = "Another program uses this address: stop it, or choose another one."
	case errors.Is(err, syscall.ENOSPC):
		failure.Do = "Free some disk space. The library is intact."
	case errors.Is(err, fs.ErrPermission):
		failure.Do = "Check the permissions of the file or folder."
	case errors.Is(err, fs.ErrNotExist):
		failure.Do = "Check the spelling of the path."
	}
	return failure
}

// explainReply explains an error of a server or of the connection to it.
func (a *app) explainReply(err error, reply *client.Error) *Failure {
	failure := &Failure{Code: exitCodeOf(reply), What: text.OneLine(err.Error()), Do: reply.Remedy(), Err: err}
	if a.program.Guest && reply.Reason != "" { // which route and status it was is of no use to them
		failure.What = text.OneLine(reply.Reason)
	}
	if found := malformed().FindStringSubmatch(reply.Reason); found != nil && failure.Do == "" {
		failure.What = fmt.Sprintf("%s %s: %s", strings.ReplaceAll(found[1], "_", " "), found[3], found[2])
		failure.Do = "See: quarry " + a.commandName() + " --help"
	}
	switch {
	case failure.Code == ExitTimeout && reply.Status == 0:
		return a.timedOut(err)
	case failure.Code == ExitTimeout: // of the server, which waits no longer for that
		failure.Do = a.faster(", or try again later")
	case failure.Code == ExitInterrupted:
		return interruption()
	case failure.Code == ExitAuth && strings.Contains(reply.Reason, "document set"):
		failure.Do = "Choose one of the document sets: quarry document-sets"
	case failure.Code == ExitAuth || failure.Code == ExitUnreachable:
		if hint := a.serverHint(); hint != "" {
			failure.Do = hint
		}
		if a.commandName() != validateConfig && failure.Do != "" {
			failure.Do += "; to test each step: quarry " + validateConfig
		}
	}
	return failure
}

// malformed matches the validation error of one field that a person wrote: its name, what is wrong, and the value.
var malformed = pattern.Lazy(
	`^1 validation error: \{.*'loc': \(.*'(\w+)'\), 'msg': '(?:Value error, )?(.*)', 'input': ('[^']*')`)

// serverHint returns what to set if only the token of the environment decided where to search; "" otherwise.
func (a *app) serverHint() string {
	if a.program.Guest {
		return ""
	}
	choice, err := a.decideTarget(a.request())
	if err != nil || choice.NoServerIn == "" {
		return ""
	}
	return fmt.Sprintf("set %s to the server of the token in the environment; without it, the server is that of "+
		"Onyx's CLI (%s)",
		choice.NoServerIn, choice.ServerURL)
}

func exitCodeOf(reply *client.Error) int {
	if reply.Code == wire.CodeSecretKeyMissing || reply.Code == wire.CodeSecretKeyWrong {
		return ExitNotConfigured
	}
	if reply.Local && (reply.Kind == client.Server || reply.Kind == client.Auth) {
		return ExitGeneral // no server and no token is to blame
	}
	return exitCodeOfKind(reply.Kind)
}

func exitCodeOfKind(kind client.Kind) int {
	return cmp.Or(map[client.Kind]int{
		client.BadRequest: ExitUsage, client.Auth: ExitAuth, client.Unreachable: ExitUnreachable,
		client.RateLimited: ExitRateLimited,
		client.Timeout:     ExitTimeout, client.Server: ExitServer, client.NotAvailable: ExitNotAvailable,
		client.Canceled: ExitInterrupted,
	}[kind], ExitGeneral)
}

func interruption() *Failure {
	return &Failure{Code: ExitInterrupted, What: "interrupted"}
}

// timedOut says after how long, and what would be faster.
func (a *app) timedOut(err error) *Failure {
	after := friendlyDuration(a.now().Sub(a.started))
	return &Failure{Code: ExitTimeout, What: "no answer after " + after,
		Do: a.faster(", or wait longer: --timeout 10m"), Err: err}
}

// faster says what would give an answer in time, or else waits longer.
func (a *app) faster(orWait string) string {
	instead := map[string]string{
		"search": "Add --no-query-expansion, --no-document-selection or --source" + orWait,
		"ask":    "Search without an answer (quarry search)" + orWait,
	}[a.commandName()]
	switch {
	case instead != "":
		return instead
	case a.commandName() == validateConfig:
		return "Try again" + orWait
	}
	return "Test the connection (quarry " + validateConfig + ")" + orWait
}

const validateConfig = "validate-config" // the command that tests each step

// friendlyDuration rounds to what a person wants to know.
func friendlyDuration(d time.Duration) string {
	unit := time.Millisecond
	switch {
	case d >= time.Minute:
		unit = time.Second
	case d >= time.Second:
		unit = 100 * time.Millisecond
	}
	return d.Round(unit).String()
}
