package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

type copyingEvent struct {
	Type   string `json:"type"`
	Tenant string `json:"tenant"`
	Done   int    `json:"done" jsonschema:"tenants"`
	Total  int    `json:"total" jsonschema:"tenants"`
}

// movedEvent is the last line of migrate.
type movedEvent struct {
	Type string `json:"type"`
	wire.Migration
}

func (a *app) migrateCommand() *cobra.Command {
	var request wire.MigrateRequest
	command := a.newCommand("migrate --to postgres", "Copy people, tokens and conversations to a database", func(ctx context.Context, _ []string) error {
		if request.To != wire.EnginePostgres {
			return usage("Use --to postgres.", "unknown engine %q in --to", request.To)
		}
		return a.changeLibrary(ctx, verbMoved, false,
			func(ctx context.Context, c *client.Client, report func(wire.LibraryEvent)) (wire.LibraryEvent, error) {
				return c.LibraryMigrate(ctx, request, report)
			})
	})
	flags := command.Flags()
	flags.StringVar(&request.To, "to", "", "`ENGINE` to copy to: postgres")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print what would be copied, and store nothing")
	a.completeFlags(command, a.openLibrary(false))
	return command
}

// finishMove prints what was copied.
func (p *progress) finishMove(done wire.LibraryEvent) error {
	moved := wire.Migration{}
	if done.Migrated != nil {
		moved = *done.Migrated
	}
	if p.json {
		p.writeLast(movedEvent{done.Type, moved})
		return p.err
	}
	verb := "Copied"
	if moved.DryRun {
		verb = "Dry run, nothing was stored. To copy"
	}
	return p.app.print(fmt.Appendf(nil, "%s: %s about people, tokens and settings, %s of conversations, of %s.\n", verb,
		text.Count(moved.Directory, "entry"), text.Count(moved.Chats, "entry"), text.Count(moved.Tenants, "tenant")))
}
