package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// libraryChange returns what to ask of a library that is open.
type libraryChange func(context.Context, *client.Client) wire.LibraryRequest

// asking returns the change that a request makes.
func asking(request wire.LibraryRequest) libraryChange {
	return func(context.Context, *client.Client) wire.LibraryRequest { return request }
}

// changeLibrary opens the library of this machine, runs a change, and shows its progress and its end. It returns the
// end, and the first file that was skipped, if any.
func (a *app) changeLibrary(ctx context.Context, verb string, create bool,
	change libraryChange) (done, skipped wire.LibraryEvent) {
	a.localOnly()
	a.noteOtherTarget()
	a.with(ctx, a.openLibrary(create), func(ctx context.Context, c *client.Client) {
		guard.Check(a.host().MayWrite(a.flags.Library))
		p := a.newProgress(verb)
		onAbandon := p.stopped
		a.onAbandon.Store(&onAbandon)
		var err error
		if done, err = c.ChangeLibrary(ctx, change(ctx, c), p.event); err != nil {
			if p.began() || client.KindOf(err) == client.Canceled {
				p.stopped()
			}
			guard.Abort(err)
		}
		var next, label string
		if verb == verbAdded {
			next, label = a.nextSearch()
		}
		p.finish(done, label)
		if next != "" && !p.json && done.Added+done.Updated+done.Unchanged > 0 {
			a.say("%s", next)
		}
		guard.Check(damageFailure(p.damage))
		skipped = p.firstSkipped
	})
	return done, skipped
}

// localOnly refuses flags that name another place than this machine's library.
func (a *app) localOnly() {
	if a.flags.Server == "" && a.flags.Profile == "" && !a.flags.Sample {
		return
	}
	refuse("Omit --server, --profile and --sample; use --library DIR for another library.",
		"`%s` works only on a local library", a.commandName())
}

// noteOtherTarget says so when a command works somewhere else than searches go.
func (a *app) noteOtherTarget() {
	folder := a.libraryFolder()
	choice, err := a.decideTarget(target.Request{Library: a.flags.Library})
	if err == nil && (choice.Kind == target.KindRemote || choice.Kind == target.KindSlack) {
		a.note("this command uses the library in %s; searches go to %s (%s)", folder, choice.Describe(), choice.Reason)
	}
}

// nextSearch says where the next search goes, after something was added, in words and as answers name it.
func (a *app) nextSearch() (words, label string) {
	folder := a.libraryFolder()
	choice, err := a.decideTarget(target.Request{Terminal: a.io.interactive()})
	switch {
	case err != nil:
		return fmt.Sprintf("Search it: quarry search --library %s \"…\"", config.ShellQuote(folder)), ""
	case choice.Kind == target.KindLibrary && filepath.Clean(choice.LibraryDir) == filepath.Clean(folder):
		return "Searches now go to this library: quarry search \"…\"", choice.Profile
	}
	return fmt.Sprintf("Searches go to %s (%s). To search this library: quarry search --library %s \"…\"",
		choice.Describe(), choice.Reason, config.ShellQuote(folder)), choice.Profile
}

// absolute turns arguments into absolute paths; addresses stay as they are. An empty one is a mistake: it would mean
// the folder that one is in.
func (a *app) absolute(paths []string) (found []string) {
	notEmpty("Use . for the current folder.", "an argument is empty", paths)
	for _, path := range paths {
		if !wire.IsURL(path) {
			full, err := filepath.Abs(a.io.path(path))
			guard.While("find "+path, err)
			path = full
		}
		found = append(found, path)
	}
	return found
}

// notEmpty refuses an empty argument.
func notEmpty(do, what string, arguments []string) {
	if slices.ContainsFunc(arguments, func(argument string) bool { return strings.TrimSpace(argument) == "" }) {
		refuse(do, "%s", what)
	}
}

// libraryCommands returns the commands that work on a library of this machine.
func (a *app) libraryCommands() []*cobra.Command {
	return []*cobra.Command{a.addCommand(), a.removeCommand(), a.syncCommand(), a.migrateCommand(), a.statusCommand(),
		a.serveCommand(), a.adminCommand()}
}

// changesLibrary are the traits of a command that changes the library.
func (a *app) changesLibrary(arguments cobra.CompletionFunc, json func() []*jsonschema.Schema) traits {
	return traits{class: changes, arguments: arguments, json: json, open: a.openLibrary(false)}
}

