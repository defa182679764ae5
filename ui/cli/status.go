package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client/wire"
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
	Path      string             `json:"path"`
	Exists    bool               `json:"exists"`
	Documents int                `json:"documents"`
	Chunks    int                `json:"chunks"`
	Vectors   int                `json:"vectors,omitempty"`      // chunks that can be found by vector
	Model     string             `json:"vector_model,omitempty"` // that they are by
	Refused   int                `json:"vectors_refused,omitempty"`
	Bytes     int64              `json:"bytes"`
	Version   string             `json:"version,omitempty"`
	Roots     []wire.LibraryRoot `json:"roots"`
	// The first of the files whose encoding was assumed, and of those of which something is not stored, and how many.
	Assumed      []wire.AssumedFile `json:"assumed"`
	AssumedFiles int                `json:"assumed_files"`
	Skipped      []wire.SkippedFile `json:"skipped"`
	SkippedFiles int                `json:"skipped_files"`
	Error        string             `json:"error,omitempty"` // why it cannot be looked at
}

func (a *app) statusCommand() *cobra.Command {
	var check bool
	command := &cobra.Command{
		Use:   "status",
		Short: "Show where searches go and what the local library contains",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) > 0 {
				return usage("See: quarry status --help", "%q: this command takes no arguments", arguments[0])
			}
			return a.status(command.Context(), check)
		},
	}
	command.Flags().BoolVar(&check, "check", false, "check the whole library for damage; repair the index")
	return command
}

// status prints what can be known, also when something cannot: then the exit code is that of the reason.
func (a *app) status(ctx context.Context, check bool) error {
	choice, decideErr := a.decide()
	status := jsonStatus{Searched: []string{}, Schema: schemaVersion}
	if decideErr != nil {
		status.TargetError = a.reasonOf(decideErr)
	} else {
		status.Searched = append(status.Searched, choice.Profile)
		status.Target = &jsonTarget{Kind: string(choice.Kind), Profile: choice.Profile, ServerURL: choice.ServerURL,
			Library: choice.LibraryDir, Rule: choice.Rule, Reason: choice.Reason, ConfigFrom: choice.ConfigFrom(),
			Origins: filled(choice.Origin)}
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
		err = a.printAnswer("status", statusAnswer(status), a.private(), false)
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
		return oneLine(failure.What)
	}
	return oneLine(err.Error())
}

// libraryStatus looks at the library without making one, and checks it first if asked to.
func (a *app) libraryStatus(ctx context.Context, check bool) (status jsonLibraryStatus, checked *jsonCheck, err error) {
	status = jsonLibraryStatus{Path: a.libraryFolder(), Roots: []wire.LibraryRoot{},
		Assumed: []wire.AssumedFile{}, Skipped: []wire.SkippedFile{}}
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	session, err := a.openLibrary(ctx, false)
	if errors.Is(err, target.ErrNoLibrary) {
		return status, nil, nil
	}
	if err != nil {
		return status, nil, err
	}
	defer func() { _ = session.Close() }()
	if check {
		if checked, err = a.checkLibrary(ctx, session); err != nil {
			return status, checked, err
		}
	}
	found, err := session.Client.LibraryStatus(ctx)
	if err != nil {
		return status, checked, err
	}
	status.Exists, status.Documents, status.Chunks = true, found.Documents, found.Chunks
	status.Vectors, status.Model, status.Refused = found.Vectors, found.VectorModel, found.VectorsRefused
	status.Bytes, status.Version, status.Roots = found.Bytes, found.Version, filled(found.Roots)
	status.Assumed, status.AssumedFiles = filled(found.Assumed), found.AssumedFiles
	status.Skipped, status.SkippedFiles = filled(found.Skipped), found.SkippedFiles
	return status, checked, nil
}

type statusAnswer jsonStatus

func (s statusAnswer) most() int           { return len(s.Library.Roots) }
func (s statusAnswer) count(shown int) int { return min(shown, len(s.Library.Roots)) }

