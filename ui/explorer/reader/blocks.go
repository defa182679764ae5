package reader

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"charm.land/glamour/v2/ansi"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmrenderer "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// block is a part of the body: a piece of text, or a single line between pieces.
type block struct {
	piece *piece
	seam  seam // where piece is nil
	start int  // its first line in the body
}

// seam is a line between pieces.
type seam uint8

const (
	gap          seam = iota // a blank line
	missingAbove             // how much of the document is not shown there
	missingBelow
	resultStart // between fetched chunks and the search result below them
	resultEnd   // between the search result and fetched chunks below it
)

// rebuild assembles the body from the pieces and keeps the place.
func (r *Reader) rebuild() {
	r.blocks = r.blocks[:0]
	above, below := r.missingChunks()
	if above > 0 {
		r.addSeam(missingAbove, gap)
	}
	r.addPieces(r.above)
	if len(r.above) > 0 {
		r.addSeam(gap, resultStart, gap)
	}
	r.addPieces(r.found)
	if len(r.below) > 0 {
		r.addSeam(gap, resultEnd, gap)
	}
	r.addPieces(r.below)
	if below != 0 || !r.document.CanExpand && r.document.WhyNot != "" && r.document.ChunkCount == 0 {
		r.addSeam(gap, missingBelow)
	}
	r.changed()
}

func (r *Reader) addSeam(seams ...seam) {
	for _, s := range seams {
		r.blocks = append(r.blocks, block{seam: s})
	}
}

func (r *Reader) addPieces(pieces []*piece) {
	for i, p := range pieces {
		if i > 0 {
			r.addSeam(gap)
		}
		r.blocks = append(r.blocks, block{piece: p})
	}
}

// shownChunks returns the numbers of the first and the last chunk in the body.
func (r *Reader) shownChunks() (first, last int) {
	first, last = r.document.ChunkStart, r.document.ChunkEnd
	if len(r.above) > 0 {
		first = min(first, r.above[0].first)
	}
	if len(r.below) > 0 {
		last = max(last, r.below[len(r.below)-1].last)
	}
	return first, last
}

// missingChunks counts the chunks of the document that are not shown. below is -1 if it is unknown.
func (r *Reader) missingChunks() (above, below int) {
	if !r.shown {
		return 0, 0
	}
	first, last := r.shownChunks()
	if !r.endAbove {
		above = max(0, first)
	}
	switch {
	case r.endBelow:
	case r.document.ChunkCount > 0:
		below = max(0, r.document.ChunkCount-1-last)
	case r.document.CanExpand:
		below = -1
	}
	return above, below
}

// step is how many chunks one expansion adds on each side.
const step = 2

// Want returns the range of chunks that the next expansion needs, both ends included; chunks that are shown already may
// be left out. ok is false if there are none or the server cannot send them.
func (r *Reader) Want() (from, to int, ok bool) {
	above, below := r.missingChunks()
	if !r.document.CanExpand || above == 0 && below == 0 {
		return 0, 0, false
	}
	first, last := r.shownChunks()
	from, to = first-min(above, step), last
	if below != 0 {
		to += step
	}
	if below > 0 {
		to = last + min(below, step)
	}
	return from, to, true
}

// Add shows the chunks of a range that were fetched, as far as they come before and after the shown ones. If there are
// none on a side that the range covers, the document has no more there. The text on the screen keeps its position.
func (r *Reader) Add(from, to int, chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.savePlace()
	first, last := r.shownChunks()
	var above, below []*piece
	for _, chunk := range inOrder(chunks) {
		switch {
		case chunk.ChunkInd < first:
			above = append(above, r.piecesOfChunk(chunk)...)
		case chunk.ChunkInd > last:
			below = append(below, r.piecesOfChunk(chunk)...)
		}
	}
	r.endAbove = r.endAbove || from < first && len(above) == 0
	r.endBelow = r.endBelow || to > last && len(below) == 0
	r.above, r.below = append(above, r.above...), append(r.below, below...)
	r.rebuild()
}

// SetWhole shows the whole document around the search result. The text on the screen keeps its position.
func (r *Reader) SetWhole(info wire.DocumentInfo, chunks []wire.Chunk) {
	if !r.shown {
		return
	}
	r.savePlace()
	if info.ChunkCount > 0 {
		r.document.ChunkCount = info.ChunkCount
	}
	had := map[int][]*piece{}
	for _, p := range slices.Concat(r.above, r.below) {
		had[p.first] = append(had[p.first], p)
	}
	r.above, r.below = nil, nil
	for _, chunk := range inOrder(chunks) {
		made := had[chunk.ChunkInd]
		if made == nil {
			made = r.piecesOfChunk(chunk)
		}
		switch {
		case chunk.ChunkInd < r.document.ChunkStart:
			r.above = append(r.above, made...)
		case chunk.ChunkInd > r.document.ChunkEnd:
			r.below = append(r.below, made...)
		}
	}
	r.endAbove, r.endBelow = true, true
	r.rebuild()
}