func (a *app) addCommand() *cobra.Command {
	var request wire.AddRequest
	command := a.newCommand("add PATH|URL…", "Add files and pages to the local library",
		a.changesLibrary(files, changeSchemas),
		func(ctx context.Context, arguments []string) {
			if slices.Contains(arguments, "-") {
				a.readDocument(arguments, &request)
			} else if request.Title != "" {
				refuse("Example: quarry add - --title \"Release notes\" < notes.md",
					"--title is only for documents from standard input")
			} else {
				request.Paths = a.addPaths(arguments)
			}
			if request.As != "" {
				request.As = addableSource(request.As)
			}
			if request.Name != "" && len(arguments) > 1 {
				refuse("Add the paths one by one.", "--name is the short name of one path")
			}
			a.addToLibrary(ctx, request)
		})
	flags := command.Flags()
	flags.StringVar(&request.As, "as", "", "`SOURCE` of the documents, like slack (default: detected)")
	flags.StringVar(&request.Set, "set", "", "add the documents to this document set (`NAME`)")
	flags.StringVar(&request.Name, "name", "",
		"short `NAME` of PATH in citations (default: its repository's or folder's)")
	flags.StringArrayVar(&request.Include, "include", nil,
		"also read hidden, secret and generated files that match `GLOB` (repeatable)")
	flags.StringVar(&request.Title, "title", "", "`TITLE` of the document from standard input (-)")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print what would change, and store nothing")
	return command
}

// readDocument reads a document from standard input.
func (a *app) readDocument(arguments []string, request *wire.AddRequest) {
	const example = "Example: quarry add - --title \"Release notes\" < notes.md"
	switch {
	case len(arguments) > 1:
		refuse("Add paths with another command.", "- and paths exclude each other")
	case strings.TrimSpace(request.Title) == "":
		refuse(example, "missing --title of the document from standard input")
	case a.io.In == nil:
		refuse(example, "there is no standard input")
	}
	var err error
	request.Content, err = io.ReadAll(io.LimitReader(a.io.In, wire.MaxContent+1))
	guard.While("read standard input", err)
	if len(request.Content) > wire.MaxContent {
		refuse("Save it to a file and add that: quarry add FILE", "standard input is larger than %d MB",
			wire.MaxContent>>20)
	}
	request.Title = text.OneLine(request.Title)
}

// addPaths checks that every path is there, before anything is read.
func (a *app) addPaths(arguments []string) []string {
	if len(arguments) == 0 {
		refuse("Example: quarry add ~/notes", "missing argument PATH|URL")
	}
	paths := a.absolute(arguments)
	for i, path := range paths {
		if wire.IsURL(path) {
			checkAddress(path)
			continue
		}
		if _, err := os.Lstat(path); err != nil {
			reason := err
			if detail, ok := errors.AsType[*os.PathError](err); ok {
				reason = detail.Err
			}
			remedy := "Check the spelling of the path."
			if strings.Contains(arguments[i], "://") {
				remedy = "Give a file, a folder, or an address with http:// or https://."
			}
			refuse(remedy, "cannot add %s: %w", arguments[i], reason)
		}
	}
	return paths
}

// checkAddress refuses what is no address of a page. It does not repeat what may be a password.
func checkAddress(address string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		refuse("Example: quarry add https://docs.acme.example/sitemap.xml", "an argument is not a valid address")
	case u.User != nil:
		refuse("Leave them out; quarry reads public pages only.", "an address has a user name or password")
	}
}

// addToLibrary adds paths. Files that were named and of which none can be read are a failure, unlike those that a
// folder happens to hold.
func (a *app) addToLibrary(ctx context.Context, request wire.AddRequest) {
	verb := verbAdded
	if request.DryRun {
		verb = verbDryRun
	}
	done, skipped := a.changeLibrary(ctx, verb, true, asking(request))
	if skipped.Type == "" || done.Added+done.Updated+done.Unchanged > 0 || !onlyFiles(request.Paths) {
		return
	}
	do := "See the supported files: quarry add --help"
	switch {
	case wire.IsURL(skipped.Path):
		do = "Open the address in a browser to check it."
	case wire.IsSecret(skipped.Reason):
		name := config.ShellQuote(filepath.Base(skipped.Path))
		do = "To read it nevertheless: quarry add PATH --include " + name + a.libraryFlag()
	}
	guard.Abort(fail(ExitGeneral, do, "cannot add %s: %s", skipped.Path, skipped.Reason))
}

// onlyFiles reports whether no path is a folder.
func onlyFiles(paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	})
}

