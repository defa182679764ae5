package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"

	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
)

const (
	configureTries = 5
	longestAnswer  = 4096 // bytes of a typed line
	defaultServer  = "https://cloud.onyx.app"
	defaultProfile = "default"
)

// dialogue asks a person at the terminal. Questions go to standard error, as they are no result.
type dialogue struct {
	app     *app
	lines   *bufio.Reader
	waiting atomic.Bool // the cursor is behind a question
}

func (a *app) configure(ctx context.Context, _ []string) {
	ctx = a.traced(ctx)
	if !a.io.InTTY || !a.io.ErrTTY || a.io.ReadSecret == nil {
		refuse("Set ONYX_SERVER_URL and ONYX_PAT, or run it in a terminal.", "configure requires a terminal")
	}
	name := cmp.Or(a.flags.Profile, defaultProfile)
	if !regexp.MustCompile(`^[a-z0-9_-]+$`).MatchString(name) {
		refuse("Use lower-case letters, digits, - and _.", "--profile %q is not a valid name", name)
	}
	d := &dialogue{app: a, lines: bufio.NewReader(io.LimitReader(a.io.In, configureTries*8*longestAnswer))}
	onAbandon := d.endLine
	a.onAbandon.Store(&onAbandon)
	if a.flags.Server != "" {
		a.configureServer(ctx, d, name)
		return
	}
	a.say("What do you want to search?")
	a.say("  1  a server (Onyx or quarry)")
	a.say("  2  files on this machine")
	a.say("  3  the bundled sample library")
	switch d.ask("Choose", "1", func(answer string) error {
		if answer != "1" && answer != "2" && answer != "3" {
			return usage("Type 1, 2 or 3.", "%q is not one of the choices", answer)
		}
		return nil
	}) {
	case "1":
		a.configureServer(ctx, d, name)
	case "2":
		a.configureFolder(ctx, d)
	case "3":
		a.say(`The sample library needs no configuration: quarry search --sample "how do we roll back a deploy"`)
	}
}

// configureServer asks for a server until its connection works, and saves it then. Of a server that refuses the token,
// only the token is asked for again.
func (a *app) configureServer(ctx context.Context, d *dialogue, name string) {
	host := a.host()
	address, known := cmp.Or(a.flags.Server, defaultServer), a.flags.Server != ""
	for range configureTries {
		if !known {
			address = d.ask("Server address", address, func(string) error { return nil })
		}
		token := d.token()
		stop := a.busy("Testing the connection…")
		profile, _, err := TryConnection(ctx, host, config.NewProfile{
			Profile: config.Profile{Name: name, ServerURL: address}, Typed: config.NewSecret(token), Activate: true})
		stop()
		if err == nil {
			a.saveProfile(ctx, host, profile)
			return
		}
		if ctx.Err() != nil {
			guard.Abort(errInterrupted)
		}
		failure := a.explain(err)
		known = failure.Code == ExitAuth
		d.showFailure("Connection failed:", failure)
	}
	guard.Abort(fail(ExitGeneral, "Check the address and the token, then run quarry configure again.",
		"no connection succeeded; nothing was saved"))
}

func (a *app) saveProfile(ctx context.Context, host Host, profile config.NewProfile) {
	saved := guard.Must(host.SaveProfile(ctx, profile))
	a.say("Connected. Saved as profile %s: %s.", profile.Profile.Name, saved.Describe())
	a.say(`Searches now go there: quarry search "how do we roll back a deploy"`)
}

// configureFolder adds a folder to the local library.
func (a *app) configureFolder(ctx context.Context, d *dialogue) {
	var request wire.AddRequest
	d.ask("Folder or file to add", ".", func(answer string) error {
		return guard.Ended(func() { request.Paths = a.addPaths([]string{answer}) })
	})
	a.addToLibrary(ctx, request)
}

// ask repeats a question until the answer passes the check.
func (d *dialogue) ask(question, preset string, check func(string) error) string {
	label := fmt.Sprintf("%s [%s]: ", d.app.errs().Title.Render(question), printable(preset))
	return d.repeat(label, func() (string, error) {
		line, err := d.lines.ReadString('\n')
		if err != nil && line == "" {
			return "", err
		}
		d.waiting.Store(false)
		return cmp.Or(strings.TrimSpace(line), preset), nil
	}, check)
}

// token asks for an access token, without showing it.
func (d *dialogue) token() string {
	label := d.app.errs().Title.Render("Access token (hidden)") + ": "
	return d.repeat(label, func() (string, error) {
		token, err := d.app.io.ReadSecret()
		return strings.TrimSpace(token), err
	}, func(token string) error {
		if token == "" {
			return usage("Paste the token and press Enter; the input is hidden.", "the token is empty")
		}
		return nil
	})
}

func (d *dialogue) repeat(label string, read func() (string, error), check func(string) error) string {
	for tries := 1; ; tries++ {
		d.waiting.Store(true)
		guard.Must(fmt.Fprint(d.app.err, label))
		answer, err := read()
		d.endLine()
		switch {
		case errors.Is(err, io.EOF):
			refuse("Run quarry configure again in a terminal.", "the input ended; nothing was saved")
		default:
			guard.While("read the answer", err)
		}
		if err = check(answer); err == nil {
			return answer
		}
		if d.showFailure("", d.app.explain(err)); tries == configureTries {
			refuse("Start again: quarry configure", "no valid answer after %d tries", configureTries)
		}
	}
}

// endLine starts a new line if the cursor is behind a question.
func (d *dialogue) endLine() {
	if d.waiting.Swap(false) {
		_, _ = fmt.Fprintln(d.app.err)
	}
}

// showFailure prints an error and its hint; the dialogue continues.
func (d *dialogue) showFailure(head string, failure *Failure) {
	what := printable(failure.What)
	if head != "" {
		what = d.app.errs().Error.Render(head) + " " + what
	}
	_, _ = fmt.Fprintf(d.app.err, "%s\n%s\n", what, printable(text.Sentence(failure.Do)))
}
