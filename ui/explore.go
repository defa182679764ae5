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
	"quarry/ui/target"
)

// explorePlain talks line by line. Ctrl-C is not the end of it, as it is of a command: the first one cancels a search.
func (r *run) explorePlain(ctx context.Context, host *target.Host, e cli.Exploration) error {
	interrupts, stop := takeInterrupts()
	defer stop()
	width, _, err := term.GetSize(int(r.process.Out.Fd()))
	if err != nil {
		width = 0
	}
	agent := e.Target.SearchAgent()
	return plain.Run(ctx, plain.Options{
		In: r.process.In, Out: r.process.Out, Err: r.process.Err,
		Open:  func(ctx context.Context) (*client.Session, error) { return host.Open(ctx, e.Target) },
		Label: targetLabel(e.Target, ", "), Beside: e.Target.Beside(), Sample: e.Target.Kind == target.KindSample, Query: e.Query,
		Agent: agent.ID, AgentName: agent.Name, Limit: e.Limit, Width: width, Interrupts: interrupts,
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
func targetLabel(choice target.Choice, separator string) string {
	switch choice.Kind {
	case target.KindSample:
		return "the sample library"
	case target.KindLibrary:
		if choice.LibraryDir == "" || choice.Rule > target.RuleFlag {
			return "the library on this machine"
		}
		return choice.Describe()
	}
	host := choice.ServerURL
	if parsed, err := url.Parse(host); err == nil && parsed.Host != "" {
		host = parsed.Host
	}
	if !choice.IsNamed() {
		return host
	}
	return choice.Profile + separator + host
}