func (a *app) removeCommand() *cobra.Command {
	var set, source string
	command := a.newCommand("remove PATH|ID…", "Remove documents from the local library",
		a.changesLibrary(files, changeSchemas),
		func(ctx context.Context, arguments []string) {
			if len(arguments) == 0 && set == "" && source == "" {
				refuse("Give a path, a document id, --set NAME or --source SOURCE.", "missing argument PATH|ID")
			}
			notEmpty("Use . for the current folder.", "an argument is empty", arguments)
			if len(arguments) > 0 && set+source != "" || set != "" && source != "" {
				refuse("Use one at a time: each removes all of its documents.",
					"PATH|ID, --set and --source exclude each other")
			}
			a.changeLibrary(ctx, verbRemoved, false,
				func(ctx context.Context, c *client.Client) wire.LibraryRequest {
					value, _ := field.Of(field.Source).Read(source)
					return wire.RemoveRequest{Refs: a.removeRefs(ctx, c, arguments), Source: value, Set: set}
				})
		})
	command.Flags().StringVar(&set, "set", "", "remove all documents of this document set (`NAME`)")
	command.Flags().StringVar(&source, "source", "", "remove all documents of this source (`SOURCE`)")
	return command
}

// removeRefs makes paths absolute and leaves document ids as they are. What neither exists as a path nor begins with a
// scheme is an id when the library holds a document of that id, else the path of something that is gone.
func (a *app) removeRefs(ctx context.Context, c *client.Client, arguments []string) []string {
	refs := []string{}
	for _, argument := range arguments {
		full, err := filepath.Abs(a.io.path(argument))
		if err != nil || a.isDocumentID(ctx, c, argument) {
			full = argument
		}
		refs = append(refs, full)
	}
	return refs
}

// isDocumentID reports whether name is no path and begins with a scheme, or is the id of a document of the library. One
// letter is a drive.
func (a *app) isDocumentID(ctx context.Context, c *client.Client, name string) bool {
	if _, err := os.Lstat(a.io.path(name)); err == nil {
		return false
	}
	if regexp.MustCompile(`^[A-Za-z0-9+._-]{2,}:`).MatchString(name) {
		return true
	}
	_, err := c.DocumentSize(ctx, name)
	failure, ok := errors.AsType[*client.Error](err)
	return err == nil || ok && failure.Code == wire.CodeDocumentDamaged
}

func (a *app) syncCommand() *cobra.Command {
	options := struct {
		Check   bool `flag:"check" usage:"check the whole library for damage, not only a part of it"`
		Meaning bool `flag:"meaning" usage:"also make all vectors for search by meaning, however long it takes"`
		Watch   bool `flag:"watch" usage:"keep running and sync after every change"`
	}{}
	is := a.changesLibrary(files, changeSchemas)
	command := a.newCommand("sync [PATH…]", "Update the local library from its files",
		is, func(ctx context.Context, arguments []string) {
			paths := a.absolute(arguments)
			sync := func(verb string) {
				request := wire.SyncRequest{Paths: paths, Meaning: options.Meaning}
				switch {
				case verb == verbWatched:
					request.Check, request.FilesOnly = wire.CheckNone, true
				case options.Check:
					request.Check = wire.CheckFull
				}
				a.changeLibrary(ctx, verb, false, asking(request))
			}
			if options.Watch {
				a.syncForever(ctx, paths, sync)
			} else {
				sync(verbSynced)
			}
		})
	bindFlags(command.Flags(), &options)
	return command
}

// syncForever synchronises, and again whenever something changes below what was added, until ctx ends.
func (a *app) syncForever(ctx context.Context, paths []string, sync func(verb string)) {
	roots := paths
	if len(roots) == 0 {
		roots = a.libraryRoots(ctx)
	}
	w, err := watchFolders(roots)
	if err != nil {
		guard.Abort(fail(ExitGeneral,
			"Watch fewer folders (quarry sync --watch PATH), or run quarry sync periodically", "%w", err))
	}
	defer w.close()
	for verb := verbSynced; ; verb = verbWatched {
		sync(verb)
		if verb == verbSynced {
			a.say("Watching %s. Stop with Ctrl-C.", text.Count(w.count, "folder"))
		}
		a.waitForChange(ctx, w)
	}
}

// waitForChange has the library open meanwhile, so that vectors are made in the background.
func (a *app) waitForChange(ctx context.Context, w *folderWatch) {
	a.makeVectors()
	a.with(ctx, a.openLibrary(false),
		func(ctx context.Context, _ *client.Client) { guard.Check(w.wait(ctx, quietPeriod)) })
}

// libraryRoots lists what was added to the local library.
func (a *app) libraryRoots(ctx context.Context) (roots []string) {
	a.with(ctx, a.openLibrary(false), func(ctx context.Context, c *client.Client) {
		roots = exslices.CastFunc(guard.Must(c.LibraryStatus(ctx)).Roots,
			func(root wire.LibraryRoot) string { return root.Path })
	})
	return roots
}
