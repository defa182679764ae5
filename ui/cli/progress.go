package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
)

const (
	barEvery   = 100 * time.Millisecond // between two pictures of the bar
	lineEvery  = 5 * time.Second        // between two plain lines
	skipsShown = 20
)

// What a change did, in words.
const (
	verbAdded   = "added"
	verbRemoved = "removed"
	verbSynced  = "synced"
	verbWatched = "synced again" // prints only changes
	verbChecked = "checked"
	verbDryRun  = "stored" // nothing is
	verbMoved   = "moved"
)

// progress shows the events of a change to the library: as JSON lines on standard output, as a bar on a terminal, or as
// a plain line now and then. It collects what is printed at the end.
type progress struct {
	app     *app
	verb    string // verbAdded or another
	started time.Time
	json    bool
	bar     bool

	mu           sync.Mutex
	drawn        time.Time
	latest       map[string]wire.LibraryEvent // of each type
	lists        map[string]*eventList        // of the types that are listed; skipped files without those of kinds
	kinds        map[string]int               // files of each kind that is not read
	formats      []wire.LibraryEvent          // of a dry run
	damage       []jsonDamage
	skipped      int
	firstSkipped wire.LibraryEvent
	over         bool
	events       cutEvents
	err          error // of writing
}

// eventList has the first events of a type.
type eventList struct {
	first []wire.LibraryEvent
	total int
}

// listedEvent is a type of events that are listed at the end, with a line about each.
type listedEvent struct {
	kind, what string
	line       func(wire.LibraryEvent) string
}

func listedEvents() []listedEvent {
	return []listedEvent{{wire.LibraryTaken, "exports", takenLine}, {wire.LibrarySkipped, "skipped", skipLine},
		{wire.LibraryLeftOut, "parts left out", leftOutLine}, {wire.LibraryAssumed, "assumed encodings", assumedLine}}
}

func (a *app) newProgress(verb string) *progress {
	lists := map[string]*eventList{}
	for _, listed := range listedEvents() {
		lists[listed.kind] = &eventList{}
	}
	return &progress{app: a, verb: verb, started: a.now(), drawn: a.now(), json: a.flags.JSON,
		kinds: map[string]int{}, lists: lists, latest: map[string]wire.LibraryEvent{}, events: a.newCutEvents(),
		bar: a.io.ErrTTY && !a.io.isDumb() && !a.flags.Quiet && !a.flags.JSON}
}

// event takes one event.
func (p *progress) event(event wire.LibraryEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest[event.Type] = event
	switch event.Type {
	case wire.LibraryAssumed, wire.LibraryLeftOut, wire.LibraryTaken:
		p.list(event)
	case wire.LibraryFormat:
		p.formats = append(p.formats, event)
	case wire.LibraryDamaged, wire.LibraryRepaired:
		p.damage = append(p.damage, p.app.damageOf(event, true))
	case wire.LibrarySkipped:
		if p.firstSkipped.Type == "" {
			p.firstSkipped = event
		}
		if wire.IsGenerated(event.Reason) { // there may be many
			break
		}
		p.skipped++
		if kind, notRead := wire.KindNotRead(event.Reason); notRead {
			p.kinds[kind]++
		} else {
			p.list(event)
		}
	}
	if p.json {
		p.line(event)
		return
	}
	p.draw(event)
}

func (p *progress) list(event wire.LibraryEvent) {
	list := p.lists[event.Type]
	if list.total++; list.total <= skipsShown {
		list.first = append(list.first, event)
	}
}

func (p *progress) write(value any) {
	if p.err != nil {
		return
	}
	p.err = guard.Ended(func() { p.events.print(value, false) })
}

// writeLast prints the last event, which a limit never leaves out.
func (p *progress) writeLast(value any) {
	if p.err == nil {
		p.err = guard.Ended(func() {
			p.events.print(value, true)
			p.events.end()
		})
	}
}

