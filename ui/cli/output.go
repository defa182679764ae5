package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"quarry/internal/guard"
	"quarry/internal/text"
)

// schemaVersion counts the incompatible changes of the JSON that commands print. Keys are only ever added within one
// version; a reader ignores what it does not know.
const schemaVersion = 2

// indents reports whether JSON is indented: on a terminal, or as --indent says.
func (a *app) indents() bool {
	if a.command != nil && a.command.Flags().Changed("indent") {
		return a.flags.Indent
	}
	return a.io.OutTTY
}

// cut says how much of an answer is kept.
type cut struct {
	shown   int         // results (of each query) that stay
	content int         // bytes of content that each of them keeps; less than 0: all
	note    *truncation // what is said about it; nil when nothing was cut
}

// whole keeps everything.
func whole() cut { return cut{shown: 1 << 30, content: -1} }

// truncation describes how an answer was cut, with the keys of Onyx's CLI.
type truncation struct {
	Truncated        bool    `json:"truncated"`
	TotalResults     int     `json:"total_results"`
	ShownResults     int     `json:"shown_results"`
	TotalBytes       int     `json:"total_bytes" jsonschema:"size of the complete output"`
	ContentTruncated bool    `json:"content_truncated" jsonschema:"the content of the first result is cut"`
	FullResponsePath *string `json:"full_response_path" jsonschema:"file of the complete output; null: none"`
	Hint             string  `json:"hint"`
}

// ending is how answers end.
type ending struct {
	Schema     int         `json:"schema" jsonschema:"version of this format"`
	Truncation *truncation `json:"truncation,omitempty" jsonschema:"present if the output was cut"`
}

// line says in text what was cut.
func (t truncation) line() string {
	line := fmt.Sprintf("[cut: %s of %s shown", text.Number(t.ShownResults), text.Count(t.TotalResults, "result"))
	if t.ContentTruncated {
		line += ", shortened"
	}
	return line + copyNote(t.FullResponsePath) + "]"
}

func copyNote(path *string) string {
	if path == nil {
		return ""
	}
	return "; complete copy: " + *path
}

// bound limits a run's output; the zero value is no limit.
type bound struct {
	most     int
	inTokens bool // else bytes
}

// isSet reports whether there is a limit.
func (b bound) isSet() bool { return b.most > 0 }

func (b bound) measure(output string) int {
	if b.inTokens {
		return text.EstimateTokens(output)
	}
	return len(output)
}

func (b bound) fits(output string) bool { return b.measure(output) <= b.most }

// clip returns the beginning of a text that fits, and after it the first of the last lines that takes little of the
// limit. The last of them is printed whatever its size.
func (b bound) clip(whole string, lastLines ...string) string {
	return b.withLast(min(len(whole), 8*b.most), b.firstThatFits(lastLines), func(n int) string {
		return strings.TrimRight(text.Clip(whole, n), "\n") + "\n"
	})
}

// withLast returns the longest rendering that fits with the last line behind it, else the last line alone.
func (b bound) withLast(most int, last string, render func(n int) string) string {
	return cmp.Or(largest(0, most, b, func(n int) string { return render(n) + last + "\n" }), last+"\n")
}

// firstThatFits returns the first text that takes little of the limit, else the last one.
func (b bound) firstThatFits(texts []string) (fitting string) {
	for _, fitting = range texts {
		if 16*b.measure(fitting) <= b.most {
			break
		}
	}
	return fitting
}

// lines returns the first whole lines of a text that fit.
func (b bound) lines(whole string) string {
	lines := strings.SplitAfter(whole, "\n")
	return largest(0, len(lines), b, func(n int) string { return strings.Join(lines[:n], "") })
}

// answer is output that can be cut and is still whole output of its kind.
type answer struct {
	sizes  []int         // numbers of results, of each query
	value  func(cut) any // encoded as JSON, unless it is text
	indent bool
}

// jsonLines are values that are printed one a line.
type jsonLines []object

// encode renders what a cut leaves.
func (a answer) encode(c cut) string {
	switch value := a.value(c).(type) {
	case string:
		return value
	case jsonLines:
		var lines strings.Builder
		for _, one := range value {
			lines.WriteString(encodeJSON(one, false))
		}
		return lines.String()
	default:
		return encodeJSON(value, a.indent)
	}
}

