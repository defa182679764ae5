package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
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
	verbSynced  = "synchronised"
	verbWatched = "synchronised again" // tells only what changed
	verbChecked = "checked"
)

// progress shows the events of a change to the library: as JSON lines on standard output, as a bar on a terminal, or as
// a plain line now and then. It remembers what there is to tell at the end.
type progress struct {
	app     *app
	verb    string // verbAdded or another
	started time.Time
	json    bool
	bar     bool

	mu      sync.Mutex
	drawn   time.Time
	last    wire.LibraryEvent   // the latest of type progress
	vectors wire.LibraryEvent   // the latest of type embedding
	skips   []wire.LibraryEvent // without those of kinds that are not read
	assumed []wire.LibraryEvent // the first of them
	guessed int                 // files whose encoding was assumed
	kinds   map[string]int      // files of each such kind
	checked wire.LibraryEvent   // the latest of type checking
	damage  []jsonDamage
	skipped int
	over    bool
	err     error // of writing
}

func (a *app) newProgress(verb string) *progress {
	return &progress{app: a, verb: verb, started: a.now(), drawn: a.now(), json: a.flags.json, kinds: map[string]int{},
		bar: a.io.ErrTTY && !a.io.isDumb() && !a.flags.quiet && !a.flags.json}
}

// event takes one event.
func (p *progress) event(event wire.LibraryEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch event.Type {
	case wire.LibraryProgress:
		p.last = event
	case wire.LibraryEmbedding:
		p.vectors = event
	case wire.LibraryAssumed:
		if p.guessed++; p.guessed <= skipsShown {
			p.assumed = append(p.assumed, event)
		}
	case wire.LibraryChecking:
		p.checked = event
	case wire.LibraryDamaged, wire.LibraryRepaired:
		p.damage = append(p.damage, p.app.damageOf(event, true))
	case wire.LibrarySkipped:
		p.skipped++
		if kind, notRead := wire.KindNotRead(event.Reason); notRead {
			p.kinds[kind]++
		} else if len(p.skips) < skipsShown {
			p.skips = append(p.skips, event)
		}
	}
	if p.json {
		p.line(event)
		return
	}
	p.draw(event)
}