func (p *progress) draw(event wire.LibraryEvent) {
	now := p.app.now()
	every := lineEvery
	if p.bar {
		every = barEvery
	}
	if p.lists[event.Type] != nil || event.Type == wire.LibraryFormat || now.Sub(p.drawn) < every {
		return
	}
	p.drawn = now
	if p.bar {
		_, _ = fmt.Fprint(p.app.err, clearLine+p.barText(now))
		return
	}
	p.app.say("%s", p.counts(now))
}

// counts is "120 of 456 files, 40 files/s, 12.3 MB", or after that "120 of 456 passages have vectors".
func (p *progress) counts(now time.Time) string {
	at := p.current()
	switch at.Type {
	case wire.LibraryEmbedding:
		return vectorsText(at)
	case wire.LibraryIndexing:
		return at.Counts()
	case wire.LibraryChecking:
		return fmt.Sprintf("%d of %d documents checked", at.Done, at.Total)
	case wire.LibraryCopying:
		return fmt.Sprintf("%s of %s copied", text.Number(at.Done), text.Number(at.Total))
	}
	rate, skipped := "", ""
	if elapsed := now.Sub(p.started).Seconds(); elapsed >= 1 && at.Done > 0 {
		rate = fmt.Sprintf("%.0f files/s", float64(at.Done)/elapsed)
	}
	if p.skipped > 0 {
		skipped = text.Number(p.skipped) + " skipped"
	}
	return text.Join(", ", at.Counts(), rate, at.Sizes(), skipped)
}

// current returns the latest event of the stage that runs.
func (p *progress) current() wire.LibraryEvent {
	at, begun := p.stored()
	switch vectors, indexing := p.latest[wire.LibraryEmbedding], p.latest[wire.LibraryIndexing]; {
	case indexing.Total > 0:
		return indexing
	case vectors.Total > 0:
		return vectors
	case !begun:
		return p.latest[wire.LibraryChecking]
	}
	return at
}

// stored returns the latest event about what is stored.
func (p *progress) stored() (at wire.LibraryEvent, begun bool) {
	kind := wire.LibraryProgress
	if p.verb == verbMoved {
		kind = wire.LibraryCopying
	}
	at, begun = p.latest[kind]
	return at, begun
}

// vectorsText is "120 of 456 passages have vectors".
func vectorsText(event wire.LibraryEvent) string {
	made := fmt.Sprintf("%s of %s have vectors", text.Number(event.Done), text.Count(event.Total, "passage"))
	if event.SecondsLeft > 0 && event.Reason == "" {
		made += ", about " + text.Left(event.SecondsLeft) + " left"
	}
	return made
}

// restOfVectors says who makes the vectors that are left.
func restOfVectors(seconds int, library string) string {
	rest := "The explorer, quarry serve and quarry mcp make the rest while they run, or now"
	if time.Duration(seconds)*time.Second > time.Hour {
		rest = "To make the rest"
	}
	return rest + ": quarry sync --meaning" + library
}

func (p *progress) barText(now time.Time) string {
	const barWidth = 24
	width := p.app.io.columns() - 1
	line, at := p.counts(now), p.current()
	if at.Total > 0 && width > barWidth+len(line)+4 {
		filled := int(barWidth * at.Fraction())
		line = p.app.errs().Success.Render(strings.Repeat("█", filled)) +
			p.app.errs().Muted.Render(strings.Repeat("░", barWidth-filled)) + " " + line
	}
	if room := width - ansi.StringWidth(line) - 2; room > 8 {
		path := printable(at.Path)
		line += "  " + p.app.errs().Muted.Render(ansi.TruncateLeft(path, max(0, ansi.StringWidth(path)-room+1), "…"))
	}
	return ansi.Truncate(line, width, "…")
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.bar {
		_, _ = fmt.Fprint(p.app.err, clearLine)
	}
}