func (s statusAnswer) encode(c cut) ([]byte, error) {
	s.Library.Roots = append([]wire.LibraryRoot{}, s.Library.Roots[:min(c.shown, len(s.Library.Roots))]...)
	s.Truncation = c.note
	return encodeJSON(jsonStatus(s))
}

func (a *app) statusText(status jsonStatus, decideErr error) string {
	var text strings.Builder
	line := func(label, format string, arguments ...any) {
		value := printable(fmt.Sprintf(format, arguments...))
		fmt.Fprintf(&text, "%s %s\n", a.style.Muted.Render(fmt.Sprintf("%-14s", label)), value)
	}
	if status.Target == nil {
		line("Searches go to", "nowhere yet")
		if status.TargetError == status.Library.Error {
			return text.String() + "\n"
		}
		line("Because", "%s", status.TargetError)
		if failure := a.explain(decideErr); failure != nil {
			line("What to do", "%s", sentence(failure.Do))
		}
	} else {
		shown := target.Choice{Kind: target.Kind(status.Target.Kind), ServerURL: status.Target.ServerURL, LibraryDir: status.Target.Library}
		line("Searches go to", "%s", shown.Describe())
		line("Because", "%s", status.Target.Reason)
		line("Profile", "%s", status.Target.Profile)
		for _, origin := range status.Target.Origins {
			line("", "%s", strings.Join(strings.Fields(origin.Field+" "+origin.Value), " ")+" from "+origin.From)
		}
	}
	text.WriteString("\n")
	library := status.Library
	line("Local library", "%s", library.Path)
	if library.Error != "" {
		return text.String() // the error follows
	}
	if !library.Exists {
		line("", "nothing was added yet (quarry add PATH%s)", a.libraryFlag())
		return text.String()
	}
	line("Documents", "%d, in %s, %s on disk", library.Documents, pieces(library.Chunks), friendlyBytes(library.Bytes))
	if library.Model != "" {
		line("Vectors", "%d of %s, by %s", library.Vectors, pieces(library.Chunks), library.Model)
		if library.Refused > 0 {
			line("", "%s not taken by the model (quarry serve and sync log why), found by words alone", pieces(library.Refused))
		}
	}
	if check := status.Check; check != nil {
		line("Check", "%d documents checked, %d repaired, %d damaged", check.Documents, check.Repaired, check.Damaged)
		for _, text := range damageLines(check.Found) {
			line("", "%s", text)
		}
	}
	if len(library.Roots) == 0 {
		return text.String()
	}
	text.WriteString("\n")
	t := table{header: []string{"SOURCE", "DOCUMENTS", "SET", "SYNCED", "ADDED FROM"}, right: 1, style: a.style,
		width: a.io.columns()}
	for _, root := range library.Roots {
		synced := passage.Age(root.SyncedAt, a.now())
		t.rows = append(t.rows, []string{root.Source, fmt.Sprint(root.Documents), root.Set, synced, printable(root.Path)})
	}
	text.WriteString(t.String())
	text.WriteString(a.statusFiles(library))
	return text.String()
}

// statusFiles lists some of the files whose encoding was assumed, and of those that are skipped, in the words of add.
func (a *app) statusFiles(library jsonLibraryStatus) string {
	var text strings.Builder
	list := func(what string, total int, lines []string) {
		if total == 0 {
			return
		}
		text.WriteByte('\n')
		for _, line := range lines[:min(len(lines), skipsShown)] {
			text.WriteString(printable(line) + "\n")
		}
		if more := total - skipsShown; more > 0 {
			fmt.Fprintf(&text, "and %d more %s\n", more, what)
		}
	}
	var assumed, skipped []string
	for _, file := range library.Assumed {
		assumed = append(assumed, fmt.Sprintf("assumed %s: %s", file.Encoding, file.Path))
	}
	for _, file := range library.Skipped {
		skipped = append(skipped, fmt.Sprintf("skipped %s: %s", file.Path, file.Reason))
	}
	list("assumed encodings", library.AssumedFiles, assumed)
	list("skipped", library.SkippedFiles, skipped)
	return text.String()
}
