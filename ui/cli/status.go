package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// The JSON of status, version 1. target is null, with target_error, when nothing is configured.
type jsonStatus struct {
	Target      *jsonTarget       `json:"target"`
	TargetError string            `json:"target_error,omitempty"`
	Library     jsonLibraryStatus `json:"library"`
	Check       *jsonCheck        `json:"check,omitempty"` // with --check
	Searched    []string          `json:"searched"`
	Schema      int               `json:"schema"`
	Truncation  *truncation       `json:"truncation,omitempty"`
}

type jsonTarget struct {
	Kind       string          `json:"kind"` // remote, slack, library, sample
	Profile    string          `json:"profile"`
	ServerURL  string          `json:"server_url,omitempty"`
	Library    string          `json:"library,omitempty"`
	Rule       int             `json:"rule"`
	Reason     string          `json:"reason"`
	ConfigFrom string          `json:"config_from,omitempty"`
	Origins    []target.Origin `json:"origins"`
}

type jsonLibraryStatus struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
	wire.LibraryStatus
	Error string `json:"error,omitempty"` // why it cannot be looked at
}

func (a *app) statusCommand() *cobra.Command {
	var check bool
	command := a.newCommand("status", "Show where searches go and what the local library contains",
		func(ctx context.Context, _ []string) error { return a.status(ctx, check) })
	command.Flags().BoolVar(&check, "check", false, "check the whole library for damage and repair the index")
	return command
}

// status prints what can be known, also when something cannot: then the exit code is that of the reason.
func (a *app) status(ctx context.Context, check bool) error {
	choice, decideErr := a.decide(a.request())
	status := jsonStatus{Searched: []string{}, Schema: schemaVersion}
	if decideErr != nil {
		status.TargetError = a.reasonOf(decideErr)
	} else {
		status.Searched = append(status.Searched, choice.Profile)
		status.Target = &jsonTarget{Kind: string(choice.Kind), Profile: choice.Profile, ServerURL: choice.ServerURL,
			Library: choice.LibraryDir, Rule: choice.Rule, Reason: choice.Reason, ConfigFrom: choice.ConfigFrom(),
			Origins: nonNil(choice.Origin)}
	}
	var libraryErr error
	if status.Library, status.Check, libraryErr = a.libraryStatus(ctx, check); libraryErr != nil {
		if ctx.Err() != nil {
			return libraryErr
		}
		status.Library.Error = a.reasonOf(libraryErr)
	}
	var err error
	if a.wantsJSON() {
		err = a.printAnswer("status", statusAnswer(status), a.private())
	} else {
		err = a.print([]byte(a.statusText(status, decideErr)))
	}
	switch {
	case err != nil:
		return err
	case libraryErr != nil:
		return libraryErr
	case status.Check != nil && status.Check.Damaged > 0:
		return damageFailure(status.Check.Found)
	case a.request().Explicit():
		return decideErr
	}
	return nil
}

// reasonOf is what an error says to a person.
func (a *app) reasonOf(err error) string {
	if failure := a.explain(err); failure != nil {
		return text.OneLine(failure.What)
	}
	return text.OneLine(err.Error())
}

// libraryStatus looks at the library without making one, and checks it first if asked to.
func (a *app) libraryStatus(ctx context.Context, check bool) (status jsonLibraryStatus, checked *jsonCheck, err error) {
	status = jsonLibraryStatus{Path: a.libraryFolder()}
	err = a.with(ctx, a.openLibrary, func(ctx context.Context, c *client.Client) (err error) {
		if check {
			if checked, err = a.checkLibrary(ctx, c); err != nil {
				return err
			}
		}
		found, err := c.LibraryStatus(ctx)
		if err == nil {
			status.Exists, status.LibraryStatus = true, *found
		}
		return err
	})
	if errors.Is(err, target.ErrNoLibrary) {
		err = nil
	}
	status.Roots, status.Assumed, status.Skipped = nonNil(status.Roots), nonNil(status.Assumed), nonNil(status.Skipped)
	return status, checked, err
}

type statusAnswer jsonStatus

func (s statusAnswer) most() int           { return len(s.Library.Roots) }
func (s statusAnswer) count(shown int) int { return min(shown, len(s.Library.Roots)) }