// Lines of NDJSON, version 1: {"type":"progress","done","total","bytes","path"}, {"type":"skipped","path","reason"},
// {"type":"assumed","path","encoding"},
// {"type":"embedding","done","total"} with passages that have vectors, "refused" with those that the model does not take,
// and "reason" for that or where it stopped early, and last {"type":"done","added","updated","removed","unchanged","skipped","searches_go_to"}, where the latter is what
// "searched" of the next search says, or {"type":"stopped","done"} with the number of files that are stored.
type (
	jsonProgress struct {
		Type  string `json:"type"`
		Done  int    `json:"done"`
		Total int    `json:"total"`
		Bytes int64  `json:"bytes"`
		Path  string `json:"path"`
	}
	jsonSkipped struct {
		Type   string `json:"type"`
		Path   string `json:"path"`
		Reason string `json:"reason"`
	}
	jsonAssumed struct {
		Type     string `json:"type"`
		Path     string `json:"path"`
		Encoding string `json:"encoding"`
	}
	jsonEmbedding struct {
		Type    string `json:"type"`
		Done    int    `json:"done"`
		Total   int    `json:"total"`
		Refused int    `json:"refused,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}
	jsonChecking struct {
		Type  string `json:"type"`
		Done  int    `json:"done"`
		Total int    `json:"total"`
	}
	jsonStopped struct {
		Type string `json:"type"`
		Done int    `json:"done"`
	}
	jsonDone struct {
		Type      string `json:"type"`
		Added     int    `json:"added"`
		Updated   int    `json:"updated"`
		Removed   int    `json:"removed"`
		Unchanged int    `json:"unchanged"`
		Skipped   int    `json:"skipped"`
		Repaired  int    `json:"repaired,omitempty"`
		Damaged   int    `json:"damaged,omitempty"`
		Searched  string `json:"searches_go_to,omitempty"`
	}
)

func (p *progress) line(event wire.LibraryEvent) {
	var value any
	switch event.Type {
	case wire.LibraryProgress:
		value = jsonProgress{event.Type, event.Done, event.Total, event.Bytes, event.Path}
	case wire.LibrarySkipped:
		value = jsonSkipped{event.Type, event.Path, event.Reason}
	case wire.LibraryAssumed:
		value = jsonAssumed{event.Type, event.Path, event.Encoding}
	case wire.LibraryChecking:
		value = jsonChecking{event.Type, event.Done, event.Total}
	case wire.LibraryDamaged, wire.LibraryRepaired:
		value = p.app.damageOf(event, true)
	case wire.LibraryEmbedding:
		value = jsonEmbedding{event.Type, event.Done, event.Total, event.Refused, event.Reason}
	default:
		return
	}
	p.write(value)
}

func (p *progress) write(value any) {
	if p.err != nil {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		_, err = p.app.out.Write(append(text, '\n'))
	}
	p.err = err
}

func (p *progress) draw(event wire.LibraryEvent) {
	now := p.app.now()
	every := lineEvery
	if p.bar {
		every = barEvery
	}
	if event.Type == wire.LibrarySkipped || event.Type == wire.LibraryAssumed || now.Sub(p.drawn) < every {
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
	if p.vectors.Total > 0 {
		return vectorsText(p.vectors)
	}
	if p.last.Type == "" && p.checked.Type != "" {
		return fmt.Sprintf("%d of %d documents checked", p.checked.Done, p.checked.Total)
	}
	files := fmt.Sprintf("%d files", p.last.Done)
	if p.last.Total > 0 {
		files = fmt.Sprintf("%d of %d files", p.last.Done, p.last.Total)
	}
	parts := []string{files}
	if elapsed := now.Sub(p.started).Seconds(); elapsed >= 1 {
		parts = append(parts, fmt.Sprintf("%.0f files/s", float64(p.last.Done)/elapsed))
	}
	parts = append(parts, friendlyBytes(p.last.Bytes))
	if p.skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", p.skipped))
	}
	return strings.Join(parts, ", ")
}

// vectorsText is "120 of 456 passages have vectors".
func vectorsText(event wire.LibraryEvent) string {
	return fmt.Sprintf("%d of %d passages have vectors", event.Done, event.Total)
}

func (p *progress) barText(now time.Time) string {
	const barWidth = 24
	width := p.app.io.columns() - 1
	text := p.counts(now)
	at := p.last
	if p.vectors.Total > 0 {
		at = p.vectors
	} else if p.last.Type == "" {
		at = p.checked
	}
	if at.Total > 0 && width > barWidth+len(text)+4 {
		filled := min(barWidth, barWidth*at.Done/at.Total)
		bar := p.app.errs().Success.Render(strings.Repeat("█", filled)) +
			p.app.errs().Muted.Render(strings.Repeat("░", barWidth-filled))
		text = bar + " " + text
	}
	if room := width - ansi.StringWidth(text) - 2; room > 8 {
		text += "  " + p.app.errs().Muted.Render(ansi.TruncateLeft(printable(at.Path),
			max(0, ansi.StringWidth(printable(at.Path))-room+1), "…"))
	}
	return ansi.Truncate(text, width, "…")
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.bar {
		_, _ = fmt.Fprint(p.app.err, clearLine)
	}
}

// finish tells what was skipped and what came of it. goes, where not empty, is where searches now go.
func (p *progress) finish(done wire.LibraryEvent, goes string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.clear()
	if p.verb == verbWatched && done.Added+done.Updated+done.Removed+done.Damaged == 0 {
		return nil
	}
	if p.json {
		p.write(jsonDone{wire.LibraryDone, done.Added, done.Updated, done.Removed, done.Unchanged, done.Skipped, done.Repaired,
			done.Damaged, goes})
		return p.err
	}
	p.tellSkips()
	p.tellAssumed()
	for _, line := range damageLines(p.damage) {
		p.app.say("%s", line)
	}
	switch reason := p.vectors.Reason; {
	case reason == "":
	case p.vectors.Done+p.vectors.Refused >= p.vectors.Total:
		p.app.say("%s; the model does not take the rest, which is found by words: %s.", vectorsText(p.vectors),
			strings.TrimSuffix(reason, "."))
	default:
		p.app.say("%s; the rest is found by words: %s. `quarry sync` goes on from there.", vectorsText(p.vectors),
			strings.TrimSuffix(reason, "."))
	}
	return p.app.print([]byte(doneText(done) + "\n"))
}

// began tells that something is stored.
func (p *progress) began() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Done > 0
}

// stopped tells, once, what is stored although the change did not end. It never waits: the run may be about to end
// while a reader holds an event up.
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
	count, what := p.last.Stored, "stored and can be searched"
	if p.verb == verbRemoved {
		count, what = p.last.Done, "out of the library"
	}
	if p.json {
		p.write(jsonStopped{"stopped", count})
	}
	switch {
	case p.last.Done == 0:
		p.app.say("Stopped before anything was %s.", p.verb)
	case count == 1:
		p.app.say("Stopped: 1 file is %s; the same command goes on from there.", what)
	default:
		p.app.say("Stopped: %d files are %s; the same command goes on from there.", count, what)
	}
}

// tellSkips says what was not read: kinds of files in one line, and the rest file by file. What is not read at all is
// no news when the same folders are read again.
func (p *progress) tellSkips() {
	if text := kindsText(p.kinds); text != "" && p.verb != verbSynced && p.verb != verbWatched {
		p.app.say("%s", text)
	}
	rest := p.skipped
	for _, count := range p.kinds {
		rest -= count
	}
	for _, skip := range p.skips {
		p.app.say("skipped %s: %s", skip.Path, skip.Reason)
	}
	if more := rest - len(p.skips); more > 0 {
		p.app.say("and %d more skipped; --json lists all of them", more)
	}
}

// tellAssumed lists files whose encoding was assumed.
func (p *progress) tellAssumed() {
	for _, event := range p.assumed {
		p.app.say("assumed %s: %s", event.Encoding, event.Path)
	}
	if more := p.guessed - len(p.assumed); more > 0 {
		p.app.say("and %d more assumed encodings; --json lists all of them", more)
	}
}

// kindsText is "82 skipped: 60 .svg, 22 .png — quarry does not read them", the most frequent first.
func kindsText(kinds map[string]int) string {
	const most = 8
	total := 0
	for _, count := range kinds {
		total += count
	}
	if total == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == most && len(names) > most+1 {
			parts = append(parts, fmt.Sprintf("%d other kinds", len(names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", kinds[name], name))
	}
	return fmt.Sprintf("%d skipped: %s — quarry does not read them", total, strings.Join(parts, ", "))
}

// doneText is "Added 3 documents, updated 1, removed 2, 5 unchanged, 1 file skipped."
func doneText(done wire.LibraryEvent) string {
	parts := []string{}
	add := func(count int, format string) {
		if count > 0 {
			parts = append(parts, fmt.Sprintf(format, count))
		}
	}
	add(done.Added, "%d added")
	add(done.Updated, "%d updated")
	add(done.Removed, "%d removed")
	add(done.Unchanged, "%d unchanged")
	add(done.Repaired, "%d repaired")
	add(done.Damaged, "%d damaged")
	if len(parts) == 0 {
		parts = append(parts, "nothing changed")
	}
	text := "Documents: " + strings.Join(parts, ", ") + "."
	if done.Skipped == 1 {
		text += " 1 file skipped."
	} else if done.Skipped > 1 {
		text += fmt.Sprintf(" %d files skipped.", done.Skipped)
	}
	return text
}

// friendlyBytes writes a size with three digits at most.
func friendlyBytes(size int64) string {
	const unit = 1000
	if size < unit {
		return fmt.Sprintf("%d B", size)
	}
	value, names := float64(size)/unit, "kMGTPE"
	at := 0
	for value >= unit && at < len(names)-1 {
		value /= unit
		at++
	}
	return fmt.Sprintf("%.1f %cB", value, names[at])
}