// finish prints what was skipped and what changed. searched is the profile of the next search, if not empty.
func (p *progress) finish(done wire.LibraryEvent, searched string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.clear()
	if p.verb == verbWatched && done.Added+done.Updated+done.Removed+done.Damaged == 0 {
		return
	}
	if p.verb == verbMoved {
		p.finishMove(done)
		return
	}
	if p.json {
		p.writeLast(doneEvent{wire.LibraryDone, done.Added, done.Updated, done.Removed, done.Unchanged, done.Skipped,
			done.Repaired, done.Damaged, done.LeftOut, p.verb == verbDryRun, searched})
		guard.Check(p.err)
		return
	}
	for _, line := range slices.Concat(p.listLines(), damageLines(p.damage)) {
		p.app.say("%s", line)
	}
	if left := leftOutText(done.LeftOut); left != "" {
		p.app.say("%s", left)
	}
	vectors := p.latest[wire.LibraryEmbedding]
	switch reason := vectors.Reason; {
	case reason == "": // what is left follows
	case vectors.Done+vectors.Refused >= vectors.Total:
		p.app.say("%s; the model refuses the others, which only lexical search finds: %s", vectorsText(vectors),
			text.Sentence(reason))
	default:
		p.app.say("%s; only lexical search finds the others: %s When that is fixed: quarry sync --meaning%s",
			vectorsText(vectors), text.Sentence(reason), p.app.libraryFlag())
	}
	if vectors.Reason == "" && vectors.Done+vectors.Refused < vectors.Total {
		p.app.say("Search by meaning: %s. %s", vectorsText(vectors),
			restOfVectors(vectors.SecondsLeft, p.app.libraryFlag()))
	}
	if indexing := p.latest[wire.LibraryIndexing]; indexing.Reason != "" && indexing.Done < indexing.Total {
		p.app.say("Everything is stored, but %s not indexed yet: %s%s",
			text.Count(indexing.Total-indexing.Done, "change"), text.Sentence(indexing.Reason), indexedLater)
	}
	if p.verb == verbDryRun {
		p.app.print(p.dryRunText(done))
	} else {
		p.app.print(done.Outcome("added", "updated", "removed") + "\n")
	}
}

// began reports whether something is stored.
func (p *progress) began() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, _ := p.stored()
	return at.Done > 0
}

// indexedLater is what becomes of changes that are stored and not indexed.
const indexedLater = " A server, or the next command that uses the library, indexes the rest."

// stopped prints, once, how much is stored although the change did not end. It never blocks: the run may be about to
// end while printing an event blocks.
func (p *progress) stopped() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	p.clear()
	last, _ := p.stored()
	if p.verb == verbDryRun {
		last = wire.LibraryEvent{}
	}
	count, noun, what := last.Stored, "file", "stored"
	switch p.verb {
	case verbRemoved:
		count, what = last.Done, "removed"
	case verbMoved:
		count, noun, what = last.Done, "document", "copied"
	}
	if p.json {
		p.writeLast(stoppedEvent{lineStopped, count})
	}
	if p.current().Type == wire.LibraryIndexing {
		p.app.say("Stopped: everything is stored.%s", indexedLater)
		return
	}
	if last.Done == 0 {
		p.app.say("Stopped; nothing was %s.", p.verb)
		return
	}
	p.app.say("Stopped: %s %s; run the same command to continue.", text.Count(count, noun), what)
}

// listLines lists the events that are listed. Before files that were skipped there is a line about kinds of files.
func (p *progress) listLines() (lines []string) {
	for _, listed := range listedEvents() {
		if kinds := kindsText(p.kinds); kinds != "" && listed.kind == wire.LibrarySkipped {
			lines = append(lines, kinds)
		}
		list := p.lists[listed.kind]
		lines = append(lines, listLines(listed.what+asJSON, list.total, list.first, listed.line)...)
	}
	return lines
}

const asJSON = "; --json lists all of them"

// listLines lists the first items of a kind, and how many more there are.
func listLines[T any](kind string, total int, first []T, line func(T) string) (lines []string) {
	lines = exslices.CastFunc(first, line)
	if more := total - len(first); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more %s", more, kind))
	}
	return lines
}

func skipLine(event wire.LibraryEvent) string { return "skipped " + event.Path + ": " + event.Reason }

