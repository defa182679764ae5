package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// statusReport is what status prints.
type statusReport struct {
	choice    target.Choice
	decideErr error
	reason    string // of decideErr, in words
	library   libraryReport
	check     *jsonCheck // with --check
}

type libraryReport struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
	wire.LibraryStatus
	Error string `json:"error,omitempty" jsonschema:"why the library cannot be read"`
}

func (a *app) statusCommand() *cobra.Command {
	var check bool
	command := a.newCommand("status", "Show where searches go and what the local library contains",
		traits{class: reads, json: prints(statusOutput{})},
		func(ctx context.Context, _ []string) { a.status(ctx, check) })
	command.Flags().BoolVar(&check, "check", false, "check the whole library for damage and repair the index")
	return command
}

// status prints what can be known, also when something cannot: then the exit code is that of the reason.
func (a *app) status(ctx context.Context, check bool) {
	var status statusReport
	status.choice, status.decideErr = guard.Result(func() target.Choice { return a.decide(a.request()) })
	if status.decideErr != nil {
		status.reason = a.reasonOf(status.decideErr)
	}
	var libraryErr error
	if status.library, status.check, libraryErr = a.libraryStatus(ctx, check); libraryErr != nil {
		if ctx.Err() != nil {
			guard.Abort(libraryErr)
		}
		status.library.Error = a.reasonOf(libraryErr)
	}
	if a.wantsJSON() {
		a.printAnswer("status", status.answer())
	} else {
		a.print(a.statusText(status))
	}
	guard.Check(libraryErr)
	if status.check != nil && status.check.Damaged > 0 {
		guard.Check(damageFailure(status.check.Found))
	} else if a.request().Explicit() {
		guard.Check(status.decideErr)
	}
}

// reasonOf is what an error says to a person.
func (a *app) reasonOf(err error) string {
	if failure := a.explain(err); failure != nil {
		return text.OneLine(failure.What)
	}
	return text.OneLine(err.Error())
}

// libraryStatus looks at the library without making one, and checks it first if asked to.
func (a *app) libraryStatus(ctx context.Context, check bool) (status libraryReport, checked *jsonCheck, err error) {
	status = libraryReport{Path: a.libraryFolder()}
	err = guard.Ended(func() {
		a.with(ctx, a.openLibrary(false), func(ctx context.Context, c *client.Client) {
			if check {
				checked = &jsonCheck{Found: []jsonDamage{}}
				a.checkLibrary(ctx, c, checked)
			}
			status.LibraryStatus, status.Exists = *guard.Must(c.LibraryStatus(ctx)), true
		})
	})
	if errors.Is(err, target.ErrNoLibrary) {
		err = nil
	}
	status.Assumed, status.Skipped = firstOf(status.Assumed, wire.MaxStatusFiles),
		firstOf(status.Skipped, wire.MaxStatusFiles)
	status.Taken, status.SkippedTypes = firstOf(status.Taken, wire.MaxStatusFiles),
		firstOf(status.SkippedTypes, len(status.SkippedTypes))
	return status, checked, err
}

// statusOutput is the JSON of status.
type statusOutput struct {
	Target      *statusTarget `json:"target" jsonschema:"where searches go; null if nothing is configured"`
	TargetError string        `json:"target_error,omitempty" jsonschema:"why no target can be chosen"`
	Library     libraryReport `json:"library" jsonschema:"the library of this machine"`
	Check       *jsonCheck    `json:"check,omitempty" jsonschema:"with --check"`
	Searched    []string      `json:"searched" jsonschema:"profile of the target"`
	ending
}

type statusTarget struct {
	Kind       target.Kind     `json:"kind" jsonschema:"remote, slack, library or sample"`
	Profile    string          `json:"profile"`
	ServerURL  string          `json:"server_url,omitempty"`
	Library    string          `json:"library,omitempty" jsonschema:"folder"`
	Rule       int             `json:"rule" jsonschema:"number of the rule that chose the target"`
	Reason     string          `json:"reason"`
	ConfigFrom string          `json:"config_from,omitempty" jsonschema:"file or environment"`
	Origins    []target.Origin `json:"origins" jsonschema:"where each value comes from"`
}

