package cli

import (
	"context"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/target"
)

// list opens the target of a listing command.
func (a *app) list(ctx context.Context, arguments []string,
	show func(context.Context, *client.Client, target.Choice) error) error {
	choice, err := a.decide()
	if err != nil {
		return err
	}
	if len(arguments) > 0 {
		return usage("See: quarry "+a.commandName()+" --help", "%q: this command takes no arguments", arguments[0])
	}
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	session, err := a.open(ctx, choice)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	return show(ctx, session.Client, choice)
}

// reachable tells a server that is not there, or refuses the token, from one that only keeps its lists to itself.
func reachable(ctx context.Context, c *client.Client) error {
	_, err := c.Me(ctx)
	return err
}

// countFacets counts everything that the caller may see; nil where the server does not count.
func countFacets(ctx context.Context, c *client.Client) *wire.Facets {
	features, err := c.Features(ctx)
	if err != nil || !features.Has(wire.FeatureFacets) {
		return nil
	}
	counts, err := c.Facets(ctx, wire.SearchRequest{})
	if err != nil {
		return nil
	}
	return &counts.Facets
}

// wantsJSON tells that a listing is to be JSON: asked for, or without a terminal.
func (a *app) wantsJSON() bool { return a.flags.json || !a.io.OutTTY }