// most returns the largest number of results of one query.
func (a answer) most() int { return slices.Max(append(a.sizes, 0)) }

// count returns the number of results if each query shows at most shown.
func (a answer) count(shown int) (total int) {
	for _, size := range a.sizes {
		total += min(shown, size)
	}
	return total
}

// cutTo renders an answer within a limit: first whole results go, then the end of the first one's content at a
// character's boundary, at last every result. What is then left is printed whatever its size, because output that
// does not parse helps nobody. note has the sizes and the path of the copy.
func cutTo(a answer, limit bound, note truncation) string {
	note.Truncated = true
	note.TotalResults = a.count(a.most())
	render := func(shown, content int) string {
		described := note
		described.ShownResults = a.count(shown)
		described.ContentTruncated = content >= 0
		return a.encode(cut{shown: shown, content: content, note: &described})
	}
	best := largest(1, a.most(), limit, func(n int) string { return render(n, -1) })
	if best == "" && a.most() > 0 {
		best = largest(0, note.TotalBytes, limit, func(n int) string { return render(1, n) })
	}
	if best == "" {
		best = render(0, -1)
	}
	return best
}

// largest finds the longest rendering within limit for a number in [low, high]; "" when none fits. Renderings grow with
// the number.
func largest(low, high int, limit bound, render func(int) string) (best string) {
	for low <= high {
		middle := low + (high-low)/2
		if rendered := render(middle); limit.fits(rendered) {
			best, low = rendered, middle+1
		} else {
			high = middle - 1
		}
	}
	return best
}

// printAnswer prints an answer as JSON, cut to the run's limit. kind names the copy's file.
func (a *app) printAnswer(kind string, value answer) {
	value.indent = a.indents()
	if len(a.shape.fields) > 0 {
		every := value.value
		value.value = func(c cut) any { return a.shape.picked(every(c)) }
	}
	if a.shape.isText() {
		a.printLines(kind, "txt", a.runShape(value.value(whole())))
		return
	}
	a.printResults(kind, "json", value)
}

// printResults prints an answer, cut to whole results, then to the beginning of the first one. In text the path of the
// copy is left out where it takes the place of the results.
func (a *app) printResults(kind, extension string, value answer) {
	encoded := value.encode(whole())
	a.printCut(kind, extension, encoded, func(limit bound, path *string) string {
		note := truncation{TotalBytes: len(encoded), FullResponsePath: path, Hint: cutHint(path, limit)}
		if extension != "json" && 4*limit.measure(copyNote(path)) > limit.most {
			note.FullResponsePath = nil
		}
		return cutTo(value, limit, note)
	})
}

// printPlain prints text that is no JSON, cut at a character's boundary. Its last line then says so.
func (a *app) printPlain(kind, extension, plain string) {
	a.printCut(kind, extension, plain, func(limit bound, path *string) string {
		return limit.clip(ansi.Strip(plain), cutLines(plain, path)...)
	})
}

// cutLines are ways to say that a text was cut, the most telling first.
func cutLines(plain string, path *string) []string {
	size := "[cut: " + text.Number(len(plain)) + " bytes in all"
	return []string{size + copyNote(path) + "]", size + "]", "[cut]"}
}

// printLines prints lines of which each is whole by itself, and drops lines from the end to fit.
func (a *app) printLines(kind, extension, lines string) {
	a.printCut(kind, extension, lines, func(limit bound, _ *string) string { return limit.lines(lines) })
}

// printCut prints output. Where that is larger than the run's limit, shorten makes what is printed; path is that of the
// complete copy, nil for none.
func (a *app) printCut(kind, extension, whole string,
	shorten func(limit bound, path *string) string) {
	defer a.removeOldCopies()
	limit := a.limit()
	if !limit.isSet() || limit.fits(whole) {
		a.show(whole)
		return
	}
	var path *string
	if !limit.inTokens { // a budget is a wish: what fits is the answer
		path = a.keepCopy(kind, extension, whole)
	}
	short := shorten(limit, path)
	switch {
	case limit.inTokens:
	case path == nil:
		a.say("response truncated (%d bytes total); %s", len(whole), limit.remedy())
	default:
		a.say("response truncated (%d bytes total); full response: %s", len(whole), *path)
	}
	a.show(short)
}