func (s statusReport) answer() answer {
	library, sizes := s.library, []int{len(s.library.Roots), len(s.library.Assumed), len(s.library.Skipped)}
	if s.check != nil {
		sizes = append(sizes, len(s.check.Found))
	}
	return answer{sizes: sizes, value: func(c cut) any {
		choice := s.choice
		output := statusOutput{TargetError: s.reason, Library: library, Check: s.check,
			ending: ending{schemaVersion, c.note}}
		output.Library.Roots = firstOf(library.Roots, c.shown)
		output.Library.Assumed, output.Library.Skipped = firstOf(library.Assumed, c.shown),
			firstOf(library.Skipped, c.shown)
		if s.check != nil {
			check := *s.check
			check.Found = firstOf(check.Found, c.shown)
			output.Check = &check
		}
		if s.decideErr == nil {
			output.Searched = []string{choice.Profile}
			output.Target = &statusTarget{choice.Kind, choice.Profile, choice.ServerURL, choice.LibraryDir, choice.Rule,
				choice.Reason, choice.ConfigFrom(), choice.Origin}
		}
		return output
	}}
}

func (a *app) statusText(status statusReport) string {
	var b strings.Builder
	line := func(label, format string, arguments ...any) {
		value := printable(fmt.Sprintf(format, arguments...))
		fmt.Fprintf(&b, "%s %s\n", a.style.Muted.Render(fmt.Sprintf("%-14s", label)), value)
	}
	if status.decideErr != nil {
		line("Searches go to", "no target")
		if status.reason == status.library.Error {
			return b.String() + "\n"
		}
		line("Reason", "%s", status.reason)
		if failure := a.explain(status.decideErr); failure != nil {
			line("Hint", "%s", text.Sentence(failure.Do))
		}
	} else {
		line("Searches go to", "%s", status.choice.Describe())
		line("Reason", "%s", status.choice.Reason)
		line("Profile", "%s", status.choice.Profile)
		for _, origin := range status.choice.Origin {
			line("", "%s", strings.Join(strings.Fields(origin.Field+" "+origin.Value), " ")+" from "+origin.From)
		}
	}
	b.WriteString("\n")
	library := status.library
	line("Local library", "%s", library.Path)
	if library.Error != "" {
		return b.String() // the error follows
	}
	if !library.Exists {
		line("", "empty (quarry add PATH%s)", a.libraryFlag())
		return b.String()
	}
	line("Documents", "%d, in %s, %s on disk", library.Documents, text.Count(library.Chunks, "passage"),
		text.Size(library.Bytes))
	if library.Engine != "" {
		line("Engine", "%s", library.Engine)
		if library.Documents == 0 {
			line("", "does not search the library's files: copy them with quarry migrate, or unset index.engine")
		}
		for problem := range strings.Lines(library.EngineProblem) {
			line("", "%s", strings.TrimSpace(problem))
		}
	}
	if library.Database != "" {
		line("People, chats", "%s", library.Database)
	}
	if meaning := library.Meaning; meaning.State != "" {
		line("Meaning", "%s", meaningText(meaning, a.libraryFlag()))
	}
	if library.VectorModel != "" {
		line("Vectors", "%d of %s, by %s", library.Vectors, text.Count(library.Chunks, "passage"), library.VectorModel)
		if library.VectorsRefused > 0 {
			line("", "the model refused %s (quarry serve and sync log why); only lexical search finds them",
				text.Count(library.VectorsRefused, "passage"))
		}
	}
	if library.UnindexedDocuments > 0 {
		line("Not indexed", "the engine rejected %s, tried again when they change or by quarry sync --check",
			text.Count(library.UnindexedDocuments, "document"))
		for _, d := range firstOf(library.Unindexed, skipsShown) {
			line("", "%s: %s", d.ID, d.Reason)
		}
	}
	if check := status.check; check != nil {
		line("Check", "%d documents checked, %d repaired, %d damaged", check.Documents, check.Repaired, check.Damaged)
		for _, text := range damageLines(check.Found) {
			line("", "%s", text)
		}
	}
	if len(library.Roots) == 0 {
		return b.String()
	}
	return b.String() + "\n" + a.rootsText(library.Roots) + fileLists(library)
}

