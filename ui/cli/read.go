package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

// maxReferences is how many documents one read prints.
const maxReferences = 20

type readOptions struct {
	Around  int    `flag:"around" usage:"print <K> more passages before and after, at most 99"`
	Section string `flag:"section" usage:"print the section under this <HEADING>"`
	Lines   string `flag:"lines" usage:"print these lines (<A:B>) of the file, or of the text where it has no file"`
	Outline bool   `flag:"outline" usage:"print the headings and their passages"`
	From    string `flag:"from" usage:"REFs are citation numbers of a saved search: a JSON <FILE>, or - for stdin"`
	lines   *lineRange
}

func (a *app) readCommand() *cobra.Command {
	options := readOptions{}
	is := traits{class: reads, guests: true, arguments: files,
		json: prints(readOutput{}, outlineOutput{}, readsOutput{})}
	command := a.targetCommand("read REF…", "Print passages or whole documents", is,
		func(ctx context.Context, choice target.Choice, arguments []string) {
			options.lines = guard.Must(parseLines(options.Lines))
			a.read(ctx, choice, arguments, options)
		})
	bindFlags(command.Flags(), &options)
	return command
}

func (a *app) read(ctx context.Context, choice target.Choice, arguments []string, options readOptions) {
	a.checkReferences(arguments, options)
	references := a.references(arguments, options.From)
	var found readings
	for _, r := range references {
		one, err := a.readOne(ctx, a.choiceOf(r, choice), r.ref, options)
		if err != nil {
			if err = readError(r.written, err); len(references) == 1 || client.KindOf(err) == client.Canceled {
				guard.Abort(err)
			}
			a.note("%s", text.OneLine(err.Error()))
			one = &reading{err: err}
		}
		one.written = r.written
		found = append(found, one)
	}
	if !slices.ContainsFunc(found, func(r *reading) bool { return r.err == nil }) {
		guard.Abort(found[0].err)
	}
	switch {
	case a.flags.JSON:
		a.printAnswer("read", found.answer())
	case a.io.OutTTY:
		a.show(strings.Join(exslices.CastFunc(found, a.readingText), "\n"))
	default:
		a.printReadings(exslices.CastFunc(found, (*reading).markdown), found, options)
	}
}

func (a *app) printReadings(texts []string, found readings, options readOptions) {
	whole := strings.Join(texts, "\n")
	if len(found) == 1 && options.Around == 0 {
		a.printPlain("read", "md", whole)
		return
	}
	a.printCut("read", "md", whole, func(limit bound, path *string) string {
		last := cutLines(whole, path)
		if len(found) == 1 {
			return found[0].cutAround(whole, limit, last)
		}
		return cutEvenly(texts, limit, limit.firstThatFits(last))
	})
}

// cutEvenly shortens the longest texts until all of them fit.
func cutEvenly(texts []string, limit bound, last string) string {
	longest := 0
	for _, one := range texts {
		longest = max(longest, len(one))
	}
	return limit.withLast(longest, last, func(n int) string {
		return strings.Join(exslices.CastFunc(texts, func(one string) string {
			if len(one) <= n {
				return one
			}
			return strings.TrimSpace(text.Clip(one, n)) + "…\n"
		}), "\n")
	})
}

// cutAround keeps the passages that were named and as much of the text on both sides as fits.
func (r *reading) cutAround(whole string, limit bound, lastLines []string) string {
	last := limit.firstThatFits(lastLines)
	isAfter := func(last int) func(wire.Chunk) bool {
		return func(chunk wire.Chunk) bool { return chunk.ChunkInd > last }
	}
	at, end := slices.IndexFunc(r.chunks, isAfter(r.named[0]-1)), slices.IndexFunc(r.chunks, isAfter(r.named[1]))
	if end < 0 {
		end = len(r.chunks)
	}
	join := func(chunks []wire.Chunk) string {
		return strings.Join(exslices.CastFunc(chunks,
			func(chunk wire.Chunk) string { return strings.Trim(chunk.Text(), "\n") }), "\n\n")
	}
	before, after := join(r.chunks[:at]), join(r.chunks[end:])
	head := strings.TrimSuffix(whole, r.body())
	kept := largest(0, max(len(before), len(after)), limit, func(n int) string {
		start := max(0, len(before)-n)
		if start > 0 { // a whole word
			start += max(0, strings.IndexAny(before[start:], " \n"))
		}
		parts := []string{strings.TrimSpace(before[start:]), join(r.chunks[at:end]),
			strings.TrimSpace(text.Clip(after, n))}
		parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
		return head + strings.Join(parts, "\n\n") + "\n" + last + "\n"
	})
	if kept == "" {
		return limit.clip(head+join(r.chunks[at:]), lastLines...)
	}
	return kept
}

