package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

// movedEvent is the last line of migrate. The counts of documents are those that changed in the new engine.
type movedEvent struct {
	Type    string `json:"type"`
	Added   int    `json:"added" jsonschema:"documents that the new engine lacked, as the next keys"`
	Updated int    `json:"updated"`
	Removed int    `json:"removed"`
	wire.Migration
}

func (a *app) migrateCommand() *cobra.Command {
	var request wire.MigrateRequest
	command := a.newCommand("migrate --to ENGINE", "Copy the local library to another engine or database",
		a.changesLibrary(nil, migrateSchemas), func(ctx context.Context, _ []string) {
			if request.To == "" {
				refuse("Use --to weaviate or --to postgres.", "missing flag --to")
			}
			if !slices.Contains(wire.Engines(), request.To) {
				refuse("Use --to weaviate or --to postgres.", "unknown engine %q in --to", request.To)
			}
			a.changeLibrary(ctx, verbMoved, false, asking(request))
		})
	flags := command.Flags()
	flags.StringVar(&request.To, "to", "",
		"`ENGINE` to copy to: weaviate, or postgres (documents only if it is the index.engine)")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print what would be copied, and store nothing")
	return command
}

// finishMove prints what was copied, and how well the copy answers.
func (p *progress) finishMove(done wire.LibraryEvent) {
	moved := wire.Migration{}
	if done.Migrated != nil {
		moved = *done.Migrated
	}
	if p.json {
		p.writeLast(movedEvent{done.Type, done.Added, done.Updated, done.Removed, moved})
		guard.Check(p.err)
	} else {
		p.app.print(movedText(done, moved))
	}
}

func movedText(done wire.LibraryEvent, moved wire.Migration) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	verb := "Copied"
	if moved.DryRun {
		verb = "To copy"
		line("Dry run, nothing was stored.")
	}
	if moved.Engine == wire.EnginePostgres || moved.Directory+moved.Chats > 0 {
		line("%s: %s about people, tokens and settings, %s of conversations, of %s.", verb,
			text.Count(moved.Directory, "entry"), text.Count(moved.Chats, "entry"), text.Count(moved.Tenants, "tenant"))
	}
	if len(moved.Kept) > 0 {
		kept := strings.NewReplacer("directory", "people, tokens and settings", "chats",
			"conversations").Replace(strings.Join(moved.Kept, ", "))
		line("Already in the database and left as they are there: %s.", kept)
	}
	if moved.Engine == wire.EngineWeaviate || moved.Documents+done.Added+done.Updated+done.Removed > 0 {
		line("%s", done.Outcome("added", "updated", "removed"))
	}
	if moved.Queries > 0 {
		line("The copy has %s with %s, as the library. Of %s for sampled documents, %d find them among the first 10 "+
			"results (the library: %d), and %d have the same first result.", text.Count(moved.Documents, "document"),
			text.Count(moved.Passages, "passage"), text.Count(moved.Queries, "search"), moved.Found, moved.FoundBefore,
			moved.SameFirst)
	}
	return b.String()
}
