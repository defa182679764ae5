package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/atotto/clipboard"
	"github.com/cli/browser"
	"golang.org/x/term"

	"quarry/theme"
	"quarry/ui/cli"
	"quarry/ui/explorer"
)

// explore opens the explorer. It returns when the person leaves it or ctx ends, with the terminal as it was found.
func (d *doors) explore(ctx context.Context, e cli.Exploration) error {
	if e.Plain {
		return d.explorePlain(ctx, e)
	}
	return d.exploreScreen(ctx, e)
}

// remoteGarbage is how much garbage, in percent of what is in use, may gather at a server's screen: rendering makes a lot
// of it in a moment, and the budget for memory leaves little room.
const remoteGarbage = 20

// exploreScreen opens the full screen.
func (d *doors) exploreScreen(ctx context.Context, e cli.Exploration) error {
	host, err := d.host()
	if err != nil {
		return err
	}
	if e.Target.Kind == cli.KindRemote || e.Target.Kind == cli.KindSlack {
		defer debug.SetGCPercent(debug.SetGCPercent(remoteGarbage))
	}
	set := &settings{doors: d}
	width, height, err := term.GetSize(int(d.process.Out.Fd()))
	if err != nil {
		width, height = 0, 0 // it tells when it can
	}
	return explorer.Run(ctx, explorer.Options{
		Target: screenTarget(e.Target), Query: e.Query, Caps: d.capabilities(),
		SetUp: explorer.SetUp{Doors: set.wizardDoors(), Target: func(ctx context.Context) (explorer.Target, error) {
			found, err := set.target(ctx)
			return screenTarget(found), err
		}},
		Results: e.Limit, Instant: host.Config.Instant, Fast: host.Config.Fast, Private: host.Config.Private, Theme: host.Config.Theme, Keys: host.Config.Keys,
		Profile: theme.Profile(true, e.NoColor, d.process.Env),
		Width:   width, Height: height,
	}, explorer.Terminal{In: d.process.In, Out: d.process.Out, Env: d.process.Env})
}

// screenTarget is a target as the explorer sees it.
func screenTarget(found cli.Target) explorer.Target {
	kinds := map[string]explorer.Kind{cli.KindRemote: explorer.Remote, cli.KindSlack: explorer.Remote, cli.KindLibrary: explorer.Library,
		cli.KindSample: explorer.Sample}
	shown := explorer.Target{Kind: kinds[found.Kind], Where: targetLabel(found, " · "), Agent: found.Agent,
		AgentName: found.AgentName, Beside: found.Beside, Elsewhere: found.Elsewhere, OwnModel: found.Kind == cli.KindRemote && len(found.Beside) > 0,
		Open: func(ctx context.Context) (*explorer.Session, error) {
			session, err := found.Open(ctx)
			if err != nil {
				return nil, err
			}
			return &explorer.Session{Client: session.Client, Close: session.Close}, nil
		}}
	if found.Kind == cli.KindSample {
		shown.Examples = sampleExamples()
	}
	return shown
}

// sampleExamples are questions that the sample library answers.
func sampleExamples() []string {
	return []string{"how do we roll back a deploy", "how many weeks of parental leave do we get", "what does ERR_BATT_005 mean"}
}

// capabilities are what may be done to this machine. Who came over SSH looks at another one: its clipboard and its
// browser are out of reach, and those of this machine are nobody's business.
func (d *doors) capabilities() explorer.Capabilities {
	if d.overSSH() {
		return explorer.Capabilities{Suspend: true, OpenReason: "over SSH the browser is on your side: click the link, or copy it"}
	}
	browser.Stdout, browser.Stderr = io.Discard, io.Discard // the screen is not theirs to write on
	caps := explorer.Capabilities{Suspend: true, Open: openLink}
	if !clipboard.Unsupported {
		caps.Copy = clipboard.WriteAll
	}
	return caps
}

func (d *doors) overSSH() bool {
	for _, variable := range []string{"SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"} {
		if value, _ := d.lookup(variable); value != "" {
			return true
		}
	}
	return false
}

// openLink opens a link with the system's own opener, never through a shell. On Windows a link to a file could start a
// program.
func openLink(link string) error {
	parsed, err := url.Parse(link)
	if err != nil {
		return fmt.Errorf("open the link: %w", err)
	}
	allowed := []string{"http", "https", "mailto"}
	if runtime.GOOS != "windows" {
		allowed = append(allowed, "file")
	}
	if !slices.Contains(allowed, parsed.Scheme) {
		return fmt.Errorf("links of the kind %q are not opened", parsed.Scheme)
	}
	browser.Stdout, browser.Stderr = io.Discard, io.Discard // the screen is not theirs to write on
	switch err := browser.OpenURL(link); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("there is no browser on this machine")
	case err != nil:
		return fmt.Errorf("open the link: %w", err)
	}
	return nil
}
