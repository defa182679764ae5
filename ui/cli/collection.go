package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/state"
	"quarry/ui/target"
)

func (a *app) collectionCommand() *cobra.Command {
	format := ""
	is := traits{class: reads, json: prints(collectionOutput{})}
	command := a.targetCommand("collection", "Print the passages that were collected in the explorer", is,
		func(ctx context.Context, choice target.Choice, _ []string) { a.printCollection(ctx, choice, format) })
	command.Flags().StringVarP(&format, "format", "f", "",
		"print as md, json or csv (`FORMAT`; default md on a terminal, else json)")
	a.register(command, "format", fixed(state.Formats()))
	return command
}

func (a *app) printCollection(ctx context.Context, choice target.Choice, format string) {
	switch {
	case format == "" && a.wantsJSON():
		format = state.JSON
	case format == "":
		format = state.Markdown
	case !slices.Contains(state.Formats(), format):
		refuseValue("format", format, "quarry collection --help", state.Formats())
	case a.flags.JSON && format != state.JSON:
		refuse("Give only one of them.", "--json and --format %s exclude each other", format)
	}
	stored := guard.Must(a.program.State(choice).Load())
	if len(stored.Collection) == 0 {
		a.say("The collection of %s is empty. Mark passages in the explorer with tab.", choice.Name())
	} else if err := guard.Ended(func() { a.checkCollection(ctx, choice, &stored) }); err != nil &&
		client.KindOf(err) != client.NotAvailable {
		a.note("could not check whether the passages are as they were: %v", err)
	}
	collection := stored.Collection
	if format == state.JSON {
		a.printAnswer("collection", collectionAnswer(collection))
		return
	}
	whole := guard.Must(state.Export(collection, format))
	a.printCut("collection", format, whole, func(limit bound, _ *string) string {
		return largest(0, len(collection), limit,
			func(n int) string { return guard.Must(state.Export(collection[:n], format)) })
	})
}

// checkCollection notes which passages changed or are gone since they were marked.
func (a *app) checkCollection(ctx context.Context, choice target.Choice, stored *state.State) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	session := a.open(ctx, choice)
	defer session.Close()
	found, err := state.Check(ctx, session.Client, stored.Collection, choice.Beside())
	stored.SetStale(found)
	guard.Check(err)
}

// collectionOutput is the JSON of collection.
type collectionOutput struct {
	state.Exported
	Truncation *truncation `json:"truncation,omitempty" jsonschema:"present if the output was cut"`
}

func collectionAnswer(collection []state.Passage) answer {
	return answer{sizes: []int{len(collection)}, value: func(c cut) any {
		kept := firstOf(collection, c.shown)
		if c.content >= 0 && len(kept) > 0 {
			kept[0].Content = text.Clip(kept[0].Content, c.content)
		}
		return collectionOutput{state.ExportedOf(kept), c.note}
	}}
}

// savedResults is how many results a saved search asks for, as the explorer does: what was seen there is among them.
const savedResults = 50

// savedQuery is a search that was saved in the explorer; nil: none is run.
type savedQuery struct {
	state.Saved
	store *state.Store
}

func (a *app) savedFlags(command *cobra.Command, options *searchOptions) {
	flags := command.Flags()
	flags.StringVar(&options.saved, "saved", "", "run the search that was saved under this `NAME` in the explorer")
	flags.BoolVar(&options.onlyNew, "new", false,
		"with --saved: print only results that are new since the last time, and remember them")
	a.register(command, "saved", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		choice, err := a.decideTarget(a.searchRequest(options))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		stored, _ := a.program.State(choice).Load()
		return completable(savedNames(stored)), cobra.ShellCompDirectiveNoFileComp
	})
}

func savedNames(stored state.State) []string {
	return exslices.CastFunc(stored.Saved, func(saved state.Saved) string { return saved.Name })
}

// findSaved returns the saved search that the flags name.
func (a *app) findSaved(queries []string, options *searchOptions, choice target.Choice) *savedQuery {
	if !options.given("saved") {
		if options.onlyNew {
			refuse("Name a search that was saved in the explorer: --saved NAME", "--new works with --saved only")
		}
		return nil
	}
	// What is cut or unchanged is not what is marked as seen.
	for _, flag := range []string{"max-output", "budget", "raw"} {
		if options.onlyNew && options.given(flag) {
			refuse("Bound the results by --limit.", "--new and --%s exclude each other", flag)
		}
	}
	if len(queries) > 0 {
		refuse("Omit the query, or --saved.", "--saved runs a saved query; %q is another one", queries[0])
	}
	store := a.program.State(choice)
	stored := guard.Must(store.Load())
	found, ok := stored.SavedNamed(options.saved)
	switch names := savedNames(stored); {
	case ok:
	case a.private():
		refuse("Unset private in the configuration file, then save the search in the explorer.",
			"no searches are saved: private is set")
	case len(names) == 0:
		refuse("Save one in the explorer: ctrl+s", "unknown saved search %q: none is saved for %s",
			options.saved, choice.Name())
	default:
		refuse(wire.Hint(options.saved, "Saved for "+choice.Name()+": "+shortList(names), names),
			"unknown saved search %q", options.saved)
	}
	return &savedQuery{found, store}
}

// keepNew leaves what was not among the results when the search was opened last, and returns the references of all.
func (s *savedQuery) keepNew(o *outcome) (found []string) {
	if o.err != nil {
		return nil
	}
	found = exslices.CastFunc(o.response.Results, passage.RefOf)
	added := s.New(found)
	o.response.Results = slices.DeleteFunc(o.response.Results,
		func(r wire.SearchResult) bool { return !slices.Contains(added, passage.RefOf(r)) })
	o.nothing = fmt.Sprintf("Nothing new in %q.", s.Name)
	return found
}

// markSeen remembers results that were printed.
func (a *app) markSeen(ctx context.Context, s *savedQuery, refs []string) {
	now := a.now()
	_, err := s.store.Change(func(stored *state.State) error {
		stored.MarkSeen(s.Name, refs, now)
		return nil
	})
	if err == nil {
		err = s.store.Save(ctx)
	}
	guard.While(fmt.Sprintf("remember the results of %q as seen", s.Name), err)
}
