package ui

import (
	"context"
	"net/url"
	"os"
	"os/signal"

	"golang.org/x/term"

	"quarry/client"
	"quarry/internal/guard"
	"quarry/ui/cli"
	"quarry/ui/plain"
)

// explorePlain talks line by line. Ctrl-C is not the end of it, as it is of a command: the first one cancels a search.
func (d *doors) explorePlain(ctx context.Context, e cli.Exploration) error {
	interrupts, stop := takeInterrupts()
	defer stop()
	width, _, err := term.GetSize(int(d.process.Out.Fd()))
	if err != nil {
		width = 0
	}
	return plain.Run(ctx, plain.Options{
		In: d.process.In, Out: d.process.Out, Err: d.process.Err,
		Open: func(ctx context.Context) (*client.Client, func() error, error) {
			session, err := e.Target.Open(ctx)
			if err != nil {
				return nil, nil, err
			}
			return session.Client, session.Close, nil
		},
		Label: targetLabel(e.Target, ", "), Beside: e.Target.Beside, Sample: e.Target.Kind == cli.KindSample, Query: e.Query,
		Agent: e.Target.Agent, AgentName: e.Target.AgentName, Limit: e.Limit, Width: width, Interrupts: interrupts,
	})
}

// takeInterrupts takes Ctrl-C away from whoever else waits for it, for as long as this process runs: the context of the
// run must not end with the first one.
func takeInterrupts() (interrupts <-chan struct{}, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Ignore(os.Interrupt) // also tells all who were notified so far nothing more
	signal.Notify(signals, os.Interrupt)
	told, done := make(chan struct{}), make(chan struct{})
	guard.Go(func() {
		for {
			select {
			case <-signals:
				select {
				case told <- struct{}{}:
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}, func(error) { signal.Stop(signals) })
	return told, func() {
		signal.Stop(signals)
		close(done)
	}
}

// targetLabel names a target for a person: "acme, onyx.acme.com".
func targetLabel(target cli.Target, separator string) string {
	switch target.Kind {
	case cli.KindSample:
		return "the sample library"
	case cli.KindLibrary:
		if target.Library == "" || target.Rule > 1 {
			return "the library on this machine"
		}
		return "the library in " + target.Library
	}
	host := target.ServerURL
	if parsed, err := url.Parse(host); err == nil && parsed.Host != "" {
		host = parsed.Host
	}
	if !target.Named() {
		return host
	}
	return target.Profile + separator + host
}