// inOrder returns the chunks sorted by number, without duplicates.
func inOrder(chunks []wire.Chunk) []wire.Chunk {
	sorted := slices.Clone(chunks)
	slices.SortStableFunc(sorted, func(x, y wire.Chunk) int { return x.ChunkInd - y.ChunkInd })
	return slices.CompactFunc(sorted, func(x, y wire.Chunk) bool { return x.ChunkInd == y.ChunkInd })
}

// Position returns the part of the document at the top of the view, like "part 3 of 11" or "part 1 of 1"; where the
// server does not say of how many parts, how far the text was scrolled.
func (r *Reader) Position() string {
	r.update()
	first, last, count := r.document.ChunkStart, r.document.ChunkEnd, r.document.ChunkCount
	if p := r.topPiece(); p != nil {
		first, last = p.first, p.last
	}
	switch {
	case count <= 0:
		return fmt.Sprintf("%d %%", r.percent())
	case first == last:
		return fmt.Sprintf("part %d of %d", first+1, count)
	}
	return fmt.Sprintf("part %d–%d of %d", first+1, last+1, count)
}

// maxHighlighted is the size of the longest code that is coloured, in bytes.
const maxHighlighted = 8 << 10

// code sets a code block: indented, coloured where its language is known, and continued on the next line, with a mark,
// where a line is too long. Glamour prints it without notes, which its lexers would take for code.
func (t *typesetter) code(block ast.Node, first, rest []cell) {
	indent := t.cells("  ")
	first, rest = slices.Concat(first, indent), slices.Concat(rest, indent)
	if language := t.language(block); language != "" {
		rule := min(t.width-widthOf(rest), maxTextWidth) - paint.Width(language) - 1
		t.emit(first, t.cells(t.theme.Muted.Render(language)+" "+
			t.theme.Border.Render(strings.Repeat("─", max(0, min(rule, languageRule))))))
		first = rest
	}
	more := slices.Concat(rest, t.cells(t.theme.Muted.Render("›")+" "))
	printed := t.read(t.print(documentOf(t.codeFor(block))))
	blank, begun := 0, false
	for i, segment := range block.Lines().Sliced(0, block.Lines().Len()) {
		line := printed[min(i+1, len(printed)-1)] // Glamour begins with a blank line
		if isBlank(line) {
			blank++
			continue
		}
		for ; begun && blank > 0; blank-- {
			t.emit(rest, nil)
		}
		blank, begun = 0, true
		locate(line, segment.Start-segment.Padding)
		if width := t.width - widthOf(rest); widthOf(line) > width {
			t.wrap(line, width-widthOf(more[len(rest):]), first, more)
		} else {
			t.emit(first, line)
		}
		first = rest
	}
}

// languageRule is the length of the line behind the language of code, in columns.
const languageRule = 40

// language returns the language of code as its author wrote it; "" for none.
func (r *renderer) language(block ast.Node) string {
	fenced, isFenced := block.(*ast.FencedCodeBlock)
	if !isFenced {
		return ""
	}
	language := paint.Short(client.Sanitize(string(fenced.Language(r.source))), 20)
	if language == "text" || language == "txt" || language == "plain" {
		return ""
	}
	return language
}

// codeFor returns code as Glamour is to render it. Without a language that it knows Glamour would guess one.
func (r *renderer) codeFor(block ast.Node) ast.Node {
	fenced, isFenced := block.(*ast.FencedCodeBlock)
	if isFenced && len(block.Lines().Value(r.source)) <= maxHighlighted &&
		lexers.Get(string(fenced.Language(r.source))) != nil {
		return block
	}
	plain := ast.NewFencedCodeBlock(r.made("text"))
	plain.SetLines(block.Lines())
	return plain
}

// locate sets the places in the source of the cells of a line of code.
func locate(line []cell, at int) {
	for i := range line {
		line[i].at = at
		at += len(line[i].text)
	}
}

func isBlank(line []cell) bool {
	return !slices.ContainsFunc(line, func(c cell) bool { return c.text != " " })
}

// lineBreaks decides which line ends of a paragraph to keep. Markdown ignores them, but authors of chats and tickets
// expect them to stay. A line end is dropped only if the line was full: the next word had no room on it.
type lineBreaks struct {
	lines *text.Segments
	full  int // columns of the longest line
}

// shortLine is the width below which no line was broken because it was full.
const shortLine = 50