func leftOutLine(event wire.LibraryEvent) string {
	return "left out of " + event.Path + ": " + event.Reason
}

func takenLine(event wire.LibraryEvent) string {
	return "taken for a " + event.Kind + ": " + event.Path
}

func assumedLine(event wire.LibraryEvent) string {
	return "assumed " + event.Encoding + ": " + event.Path
}

// kindsText is "82 skipped (unsupported types): 60 .svg, 22 .png", the most frequent first.
func kindsText(kinds map[string]int) string {
	total, list := text.Tally(kinds)
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d skipped (unsupported types): %s", total, list)
}

const (
	damageShown  = 20   // on a terminal
	damageListed = 1000 // in an answer
)

// damageOf describes an event; synced: the files were read again, and that did not help.
func (a *app) damageOf(event wire.LibraryEvent, synced bool) jsonDamage {
	d := jsonDamage{Type: event.Type, ID: event.ID, Path: event.Path, Reason: event.Reason}
	if event.Type == wire.LibraryDamaged {
		d.Hint = a.damageHint(d, synced)
	}
	return d
}

// damageHint says how to get a damaged document back.
func (a *app) damageHint(d jsonDamage, synced bool) string {
	again, remove := "quarry sync --check"+a.libraryFlag(), "quarry remove "+config.ShellQuote(d.ID)+a.libraryFlag()
	_, err := os.Lstat(d.Path)
	switch {
	case d.ID == "" && synced:
		return "Check the permissions of the library's folder, then run: " + again
	case d.ID == "" || d.Path != "" && err == nil && !synced:
		return "Run: " + again
	case d.Path != "" && err == nil:
		return "Add the file again: quarry add " + config.ShellQuote(d.Path) + a.libraryFlag()
	case d.Path != "":
		return fmt.Sprintf("Restore %s and run: %s; or remove it: %s", d.Path, again, remove)
	default:
		return "Store the document again, or remove it: " + remove
	}
}

// damageLines lists what is damaged for a person.
func damageLines(found []jsonDamage) (lines []string) {
	for _, d := range found[:min(len(found), damageShown)] {
		lines = append(lines, fmt.Sprintf("%s %s: %s", d.Type, cmp.Or(d.Path, d.ID, "library"), d.Reason))
		if d.Hint != "" {
			lines = append(lines, "  "+d.Hint)
		}
	}
	if more := len(found) - damageShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --json lists them", more))
	}
	return lines
}

// damageFailure is the error for what is still damaged; nil for nothing.
func damageFailure(found []jsonDamage) error {
	isRepaired := func(d jsonDamage) bool { return d.Type != wire.LibraryDamaged }
	damaged := slices.DeleteFunc(slices.Clone(found), isRepaired)
	switch len(damaged) {
	case 0:
		return nil
	case 1:
		return fail(ExitGeneral, damaged[0].Hint, "the library is damaged: 1 part could not be restored")
	}
	return fail(ExitGeneral, "Follow the hints above; the first is: "+damaged[0].Hint,
		"the library is damaged: %d parts could not be restored", len(damaged))
}

// checkLibrary checks the library that a session works on. What is derived is repaired, unless nothing may be changed.
// What it finds before an error is in check, too.
func (a *app) checkLibrary(ctx context.Context, c *client.Client, check *jsonCheck) {
	p := a.newProgress(verbChecked)
	p.json = false // the answer is the JSON
	done, err := c.ChangeLibrary(ctx, wire.CheckRequest{Repair: !a.program.ReadOnly},
		func(event wire.LibraryEvent) {
			switch event.Type {
			case wire.LibraryChecking:
				check.Documents = event.Done
			case wire.LibraryDamaged, wire.LibraryRepaired:
				if len(check.Found) < damageListed {
					check.Found = append(check.Found, a.damageOf(event, false))
				}
			}
			p.event(event)
		})
	p.clear()
	check.Repaired, check.Damaged = done.Repaired, done.Damaged
	guard.Check(err)
}
