package cli

import (
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// The forms of what is picked, beside formatJSON.
const (
	pickLink     = "link"
	pickCitation = "citation"
	pickPassage  = "passage"
	pickPath     = "path"
)

func pickForms() []string { return []string{pickLink, pickCitation, pickPassage, pickPath, formatJSON} }

func (a *app) pickFlags(root *cobra.Command) {
	root.Flags().BoolVar(&a.flags.pick, "pick", false,
		"explore on the terminal, and print what Enter chooses; exit code 130 without a choice")
	root.Flags().StringVarP(&a.flags.output, "output", "o", pickLink,
		"print what was picked as link, citation, passage, path or json (`FORM`)")
	a.register(root, "output", fixed(pickForms()))
}

// pick opens the explorer on the terminal of the process and prints the passages that the person chooses there. Both
// standard streams may be pipes.
func (a *app) pick(command *cobra.Command, words []string, options *searchOptions) error {
	form := a.flags.output
	if err := a.checkPick(command, words); err != nil {
		return err
	}
	e, err := a.exploration(command, words, options)
	if err != nil {
		return err
	}
	if form == pickPath && !e.Target.HasFiles() {
		return &Failure{Code: ExitNotAvailable, What: "the documents of " + e.Target.Describe() + " are not files on this machine",
			Do: "Print their links instead: -o " + pickLink}
	}
	var chosen []wire.SearchResult
	e.Chosen = func(results []wire.SearchResult) { chosen = results }
	e.Unfit = func(result wire.SearchResult) string { return unfit(result, form, e.Target) }
	if err := a.openExplorer(command.Context(), e); err != nil {
		return err
	}
	if len(chosen) == 0 {
		return &Failure{Code: ExitInterrupted}
	}
	return a.printPicked(chosen, form)
}

// checkPick refuses what does not go with picking.
func (a *app) checkPick(command *cobra.Command, words []string) error {
	if form := a.flags.output; !slices.Contains(pickForms(), form) {
		return notAmong("form", form, pickForms())
	}
	for _, flag := range printingFlags() {
		if flag != "max-output" && command.Flags().Changed(flag) {
			return usage("Choose what is printed by -o, or omit --pick.", "--pick and --%s exclude each other", flag)
		}
	}
	const instead = "Print results instead: quarry search"
	switch {
	case slices.Equal(words, []string{"-"}):
		return usage("Give the words of the query.", "--pick reads no query from standard input")
	case a.plain():
		return usage(instead, "--pick needs the full screen, which --plain and ACCESSIBLE turn off")
	case a.io.isDumb():
		return usage(instead, "--pick needs a terminal that can be drawn on; TERM is dumb")
	}
	return nil
}

// unfit returns why a passage has no such form; "" if it has.
func unfit(result wire.SearchResult, form string, where target.Choice) string {
	switch form {
	case pickLink:
		link := text.OrEmpty(result.Link)
		if address, err := url.Parse(link); link == "" || err != nil || address.Scheme == "" {
			return "no link; -o " + pickCitation + " prints the reference"
		}
	case pickPath:
		if _, isFile := passage.File(result); !isFile || !where.IsFileHere(result.Origin) {
			return "not a file on this machine; -o " + pickLink + " prints its link"
		}
	}
	return ""
}

// printPicked prints passages, one a line where the form has lines. Passages of one document have one link and one
// path.
func (a *app) printPicked(chosen []wire.SearchResult, form string) error {
	if form == formatJSON {
		return a.printAnswer("pick", rowsAnswer(jsonResults(&wire.SearchResponse{Results: chosen}, false, whole())), a.private())
	}
	var printed []string
	for _, result := range chosen {
		line := text.OneLine(text.OrEmpty(result.Link))
		switch form {
		case pickPassage:
			line = passage.Quote(passage.Shared(passage.Best(result)))
		case pickCitation:
			line = passage.Cite(passage.Shared(result))
		case pickPath:
			line, _ = passage.File(result)
		}
		if !slices.Contains(printed, line) {
			printed = append(printed, line)
		}
	}
	all := strings.Join(printed, "\n")
	if form == pickPassage {
		return a.printPlain("pick", "md", all, a.private())
	}
	return a.printLines("pick", "txt", all+"\n", a.private())
}
