package cli

import (
	"strings"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

// printManual prints the page of all commands. A command's own prose stays in its --help.
func (a *app) printManual(root *cobra.Command) error {
	entry := lookupHelp(root.CommandPath())
	purpose, _, _ := strings.Cut(strings.TrimPrefix(entry.sections, "Purpose:\n"), "\n\nWhen not to use it:")
	paragraphs := strings.Split(purpose, "\n\n")
	for i, paragraph := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(paragraph, "\n", " ")
	}
	root.Long = strings.Join(paragraphs, "\n")
	page, err := mango.NewManPage(1, root)
	if err != nil {
		return err
	}
	page = page.WithSection("Exit status", exitCodeList(parseExits("remote"))).WithSection("Examples", entry.examples)
	return a.print([]byte(page.Build(roff.NewDocument())))
}