func (s statusAnswer) encode(c cut) ([]byte, error) {
	s.Library.Roots = firstOf(s.Library.Roots, c.shown)
	s.Truncation = c.note
	return encodeJSON(jsonStatus(s))
}

func (a *app) statusText(status jsonStatus, decideErr error) string {
	var b strings.Builder
	line := func(label, format string, arguments ...any) {
		value := printable(fmt.Sprintf(format, arguments...))
		fmt.Fprintf(&b, "%s %s\n", a.style.Muted.Render(fmt.Sprintf("%-14s", label)), value)
	}
	if status.Target == nil {
		line("Searches go to", "no target")
		if status.TargetError == status.Library.Error {
			return b.String() + "\n"
		}
		line("Reason", "%s", status.TargetError)
		if failure := a.explain(decideErr); failure != nil {
			line("Hint", "%s", text.Sentence(failure.Do))
		}
	} else {
		shown := target.Choice{Kind: target.Kind(status.Target.Kind), ServerURL: status.Target.ServerURL, LibraryDir: status.Target.Library}
		line("Searches go to", "%s", shown.Describe())
		line("Reason", "%s", status.Target.Reason)
		line("Profile", "%s", status.Target.Profile)
		for _, origin := range status.Target.Origins {
			line("", "%s", strings.Join(strings.Fields(origin.Field+" "+origin.Value), " ")+" from "+origin.From)
		}
	}
	b.WriteString("\n")
	library := status.Library
	line("Local library", "%s", library.Path)
	if library.Error != "" {
		return b.String() // the error follows
	}
	if !library.Exists {
		line("", "empty (quarry add PATH%s)", a.libraryFlag())
		return b.String()
	}
	line("Documents", "%d, in %s, %s on disk", library.Documents, text.Count(library.Chunks, "passage"), text.Size(library.Bytes))
	if library.VectorModel != "" {
		line("Vectors", "%d of %s, by %s", library.Vectors, text.Count(library.Chunks, "passage"), library.VectorModel)
		if library.VectorsRefused > 0 {
			line("", "the model refused %s (quarry serve and sync log why); only lexical search finds them", text.Count(library.VectorsRefused, "passage"))
		}
	}
	if check := status.Check; check != nil {
		line("Check", "%d documents checked, %d repaired, %d damaged", check.Documents, check.Repaired, check.Damaged)
		for _, text := range damageLines(check.Found) {
			line("", "%s", text)
		}
	}
	if len(library.Roots) == 0 {
		return b.String()
	}
	b.WriteString("\n")
	t := table{header: []string{"SOURCE", "DOCUMENTS", "SET", "SYNCED", "ADDED FROM"}, right: 1, style: a.style,
		width: a.io.columns()}
	for _, root := range library.Roots {
		synced := passage.Age(root.SyncedAt, a.now())
		t.rows = append(t.rows, []string{root.Source, fmt.Sprint(root.Documents), root.Set, synced, printable(root.Path)})
	}
	b.WriteString(t.String())
	b.WriteString(a.statusFiles(library))
	return b.String()
}

// statusFiles lists some of the files whose encoding was assumed, and of those that are skipped, in the words of add.
func (a *app) statusFiles(library jsonLibraryStatus) string {
	var b strings.Builder
	list := func(what string, total int, lines []string) {
		if total > 0 {
			b.WriteString("\n" + printable(strings.Join(lines, "\n")) + "\n")
		}
		if more := total - len(lines); more > 0 {
			fmt.Fprintf(&b, "and %d more %s\n", more, what)
		}
	}
	var assumed, skipped []string
	for _, file := range firstOf(library.Assumed, skipsShown) {
		assumed = append(assumed, assumedLine(wire.LibraryEvent{Path: file.Path, Encoding: file.Encoding}))
	}
	for _, file := range firstOf(library.Skipped, skipsShown) {
		skipped = append(skipped, skipLine(wire.LibraryEvent{Path: file.Path, Reason: file.Reason}))
	}
	list("assumed encodings", library.AssumedFiles, assumed)
	list("skipped", library.SkippedFiles, skipped)
	return b.String()
}