// remedy says how to print everything.
func (b bound) remedy() string {
	if b.inTokens {
		return "to print more: raise --budget"
	}
	return "to print everything: --max-output 0"
}

// cutEvents prints events, a line each, up to a limit that was asked for: the first ones that fit, and those that
// cannot be done without.
type cutEvents struct {
	app         *app
	limit       bound
	size, total int    // of what was printed, and of what would have been, in the unit of the limit
	held        string // fits only if little follows
}

// newCutEvents leaves room for a line that cannot be done without.
func (a *app) newCutEvents() cutEvents { return cutEvents{app: a, limit: a.givenLimit()} }

func (c *cutEvents) print(event any, needed bool) {
	line := c.app.encode(event, false)
	room := 160 // for a needed one
	if c.limit.inTokens {
		room = 40
	}
	c.total += c.limit.measure(line)
	fits := c.total <= c.limit.most
	switch {
	case !c.limit.isSet() || c.total <= c.limit.most-room:
	case !fits && !needed:
		c.held = ""
		return
	case !needed:
		c.held += line
		return
	case fits:
		line = c.held + line
		c.held = ""
	}
	c.size += c.limit.measure(line)
	c.app.print(line)
}

// end prints what fits after all, or says on standard error that events were left out.
func (c *cutEvents) end() {
	if c.total > c.size && c.total > c.limit.most {
		if !c.limit.inTokens {
			c.app.say("response truncated; %s", c.limit.remedy())
		}
		return
	}
	c.app.print(c.held)
}

// printJSON prints a value that is never cut.
func (a *app) printJSON(value any) {
	if len(a.shape.fields) > 0 {
		value = a.shape.picked(value)
	}
	a.print(a.encode(value, a.indents()))
}

// printOr prints a value with --json, else the text about it.
func (a *app) printOr(value any, text string) {
	if a.flags.JSON {
		a.printJSON(value)
	} else {
		a.print(text)
	}
}

func (a *app) print(output string) {
	_, err := io.WriteString(a.out, output)
	guard.While("print the answer", err)
}

func cutHint(path *string, limit bound) string {
	if path == nil {
		return "Reduce the results (--limit, --source); " + limit.remedy()
	}
	return "full_response_path has the complete answer; " + limit.remedy()
}

// rowsAnswer is a list that is printed as a JSON array. A cut drops rows; an array has no place to say so, which is why
// standard error does.
func rowsAnswer[T any](rows []T) answer {
	return answer{sizes: []int{len(rows)}, value: func(c cut) any { return firstOf(rows, c.shown) }}
}

// firstOf returns a copy of the first items of a list; JSON shows one without items as [].
func firstOf[T any](list []T, most int) []T { return append([]T{}, list[:min(most, len(list))]...) }

// pager returns the command line of the person's pager, or "". As with gh there is none unless a variable names
// it, and an empty variable or cat turns it off.
func (a *app) pager() string {
	if a.program.Guest || !a.io.OutTTY || a.io.isDumb() {
		return ""
	}
	named, ok := a.io.Env.LookupEnv("QUARRY_PAGER")
	if !ok {
		named = a.io.Env.Getenv("PAGER")
	}
	if named = strings.TrimSpace(named); named == "cat" {
		return ""
	}
	return named
}

// show prints what a person reads: through their pager on a terminal, else as it is.
func (a *app) show(output string) {
	pager := a.pager()
	if pager == "" {
		a.print(output)
		return
	}
	command := ShellCommand(pager)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(output), a.io.Out, a.io.Err
	command.Env, command.Dir = a.io.Env, a.io.Dir
	if a.io.Env.Getenv("LESS") == "" {
		command.Env = append(command.Env, "LESS=FRX") // short output is not paged, colors are shown
	}
	if a.io.Env.Getenv("LV") == "" {
		command.Env = append(command.Env, "LV=-c")
	}
	a.waits.Store(true) // the terminal is the pager's
	err := command.Run()
	if err != nil && !errors.Is(err, errOutputClosed) {
		a.note("the pager %s failed: %v", pager, err) // whatever it has shown of them, the results are not lost
		a.print(output)
	}
}