func (a *app) checkReferences(arguments []string, options readOptions) {
	const example = "Example: quarry read 'DOCUMENT_ID#N' --around 2"
	if len(arguments) == 0 {
		refuse(example, "missing argument REF")
	}
	notEmpty(example, "argument REF is empty", arguments)
	if len(arguments) > maxReferences {
		refuse("Give fewer, or read them one after the other.", "too many references: %d, the limit is %d",
			len(arguments), maxReferences)
	}
	checkRange("around", options.Around, 0, maxAround)
}

// readError names the reference in an error; what a person wrote wrong stays as it is.
func readError(ref string, err error) error {
	if failure, ok := err.(*Failure); ok { //nolint:errorlint // not the cause of a reply
		return failure
	}
	return fmt.Errorf("read %s: %w", text.Shorten(text.OneLine(ref), 300), err)
}

// readOne reads what one reference names.
func (a *app) readOne(ctx context.Context, choice target.Choice, ref string,
	options readOptions) (found *reading, err error) {
	if choice.Kind == target.KindSlack {
		return nil, fail(ExitNotAvailable, "Open the link of the result.",
			"Slack cannot show the text around a message")
	}
	err = guard.Ended(func() {
		a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) {
			stop := a.busy("Reading…")
			defer stop()
			found = a.fetchReading(ctx, c, ref, options)
		})
	})
	if err != nil {
		return nil, err
	}
	found.searched = choice.Profile
	if lost := found.damaged(); lost > 0 {
		a.note("the document is damaged: %s cannot be read", text.Count(lost, "passage"))
	}
	return found, nil
}

// readings are the documents of one run.
type readings []*reading

// readOutput is the JSON of read with one reference.
type readOutput struct {
	readDocument
	readEnd
}

// readsOutput is the JSON of read with several references.
type readsOutput struct {
	Documents []readEntry `json:"documents"`
	readEnd
}

// outlineOutput is the JSON of read --outline with one reference.
type outlineOutput struct {
	readOutline
	readEnd
}

type readEnd struct {
	Searched []string `json:"searched" jsonschema:"profiles that were read from"`
	ending
}

// readEntry is a readDocument, a readOutline or a failedRead.
type readEntry any

type readDocument struct {
	Document      documentHead `json:"document"`
	Chunks        []readChunk  `json:"chunks"`
	WholeDocument bool         `json:"whole_document"`
	Previous      string       `json:"previous,omitempty" jsonschema:"ref of the passage before"`
	Next          string       `json:"next,omitempty" jsonschema:"ref of the passage after"`
}

type readOutline struct {
	Document outlinedHead `json:"document"`
}

type failedRead struct {
	Ref   string `json:"ref"`
	Error string `json:"error"`
}

// What profiles write.
type (
	documentHead any // a wire.DocumentInfo without its outline
	outlinedHead any // an outlined
	readChunk    any // a wire.Chunk
)

// outlined is a document whose headings have refs.
type outlined struct {
	wire.DocumentInfo
	Outline []readHeading `json:"outline"`
}

const headKeys = "id title link source_type updated_at authors? chunk_count"

var (
	headProfile    = wire.NewProfile[wire.DocumentInfo](headKeys)
	outlineProfile = wire.NewProfile[outlined](headKeys + " outline")
	chunkProfile   = wire.NewProfile[wire.Chunk](`chunk_ind content heading_path? lines? bytes? damaged?`)
)

type readHeading struct {
	Level    int    `json:"level"`
	Text     string `json:"text"`
	ChunkInd int    `json:"chunk_ind"`
	Ref      string `json:"ref" jsonschema:"argument of quarry read"`
}

