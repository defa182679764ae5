package ui

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/term"

	"quarry/client"
	"quarry/ui/cli"
	"quarry/ui/plain"
	"quarry/ui/target"
)

// explorePlain talks line by line. Ctrl-C is not the end of it, as it is of a command: the first one cancels a search.
func (r *run) explorePlain(ctx context.Context, host *target.Host, e cli.Exploration) error {
	interrupts := make(chan os.Signal, 1)
	signal.Ignore(os.Interrupt) // ends all other notifications: the context of the run must not end with the first Ctrl-C
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
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
	if !choice.IsNamed() {
		return hostOf(choice.ServerURL)
	}
	return choice.Profile + separator + hostOf(choice.ServerURL)
}
