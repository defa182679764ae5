package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"quarry/internal/text"
	"quarry/ui/state"
	"quarry/ui/target"
)

func (a *app) collectionCommand() *cobra.Command {
	format := ""
	is := traits{class: reads, json: prints(collectionOutput{})}
	command := a.targetCommand("collection", "Print the passages that were collected in the explorer", is,
		func(_ context.Context, choice target.Choice, _ []string) error {
			return a.printCollection(choice, format)
		})
	command.Flags().StringVarP(&format, "format", "f", "", "print as md, json or csv (`FORMAT`; default md on a terminal, else json)")
	a.register(command, "format", fixed(state.Formats()))
	return command
}

func (a *app) printCollection(choice target.Choice, format string) error {
	switch {
	case format == "" && a.wantsJSON():
		format = state.JSON
	case format == "":
		format = state.Markdown
	case !slices.Contains(state.Formats(), format):
		return unknownValue("format", format, "quarry collection --help", state.Formats())
	case a.flags.json && format != state.JSON:
		return usage("Give only one of them.", "--json and --format %s exclude each other", format)
	}
	stored, err := a.program.State(choice).Load()
	if err != nil {
		return err
	}
	collection := stored.Collection
	if len(collection) == 0 {
		a.say("The collection of %s is empty. Mark passages in the explorer with tab.", choice.Name())
	}
	if format == state.JSON {
		return a.printAnswer("collection", collectionAnswer(collection), a.private())
	}
	whole, err := state.Export(collection, format)
	if err != nil {
		return err
	}
	return a.printCut("collection", format, whole, a.private(), func(limit bound, _ *string) ([]byte, error) {
		return largest(0, len(collection), limit, func(n int) ([]byte, error) { return state.Export(collection[:n], format) })
	})
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