// answer returns the JSON of read. A cut leaves the first chunks or headings of each document.
func (list readings) answer() answer {
	sizes := exslices.CastFunc(list, func(r *reading) int {
		if r.outline {
			return len(r.document.Outline)
		}
		return len(r.chunks)
	})
	var searched []string
	for _, r := range list {
		if r.err == nil {
			searched = append(searched, r.searched)
		}
	}
	return answer{sizes: sizes, value: func(c cut) any {
		end := readEnd{exslices.DeduplicateUnsorted(searched), ending{schemaVersion, c.note}}
		if len(list) > 1 {
			return readsOutput{exslices.CastFunc(list, func(r *reading) readEntry { return r.entry(c) }), end}
		}
		return slices.Concat(objectOf(list[0].entry(c)), objectOf(end))
	}}
}

func (r *reading) entry(c cut) readEntry {
	if r.err != nil {
		return failedRead{r.written, clampError(r.err)}
	}
	if r.outline {
		headings := exslices.CastFunc(firstOf(r.document.Outline, c.shown), func(h wire.OutlineHeading) readHeading {
			return readHeading{h.Level, h.Text, h.ChunkInd, r.ref(h.ChunkInd)}
		})
		return readOutline{outlineProfile.Of(&outlined{r.document, headings})}
	}
	found := readDocument{Document: headProfile.Of(&r.document),
		WholeDocument: r.whole && c.shown >= len(r.chunks) && c.content < 0}
	for i, chunk := range firstOf(r.chunks, c.shown) {
		if c.content >= 0 && i == 0 {
			chunk.Content = text.Clip(chunk.Content, c.content)
		}
		found.Chunks = append(found.Chunks, chunkProfile.Of(&chunk))
	}
	found.Previous, found.Next = r.neighbours()
	return found
}

func (r *reading) ref(chunk int) string { return r.document.ID + "#" + strconv.Itoa(chunk) }

// neighbours returns the refs of the passages before and after what was read; "" where there is none.
func (r *reading) neighbours() (previous, next string) {
	if len(r.chunks) == 0 || r.whole {
		return "", ""
	}
	first, last := r.chunks[0].ChunkInd, r.chunks[len(r.chunks)-1].ChunkInd
	if first > 0 {
		previous = r.ref(first - 1)
	}
	if last < r.document.ChunkCount-1 {
		next = r.ref(last + 1)
	}
	return previous, next
}

// around names the passages before and after what was read, by the end of their refs: "previous #1, next #3".
func (r *reading) around() string {
	var parts []string
	previous, next := r.neighbours()
	for _, one := range []struct{ label, ref string }{{"previous", previous}, {"next", next}} {
		if one.ref != "" {
			parts = append(parts, one.label+" "+strings.TrimPrefix(one.ref, r.document.ID))
		}
	}
	return strings.Join(parts, ", ")
}

// damaged is the number of chunks that cannot be read.
func (r *reading) damaged() (n int) {
	for _, chunk := range r.chunks {
		if chunk.Damaged {
			n++
		}
	}
	return n
}

// about is the line below the title.
func (r *reading) about() string {
	d, extent := r.document, r.extent()
	if r.outline {
		extent = []string{text.Count(d.ChunkCount, "passage"), "#N is the passage DOCUMENT_ID#N"}
	}
	authors := text.OneLine(strings.Join(d.Authors, ", "))
	about := []string{wire.SourceName(d.SourceType), passage.Day(text.OrEmpty(d.UpdatedAt)), authors}
	return text.Join(" · ", append(about, extent...)...)
}

// extent is what was read of the document.
func (r *reading) extent() (parts []string) {
	if len(r.chunks) == 0 || r.whole {
		return nil
	}
	first, last := r.chunks[0], r.chunks[len(r.chunks)-1]
	switch {
	case r.lines != nil:
		parts = append(parts, fmt.Sprintf("lines %d-%d", r.lines.first, r.lines.last))
	case len(first.Lines) == 2 && len(last.Lines) == 2:
		parts = append(parts, fmt.Sprintf("lines %d-%d", first.Lines[0], last.Lines[1]))
	}
	if r.citedIn() != (wire.Span{}) {
		cited := "line " + strconv.Itoa(r.cited[0])
		if r.cited[1] > r.cited[0] {
			cited = fmt.Sprintf("lines %d-%d", r.cited[0], r.cited[1])
		}
		parts = append(parts, "cited: "+cited)
	}
	place := fmt.Sprintf("passage #%d of %d", first.ChunkInd, r.document.ChunkCount)
	if first.ChunkInd < last.ChunkInd {
		place = fmt.Sprintf("passages #%d to #%d of %d", first.ChunkInd, last.ChunkInd, r.document.ChunkCount)
	}
	return append(parts, place, r.around())
}