func breaksOf(paragraph ast.Node, source []byte) lineBreaks {
	breaks := lineBreaks{lines: paragraph.Lines()}
	if breaks.lines == nil {
		return breaks
	}
	for i := range breaks.lines.Len() {
		segment := breaks.lines.At(i)
		breaks.full = max(breaks.full, paint.Width(string(bytes.TrimSpace(segment.Value(source)))))
	}
	return breaks
}

// kept reports whether to keep the line end at a byte of the source.
func (b lineBreaks) kept(source []byte, at int) bool {
	if b.lines == nil {
		return false
	}
	i := sort.Search(b.lines.Len(), func(i int) bool { return b.lines.At(i).Stop >= at })
	if i+1 >= b.lines.Len() {
		return false
	}
	line, following := b.lines.At(i), b.lines.At(i+1)
	word, _, _ := bytes.Cut(bytes.TrimSpace(following.Value(source)), []byte(" "))
	width := paint.Width(string(bytes.TrimSpace(line.Value(source))))
	return b.full < shortLine || width+1+paint.Width(string(word)) <= b.full
}

// renderUnit renders the Markdown of a unit for a width in columns, with numbers of its links from firstLink on. Text
// that cannot be rendered stays plain.
func renderUnit(u unit, width int, th theme.Theme, firstLink int) (l *layout, failure string) {
	plain := func(why string) (*layout, string) {
		l := plainLayout(u, textWidth(width))
		l.rendered = true // another attempt would fail as well
		return l, why
	}
	switch {
	case len(u.text) > maxUnit:
		return plain(fmt.Sprintf("%d bytes without a place to cut", len(u.text)))
	case hasWideTable(u.text):
		return plain(fmt.Sprintf("a table of more than %d columns", maxColumns))
	}
	defer func() {
		if p := recover(); p != nil { // a document that the renderer cannot handle must not end the program
			l, failure = plain(fmt.Sprintf("panic: %v", p))
		}
	}()
	r := newRenderer(u, th)
	r.firstLink = firstLink
	lines := r.render(max(1, width))
	for leading := 0; leading+1 < len(lines) && lines[leading].text == ""; leading++ { // which are left out
		for i := range r.links {
			r.links[i].line--
		}
	}
	lines = trimBlank(lines)
	if len(lines) == 0 || len(lines) == 1 && lines[0].text == "" {
		if strings.TrimSpace(u.text) == "" {
			return plain("")
		}
		return plain("rendered as nothing")
	}
	return newLayout(append([]line(nil), lines...), r.links, true), ""
}

// maxColumns is the number of columns that a table may have. The parser fills every row up to the width of the head: a
// few kilobytes can become millions of cells.
const maxColumns = 64

func hasWideTable(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > maxColumns && strings.Count(line, "|") > maxColumns && strings.Trim(line, "|-: \n>*+") == "" {
			return true
		}
	}
	return false
}

// renderer renders one unit with Glamour. Glamour lays out the blocks and styles the text. The typesetter wraps what it
// prints and places tables and code, which Glamour renders by themselves.
type renderer struct {
	source []byte // the unit's text, followed by the text that is made up for Glamour
	length int    // of the unit's text
	unit   unit
	blocks []ast.Node // tables and code
	theme  theme.Theme
	style  ansi.StyleConfig

	links     []Link
	firstLink int // number of the first one
}

func newRenderer(u unit, th theme.Theme) *renderer {
	return &renderer{
		source: []byte(u.text), length: len(u.text), unit: u, theme: th, style: th.Glamour(),
	}
}

func (r *renderer) render(width int) []line {
	const beforeLinks = 150 // the priority of links is 200
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.DefinitionList),
		goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(noteMarks{}, beforeLinks))))
	document := markdown.Parser().Parse(text.NewReader(r.source))
	r.prepare(document, 0, width, false)
	t := newTypesetter(r, width)
	t.set(r.print(document), nil, nil)
	return t.lines
}

// print returns what Glamour prints for a document, unwrapped.
func (r *renderer) print(document ast.Node) string {
	options := ansi.Options{
		InlineTableLinks: true, PreserveNewLines: true, ChromaFormatter: r.theme.ChromaFormatter(), Styles: r.style,
	}
	glamour := gmrenderer.NewRenderer(gmrenderer.WithNodeRenderers(util.Prioritized(ansi.NewRenderer(options), 1)))
	var out bytes.Buffer
	if err := glamour.Render(&out, r.source, document); err != nil {
		panic(fmt.Sprintf("rendering: %v", err)) // renderUnit recovers
	}
	return out.String()
}

func documentOf(block ast.Node) ast.Node {
	document := ast.NewDocument()
	document.AppendChild(document, block)
	return document
}

func moveChildren(to, from ast.Node) {
	for child := from.FirstChild(); child != nil; child = from.FirstChild() {
		to.AppendChild(to, child)
	}
}