// rootsText lists what was added, and why parts of it are missing.
func (a *app) rootsText(roots []wire.LibraryRoot) string {
	t := table{header: []string{"NAME", "SOURCE", "DOCUMENTS", "SIZE", "SKIPPED", "SET", "SYNCED", "ADDED FROM"},
		right: 2, optional: 5, style: a.style, width: a.io.columns()}
	var why strings.Builder
	for _, root := range roots {
		t.rows = append(t.rows, []string{root.Name, root.Source, fmt.Sprint(root.Documents), text.Size(root.Bytes),
			fmt.Sprint(root.Skipped), root.Set, passage.Age(root.SyncedAt, a.now()), printable(root.Path)})
		if root.Problem != "" {
			why.WriteString(printable("not synced: "+root.Path+": "+root.Problem) + "\n")
		}
		if root.Skipped > skipsShown {
			why.WriteString(printable("skipped in "+root.Path+":") + "\n")
			for _, r := range root.Reasons {
				why.WriteString(printable(fmt.Sprintf("%6d  %s", r.Files, r.Reason)) + "\n")
			}
		}
	}
	t.dropEmpty()
	if why.Len() > 0 {
		return t.String() + "\n" + why.String()
	}
	return t.String()
}

// fileLists lists the exports, the assumed encodings and the skipped files.
func fileLists(library libraryReport) string {
	var b strings.Builder
	skipped := listLines("skipped", library.SkippedFiles,
		firstOf(library.Skipped, skipsShown), func(file wire.SkippedFile) string {
			return skipLine(wire.LibraryEvent{Path: file.Path, Reason: file.Reason})
		})
	types := map[string]int{}
	for _, kind := range library.SkippedTypes {
		types[kind.Type] = kind.Files
	}
	skipped = append(skipped, kindsText(types), leftOutText(library.LeftOut))
	assumed := listLines("assumed encodings", library.AssumedFiles,
		firstOf(library.Assumed, skipsShown), func(file wire.AssumedFile) string {
			return assumedLine(wire.LibraryEvent{Path: file.Path, Encoding: file.Encoding})
		})
	taken := listLines("exports", library.TakenFolders,
		firstOf(library.Taken, skipsShown), func(folder wire.TakenFolder) string {
			return takenLine(wire.LibraryEvent{Path: folder.Path, Kind: folder.Kind})
		})
	for _, lines := range [][]string{taken, assumed, skipped} {
		if list := text.Join("\n", exslices.CastFunc(lines, printable)...); list != "" {
			b.WriteString("\n" + list + "\n")
		}
	}
	return b.String()
}

// meaningText is "62 % of 4,310 passages, 4 min left".
func meaningText(m wire.Meaning, library string) string {
	switch m.State {
	case wire.MeaningOff:
		return "off"
	case wire.MeaningComplete:
		return "complete, " + text.Count(m.Total, "passage") + " by " + m.Model
	}
	made := fmt.Sprintf("%d %% of %s", 100*m.Done/max(1, m.Total), text.Count(m.Total, "passage"))
	if m.SecondsLeft > 0 {
		made += ", " + text.Left(m.SecondsLeft) + " left"
	}
	if m.State == wire.MeaningRunning {
		return made
	}
	return made + ". " + restOfVectors(m.SecondsLeft, library)
}