// places are the link of the document and, if it was read by another name, its id.
func (r *reading) places() (places []string) {
	link := text.OneLine(text.OrEmpty(r.document.Link))
	if link != "" && !strings.HasPrefix(link, "file:") { // which is the id once more
		places = append(places, "<"+link+">")
	}
	_, _, isShort := wire.SplitShort(r.written)
	if id := text.OneLine(r.document.ID); !strings.HasPrefix(r.written, r.document.ID) && !isShort && id != link {
		places = append(places, "`"+id+"`")
	}
	return places
}

func (r *reading) title() string {
	return cmp.Or(text.OneLine(r.document.Title), text.OneLine(r.document.ID))
}

func (r *reading) body() string {
	if r.outline {
		return r.headings()
	}
	passages := exslices.CastFunc(r.chunks, func(chunk wire.Chunk) string { return strings.Trim(chunk.Text(), "\n") })
	return strings.Join(passages, "\n\n") + "\n"
}

// headings lists the headings of a document, each with the number of its passage.
func (r *reading) headings() string {
	var b strings.Builder
	top := 6 // the deepest level
	for _, h := range r.document.Outline {
		top = min(top, h.Level)
	}
	for _, h := range r.document.Outline {
		fmt.Fprintf(&b, "%s- %s #%d\n", strings.Repeat("  ", max(0, h.Level-top)), text.OneLine(h.Text), h.ChunkInd)
	}
	return cmp.Or(b.String(), "The document has no headings.\n")
}

func (r *reading) markdown() string {
	if r.err != nil {
		return "# " + text.OneLine(r.written) + "\n\nFailed: " + text.OneLine(r.err.Error()) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", r.title())
	if about := r.about(); about != "" {
		fmt.Fprintf(&b, "%s\n", about)
	}
	for _, place := range r.places() {
		b.WriteString(place + "\n")
	}
	if b.Len() > len(r.title())+len("# \n\n") {
		b.WriteString("\n")
	}
	return b.String() + r.body()
}

// readingText is markdown for a person: the same text, wrapped, under a styled head.
func (a *app) readingText(r *reading) string {
	width := max(10, min(a.io.columns(), widestText))
	var b strings.Builder
	if r.err != nil {
		return a.style.Title.Render(text.OneLine(r.written)) + "\n" + a.style.Error.Render("failed: ") +
			text.OneLine(r.err.Error()) + "\n"
	}
	b.WriteString(a.style.Title.Render(ansi.Truncate(r.title(), width, "…")) + "\n")
	if about := r.about(); about != "" {
		b.WriteString(a.style.Muted.Render(ansi.Wrap(about, width, "")) + "\n")
	}
	for _, place := range r.places() {
		b.WriteString(a.style.Muted.Render(strings.Trim(place, "<>`")) + "\n")
	}
	lit := func(word string) string { return a.style.Match.Render(word) }
	b.WriteString("\n" + wrapMarkdown(r.body(), width, r.citedIn(), lit))
	return b.String()
}

// wrapMarkdown wraps Markdown but for what loses its meaning with other line breaks: code and the rows of tables. It
// styles the words of whole lines.
func wrapMarkdown(markdown string, width int, lines wire.Span, style func(word string) string) string {
	plain := func(word string) string { return word }
	f := &wordWrapper{width: width, style: plain}
	write := func(text string) string { return f.write(strings.ReplaceAll(text, "\t", "    ")) }
	wrapped := write(markdown[:lines[0]])
	if end := min(lines[1]+len("\n"), len(markdown)); lines[1] > 0 { // a word ends behind it
		f.style = style
		wrapped += write(markdown[lines[0]:end])
		f.style, lines[1] = plain, end
	}
	return wrapped + write(markdown[lines[1]:]) + f.close()
}

// citedIn returns where the cited lines are in the body; an empty span if they are not there.
func (r *reading) citedIn() wire.Span {
	at := 0
	for _, chunk := range r.chunks {
		text := chunk.Text()
		start := at - (len(text) - len(strings.TrimLeft(text, "\n")))
		if lines := chunk.SpanOfLines(r.cited[0], r.cited[1]); lines[1] > 0 && chunk.ChunkInd == r.named[0] {
			return wire.Span{start + lines[0], start + lines[1]}
		}
		at += len(strings.Trim(text, "\n")) + len("\n\n")
	}
	return wire.Span{}
}
